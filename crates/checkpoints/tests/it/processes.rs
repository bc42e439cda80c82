//! Several processes at once, and processes that die.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use hermes_checkpoints::CheckpointLimits;

use crate::bench::Bench;

const FILES: usize = 100;
const ROLE: &str = "CHECKPOINTS_TEST_ROLE";
const FOLDER: &str = "CHECKPOINTS_TEST_FOLDER";

/// What a process of these tests does besides.
pub(crate) fn start(bench: &Bench, role: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "processes::child", "--ignored"])
        .env(ROLE, role)
        .env(FOLDER, bench.root())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
#[ignore = "run by the other tests as a process of its own"]
fn child() {
    let Some(root) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    let bench = Bench::at(root, many());
    match std::env::var(ROLE).unwrap().split_once(':').unwrap() {
        ("undo", _) => drop(bench.undo(1).unwrap()),
        ("undo2", _) => drop(bench.undo(2).unwrap()),
        ("redo", _) => drop(bench.redo().unwrap()),
        ("restore", id) => drop(bench.restore(id, &[]).unwrap()),
        ("turns", name) => {
            for n in 0..25 {
                bench.named_turn(&format!("{name}-{n}"), &[name], || {
                    bench.write(name, format!("{name} {n}"));
                });
            }
        }
        ("endless", name) => loop {
            bench.command(|| bench.write(name, format!("{:?}", std::time::Instant::now())));
        },
        (role, _) => panic!("{role}"),
    }
}

pub(crate) fn many() -> CheckpointLimits {
    // A busy machine may take its time to look through a tree.
    let time = std::time::Duration::from_secs(600);
    CheckpointLimits { per_workspace: 100_000, walk_timeout: time, ..CheckpointLimits::default() }
}

fn count(bench: &Bench, text: &str) -> usize {
    (0..FILES).filter(|n| bench.read(&format!("d/f{n}")).as_deref() == Some(text)).count()
}

#[test]
fn a_restore_that_was_killed_leaves_each_file_old_or_new_and_can_go_on() {
    let bench = Bench::with(many());
    for n in 0..FILES {
        bench.write(&format!("d/f{n}"), "old");
    }
    let old = bench.picture();
    bench.turn(&["d", "made"], || {
        (0..FILES).for_each(|n| bench.write(&format!("d/f{n}"), "new"));
        bench.write("made/x", "made");
    });
    let new = bench.picture();
    for at in [1, 20, 60] {
        let mut child = start(&bench, "undo:");
        while count(&bench, "old") < at && child.try_wait().unwrap().is_none() {}
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(count(&bench, "old") + count(&bench, "new"), FILES);
        // The same again finishes it, unless it was finished already.
        if bench.picture() != old {
            bench.undo(1).unwrap();
        }
        assert_eq!(bench.picture(), old);
        bench.redo().unwrap();
        assert_eq!(bench.picture(), new, "all of it is taken back, not only the rest");
    }
}

#[test]
fn processes_do_not_get_in_each_others_way() {
    let bench = Bench::with(many());
    let mut children: Vec<Child> =
        ["a", "b", "c"].iter().map(|name| start(&bench, &format!("turns:{name}"))).collect();
    while children.iter_mut().any(|child| child.try_wait().unwrap().is_none()) {
        // Contents that a checkpoint is about to name must not go.
        bench.store.prune().unwrap();
    }
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let all = bench.store.all().unwrap();
    assert_eq!(all.len(), 75);
    for manifest in &all {
        for (path, change) in manifest.changes() {
            if change.before != hermes_checkpoints::SavedState::Absent {
                bench.store.read_content(&change.before).unwrap_or_else(|e| {
                    panic!("{} of {}: {e}", path.display(), manifest.id());
                });
            }
        }
    }
    bench.undo(75).unwrap();
    assert!(bench.picture().is_empty());
}

#[test]
fn a_process_that_was_killed_leaves_nothing_that_cannot_be_read() {
    let bench = Bench::with(many());
    for n in 0..20 {
        bench.write(&format!("f{n}"), "x");
    }
    for _ in 0..5 {
        let begun = bench.store.all().unwrap().len();
        let mut child = start(&bench, "endless:f1");
        while bench.store.all().unwrap().len() < begun + 3 {
            assert!(child.try_wait().unwrap().is_none(), "it goes on until it is killed");
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(bench.store.usage().unwrap().damaged, 0);
        bench.turn(&["f2"], || bench.write("f2", "y"));
        bench.undo(1).unwrap();
    }
    bench.store.prune().unwrap();
    let mut open = vec![bench.store.root().to_path_buf()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(&dir).unwrap().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            assert!(!name.starts_with(".part-"), "{}", entry.path().display());
            if entry.path().is_dir() {
                open.push(entry.path());
            }
        }
    }
}
