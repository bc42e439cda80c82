use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use hermes_core::{ErrorKind, Grants};
use hermes_files::{ExistingFile, FileAccess, WriteOptions, WritePermissions};

use crate::harness::{WALKS, World, judged};

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

/// Temporary files that were left behind.
fn left_behind(world: &World) -> usize {
    let names = fs::read_dir(world.ws("")).unwrap().map(|entry| entry.unwrap().file_name());
    names.filter(|name| name.to_string_lossy().starts_with(".hermes-")).count()
}

#[test]
fn a_file_is_made_and_replaced() {
    for walk in WALKS {
        let world = World::new();
        let file = world.ws("a.txt");
        let grants = judged(&file);
        let files = FileAccess::with_grants(&grants).with_walk(walk);
        files.write(&file, b"one", WriteOptions::default()).unwrap();
        assert_eq!(read(&file), "one");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o741)).unwrap();
        files.write(&file, b"two", WriteOptions::default()).unwrap();
        assert_eq!(
            (read(&file).as_str(), fs::metadata(&file).unwrap().mode() & 0o7777),
            ("two", 0o741)
        );
        fs::set_permissions(&file, fs::Permissions::from_mode(0o6755)).unwrap();
        files.write(&file, b"two", WriteOptions::default()).unwrap();
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o7777, 0o755);
        let mode =
            WriteOptions { permissions: WritePermissions::Set(0o600), ..WriteOptions::default() };
        files.write(&file, b"three", mode).unwrap();
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o7777, 0o600);
        let new = WriteOptions { existing: ExistingFile::Refuse, ..WriteOptions::default() };
        let error = files.write(&file, b"four", new).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict);
        assert_eq!(read(&file), "three");
        fs::remove_file(&file).unwrap();
        files.write(&file, b"five", new).unwrap();
        assert_eq!(read(&file), "five");
        assert_eq!(left_behind(&world), 0);
    }
}

#[test]
fn a_link_that_was_judged_is_written_through_and_stays() {
    let world = World::new();
    world.write("target", "old");
    symlink("target", world.ws("link")).unwrap();
    symlink("new", world.ws("dangling")).unwrap();
    for (link, target) in [("link", "target"), ("dangling", "new")] {
        let grants = judged(&world.ws(link));
        FileAccess::with_grants(&grants)
            .write(&world.ws(link), b"x", WriteOptions::default())
            .unwrap();
        assert_eq!(read(&world.ws(target)), "x");
        assert!(fs::symlink_metadata(world.ws(link)).unwrap().is_symlink());
    }
}

#[test]
fn a_link_that_came_later_is_not_written_through() {
    for walk in WALKS {
        let world = World::new();
        world.write("a/secret", "mine");
        for path in [world.ws("a/secret"), world.ws("a/new"), world.ws("a/b/c/new")] {
            let grants = judged(&path);
            let files = FileAccess::with_grants(&grants).with_walk(walk);
            fs::rename(world.ws("a"), world.ws("aside")).unwrap();
            symlink(world.out(""), world.ws("a")).unwrap();
            let mode = WriteOptions { make_parents: true, ..WriteOptions::default() };
            for done in [
                files.write(&path, b"x", WriteOptions::default()),
                files.write(&path, b"x", mode),
                files.append(&path, b"x"),
                files.create_dir_all(&path),
                files.remove_file(&path),
                files.remove_tree(&path).map(drop),
            ] {
                assert_eq!(done.unwrap_err().kind(), ErrorKind::Conflict);
            }
            fs::remove_file(world.ws("a")).unwrap();
            fs::rename(world.ws("aside"), world.ws("a")).unwrap();
        }
        // At the end of the path.
        let path = world.ws("a/secret");
        let grants = judged(&path);
        let files = FileAccess::with_grants(&grants).with_walk(walk);
        fs::remove_file(&path).unwrap();
        symlink(world.out("secret"), &path).unwrap();
        assert_eq!(
            files.write(&path, b"x", WriteOptions::default()).unwrap_err().kind(),
            ErrorKind::Conflict
        );
        assert_eq!(files.append(&path, b"x").unwrap_err().kind(), ErrorKind::Conflict);
        world.assert_outside_untouched();
    }
}

#[test]
fn other_names_keep_the_old_content() {
    let world = World::new();
    let file = world.ws("inside");
    fs::hard_link(world.out("secret"), &file).unwrap();
    let grants = judged(&file);
    let files = FileAccess::with_grants(&grants);
    let error = files.append(&file, b"x").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied);
    assert!(error.message().contains("hard links"), "{error}");
    files.write(&file, b"new", WriteOptions::default()).unwrap();
    assert_eq!(read(&file), "new");
    world.assert_outside_untouched();
    files.append(&file, b"er").unwrap();
    assert_eq!(read(&file), "newer");
}

#[test]
fn what_is_not_a_writable_file_is_refused() {
    let world = World::new();
    let made = std::process::Command::new("mkfifo").arg(world.ws("pipe")).status();
    assert!(made.unwrap().success());
    fs::create_dir(world.ws("dir")).unwrap();
    let fixed = world.write("fixed", "x");
    fs::set_permissions(&fixed, fs::Permissions::from_mode(0o444)).unwrap();
    let everything = Grants::allow_all();
    for walk in WALKS {
        let files = FileAccess::with_grants(&everything).with_walk(walk);
        for (path, kind, says) in [
            (world.ws("pipe"), ErrorKind::InvalidArguments, "a named pipe"),
            (world.ws("dir"), ErrorKind::InvalidArguments, "a directory"),
            (world.ws("dir/"), ErrorKind::InvalidArguments, "a directory"),
            ("/".into(), ErrorKind::InvalidArguments, "a directory"),
            ("/dev/null".into(), ErrorKind::InvalidArguments, "a device"),
            (fixed.clone(), ErrorKind::Denied, "read-only"),
            (world.ws("no/where"), ErrorKind::NotFound, "No such file"),
            (world.ws("fixed/below"), ErrorKind::NotFound, "not a directory"),
            (world.ws(&"x".repeat(256)), ErrorKind::InvalidArguments, "too long"),
        ] {
            let error = files.write(&path, b"x", WriteOptions::default()).unwrap_err();
            assert_eq!(error.kind(), kind, "{error}");
            assert!(error.message().contains(says), "{error}");
        }
    }
    assert_eq!(read(&fixed), "x");
    assert_eq!(left_behind(&world), 0);
    // The longest name leaves no room for a longer one beside it.
    let longest = world.ws(&"x".repeat(255));
    FileAccess::with_grants(&everything).write(&longest, b"y", WriteOptions::default()).unwrap();
    assert_eq!(read(&longest), "y");
}

#[test]
fn missing_folders_are_made_when_asked() {
    for walk in WALKS {
        let world = World::new();
        let path = world.ws("a/b/c/d.txt");
        let grants = judged(&path);
        let files = FileAccess::with_grants(&grants).with_walk(walk);
        let error = files.write(&path, b"x", WriteOptions::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert!(!world.ws("a").exists());
        let mode = WriteOptions { make_parents: true, ..WriteOptions::default() };
        files.write(&path, b"x", mode).unwrap();
        assert_eq!(read(&path), "x");
        let dir = world.ws("p/q");
        let grants = judged(&dir);
        let files = FileAccess::with_grants(&grants).with_walk(walk);
        assert_eq!(files.create_dir(&dir).unwrap_err().kind(), ErrorKind::NotFound);
        files.create_dir_all(&dir).unwrap();
        files.create_dir_all(&dir).unwrap();
        assert_eq!(files.create_dir(&dir).unwrap_err().kind(), ErrorKind::Conflict);
        assert!(dir.is_dir());
    }
}

#[test]
fn appending_makes_a_file_and_adds_to_it() {
    let world = World::new();
    let path = world.ws("log");
    let grants = judged(&path);
    let files = FileAccess::with_grants(&grants);
    files.append(&path, b"one\n").unwrap();
    let before = fs::metadata(&path).unwrap().ino();
    files.append(&path, b"two\n").unwrap();
    assert_eq!(read(&path), "one\ntwo\n");
    assert_eq!(fs::metadata(&path).unwrap().ino(), before, "in place");
}

#[test]
fn a_rename_needs_both_ends() {
    for walk in WALKS {
        let world = World::new();
        world.write("a/one", "1");
        world.write("b/two", "2");
        let grants = judged(&world.ws(""));
        let files = FileAccess::with_grants(&grants).with_walk(walk);
        let (one, two) = (world.ws("a/one"), world.ws("b/two"));
        let error = files.rename(&one, &two, ExistingFile::Refuse).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict);
        files.rename(&one, &world.ws("b/three"), ExistingFile::Refuse).unwrap();
        files.rename(&world.ws("b/three"), &two, ExistingFile::Replace).unwrap();
        assert_eq!(read(&two), "1");
        files.rename(&world.ws("b"), &world.ws("c"), ExistingFile::Refuse).unwrap();
        assert_eq!(read(&world.ws("c/two")), "1");
        let into_itself = files.rename(&world.ws("c"), &world.ws("c/d"), ExistingFile::Refuse);
        assert_eq!(into_itself.unwrap_err().kind(), ErrorKind::InvalidArguments);
        // A symlink itself is moved.
        symlink(world.out("secret"), world.ws("link")).unwrap();
        files.rename(&world.ws("link"), &world.ws("moved"), ExistingFile::Refuse).unwrap();
        assert!(fs::symlink_metadata(world.ws("moved")).unwrap().is_symlink());
        for (from, to) in [("c/two", "moved"), ("none", "x"), ("c/two", "a")] {
            assert!(files.rename(&world.ws(from), &world.ws(to), ExistingFile::Replace).is_err());
        }
        assert!(files.rename(&world.ws("c/two"), &world.out("x"), ExistingFile::Replace).is_err());
        world.assert_outside_untouched();
    }
}
