use hermes_core::ErrorKind;
use serde_json::json;

use super::*;

fn print(arguments: Value) -> Footprint {
    Footprint::new("t", &arguments, true)
}

#[test]
fn the_order_of_keys_does_not_count() {
    let (a, b) = (print(json!({ "x": 1, "y": [2] })), print(json!({ "y": [2], "x": 1 })));
    assert_eq!(a.exact, b.exact);
    assert_ne!(a.exact, print(json!({ "x": 1, "y": [3] })).exact);
}

#[test]
fn near_is_the_same_but_for_numbers_case_and_blanks() {
    let base = print(json!({ "q": "Find me", "limit": 5 }));
    assert_eq!(base.near, print(json!({ "q": "find  ME" })).near);
    assert_eq!(base.near, print(json!({ "q": "find me", "limit": 50 })).near);
    assert_ne!(base.near, print(json!({ "q": "find you" })).near);
}

#[test]
fn a_success_forgives_failures_and_a_change_forgives_repetition() {
    let guard = LoopGuard::new(GuardSettings::default());
    let look = print(json!({ "a": 1 }));
    let act = Footprint::new("w", &json!({}), false);
    let failed = Came::Error(ErrorKind::Internal);
    assert_eq!(guard.note(("s", "t"), &look, failed, ""), None);
    assert_eq!(guard.note(("s", "t"), &look, Came::Fine, "r"), None);
    assert_eq!(guard.note(("s", "t"), &look, failed, ""), None, "counting begins anew");
    assert!(guard.note(("s", "t"), &look, failed, "").is_some());
    let fresh = print(json!({ "b": 1 }));
    assert_eq!(guard.note(("s", "t"), &fresh, Came::Fine, "same"), None);
    guard.note(("s", "t"), &act, Came::Fine, "");
    assert_eq!(
        guard.note(("s", "t"), &fresh, Came::Fine, "same"),
        None,
        "something changed in between"
    );
    assert!(guard.note(("s", "t"), &fresh, Came::Fine, "same").is_some());
    assert_eq!(
        guard.note(("s", "t"), &fresh, Came::Fine, "other"),
        None,
        "a new answer is progress"
    );
    assert_eq!(guard.note(("another", "t"), &fresh, Came::Fine, "other"), None);
}

#[test]
fn two_answers_in_turn_are_no_progress() {
    let guard = LoopGuard::new(GuardSettings::default());
    let look = print(json!({ "a": 1 }));
    let note = |answer: &str| guard.note(("s", "t"), &look, Came::Fine, answer);
    assert_eq!((note("all of it"), note("unchanged")), (None, None));
    assert!(note("all of it").is_some());
    assert!(note("unchanged").is_some());
    assert_eq!(note("something else"), None);
}

#[test]
fn memory_is_bounded() {
    let guard = LoopGuard::new(GuardSettings::default());
    for i in 0..5_000 {
        guard.note((&format!("s{i}"), "t"), &print(json!(i)), Came::Fine, "x");
        guard.note(("one", "t"), &print(json!({ "i": i.to_string() })), Came::Fine, "x");
    }
    let sessions = guard.lock();
    assert!(sessions.len() <= SESSIONS + 1);
    assert!(sessions.values().all(|m| m.answers.len() <= CALLS + 2));
}

fn run(command: &str) -> Footprint {
    Footprint::new("terminal", &json!({ "command": command }), false)
}

const FAILED: &str = r#"{"output":"no","exit_code":1}"#;

#[test]
fn commands_that_fail_count() {
    let guard = LoopGuard::new(GuardSettings::default());
    let note = |command: &str, content: &str| {
        guard.note(("s", "t"), &run(command), Came::of(CallStatus::Success, false, content), content)
    };
    assert_eq!(note("false", FAILED), None);
    assert!(note("false", FAILED).is_some_and(|told| told.contains("failed 2 times")));
    assert!(note("ls /nowhere", FAILED).is_some_and(|told| told.contains("3 times in a row")));
    assert_eq!(note("true", r#"{"output":"","exit_code":0}"#), None);
    assert_eq!(note("ls /nowhere", r#"{"output":"","exit_code":null}"#), None);
    assert_eq!(note("ls /nowhere", FAILED), None, "counting begins anew");
}

#[test]
fn a_test_that_fails_again_after_an_edit_is_no_circle() {
    let guard = LoopGuard::new(GuardSettings::default());
    let edit = Footprint::new("patch", &json!({}), false);
    for _ in 0..6 {
        assert_eq!(guard.note(("s", "t"), &run("make test"), Came::Failed, FAILED), None);
        assert_eq!(guard.note(("s", "t"), &edit, Came::Fine, "{}"), None);
    }
}

#[test]
fn who_fails_on_and_on_is_halted() {
    let stop = Some(GuardSettings::STOP);
    let guard = LoopGuard::new(GuardSettings { stop, ..GuardSettings::default() });
    // Other arguments each time: the tool is what fails.
    for at in 0..8 {
        assert_eq!(guard.halted(("s", "t")), None);
        let print = run(&format!("ls /nowhere{at}"));
        assert_eq!(guard.judge(("s", "t"), &print), Verdict::Allow);
        guard.note(("s", "t"), &print, Came::Failed, FAILED);
    }
    assert!(guard.halted(("s", "t")).is_some_and(|why| why.contains("8 times")));
    assert_eq!(guard.halted(("s", "another")), None);
    guard.reset(("s", "t"));
    assert_eq!(guard.halted(("s", "t")), None);
    // The same call is refused from the fifth failure on, which does not go on for ever.
    for _ in 0..5 {
        assert_eq!(guard.judge(("s", "t"), &run("false")), Verdict::Allow);
        guard.note(("s", "t"), &run("false"), Came::Failed, FAILED);
    }
    for _ in 0..3 {
        assert_eq!(guard.halted(("s", "t")), None);
        assert!(matches!(guard.judge(("s", "t"), &run("false")), Verdict::Deny { .. }));
    }
    assert!(guard.halted(("s", "t")).is_some());
}

#[test]
fn a_code_that_is_an_answer_is_no_failure() {
    assert_eq!(Came::of(CallStatus::Success, false, FAILED), Came::Failed);
    assert_eq!(Came::of(CallStatus::Success, true, FAILED), Came::Fine);
}

#[test]
fn of_a_long_text_a_part_must_do() {
    let long = |end: &str| print(json!({ "content": format!("{}{end}", "x".repeat(1 << 20)) }));
    assert_eq!(long("a").exact, long("a").exact);
    assert_ne!(long("a").exact, long("b").exact);
    assert_ne!(long("a").exact, long("aa").exact);
    // Whoever corrects a line of a short one makes another call.
    let short = |line: &str| {
        let content = ["y\n"; 9_000].join(line);
        print(json!({ "content": content }))
    };
    assert_ne!(short("a").exact, short("b").exact);
}
