//! Calls that tell themselves what they replace, while others are at the same
//! files.

use hermes_checkpoints::{ObstacleReason, RestoreTarget, SavedState};
use hermes_core::{CheckpointHooks, ErrorKind, FileWritten, PathState, PendingChange};

use crate::bench::{Bench, Call};

/// Writes a file as a tool does that holds it: told before and after.
fn replace(bench: &Bench, call: &PendingChange<'_>, name: &str, text: &str) {
    let path = bench.path(name);
    bench.keeper.before_change(call, std::slice::from_ref(&path)).unwrap();
    bench.write(name, text);
    bench.keeper.after_change(call, &[FileWritten { path: &path, state: content(text) }]).unwrap();
}

fn content(text: &str) -> PathState<'_> {
    PathState::File { len: text.len() as u64, hash: blake3::hash(text.as_bytes()).into() }
}

fn on<'a>(places: &'a [&'a str]) -> Call<'a> {
    Call { places, ..Call::default() }
}

#[test]
fn what_others_did_before_the_call_held_the_file_is_not_its_own() {
    let bench = Bench::new();
    bench.write("n", "zero");
    bench
        .call_telling(on(&["n"]), |call| {
            bench.write("n", "theirs");
            replace(&bench, call, "n", "ours");
        })
        .unwrap();
    bench.undo(1).unwrap();
    assert_eq!(bench.read("n").as_deref(), Some("theirs"));
    bench.redo().unwrap();
    assert_eq!(bench.read("n").as_deref(), Some("ours"));
}

#[test]
fn what_others_do_after_it_is_a_change_since() {
    let bench = Bench::new();
    bench.write("n", "zero");
    bench
        .call_telling(on(&["n"]), |call| {
            replace(&bench, call, "n", "ours");
            bench.write("n", "theirs");
        })
        .unwrap();
    assert_eq!(bench.undo(1).unwrap_err().kind(), ErrorKind::Conflict);
    // Even if they were at it before anybody could look.
    bench.write("m", "zero");
    bench
        .call_telling(on(&["m"]), |call| {
            let path = bench.path("m");
            bench.keeper.before_change(call, std::slice::from_ref(&path)).unwrap();
            bench.write("m", "theirs");
            let made = FileWritten { path: &path, state: content("ours") };
            bench.keeper.after_change(call, &[made]).unwrap();
        })
        .unwrap();
    assert_eq!(bench.undo(1).unwrap_err().kind(), ErrorKind::Conflict);
    assert_eq!(bench.read("m").as_deref(), Some("theirs"));
}

#[test]
fn the_turn_that_changed_a_file_last_is_undone_first() {
    let bench = Bench::new();
    bench.write("n", "0");
    // The first to begin is the last to change.
    bench
        .call_telling(on(&["n"]), |slow| {
            bench.call_telling(on(&["n"]), |quick| replace(&bench, quick, "n", "1")).unwrap();
            replace(&bench, slow, "n", "2");
        })
        .unwrap();
    bench.undo(1).unwrap();
    assert_eq!(bench.read("n").as_deref(), Some("1"));
    bench.undo(1).unwrap();
    assert_eq!(bench.read("n").as_deref(), Some("0"));
}

#[test]
fn a_call_that_changed_nothing_is_not_blamed_for_others() {
    let bench = Bench::new();
    bench.write("n", "0");
    bench
        .call_telling(on(&["n", "new/x"]), |call| {
            assert!(!call.paths.is_empty());
            bench.write("n", "theirs");
            bench.write("new/x", "theirs");
        })
        .unwrap();
    assert!(bench.store.all().unwrap().is_empty());
}

#[test]
fn a_change_of_others_between_two_calls_of_a_turn_stands_in_the_way() {
    let bench = Bench::new();
    bench.write("n", "0");
    let call = || Call { places: &["n"], turn: Some("turn"), ..Call::default() };
    bench.call_telling(call(), |call| replace(&bench, call, "n", "1")).unwrap();
    bench.call_telling(call(), |call| replace(&bench, call, "n", "2")).unwrap();
    bench.undo(1).unwrap();
    assert_eq!(bench.read("n").as_deref(), Some("0"), "its own changes join");
    bench.redo().unwrap();
    bench.write("n", "theirs");
    bench.call_telling(call(), |call| replace(&bench, call, "n", "3")).unwrap();
    let plan =
        bench.store.plan(RestoreTarget::Undo { workspace: &bench.work(), turns: 1 }).unwrap();
    let whys: Vec<ObstacleReason> = plan.obstacles().map(|(_, obstacle)| obstacle.reason).collect();
    assert_eq!(whys, [ObstacleReason::ChangedBetween]);
    bench.store.apply_plan(&plan, true).unwrap();
    assert_eq!(bench.read("n").as_deref(), Some("0"));
}

#[test]
fn what_is_told_is_kept_although_git_ignores_it() {
    let bench = Bench::new();
    bench.ignoring("*.log\n");
    bench.write("a.log", "old");
    let whole = Call { places: &["."], ..Call::default() };
    bench
        .call_telling(whole, |call| {
            let paths = [bench.path("a.log"), bench.path("sub/b.log")];
            bench.keeper.before_change(call, &paths).unwrap();
            bench.write("a.log", "new");
            bench.write("sub/b.log", "made");
            bench.write("late (1).log", "made");
            let late = bench.path("late (1).log");
            bench
                .keeper
                .after_change(call, &[FileWritten { path: &late, state: PathState::Unspecified }])
                .unwrap();
        })
        .unwrap();
    bench.undo(1).unwrap();
    assert_eq!(bench.read("a.log").as_deref(), Some("old"));
    assert!(!bench.path("sub").exists() && !bench.path("late (1).log").exists());
}

#[test]
fn a_move_and_a_removal_are_told_too() {
    let bench = Bench::new();
    bench.write("from", "text");
    bench.write("gone", "text");
    bench
        .call_telling(on(&["from", "to", "gone"]), |call| {
            let (from, to, gone) = (bench.path("from"), bench.path("to"), bench.path("gone"));
            let all = [from.clone(), to.clone(), gone.clone()];
            bench.keeper.before_change(call, &all).unwrap();
            std::fs::rename(&from, &to).unwrap();
            std::fs::remove_file(&gone).unwrap();
            // Somebody writes to the new name at once.
            bench.write("to", "theirs");
            let made = [
                FileWritten { path: &from, state: PathState::Absent },
                FileWritten { path: &to, state: PathState::MovedFrom(&from) },
                FileWritten { path: &gone, state: PathState::Absent },
            ];
            bench.keeper.after_change(call, &made).unwrap();
        })
        .unwrap();
    let plan =
        bench.store.plan(RestoreTarget::Undo { workspace: &bench.work(), turns: 1 }).unwrap();
    let barred: Vec<_> = plan.obstacles().map(|(step, _)| step.path.clone()).collect();
    assert_eq!(barred, [bench.path("to")]);
    assert!(plan.steps.iter().any(|step| matches!(step.to, SavedState::File { .. })));
}

#[test]
fn what_is_written_through_a_link_is_what_the_link_leads_to() {
    let bench = Bench::new();
    bench.write("real", "old");
    bench.link("link", "real");
    bench
        .call_telling(on(&["link"]), |call| {
            bench.write("real", "theirs");
            replace(&bench, call, "link", "new");
        })
        .unwrap();
    bench.undo(1).unwrap();
    assert_eq!(bench.read("real").as_deref(), Some("theirs"));
    assert!(bench.path("link").is_symlink());
}

#[test]
fn a_call_inside_a_command_keeps_what_the_command_began_with() {
    let bench = Bench::new();
    bench.write("n", "0");
    let turn = Some("turn");
    let outer = Call { open_ended: true, turn, ..Call::default() };
    bench
        .call(outer, || {
            bench.write("n", "by the command");
            let inner = Call { places: &["n"], turn, ..Call::default() };
            bench.call_telling(inner, |call| replace(&bench, call, "n", "by the call")).unwrap();
            bench.write("n", "by the command again");
        })
        .unwrap();
    bench.undo(1).unwrap();
    assert_eq!(bench.read("n").as_deref(), Some("0"));
}

#[test]
fn a_call_that_writes_what_is_there_leaves_no_checkpoint() {
    let bench = Bench::new();
    bench.write("n", "0");
    bench.call_telling(on(&["n"]), |call| replace(&bench, call, "n", "1")).unwrap();
    bench.call_telling(on(&["n"]), |call| replace(&bench, call, "n", "1")).unwrap();
    assert_eq!(bench.store.all().unwrap().len(), 1);
    // Several announcements of one call, of which only the last changes
    // something.
    bench
        .call_telling(on(&["n", "m"]), |call| {
            replace(&bench, call, "n", "1");
            replace(&bench, call, "m", "new");
        })
        .unwrap();
    assert_eq!(bench.store.all().unwrap().len(), 2);
    // There and back again in one turn.
    let call = || Call { places: &["n"], turn: Some("turn"), ..Call::default() };
    bench.call_telling(call(), |call| replace(&bench, call, "n", "2")).unwrap();
    assert_eq!(bench.store.all().unwrap().len(), 3);
    bench.call_telling(call(), |call| replace(&bench, call, "n", "1")).unwrap();
    assert_eq!(bench.store.all().unwrap().len(), 2);
    bench.undo(1).unwrap();
    assert_eq!(bench.read("m"), None);
    bench.undo(1).unwrap();
    assert_eq!(bench.read("n").as_deref(), Some("0"));
}

/// Waits until the times of files have moved on.
fn wait_for_the_clock(bench: &Bench) {
    let probe = bench.root().join("probe");
    let now = || {
        std::fs::write(&probe, "").unwrap();
        std::fs::metadata(&probe).unwrap().modified().unwrap()
    };
    let begun = now();
    while now() <= begun {}
}

#[test]
fn what_other_turns_tell_is_not_taken_for_a_commands() {
    let bench = Bench::new();
    bench.write("f", "0");
    bench.write("own", "0");
    bench.command(|| {
        wait_for_the_clock(&bench);
        bench.write("own", "1");
        for text in ["1", "2"] {
            bench.call_telling(on(&["f"]), |call| replace(&bench, call, "f", text)).unwrap();
        }
        // Two commands at once: what both see is of one of them.
        bench.command(|| bench.write("theirs", "1"));
        wait_for_the_clock(&bench);
    });
    let all = bench.store.checkpoints(&bench.work()).unwrap();
    let of = |name: &str| {
        let path = bench.path(name);
        all.iter().filter(|turn| turn.changes().any(|(changed, _)| changed == path)).count()
    };
    assert_eq!((of("f"), of("own") + of("theirs")), (2, 2));
    for _ in &all {
        bench.undo(1).unwrap();
    }
    assert_eq!((bench.read("f").as_deref(), bench.read("own").as_deref()), (Some("0"), Some("0")));
    assert_eq!(bench.read("theirs"), None);
}

#[test]
fn calls_of_two_tasks_in_a_turn_may_have_the_same_id() {
    let bench = Bench::new();
    bench.write("n", "zero");
    bench
        .call_telling(Call { open_ended: true, ..Call::default() }, |command| {
            bench.keeper.before_call(command).unwrap();
            let other = PendingChange { task: "other", ..*command };
            replace(&bench, &other, "n", "ours");
            bench.write("m", "made by the command");
        })
        .unwrap();
    bench.undo(1).unwrap();
    assert_eq!((bench.read("n").as_deref(), bench.read("m")), (Some("zero"), None));
}
