use encoding_rs::{
    BIG5, EUC_JP, EUC_KR, Encoding, GB18030, GBK, ISO_2022_JP, ISO_8859_2, KOI8_R, SHIFT_JIS,
    UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1251, WINDOWS_1252,
};
use proptest::prelude::*;

use super::*;

fn encoded(encoding: &'static Encoding, bom: bool, text: &str) -> Vec<u8> {
    let format = TextFormat::new(encoding, bom);
    let mut bytes = format.bom().to_vec();
    bytes.extend(format.encode(text).expect("encodable"));
    bytes
}

#[test]
fn a_euro_sign_tells_gb18030_from_gbk() {
    let text = "价格是 €5 元，这是一个测试文件，用于测试编码检测。\n价格表\n";
    let (bytes, _, _) = GB18030.encode(text);
    let format = detect_format(&bytes, true);
    assert_eq!(format.encoding(), GB18030);
    assert_eq!(format.encode("€9").unwrap(), [0xA2, 0xE3, b'9']);
    let (bytes, _, _) = GBK.encode(text);
    let format = detect_format(&bytes, true);
    assert_eq!(format.encoding(), GBK);
    assert_eq!(format.encode("€9").unwrap(), [0x80, b'9']);
}

#[test]
fn ascii_utf8_and_nothing_are_plain() {
    for text in ["", "a", "plain\n", "naïve – ✓\n"] {
        assert_eq!(detect_format(text.as_bytes(), true), TextFormat::PLAIN_UTF8, "{text:?}");
        assert_eq!(detect_format(text.as_bytes(), true).label(), None);
    }
}

#[test]
fn a_sample_cut_inside_a_character_is_still_utf8() {
    let bytes = "größe ✓".as_bytes();
    for end in 0..bytes.len() {
        assert_eq!(detect_format(&bytes[..end], false), TextFormat::PLAIN_UTF8, "cut at {end}");
    }
}

#[test]
fn byte_order_marks_decide_and_are_left_out_of_the_text() {
    for (encoding, label) in [(UTF_8, "utf-8-bom"), (UTF_16LE, "utf-16le"), (UTF_16BE, "utf-16be")]
    {
        let bytes = encoded(encoding, true, "año\r\n日本\n");
        let format = detect_format(&bytes, true);
        assert_eq!(format, TextFormat::new(encoding, true));
        assert_eq!(format.label().as_deref(), Some(label));
        assert_eq!(format.decode(&bytes).text, "año\r\n日本\n");
    }
}

#[test]
fn utf16_is_known_without_a_mark() {
    for encoding in [UTF_16LE, UTF_16BE] {
        let bytes = encoded(encoding, false, "Windows Registry Editor\r\n\r\nä=1\r\n");
        assert_eq!(detect_format(&bytes, true), TextFormat::new(encoding, false));
        assert_eq!(detect_format(&bytes[..31], false), TextFormat::new(encoding, false));
    }
    let numbers: Vec<u8> = (1..200_u16).flat_map(u16::to_le_bytes).collect();
    assert!(utf16::detect_without_bom(&numbers, true).is_none(), "small integers are no text");
}

#[test]
fn a_few_zero_bytes_are_no_utf16() {
    let wide = |text: &str| encoded(UTF_16LE, false, text);
    assert_eq!(utf16::detect_without_bom(&wide("12345678"), true), Some(UTF_16LE));
    let mut odd = wide("a line of text\n");
    odd.push(b'x');
    for bytes in [
        b"a\0b\nc\n".to_vec(),
        wide("1234567"),
        odd,
        wide("a line\x01 of text\n"),
        wide("name\0value\0more\0"),
        b"key\0value, key\0value\n".to_vec(),
        [wide("a line of text\n"), vec![0x00, 0xD8]].concat(),
    ] {
        assert_eq!(utf16::detect_without_bom(&bytes, true), None, "{bytes:?}");
    }
    let cut = [wide("a line of text\n"), vec![0x3D, 0xD8]].concat();
    assert_eq!(utf16::detect_without_bom(&cut, false), Some(UTF_16LE), "cut inside a pair");
}

#[test]
fn legacy_text_is_recognised() {
    let russian = "Съешь же ещё этих мягких французских булок, да выпей чаю.\n";
    let japanese = "いろはにほへと ちりぬるを 色は匂へど 散りぬるを\n";
    for (encoding, text) in [
        (WINDOWS_1252, "Le café coûte très cher à Genève, où l’été dure.\n"),
        (WINDOWS_1251, russian),
        (KOI8_R, russian),
        (SHIFT_JIS, japanese),
        (EUC_JP, japanese),
        (ISO_2022_JP, japanese),
        (GBK, "快速的棕色狐狸跳过了懒狗。今天天气很好，我们去公园散步吧。\n"),
        (BIG5, "快速的棕色狐狸跳過了懶狗。今天天氣很好，我們去公園散步吧。\n"),
        (EUC_KR, "다람쥐 헌 쳇바퀴에 타고파. 오늘은 날씨가 좋습니다.\n"),
    ] {
        let bytes = encoded(encoding, false, text);
        let format = detect_format(&bytes, true);
        assert_eq!(format.decode(&bytes).text, text, "{} taken for {format:?}", encoding.name());
    }
}

#[test]
fn terminal_colours_are_no_encoding() {
    assert_eq!(detect_format(b"\x1B[31mred\x1B[0m costs \x1B$5\n", true), TextFormat::PLAIN_UTF8);
}

#[test]
fn a_few_bad_bytes_do_not_make_utf8_something_else() {
    let mut bytes = "Grüße aus Köln, schöne Tage für alle Gäste\n".repeat(4).into_bytes();
    bytes.extend(b"broken \xFF here\n");
    let format = detect_format(&bytes, true);
    assert_eq!(format, TextFormat::PLAIN_UTF8);
    let decoded = format.decode(&bytes);
    assert!(decoded.is_damaged && decoded.text.contains("Köln"));
    let short = b"hello\xFF world\nsecond \xC3\xA9 line\n";
    assert_eq!(detect_format(short, true), TextFormat::PLAIN_UTF8);
    assert_eq!(detect_format(b"caf\xE9 au lait, d\xE9j\xE0 vu\n", true).encoding(), WINDOWS_1252);
}

#[test]
fn what_cannot_be_encoded_is_named_with_its_place() {
    let error = TextFormat::new(WINDOWS_1252, false).encode("é and ✓").expect_err("no check mark");
    assert_eq!(error, UnencodableChar { character: '✓', offset: 7, encoding: "windows-1252" });
    assert_eq!(error.to_string(), "'✓' at byte 7 cannot be written in windows-1252");
}

fn any_format() -> impl Strategy<Value = TextFormat> {
    let legacy = prop::sample::select(vec![
        WINDOWS_1252,
        WINDOWS_1251,
        ISO_8859_2,
        KOI8_R,
        SHIFT_JIS,
        EUC_JP,
        GBK,
        GB18030,
        BIG5,
        EUC_KR,
        ISO_2022_JP,
    ])
    .prop_map(|encoding| TextFormat::new(encoding, false));
    let unicode = (prop::sample::select(vec![UTF_8, UTF_16LE, UTF_16BE]), any::<bool>())
        .prop_map(|(encoding, bom)| TextFormat::new(encoding, bom));
    prop_oneof![legacy, unicode]
}

proptest! {
    #[test]
    fn what_is_encoded_decodes_to_the_same(format in any_format(), text in ".{0,40}|[ -~\r\n]{0,40}|[а-яё]{0,40}") {
        let Ok(body) = format.encode(&text) else { return Ok(()) };
        let mut bytes = format.bom().to_vec();
        bytes.extend(body);
        let decoded = format.decode(&bytes);
        prop_assert!(!decoded.is_damaged);
        // A few characters share their bytes with a look-alike in the old Asian
        // tables: the bytes come back in any case, the text where none does.
        prop_assert_eq!(format.encode(&decoded.text), Ok(bytes[format.bom().len()..].to_vec()));
        if text.is_ascii() || [UTF_8, UTF_16LE, UTF_16BE].contains(&format.encoding()) {
            prop_assert_eq!(decoded.text, text);
        }
    }

    #[test]
    fn any_bytes_have_a_format_and_decode(bytes in prop::collection::vec(any::<u8>(), 0..200), complete: bool) {
        let text = detect_format(&bytes, complete).decode(&bytes).text.into_owned();
        prop_assert!(text.chars().count() <= bytes.len() * 3);
    }

    #[test]
    fn valid_utf8_is_never_changed(text in "[^\0\u{1B}\u{FEFF}]{0,80}") {
        prop_assert_eq!(detect_format(text.as_bytes(), true).decode(text.as_bytes()).text, text.as_str());
    }
}

#[test]
fn a_hint_is_not_asked_for_what_the_bytes_say() {
    for bytes in [&b""[..], b"plain\n", "größe\n".as_bytes(), b"\xEF\xBB\xBFx", b"\xFF\xFEx\0"] {
        let unasked = || panic!("asked about {bytes:?}");
        assert_eq!(detect_format_with(bytes, true, unasked), detect_format(bytes, true));
    }
}

#[test]
fn a_hint_decides_what_the_bytes_leave_open() {
    let latin = b"\xE9t\xE9 \xE0 la plage\n";
    let greek = encoding_rs::ISO_8859_7;
    assert_eq!(detect_format_with(latin, true, || Some(greek)), TextFormat::new(greek, false));
    // No zero byte: by itself nobody takes it for UTF-16.
    let wide = encoded(UTF_16BE, false, "漢字かな交じり文だ");
    assert_ne!(detect_format(&wide, true).encoding(), UTF_16BE);
    let shown = detect_format_with(&wide, true, || Some(UTF_16BE));
    assert_eq!(shown, TextFormat::new(UTF_16BE, false));
    let cut = wide.get(..wide.len() - 3).expect("long enough");
    assert_eq!(detect_format_with(cut, false, || Some(UTF_16BE)), shown);
}

#[test]
fn a_hint_that_the_bytes_belie_is_passed_over() {
    let latin = b"\xE9t\xE9 \xE0 la plage\n";
    let wide = encoded(UTF_16LE, false, "plain letters in two bytes each\n");
    for (bytes, hint) in [
        (&latin[..], UTF_8),
        (latin, UTF_16LE),
        (&latin[..latin.len() - 1], UTF_16BE),
        (latin, encoding_rs::REPLACEMENT),
        (&wide, UTF_8),
        (&wide, WINDOWS_1252),
    ] {
        assert_eq!(
            detect_format_with(bytes, true, || Some(hint)),
            detect_format(bytes, true),
            "{hint:?}"
        );
    }
}
