use encoding_rs::{
    BIG5, EUC_JP, EUC_KR, Encoding, GB18030, GBK, KOI8_R, SHIFT_JIS, UTF_8, UTF_16BE, UTF_16LE,
    WINDOWS_1251, WINDOWS_1252, WINDOWS_1253,
};
use proptest::prelude::*;

use crate::TextDocument;
use crate::codec::detect_format;

fn is_text(bytes: &[u8]) -> bool {
    TextDocument::read(bytes.to_vec(), None).is_ok()
}

fn noise(length: usize, from: u8) -> Vec<u8> {
    let mut state = 7_u64;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as u8
    };
    (0..length).map(|_| next() | from).collect()
}

#[test]
fn numbers_and_noise_are_no_text() {
    let numbers: Vec<u8> = (0..4000_u16).flat_map(|n| (500 + n % 300).to_le_bytes()).collect();
    let marked = |mark: &[u8]| [mark, &noise(3000, 0)].concat();
    for bytes in [
        numbers,
        b"\0\x01".repeat(2000),
        marked(b"\xFF\xFE"),
        marked(b"\xFE\xFF"),
        noise(3000, 0x80),
        noise(200, 0x80),
        noise(3000, 0),
    ] {
        assert!(!is_text(&bytes), "{:?}: {:?}", detect_format(&bytes, true), bytes.get(..16));
    }
}

#[test]
fn a_named_encoding_is_taken() {
    let read = |bytes: &[u8], encoding| {
        let document = TextDocument::read(bytes.to_vec(), Some(encoding));
        document.map(|document| document.text().to_owned())
    };
    assert_eq!(read(b"caf\xE9\x0B\n", WINDOWS_1252).as_deref(), Ok("café\u{B}\n"));
    assert_eq!(read(b"\x01caf\xE9\n", WINDOWS_1252).as_deref(), Ok("\u{1}café\n"));
    for encoding in [EUC_JP, BIG5, GB18030] {
        let bytes = [&*encoding.encode("日本\n").0, b"\x0B\n"].concat();
        assert_eq!(read(&bytes, encoding).as_deref(), Ok("日本\n\u{B}\n"));
    }
    assert!(read(b"\x01\x02\x03\xE9", WINDOWS_1252).is_err(), "noise in any encoding");
    assert!(read(b"a\0b", WINDOWS_1252).is_err());
    assert_eq!(read(b"o\0k\0", UTF_16LE).as_deref(), Ok("ok"));
}

const WRITINGS: [(&str, &[&Encoding]); 7] = [
    ("the quick brown fox jumps over the lazy dog", &[UTF_8, UTF_16LE, UTF_16BE]),
    ("le café coûte très cher à Genève où l’été dure", &[UTF_8, UTF_16LE, UTF_16BE, WINDOWS_1252]),
    (
        "съешь же ещё этих мягких французских булок да выпей чаю",
        &[UTF_8, UTF_16LE, UTF_16BE, WINDOWS_1251, KOI8_R],
    ),
    ("γειά σου κόσμε τι κάνεις σήμερα", &[UTF_8, UTF_16LE, UTF_16BE, WINDOWS_1253]),
    (
        "いろはにほへと ちりぬるを 色は匂へど 散りぬるを",
        &[UTF_8, UTF_16LE, UTF_16BE, SHIFT_JIS, EUC_JP],
    ),
    (
        "快速的 棕色狐狸 跳过了懒狗 今天天气很好 我们去公园散步吧",
        &[UTF_8, UTF_16LE, UTF_16BE, GBK, GB18030],
    ),
    ("다람쥐 헌 쳇바퀴에 타고파 오늘은 날씨가 좋습니다", &[UTF_8, UTF_16LE, UTF_16BE, EUC_KR]),
];

proptest! {
    /// Words of one script, in any order and on any number of lines.
    #[test]
    fn text_of_any_script_stays_text(
        writing in 0..WRITINGS.len(),
        picks in proptest::collection::vec((0..64_usize, 0..5_u8), 6..300),
    ) {
        let (words, encodings) = WRITINGS[writing];
        let words: Vec<&str> = words.split(' ').collect();
        let text: String = picks
            .iter()
            .flat_map(|(word, end)| [words[word % words.len()], if *end == 0 { "\r\n" } else { " " }])
            .collect();
        for encoding in encodings {
            let bytes = crate::codec::TextFormat::new(encoding, false).encode(&text);
            let bytes = bytes.expect("all of it can be written");
            prop_assert!(is_text(&bytes), "{}: {text}", encoding.name());
            let named = TextDocument::read(bytes.clone(), Some(encoding)).expect("it was named");
            prop_assert_eq!(named.text(), &text);
            if [UTF_8, UTF_16LE, UTF_16BE].contains(encoding) {
                prop_assert_eq!(detect_format(&bytes, true).encoding(), *encoding);
            }
        }
    }
}
