use proptest::prelude::*;

use super::super::{MatchStrictness, ReplaceRequest, replace_text};
use super::*;

fn told(text: &str, first: usize, last: usize) -> (usize, usize, bool) {
    let made = unique_contexts(text, &[LineSpan { first, last }])[0];
    (made.lines.first, made.lines.last, made.is_unique)
}

#[test]
fn a_place_is_told_by_the_fewest_lines_around_it() {
    let text = "def a():\n    timeout = 30\n\ndef b():\n    timeout = 30\n";
    assert_eq!(told(text, 2, 2), (1, 2, true));
    assert_eq!(told(text, 5, 5), (4, 5, true));
    assert_eq!(told("a\nb\n", 1, 1), (1, 1, true));
    assert_eq!(told("x\r\na\r\ny\na\nz\n", 2, 2), (1, 2, true));
}

#[test]
fn a_part_of_another_line_is_another_place() {
    assert_eq!(told("t = 300\nx\nt = 30\n", 3, 3), (2, 3, true));
    let made = unique_contexts("t = 300\nx\nt = 30\n", &[LineSpan { first: 3, last: 3 }])[0];
    assert_eq!(made.occurrences, 2);
}

#[test]
fn what_cannot_be_told_apart_is_said() {
    let text = "x\n".repeat(1000);
    assert_eq!(told(&text, 500, 500), (500, 500, false));
    assert_eq!(told(&"x\n".repeat(100_000), 7, 7), (7, 7, false));
    assert_eq!(told("\n", 1, 1), (1, 1, false));
    assert_eq!(told("a\n\nb\n", 2, 2), (1, 2, true), "an empty line alone is nothing to look for");
}

proptest! {
    #[test]
    fn what_is_told_apart_is_found_there(text in "([ab ]|\n|\r\n){1,40}", at in any::<prop::sample::Index>()) {
        let count = LineTable::new(&text).len();
        let line = at.index(count) + 1;
        let made = unique_contexts(&text, &[LineSpan { first: line, last: line }])[0];
        if made.is_unique {
            let plain = text.replace("\r\n", "\n");
            let lines: Vec<&str> = plain.lines().skip(made.lines.first - 1).take(made.lines.last + 1 - made.lines.first).collect();
            let old = lines.join("\n");
            let request = ReplaceRequest { old: &old, new: "Z", all: false, strictness: MatchStrictness::Relaxed };
            let found = replace_text(&text, &request);
            prop_assert_eq!(found.expect("one place").lines, [made.lines]);
        }
    }
}
