use std::io::Read;

use super::{CodeUnits, LineFeedReader};

fn wide(text: &str, units: CodeUnits) -> Vec<u8> {
    let bytes = |unit: u16| match units {
        CodeUnits::Utf16Be => unit.to_be_bytes().to_vec(),
        _ => unit.to_le_bytes().to_vec(),
    };
    text.encode_utf16().flat_map(bytes).collect()
}

#[test]
fn only_carriage_returns_are_translated() {
    // Two characters that have the bytes of a carriage return and a line feed.
    let text = "a\r\u{0D0D}b\r\u{0A0A}".repeat(30_000);
    let expected = text.replace('\r', "\n");
    for units in [CodeUnits::Utf16Le, CodeUnits::Utf16Be] {
        let (bytes, mut fed) = (wide(&text, units), Vec::new());
        LineFeedReader::new(&bytes[..], units).read_to_end(&mut fed).unwrap();
        assert!(fed == wide(&expected, units), "{units:?}");
        assert!(units.contains(b'\r', &bytes) && !units.contains(b'\n', &bytes));
    }
    let mut fed = String::new();
    LineFeedReader::new(text.as_bytes(), CodeUnits::Bytes).read_to_string(&mut fed).unwrap();
    assert!(fed == expected);
}

#[test]
fn the_encoding_tells_how_wide_characters_are() {
    assert_eq!(CodeUnits::detect(b"\xFF\xFEa\0", None), CodeUnits::Utf16Le);
    assert_eq!(CodeUnits::detect(b"\xFE\xFF\0a", None), CodeUnits::Utf16Be);
    assert_eq!(CodeUnits::detect(b"\0a", Some("UTF-16BE")), CodeUnits::Utf16Be);
    assert_eq!(CodeUnits::detect(b"a", Some("windows-1252")), CodeUnits::Bytes);
}
