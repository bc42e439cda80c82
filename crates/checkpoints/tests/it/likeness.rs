//! What a file has besides its content and mode, when it is brought back.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, lchown};
use std::path::Path;

use rustix::fs::XattrFlags;

use crate::bench::Bench;

const ACCESS_LIST: &str = "system.posix_acl_access";

/// The owner may read and write, user 1234 may read, the group may do nothing,
/// and the mask allows all of it; the mode then looks like 0660.
fn access_list() -> Vec<u8> {
    let mut list = 2_u32.to_le_bytes().to_vec();
    let nobody = u32::MAX;
    for (tag, may, whom) in
        [(1, 6, nobody), (2, 4, 1234), (4, 0, nobody), (0x10, 6, nobody), (0x20, 0, nobody)]
    {
        list.extend(u16::to_le_bytes(tag));
        list.extend(u16::to_le_bytes(may));
        list.extend(u32::to_le_bytes(whom));
    }
    list
}

fn attribute(path: &Path, name: &str) -> Option<Vec<u8>> {
    let mut value = [0; 256];
    let len = rustix::fs::getxattr(path, name, &mut value).ok()?;
    Some(value[..len].to_vec())
}

fn set(path: &Path, name: &str, value: &[u8]) -> bool {
    rustix::fs::setxattr(path, name, value, XattrFlags::empty()).is_ok()
}

#[test]
fn the_owner_and_the_group_stay() {
    let bench = Bench::new();
    for name in ["replaced", "removed"] {
        bench.write(name, "old");
        // Only root can give files away.
        if chown(bench.path(name), Some(1000), Some(1001)).is_err() {
            return;
        }
        bench.chmod(name, 0o664);
    }
    bench.turn(&["replaced", "removed"], || {
        bench.write("replaced", "new");
        fs::remove_file(bench.path("removed")).unwrap();
    });
    let done = bench.undo(1).unwrap();
    assert!(done.missing_attributes.is_empty(), "{done:?}");
    for name in ["replaced", "removed"] {
        let found = fs::metadata(bench.path(name)).unwrap();
        assert_eq!(
            (found.uid(), found.gid(), found.mode() & 0o7777),
            (1000, 1001, 0o664),
            "{name}"
        );
        assert_eq!(bench.read(name).as_deref(), Some("old"));
    }
}

#[test]
fn the_access_list_stays_and_nobody_may_do_more_than_before() {
    let bench = Bench::new();
    for name in ["replaced", "removed"] {
        bench.write(name, "old");
        // Not every file system has them.
        if !set(&bench.path(name), ACCESS_LIST, &access_list()) {
            return;
        }
    }
    bench.turn(&["replaced", "removed"], || {
        bench.write("replaced", "new");
        fs::remove_file(bench.path("removed")).unwrap();
    });
    bench.undo(1).unwrap();
    for name in ["replaced", "removed"] {
        assert_eq!(bench.read(name).as_deref(), Some("old"));
        let list = attribute(&bench.path(name), ACCESS_LIST);
        assert_eq!(list.as_deref(), Some(&access_list()[..]), "{name}");
    }
}

#[test]
fn an_access_list_of_the_folder_is_not_given_to_a_file_that_had_none() {
    let bench = Bench::new();
    bench.write("dir/n", "old");
    bench.chmod("dir/n", 0o640);
    if !set(&bench.path("dir"), "system.posix_acl_default", &access_list()) {
        return;
    }
    bench.turn(&["dir/n"], || fs::remove_file(bench.path("dir/n")).unwrap());
    bench.undo(1).unwrap();
    assert_eq!(attribute(&bench.path("dir/n"), ACCESS_LIST), None);
    let mode = fs::metadata(bench.path("dir/n")).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o640);
}

#[test]
fn attributes_that_somebody_has_set_since_stay() {
    let bench = Bench::new();
    bench.write("n", "old");
    if !set(&bench.path("n"), "user.before", b"1") {
        return;
    }
    bench.turn(&["n"], || bench.write("n", "new"));
    assert!(set(&bench.path("n"), "user.since", b"2"));
    bench.undo(1).unwrap();
    assert_eq!(attribute(&bench.path("n"), "user.before").as_deref(), Some(&b"1"[..]));
    assert_eq!(attribute(&bench.path("n"), "user.since").as_deref(), Some(&b"2"[..]));
}

#[test]
fn a_change_of_owner_alone_is_undone_and_redone() {
    let bench = Bench::new();
    bench.write("dir/n", "text");
    // Only root can give files away.
    if chown(bench.path("dir/n"), Some(0), Some(0)).is_err() {
        return;
    }
    let owner = |name: &str| {
        let found = fs::metadata(bench.path(name)).unwrap();
        (found.uid(), found.gid(), found.mode() & 0o7777)
    };
    bench.chmod("dir/n", 0o4755);
    let (file, dir) = (owner("dir/n"), owner("dir"));
    bench.command(|| {
        chown(bench.path("dir/n"), Some(1000), Some(1001)).unwrap();
        chown(bench.path("dir"), Some(1000), None).unwrap();
    });
    let given = (owner("dir/n"), owner("dir"));
    assert_ne!(given.0, file);
    let done = bench.undo(1).unwrap();
    assert_eq!(done.restored, [bench.path("dir"), bench.path("dir/n")]);
    assert_eq!((owner("dir/n"), owner("dir")), (file, dir));
    bench.redo().unwrap();
    assert_eq!((owner("dir/n"), owner("dir")), given);
    // With a change of content the owner comes back as well.
    bench.command(|| {
        bench.write("dir/n", "other");
        chown(bench.path("dir/n"), Some(1002), None).unwrap();
    });
    bench.undo(1).unwrap();
    assert_eq!((owner("dir/n").0, bench.read("dir/n").as_deref()), (1000, Some("text")));
}

#[test]
fn an_owner_whom_somebody_has_given_it_since_is_not_overwritten() {
    let bench = Bench::new();
    bench.write("n", "old");
    bench.write("given", "old");
    if chown(bench.path("n"), Some(0), Some(0)).is_err() {
        return;
    }
    bench.command(|| {
        bench.write("n", "new");
        chown(bench.path("given"), Some(1000), None).unwrap();
    });
    chown(bench.path("n"), Some(1003), None).unwrap();
    bench.undo(1).unwrap();
    assert_eq!(fs::metadata(bench.path("n")).unwrap().uid(), 1003, "it is handed on");
    bench.command(|| chown(bench.path("given"), Some(1000), None).unwrap());
    chown(bench.path("given"), Some(1003), None).unwrap();
    let refused = bench.undo(1).unwrap_err();
    assert_eq!(refused.kind(), hermes_core::ErrorKind::Conflict);
    assert_eq!(fs::metadata(bench.path("given")).unwrap().uid(), 1003);
}

#[test]
fn a_change_of_attributes_alone_is_undone() {
    let bench = Bench::new();
    bench.write("n", "text");
    if !set(&bench.path("n"), "user.old", b"1") {
        return;
    }
    bench.command(|| {
        assert!(set(&bench.path("n"), "user.old", b"2"));
        assert!(set(&bench.path("n"), "user.new", b"3"));
    });
    bench.undo(1).unwrap();
    assert_eq!(attribute(&bench.path("n"), "user.old").as_deref(), Some(&b"1"[..]));
    assert_eq!(attribute(&bench.path("n"), "user.new"), None);
}

const LIST_FOR_NEW: &str = "system.posix_acl_default";

/// What a folder has besides its content.
fn dress(path: &Path) -> (u32, u32, u32, Vec<Option<Vec<u8>>>) {
    let found = fs::symlink_metadata(path).unwrap();
    let names = [ACCESS_LIST, LIST_FOR_NEW, "user.d"];
    let attributes = names.map(|name| attribute(path, name)).to_vec();
    (found.uid(), found.gid(), found.mode() & 0o7777, attributes)
}

/// A folder that the group may not look into, though its mode looks like it;
/// none where there are no access lists.
fn closed_folder() -> Option<Bench> {
    let bench = Bench::new();
    bench.write("dir/in/n", "text");
    let dir = bench.path("dir");
    let _ = chown(&dir, None, Some(1000));
    let is_set = [ACCESS_LIST, LIST_FOR_NEW].iter().all(|name| set(&dir, name, &access_list()));
    (is_set && set(&dir, "user.d", b"D")).then_some(bench)
}

#[test]
fn a_folder_comes_back_with_its_access_lists_and_attributes() {
    let Some(bench) = closed_folder() else { return };
    let dir = bench.path("dir");
    let before = (dress(&dir), dress(&bench.path("dir/in")), dress(&bench.path("dir/in/n")));
    let now = || (dress(&dir), dress(&bench.path("dir/in")), dress(&bench.path("dir/in/n")));
    assert_eq!(before.0.2 & 0o070, 0o060, "it looks open to its group");
    bench.command(|| fs::rename(&dir, bench.path("moved")).unwrap());
    let done = bench.undo(1).unwrap();
    assert_eq!((now(), done.missing_attributes), (before.clone(), Vec::new()));
    assert!(!bench.path("moved").exists());
    bench.command(|| fs::remove_dir_all(&dir).unwrap());
    bench.undo(1).unwrap();
    assert_eq!(now(), before);
    bench.redo().unwrap();
    assert!(!dir.exists());
    bench.undo(1).unwrap();
    // As one that a call names.
    bench.turn(&["dir"], || fs::remove_dir_all(&dir).unwrap());
    bench.undo(1).unwrap();
    assert_eq!(now(), before);
    // One that is made again is another.
    bench.command(|| {
        fs::remove_dir_all(&dir).unwrap();
        fs::create_dir(&dir).unwrap();
    });
    bench.undo(1).unwrap();
    assert_eq!(now(), before);
}

#[test]
fn a_change_of_a_folders_attributes_alone_is_undone_and_redone() {
    let Some(bench) = closed_folder() else { return };
    let dir = bench.path("dir");
    let before = dress(&dir);
    for name in [ACCESS_LIST, LIST_FOR_NEW, "user.d"] {
        bench.command(|| rustix::fs::removexattr(&dir, name).unwrap());
        let after = dress(&dir);
        assert_ne!(after, before, "{name}");
        bench.undo(1).unwrap();
        assert_eq!(dress(&dir), before, "{name}");
        bench.redo().unwrap();
        assert_eq!(dress(&dir), after, "{name}");
        bench.undo(1).unwrap();
    }
    bench.command(|| assert!(set(&dir, "user.new", b"1")));
    bench.undo(1).unwrap();
    assert_eq!(attribute(&dir, "user.new"), None);
    assert_eq!(dress(&dir), before);
}

#[test]
fn a_folder_that_had_no_access_list_does_not_get_that_of_the_one_around_it() {
    let Some(bench) = closed_folder() else { return };
    let inner = bench.path("dir/in");
    bench.chmod("dir/in", 0o750);
    let before = dress(&inner);
    bench.command(|| fs::remove_dir_all(&inner).unwrap());
    bench.undo(1).unwrap();
    assert_eq!(dress(&inner), before);
}

#[test]
fn a_folder_whose_access_list_somebody_has_changed_since_is_left() {
    let Some(bench) = closed_folder() else { return };
    let dir = bench.path("dir");
    bench.command(|| rustix::fs::removexattr(&dir, ACCESS_LIST).unwrap());
    bench.chmod("dir", 0o700);
    assert!(set(&dir, "user.d", b"mine"));
    let mine = dress(&dir);
    let refused = bench.undo(1).unwrap_err();
    assert_eq!(refused.kind(), hermes_core::ErrorKind::Conflict);
    assert_eq!(dress(&dir), mine);
}

#[test]
fn the_names_of_one_file_are_names_of_one_file_again() {
    let bench = Bench::new();
    bench.write("a", "old");
    fs::create_dir(bench.path("dir")).unwrap();
    fs::hard_link(bench.path("a"), bench.path("b")).unwrap();
    fs::hard_link(bench.path("a"), bench.path("dir/c")).unwrap();
    let inodes =
        || ["a", "b", "dir/c"].map(|name| fs::metadata(bench.path(name)).map_or(0, |f| f.ino()));
    let is_one = || inodes().iter().all(|inode| *inode == inodes()[0] && *inode != 0);
    bench.command(|| bench.write("a", "new"));
    let done = bench.undo(1).unwrap();
    assert!(done.missing_attributes.is_empty() && is_one(), "{done:?}");
    assert_eq!(bench.read("dir/c").as_deref(), Some("old"));
    let done = bench.redo().unwrap();
    assert!(done.missing_attributes.is_empty() && is_one(), "{done:?}");
    assert_eq!(bench.read("b").as_deref(), Some("new"));
    bench.undo(1).unwrap();
    bench.command(|| {
        ["a", "b", "dir/c"].iter().for_each(|name| fs::remove_file(bench.path(name)).unwrap());
    });
    let done = bench.undo(1).unwrap();
    assert!(done.missing_attributes.is_empty() && is_one(), "{done:?}");
    // A name that was never in the tree.
    fs::hard_link(bench.path("a"), bench.root().join("outside")).unwrap();
    bench.command(|| bench.write("a", "new"));
    let done = bench.undo(1).unwrap();
    let lost = |name: &str| (bench.path(name), vec!["hard link".to_owned()]);
    assert_eq!(done.missing_attributes, [lost("a"), lost("b"), lost("dir/c")]);
    assert!(is_one());
    // One of which only one name was changed.
    bench.turn(&["b"], || fs::remove_file(bench.path("b")).unwrap());
    let done = bench.undo(1).unwrap();
    assert_eq!(done.missing_attributes, [lost("b")]);
    assert_eq!(bench.read("b").as_deref(), Some("old"));
}

#[test]
fn files_of_the_same_content_stay_files_of_their_own() {
    let bench = Bench::new();
    for name in ["a", "b"] {
        bench.write(name, "old");
        fs::hard_link(bench.path(name), bench.path(format!("{name}2"))).unwrap();
    }
    bench.command(|| ["a", "b"].iter().for_each(|name| bench.write(name, "new")));
    assert!(bench.undo(1).unwrap().missing_attributes.is_empty());
    let inode = |name: &str| fs::metadata(bench.path(name)).unwrap().ino();
    assert_eq!((inode("a"), inode("b")), (inode("a2"), inode("b2")));
    assert_ne!(inode("a"), inode("b"));
}

#[test]
fn a_link_comes_back_with_its_owner() {
    let bench = Bench::new();
    bench.link("link", "nowhere");
    let link = bench.path("link");
    // Only root can give links away.
    if lchown(&link, Some(1000), Some(1001)).is_err() {
        return;
    }
    let owner = || {
        let found = fs::symlink_metadata(&link).unwrap();
        (found.uid(), found.gid())
    };
    bench.command(|| fs::remove_file(&link).unwrap());
    assert!(bench.undo(1).unwrap().missing_attributes.is_empty());
    assert_eq!(owner(), (1000, 1001));
    // A change of the owner alone is a change.
    bench.command(|| lchown(&link, Some(5), Some(6)).unwrap());
    bench.undo(1).unwrap();
    assert_eq!(owner(), (1000, 1001));
    bench.redo().unwrap();
    assert_eq!(owner(), (5, 6));
    // One whom somebody has given it since is handed on.
    bench.command(|| {
        fs::remove_file(&link).unwrap();
        bench.link("link", "elsewhere");
        lchown(&link, Some(5), Some(6)).unwrap();
    });
    lchown(&link, Some(7), Some(8)).unwrap();
    bench.undo(1).unwrap();
    assert_eq!(owner(), (7, 8));
    assert_eq!(fs::read_link(&link).unwrap(), Path::new("nowhere"));
}
