use std::fs;
use std::os::unix::fs::symlink;

use hermes_core::{Effect, ErrorKind, Grant, Grants, Scope};
use hermes_files::{FileAccess, real_entry};

use crate::harness::{WALKS, World, judged};

#[test]
fn files_and_empty_folders_go() {
    for walk in WALKS {
        let world = World::new();
        let file = world.write("a/file", "x");
        let grants = judged(&world.ws("a"));
        let files = FileAccess::with_grants(&grants).with_walk(walk);
        assert_eq!(files.remove_dir(&world.ws("a")).unwrap_err().kind(), ErrorKind::Conflict);
        assert!(files.remove_file(&world.ws("a")).unwrap_err().message().contains("a directory"));
        assert!(files.remove_dir(&file).unwrap_err().message().contains("a file"));
        files.remove_file(&file).unwrap();
        assert_eq!(files.remove_file(&file).unwrap_err().kind(), ErrorKind::NotFound);
        files.remove_dir(&world.ws("a")).unwrap();
        assert!(!world.ws("a").exists());
    }
}

#[test]
fn devices_and_the_root_stay() {
    let everything = Grants::allow_all();
    let files = FileAccess::with_grants(&everything);
    assert!(files.remove_file("/dev/null".as_ref()).unwrap_err().message().contains("a device"));
    assert_eq!(files.remove_tree("/".as_ref()).unwrap_err().kind(), ErrorKind::Denied);
    assert!(files.remove_dir("/".as_ref()).is_err());
}

#[test]
fn a_link_goes_and_its_target_stays() {
    let world = World::new();
    let link = world.ws("link");
    symlink(world.out("secret"), &link).unwrap();
    // If only the target was checked, the symlink itself is not granted.
    let grants = judged(&link);
    let error = FileAccess::with_grants(&grants).remove_file(&link).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied);
    assert!(fs::symlink_metadata(&link).is_ok());
    // If its own path or a parent directory was granted, it is removed.
    let own = Grants::new(vec![Grant {
        effect: Effect::path(Scope::FILE_DELETE, &link),
        real_path: Some(real_entry(&link).unwrap()),
    }]);
    for grants in [own, judged(&world.ws("")), Grants::allow_all()] {
        FileAccess::with_grants(&grants).remove_file(&link).unwrap();
        assert!(fs::symlink_metadata(&link).is_err());
        symlink(world.out("secret"), &link).unwrap();
    }
    world.assert_outside_untouched();
}

#[test]
fn trees_go_without_their_links_targets() {
    for walk in WALKS {
        let world = World::new();
        world.write("t/a/b/c", "");
        world.write("t/d", "");
        symlink(world.out(""), world.ws("t/a/out")).unwrap();
        symlink(world.out("secret"), world.ws("t/secret")).unwrap();
        symlink("..", world.ws("t/a/up")).unwrap();
        world.write("kept", "");
        let grants = judged(&world.ws("t"));
        let files = FileAccess::with_grants(&grants).with_walk(walk);
        assert_eq!(files.remove_tree(&world.ws("t")).unwrap(), 8);
        assert!(!world.ws("t").exists() && world.ws("kept").exists());
        world.assert_outside_untouched();
        assert_eq!(files.remove_tree(&world.ws("t")).unwrap_err().kind(), ErrorKind::NotFound);
    }
    let world = World::new();
    let file = world.write("file", "");
    symlink(world.out(""), world.ws("link")).unwrap();
    let everything = Grants::allow_all();
    let files = FileAccess::with_grants(&everything);
    assert!(files.remove_tree(&file).is_err() && file.exists());
    assert!(files.remove_tree(&world.ws("link")).is_err());
    world.assert_outside_untouched();
}

#[test]
fn a_tree_that_is_too_deep_is_left_whole() {
    let world = World::new();
    let deep = world.ws("t").join("d/".repeat(300));
    fs::create_dir_all(&deep).unwrap();
    world.write("t/first", "");
    let grants = judged(&world.ws("t"));
    let error = FileAccess::with_grants(&grants).remove_tree(&world.ws("t")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
    assert!(deep.exists() && world.ws("t/first").exists());
}

/// Requires permission to mount; otherwise there is no mount to cross.
#[test]
fn a_mounted_file_system_is_not_crossed() {
    let world = World::new();
    world.write("t/first", "");
    fs::create_dir(world.ws("t/mounted")).unwrap();
    // The same device under another name: only the mount ID differs.
    let mount = |program: &str, arguments: &[&std::path::Path]| {
        let done = std::process::Command::new(program).args(arguments).output();
        done.is_ok_and(|output| output.status.success())
    };
    let at = world.ws("t/mounted");
    if !mount("mount", &["--bind".as_ref(), &world.out(""), &at]) {
        return;
    }
    let grants = judged(&world.ws("t"));
    let outcome = FileAccess::with_grants(&grants).remove_tree(&world.ws("t"));
    assert!(mount("umount", &[&at]));
    assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Denied);
    assert!(world.ws("t/first").exists());
    world.assert_outside_untouched();
}
