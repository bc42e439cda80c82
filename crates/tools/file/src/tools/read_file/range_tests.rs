use encoding_rs::{GBK, SHIFT_JIS, WINDOWS_1252};
use proptest::prelude::*;

use super::*;

/// Reads a text in ranges of `limit` bytes, each where the one before ended.
fn read_all(format: TextFormat, bytes: &[u8], limit: usize) -> (String, bool) {
    let (mut all, mut damaged, mut from) = (String::new(), false, 0);
    while from < bytes.len() {
        let end = (from + limit).min(bytes.len());
        let (skipped, taken, piece, bad) =
            decode_text(format, &bytes[from..end], from as u64, end == bytes.len());
        assert!(skipped + taken > 0, "no way on from {from}");
        all.push_str(&piece);
        damaged |= bad;
        from += skipped + taken;
    }
    (all, damaged)
}

proptest! {
    #[test]
    fn ranges_put_together_are_the_text(
        text in "[a-z äß€漢字\\u{1F600}\\n]{0,60}",
        limit in 6_usize..40,
        which in 0_usize..4,
    ) {
        let format = [
            TextFormat::PLAIN_UTF8,
            TextFormat::new(UTF_8, true),
            TextFormat::new(UTF_16LE, true),
            TextFormat::new(UTF_16BE, false),
        ][which];
        let bytes = [format.bom(), &format.encode(&text).unwrap()].concat();
        prop_assert_eq!(read_all(format, &bytes, limit), (text, false));
    }

    #[test]
    fn legacy_ranges_break_at_spaces(words in prop::collection::vec("[漢字日本]{1,4}", 1..20), limit in 12_usize..40) {
        let text = words.join(" ");
        for encoding in [GBK, SHIFT_JIS] {
            let format = TextFormat::new(encoding, false);
            let bytes = format.encode(&text).unwrap();
            prop_assert_eq!(read_all(format, &bytes, limit), (text.clone(), false));
        }
    }

    #[test]
    fn legacy_ranges_break_between_characters(text in "[漢字日本]{1,40}", limit in 8_usize..20) {
        for encoding in [GBK, SHIFT_JIS] {
            let format = TextFormat::new(encoding, false);
            let bytes = format.encode(&text).unwrap();
            prop_assert_eq!(read_all(format, &bytes, limit), (text.clone(), false));
        }
    }

    #[test]
    fn any_bytes_and_any_place_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..60), from in 0_u64..9, last: bool) {
        for encoding in [UTF_8, UTF_16LE, UTF_16BE, GBK, WINDOWS_1252] {
            let (skipped, taken, ..) = decode_text(TextFormat::new(encoding, true), &bytes, from, last);
            prop_assert!(skipped + taken <= bytes.len());
            prop_assert!(bytes.is_empty() || skipped + taken > 0);
        }
    }
}

#[test]
fn a_range_that_begins_inside_a_character_begins_behind_it() {
    let bytes = "€x".as_bytes();
    assert_eq!(
        decode_text(TextFormat::PLAIN_UTF8, &bytes[1..], 1, true),
        (2, 1, "x".to_owned(), false)
    );
}

#[test]
fn a_mark_that_fills_the_range_is_passed_over_by_itself() {
    let format = TextFormat::new(UTF_8, true);
    let bytes = "\u{FEFF}😀".as_bytes();
    assert_eq!(decode_text(format, &bytes[..6], 0, false), (3, 0, String::new(), false));
    assert_eq!(read_all(format, bytes, 6), ("😀".to_owned(), false));
}

#[test]
fn dumps_name_the_place_of_each_row() {
    let bytes: Vec<u8> = (60..80).collect();
    assert_eq!(
        hex_dump(&bytes, 32),
        "00000020  3c 3d 3e 3f 40 41 42 43 44 45 46 47 48 49 4a 4b  |<=>?@ABCDEFGHIJK|\n\
         00000030  4c 4d 4e 4f  |LMNO|"
    );
}
