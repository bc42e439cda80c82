use std::io::Cursor;

use encoding_rs::{SHIFT_JIS, UTF_8, UTF_16LE};
use proptest::prelude::*;

use super::*;
use crate::lines::NewlineEncoding;

fn read(
    bytes: &[u8],
    encoding: &'static Encoding,
    clip: LineWindow,
    window: usize,
) -> Vec<ClippedLine> {
    let mut source = Cursor::new(bytes);
    let mut reader = LineReader::new(&mut source, NewlineEncoding::for_encoding(encoding), window);
    let mut lines = Vec::new();
    while let Some(line) = clip.read(&mut reader, encoding).expect("memory") {
        lines.push(line);
    }
    lines
}

const ALL: LineWindow = LineWindow { skip: 0, take: u64::MAX };

#[test]
fn a_carriage_return_belongs_to_the_ending_only_before_a_line_feed() {
    let lines = read(b"a\r\nb\rc\nd\r", UTF_8, ALL, 2);
    let seen: Vec<_> = lines.iter().map(|l| (l.text.as_str(), l.chars, l.ending)).collect();
    assert_eq!(
        seen,
        [
            ("a", 1, LineTerminator::CrLf),
            ("b\rc", 3, LineTerminator::Lf),
            ("d\r", 2, LineTerminator::None)
        ]
    );
}

#[test]
fn the_window_counts_characters_not_bytes() {
    let lines = read("äöü€𝄞xyz\r\n".as_bytes(), UTF_8, LineWindow { skip: 2, take: 3 }, 2);
    assert_eq!(lines.len(), 1);
    assert_eq!((lines[0].text.as_str(), lines[0].chars), ("ü€𝄞", 8));
}

#[test]
fn a_carriage_return_at_the_edge_of_the_window_is_dropped() {
    for (take, text) in [(1, "a"), (2, "ab"), (3, "ab"), (9, "ab")] {
        let lines = read(b"ab\r\n", UTF_8, LineWindow { skip: 0, take }, 4);
        assert_eq!((lines[0].text.as_str(), lines[0].chars), (text, 2), "take {take}");
    }
    assert_eq!(read(b"ab\r\n", UTF_8, LineWindow { skip: 2, take: 5 }, 4)[0].text, "");
}

#[test]
fn bytes_without_meaning_are_marked() {
    let lines = read(b"ok\nb\xFFd\n", UTF_8, ALL, 64);
    assert!(!lines[0].damaged && lines[1].damaged);
    assert_eq!(lines[1].text, "b\u{FFFD}d");
}

#[test]
fn endings_have_a_name_unless_they_are_line_feeds() {
    for (text, name) in [
        ("a", None),
        ("a\nb\n", None),
        ("a\r\n", Some("crlf")),
        ("\n\r\n", Some("mixed")),
        ("a\rb", None),
    ] {
        assert_eq!(LineTerminators::from_text(text).name(), name, "{text:?}");
    }
}

proptest! {
    #[test]
    fn windows_put_together_are_the_line(line in "[a-zäあ𝄞]{0,60}", take in 1_u64..9, window in 1_usize..9) {
        for encoding in [UTF_8, UTF_16LE, SHIFT_JIS] {
            let line: String = line.chars().filter(|c| encoding != SHIFT_JIS || !"ä𝄞".contains(*c)).collect();
            let format = hermes_text::codec::TextFormat::new(encoding, false);
            let bytes = format.encode(&format!("{line}\n")).expect("encodable");
            let mut whole = String::new();
            let mut skip = 0;
            loop {
                let part = read(&bytes, encoding, LineWindow { skip, take }, window * 2);
                prop_assert_eq!(part[0].chars, line.chars().count() as u64);
                whole.push_str(&part[0].text);
                skip += take;
                if skip >= part[0].chars {
                    break;
                }
            }
            prop_assert_eq!(whole, line);
        }
    }
}
