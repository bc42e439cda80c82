#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;

/// What Hermes Agent makes of a file.
fn read_elsewhere(text: &str) -> Vec<String> {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    text.split("\n§\n").map(strip).filter(|entry| !entry.is_empty()).map(str::to_owned).collect()
}

#[test]
fn entries_are_split_at_the_mark() {
    assert_eq!(parse("one\n§\ntwo\nlines\n§\n\n§\none\n"), ["one", "two\nlines"]);
    assert_eq!(parse(" \n"), [""; 0]);
    assert_eq!(parse("a § b\n§ \nc"), ["a § b\n§ \nc"]);
    assert_eq!(parse("one\r\n§\r\ntwo"), ["one", "two"]);
}

#[test]
fn an_entry_with_the_mark_survives() {
    let entries: Vec<String> =
        ["before\n§\nafter", "§", "§\nx", "x\n§", "\\§", "a\n\\\\§\nb"].map(str::to_owned).into();
    let text = join(&entries);
    assert_eq!(parse(&text), entries);
    assert_eq!(read_elsewhere(&text).len(), entries.len(), "{text}");
}

#[test]
fn wide_characters_take_twice_the_room() {
    assert_eq!(text_width("memory § —"), 10);
    assert_eq!(text_width("記憶"), 4);
    assert_eq!(list_width(&["a".into(), "記".into()]), 1 + 3 + 2);
}

#[test]
fn text_that_is_no_list_is_seen() {
    for list in ["", "\n", "one", "one\n§\ntwo\n", "a\r\n§\r\nb\r\n"] {
        assert!(is_list(list), "{list:?}");
    }
    for other in
        ["one\n§\n\n§\ntwo", "one\n§\n  two", "one\n§\ntwo\n\n§\nthree", "§\none", "one\n§"]
    {
        assert!(!is_list(other), "{other:?}");
    }
}

proptest! {
    #[test]
    fn whatever_is_written_is_read(entries in proptest::collection::vec("[a\\\\§\n\r 記]{0,12}", 0..6)) {
        let mut kept: Vec<String> = Vec::new();
        for entry in entries.iter().map(|entry| normalize_entry(entry)) {
            if !entry.is_empty() && !kept.contains(&entry) {
                kept.push(entry);
            }
        }
        let text = join(&kept);
        prop_assert_eq!(parse(&text), kept.clone());
        prop_assert!(is_list(&text));
        prop_assert_eq!(read_elsewhere(&text).len(), kept.len());
        prop_assert_eq!(text_width(&text), list_width(&kept));
    }
}
