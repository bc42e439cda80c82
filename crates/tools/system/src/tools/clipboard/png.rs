//! Minimal PNG support: recognizes an image and reads its size.

/// The media type.
pub(super) const MEDIA_TYPE: &str = "image/png";

const PNG_SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";
const APPLESCRIPT_DELIMITERS: (&str, &str) = ("«data PNGf", "»");

/// Width and height, if the bytes start with a PNG header.
pub(super) fn size(bytes: &[u8]) -> Option<(u32, u32)> {
    let rest = bytes.strip_prefix(PNG_SIGNATURE)?;
    let header = rest.get(4..)?.strip_prefix(b"IHDR")?;
    let number = |at: usize| Some(u32::from_be_bytes(header.get(at..at + 4)?.try_into().ok()?));
    Some((number(0)?, number(4)?))
}

/// Parses an image as AppleScript prints it: hexadecimal digits.
pub(super) fn from_applescript(printed: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(printed).ok()?.trim();
    let digits = text
        .strip_prefix(APPLESCRIPT_DELIMITERS.0)?
        .strip_suffix(APPLESCRIPT_DELIMITERS.1)?
        .as_bytes();
    let digit = |letter: u8| char::from(letter).to_digit(16);
    let (pairs, rest) = digits.as_chunks::<2>();
    let byte = |[high, low]: &[u8; 2]| u8::try_from(digit(*high)? * 16 + digit(*low)?).ok();
    rest.is_empty().then(|| pairs.iter().map(byte).collect())?
}

/// Formats an image as AppleScript data.
pub(super) fn to_applescript(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from_digit(value.into(), 16).unwrap_or('0').to_ascii_uppercase();
    let mut text = String::with_capacity(2 * bytes.len() + 16);
    text.push_str(APPLESCRIPT_DELIMITERS.0);
    for byte in bytes {
        text.push(digit(byte >> 4));
        text.push(digit(byte & 15));
    }
    text.push_str(APPLESCRIPT_DELIMITERS.1);
    text
}

#[cfg(test)]
#[path = "png_tests.rs"]
mod tests;
