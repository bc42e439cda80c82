use serde_json::json;

use super::*;

#[test]
fn the_first_stop_counts_until_it_goes_on() {
    let shared = Shared::new(Table::default());
    let mut state = shared.look();
    state.phase = Phase::Running;
    state.take("stopped", &json!({ "reason": "breakpoint", "threadId": 7 }));
    state.take("stopped", &json!({ "reason": "pause", "threadId": 8 }));
    let Phase::Stopped(stop) = &state.phase else { panic!("{state:?}") };
    assert_eq!((stop.reason.as_str(), stop.thread), ("breakpoint", 7));
    state.take("continued", &json!({ "threadId": 7 }));
    assert_eq!(state.phase, Phase::Running);
    state.take("exited", &json!({ "exitCode": 3 }));
    state.take("stopped", &json!({ "reason": "pause" }));
    assert_eq!((&state.phase, state.exit_code), (&Phase::Ended, Some(3)));
}

#[test]
fn output_is_told_once_and_from_its_end() {
    let shared = Shared::new(Table::default());
    let mut state = shared.look();
    let print = |text: &str| json!({ "category": "stdout", "output": text });
    state.take("output", &print("one\n"));
    assert_eq!(state.printed(100).text, "one\n");
    assert_eq!(state.printed(100), Printed::default());
    state.take("output", &print("0123456789"));
    assert_eq!(state.printed(4), Printed { text: "6789".to_owned(), skipped: 6 });
    state.take("output", &json!({ "category": "console", "output": "of the debugger" }));
    assert_eq!(state.printed(100).text, "");
    assert_eq!(state.complaint(), "of the debugger");
}
