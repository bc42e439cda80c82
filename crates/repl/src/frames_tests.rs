use super::*;

const WORD: &str = "0123456789abcdef";

fn part(kind: char, text: &str) -> String {
    format!("\x1e{WORD}{kind}{:04x}{text}", text.len())
}

/// All that comes of a stream that is read in pieces of this size.
fn read(stream: &[u8], size: usize) -> (Vec<u8>, Vec<(u8, Vec<u8>)>) {
    let (mut raw, mut parts) = (Vec::new(), Vec::new());
    let mut frames = FrameSplitter::new(WORD);
    for bytes in stream.chunks(size) {
        frames.feed(bytes, |piece| match piece {
            StreamPiece::CodeOutput(bytes) => raw.extend_from_slice(bytes),
            StreamPiece::DriverPart(kind, bytes) => parts.push((kind, bytes.to_vec())),
        });
    }
    raw.extend(frames.finish());
    (raw, parts)
}

#[test]
fn parts_are_found_however_the_stream_is_cut() {
    let stream = format!(
        "before{}{}between\x1e\x1e0{}after",
        part('c', "one"),
        part('e', ""),
        part('e', "two\x1e")
    );
    for size in 1..stream.len() {
        let (raw, parts) = read(stream.as_bytes(), size);
        assert_eq!(String::from_utf8_lossy(&raw), "beforebetween\x1e\x1e0after", "{size}");
        let wanted = [(b'c', b"one".to_vec()), (b'e', Vec::new()), (b'e', b"two\x1e".to_vec())];
        assert_eq!(parts, wanted, "{size}");
    }
}

#[test]
fn a_word_without_a_length_is_output() {
    for text in [format!("\x1e{WORD}exyz!more"), format!("\x1e{WORD}effffmore")] {
        let (raw, parts) = read(text.as_bytes(), 7);
        assert_eq!(String::from_utf8_lossy(&raw), text);
        assert!(parts.is_empty());
    }
}

#[test]
fn what_is_not_a_word_is_not_held_back() {
    let mut frames = FrameSplitter::new(WORD);
    let mut seen = Vec::new();
    frames.feed(b"a prompt\x1e: ", |piece| {
        if let StreamPiece::CodeOutput(bytes) = piece {
            seen.extend_from_slice(bytes);
        }
    });
    assert_eq!(seen, b"a prompt\x1e: ");
}
