//! Killed at any moment, a writer leaves the old content or the new, and
//! nothing else that outlasts the next write.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use hermes_core::{CancellationToken, Grants};
use hermes_files::{ExistingFile, FileAccess, FileChange, JournalDir, WriteOptions};

const KILLS: u64 = 60;
const FOLDER: &str = "HERMES_TEST_KILLED_IN";
const MANY: usize = 40;
const NAMES: [&str; 3] = ["one", "two", "three"];

/// A text that tells its number, and whether it is whole.
fn text(number: u64) -> String {
    let lines = number % 97 + 1;
    format!("{number} of {lines}\n").repeat(usize::try_from(lines).unwrap())
}

/// The number of a text that is whole.
fn number(path: &Path) -> u64 {
    let Ok(found) = fs::read_to_string(path) else { return 0 };
    let number = found.split(' ').next().unwrap().parse().unwrap();
    assert_eq!(found, text(number), "a mix in {}", path.display());
    number
}

/// Where changes are written down: not among the files.
fn journals(dir: &Path) -> Arc<JournalDir> {
    Arc::new(JournalDir::new(dir.with_extension("journals")))
}

/// Not a test: what the test kills.
#[test]
#[ignore = "started by another test"]
fn write_on_and_on() {
    let Some(dir) = env::var_os(FOLDER).map(PathBuf::from) else { return };
    let everything = Grants::allow_all();
    let files = FileAccess::with_grants(&everything);
    let paths = NAMES.map(|name| dir.join(name));
    let mut next = paths.iter().map(|path| number(path)).max().unwrap() + 1;
    loop {
        match next % 4 {
            0 => {
                let hold =
                    files.lock(&[&paths[0]], Duration::from_secs(60), &CancellationToken::new());
                let changes = paths.clone().map(|path| FileChange::Write {
                    path,
                    bytes: text(next).into(),
                    existing: ExistingFile::Replace,
                });
                hold.unwrap().with_journals(Some(journals(&dir))).change(&changes).unwrap();
            }
            1 => {
                let path = &paths[2];
                let _ = fs::remove_file(path);
                files.write(path, text(next).as_bytes(), WriteOptions::default()).unwrap();
            }
            _ => files.write(&paths[0], text(next).as_bytes(), WriteOptions::default()).unwrap(),
        }
        next += 1;
    }
}

/// Not a test: many files at once, over and over.
#[test]
#[ignore = "started by another test"]
fn change_many_on_and_on() {
    let Some(dir) = env::var_os(FOLDER).map(PathBuf::from) else { return };
    let everything = Grants::allow_all();
    let files = FileAccess::with_grants(&everything);
    for round in 0_u64.. {
        let changes: Vec<_> = (0..MANY)
            .map(|at| FileChange::Write {
                path: dir.join(format!("{at}")),
                bytes: text(round).into(),
                existing: ExistingFile::Replace,
            })
            .collect();
        let hold =
            files.lock(&[&dir.join("0")], Duration::from_secs(60), &CancellationToken::new());
        hold.unwrap().with_journals(Some(journals(&dir))).change(&changes).unwrap();
        fs::write(dir.join("round"), format!("{round}")).unwrap();
    }
}

#[test]
fn what_a_killed_change_of_many_files_left_goes_with_the_next_look() {
    let dir = tempfile::tempdir().unwrap();
    let round = || fs::read_to_string(dir.path().join("round")).unwrap_or_default();
    let everything = Grants::allow_all();
    for _ in 0..12 {
        let before = round();
        let mut child = start(dir.path(), "killing::change_many_on_and_on");
        // It has begun, and is somewhere in the middle.
        while round() == before {
            assert!(child.try_wait().unwrap().is_none(), "the writer gave up");
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let first = dir.path().join("0");
        let hold = FileAccess::with_grants(&everything).lock(
            &[&first],
            Duration::ZERO,
            &CancellationToken::new(),
        );
        drop(hold.unwrap());
        journals(dir.path()).recover();
        let hold = FileAccess::with_grants(&everything).lock(
            &[&first],
            Duration::ZERO,
            &CancellationToken::new(),
        );
        drop(hold.unwrap());
        let mut names: Vec<String> = fs::read_dir(dir.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.retain(|name| name.starts_with('.'));
        assert_eq!(names, [""; 0]);
        let mut rounds: Vec<u64> =
            (0..MANY).map(|at| number(&dir.path().join(format!("{at}")))).collect();
        rounds.dedup();
        assert_eq!(rounds.len(), 1, "all of the files are changed, or none: {rounds:?}");
    }
}

fn start(dir: &Path, test: &str) -> Child {
    Command::new(env::current_exe().unwrap())
        .args(["--exact", test, "--ignored", "--nocapture"])
        .env(FOLDER, dir)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn a_killed_writer_leaves_the_old_or_the_new() {
    // In memory, where the disk does not set the pace.
    let memory = Path::new("/dev/shm");
    let parent = if memory.is_dir() { memory.to_path_buf() } else { env::temp_dir() };
    let dir = tempfile::tempdir_in(parent).unwrap();
    let paths = NAMES.map(|name| dir.path().join(name));
    let reached = || paths.iter().map(|path| number(path)).max().unwrap();
    let left = || {
        let names = fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name());
        names.filter(|name| name.to_string_lossy().starts_with('.')).count()
    };
    let everything = Grants::allow_all();
    let files = FileAccess::with_grants(&everything);
    for kill in 0..KILLS {
        let mut child = start(dir.path(), "killing::write_on_and_on");
        // A different number each time, so that it dies at different moments.
        let until = reached() + 5 + kill * 37 % 83;
        while reached() < until {
            assert!(child.try_wait().unwrap().is_none(), "the writer gave up");
        }
        child.kill().unwrap();
        child.wait().unwrap();
        // The next start.
        journals(dir.path()).recover();
        reached();
        files.write(&dir.path().join("next"), b"x", WriteOptions::default()).unwrap();
        assert_eq!(left(), 0);
    }
}
