use std::io::Cursor;

use encoding_rs::{UTF_8, UTF_16BE, UTF_16LE};
use proptest::prelude::*;

use super::*;

fn index(bytes: &[u8], newline: Newline, chunk: usize) -> LineIndex {
    LineIndex::build(&mut Cursor::new(bytes), newline, 0, chunk).expect("memory")
}

/// Lines without their line feeds, and whether each had one.
fn read_all(bytes: &[u8], newline: Newline, at: u64, window: usize) -> Vec<(Vec<u8>, bool)> {
    let mut source = Cursor::new(bytes);
    source.set_position(at);
    let mut reader = LineReader::new(&mut source, newline, window);
    let mut lines = Vec::new();
    loop {
        let mut line = Vec::new();
        match reader.next_line(|piece| line.extend_from_slice(piece)).expect("memory") {
            Some(terminated) => lines.push((line, terminated)),
            None => break,
        }
    }
    assert_eq!(reader.taken(), bytes.len() as u64 - at);
    lines
}

#[test]
fn a_final_line_feed_begins_no_line() {
    for (text, total, terminated) in [
        ("", 0, false),
        ("\n", 1, true),
        ("a", 1, false),
        ("a\n", 1, true),
        ("a\nb\nc", 3, false),
        ("a\nb\nc\n", 3, true),
        ("\n\n", 2, true),
        ("\r\n\r\nx", 3, false),
    ] {
        let index = index(text.as_bytes(), Newline::Byte, 4);
        assert_eq!((index.total(), index.is_terminated()), (total, terminated), "{text:?}");
    }
}

#[test]
fn wide_line_feeds_are_not_mistaken() {
    // U+0A0A, U+010A and U+0A01 hold the byte 0x0A and are no line feeds.
    let text = "\u{0A0A}\u{010A}\n\u{0A01}\u{0A00}\n\u{0A0A}";
    let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
    for (encoding, bytes) in [(UTF_16LE, little), (UTF_16BE, big)] {
        let newline = Newline::of(encoding);
        assert_eq!(index(&bytes, newline, 4).total(), 3);
        assert_eq!(read_all(&bytes, newline, 0, 4).len(), 3);
    }
    assert_eq!(Newline::of(UTF_8), Newline::Byte);
}

#[test]
fn an_odd_last_byte_of_wide_text_is_a_line_of_its_own() {
    let newline = Newline::of(UTF_16LE);
    assert_eq!(index(b"a\0\n\0x", newline, 2).total(), 2);
    assert_eq!(
        read_all(b"a\0\n\0x", newline, 0, 2),
        [(b"a\0".to_vec(), true), (b"x".to_vec(), false)]
    );
}

#[test]
fn a_line_behind_the_end_begins_at_the_end() {
    let bytes = b"a\nb\n";
    let index = index(bytes, Newline::Byte, 2);
    assert_eq!(index.find(&mut Cursor::new(bytes), 3).expect("memory"), 4);
    assert_eq!(index.find(&mut Cursor::new(bytes), 99).expect("memory"), 4);
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
        let lines = read_all(&text, Newline::Byte, 0, window);
        for (line, terminated) in &lines {
            prop_assert!(!line.contains(&b'\n'));
            whole.extend_from_slice(line);
            whole.extend_from_slice(if *terminated { b"\n" } else { b"" });
        }
        prop_assert_eq!(whole, text.clone());
        prop_assert_eq!(index(&text, Newline::Byte, window).total(), lines.len() as u64);
    }

    #[test]
    fn every_line_is_found_from_any_chunk_size(text in any_text(), chunk in 1_usize..40, bom in 0_u64..4) {
        let start = bom.min(text.len() as u64);
        let all = read_all(&text, Newline::Byte, start, 8);
        let mut source = Cursor::new(&text[..]);
        let index = LineIndex::build(&mut source, Newline::Byte, start, chunk).expect("memory");
        for number in 1..=index.total() {
            let at = index.find(&mut source, number).expect("memory");
            let rest = read_all(&text, Newline::Byte, at, 8);
            prop_assert_eq!(&rest[..], &all[number as usize - 1..]);
        }
    }

    #[test]
    fn wide_text_has_the_lines_of_its_text(text in "[a-cਊĊ\\r\\n]{0,60}", half in 1_usize..12, big: bool) {
        let units = text.encode_utf16();
        let (newline, bytes): (_, Vec<u8>) = if big {
            (Newline::WideBig, units.flat_map(u16::to_be_bytes).collect())
        } else {
            (Newline::WideLittle, units.flat_map(u16::to_le_bytes).collect())
        };
        let total = index(&bytes, newline, half * 2).total();
        prop_assert_eq!(total, text.split_inclusive('\n').count() as u64);
        prop_assert_eq!(read_all(&bytes, newline, 0, half * 2).len() as u64, total);
    }
}
