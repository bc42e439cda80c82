//! Killed commands: their changes are found by comparison with the saved tree.

use std::fs;
use std::path::Path;

use hermes_checkpoints::RestoreTarget;
use hermes_core::ErrorKind;

use crate::bench::{Bench, Call};

/// The paths in the checkpoint of a turn, relative to the working directory.
fn named(bench: &Bench, at: usize) -> Vec<String> {
    let all = bench.store.checkpoints(&bench.work()).unwrap();
    let changes = all[at].changes();
    let inner = |path: &Path| path.strip_prefix(bench.work()).unwrap().display().to_string();
    changes.map(|(path, _)| inner(path)).collect()
}

#[test]
fn what_a_killed_command_left_is_undone_by_force_and_nothing_older_is() {
    let bench = Bench::new();
    bench.write("changed", "A");
    bench.write("gone", "G");
    bench.write("same", "S");
    bench.turn(&["pre"], || bench.write("pre", "P"));
    let before = bench.picture();
    bench.killed(|| {
        bench.write("changed", "B");
        bench.write("new/made", "M");
        fs::remove_file(bench.path("gone")).unwrap();
    });
    let after = bench.picture();
    assert_eq!(named(&bench, 1), ["changed", "gone", "new", "new/made"]);
    assert!(bench.store.checkpoints(&bench.work()).unwrap()[1].is_cut_off());

    let error = bench.undo(1).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(error.message().contains("changed: the turn was interrupted"), "{error}");
    assert_eq!(bench.picture(), after);

    bench.force_undo(1).unwrap();
    assert_eq!(bench.picture(), before);
    bench.redo().unwrap();
    assert_eq!(bench.picture(), after);
    bench.force_undo(1).unwrap();
    bench.undo(1).unwrap();
    assert_eq!(bench.read("pre"), None);
}

#[test]
fn a_restore_and_its_preview_know_what_a_killed_command_left() {
    let bench = Bench::new();
    bench.write("a", "A");
    bench.killed(|| bench.write("a", "B"));
    let id = bench.store.all().unwrap()[0].id().to_owned();
    let plan = bench.store.plan(RestoreTarget::Restore { checkpoint: &id, paths: &[] }).unwrap();
    assert_eq!(plan.steps.len(), 1);
    assert!(bench.store.apply_plan(&plan, false).is_err());
    bench.store.apply_plan(&plan, true).unwrap();
    assert_eq!(bench.read("a").as_deref(), Some("A"));
}

#[test]
fn what_others_did_after_a_kill_is_not_taken_for_the_commands() {
    let bench = Bench::new();
    bench.ignoring("ignored\n");
    bench.write("ignored", "I");
    bench.write("a", "A");
    bench.write("b", "B");
    bench.killed(|| bench.write("a", "A2"));
    bench.turn(&["b", "c"], || {
        bench.write("b", "B2");
        bench.write("c", "C");
    });
    bench.turn(&["ignored"], || bench.write("ignored", "I2"));
    assert_eq!(named(&bench, 0), ["a"]);
    bench.undo(2).unwrap();
    assert_eq!(bench.read("b").as_deref(), Some("B"));
    assert_eq!(bench.read("ignored").as_deref(), Some("I"));
    assert!(bench.undo(1).is_err());
    bench.force_undo(1).unwrap();
    assert_eq!(bench.read("a").as_deref(), Some("A"));
}

#[test]
fn what_was_changed_back_later_does_not_make_the_killed_turn_vanish() {
    let bench = Bench::new();
    bench.write("a", "A");
    bench.turn(&["old"], || bench.write("old", "O"));
    bench.killed(|| {
        bench.write("a", "B");
        bench.write("made", "M");
    });
    bench.command(|| {
        bench.write("a", "A");
        fs::remove_file(bench.path("made")).unwrap();
    });
    assert_eq!(named(&bench, 1), ["a", "made"]);
    bench.force_undo(2).unwrap();
    assert_eq!(bench.read("a").as_deref(), Some("A"));
    assert_eq!(bench.read("made"), None);
    assert_eq!(bench.read("old").as_deref(), Some("O"), "an older turn is not undone in its place");
}

#[test]
fn what_a_command_may_not_write_is_not_taken_for_its_work() {
    let bench = Bench::new();
    bench.write("a", "A");
    bench.write("state/log", "1");
    let spared = vec![bench.path("state")];
    bench.killed_call(Call { open_ended: true, spared, ..Call::default() }, || {
        bench.write("a", "B");
        bench.write("state/log", "2");
        bench.write("state/new", "3");
    });
    assert_eq!(named(&bench, 0), ["a"]);
    bench.force_undo(1).unwrap();
    assert_eq!(bench.read("state/new").as_deref(), Some("3"));
}

#[test]
fn a_command_that_got_to_its_end_is_not_held_against_what_is_there_now() {
    let bench = Bench::new();
    bench.write("a", "A");
    bench.write("b", "B");
    bench.command(|| bench.write("a", "A2"));
    bench.write("b", "by a person");
    assert_eq!(named(&bench, 0), ["a"]);
    assert!(!bench.store.all().unwrap()[0].is_cut_off());
    bench.undo(1).unwrap();
    assert_eq!(bench.read("b").as_deref(), Some("by a person"));
}

#[test]
fn a_killed_turn_whose_tree_is_gone_is_not_passed_over() {
    let bench = Bench::new();
    bench.write("a", "A");
    bench.turn(&["old"], || bench.write("old", "O"));
    bench.killed(|| bench.write("a", "B"));
    fs::remove_dir_all(bench.store.root().join("objects")).unwrap();
    let error = bench.undo(1).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert_eq!(bench.read("old").as_deref(), Some("O"));
}

#[test]
fn a_turn_that_goes_on_after_a_kill_keeps_what_was_cut_off() {
    let mut bench = Bench::new();
    bench.write("a", "A");
    let named_turn = || Call { open_ended: true, turn: Some("same"), ..Call::default() };
    bench.killed_call(named_turn(), || bench.write("a", "B"));
    bench.reopen(hermes_checkpoints::CheckpointLimits::default());
    bench.call(named_turn(), || {}).unwrap();
    assert_eq!(named(&bench, 0), ["a"]);
}
