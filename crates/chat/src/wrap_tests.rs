use proptest::prelude::*;

use super::*;
use crate::row::BOLD_STYLE;

fn wrapped(text: &str, most: usize) -> Vec<String> {
    let spans = [StyledSpan { text: text.to_owned(), style: PLAIN_STYLE }];
    wrap(&spans, most, &RowIndent::default()).iter().map(StyledRow::text).collect()
}

#[test]
fn rows_break_at_spaces() {
    assert_eq!(wrapped("the quick brown fox", 10), ["the quick", "brown fox"]);
    assert_eq!(wrapped("", 10), [""]);
    assert_eq!(wrapped("one\n\ntwo", 10), ["one", "", "two"]);
    assert_eq!(wrapped("  indented text stays", 12), ["  indented", "text stays"]);
}

#[test]
fn a_long_word_is_broken_anywhere() {
    assert_eq!(wrapped("see abcdefghijkl now", 8), ["see", "abcdefgh", "ijkl now"]);
}

#[test]
fn ideographs_break_anywhere_but_before_a_full_stop() {
    assert_eq!(wrapped("世界你好。再见", 8), ["世界你", "好。再见"]);
    assert_eq!(wrapped("中文and英文", 6), ["中文", "and英", "文"]);
}

#[test]
fn a_mark_hangs_before_the_text() {
    let spans = [StyledSpan { text: "one two three".into(), style: BOLD_STYLE }];
    let rows = wrap(&spans, 9, &RowIndent::hanging(StyledRow::new("• ", PLAIN_STYLE)));
    let rows: Vec<String> = rows.iter().map(StyledRow::text).collect();
    assert_eq!(rows, ["• one two", "  three"]);
}

#[test]
fn lines_are_chopped_as_they_are() {
    let rows = hard_wrap("fn  main() {", 6, PLAIN_STYLE, &StyledRow::new("  ", PLAIN_STYLE));
    let rows: Vec<String> = rows.iter().map(StyledRow::text).collect();
    assert_eq!(rows, ["  fn  ", "  main", "  () {"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn nothing_is_lost_and_nothing_is_too_wide(
        text in "[a-z 世。\u{1f600}e\u{301}\n]{0,80}",
        most in 4usize..30,
    ) {
        let rows = wrapped(&text, most);
        prop_assert!(rows.iter().all(|row| width(row) <= most), "{rows:?}");
        let solid = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
        prop_assert_eq!(solid(&rows.concat()), solid(&text));
    }
}
