use proptest::prelude::*;

use super::*;

fn read(pieces: &[&[u8]]) -> Vec<SseEvent> {
    let mut reader = SseParser::new(MAX_EVENT_BYTES);
    let mut events = Vec::new();
    for piece in pieces {
        events.extend(reader.feed(piece).expect("short"));
    }
    events.extend(reader.finish());
    events
}

fn sent(name: Option<&str>, data: &str) -> SseEvent {
    SseEvent { name: name.map(str::to_owned), data: data.to_owned() }
}

#[test]
fn fields_comments_and_line_ends() {
    let body = b"\xef\xbb\xbf: hello\r\nevent: a\r\ndata: 1\r\ndata:2\r\n\r\nid: 9\n\ndata\n\ndata: {\"a\":1}\r\r";
    assert_eq!(read(&[body]), [sent(Some("a"), "1\n2"), sent(None, ""), sent(None, "{\"a\":1}")]);
}

#[test]
fn the_end_of_the_body_completes_an_event() {
    assert_eq!(read(&[b"data: 1\n\ndata: [DONE]"]), [sent(None, "1"), sent(None, "[DONE]")]);
    assert_eq!(read(&[b"data: 1\n\n: bye"]), [sent(None, "1")]);
}

#[test]
fn an_event_without_end_is_a_fault() {
    let mut reader = SseParser::new(MAX_EVENT_BYTES);
    let piece = vec![b'x'; 8 * 1024 * 1024];
    let fault = (0..9).find_map(|_| reader.feed(&piece).err()).expect("bounded");
    assert_eq!(fault, SseOverflow(MAX_EVENT_BYTES));
}

proptest! {
    #[test]
    fn where_the_body_is_cut_does_not_matter(
        lines in proptest::collection::vec("(data: ?[aä€😀 ]{0,6}|event: b|:x|)(\r\n|\n|\r)", 0..12),
        cuts in proptest::collection::vec(0usize..80, 0..6),
    ) {
        let body = lines.concat().into_bytes();
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(body.len())).collect();
        cuts.sort_unstable();
        let mut pieces = Vec::new();
        let mut start = 0;
        for cut in cuts {
            pieces.push(&body[start..cut]);
            start = cut;
        }
        pieces.push(&body[start..]);
        prop_assert_eq!(read(&pieces), read(&[&body]));
    }
}
