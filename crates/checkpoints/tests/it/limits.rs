//! How much is saved, and for how long.

use std::fs;
use std::path::Path;
use std::time::Duration;

use hermes_checkpoints::{
    CheckpointLimits, ObstacleReason, RestoreTarget, SavedState, UnsavedReason,
};
use hermes_core::ErrorKind;

use crate::bench::Bench;

#[test]
fn a_file_that_is_too_large_is_named_and_not_kept() {
    let bench = Bench::with(CheckpointLimits { file_bytes: 10, ..CheckpointLimits::default() });
    bench.write("big", "more than ten bytes");
    bench.write("small", "few");
    let id = bench.turn(&["big", "small"], || {
        bench.write("big", "other than ten bytes");
        bench.write("small", "fewer");
    });
    let manifest = bench.store.find(&id.unwrap()).unwrap();
    let unkept: Vec<_> = manifest
        .changes()
        .filter(|(_, change)| {
            matches!(change.before, SavedState::Unkept { why: UnsavedReason::TooLarge, .. })
        })
        .map(|(path, _)| path.to_path_buf())
        .collect();
    assert_eq!(unkept, [bench.path("big")]);
    let error = bench.undo(1).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(error.message().contains("max_file_size_mb"), "{error}");
    let plan =
        bench.store.plan(RestoreTarget::Undo { workspace: &bench.work(), turns: 1 }).unwrap();
    let done = bench.store.apply_plan(&plan, true).unwrap();
    assert_eq!(done.restored, [bench.path("small")]);
    assert_eq!(done.skipped.len(), 1);
    assert!(done.is_partial);
    assert_eq!(bench.read("small").as_deref(), Some("few"));
    let shown = bench.keeper.problem().unwrap();
    assert!(shown.contains("big: it is larger than checkpoints.max_file_size_mb"), "{shown}");
}

#[test]
fn what_cannot_be_done_even_by_force_leaves_the_turn() {
    let bench = Bench::with(CheckpointLimits { file_bytes: 10, ..CheckpointLimits::default() });
    bench.write("n", "0");
    bench.turn(&["n"], || bench.write("n", "1"));
    bench.write("big", "more than ten bytes");
    bench.turn(&["big"], || bench.write("big", "other than ten bytes"));
    for _ in 0..2 {
        let plan =
            bench.store.plan(RestoreTarget::Undo { workspace: &bench.work(), turns: 1 }).unwrap();
        let error = bench.store.apply_plan(&plan, true).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict);
        assert!(error.message().contains("max_file_size_mb"), "{error}");
    }
    assert_eq!(bench.store.all().unwrap().len(), 2);
    let plan =
        bench.store.plan(RestoreTarget::Undo { workspace: &bench.work(), turns: 2 }).unwrap();
    assert!(bench.store.apply_plan(&plan, true).unwrap().is_partial);
    assert_eq!(bench.read("n").as_deref(), Some("0"));
}

#[test]
fn a_damaged_content_is_found_before_anything_is_changed() {
    let bench = Bench::new();
    for name in ["a", "b", "c"] {
        bench.write(name, format!("old {name}"));
    }
    bench.turn(&["a", "b", "c"], || ["a", "b", "c"].iter().for_each(|n| bench.write(n, "new")));
    let hash = hermes_checkpoints::ContentHash::for_content(b"old b").to_hex();
    let object = bench.store.root().join("objects").join(&hash[..2]).join(&hash[2..]);
    let mut bytes = fs::read(&object).unwrap();
    *bytes.last_mut().unwrap() ^= 0xff;
    fs::write(&object, bytes).unwrap();
    for _ in 0..2 {
        let error = bench.undo(1).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict);
        assert!(error.message().contains("/b: its saved content is gone or damaged"), "{error}");
        assert_eq!(bench.read("a").as_deref(), Some("new"), "nothing is changed");
    }
    let plan =
        bench.store.plan(RestoreTarget::Undo { workspace: &bench.work(), turns: 1 }).unwrap();
    let done = bench.store.apply_plan(&plan, true).unwrap();
    assert_eq!(done.restored, [bench.path("a"), bench.path("c")]);
    assert_eq!((done.skipped.len(), done.is_partial), (1, true));
    let texts: Vec<_> = ["a", "b", "c"].iter().map(|name| bench.read(name).unwrap()).collect();
    assert_eq!(texts, ["old a", "new", "old c"]);
}

#[test]
fn a_large_file_that_nobody_touched_is_no_change() {
    let bench = Bench::with(CheckpointLimits { file_bytes: 10, ..CheckpointLimits::default() });
    bench.write("big", "more than ten bytes");
    bench.turn(&["big"], || {});
    bench.command(|| {});
    assert!(bench.store.all().unwrap().is_empty());
}

#[test]
fn a_large_file_that_was_made_is_removed_only_by_force() {
    let bench = Bench::with(CheckpointLimits { file_bytes: 10, ..CheckpointLimits::default() });
    bench.turn(&["big"], || bench.write("big", "more than ten bytes"));
    let plan =
        bench.store.plan(RestoreTarget::Undo { workspace: &bench.work(), turns: 1 }).unwrap();
    let whys: Vec<ObstacleReason> = plan.obstacles().map(|(_, obstacle)| obstacle.reason).collect();
    assert_eq!(whys, [ObstacleReason::CannotBeKept(UnsavedReason::TooLarge)]);
    assert!(bench.store.apply_plan(&plan, false).is_err());
    assert_eq!(plan.steps[0].loss_reason(), Some(UnsavedReason::TooLarge));
    let done = bench.store.apply_plan(&plan, true).unwrap();
    assert_eq!(done.lost, [(bench.path("big"), UnsavedReason::TooLarge)]);
    assert_eq!(bench.read("big"), None);
}

#[test]
fn a_file_that_becomes_too_large_is_warned_about() {
    let bench = Bench::with(CheckpointLimits { file_bytes: 10, ..CheckpointLimits::default() });
    bench.write("old", "few");
    bench.turn(&["old"], || bench.write("old", "fewer"));
    assert_eq!(bench.keeper.problem(), None);
    bench.turn(&["old"], || bench.write("old", "more than ten bytes"));
    let shown = bench.keeper.problem().unwrap();
    assert!(shown.contains("old: it is larger than checkpoints.max_file_size_mb"), "{shown}");
    bench.command(|| bench.write("new", "more than ten bytes"));
    assert!(bench.keeper.problem().unwrap().contains("and 1 more"));
}

#[test]
fn what_somebody_made_too_large_since_is_named_as_lost() {
    let bench = Bench::with(CheckpointLimits { file_bytes: 10, ..CheckpointLimits::default() });
    bench.write("a", "old");
    bench.write("b", "old");
    bench.turn(&["a", "b"], || ["a", "b"].iter().for_each(|name| bench.write(name, "new")));
    bench.write("a", "more than ten bytes");
    let error = bench.undo(1).unwrap_err();
    assert!(
        error.message().contains("changed since, and its current content would be lost"),
        "{error}"
    );
    let plan =
        bench.store.plan(RestoreTarget::Undo { workspace: &bench.work(), turns: 1 }).unwrap();
    let done = bench.store.apply_plan(&plan, true).unwrap();
    assert_eq!(done.restored.len(), 2);
    assert_eq!(done.lost, [(bench.path("a"), UnsavedReason::TooLarge)]);
}

#[test]
fn what_an_undo_finds_no_room_for_is_lost_only_by_force() {
    let mut bench = Bench::new();
    bench.write("n", "old");
    bench.turn(&["n"], || bench.write("n", "newer"));
    bench.reopen(CheckpointLimits { total_bytes: 4, ..CheckpointLimits::default() });
    let error = bench.undo(1).unwrap_err();
    assert!(error.message().contains("max_total_size_mb"), "{error}");
    assert_eq!(bench.read("n").as_deref(), Some("newer"));
    let plan =
        bench.store.plan(RestoreTarget::Undo { workspace: &bench.work(), turns: 1 }).unwrap();
    let done = bench.store.apply_plan(&plan, true).unwrap();
    assert_eq!(done.lost, [(bench.path("n"), UnsavedReason::NoRoom)]);
    assert_eq!(bench.read("n").as_deref(), Some("old"));
}

#[test]
fn a_snapshot_takes_no_more_room_than_there_is() {
    let bench = Bench::with(CheckpointLimits { total_bytes: 100, ..CheckpointLimits::default() });
    for n in 0..10 {
        bench.write(&format!("f{n}"), format!("{n}").repeat(30));
    }
    let id = bench.command(|| (0..10).for_each(|n| bench.write(&format!("f{n}"), "new"))).unwrap();
    let manifest = bench.store.find(&id).unwrap();
    let kept =
        manifest.changes().filter(|(_, c)| matches!(c.before, SavedState::File { .. })).count();
    assert_eq!((kept, manifest.changes().count()), (3, 10));
    assert_eq!(bench.undo(1).unwrap_err().kind(), ErrorKind::Conflict);
}

#[test]
fn the_oldest_go_first() {
    let bench = Bench::with(CheckpointLimits { per_workspace: 3, ..CheckpointLimits::default() });
    for n in 0..6 {
        bench.turn(&["n"], || bench.write("n", n.to_string()));
    }
    assert_eq!(bench.store.all().unwrap().len(), 3);
    bench.undo(3).unwrap();
    assert_eq!(bench.read("n").as_deref(), Some("2"));
}

#[test]
fn no_more_are_kept_than_was_said_at_any_time() {
    let bench = Bench::with(CheckpointLimits { per_workspace: 8, ..CheckpointLimits::default() });
    for n in 0..12 {
        bench.turn(&["n"], || bench.write("n", n.to_string()));
        assert_eq!(bench.store.all().unwrap().len(), (n + 1).min(8));
    }
}

#[test]
fn contents_that_nothing_names_are_cleared_away() {
    let mut bench = Bench::new();
    for n in 0..6 {
        bench.turn(&["n"], || bench.write("n", format!("content {n}")));
    }
    assert_eq!(bench.store.usage().unwrap().objects, 5);
    bench.reopen(CheckpointLimits { per_workspace: 2, ..CheckpointLimits::default() });
    let pruned = bench.store.prune().unwrap();
    assert_eq!((pruned.checkpoints, pruned.objects), (4, 3));
    let left = bench.store.usage().unwrap();
    assert_eq!((left.checkpoints, left.objects), (2, 2));
    bench.undo(2).unwrap();
    assert_eq!(bench.read("n").as_deref(), Some("content 3"));
}

#[test]
fn what_is_too_old_goes() {
    let mut bench = Bench::new();
    bench.turn(&["n"], || bench.write("n", "1"));
    bench.reopen(CheckpointLimits { max_age: Duration::ZERO, ..CheckpointLimits::default() });
    assert_eq!(bench.store.prune().unwrap().checkpoints, 1);
    assert!(bench.store.all().unwrap().is_empty());
    assert_eq!(fs::read_dir(bench.store.root().join("workspaces")).unwrap().count(), 0);
}

#[test]
fn more_than_there_is_room_for_goes_the_oldest_first() {
    let mut bench = Bench::new();
    for n in 0..8_u32 {
        // Random data, which does not compress.
        let noise: Vec<u8> = (0..500_u32)
            .map(|i| {
                (i.wrapping_mul(2_654_435_761).wrapping_add(n * 97).rotate_left(n) >> 13) as u8
            })
            .collect();
        bench.turn(&["n"], || fs::write(bench.path("n"), &noise).unwrap());
    }
    let newest = bench.store.all().unwrap().pop().unwrap().id().to_owned();
    bench.reopen(CheckpointLimits { total_bytes: 2_000, ..CheckpointLimits::default() });
    bench.store.prune().unwrap();
    let left = bench.store.usage().unwrap();
    assert!(left.bytes() <= 2_000 && left.checkpoints >= 1, "{left:?}");
    assert_eq!(bench.store.all().unwrap().pop().unwrap().id(), newest);
}

/// The bytes of all files below a directory.
fn weight(dir: &Path) -> u64 {
    let inside = fs::read_dir(dir).unwrap().flatten();
    let weigh = |entry: fs::DirEntry| match entry.metadata().unwrap() {
        found if found.is_dir() => weight(&entry.path()),
        found => found.len(),
    };
    inside.map(weigh).sum()
}

#[test]
fn logs_count_and_no_more_is_kept_than_was_said_though_nobody_prunes() {
    const FILES: usize = 200;
    let limits = CheckpointLimits { total_bytes: 150_000, ..CheckpointLimits::default() };
    let mut bench = Bench::with(limits);
    let write = |bench: &Bench, text: &str| {
        (0..FILES).for_each(|n| bench.write(&format!("f{n}"), text));
    };
    write(&bench, "old");
    for turn in 0..6 {
        // Each in its own process.
        bench.reopen(limits);
        bench.command(|| write(&bench, &turn.to_string()));
        let usage = bench.store.usage().unwrap();
        assert_eq!(usage.bytes(), weight(bench.store.root()));
        assert!(usage.log_bytes > 30_000, "{usage:?}");
        assert!(usage.bytes() <= limits.total_bytes, "after turn {turn}: {usage:?}");
    }
    assert!(bench.store.all().unwrap().len() < 6);
    bench.undo(1).unwrap();
    assert_eq!(bench.read("f7").as_deref(), Some("4"));
}

#[test]
fn what_is_cleared_away_of_logs_is_told() {
    let mut bench = Bench::new();
    for n in 0..4 {
        bench.turn(&["n"], || bench.write("n", n.to_string()));
    }
    let before = weight(bench.store.root());
    bench.reopen(CheckpointLimits { per_workspace: 1, ..CheckpointLimits::default() });
    let pruned = bench.store.prune().unwrap();
    let tally = fs::metadata(bench.store.root().join("tally")).unwrap().len();
    assert_eq!(pruned.checkpoints, 3);
    assert!(before.abs_diff(weight(bench.store.root()) + pruned.bytes) <= tally);
}

#[test]
fn a_snapshot_after_clearing_away_is_whole_again() {
    let mut bench = Bench::new();
    bench.write("a.txt", "old");
    std::thread::sleep(Duration::from_millis(80));
    bench.command(|| {});
    // Everything is deleted, including the contents.
    bench.reopen(CheckpointLimits {
        max_age: Duration::ZERO,
        total_bytes: 1,
        ..CheckpointLimits::default()
    });
    bench.store.prune().unwrap();
    assert_eq!(bench.store.usage().unwrap().objects, 0);
    bench.reopen(CheckpointLimits::default());
    bench.command(|| bench.write("a.txt", "new"));
    bench.undo(1).unwrap();
    assert_eq!(bench.read("a.txt").as_deref(), Some("old"));
}

#[test]
fn a_tree_that_is_too_large_is_kept_in_part_and_nothing_is_guessed() {
    let bench = Bench::with(CheckpointLimits { tree_entries: 5, ..CheckpointLimits::default() });
    for n in 0..10 {
        bench.write(&format!("f{n}"), "old");
    }
    let id = bench.command(|| (0..10).for_each(|n| bench.write(&format!("f{n}"), "new")));
    assert!(bench.store.find(&id.unwrap()).unwrap().is_partial());
    assert!(bench.keeper.problem().unwrap().contains("more than 5 files and directories"));
    bench.undo(1).unwrap();
    let old = (0..10).filter(|n| bench.read(&format!("f{n}")).unwrap() == "old").count();
    assert_eq!(old, 5);
    assert_eq!(bench.picture().len(), 10, "no file is removed that was there before");
}

#[test]
fn a_tree_that_takes_too_long_is_kept_in_part_and_that_is_told() {
    let bench = Bench::with(CheckpointLimits {
        walk_timeout: Duration::ZERO,
        ..CheckpointLimits::default()
    });
    bench.write("a.txt", "old");
    bench.command(|| bench.write("a.txt", "new"));
    assert!(bench.keeper.problem().unwrap().contains("not all"), "{:?}", bench.keeper.problem());
    assert_eq!(bench.read("a.txt").as_deref(), Some("new"));
}
