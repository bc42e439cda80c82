use encoding_rs::{
    BIG5, EUC_JP, EUC_KR, GB18030, GBK, ISO_2022_JP, ISO_8859_2, KOI8_R, SHIFT_JIS, UTF_16BE,
    UTF_16LE, WINDOWS_1251, WINDOWS_1252,
};
use proptest::prelude::*;

use super::*;
use crate::codec::UnencodableChar;

fn edit(range: Range<usize>, text: &str) -> TextEdit {
    TextEdit { range, text: text.to_owned() }
}

fn read(bytes: impl Into<Vec<u8>>) -> TextDocument {
    TextDocument::read(bytes.into(), None).expect("text")
}

fn read_as(bytes: impl Into<Vec<u8>>, charset: &'static Encoding) -> TextDocument {
    TextDocument::read(bytes.into(), Some(charset)).expect("text")
}

#[test]
fn valid_utf8_is_not_copied() {
    let bytes = "größe\r\n".repeat(100).into_bytes();
    let place = bytes.as_ptr();
    let document = read(bytes);
    assert_eq!(document.bytes().as_ptr(), place);
    assert_eq!(document.text().as_ptr(), place);
    assert_eq!(document.format(), TextFormat::PLAIN_UTF8);
}

#[test]
fn a_byte_order_mark_stays_in_the_bytes_and_out_of_the_text() {
    let document = read(b"\xEF\xBB\xBFone\ntwo\n".to_vec());
    assert_eq!(document.text(), "one\ntwo\n");
    assert_eq!(document.byte_span(0..3), 3..6);
    let new = document.splice(&[edit(0..3, "eins")]).expect("fits");
    assert_eq!(new, b"\xEF\xBB\xBFeins\ntwo\n");
    let document = read(b"\xFF\xFEa\0\n\0".to_vec());
    assert_eq!(
        document.splice(&[edit(0..1, "ä😀")]).expect("fits"),
        b"\xFF\xFE\xE4\0\x3D\xD8\0\xDE\n\0"
    );
}

#[test]
fn the_mark_outweighs_what_was_told_and_that_outweighs_a_guess() {
    let marked = read_as(b"\xEF\xBB\xBF\xC3\xA9\n".to_vec(), WINDOWS_1252);
    assert_eq!((marked.text(), marked.format()), ("é\n", TextFormat::new(UTF_8, true)));
    assert_eq!(read_as(b"\xC3\xA9\n".to_vec(), WINDOWS_1252).text(), "Ã©\n");
    assert_eq!(read(b"\xC3\xA9\n".to_vec()).text(), "é\n");
    assert_eq!(read_as("é\n".as_bytes().to_vec(), UTF_8).text(), "é\n");
    let broken = read_as(b"caf\xE9\n".to_vec(), UTF_8);
    assert_eq!((broken.text(), broken.is_damaged()), ("caf\u{FFFD}\n", true));
}

#[test]
fn utf16_without_a_mark_is_text() {
    let bytes: Vec<u8> = "Windows Registry\r\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let document = read(bytes);
    assert_eq!(document.format(), TextFormat::new(UTF_16LE, false));
    assert_eq!(document.endings().label(), Some("crlf"));
    assert_eq!(document.byte_span(8..16), 16..32);
}

#[test]
fn what_looks_like_a_mark_may_be_letters_of_the_encoding_that_was_named() {
    let document = read_as(b"\xFE\xFF\xD0\nMARK\n".to_vec(), KOI8_R);
    assert_eq!(document.format().encoding(), KOI8_R);
    assert_eq!(document.text(), "ЧЪп\nMARK\n");
    let document = read_as(b"\xEF\xBB\xBFMARK\n".to_vec(), KOI8_R);
    assert_eq!(
        (document.format().label().as_deref(), document.text()),
        (Some("utf-8-bom"), "MARK\n")
    );
}

#[test]
fn what_is_no_text_is_refused_with_the_reason() {
    for bytes in [&b"\x7FELF\0\0\0"[..], b"\xFF\xFE\0\0a\0\0\0", b"\x01\x02\x03\x04\x05\x06\x07"] {
        let rejected = TextDocument::read(bytes.to_vec(), None).expect_err("binary");
        assert_eq!(rejected.bytes, bytes);
        let error = rejected.reason;
        assert!(matches!(error, NotTextReason::Binary { .. }), "{error}");
    }
    let rejected = TextDocument::read(b"a".to_vec(), Some(REPLACEMENT)).expect_err("no decoder");
    assert_eq!(rejected.reason, NotTextReason::Unsupported { encoding: "replacement" });
}

#[test]
fn nothing_and_an_empty_edit_are_fine() {
    let empty = read(Vec::new());
    assert_eq!((empty.text(), empty.endings()), ("", LineEndings::default()));
    assert_eq!(empty.splice(&[]).expect("nothing"), b"");
    assert_eq!(empty.splice(&[edit(0..0, "a\n")]).expect("all new"), b"a\n");
    let document = read("a\nb\n");
    assert_eq!(document.splice(&[edit(1..1, "")]).expect("nothing"), b"a\nb\n");
}

#[test]
fn edits_must_be_in_order_and_between_characters() {
    let document = read("añb");
    let overlap = [edit(0..3, "x"), edit(1..4, "y")];
    assert_eq!(document.splice(&overlap), Err(SpliceError::OutOfOrder { edit: 1 }));
    assert_eq!(document.splice(&[edit(0..2, "")]), Err(SpliceError::OutOfBounds { edit: 0 }));
    assert_eq!(document.splice(&[edit(4..9, "")]), Err(SpliceError::OutOfBounds { edit: 0 }));
    #[allow(clippy::reversed_empty_ranges)]
    let reversed = [edit(3..1, "")];
    assert_eq!(document.splice(&reversed), Err(SpliceError::OutOfBounds { edit: 0 }));
    let together = [edit(1..1, "x"), edit(1..1, "y"), edit(1..3, "z")];
    assert_eq!(document.splice(&together).expect("touching is fine"), b"axyzb");
}

#[test]
fn what_the_encoding_lacks_is_refused_by_name_and_place() {
    let document = read_as(b"caf\xE9\n".to_vec(), WINDOWS_1252);
    let error = document.splice(&[edit(0..0, "a "), edit(5..5, "ok ✓")]).expect_err("no check");
    let what = UnencodableChar { character: '✓', offset: 3, encoding: "windows-1252" };
    assert_eq!(error, SpliceError::Unencodable { edit: 1, what });
    assert_eq!(
        error.to_string(),
        "In the new text, '✓' at byte 3 cannot be written in windows-1252"
    );
    // It would come back as a backslash.
    let document = read_as(b"abc\n".to_vec(), SHIFT_JIS);
    let error = document.splice(&[edit(0..0, "日¥")]).expect_err("a look-alike");
    let what = UnencodableChar { character: '¥', offset: 3, encoding: "Shift_JIS" };
    assert_eq!(error, SpliceError::Unencodable { edit: 0, what });
}

#[test]
fn damaged_bytes_survive_and_are_not_covered() {
    let mut bytes = "schöne Grüße für alle Gäste\n".repeat(3).into_bytes();
    let at = bytes.len();
    bytes.extend(b"bad \xFF\xC3 here\n");
    let document = read(bytes.clone());
    assert!(document.is_damaged());
    let text = document.text().to_owned();
    let bad = text.find('\u{FFFD}').expect("damage");
    let end = text.find("here").expect("here");
    let new = document.splice(&[edit(0..7, "liebe"), edit(end..end + 4, "there")]).expect("beside");
    let expected = [b"liebe", &bytes[7..at], b"bad \xFF\xC3 there\n"].concat();
    assert_eq!(new, expected);
    for range in [bad..bad + 3, bad - 1..end, 0..text.len()] {
        let error = document.splice(&[edit(range, "x")]).expect_err("covers damage");
        assert_eq!(error, SpliceError::Damaged { edit: 0, offset: at + 4, encoding: "UTF-8" });
    }
}

#[test]
fn new_bytes_that_would_join_damaged_ones_are_refused() {
    // A lead byte without its second one, and a letter that would be taken for it.
    let document = read_as(b"ab\x81\ncdefghijklmnopqrstuvwxyz\n".to_vec(), SHIFT_JIS);
    assert_eq!(document.text().find('\u{FFFD}'), Some(2));
    let error = document.splice(&[edit(5..5, "x")]).expect_err("joins");
    assert_eq!(error, SpliceError::Inexact { offset: 2, encoding: "Shift_JIS" });
    assert!(document.splice(&[edit(6..6, "x")]).is_ok());
}

#[test]
fn an_edit_does_not_make_a_byte_order_mark() {
    let document = read("abc\n");
    assert!(document.splice(&[edit(0..0, "\u{FEFF}")]).is_err());
    assert!(document.splice(&[edit(1..1, "\u{FEFF}")]).is_ok());
}

#[test]
fn two_characters_that_are_one_in_big5_stay_together() {
    let document = read_as(b"a\x88\x62b\n".to_vec(), BIG5);
    assert_eq!(document.text(), "aÊ\u{304}b\n");
    assert_eq!(document.splice(&[edit(3..5, "")]), Err(SpliceError::OutOfBounds { edit: 0 }));
    assert_eq!(document.byte_span(3..5), 1..3);
    assert_eq!(document.splice(&[edit(1..5, "x")]).expect("both"), b"axb\n");
}

#[test]
fn shifted_text_is_escaped_anew_only_where_it_changes() {
    let bytes = b"abc \x1B$BF|K\\8l\x1B(B def\n";
    let document = read_as(bytes.to_vec(), ISO_2022_JP);
    assert_eq!(document.text(), "abc 日本語 def\n");
    let splice = |range, text: &str| document.splice(&[edit(range, text)]).expect("fits");
    assert_eq!(splice(7..10, "x"), b"abc \x1B$BF|\x1B(Bx\x1B$B8l\x1B(B def\n");
    assert_eq!(splice(7..10, "日"), b"abc \x1B$BF|F|8l\x1B(B def\n");
    assert_eq!(splice(0..0, "日"), b"\x1B$BF|\x1B(Babc \x1B$BF|K\\8l\x1B(B def\n");
    assert_eq!(splice(7..7, ""), bytes);
    assert_eq!(splice(4..13, ""), b"abc \x1B(B def\n");
}

#[test]
fn characters_that_reach_over_a_piece_are_found() {
    // Each text is longer than a piece and has no place where one could end.
    for (encoding, text) in [
        (UTF_16LE, "😀"),
        (UTF_16BE, "😀"),
        (GB18030, "😀"),
        (GBK, "中"),
        (SHIFT_JIS, "表"),
        (EUC_JP, "語"),
        (BIG5, "字"),
        (EUC_KR, "한"),
        (KOI8_R, "жж"),
        (ISO_2022_JP, "日"),
    ] {
        let text = format!("a{}", text.repeat(9_000));
        let format = TextFormat::new(encoding, false);
        let bytes = format.encode(&text).expect("has it");
        let document = read_as(bytes.clone(), encoding);
        assert_eq!(document.text(), text, "{}", encoding.name());
        let last = text.char_indices().last().expect("a character").0;
        let new = document.splice(&[edit(1..1, "b"), edit(last..text.len(), "c")]).expect("fits");
        let read = format!("ab{}c", &text[1..last]);
        assert_eq!(format.decode(&new).text, read, "{}", encoding.name());
    }
}

const ENCODINGS: [&Encoding; 14] = [
    UTF_8,
    UTF_16LE,
    UTF_16BE,
    WINDOWS_1252,
    WINDOWS_1251,
    ISO_8859_2,
    KOI8_R,
    GBK,
    GB18030,
    BIG5,
    SHIFT_JIS,
    EUC_JP,
    EUC_KR,
    ISO_2022_JP,
];

/// Letters of many alphabets; of each encoding those that it has are used.
const LETTERS: &str =
    "abcXYZ 019,\\~|éüßñžłčąőжщяЙЖ日本語表能中文字符한국어강ひらがなカタカナ😀𝄞𠮷€";

fn any_format() -> impl Strategy<Value = TextFormat> {
    (prop::sample::select(ENCODINGS.to_vec()), any::<bool>()).prop_map(|(encoding, bom)| {
        let can = [UTF_8, UTF_16LE, UTF_16BE].contains(&encoding);
        TextFormat::new(encoding, bom && can)
    })
}

fn any_text(format: TextFormat, ends: &'static [&'static str]) -> impl Strategy<Value = String> {
    let has = |c: &char| format.encode_strict(&c.to_string()).is_ok();
    let letters: Vec<String> = LETTERS.chars().filter(has).map(String::from).collect();
    let piece = prop_oneof![
        6 => prop::sample::select(letters),
        1 => prop::sample::select(ends).prop_map(str::to_owned),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

const STYLES: [&[&str]; 4] = [&["\n"], &["\r\n"], &["\r"], &["\n", "\r\n", "\r"]];

fn any_case() -> impl Strategy<Value = (TextFormat, String, Vec<(usize, usize, String)>)> {
    (any_format(), prop::sample::select(STYLES.to_vec())).prop_flat_map(|(format, ends)| {
        let edit = (any::<prop::sample::Index>(), 0..6_usize, any_text(format, ends))
            .prop_map(|(start, len, text)| (start.index(usize::MAX), len, text));
        (Just(format), any_text(format, ends), prop::collection::vec(edit, 0..5))
    })
}

/// Edits in order, between the characters of a text.
fn place(text: &str, wanted: Vec<(usize, usize, String)>) -> Vec<TextEdit> {
    let stops: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let mut edits: Vec<TextEdit> = Vec::new();
    let mut wanted: Vec<_> =
        wanted.into_iter().map(|(start, len, text)| (start % stops.len(), len, text)).collect();
    wanted.sort_by_key(|(start, ..)| *start);
    for (start, len, text) in wanted {
        let range = stops[start]..stops[(start + len).min(stops.len() - 1)];
        if edits.last().is_none_or(|last| last.range.end <= range.start) {
            edits.push(TextEdit { range, text });
        }
    }
    edits
}

proptest! {
    #[test]
    fn edits_change_their_spans_and_nothing_else((format, text, wanted) in any_case(), long in prop::bool::weighted(0.03)) {
        // Long enough for several pieces, so that the places in between are used.
        let text = if long { text.repeat(1 + 50_000 / text.len().max(1)) } else { text };
        let mut bytes = format.bom().to_vec();
        bytes.extend(format.encode_strict(&text).expect("of its letters"));
        let document = read_as(bytes.clone(), format.encoding());
        prop_assert_eq!(document.text(), &text);
        prop_assert_eq!(document.format(), format);
        let edits = place(&text, wanted);
        let new = document.splice(&edits).expect("all can be written");
        // Like a plain replacement in the text.
        let mut model = text.clone();
        for edit in edits.iter().rev() {
            model.replace_range(edit.range.clone(), &edit.text);
        }
        prop_assert_eq!(&*format.decode(&new).text, &*model);
        // Like a plain replacement in the bytes.
        let spans: Vec<_> = edits.iter().map(|edit| document.byte_span(edit.range.clone())).collect();
        if format.encoding() == ISO_2022_JP {
            let first = spans.first().map_or(bytes.len(), |span| span.start);
            let last = spans.last().map_or(0, |span| span.end);
            prop_assert!(new.starts_with(&bytes[..first]) && new.ends_with(&bytes[last..]));
        } else {
            let mut model = bytes.clone();
            for (edit, span) in edits.iter().zip(spans).rev() {
                model.splice(span, format.encode(&edit.text).expect("of its letters"));
            }
            prop_assert_eq!(&new, &model);
        }
        // And back.
        let mut back = Vec::new();
        let mut shift = 0_isize;
        for TextEdit { range, text: put } in &edits {
            let start = range.start.checked_add_signed(shift).expect("in the text");
            back.push(TextEdit { range: start..start + put.len(), text: text[range.clone()].to_owned() });
            shift += put.len() as isize - range.len() as isize;
        }
        let changed = read_as(new, format.encoding());
        let restored = changed.splice(&back).expect("it was there before");
        prop_assert_eq!(&*format.decode(&restored).text, &*text);
        if format.encoding() != ISO_2022_JP {
            prop_assert_eq!(restored, bytes);
        }
    }

    #[test]
    fn any_bytes_keep_what_no_edit_touches(
        bytes in prop::collection::vec(any::<u8>(), 0..60),
        encoding in prop::sample::select(ENCODINGS.to_vec()),
        start: prop::sample::Index,
        len in 0..4_usize,
        new in "[a-z]{0,3}",
    ) {
        let text = decoding(&bytes, encoding).text;
        prop_assert_eq!(&*text, &*encoding.decode_without_bom_handling(&bytes).0);
        let Ok(document) = TextDocument::read(bytes.clone(), Some(encoding)) else { return Ok(()) };
        let wanted = place(document.text(), vec![(start.index(usize::MAX), len, new)]);
        let span = document.byte_span(wanted[0].range.clone());
        match document.splice(&wanted) {
            Ok(new) => {
                prop_assert!(new.starts_with(&bytes[..span.start]));
                prop_assert!(new.ends_with(&bytes[span.end..]));
                let format = document.format();
                prop_assert_eq!(&*format.decode(&new).text, &*apply_edits(document.text(), &wanted));
            }
            Err(SpliceError::Damaged { offset, .. }) => prop_assert!(span.contains(&offset)),
            Err(SpliceError::OutOfOrder { .. }) => prop_assert!(false, "one edit is in order"),
            Err(_) => {}
        }
    }
}

#[test]
fn a_document_is_read_as_it_is_detected() {
    let hint = || Some(encoding_rs::ISO_8859_7);
    for bytes in [&b"plain"[..], b"\xE1\xE2\xE3\n", b"\xFE\xFF\0x", "größe".as_bytes()] {
        let document = TextDocument::read_with(bytes.to_vec(), hint).expect("text");
        assert_eq!(document.format(), detect_format_with(bytes, true, hint));
        assert_eq!(document.bytes(), bytes);
    }
}
