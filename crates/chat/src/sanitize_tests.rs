use proptest::prelude::*;

use super::*;

#[test]
fn sequences_are_taken_out_whole() {
    for (dirty, want) in [
        ("a\x1b[31mred\x1b[0mb", "aredb"),
        ("\x1b]0;title\x07x", "x"),
        ("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bP1$r\x1b\\x", "x"),
        ("\u{9b}31mx", "x"),
        ("\x1b(Bx", "x"),
        ("\x1b[2J\x1b[Hgone", "gone"),
        ("bell\x07 back\x08space", "bell backspace"),
        ("user\u{202e}txt.exe", "usertxt.exe"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("tab\tstays", "tab\tstays"),
        ("\x1b]52;c;never ends\nnext line", "\nnext line"),
    ] {
        assert_eq!(sanitize(dirty), want, "{dirty:?}");
    }
}

#[test]
fn letters_and_families_stay() {
    let text = "Grüße, 世界, नमस्ते, \u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}, می\u{200c}خواهم";
    assert_eq!(sanitize(text), text);
}

#[test]
fn an_endless_sequence_swallows_only_so_much() {
    let text = format!("\x1b]{}end", "x".repeat(10_000));
    let clean = sanitize(&text);
    assert!(clean.ends_with("xend") && clean.len() > 5_000);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn pieces_are_cleaned_like_the_whole(
        text in "[a\\[\\]0;\\\\\x1b\x07\r\nm\u{9b}\u{202e}世]{0,60}",
        cut in 0usize..60,
    ) {
        let cut = text.char_indices().map(|(at, _)| at).nth(cut).unwrap_or(text.len());
        let mut cleaner = TextSanitizer::default();
        let mut pieces = String::new();
        cleaner.push(&text[..cut], &mut pieces);
        cleaner.push(&text[cut..], &mut pieces);
        prop_assert_eq!(&pieces, &sanitize(&text));
        prop_assert!(pieces.chars().all(|c| c == '\n' || c == '\t' || is_displayable(c)));
    }
}
