#![allow(clippy::unwrap_used)]

use std::os::unix::fs::PermissionsExt as _;

use super::*;

#[test]
fn a_room_is_used_again_and_empty_then() {
    let rooms = Rooms::default();
    let first = rooms.take().unwrap();
    let second = rooms.take().unwrap();
    assert_ne!(first.path, second.path);
    let path = first.path.clone();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
    first.write("lib/a.py", "x").unwrap();
    let deep = first.folder("work/deep").unwrap();
    fs::write(deep.join("file"), "x").unwrap();
    drop(first);
    let again = rooms.take().unwrap();
    assert_eq!(again.path, path);
    assert_eq!(fs::read_dir(&path).unwrap().count(), 0);
    let top = path.parent().unwrap().to_owned();
    drop(again);
    rooms.close();
    assert!(!top.exists());
}

#[test]
fn what_a_link_leads_to_stays() {
    let elsewhere = tempfile::tempdir().unwrap();
    fs::write(elsewhere.path().join("hermes_tools.py"), "mine").unwrap();
    let rooms = Rooms::default();
    let room = rooms.take().unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), room.path.join("lib")).unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), room.path.join("work")).unwrap();
    drop(room);
    assert_eq!(fs::read(elsewhere.path().join("hermes_tools.py")).unwrap(), b"mine");
    let again = rooms.take().unwrap();
    again.write("lib/hermes_tools.py", "ours").unwrap();
    assert_eq!(fs::read(elsewhere.path().join("hermes_tools.py")).unwrap(), b"mine");
}
