use std::io::Cursor;

use encoding_rs::{UTF_8, UTF_16BE, UTF_16LE};
use proptest::prelude::*;

use super::*;

fn index(bytes: &[u8], newline: NewlineEncoding, chunk: usize) -> LineIndex {
    let mut index = LineIndex::new(newline, 0, bytes.len() as u64, chunk);
    index.finish(&mut Cursor::new(bytes)).expect("memory");
    index
}

fn total(bytes: &[u8], newline: NewlineEncoding, chunk: usize) -> u64 {
    index(bytes, newline, chunk).total().expect("counted to the end")
}

/// Lines without their line feeds, and whether each had one.
fn read_all(
    bytes: &[u8],
    newline: NewlineEncoding,
    at: u64,
    window: usize,
) -> Vec<(Vec<u8>, bool)> {
    let mut source = Cursor::new(bytes);
    source.set_position(at);
    let mut reader = LineReader::new(&mut source, newline, window);
    let mut lines = Vec::new();
    loop {
        let mut line = Vec::new();
        let take = |piece: &[u8]| {
            line.extend_from_slice(piece);
            true
        };
        match reader.next_line(take).expect("memory") {
            Some(stop) => lines.push((line, stop == LineStop::Ended)),
            None => break,
        }
    }
    assert_eq!(reader.bytes_read(), bytes.len() as u64 - at);
    lines
}

#[test]
fn a_final_line_feed_begins_no_line() {
    for (text, lines, terminated) in [
        ("", 0, false),
        ("\n", 1, true),
        ("a", 1, false),
        ("a\n", 1, true),
        ("a\nb\nc", 3, false),
        ("a\nb\nc\n", 3, true),
        ("\n\n", 2, true),
        ("\r\n\r\nx", 3, false),
    ] {
        let index = index(text.as_bytes(), NewlineEncoding::Byte, 4);
        let expected = (Some(lines), Some(terminated));
        assert_eq!((index.total(), index.is_terminated()), expected, "{text:?}");
    }
}

#[test]
fn wide_line_feeds_are_not_mistaken() {
    // U+0A0A, U+010A and U+0A01 hold the byte 0x0A and are no line feeds.
    let text = "\u{0A0A}\u{010A}\n\u{0A01}\u{0A00}\n\u{0A0A}";
    let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
    for (encoding, bytes) in [(UTF_16LE, little), (UTF_16BE, big)] {
        let newline = NewlineEncoding::for_encoding(encoding);
        assert_eq!(total(&bytes, newline, 4), 3);
        assert_eq!(read_all(&bytes, newline, 0, 4).len(), 3);
    }
    assert_eq!(NewlineEncoding::for_encoding(UTF_8), NewlineEncoding::Byte);
}

#[test]
fn an_odd_last_byte_of_wide_text_is_a_line_of_its_own() {
    let newline = NewlineEncoding::for_encoding(UTF_16LE);
    assert_eq!(total(b"a\0\n\0x", newline, 2), 2);
    assert_eq!(
        read_all(b"a\0\n\0x", newline, 0, 2),
        [(b"a\0".to_vec(), true), (b"x".to_vec(), false)]
    );
}

#[test]
fn a_line_behind_the_end_is_not_found() {
    for chunk in [1, 2, 4, 64] {
        let bytes = b"a\nb\n";
        let mut index = LineIndex::new(NewlineEncoding::Byte, 0, 4, chunk);
        assert_eq!(index.find(&mut Cursor::new(bytes), 2).expect("memory"), Some(2));
        assert_eq!(index.find(&mut Cursor::new(bytes), 3).expect("memory"), None, "chunk {chunk}");
        assert_eq!(index.find(&mut Cursor::new(bytes), 99).expect("memory"), None);
        assert_eq!(index.total(), Some(2));
    }
}

#[test]
fn nothing_is_counted_before_it_is_wanted() {
    let bytes = b"a\n".repeat(1000);
    let mut index = LineIndex::new(NewlineEncoding::Byte, 0, bytes.len() as u64, 20);
    assert_eq!(index.find(&mut Cursor::new(&bytes), 1).expect("memory"), Some(0));
    assert_eq!((index.counted(), index.total()), (0, None));
    assert_eq!(index.find(&mut Cursor::new(&bytes), 15).expect("memory"), Some(28));
    assert_eq!((index.counted(), index.at_least(), index.total()), (40, 20, None));
}

#[test]
fn carriage_returns_end_lines_only_without_line_feeds() {
    assert_eq!(NewlineEncoding::detect(UTF_8, b"a\rb\r"), NewlineEncoding::Return);
    assert_eq!(NewlineEncoding::detect(UTF_8, b"a\rb\n"), NewlineEncoding::Byte);
    assert_eq!(NewlineEncoding::detect(UTF_8, b"ab"), NewlineEncoding::Byte);
    assert_eq!(total(b"a\rb\rc", NewlineEncoding::Return, 2), 3);
}

#[test]
fn nobody_has_to_read_a_line_to_its_end() {
    let mut source = Cursor::new(b"0123456789\nx\n");
    let mut reader = LineReader::new(&mut source, NewlineEncoding::Byte, 4);
    assert_eq!(reader.next_line(|_| false).expect("memory"), Some(LineStop::Inside));
    assert_eq!(reader.bytes_read(), 4);
}

fn any_text() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        3 => Just(b"\n".to_vec()),
        2 => Just(b"\r\n".to_vec()),
        1 => Just(b"\r".to_vec()),
        6 => prop::collection::vec(any::<u8>(), 0..12),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn lines_put_together_are_the_text(text in any_text(), window in 1_usize..40) {
        let mut whole = Vec::new();
        let lines = read_all(&text, NewlineEncoding::Byte, 0, window);
        for (line, terminated) in &lines {
            prop_assert!(!line.contains(&b'\n'));
            whole.extend_from_slice(line);
            whole.extend_from_slice(if *terminated { b"\n" } else { b"" });
        }
        prop_assert_eq!(whole, text.clone());
        prop_assert_eq!(total(&text, NewlineEncoding::Byte, window), lines.len() as u64);
    }

    #[test]
    fn every_line_is_found_in_any_order_from_any_chunk_size(
        text in any_text(),
        chunk in 1_usize..40,
        bom in 0_u64..4,
        order in prop::collection::vec(1_u64..60, 1..12),
    ) {
        let start = bom.min(text.len() as u64);
        let all = read_all(&text, NewlineEncoding::Byte, start, 8);
        let mut source = Cursor::new(&text[..]);
        let mut index = LineIndex::new(NewlineEncoding::Byte, start, text.len() as u64, chunk);
        for number in order {
            let rest = match index.find(&mut source, number).expect("memory") {
                Some(at) => read_all(&text, NewlineEncoding::Byte, at, 8),
                None => Vec::new(),
            };
            let expected = all.get(number as usize - 1..).unwrap_or_default();
            prop_assert_eq!(&rest[..], expected, "line {}", number);
            prop_assert!(index.at_least() <= all.len() as u64);
            prop_assert!(index.total().is_none_or(|total| total == all.len() as u64));
        }
        prop_assert_eq!(index.finish(&mut source).expect("memory"), all.len() as u64);
    }

    #[test]
    fn marks_are_few_and_lead_to_every_line(lines in 1_usize..3000, strided: bool) {
        let text = b"ab\n".repeat(lines);
        let len = if strided { text.len() as u64 * 100 } else { text.len() as u64 };
        let mut source = Cursor::new(&text[..]);
        let mut index = LineIndex::new(NewlineEncoding::Byte, 0, len, 4);
        index.finish(&mut source).expect("memory");
        prop_assert!(index.marks.len() as u64 <= LineIndex::MAX_MARKS + 2);
        for number in [1, lines / 3 + 1, lines / 2 + 1, lines] {
            let at = index.find(&mut source, number as u64).expect("memory");
            prop_assert_eq!(at, Some(number as u64 * 3 - 3));
        }
    }

    #[test]
    fn wide_text_has_the_lines_of_its_text(text in "[a-cਊĊ\\r\\n]{0,60}", half in 1_usize..12, big: bool) {
        let units = text.encode_utf16();
        let (newline, bytes): (_, Vec<u8>) = if big {
            (NewlineEncoding::WideBig, units.flat_map(u16::to_be_bytes).collect())
        } else {
            (NewlineEncoding::WideLittle, units.flat_map(u16::to_le_bytes).collect())
        };
        let total = total(&bytes, newline, half * 2);
        prop_assert_eq!(total, text.split_inclusive('\n').count() as u64);
        prop_assert_eq!(read_all(&bytes, newline, 0, half * 2).len() as u64, total);
    }
}
