use std::io::Read;

use super::{Fed, Units};

fn wide(text: &str, units: Units) -> Vec<u8> {
    let bytes = |unit: u16| match units {
        Units::Big => unit.to_be_bytes().to_vec(),
        _ => unit.to_le_bytes().to_vec(),
    };
    text.encode_utf16().flat_map(bytes).collect()
}

#[test]
fn only_carriage_returns_are_translated() {
    // Two characters that have the bytes of a carriage return and a line feed.
    let text = "a\r\u{0D0D}b\r\u{0A0A}".repeat(30_000);
    let expected = text.replace('\r', "\n");
    for units in [Units::Little, Units::Big] {
        let (bytes, mut fed) = (wide(&text, units), Vec::new());
        Fed::new(&bytes[..], units).read_to_end(&mut fed).unwrap();
        assert!(fed == wide(&expected, units), "{units:?}");
        assert!(units.has(b'\r', &bytes) && !units.has(b'\n', &bytes));
    }
    let mut fed = String::new();
    Fed::new(text.as_bytes(), Units::Bytes).read_to_string(&mut fed).unwrap();
    assert!(fed == expected);
}

#[test]
fn the_encoding_tells_how_wide_characters_are() {
    assert_eq!(Units::of(b"\xFF\xFEa\0", None), Units::Little);
    assert_eq!(Units::of(b"\xFE\xFF\0a", None), Units::Big);
    assert_eq!(Units::of(b"\0a", Some("UTF-16BE")), Units::Big);
    assert_eq!(Units::of(b"a", Some("windows-1252")), Units::Bytes);
}
