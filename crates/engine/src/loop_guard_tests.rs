use hermes_core::ErrorKind;
use serde_json::json;

use super::*;

fn key(arguments: Value) -> LoopKey {
    LoopKey::new("t", &arguments, true)
}

#[test]
fn the_order_of_keys_does_not_count() {
    let (a, b) = (key(json!({ "x": 1, "y": [2] })), key(json!({ "y": [2], "x": 1 })));
    assert_eq!(a.exact, b.exact);
    assert_ne!(a.exact, key(json!({ "x": 1, "y": [3] })).exact);
}

#[test]
fn near_is_the_same_but_for_numbers_case_and_blanks() {
    let base = key(json!({ "q": "Find me", "limit": 5 }));
    assert_eq!(base.near, key(json!({ "q": "find  ME" })).near);
    assert_eq!(base.near, key(json!({ "q": "find me", "limit": 50 })).near);
    assert_ne!(base.near, key(json!({ "q": "find you" })).near);
}

#[test]
fn a_success_forgives_failures_and_a_change_forgives_repetition() {
    let guard = LoopGuard::new(LoopGuardSettings::default());
    let look = key(json!({ "a": 1 }));
    let act = LoopKey::new("w", &json!({}), false);
    let failed = GuardedOutcome::Error(ErrorKind::Internal);
    assert_eq!(guard.record_result(("s", "t"), &look, failed, ""), None);
    assert_eq!(guard.record_result(("s", "t"), &look, GuardedOutcome::Succeeded, "r"), None);
    assert_eq!(guard.record_result(("s", "t"), &look, failed, ""), None, "counting begins anew");
    assert!(guard.record_result(("s", "t"), &look, failed, "").is_some());
    let fresh = key(json!({ "b": 1 }));
    assert_eq!(guard.record_result(("s", "t"), &fresh, GuardedOutcome::Succeeded, "same"), None);
    guard.record_result(("s", "t"), &act, GuardedOutcome::Succeeded, "");
    assert_eq!(
        guard.record_result(("s", "t"), &fresh, GuardedOutcome::Succeeded, "same"),
        None,
        "something changed in between"
    );
    assert!(guard.record_result(("s", "t"), &fresh, GuardedOutcome::Succeeded, "same").is_some());
    assert_eq!(
        guard.record_result(("s", "t"), &fresh, GuardedOutcome::Succeeded, "other"),
        None,
        "a new answer is progress"
    );
    assert_eq!(
        guard.record_result(("another", "t"), &fresh, GuardedOutcome::Succeeded, "other"),
        None
    );
}

#[test]
fn two_answers_in_turn_are_no_progress() {
    let guard = LoopGuard::new(LoopGuardSettings::default());
    let look = key(json!({ "a": 1 }));
    let note =
        |answer: &str| guard.record_result(("s", "t"), &look, GuardedOutcome::Succeeded, answer);
    assert_eq!((note("all of it"), note("unchanged")), (None, None));
    assert!(note("all of it").is_some());
    assert!(note("unchanged").is_some());
    assert_eq!(note("something else"), None);
}

#[test]
fn memory_is_bounded() {
    let guard = LoopGuard::new(LoopGuardSettings::default());
    for i in 0..5_000 {
        guard.record_result(
            (&format!("s{i}"), "t"),
            &key(json!(i)),
            GuardedOutcome::Succeeded,
            "x",
        );
        guard.record_result(
            ("one", "t"),
            &key(json!({ "i": i.to_string() })),
            GuardedOutcome::Succeeded,
            "x",
        );
    }
    let sessions = guard.lock();
    assert!(sessions.len() <= MAX_SESSIONS + 1);
    assert!(sessions.values().all(|m| m.answers.len() <= MAX_CALLS_PER_SESSION + 2));
}

fn run(command: &str) -> LoopKey {
    LoopKey::new("terminal", &json!({ "command": command }), false)
}

const FAILED: &str = r#"{"output":"no","exit_code":1}"#;

#[test]
fn commands_that_fail_count() {
    let guard = LoopGuard::new(LoopGuardSettings::default());
    let note = |command: &str, content: &str| {
        guard.record_result(
            ("s", "t"),
            &run(command),
            GuardedOutcome::from_result(CallStatus::Success, false, content),
            content,
        )
    };
    assert_eq!(note("false", FAILED), None);
    assert!(note("false", FAILED).is_some_and(|shown| shown.contains("failed 2 times")));
    assert!(note("ls /nowhere", FAILED).is_some_and(|shown| shown.contains("3 times in a row")));
    assert_eq!(note("true", r#"{"output":"","exit_code":0}"#), None);
    assert_eq!(note("ls /nowhere", r#"{"output":"","exit_code":null}"#), None);
    assert_eq!(note("ls /nowhere", FAILED), None, "counting begins anew");
}

#[test]
fn a_test_that_fails_again_after_an_edit_is_no_circle() {
    let guard = LoopGuard::new(LoopGuardSettings::default());
    let edit = LoopKey::new("patch", &json!({}), false);
    for _ in 0..6 {
        assert_eq!(
            guard.record_result(
                ("s", "t"),
                &run("make test"),
                GuardedOutcome::CommandFailed,
                FAILED
            ),
            None
        );
        assert_eq!(guard.record_result(("s", "t"), &edit, GuardedOutcome::Succeeded, "{}"), None);
    }
}

#[test]
fn who_fails_on_and_on_is_halted() {
    let stop = Some(LoopGuardSettings::STOP_THRESHOLDS);
    let guard = LoopGuard::new(LoopGuardSettings { stop, ..LoopGuardSettings::default() });
    // Other arguments each time: the tool is what fails.
    for at in 0..8 {
        assert_eq!(guard.halt_reason(("s", "t")), None);
        let key = run(&format!("ls /nowhere{at}"));
        assert_eq!(guard.judge(("s", "t"), &key), Verdict::Allow);
        guard.record_result(("s", "t"), &key, GuardedOutcome::CommandFailed, FAILED);
    }
    assert!(guard.halt_reason(("s", "t")).is_some_and(|why| why.contains("8 times")));
    assert_eq!(guard.halt_reason(("s", "another")), None);
    guard.reset(("s", "t"));
    assert_eq!(guard.halt_reason(("s", "t")), None);
    // The same call is refused from the fifth failure on, which does not go on for ever.
    for _ in 0..5 {
        assert_eq!(guard.judge(("s", "t"), &run("false")), Verdict::Allow);
        guard.record_result(("s", "t"), &run("false"), GuardedOutcome::CommandFailed, FAILED);
    }
    for _ in 0..3 {
        assert_eq!(guard.halt_reason(("s", "t")), None);
        assert!(matches!(guard.judge(("s", "t"), &run("false")), Verdict::Deny { .. }));
    }
    assert!(guard.halt_reason(("s", "t")).is_some());
}

#[test]
fn a_code_that_is_an_answer_is_no_failure() {
    assert_eq!(
        GuardedOutcome::from_result(CallStatus::Success, false, FAILED),
        GuardedOutcome::CommandFailed
    );
    assert_eq!(
        GuardedOutcome::from_result(CallStatus::Success, true, FAILED),
        GuardedOutcome::Succeeded
    );
}

#[test]
fn of_a_long_text_a_part_must_do() {
    let long = |end: &str| key(json!({ "content": format!("{}{end}", "x".repeat(1 << 20)) }));
    assert_eq!(long("a").exact, long("a").exact);
    assert_ne!(long("a").exact, long("b").exact);
    assert_ne!(long("a").exact, long("aa").exact);
    // Whoever corrects a line of a short one makes another call.
    let short = |line: &str| {
        let content = ["y\n"; 9_000].join(line);
        key(json!({ "content": content }))
    };
    assert_ne!(short("a").exact, short("b").exact);
}
