use super::*;

fn both(text: &str) -> [(Vec<u8>, &'static Encoding); 2] {
    [
        (text.encode_utf16().flat_map(u16::to_le_bytes).collect(), UTF_16LE),
        (text.encode_utf16().flat_map(u16::to_be_bytes).collect(), UTF_16BE),
    ]
}

#[test]
fn text_of_any_script_is_recognised_in_both_orders() {
    for text in [
        "Hello \u{1F600} text\nsecond\n",
        "\u{1F600}\u{1F468}\u{200D}\u{1F469} all pictures\n",
        "Привет мир, как дела\n",
        "日本語のテキスト\n漢字\n",
        "一二三四五六七八九十\n一\n",
        "안녕하세요 세계\n",
        "שלום עולם, מה שלומך\n",
        "مرحبا بالعالم كيف حالك\n",
        "สวัสดีชาวโลก สบายดีไหม\n",
        "नमस्ते दुनिया, कैसे हो\n",
        "Γειά σου Κόσμε\n",
        "naïve café – “déjà vu” €\r\n",
        "Latin и кириллица и 日本語\n",
        "key\tзначение\t値\r\n",
        "привет\n",
        "hi\n",
        "日本語😀\n",
        "a\u{2028}b\n",
        "L0x  Grüße привет 日本語 😀\u{C}\r\n",
    ] {
        for (bytes, encoding) in both(text) {
            assert_eq!(detect_without_bom(&bytes, true), Some(encoding), "{text}");
            assert!(may_be_utf16(&bytes), "{text}");
        }
    }
}

#[test]
fn a_sample_may_end_inside_of_a_pair() {
    for (bytes, encoding) in both("some text, then \u{1F600}") {
        assert_eq!(detect_without_bom(&bytes[..bytes.len() - 2], false), Some(encoding));
        assert_eq!(detect_without_bom(&bytes[..bytes.len() - 2], true), None);
    }
}

#[test]
fn what_is_no_text_is_not_taken_for_it() {
    let counting: Vec<u8> = (0x0300..0x1000_u16).step_by(16).flat_map(u16::to_le_bytes).collect();
    let wave: Vec<u8> = (0..400_i32)
        .map(|n| (f64::from(n) / 9.0).sin() * 20_000.0)
        .flat_map(|level| (level as i16).to_le_bytes())
        .collect();
    let mut state = 1_u64;
    let noise: Vec<u8> = (0..4096)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 40) as u8
        })
        .collect();
    let header = b"\x7FELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3E\0";
    let listed = b"first line\n\0second one\n\0third line\n\0".repeat(20);
    let utf8 = "plain text with ü and 日本語 in it\n".as_bytes();
    let small: Vec<u8> = (0..4000_u16).flat_map(|n| (500 + n % 300).to_le_bytes()).collect();
    let ones = b"\0\x01".repeat(2000);
    for bytes in [&counting[..], &wave, &noise, &small, &ones, header, utf8, &listed, &[0; 64]] {
        assert_eq!(detect_without_bom(bytes, true), None, "{bytes:?}");
    }
    // It may be the one as well as the other.
    for bytes in [&b"a\0b\0"[..], b"o\0k\0", b"-N\n\0", b"ab\n\0"] {
        assert_eq!(detect_without_bom(bytes, true), None, "{bytes:?}");
    }
}
