use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::open::WalkMode;
use crate::scratch::sweep_scratch;

fn spot(dir: &tempfile::TempDir, name: &str) -> AnchoredName {
    let real = fs::canonicalize(dir.path()).expect("folder");
    AnchoredName::resolve(&real.join(name), WalkMode::default()).expect("spot")
}

fn names(dir: &tempfile::TempDir) -> Vec<String> {
    let entries = fs::read_dir(dir.path()).expect("list").map(|entry| entry.expect("entry"));
    let mut names: Vec<_> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_file_without_a_name_leaves_nothing() {
    let dir = tempfile::tempdir().expect("folder");
    let spot = spot(&dir, "a");
    let mut temporary = TempFile::create(spot.dir.as_fd(), 0o600).expect("file");
    temporary.file.write_all(b"x").expect("write");
    if temporary.name.is_none() {
        assert!(names(&dir).is_empty());
    }
    drop(temporary);
    assert!(names(&dir).is_empty());
    let temporary = TempFile::create_named(spot.dir.as_fd(), 0o600).expect("file");
    let own = names(&dir);
    assert_eq!(own.len(), 1);
    assert_eq!(ScratchKind::from_name(OsStr::new(&own[0])), Some(ScratchKind::File));
    drop(temporary);
    assert!(names(&dir).is_empty());
}

#[test]
fn a_file_that_cannot_be_named_goes_on_as_a_copy() {
    let dir = tempfile::tempdir().expect("folder");
    let spot = spot(&dir, "a");
    let mut temporary = TempFile::create(spot.dir.as_fd(), 0o600).expect("file");
    temporary.file.write_all(b"content").expect("write");
    rustix::fs::fchmod(&temporary.file, Mode::from_raw_mode(0o640)).expect("mode");
    temporary.name = None;
    let name = temporary.switch_to_named_copy().expect("copy");
    temporary.name = Some(name);
    temporary.persist(&spot.name, ExistingFile::Refuse).expect("keep");
    assert_eq!(names(&dir), ["a"]);
    let path = dir.path().join("a");
    assert_eq!(fs::read(&path).expect("read"), b"content");
    assert_eq!(fs::metadata(&path).expect("facts").permissions().mode() & 0o777, 0o640);
}

#[test]
fn what_is_put_aside_comes_back_or_goes() {
    let dir = tempfile::tempdir().expect("folder");
    let spot = spot(&dir, "a");
    let path = dir.path().join("a");
    fs::write(&path, "old").expect("file");
    let parked = ParkedFile::park(&spot, &ScratchKind::File.new_name()).expect("aside");
    assert_eq!(names(&dir).len(), 1);
    // Somebody else's write does not take it for abandoned.
    sweep_scratch(&spot.dir);
    parked.restore(&spot.name, ExistingFile::Refuse).expect("back");
    assert_eq!(fs::read_to_string(&path).expect("read"), "old");
    drop(ParkedFile::park(&spot, &ScratchKind::File.new_name()).expect("aside"));
    assert!(names(&dir).is_empty());
    // It is not lost if its name was taken meanwhile.
    fs::write(&path, "old").expect("file");
    let parked = ParkedFile::park(&spot, &ScratchKind::File.new_name()).expect("aside");
    fs::write(&path, "other").expect("file");
    parked.restore(&spot.name, ExistingFile::Refuse).expect_err("taken");
    let left = names(&dir);
    assert!(left[0].ends_with(".tmp.kept") && left[1] == "a", "{left:?}");
    sweep_scratch(&spot.dir);
    assert_eq!(names(&dir).len(), 2);
}

#[test]
fn a_swap_puts_the_old_file_aside() {
    let dir = tempfile::tempdir().expect("folder");
    let spot = spot(&dir, "a");
    let path = dir.path().join("a");
    fs::write(&path, "old").expect("file");
    let mut temporary = TempFile::create(spot.dir.as_fd(), 0o600).expect("file");
    temporary.file.write_all(b"new").expect("write");
    let old =
        temporary.persist_parking_old(&spot.name, &ScratchKind::File.new_name()).expect("swap");
    assert_eq!(fs::read_to_string(&path).expect("read"), "new");
    old.restore(&spot.name, ExistingFile::Replace).expect("back");
    assert_eq!(fs::read_to_string(&path).expect("read"), "old");
    assert_eq!(names(&dir), ["a"]);
}

#[test]
fn without_an_exchange_the_old_file_is_parked_under_the_given_name() {
    let dir = tempfile::tempdir().expect("folder");
    let spot = spot(&dir, "a");
    let path = dir.path().join("a");
    fs::write(&path, "old").expect("file");
    let mut temporary = TempFile::create(spot.dir.as_fd(), 0o600).expect("file");
    temporary.file.write_all(b"new").expect("write");
    let aside = ScratchKind::File.new_name();
    let parked = temporary
        .persist_parking_with(&spot.name, &aside, |_, _, _| Err(Errno::INVAL))
        .expect("replace");
    assert_eq!(fs::read_to_string(&path).expect("read"), "new");
    // A rollback after a crash looks for it there.
    assert_eq!(fs::read_to_string(dir.path().join(&aside)).expect("read"), "old");
    assert_eq!(names(&dir).len(), 2);
    parked.restore(&spot.name, ExistingFile::Replace).expect("back");
    assert_eq!(fs::read_to_string(&path).expect("read"), "old");
    assert_eq!(names(&dir), ["a"]);
}
