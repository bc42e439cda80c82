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
    let failed = Status::Error(ErrorKind::Internal);
    assert_eq!(guard.note(("s", "t"), &look, failed, ""), None);
    assert_eq!(guard.note(("s", "t"), &look, Status::Success, "r"), None);
    assert_eq!(guard.note(("s", "t"), &look, failed, ""), None, "counting begins anew");
    assert!(guard.note(("s", "t"), &look, failed, "").is_some());
    let fresh = print(json!({ "b": 1 }));
    assert_eq!(guard.note(("s", "t"), &fresh, Status::Success, "same"), None);
    guard.note(("s", "t"), &act, Status::Success, "");
    assert_eq!(
        guard.note(("s", "t"), &fresh, Status::Success, "same"),
        None,
        "something changed in between"
    );
    assert!(guard.note(("s", "t"), &fresh, Status::Success, "same").is_some());
    assert_eq!(
        guard.note(("s", "t"), &fresh, Status::Success, "other"),
        None,
        "a new answer is progress"
    );
    assert_eq!(guard.note(("another", "t"), &fresh, Status::Success, "other"), None);
}

#[test]
fn two_answers_in_turn_are_no_progress() {
    let guard = LoopGuard::new(GuardSettings::default());
    let look = print(json!({ "a": 1 }));
    let note = |answer: &str| guard.note(("s", "t"), &look, Status::Success, answer);
    assert_eq!((note("all of it"), note("unchanged")), (None, None));
    assert!(note("all of it").is_some());
    assert!(note("unchanged").is_some());
    assert_eq!(note("something else"), None);
}

#[test]
fn memory_is_bounded() {
    let guard = LoopGuard::new(GuardSettings::default());
    for i in 0..5_000 {
        guard.note((&format!("s{i}"), "t"), &print(json!(i)), Status::Success, "x");
        guard.note(("one", "t"), &print(json!({ "i": i.to_string() })), Status::Success, "x");
    }
    let sessions = guard.lock();
    assert!(sessions.len() <= SESSIONS + 1);
    assert!(sessions.values().all(|m| m.answers.len() <= CALLS + 2));
}
