use encoding_rs::{UTF_16LE, WINDOWS_1252};
use proptest::prelude::*;

use super::*;

fn kind(bytes: &[u8]) -> Option<&'static str> {
    match DetectedContent::detect(bytes, true, || None) {
        DetectedContent::Binary(kind) => Some(kind.name),
        DetectedContent::Text(_) => None,
    }
}

#[test]
fn signatures_name_the_kind_and_the_tool() {
    for (bytes, name) in [
        (&b"\x89PNG\r\n\x1A\n\0\0\0\rIHDR"[..], "a PNG image"),
        (b"GIF89a\x01\0\x01\0\x80\0\0", "a GIF image"),
        (b"%PDF-1.7\n1 0 obj\n", "a PDF document"),
        (b"PK\x03\x04\x14\0", "a zip archive or an Office document"),
        (b"\x1F\x8B\x08\0", "gzip data"),
        (b"\x7FELF\x02\x01\x01\0", "an ELF program or library"),
        (b"SQLite format 3\0\x10\0", "an SQLite database"),
        (b"MZ\x90\0\x03\0", "a Windows program or library"),
        (b"RIFF\x24\0\0\0WEBPVP8 \0\0", "a WebP image"),
        (b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0", "a WAV recording"),
        (b"\0\0\0\x20ftypisom\0\0\x02\0", "an MPEG-4 or QuickTime film"),
        (b"\0\0\0\x20ftypheic\0\0\0\0", "a HEIF image"),
        (b"\0\x01\0\0\0\x0F\0\x80", "a TrueType font"),
        (b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1\0", "an old or encrypted Office document"),
        (b"\xFF\xFE\0\0a\0\0\0", "UTF-32 text"),
    ] {
        assert_eq!(kind(bytes), Some(name), "{bytes:?}");
    }
}

#[test]
fn an_archive_of_text_is_named_by_its_mark_further_in() {
    let mut tar = b"notes.txt".to_vec();
    tar.resize(257, 0);
    tar.extend(b"ustar\x0000");
    assert_eq!(kind(&tar), Some("a tar archive"));
}

#[test]
fn an_encoding_that_is_told_is_taken_unless_it_makes_noise() {
    let cyrillic = TextFormat::new(encoding_rs::WINDOWS_1251, false);
    assert_eq!(
        DetectedContent::detect_as(b"\xCF\xF0\xE8", cyrillic),
        DetectedContent::Text(cyrillic)
    );
    assert!(matches!(
        DetectedContent::detect_as(b"\x89PNG\r\n\x1A\n\0\0", cyrillic),
        DetectedContent::Binary(_)
    ));
}

#[test]
fn text_that_begins_like_a_file_format_is_text() {
    for text in ["GIF89a is a format\n", "BMW\n", "MZ\n", "RIFF\n", "PK is a name\n", "ID3 tags\n"]
    {
        assert_eq!(kind(text.as_bytes()), None, "{text:?}");
    }
}

#[test]
fn zero_bytes_and_noise_are_binary() {
    assert_eq!(kind(b"text with\0 a zero byte in it\n"), Some("binary data"));
    assert_eq!(kind(b"a\0b\nc\n"), Some("binary data"));
    assert_eq!(kind(&[1, 2, 3, 4, 5, 6, b'a', b'b']), Some("binary data"));
    // Without zero bytes, as compressed data of a few bytes can be.
    let noise: Vec<u8> = (0..400_u32).map(|i| (i * 167 % 255 + 1) as u8).collect();
    assert_eq!(kind(&noise), Some("binary data"));
}

#[test]
fn logs_with_separators_and_colours_are_text() {
    assert_eq!(kind(b"8=FIX.4.2\x019=178\x0135=D\x0149=BROKER\x0156=EXCHANGE\x01\n"), None);
    assert_eq!(kind(b"\x1B[1;32mok\x1B[0m 12 tests \x08\x08passed\x0C\n"), None);
}

#[test]
fn wide_and_legacy_text_is_text() {
    let wide: Vec<u8> = "a=1\r\nb=2\r\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(
        DetectedContent::detect(&wide, true, || None),
        DetectedContent::Text(TextFormat::new(UTF_16LE, false))
    );
    let latin = b"d\xE9j\xE0 vu \xE0 la carte\n";
    assert_eq!(
        DetectedContent::detect(latin, true, || None),
        DetectedContent::Text(TextFormat::new(WINDOWS_1252, false))
    );
}

proptest! {
    #[test]
    fn words_in_any_script_are_text(text in "[\\p{L}\\p{N} \\t\\n.,;]{0,120}") {
        prop_assert_eq!(kind(text.as_bytes()), None);
    }
}
