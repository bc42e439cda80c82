#![allow(clippy::unwrap_used)]

use std::io::Write as _;

use proptest::prelude::*;

use super::*;

fn pieces(text: &[u8]) -> Vec<Vec<u8>> {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(text).unwrap();
    let mut lines = ReverseLineReader::new(file, text.len() as u64);
    let mut found = Vec::new();
    while let Some(line) = lines.next().unwrap() {
        found.push(line);
    }
    found.reverse();
    found
}

fn expected(text: &[u8]) -> Vec<Vec<u8>> {
    text.split(|b| *b == b'\n').map(<[u8]>::to_vec).collect()
}

#[test]
fn long_lines_and_chunk_borders() {
    for length in [0, 1, 65_534, 65_535, 65_536, 65_537, 131_072, 400_000] {
        let mut text = b"first\n".to_vec();
        text.extend(std::iter::repeat_n(b'x', length));
        text.extend(b"\n\nlast");
        assert_eq!(pieces(&text), expected(&text), "{length}");
    }
}

#[test]
fn a_line_without_end_is_refused() {
    let file = tempfile::tempfile().unwrap();
    file.set_len(64 << 20).unwrap();
    let mut lines = ReverseLineReader::new(file, 64 << 20);
    assert_eq!(lines.next().unwrap_err().kind(), io::ErrorKind::InvalidData);
    assert!(lines.next().unwrap().is_none());
}

proptest! {
    #[test]
    fn the_pieces_are_those_between_line_breaks(text in "[ab\n]{0,60}") {
        prop_assert_eq!(pieces(text.as_bytes()), expected(text.as_bytes()));
    }
}
