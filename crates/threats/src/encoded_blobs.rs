//! Decodes base64, hexadecimal and percent-encoded text inside a text.

/// Minimum length of a decoded blob.
const MIN_BLOB_CHARS: usize = 24;

/// Maximum number of blobs decoded per text.
const MAX_BLOBS: usize = 64;

/// Maximum number of characters decoded per blob.
const MAX_BLOB_CHARS: usize = 32_768;

/// Number of consecutive printable characters that distinguishes text from
/// noise.
const MIN_READABLE_RUN: usize = 12;

/// Decoded text and the byte offset of its source.
#[derive(Debug)]
pub(crate) struct DecodedBlob {
    pub(crate) text: String,
    pub(crate) start: usize,
}

/// Returns the readable contents of encoded blobs. They are not decoded again.
pub(crate) fn decode_blobs(text: &str) -> Vec<DecodedBlob> {
    let mut blobs = Vec::new();
    decode_hex_and_base64(text, &mut blobs);
    decode_percent(text, &mut blobs);
    blobs
}

fn decode_hex_and_base64(text: &str, blobs: &mut Vec<DecodedBlob>) {
    let bytes = text.as_bytes();
    let mut floor = 0;
    // Any blob that is long enough covers one of these positions.
    let mut probe = MIN_BLOB_CHARS - 1;
    let mut seen = 0;
    while probe < bytes.len() && seen < MAX_BLOBS {
        if !is_digit(bytes[probe]) {
            probe += MIN_BLOB_CHARS;
            continue;
        }
        let start = probe - bytes[floor..probe].iter().rev().take_while(|b| is_digit(**b)).count();
        let end = blob_end(bytes, start);
        if end - start >= MIN_BLOB_CHARS {
            seen += 1;
            let stretch: Vec<u8> = bytes[start..end]
                .iter()
                .copied()
                .filter(|b| is_digit(*b))
                .take(MAX_BLOB_CHARS)
                .collect();
            blobs.extend(decode_digits(&stretch).map(|text| DecodedBlob { text, start }));
        }
        floor = end.max(probe);
        probe = floor + MIN_BLOB_CHARS - 1;
    }
}

/// Returns the end of a blob, which may span several long lines.
fn blob_end(bytes: &[u8], start: usize) -> usize {
    let mut line = start;
    loop {
        let end = line + bytes[line..].iter().take_while(|b| is_digit(**b)).count();
        if end - line < MIN_BLOB_CHARS {
            return if line == start { end } else { end.max(line) };
        }
        let next =
            end + bytes[end..].iter().take(2).take_while(|b| matches!(b, b'\r' | b'\n')).count();
        if next == end || !bytes.get(next).is_some_and(|b| is_digit(*b)) {
            return end;
        }
        line = next;
    }
}

fn is_digit(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_')
}

fn decode_digits(stretch: &[u8]) -> Option<String> {
    if stretch.iter().all(u8::is_ascii_hexdigit) {
        return readable_text(
            stretch
                .chunks_exact(2)
                .filter_map(|pair| Some(hex_value(pair[0])? << 4 | hex_value(pair[1])?))
                .collect(),
        );
    }
    // The blob may begin with letters that are not part of it.
    (0..4).find_map(|skip| readable_text(decode_base64(stretch.get(skip..)?)))
}

fn hex_value(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

fn decode_base64(digits: &[u8]) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(digits.len() / 4 * 3 + 2);
    let (mut bits, mut held) = (0_u32, 0);
    for &digit in digits {
        let six = match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a' + 26,
            b'0'..=b'9' => digit - b'0' + 52,
            b'+' | b'-' => 62,
            _ => 63,
        };
        bits = (bits << 6 | u32::from(six)) & 0xffff;
        held += 6;
        if held >= 8 {
            held -= 8;
            decoded.push((bits >> held & 0xff) as u8);
        }
    }
    decoded
}

/// Returns the bytes as text, if they are readable. Zero bytes are dropped,
/// which makes UTF-16 ASCII readable.
fn readable_text(mut bytes: Vec<u8>) -> Option<String> {
    bytes.retain(|b| *b != 0);
    match String::from_utf8(bytes) {
        Ok(text) if !text.chars().any(|c| c.is_control() && !c.is_whitespace()) => Some(text),
        Ok(text) => has_words(text.as_bytes()).then_some(text),
        Err(error) => has_words(error.as_bytes())
            .then(|| String::from_utf8_lossy(error.as_bytes()).into_owned()),
    }
}

fn has_words(bytes: &[u8]) -> bool {
    bytes
        .split(|b| !matches!(b, b' '..=b'~' | b'\n' | b'\r' | b'\t'))
        .any(|run| run.len() >= MIN_READABLE_RUN)
}

fn decode_percent(text: &str, blobs: &mut Vec<DecodedBlob>) {
    let mut floor = 0;
    for (at, _) in text.match_indices('%') {
        if blobs.len() >= 2 * MAX_BLOBS {
            return;
        }
        if at < floor {
            continue;
        }
        let space = |b: &u8| b.is_ascii_whitespace();
        let bytes = text.as_bytes();
        let start =
            bytes[floor..at].iter().rposition(space).map_or(floor, |before| floor + before + 1);
        let end = bytes[at..].iter().position(space).map_or(bytes.len(), |after| at + after);
        floor = end;
        if end - start < MIN_BLOB_CHARS {
            continue;
        }
        let (decoded, count) = percent_decode_run(&bytes[start..end.min(start + MAX_BLOB_CHARS)]);
        if count > 1 {
            blobs.push(DecodedBlob { text: String::from_utf8_lossy(&decoded).into_owned(), start });
        }
    }
}

fn percent_decode_run(bytes: &[u8]) -> (Vec<u8>, usize) {
    let mut decoded = Vec::with_capacity(bytes.len());
    let (mut at, mut count) = (0, 0);
    while let Some(&byte) = bytes.get(at) {
        let pair = bytes
            .get(at + 1..at + 3)
            .and_then(|pair| Some(hex_value(pair[0])? << 4 | hex_value(pair[1])?));
        match (byte, pair) {
            (b'%', Some(code)) => {
                decoded.push(code);
                count += 1;
                at += 3;
            }
            (b'+', _) => {
                decoded.push(b' ');
                at += 1;
            }
            _ => {
                decoded.push(byte);
                at += 1;
            }
        }
    }
    (decoded, count)
}
