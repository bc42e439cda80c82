//! Commands that may change anything below the working directory.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::OnceLock;

use hermes_core::{CheckpointReader, ErrorKind};

use crate::bench::{Bench, Call};

/// A command that may change anything.
fn anything<'a>(
    workplace: &'a hermes_core::WorkingDir,
    target: &'a OnceLock<PathBuf>,
    cancel: &'a hermes_core::CancellationToken,
) -> hermes_core::PendingChange<'a> {
    hermes_core::PendingChange {
        session: "s",
        turn: "t",
        task: "k",
        call_id: "c",
        tool: "terminal",
        paths: &[],
        output_dirs: &[],
        open_ended: true,
        unwritable_paths: &[],
        working_dir: workplace,
        workspace: target,
        deadline: None,
        cancel,
    }
}

#[test]
fn whatever_a_command_does_is_undone() {
    let bench = Bench::new();
    bench.write("a.txt", "one");
    bench.write("dir/b.txt", "two");
    bench.write("dir/gone.txt", "three");
    fs::create_dir(bench.path("empty")).unwrap();
    bench.link("link", "a.txt");
    let before = bench.picture();
    bench.command(|| {
        bench.write("a.txt", "changed");
        fs::remove_file(bench.path("dir/gone.txt")).unwrap();
        bench.write("new/deep/c.txt", "made");
        fs::remove_dir(bench.path("empty")).unwrap();
        fs::remove_file(bench.path("link")).unwrap();
        bench.chmod("dir/b.txt", 0o755);
    });
    let after = bench.picture();
    bench.undo(1).unwrap();
    assert_eq!(bench.picture(), before);
    bench.redo().unwrap();
    assert_eq!(bench.picture(), after);
}

#[test]
fn an_untouched_tree_is_not_read_again() {
    let mut bench = Bench::new();
    for n in 0..50 {
        bench.write(&format!("f{n}"), n.to_string());
    }
    // Timestamps are coarse; recently written files are read again.
    std::thread::sleep(std::time::Duration::from_millis(80));
    bench.command(|| {});
    let inode = || fs::metadata(bench.store.root().join("objects")).unwrap().ino();
    let first = (bench.store.usage().unwrap(), inode());
    bench.reopen(hermes_checkpoints::CheckpointLimits::default());
    // An unchanged access time means that the file was not read.
    let atimes = |bench: &Bench| -> Vec<i64> {
        (0..50).map(|n| fs::metadata(bench.path(format!("f{n}"))).unwrap().atime_nsec()).collect()
    };
    let before = atimes(&bench);
    bench.command(|| {});
    assert_eq!(atimes(&bench), before);
    assert_eq!(bench.store.usage().unwrap(), first.0);
}

#[test]
fn what_git_ignores_is_not_kept_and_not_touched() {
    let bench = Bench::new();
    bench.ignoring("target/\n");
    bench.write("target/big.o", "built");
    bench.write("untracked.txt", "old");
    bench.command(|| {
        bench.write("target/big.o", "built again");
        bench.write("untracked.txt", "new");
    });
    bench.undo(1).unwrap();
    assert_eq!(bench.read("untracked.txt").as_deref(), Some("old"));
    assert_eq!(bench.read("target/big.o").as_deref(), Some("built again"));
}

#[test]
fn a_command_that_changes_what_is_ignored_makes_no_file_vanish() {
    let bench = Bench::new();
    bench.ignoring("secret/\n");
    bench.write("secret/old.txt", "was there");
    bench.write("data/x.txt", "x");
    // Older than the command by more than the timestamp resolution.
    std::thread::sleep(std::time::Duration::from_millis(80));
    bench.command(|| bench.write(".gitignore", "data/\n"));
    bench.undo(1).unwrap();
    assert_eq!(bench.read(".gitignore").as_deref(), Some("secret/\n"));
    assert_eq!(bench.read("secret/old.txt").as_deref(), Some("was there"));
    assert_eq!(bench.read("data/x.txt").as_deref(), Some("x"));
}

#[test]
fn git_itself_is_never_touched() {
    let bench = Bench::new();
    bench.write(".git/HEAD", "ref: refs/heads/main");
    bench.write("a.txt", "old");
    bench.command(|| {
        bench.write(".git/HEAD", "ref: refs/heads/other");
        bench.write("a.txt", "new");
    });
    bench.undo(1).unwrap();
    assert_eq!(bench.read("a.txt").as_deref(), Some("old"));
    assert_eq!(bench.read(".git/HEAD").as_deref(), Some("ref: refs/heads/other"));
}

#[test]
fn what_a_command_cannot_write_is_not_kept() {
    let bench = Bench::new();
    bench.write(".env", "KEY=1");
    bench.write("a.txt", "old");
    let call = Call { open_ended: true, spared: vec![bench.path(".env")], ..Call::default() };
    let id = bench.call(call, || bench.write("a.txt", "new")).unwrap().unwrap();
    assert_eq!(
        bench.store.file_content(&id, &bench.path(".env")).unwrap_err().kind(),
        ErrorKind::NotFound
    );
    assert_eq!(bench.store.file_content(&id, &bench.path("a.txt")).unwrap().unwrap(), b"old");
}

#[test]
fn a_call_inside_a_command_is_part_of_it() {
    let bench = Bench::new();
    bench.write("a.txt", "0");
    let outer = Call { open_ended: true, turn: Some("t"), ..Call::default() };
    bench
        .call(outer, || {
            bench.write("a.txt", "1");
            let inner = Call { places: &["a.txt", "b.txt"], turn: Some("t"), ..Call::default() };
            bench
                .call(inner, || {
                    bench.write("a.txt", "2");
                    bench.write("b.txt", "made");
                })
                .unwrap();
            fs::remove_file(bench.path("b.txt")).unwrap();
        })
        .unwrap();
    bench.undo(1).unwrap();
    assert_eq!(bench.read("a.txt").as_deref(), Some("0"));
    assert_eq!(bench.read("b.txt"), None);
}

#[test]
fn a_file_of_the_tree_can_be_asked_for_though_no_call_changed_it() {
    let bench = Bench::new();
    bench.write("a.txt", "old");
    bench.write("mine.txt", "before");
    let id = bench.command(|| bench.write("a.txt", "new")).unwrap();
    bench.write("mine.txt", "edited by hand");
    assert_eq!(bench.store.file_content(&id, &bench.path("mine.txt")).unwrap().unwrap(), b"before");
    bench.restore(&id, &[]).unwrap();
    assert_eq!(bench.read("mine.txt").as_deref(), Some("edited by hand"), "not hermes's doing");
}

#[test]
fn a_home_folder_is_not_kept_as_a_whole() {
    use hermes_core::{CancellationToken, CheckpointHooks, PendingChange, WorkingDir};
    let bench = Bench::new();
    let workplace = WorkingDir::new(bench.work(), Some(bench.work()));
    let (target, cancel) = (OnceLock::new(), CancellationToken::new());
    let change = anything(&workplace, &target, &cancel);
    assert_eq!(bench.keeper.before_call(&change).unwrap_err().kind(), ErrorKind::Limit);
    assert!(bench.keeper.problem().unwrap().contains("cannot be undone"));
    // Paths that a call declares are saved there, too.
    bench.write("named.txt", "old");
    let places = [bench.path("named.txt")];
    let naming = PendingChange { paths: &places, turn: "naming", ..change };
    bench.keeper.before_call(&naming).unwrap();
    bench.write("named.txt", "new");
    bench.keeper.after_call(&naming).unwrap();
    bench.undo(1).unwrap();
    assert_eq!(bench.read("named.txt").as_deref(), Some("old"));
    cancel.cancel();
    let elsewhere = WorkingDir::new(bench.work(), None);
    let change = PendingChange { working_dir: &elsewhere, workspace: &OnceLock::new(), ..change };
    bench.write("a.txt", "x");
    assert_eq!(bench.keeper.before_call(&change).unwrap_err().kind(), ErrorKind::Cancelled);
}

#[test]
fn what_was_moved_from_where_nothing_is_kept_is_not_taken_away() {
    let bench = Bench::new();
    bench.write(".git/HEAD", "ref: refs/heads/main");
    bench.write("kept.txt", "one");
    bench.write("folder/kept.txt", "two");
    fs::create_dir_all(bench.path(".git/refs/tags")).unwrap();
    if fs::metadata(bench.path("kept.txt")).unwrap().created().is_err() {
        return;
    }
    // Older than the command by more than the timestamp resolution.
    std::thread::sleep(std::time::Duration::from_millis(80));
    bench.command(|| {
        fs::rename(bench.path(".git"), bench.path("bak.git")).unwrap();
        fs::rename(bench.path("folder"), bench.path("moved")).unwrap();
        bench.write("kept.txt", "changed");
    });
    let error = bench.undo(1).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(error.message().contains("bak.git"), "{}", error.message());
    assert_eq!(bench.read("kept.txt").as_deref(), Some("changed"));
    bench.force_undo(1).unwrap();
    assert_eq!(bench.read("kept.txt").as_deref(), Some("one"));
    assert_eq!(bench.read("folder/kept.txt").as_deref(), Some("two"));
    assert!(!bench.path("moved").exists());
    assert_eq!(bench.read("bak.git/HEAD").as_deref(), Some("ref: refs/heads/main"));
    assert!(bench.path("bak.git/refs/tags").is_dir());
}

#[test]
fn a_call_without_time_left_is_not_kept_waiting() {
    use std::time::{Duration, Instant};

    use hermes_core::{CancellationToken, CheckpointHooks, PendingChange, WorkingDir};
    let bench = Bench::new();
    bench.write("a.txt", "old");
    let workplace = WorkingDir::new(bench.work(), None);
    let (target, cancel) = (OnceLock::new(), CancellationToken::new());
    let change = PendingChange {
        deadline: Some(Instant::now() + Duration::from_secs(3600)),
        ..anything(&workplace, &target, &cancel)
    };
    bench.keeper.before_call(&change).unwrap();
    bench.keeper.after_call(&change).unwrap();
    assert_eq!(bench.keeper.problem(), None);
    let change = PendingChange { turn: "late", deadline: Some(Instant::now()), ..change };
    bench.keeper.before_call(&change).unwrap();
    bench.keeper.after_call(&change).unwrap();
    assert!(bench.keeper.problem().unwrap().contains("not all of it is saved"));
}

/// Creates nested directories until the path of the last is too long,
/// and runs `act` there.
fn far_below(bench: &Bench, act: impl FnOnce(&rustix::fd::OwnedFd)) {
    use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};
    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
    let mut here = openat(CWD, bench.work(), flags, Mode::empty()).unwrap();
    let name = "x".repeat(200);
    for _ in 0..25 {
        let _ = mkdirat(&here, &name, Mode::RWXU);
        here = openat(&here, &name, flags, Mode::empty()).unwrap();
    }
    act(&here);
}

/// Writes a file in a directory whose path is too long.
fn put(dir: &rustix::fd::OwnedFd, name: &str, text: &str) {
    use rustix::fs::{Mode, OFlags, openat};
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC;
    let file = openat(dir, name, flags, Mode::RWXU).unwrap();
    rustix::io::write(file, text.as_bytes()).unwrap();
}

#[test]
fn a_change_where_no_path_leads_is_told_and_not_said_to_be_undone() {
    let bench = Bench::new();
    bench.write("near", "old");
    far_below(&bench, |here| put(here, "file", "old"));
    assert!(bench.command(|| {}).is_some() && bench.store.all().unwrap().is_empty());
    assert_eq!(bench.keeper.problem(), None, "nothing was changed there");
    bench.command(|| far_below(&bench, |here| put(here, "file", "newer")));
    let shown = bench.keeper.problem().unwrap();
    assert!(shown.contains("its path is too long"), "{shown}");
    let error = bench.undo(1).unwrap_err();
    assert!(error.message().contains("its path is too long"), "{error}");
    // Other changes of the command are undone by force, and the rest is reported.
    bench.command(|| {
        bench.write("near", "new");
        far_below(&bench, |here| put(here, "made", "new"));
    });
    assert!(bench.undo(1).is_err());
    let done = bench.force_undo(1).unwrap();
    assert!(done.is_partial);
    assert_eq!(bench.read("near").as_deref(), Some("old"));
}
