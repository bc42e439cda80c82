//! A stream of lines gives the same requests as the documents in it.

use hermes_core::ToolCall;
use hermes_protocol::{CallDialect, RequestFrame, RequestFramer, parse};
use proptest::prelude::*;

use crate::round_trip::{ask, calls, parsed};

fn feed(wanted: Option<CallDialect>, text: &str) -> Vec<RequestFrame> {
    let mut framer = RequestFramer::new(wanted);
    let mut frames: Vec<_> =
        text.split_inclusive('\n').flat_map(|line| framer.push_bytes(line.as_bytes())).collect();
    frames.extend(std::iter::from_fn(|| framer.finish()));
    frames
}

/// The text with line breaks put where JSON allows them, as `breaks` says.
fn spread(json: &str, breaks: &[bool]) -> String {
    let mut breaks = breaks.iter().cycle();
    let (mut quoted, mut escaped) = (false, false);
    let mut text = String::new();
    for c in json.chars() {
        let structural = !quoted && "{}[],:".contains(c);
        if structural && !text.is_empty() && breaks.next() == Some(&true) {
            text.push('\n');
        }
        text.push(c);
        if structural && breaks.next() == Some(&true) {
            text.push_str("\n  \n\t");
        }
        quoted ^= c == '"' && !escaped;
        escaped = quoted && c == '\\' && !escaped;
    }
    text
}

proptest! {
    #[test]
    fn documents_over_any_lines_are_the_same_requests(
        batches in prop::collection::vec(calls(), 1..4),
        breaks in prop::collection::vec(any::<bool>(), 1..40),
        which in 0..4usize,
    ) {
        let dialect = CallDialect::ALL[which];
        let mut stream = String::new();
        for calls in &batches {
            stream.push_str(spread(&ask(dialect, calls), &breaks).trim_end());
            stream.push('\n');
        }
        let frames = feed(None, &stream);
        prop_assert_eq!(frames.len(), batches.len(), "{}", stream);
        for (frame, calls) in frames.iter().zip(batches) {
            prop_assert_eq!(parsed(frame.parse(None).unwrap().calls), calls);
        }
    }

    #[test]
    fn tool_call_text_in_pieces_holds_the_same_calls(calls in calls(), wanted: bool) {
        let text = ask(CallDialect::HermesText, &calls);
        let wanted = wanted.then_some(CallDialect::HermesText);
        let framed: Vec<ToolCall> =
            feed(wanted, &text).iter().flat_map(|frame| frame.parse(wanted).unwrap().calls).collect();
        prop_assert_eq!(&framed, &parse(&text, wanted).unwrap().calls);
        prop_assert_eq!(framed, calls);
    }

    #[test]
    fn a_broken_line_costs_no_other_its_answer(calls in calls(), junk in "[^\\n\\r]{0,40}", cut in 0.0..1.0f64) {
        let good = ask(CallDialect::Envelope, &calls);
        let at = good.floor_char_boundary((good.len() as f64 * cut) as usize);
        let broken = format!("{}\u{1}{junk}", &good[..at]);
        let frames = feed(Some(CallDialect::Envelope), &format!("{good}\n{broken}\n{good}\n{good}\n"));
        let read: Vec<_> = frames.iter().filter_map(|frame| frame.parse(None).ok()).collect();
        prop_assert!(frames.first().unwrap().parse(None).is_ok());
        prop_assert!(frames.last().unwrap().parse(None).is_ok(), "{broken}");
        prop_assert_eq!(parsed(read.last().unwrap().calls.clone()), calls);
        prop_assert!(frames.iter().any(|frame| frame.parse(None).is_err()));
    }
}
