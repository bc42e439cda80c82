use proptest::prelude::*;

use super::super::{MatchStrictness, ReplaceRequest, replace_text};
use super::*;

fn told(text: &str, old: &str, new: &str) -> MismatchExplanation {
    explain_mismatch(text, &WantedText { old, new })
}

#[test]
fn the_nearest_block_is_shown_with_what_differs() {
    let mut text: String = (0..500).map(|n| format!("let value_{n} = {n};\n")).collect();
    text.push_str("fn connect() {\n    let timeout = 30;\n    retry(3);\n}\n");
    let nearest =
        told(&text, "fn connect() {\n    let timeout = 31;\n    retry(3);\n}", "").nearest;
    let nearest = nearest.expect("a block like it");
    assert_eq!(nearest.lines, LineSpan { first: 501, last: 504 });
    assert_eq!(nearest.text, "fn connect() {\n    let timeout = 30;\n    retry(3);\n}");
    assert_eq!(nearest.difference, "502|    let timeout = 3[-1-]{+0+};");
}

#[test]
fn a_text_within_a_line_is_no_matter_of_case() {
    let notes = told("x2y\nb\n", "2", "").notes;
    assert!(notes[0].starts_with("It is in line 1, but only as a part of it"), "{notes:?}");
    assert_eq!(notes.len(), 1);
    assert!(told("x2y\n2\n", "2", "").notes.is_empty(), "it is a line as well");
    let notes = told("a\nXY\n", "xy", "").notes;
    assert_eq!(notes, ["Line 2: only the letter case differs."]);
}

#[test]
fn a_file_that_is_too_large_is_told() {
    let line = "some line of text that is long enough to count\n";
    let text = line.repeat(MAX_SEARCHED_BYTES / line.len() + 2);
    assert!(told(&text, "sxme line", "").too_large);
    let small = told("a\nb\n", "zzz", "");
    assert!(!small.too_large && small.nearest.is_none());
}

#[test]
fn blocks_are_found_in_files_of_many_lines() {
    let text: String = (0..600_000).map(|n| format!("line {n}\n")).collect();
    let nearest = told(&text, "lime 599001\nlime 599002\nlime 599003\n", "").nearest;
    assert_eq!(nearest.expect("a block").lines, LineSpan { first: 599_002, last: 599_004 });
}

#[test]
fn the_text_that_is_shown_can_be_used_as_it_is() {
    let text = "fn a() {}\n\tlet x  = call(1,2);   \nfn b() {}\n";
    let nearest = told(text, "    let x = call(1, 2);", "").nearest.expect("a line like it");
    let request = ReplaceRequest {
        old: &nearest.text,
        new: "x",
        all: false,
        strictness: MatchStrictness::Strict,
    };
    assert!(replace_text(text, &request).is_ok(), "{nearest:?}");
}

#[test]
fn what_the_old_text_leaves_out_is_shown() {
    let text = "fn a() {\n    one();\n}\n\nfn b() {\n    one();\n    if two() {\n        three();\n    }\n    four();\n}\n\nfn c() {\n}\n";
    let shown = told(text, "fn b() {\n    // ...\n}", "fn b() {}");
    let nearest = shown.nearest.expect("the function");
    assert_eq!(nearest.lines, LineSpan { first: 5, last: 11 });
    assert!(text.contains(&nearest.text), "{nearest:?}");
    assert!(shown.notes[0].contains("omits lines"), "{:?}", shown.notes);
}

#[test]
fn what_belongs_to_the_message_is_told_from_the_text() {
    let notes = |old: &str| told("if a < b && c {\n}\n", old, "").notes.join(" ");
    assert!(notes("```rust\nif a < b && c {\n```").contains("code fence"));
    assert!(notes("if a &lt; b &amp;&amp; c {").contains("HTML"));
    assert!(!notes("if a &lt; b || c {").contains("HTML"), "it is not there either");
}

#[test]
fn a_misspelled_word_is_found_by_its_letters() {
    let text = "alpha\nconfiguration\nomega\n";
    let nearest = told(text, "confguration", "").nearest.expect("a line like it");
    assert_eq!(nearest.lines, LineSpan { first: 2, last: 2 });
    assert_eq!(nearest.difference, "2|conf{+i+}guration");
}

#[test]
fn strangers_have_no_nearest_block() {
    assert_eq!(told("alpha\nbeta\n", "zzzz qqqq", "").nearest, None);
    assert_eq!(told("", "anything", "").nearest, None);
}

#[test]
fn lines_that_one_side_lacks_are_named() {
    let text = "start of it\nsecond line here\nthird line here\nend of it\n";
    let nearest =
        told(text, "start of it\nthird line here\nend of it\n", "").nearest.expect("near");
    assert!(nearest.difference.contains("missing in the old text"), "{}", nearest.difference);
}

#[test]
fn what_usually_goes_wrong_is_said() {
    let text = "def f():\n    return \"x\"\n";
    let notes = |old: &str| told(text, old, "").notes.join(" ");
    assert!(notes("1|def f():\n2|    return \"x\"").contains("line numbers"));
    assert!(notes("DEF f():").contains("letter case"));
    assert!(notes("return  \"x\"").contains("spaces within"), "{}", notes("return  \"x\""));
    assert!(notes("return \\\"x\\\"").contains("backslashes"));
    assert!(notes("def f():\n    ...\n    return 1").contains("omits lines"));
    assert!(notes("\n\ndef f():").contains("leading and trailing whitespace"));
    assert_eq!(notes("return 2"), "");
}

#[test]
fn an_edit_that_was_made_before_is_recognised() {
    let text = "a\nlet total = 2;\nb\n";
    assert_eq!(
        told(text, "let total = 1;", "let total = 2;").already_applied,
        Some(LineSpan { first: 2, last: 2 })
    );
    assert_eq!(told(text, "x", "a").already_applied, None, "too little to be recognised");
    let short = "a\n    x = 2\nb = x = 2\n";
    assert_eq!(told(short, "x = 1", "x = 2").already_applied, Some(LineSpan { first: 2, last: 2 }));
    assert_eq!(told("b = x = 2\n", "x = 1", "x = 2").already_applied, None, "a part of a line");
}

#[test]
fn indentation_counts_for_the_nearest_block() {
    let text =
        "if a:\n        x = option_string\n        y()\nif b:\n    x = option_string\n    y()\n";
    let nearest = told(text, "    x = optiQn_string\n    y()", "").nearest.expect("a block");
    assert_eq!(nearest.lines, LineSpan { first: 5, last: 6 });
    assert_eq!(nearest.difference, "5|    x = opti[-Q-]{+o+}n_string");
    assert!(nearest.others.is_empty());
}

#[test]
fn the_nearest_of_many_is_found_wherever_it_is() {
    let mut text: String = (0..300).map(|n| format!("        value = option_{n:04}\n")).collect();
    text.push_str("    value = option_9999\n");
    let nearest = told(&text, "    value = option_9998", "").nearest.expect("a line");
    assert_eq!(nearest.text, "    value = option_9999");
}

#[test]
fn places_that_are_as_near_are_all_named() {
    let text = "def a():\n    timeout = 30\n\ndef b():\n    timeout = 30\n";
    let nearest = told(text, "    timeout = 31", "").nearest.expect("a line");
    assert_eq!((nearest.lines, nearest.is_alone), (LineSpan { first: 1, last: 2 }, true));
    assert_eq!(nearest.text, "def a():\n    timeout = 30");
    assert_eq!(nearest.others, [LineSpan { first: 5, last: 5 }]);
    assert_eq!(nearest.difference, "2|    timeout = 3[-1-]{+0+}");
    let nearest = told("t = 30\nt = 32\n", "t = 31", "").nearest.expect("a line");
    assert_eq!(nearest.others, [LineSpan { first: 2, last: 2 }]);
    let nearest = told(&"t = 30\n".repeat(500), "t = 31", "").nearest.expect("a line");
    assert!(!nearest.is_alone && !nearest.others.is_empty());
}

proptest! {
    /// The shown text can be sent unchanged, and is found at its lines.
    #[test]
    fn one_retry_succeeds(
        lines in prop::collection::vec(("[ ]{0,4}", "(x|yy|z = 1|call\\(\\)|)", any::<bool>()), 1..14),
        old in prop::collection::vec("[ ]{0,4}(x|yy|z = 2|cal\\(\\)|)", 1..4),
    ) {
        let ending = |crlf: bool| if crlf { "\r\n" } else { "\n" };
        let text: String = lines.iter().map(|(indent, line, crlf)| format!("{indent}{line}{}", ending(*crlf))).collect();
        let nearest = told(&text, &old.join("\n"), "").nearest;
        if let Some(nearest) = nearest.filter(|nearest| nearest.is_alone) {
            let request = ReplaceRequest { old: &nearest.text, new: "N", all: false, strictness: MatchStrictness::Relaxed };
            let found = replace_text(&text, &request);
            let mut found = found.expect("one place").lines[0];
            // A line break at its end belongs to the line before.
            found.last = found.last.max(nearest.lines.last);
            prop_assert_eq!(found, nearest.lines);
        }
    }

    /// No block differs in fewer characters than the reported one.
    #[test]
    fn no_block_is_nearer(
        lines in prop::collection::vec("[ ]{0,4}((foo|fop|x) = )?[a-c]{3,6}", 2..12),
        old in prop::collection::vec("[ ]{0,4}((foo|fop|x) = )?[a-c]{3,6}", 1..3),
    ) {
        let text = lines.join("\n");
        let old: Vec<&str> = old.iter().map(String::as_str).collect();
        let rows = LineTable::new(&text);
        let starts = (0..=lines.len() - old.len()).filter(|start| score(&rows, &old, *start) >= 0.25);
        let least = starts.map(|start| letter_distance(&rows, &old, (start, start + old.len()))).min();
        let named = most_similar(&rows, &old).first().map(|block| letter_distance(&rows, &old, *block));
        prop_assert!(least.is_none() || named.is_some_and(|named| Some(named) <= least), "{:?} {:?}: {:?} {:?}", text, old, named, least);
    }
}

proptest! {
    #[test]
    fn any_texts_can_be_explained(text in "[ab \n\r|.0-9é\"\\\\]{0,80}", old in "[ab \n|.0-9é\"\\\\]{0,20}", new in "[ab\n]{0,9}") {
        let explained = told(&text, &old, &new);
        if let Some(nearest) = explained.nearest {
            prop_assert!(nearest.lines.first >= 1 && nearest.lines.first <= nearest.lines.last);
        }
    }
}
