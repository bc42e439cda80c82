use super::*;

#[test]
fn the_last_who_needs_a_placeholder_takes_it_away() {
    let world = tempfile::tempdir().unwrap();
    let (file, folder) = (world.path().join("a.config"), world.path().join("hooks"));
    let pointer = world.path().join("commondir");
    let all = [(&file, Kind::File), (&folder, Kind::Folder), (&pointer, Kind::Pointer)];
    for (path, kind) in all {
        let first = Placeholder::put(path, kind).unwrap();
        let second = Placeholder::hold(path).unwrap();
        drop(first);
        assert!(path.exists());
        drop(second);
        assert!(!path.exists());
        // Its maker was killed.
        match kind {
            Kind::File => File::create_new(path).map(drop).unwrap(),
            Kind::Folder => fs::create_dir(path).unwrap(),
            Kind::Pointer => fs::write(path, HERE).unwrap(),
        }
        File::open(path).unwrap().set_modified(SystemTime::UNIX_EPOCH + MADE_AT).unwrap();
        drop(Placeholder::put(path, kind).unwrap());
        assert!(!path.exists());
    }
}

#[test]
fn what_the_user_has_made_stays() {
    let world = tempfile::tempdir().unwrap();
    let folder = world.path().join("hooks");
    fs::create_dir(&folder).unwrap();
    drop(Placeholder::hold(&folder).unwrap());
    drop(Placeholder::put(&folder, Kind::Folder).unwrap());
    assert!(folder.exists());
    fs::write(folder.join("x"), "").unwrap();
    assert!(Placeholder::hold(&folder).is_none());
}
