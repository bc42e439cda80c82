//! A full disk, and other ways in which there is no room: nothing changes.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use hermes_core::{CancellationToken, ErrorKind, Grants, ToolError};
use hermes_files::{ExistingFile, FileAccess, FileChange, WriteOptions};

use crate::harness::World;

const FOLDER: &str = "HERMES_TEST_NO_ROOM_IN";

/// Writes more than there is room for, in every way.
fn overfill(dir: &Path) -> Vec<ToolError> {
    let large = vec![b'x'; 1024 * 1024];
    let everything = Grants::allow_all();
    let files = FileAccess::with_grants(&everything);
    let (old, other, new) = (dir.join("old"), dir.join("other"), dir.join("new/er"));
    let write = |path: &Path, bytes: &[u8]| FileChange::Write {
        path: path.into(),
        bytes: bytes.to_vec().into(),
        existing: ExistingFile::Replace,
    };
    let at_once = |changes: &[FileChange]| {
        let paths: Vec<&Path> = changes.iter().flat_map(FileChange::paths).collect();
        let held = files.lock(&paths, Duration::from_secs(60), &CancellationToken::new());
        held.unwrap().change(changes).map(drop)
    };
    [
        files.write(&old, &large, WriteOptions::default()),
        files.write(&dir.join("fresh"), &large, WriteOptions::default()),
        files.append(&old, &large),
        at_once(&[write(&old, &large)]),
        at_once(&[write(&other, b"small"), write(&old, &large)]),
        at_once(&[
            write(&new, b"small"),
            FileChange::Remove { path: other.clone() },
            FileChange::Move {
                from: old.clone(),
                to: dir.join("moved"),
                bytes: Some(large.clone().into()),
            },
        ]),
    ]
    .map(Result::unwrap_err)
    .into()
}

fn fill(dir: &Path) {
    fs::write(dir.join("old"), "old").unwrap();
    fs::write(dir.join("other"), "other").unwrap();
}

fn assert_untouched(dir: &Path) {
    let mut found: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            (entry.file_name().into_string().unwrap(), fs::read_to_string(entry.path()).unwrap())
        })
        .collect();
    found.sort();
    let expected = [("old", "old"), ("other", "other")];
    assert_eq!(found, expected.map(|(name, text)| (name.to_owned(), text.to_owned())));
}

/// Needs a machine that lets us mount; elsewhere no disk is small enough.
#[test]
fn a_full_disk_changes_nothing() {
    let world = World::new();
    let disk = world.ws("disk");
    fs::create_dir(&disk).unwrap();
    let run = |program: &str, arguments: &[&str]| {
        let done = Command::new(program).args(arguments).arg(&disk).output();
        done.is_ok_and(|output| output.status.success())
    };
    if !run("mount", &["-t", "tmpfs", "-o", "size=64k", "tmpfs"]) {
        return;
    }
    let tried = std::panic::catch_unwind(|| {
        fill(&disk);
        let errors = overfill(&disk);
        assert_untouched(&disk);
        errors
    });
    assert!(run("umount", &[]));
    for error in tried.unwrap() {
        assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
    }
}

/// Not a test: what runs with little room.
#[test]
#[ignore = "started by another test"]
fn write_with_little_room() {
    let Some(dir) = env::var_os(FOLDER).map(PathBuf::from) else { return };
    for error in overfill(&dir) {
        assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
    }
}

/// The system lets a process write only so much to one file.
#[test]
fn a_limit_on_the_size_of_files_changes_nothing() {
    let world = World::new();
    fill(&world.ws(""));
    let status = Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 64; exec \"$0\" \"$@\""])
        .arg(env::current_exe().unwrap())
        .args(["--exact", "filling::write_with_little_room", "--ignored", "--nocapture"])
        .env(FOLDER, world.ws(""))
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
    assert_untouched(&world.ws(""));
}
