use super::*;

#[test]
fn the_last_who_needs_a_placeholder_takes_it_away() {
    let world = tempfile::tempdir().unwrap();
    let (file, dir) = (world.path().join("a.config"), world.path().join("hooks"));
    let pointer = world.path().join("commondir");
    let all = [
        (&file, PlaceholderKind::File),
        (&dir, PlaceholderKind::Directory),
        (&pointer, PlaceholderKind::GitPointer),
    ];
    for (path, kind) in all {
        let first = Placeholder::create(path, kind).unwrap();
        let second = Placeholder::adopt(path).unwrap();
        drop(first);
        assert!(path.exists());
        drop(second);
        assert!(!path.exists());
        // Its maker was killed.
        match kind {
            PlaceholderKind::File => File::create_new(path).map(drop).unwrap(),
            PlaceholderKind::Directory => fs::create_dir(path).unwrap(),
            PlaceholderKind::GitPointer => fs::write(path, COMMONDIR_SELF).unwrap(),
        }
        File::open(path).unwrap().set_modified(SystemTime::UNIX_EPOCH + MARKER_MTIME).unwrap();
        drop(Placeholder::create(path, kind).unwrap());
        assert!(!path.exists());
    }
}

#[test]
fn what_the_user_has_made_stays() {
    let world = tempfile::tempdir().unwrap();
    let dir = world.path().join("hooks");
    fs::create_dir(&dir).unwrap();
    drop(Placeholder::adopt(&dir).unwrap());
    drop(Placeholder::create(&dir, PlaceholderKind::Directory).unwrap());
    assert!(dir.exists());
    fs::write(dir.join("x"), "").unwrap();
    assert!(Placeholder::adopt(&dir).is_none());
}

#[test]
fn mountinfo_escapes_spaces_tabs_newlines_and_backslashes() {
    let name = mountinfo_name(Path::new("/a b\tc\nd\\e\u{e9}"));
    assert_eq!(name, "/a\\040b\\011c\\012d\\134e\u{e9}".as_bytes());
}
