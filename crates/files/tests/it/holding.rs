//! Files that are held: one at a time, across threads and processes.

use std::fs;
use std::path::Path;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use hermes_core::{CancellationToken, Effect, ErrorKind, Grants, Scope};
use hermes_files::{ExistingFile, FileAccess, FileChange, FileLocks};

use crate::harness::World;

const LONG: Duration = Duration::from_secs(60);

fn hold<'a>(grants: &'a Grants, paths: &[&Path], wait: Duration) -> FileLocks<'a> {
    FileAccess::with_grants(grants).lock(paths, wait, &CancellationToken::new()).unwrap()
}

fn write(path: &Path, text: String) -> FileChange {
    FileChange::Write { path: path.into(), bytes: text.into(), existing: ExistingFile::Replace }
}

#[test]
fn no_update_is_lost_between_threads() {
    let world = World::new();
    let file = world.write("count", "0");
    let everything = Grants::allow_all();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..25 {
                    let hold = hold(&everything, &[&file], LONG);
                    let old = String::from_utf8(hold.read(&file).unwrap().unwrap()).unwrap();
                    let new = old.parse::<u64>().unwrap() + 1;
                    hold.change(&[write(&file, new.to_string())]).unwrap();
                }
            });
        }
    });
    assert_eq!(fs::read_to_string(&file).unwrap(), "100");
}

#[test]
fn a_file_in_a_folder_that_does_not_exist_is_made_once() {
    let everything = Grants::allow_all();
    for _ in 0..20 {
        let world = World::new();
        let file = world.ws("a/b/c");
        let start = Barrier::new(4);
        let made: usize = thread::scope(|scope| {
            let tries: Vec<_> = (0..4)
                .map(|number| {
                    let (file, start, everything) = (&file, &start, &everything);
                    scope.spawn(move || {
                        start.wait();
                        let hold = hold(everything, &[file], LONG);
                        if hold.read(file).unwrap().is_some() {
                            return false;
                        }
                        let changed = hold.change(&[write(file, number.to_string())]);
                        // Whoever comes second is told, or finds the file.
                        changed.inspect_err(|e| assert_eq!(e.kind(), ErrorKind::Conflict)).is_ok()
                    })
                })
                .collect();
            tries.into_iter().map(|t| usize::from(t.join().unwrap())).sum()
        });
        assert_eq!(made, 1);
        assert!(file.exists());
    }
}

#[test]
fn a_held_file_is_waited_for_and_its_holder_named() {
    let world = World::new();
    let file = world.write("a", "x");
    let everything = Grants::allow_all();
    let held = hold(&everything, &[&file], LONG);
    let files = FileAccess::with_grants(&everything);
    let short = Duration::from_millis(5);
    let error = files.lock(&[&file], short, &CancellationToken::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    // Not every file system tells the system's list of locks the same number.
    if let Some(holder) = error.details().get("held_by").and_then(number) {
        assert_eq!(holder, u64::from(std::process::id()), "{error}");
    }
    let stopped = CancellationToken::new();
    stopped.cancel();
    let error = files.lock(&[&file], LONG, &stopped).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    drop(held);
    drop(hold(&everything, &[&file], short));
}

fn number(value: &impl ToString) -> Option<u64> {
    value.to_string().parse().ok()
}

#[test]
fn what_is_held_stays_held_when_the_wait_is_over() {
    let world = World::new();
    let file = world.write("a", "x");
    let everything = Grants::allow_all();
    let held = hold(&everything, &[&file], Duration::ZERO);
    assert_eq!(held.read(&file).unwrap().unwrap(), b"x");
    held.change(&[write(&file, "y".into()), write(&world.ws("b/c"), "z".into())]).unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), "y");
}

#[test]
fn many_folders_are_held_in_any_order_without_a_circle() {
    let world = World::new();
    let paths: Vec<_> = (0..6).map(|n| world.write(&format!("{n}/f"), "0")).collect();
    let everything = Grants::allow_all();
    thread::scope(|scope| {
        for turn in 0..4_usize {
            let (paths, everything) = (&paths, &everything);
            scope.spawn(move || {
                let mut mine: Vec<&Path> = paths.iter().map(|path| path.as_path()).collect();
                mine.rotate_left(turn);
                if turn % 2 == 1 {
                    mine.reverse();
                }
                for _ in 0..50 {
                    drop(hold(everything, &mine, LONG));
                }
            });
        }
    });
}

#[test]
fn a_read_only_folder_can_be_held_and_read() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    let file = world.write("fixed/a", "x");
    fs::set_permissions(world.ws("fixed"), fs::Permissions::from_mode(0o555)).unwrap();
    let everything = Grants::allow_all();
    let held = hold(&everything, &[&file], LONG);
    assert_eq!(held.read(&file).unwrap().unwrap(), b"x");
    assert_eq!(held.read(&world.ws("fixed/none")).unwrap(), None);
    assert_eq!(held.read(&world.ws("fixed/a/below")).unwrap(), None);
    drop(held);
    fs::set_permissions(world.ws("fixed"), fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn only_what_was_granted_is_held() {
    let world = World::new();
    let file = world.write("a", "x");
    let nothing = Grants::from_effects(&[]);
    let cancel = CancellationToken::new();
    let error = FileAccess::with_grants(&nothing).lock(&[&file], LONG, &cancel).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied);
    let reading = Grants::from_effects(&[Effect::path(Scope::FILE_READ, &file)]);
    let held = hold(&reading, &[&file], LONG);
    assert_eq!(held.read(&file).unwrap().unwrap(), b"x");
    let error = held.change(&[write(&file, "y".into())]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied);
    assert_eq!(fs::read_to_string(&file).unwrap(), "x");
}

#[test]
fn time_in_the_queue_of_this_process_does_not_count() {
    let world = World::new();
    let file = world.write("a", "1");
    let everything = Grants::allow_all();
    let first = hold(&everything, &[&file], LONG);
    // It would give up on another process long before it gets its turn.
    let wait = Duration::from_millis(100);
    thread::scope(|scope| {
        let other = scope.spawn(|| hold(&everything, &[&file], wait).read(&file).unwrap());
        thread::sleep(wait * 3);
        drop(first);
        assert_eq!(other.join().unwrap(), Some(b"1".to_vec()));
    });
}
