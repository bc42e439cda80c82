#![allow(clippy::unwrap_used)]

use super::*;

fn pipe() -> (tempfile::TempDir, std::path::PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("pipe");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    (dir, path)
}

#[test]
fn a_regular_file_is_read_also_by_a_link() {
    let dir = tempfile::tempdir().unwrap();
    let (file, link) = (dir.path().join("file"), dir.path().join("link"));
    std::fs::write(&file, "text").unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    assert_eq!(read_text(&link).unwrap(), "text");
    assert_eq!(read(&file).unwrap(), b"text");
    assert_eq!(read_at_most(&file, 2).unwrap(), b"te");
    let missing = read(&dir.path().join("missing")).unwrap_err();
    assert_eq!(missing.kind(), io::ErrorKind::NotFound);
}

#[test]
fn nothing_else_is_opened_or_waited_for() {
    let (dir, pipe) = pipe();
    assert_eq!(read(&pipe).unwrap_err().to_string(), NOT_REGULAR_FILE);
    assert_eq!(open_lock(&pipe, 0o600).unwrap_err().to_string(), NOT_REGULAR_FILE);
    assert_eq!(read_text(Path::new("/dev/zero")).unwrap_err().to_string(), NOT_REGULAR_FILE);
    assert_eq!(read(dir.path()).unwrap_err().kind(), io::ErrorKind::IsADirectory);
}

#[test]
fn a_lock_is_made_and_found_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.lock");
    let held = open_lock(&path, 0o600).unwrap();
    held.lock().unwrap();
    assert!(open_lock(&path, 0o600).unwrap().try_lock().is_err());
}
