#![allow(clippy::unwrap_used)]

use std::os::unix::fs::PermissionsExt as _;

use super::*;

#[test]
fn a_room_is_used_again_and_empty_then() {
    let rooms = ScriptDirPool::default();
    let first = rooms.acquire().unwrap();
    let second = rooms.acquire().unwrap();
    assert_ne!(first.path, second.path);
    let path = first.path.clone();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
    first.write_file("lib/a.py", "x").unwrap();
    let deep = first.create_dir("work/deep").unwrap();
    fs::write(deep.join("file"), "x").unwrap();
    drop(first);
    let again = rooms.acquire().unwrap();
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
    let rooms = ScriptDirPool::default();
    let room = rooms.acquire().unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), room.path.join("lib")).unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), room.path.join("work")).unwrap();
    drop(room);
    assert_eq!(fs::read(elsewhere.path().join("hermes_tools.py")).unwrap(), b"mine");
    let again = rooms.acquire().unwrap();
    again.write_file("lib/hermes_tools.py", "ours").unwrap();
    assert_eq!(fs::read(elsewhere.path().join("hermes_tools.py")).unwrap(), b"mine");
}
