#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::Read;
use std::os::unix::fs::symlink;

use hermes_core::ToolContext;
use hermes_files::FileAccess;

use super::*;

fn handle(dir: &tempfile::TempDir) -> DirHandle {
    let real = dir.path().canonicalize().unwrap();
    let cx = ToolContext::bare(&real);
    let opened = FileAccess::new(&cx).open_dir(&real).unwrap();
    DirHandle::open_verified(&opened, &real).unwrap()
}

fn world() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("in/deep")).unwrap();
    fs::create_dir_all(dir.path().join("out")).unwrap();
    fs::write(dir.path().join("out/secret"), "secret").unwrap();
    fs::write(dir.path().join("in/deep/file"), "inside").unwrap();
    symlink("../out", dir.path().join("in/way")).unwrap();
    symlink("../out/secret", dir.path().join("in/link")).unwrap();
    symlink("in", dir.path().join("again")).unwrap();
    dir
}

#[test]
fn files_and_folders_below_are_reached() {
    let dir = world();
    let handle = handle(&dir);
    let (mut file, known) = handle.open_file(Path::new("in/deep/file")).unwrap();
    let mut text = String::new();
    file.read_to_string(&mut text).unwrap();
    assert_eq!((text.as_str(), known.len, known.kind), ("inside", 6, FileKind::File));
    let mut names = Vec::new();
    let below = handle.open_dir(Path::new("in")).unwrap();
    below
        .for_each_entry(|name, kind| {
            names.push((name.to_str().unwrap().to_owned(), kind));
            true
        })
        .unwrap();
    names.sort();
    let expected =
        [("deep", FileKind::Directory), ("link", FileKind::Link), ("way", FileKind::Link)];
    assert_eq!(names, expected.map(|(name, kind)| (name.to_owned(), kind)));
    assert_eq!(handle.stat(Path::new("in/link")).unwrap().kind, FileKind::Link);
}

#[test]
fn no_link_is_followed_wherever_it_is() {
    let dir = world();
    let handle = handle(&dir);
    for path in ["in/link", "in/way/secret", "again/deep/file"] {
        assert!(handle.open_file(Path::new(path)).is_err(), "{path}");
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW;
        assert!(open_stepwise(handle.fd.as_fd(), Path::new(path), flags).is_err(), "{path}");
    }
    for path in ["in/way", "again/deep", "again"] {
        assert!(handle.open_dir(Path::new(path)).is_err(), "{path}");
    }
    assert!(handle.open_file(Path::new("../etc/passwd")).is_err());
    assert!(handle.open_dir(Path::new("in/../..")).is_err());
}

#[test]
fn both_ways_lead_to_the_same_file() {
    let dir = world();
    let handle = handle(&dir);
    let path = Path::new("in/deep/file");
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW;
    let stat = |fd: OwnedFd| rustix::fs::fstat(fd).unwrap().st_ino;
    let (once, steps) = (
        open_with_openat2(handle.fd.as_fd(), path, flags).unwrap(),
        open_stepwise(handle.fd.as_fd(), path, flags).unwrap(),
    );
    assert_eq!(stat(once), stat(steps));
}

#[test]
fn another_folder_in_its_place_is_refused() {
    let dir = world();
    let real = dir.path().canonicalize().unwrap();
    let cx = ToolContext::bare(&real);
    let opened = FileAccess::new(&cx).open_dir(&real.join("in")).unwrap();
    fs::rename(real.join("in"), real.join("aside")).unwrap();
    fs::create_dir(real.join("in")).unwrap();
    assert!(DirHandle::open_verified(&opened, &real.join("in")).is_err());
}

#[test]
fn what_is_no_regular_file_is_not_opened_for_long() {
    let dir = world();
    let pipe = dir.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let error = handle(&dir).open_file(Path::new("pipe")).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
}
