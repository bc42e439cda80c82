use proptest::prelude::*;

use super::*;

#[test]
fn a_cut_is_made_at_the_end_of_a_line_or_a_word() {
    assert_eq!(split("one two three", 8, char::len_utf8), ["one two", "three"]);
    assert_eq!(split("one two\nand three", 10, char::len_utf8), ["one two", "and three"]);
    assert_eq!(split("abcdefgh", 3, char::len_utf8), ["abc", "def", "gh"]);
    assert_eq!(split("😀😀", 2, char::len_utf16), ["😀", "😀"]);
    assert_eq!(split("  ", 5, char::len_utf8), [""; 0]);
}

proptest! {
    #[test]
    fn nothing_but_blanks_is_lost(text in "[a-c \n😀]{0,60}", most in 1_usize..20) {
        let parts = split(&text, most, char::len_utf16);
        let letters = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
        prop_assert_eq!(letters(&parts.concat()), letters(&text));
        for part in parts {
            prop_assert!(part.encode_utf16().count() <= most.max(2));
        }
    }
}
