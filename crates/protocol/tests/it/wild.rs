//! No text, however wild, makes the reader panic or lie about what it read.

use std::collections::HashSet;

use hermes_core::ToolError;
use hermes_protocol::{CallDialect, CallRequest, RequestFramer, parse, parse_bytes, render_error};
use proptest::prelude::*;

fn wanted() -> impl Strategy<Value = Option<CallDialect>> {
    prop::option::of(prop::sample::select(CallDialect::ALL.to_vec()))
}

/// Text made of what the readers look for.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "'",
        "\\",
        "\n",
        " ",
        "\u{feff}",
        "é",
        "null",
        "1e999",
        "<tool_call>",
        "</tool_call>",
        "<tool_call ",
        "<think>",
        "</think>",
        "<function=f>",
        "<parameter=p>",
        "</parameter>",
        "</function>",
        "```json",
        "```",
        "\"name\":",
        "\"f\"",
        "\"arguments\":",
        "\"tool_calls\":",
        "\"content\":",
        "\"type\":\"tool_use\"",
        "\"id\":7",
        "\"function\":",
        "\"output\":",
        "\"choices\":",
        "\"message\":",
        "\\ud800",
        "name",
    ]);
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

fn check(read: &Result<CallRequest, hermes_protocol::ProtocolError>) {
    match read {
        Ok(request) => assert!(request.calls.iter().all(|call| !call.id.is_empty())),
        Err(error) => {
            assert!(!error.hint().is_empty());
            let line = render_error(None, &ToolError::from(error));
            assert!(!line.contains('\n') && line.len() < 2_000, "{line}");
        }
    }
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in pieces(), wanted in wanted()) {
        check(&parse(&text, wanted));
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200), wanted in wanted()) {
        check(&parse_bytes(&bytes, wanted));
    }

    #[test]
    fn any_stream_is_framed(text in pieces(), wanted in wanted()) {
        let mut framer = RequestFramer::new(wanted);
        let mut frames: Vec<_> = text.split_inclusive('\n').flat_map(|line| framer.push_line(line)).collect();
        frames.extend(std::iter::from_fn(|| framer.finish()));
        for pair in frames.windows(2) {
            prop_assert!(pair[0].line() <= pair[1].line());
        }
        for frame in &frames {
            check(&frame.parse(wanted));
        }
        prop_assert!(!frames.is_empty());
    }

    #[test]
    fn a_list_of_anything_gives_one_call_each(
        items in prop::collection::vec(crate::round_trip::value(), 0..8),
        ids in prop::collection::vec(prop::option::of("call_[0-9](_[0-9])?"), 8),
    ) {
        let mut list: Vec<_> = items;
        for (item, id) in list.iter_mut().zip(&ids) {
            if let (Some(object), Some(id)) = (item.as_object_mut(), id) {
                object.insert("id".into(), id.as_str().into());
            }
        }
        let text = serde_json::json!({ "tool_calls": list }).to_string();
        let calls = parse(&text, None).unwrap().calls;
        prop_assert_eq!(calls.len(), list.len());
        let mut made = HashSet::new();
        for (call, item) in calls.iter().zip(&list) {
            match item.get("id").filter(|id| id.is_string()) {
                Some(id) if id != "" => prop_assert_eq!(id, &call.id),
                _ => prop_assert!(made.insert(call.id.as_str()), "{} twice", call.id),
            }
        }
    }
}
