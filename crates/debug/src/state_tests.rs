use serde_json::json;

use super::*;

#[test]
fn the_first_stop_counts_until_it_goes_on() {
    let shared = SharedDebugState::new(BreakpointTable::default());
    let mut state = shared.lock();
    state.phase = DebuggeePhase::Running;
    state.handle_event("stopped", &json!({ "reason": "breakpoint", "threadId": 7 }));
    state.handle_event("stopped", &json!({ "reason": "pause", "threadId": 8 }));
    let DebuggeePhase::Stopped(stop) = &state.phase else { panic!("{state:?}") };
    assert_eq!((stop.reason.as_str(), stop.thread), ("breakpoint", 7));
    state.handle_event("continued", &json!({ "threadId": 7 }));
    assert_eq!(state.phase, DebuggeePhase::Running);
    state.handle_event("exited", &json!({ "exitCode": 3 }));
    state.handle_event("stopped", &json!({ "reason": "pause" }));
    assert_eq!((&state.phase, state.exit_code), (&DebuggeePhase::Ended, Some(3)));
}

#[test]
fn output_is_told_once_and_from_its_end() {
    let shared = SharedDebugState::new(BreakpointTable::default());
    let mut state = shared.lock();
    let print = |text: &str| json!({ "category": "stdout", "output": text });
    state.handle_event("output", &print("one\n"));
    assert_eq!(state.take_output(100).text, "one\n");
    assert_eq!(state.take_output(100), ProgramOutput::default());
    state.handle_event("output", &print("0123456789"));
    assert_eq!(state.take_output(4), ProgramOutput { text: "6789".to_owned(), skipped_bytes: 6 });
    state.handle_event("output", &json!({ "category": "console", "output": "of the debugger" }));
    assert_eq!(state.take_output(100).text, "");
    assert_eq!(state.adapter_stderr(), "of the debugger");
}
