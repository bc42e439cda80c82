//! Undo, redo and restore, one after the other.

use hermes_checkpoints::{CheckpointLimits, RestoreTarget};
use hermes_core::ErrorKind;

use crate::bench::Bench;

fn counted(turns: usize) -> Bench {
    let bench = Bench::new();
    bench.write("n", "0");
    for n in 1..=turns {
        bench.turn(&["n"], || bench.write("n", n.to_string()));
    }
    bench
}

#[test]
fn undo_goes_back_step_by_step_and_redo_forward() {
    let bench = counted(3);
    for expected in ["2", "1", "0"] {
        bench.undo(1).unwrap();
        assert_eq!(bench.read("n").as_deref(), Some(expected));
    }
    assert_eq!(bench.undo(1).unwrap_err().kind(), ErrorKind::NotFound);
    for expected in ["1", "2", "3"] {
        bench.redo().unwrap();
        assert_eq!(bench.read("n").as_deref(), Some(expected));
    }
    assert_eq!(bench.redo().unwrap_err().kind(), ErrorKind::NotFound);
    bench.undo(1).unwrap();
    assert_eq!(bench.read("n").as_deref(), Some("2"));
}

#[test]
fn going_back_and_forth_pushes_no_turn_out() {
    let bench = counted(3);
    for _ in 0..30 {
        bench.undo(2).unwrap();
        bench.redo().unwrap();
    }
    assert_eq!(bench.store.all().unwrap().len(), 3);
    bench.undo(3).unwrap();
    assert_eq!(bench.read("n").as_deref(), Some("0"));
}

#[test]
fn several_turns_are_undone_as_one() {
    let bench = counted(4);
    bench.undo(3).unwrap();
    assert_eq!(bench.read("n").as_deref(), Some("1"));
    bench.redo().unwrap();
    assert_eq!(bench.read("n").as_deref(), Some("4"));
}

#[test]
fn a_new_turn_ends_the_redoing() {
    let bench = counted(2);
    bench.undo(1).unwrap();
    bench.turn(&["n"], || bench.write("n", "other"));
    assert_eq!(bench.redo().unwrap_err().kind(), ErrorKind::NotFound);
    bench.undo(1).unwrap();
    assert_eq!(bench.read("n").as_deref(), Some("1"));
    bench.undo(1).unwrap();
    assert_eq!(bench.read("n").as_deref(), Some("0"));
}

#[test]
fn a_restore_goes_back_over_all_that_came_after_and_can_be_undone() {
    let bench = counted(4);
    let second = bench.store.checkpoints(&bench.work()).unwrap()[1].id().to_owned();
    bench.restore(&second, &[]).unwrap();
    assert_eq!(bench.read("n").as_deref(), Some("1"));
    bench.undo(1).unwrap();
    assert_eq!(bench.read("n").as_deref(), Some("4"));
}

#[test]
fn one_path_can_be_restored_alone() {
    let bench = Bench::new();
    bench.write("a", "old");
    bench.write("b", "old");
    let id = bench.turn(&["a", "b"], || {
        bench.write("a", "new");
        bench.write("b", "new");
    });
    let id = id.unwrap();
    bench.restore(&id, &[bench.path("a")]).unwrap();
    assert_eq!((bench.read("a").unwrap(), bench.read("b").unwrap()), ("old".into(), "new".into()));
    let error = bench.restore(&id, &[bench.path("c")]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

#[test]
fn a_name_may_be_shortened_as_long_as_it_is_clear() {
    let bench = counted(1);
    let id = bench.store.all().unwrap()[0].id().to_owned();
    assert_eq!(bench.store.find(&id[..4]).unwrap().id(), id);
    assert_eq!(bench.store.find(&id[..3]).unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn a_plan_changes_nothing() {
    let bench = counted(1);
    let plan =
        bench.store.plan(RestoreTarget::Undo { workspace: &bench.work(), turns: 1 }).unwrap();
    assert_eq!(plan.steps.len(), 1);
    assert_eq!(bench.read("n").as_deref(), Some("1"));
    assert_eq!(bench.store.all().unwrap().len(), 1);
}

#[test]
fn a_turn_whose_files_are_back_already_is_undone_all_the_same() {
    let bench = counted(2);
    bench.write("n", "1");
    let done = bench.undo(1).unwrap();
    assert!(done.restored.is_empty());
    bench.undo(1).unwrap();
    assert_eq!(bench.read("n").as_deref(), Some("0"));
    bench.redo().unwrap();
    bench.redo().unwrap();
    assert_eq!(bench.read("n").as_deref(), Some("1"), "what was there before the undo");
}

#[test]
fn a_killed_turn_that_changed_nothing_is_passed_over() {
    let mut bench = counted(1);
    bench.killed(|| ());
    bench.reopen(CheckpointLimits::default());
    bench.undo(1).unwrap();
    assert_eq!(bench.read("n").as_deref(), Some("0"));
    assert_eq!(bench.undo(1).unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn no_turn_is_undone_in_place_of_a_killed_one_that_changed_something() {
    for name in ["n", "new"] {
        let mut bench = counted(1);
        bench.killed(|| bench.write(name, "2"));
        bench.reopen(CheckpointLimits::default());
        assert_eq!(bench.undo(1).unwrap_err().kind(), ErrorKind::Conflict);
        bench.force_undo(1).unwrap();
        assert_eq!(bench.read("n").as_deref(), Some("1"));
    }
}

#[test]
fn undos_push_out_no_turn_that_they_work_through() {
    let bench = Bench::with(CheckpointLimits { per_workspace: 6, ..CheckpointLimits::default() });
    bench.write("n", "0");
    for n in 1..=6 {
        bench.turn(&["n"], || bench.write("n", n.to_string()));
    }
    for expected in ["5", "4", "3", "2", "1", "0"] {
        bench.undo(1).unwrap();
        assert_eq!(bench.read("n").as_deref(), Some(expected));
    }
    bench.store.prune().unwrap();
    for expected in ["1", "2", "3", "4", "5", "6"] {
        bench.redo().unwrap();
        assert_eq!(bench.read("n").as_deref(), Some(expected));
    }
}

#[test]
fn an_undo_goes_with_the_turns_that_it_is_about() {
    let bench = Bench::with(CheckpointLimits { per_workspace: 3, ..CheckpointLimits::default() });
    bench.write("n", "0");
    for n in 1..=8 {
        bench.turn(&["n"], || bench.write("n", n.to_string()));
        if n % 2 == 0 {
            bench.undo(1).unwrap();
        }
    }
    // Of 1, 3, 5 and 7 that stand, and 2, 4, 6 and 8 that were undone, the last
    // three: 6, 7 and 8, with two undos.
    assert_eq!(bench.store.all().unwrap().len(), 5);
    bench.undo(1).unwrap();
    assert_eq!(bench.read("n").as_deref(), Some("5"));
    assert_eq!(bench.undo(1).unwrap_err().kind(), ErrorKind::NotFound);
}
