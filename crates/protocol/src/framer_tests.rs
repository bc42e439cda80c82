#![allow(clippy::unwrap_used)]

use super::*;

/// The frames of a text, in brief: `line:text`, or `line!error`.
fn frames(wanted: Option<CallDialect>, text: &str) -> Vec<String> {
    let mut framer = RequestFramer::new(wanted);
    let mut frames: Vec<_> =
        text.split_inclusive('\n').flat_map(|line| framer.push_line(line)).collect();
    frames.extend(std::iter::from_fn(|| framer.finish()));
    frames.iter().map(brief).collect()
}

fn brief(frame: &RequestFrame) -> String {
    match frame {
        RequestFrame::Request { line, text } => format!("{line}:{}", text.replace('\n', "⏎")),
        RequestFrame::Error { line, error } => {
            let kind = format!("{error:?}");
            let name = kind.split([' ', '(']).next().unwrap_or_default();
            format!("{line}!{name}")
        }
    }
}

#[test]
fn a_line_that_is_a_document_is_answered_at_once() {
    let mut framer = RequestFramer::new(None);
    for line in 1..4 {
        let frames = framer.push_line("{\"tool_calls\":[]}\r\n");
        assert_eq!(
            frames,
            [RequestFrame::Request { line, text: r#"{"tool_calls":[]}"#.to_owned() }]
        );
    }
    assert_eq!(framer.finish(), None);
}

#[test]
fn a_document_over_lines_is_one_frame() {
    let text = "\u{feff}\n{\n  \"a\": [\n    1,\n    {\"b\": \"}\"}\n  ]\n}\n\n[]\n";
    assert_eq!(frames(None, text), ["2:{⏎  \"a\": [⏎    1,⏎    {\"b\": \"}\"}⏎  ]⏎}", "9:[]"]);
}

#[test]
fn garbage_is_an_error_and_the_next_line_starts_afresh() {
    assert_eq!(frames(None, "[]\nnot json\n[]\n"), ["1:[]", "2!Syntax", "3:[]"]);
    assert_eq!(frames(None, "not json\n[]\n"), ["1!Syntax", "2:[]"]);
    assert_eq!(
        frames(None, "{bad}\n[]\n{\"a\": \"cut\n[]\n"),
        ["1!Syntax", "2:[]", "3!Syntax", "4:[]"]
    );
    assert_eq!(
        frames(None, "[]\n42\n\"x\"\n[]\n"),
        ["1:[]", "2!Unrecognised", "3!Unrecognised", "4:[]"]
    );
}

#[test]
fn garbage_is_answered_without_waiting_for_the_next_line() {
    let mut framer = RequestFramer::new(None);
    assert_eq!(framer.push_line("{bad}").len(), 1);
    assert_eq!(framer.push_line("[]").len(), 1);
    assert_eq!(framer.push_line("bad").len(), 1);
    assert_eq!(framer.push_line("bad <tool_call>").len(), 1);
    assert_eq!(framer.push_line("[]").len(), 1);
    let mut framer = RequestFramer::new(Some(CallDialect::Envelope));
    assert_eq!(framer.push_line("bad").len(), 1);
}

#[test]
fn trailing_characters_spoil_the_whole_line() {
    let mut framer = RequestFramer::new(None);
    let found = framer.push_line("[] []\n");
    assert_eq!(found.len(), 1);
    let error = found[0].parse(None).unwrap_err();
    assert!(matches!(error, ProtocolError::Syntax { line: 1, column: 4, .. }), "{error:?}");
}

#[test]
fn a_document_that_was_cut_off_is_reported_and_the_next_one_read() {
    let text = "{\"tool_calls\":\n{\"x\":1,\n{\"tool_calls\":[]}\n[]\n";
    assert_eq!(frames(None, text), ["1!Unfinished", "3:{\"tool_calls\":[]}", "4:[]"]);
    assert_eq!(frames(None, "[]\n{\"a\":[\n"), ["1:[]", "2!Unfinished"]);
    let mut framer = RequestFramer::new(None);
    assert_eq!(framer.push_line("{\"a\":["), []);
    let error = ProtocolError::Unfinished { line: 1, missing: "]}".to_owned() };
    assert_eq!(framer.finish(), Some(RequestFrame::Error { line: 1, error }));
}

#[test]
fn no_fragment_of_a_broken_document_runs() {
    let text = "{\n  \"tool_calls\": [\n    {\"name\": \"a\"} oops,\n    {\"name\": \"b\"}\n  ]\n}\n{\"name\":\"c\"}\n";
    assert_eq!(frames(None, text), ["1!Syntax", "7:{\"name\":\"c\"}"]);
}

#[test]
fn errors_are_placed_in_the_stream() {
    let mut framer = RequestFramer::new(None);
    framer.push_line("[]");
    framer.push_line("{");
    let found = framer.push_line("  \"a\": oops'");
    let RequestFrame::Error { line: 2, error: ProtocolError::Syntax { line: 3, .. } } = &found[0]
    else {
        panic!("{found:?}")
    };
    let found = framer.push_line("{\"tool_calls\": nope}");
    let error = found[0].parse(None).unwrap_err();
    assert!(matches!(error, ProtocolError::Syntax { line: 4, column: 17, .. }), "{error:?}");
}

#[test]
fn tool_call_text_is_a_frame_when_its_blocks_are_closed() {
    let mut framer = RequestFramer::new(None);
    assert_eq!(framer.push_line("I look.\n"), []);
    assert_eq!(framer.push_line("<tool_call>\n"), []);
    assert_eq!(framer.push_line("{\"name\":\"a\",\"arguments\":{\"x\":\"</tool_call>\"}}\n"), []);
    let found = framer.push_line("</tool_call>\n");
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].parse(None).unwrap().calls[0].name, "a");
    assert_eq!(framer.push_line("<tool_call>{\"name\":\"b\"}</tool_call>\n").len(), 1);
    assert_eq!(framer.push_line("That is all.\n"), []);
    assert_eq!(framer.finish(), None);
}

#[test]
fn text_that_ends_inside_a_block_is_still_a_request() {
    assert_eq!(frames(None, "hm\n<tool_call>{\"name\":\"a\""), ["1:hm⏎<tool_call>{\"name\":\"a\""]);
}

#[test]
fn prose_without_a_call_is_an_error_at_the_end() {
    assert_eq!(frames(None, "\nhello\nworld\n"), ["2!Syntax"]);
    let hermes = Some(CallDialect::HermesText);
    assert_eq!(frames(hermes, "hello\n[1] world\n{ \n"), ["1!NoCalls"]);
    assert_eq!(
        frames(hermes, "[a] <tool_call>{\"name\":\"a\"}</tool_call>\n"),
        ["1:[a] <tool_call>{\"name\":\"a\"}</tool_call>"]
    );
    assert_eq!(
        frames(hermes, "[\n<tool_call>{\"name\":\"a\"}\n"),
        ["1:[⏎<tool_call>{\"name\":\"a\"}"]
    );
}

#[test]
fn nothing_at_all_is_an_error() {
    assert_eq!(frames(None, ""), ["1!Empty"]);
    assert_eq!(frames(None, "\n \n"), ["1!Empty"]);
}

#[test]
fn bytes_that_are_not_text_are_placed_and_passed_over() {
    let mut framer = RequestFramer::new(None);
    assert_eq!(framer.push_bytes(b"[]\n").len(), 1);
    let error = ProtocolError::NotUtf8 { offset: 5, line: 2 };
    assert_eq!(framer.push_bytes(b"[\"\xff\"]\n"), [RequestFrame::Error { line: 2, error }]);
    assert_eq!(framer.push_bytes(b"[]\n").len(), 1);
}

#[test]
fn a_request_beyond_the_limit_is_refused_and_passed_over() {
    let mut framer = RequestFramer::with_limit(None, 16);
    let error = ProtocolError::TooLarge { line: 1, limit: 16 };
    assert_eq!(framer.push_line("[1,2,3,4,5,6,7,8]"), [RequestFrame::Error { line: 1, error }]);
    assert_eq!(framer.push_line("[1,"), []);
    let error = ProtocolError::TooLarge { line: 2, limit: 16 };
    assert_eq!(framer.push_line("  2,3,4,5,6,7,8"), [RequestFrame::Error { line: 2, error }]);
    assert_eq!(framer.push_line("  9"), []);
    assert_eq!(framer.push_line("]"), []);
    assert_eq!(framer.push_line("[]").len(), 1);
}

#[test]
fn depth_is_bounded() {
    let mut framer = RequestFramer::new(None);
    let found = framer.push_line(&"[".repeat(MAX_SCAN_DEPTH + 1));
    assert!(matches!(
        found[..],
        [RequestFrame::Error { error: ProtocolError::TooDeep { .. }, .. }]
    ));
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let found = framer.push_line(&deep);
    assert!(matches!(found[0].parse(None), Err(ProtocolError::TooDeep { limit: 128, .. })));
}

/// Every line might have ended the block, and none did.
#[test]
fn a_text_that_never_settles_costs_linear_time() {
    let mut framer = RequestFramer::new(None);
    assert_eq!(framer.push_line("<tool_call>{\"name\":\"a\",\"arguments\":{\"x\":\""), []);
    for _ in 0..100_000 {
        assert_eq!(framer.push_line("a line that ends in </tool_call>"), []);
    }
    assert_eq!(
        framer.push_line("\"}}</tool_call>").len() + usize::from(framer.finish().is_some()),
        1
    );
}

#[test]
fn text_in_a_json_session_is_told_its_dialect() {
    let text = "<tool_call>{\"name\":\"a\"}</tool_call>\n[]\n";
    assert_eq!(frames(Some(CallDialect::Envelope), text), ["1!WrongDialect", "2:[]"]);
}

const CALL: &str = r#"{"name":"todo","arguments":{}}"#;

#[test]
fn a_request_that_was_cut_off_swallows_no_other() {
    let cut = r#"{"name":"todo","arguments":"#;
    let second = format!("2:{CALL}");
    let third = format!("3:{CALL}");
    assert_eq!(frames(None, &format!("{cut}\n{CALL}\n")), ["1!Unfinished", &second]);
    assert_eq!(
        frames(None, &format!("{cut}\n{CALL}\n{CALL}\n")),
        ["1!Unfinished", &second, &third]
    );
    for cut in [
        r#"{"tool_calls":[{"name":"a"},"#,
        r#"{"tool_calls":[{"id":"1","function":"#,
        r#"{"name":"#,
        r#"[{"name":"a"}, "#,
    ] {
        assert_eq!(frames(None, &format!("{cut}\n{CALL}\n")), ["1!Unfinished", &second], "{cut}");
        assert_eq!(
            frames(None, &format!("{cut}\n{CALL}\n{CALL}\n")),
            ["1!Unfinished", &second, &third],
            "{cut}"
        );
        assert_eq!(
            frames(None, &format!("{cut}\n\n{CALL}\noops\n")),
            ["1!Syntax", &third],
            "{cut}"
        );
    }
}

#[test]
fn a_request_after_one_that_was_cut_off_is_answered_at_once() {
    let mut framer = RequestFramer::new(None);
    assert_eq!(framer.push_line(r#"{"name":"todo","arguments": "#), []);
    let found: Vec<_> = framer.push_line(CALL).iter().map(brief).collect();
    assert_eq!(found, ["1!Unfinished".to_owned(), format!("2:{CALL}")]);
    assert_eq!(framer.push_line(CALL).len(), 1);
    assert_eq!(framer.finish(), None);
}

#[test]
fn a_pretty_printed_document_that_was_cut_off_runs_none_of_its_calls() {
    for opener in ["[", "{\"tool_calls\": [", "{\"role\":\"assistant\",\"tool_calls\":[ "] {
        assert_eq!(frames(None, &format!("{opener}\n{CALL}\n")), ["1!Unfinished"], "{opener}");
        let text = format!("{opener}\n{CALL},\n{CALL}\n");
        assert_eq!(frames(None, &text), ["1!Unfinished"], "{opener}");
    }
    let text = format!("{{\"tool_calls\":[{CALL},\n  {CALL}\n");
    assert_eq!(frames(None, &text), ["1!Unfinished"]);
}

#[test]
fn values_that_look_like_requests_stay_in_their_document() {
    for text in [
        format!("{{\"tool_calls\":[{CALL},\n{CALL}\n]}}"),
        format!("[{CALL},\n{CALL},\n{CALL}\n]"),
        format!("{{\"id\":\"1\",\"function\":\n{CALL}\n}}"),
        "{\"name\":\"skill_view\",\"arguments\":\n{\"name\":\"todo\"}\n}".to_owned(),
        format!("{{\"name\":\"delegate\",\"arguments\":\n  {CALL}\n}}"),
    ] {
        assert_eq!(frames(None, &text), [format!("1:{}", text.replace('\n', "⏎"))]);
    }
}

#[test]
fn leftovers_that_are_no_requests_are_part_of_the_broken_document() {
    let text = "{\"a\":1,\"b\":[2,\n[],\n[]\n,{\"x\":1},\n{\"x\":1}\n";
    assert_eq!(frames(None, text), ["1!Unfinished"]);
}

#[test]
fn the_size_limit_swallows_no_request() {
    let mut framer = RequestFramer::with_limit(None, 64);
    assert_eq!(framer.push_line("[1,"), []);
    assert_eq!(framer.push_line(CALL), []);
    let found: Vec<_> = framer.push_line(&format!("{CALL} ")).iter().map(brief).collect();
    assert_eq!(found, ["1!TooLarge".to_owned(), format!("2:{CALL}"), format!("3:{CALL} ")]);
    assert_eq!(framer.push_line("[1,"), []);
    assert_eq!(framer.push_line("                                 2,"), []);
    let found: Vec<_> = framer.push_line(CALL).iter().map(brief).collect();
    assert_eq!(found, ["4!TooLarge".to_owned(), format!("6:{CALL}")]);
}

#[test]
fn bytes_that_are_not_text_swallow_no_request() {
    let mut framer = RequestFramer::new(None);
    framer.push_line("[1,");
    framer.push_line(CALL);
    let found: Vec<_> = framer.push_bytes(b"{\"\xff\"}\n").iter().map(brief).collect();
    assert_eq!(found, ["1!Unfinished".to_owned(), format!("2:{CALL}"), "3!NotUtf8".to_owned()]);
    framer.push_line("{");
    let found: Vec<_> = framer.push_bytes(b"  \"\xff\"\n").iter().map(brief).collect();
    assert_eq!(found, ["4!NotUtf8"]);
}

/// Were a line looked at with each new one, this would not end.
#[test]
fn a_document_that_never_ends_costs_linear_time() {
    const LINES: usize = 25_000;
    let mut framer = RequestFramer::new(None);
    assert_eq!(framer.push_line("[1,"), []);
    for _ in 0..LINES {
        assert_eq!(framer.push_line(CALL), []);
        assert_eq!(framer.push_line(","), []);
    }
    assert_eq!(std::iter::from_fn(|| framer.finish()).count(), LINES + 1);
}
