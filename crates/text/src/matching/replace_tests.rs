use proptest::prelude::*;

use super::super::apply_edits;
use super::*;
use crate::matching::MatchStrategy;

fn ask<'a>(old: &'a str, new: &'a str) -> ReplaceRequest<'a> {
    ReplaceRequest { old, new, all: false, strictness: MatchStrictness::Relaxed }
}

fn done(text: &str, old: &str, new: &str) -> (String, MatchStrategy) {
    let made = replace_text(text, &ask(old, new)).expect("one place");
    (apply_edits(text, &made.edits), made.strategy)
}

fn refused(text: &str, old: &str, new: &str) -> ReplaceError {
    replace_text(text, &ask(old, new)).expect_err("no place")
}

#[test]
fn an_exact_place_is_found_anywhere_in_a_line() {
    let (text, strategy) = done("let a = 1;\nlet b = 2;\n", "b = 2", "b = 3");
    assert_eq!((text.as_str(), strategy), ("let a = 1;\nlet b = 3;\n", MatchStrategy::Exact));
}

#[test]
fn nothing_that_only_looks_like_it_is_found() {
    for (text, old) in [
        ("timeout = 30\n", "timeout = 31"),
        ("a()\nbeta(2)\nc()\n", "a()\nbeta(9)\nc()"),
        (
            "def f():\n    x = 1\n    y = 2\n    return x\n",
            "def f():\n    x = 1\n    z = 2\n    return x\n",
        ),
        ("first\nmiddle\nlast\n", "first\nother\nlast\n"),
        ("a b\n", "a  b"),
        ("if (x) {\n  y();\n}\n", "if (x) {\n  y()\n}"),
    ] {
        assert_eq!(refused(text, old, "changed"), ReplaceError::NotFound, "{old:?} in {text:?}");
    }
}

#[test]
fn line_endings_of_the_file_are_kept() {
    let (text, strategy) = done("a\r\nb\r\nc\r\n", "a\nb\n", "a\nx\ny\n");
    assert_eq!((text.as_str(), strategy), ("a\r\nx\r\ny\r\nc\r\n", MatchStrategy::LineEndings));
    let (text, _) = done("a\r\nb\r\n", "b", "b\nc");
    assert_eq!(text, "a\r\nb\r\nc\r\n");
    let (text, strategy) = done("a\nb\n", "a\r\nb", "a\r\nc");
    assert_eq!((text.as_str(), strategy), ("a\nc\n", MatchStrategy::LineEndings));
    let (text, _) = done("a\rb\rc\r", "b\nc", "x\ny");
    assert_eq!(text, "a\rx\ry\r");
}

#[test]
fn a_line_ending_is_never_cut_in_half() {
    let (text, strategy) = done("a\r\nb\r\n", "\nb", "c");
    assert_eq!((text.as_str(), strategy), ("ac\r\n", MatchStrategy::LineEndings));
    let (text, strategy) = done("a\r\nb\r\n", "b\r", "c");
    assert_eq!((text.as_str(), strategy), ("a\r\nc\r\n", MatchStrategy::TrailingWhitespace));
}

#[test]
fn mixed_endings_stay_mixed() {
    let (text, _) = done("a\r\nb\nc\r\nd\n", "b\nc\n", "b\nx\nc\n");
    assert_eq!(text, "a\r\nb\nx\nc\r\nd\n");
    let (text, _) = done("a\nb\r\nc\n", "b\nc", "b\nx\nc");
    assert_eq!(text, "a\nb\r\nx\r\nc\n");
}

#[test]
fn trailing_whitespace_is_forgiven_and_kept_where_nothing_changes() {
    let text = "def f():  \n    return 1\t\n\nend\n";
    let (changed, strategy) = done(text, "def f():\n    return 1\n", "def f():\n    return 2\n");
    assert_eq!(strategy, MatchStrategy::TrailingWhitespace);
    assert_eq!(changed, "def f():  \n    return 2\n\nend\n");
    let (changed, _) = done("a\nb", "b\n", "c\n");
    assert_eq!(changed, "a\nc", "a file without a final newline stays so");
    let (changed, _) = done("a\nb", "b\n", "b\nc\n");
    assert_eq!(changed, "a\nb\nc");
}

#[test]
fn trailing_whitespace_counts_for_whole_lines_only() {
    assert_eq!(refused("let total = 10;\n", "total = 1 \nx", "y"), ReplaceError::NotFound);
    assert_eq!(refused("total = 10  \n", "total = 1 ", "y"), ReplaceError::NotFound);
}

#[test]
fn look_alikes_are_forgiven_and_kept_where_nothing_changes() {
    let text = "say “hello” – it’s\nnext…\n";
    let (changed, strategy) =
        done(text, "say \"hello\" - it's\nnext...", "say \"hello\" - it's\nlast");
    assert_eq!(strategy, MatchStrategy::LookAlikes);
    assert_eq!(changed, "say “hello” – it’s\nlast\n");
    let (changed, _) = done("x = 1\u{A0}+ 2\n", "1 + 2", "3");
    assert_eq!(changed, "x = 3\n");
    let (changed, _) = done("print('a')\n", "print(‘a’)", "print('b')");
    assert_eq!(changed, "print('b')\n");
    assert_eq!(refused("wait…\n", "wait.", "x"), ReplaceError::NotFound, "half of a character");
    assert_eq!(refused("全角，\n", "全角,", "x"), ReplaceError::NotFound, "another character");
}

#[test]
fn look_alikes_stay_where_old_and_new_text_agree() {
    for (text, old, new, wanted) in [
        (
            "Wait for it…and done\n",
            "for it...and done",
            "for it...and over",
            "Wait for it…and over\n",
        ),
        ("a \u{2212} b = c\n", "a - b = c", "a - b = d", "a \u{2212} b = d\n"),
        ("x\u{3000}y z\n", "x y z", "x y w", "x\u{3000}y w\n"),
        ("“one”\n“two”\n", "\"one\"\n\"two\"", "\"one\"!\n\"six\"", "“one”!\n“six”\n"),
        // What the new text changes is written as given.
        ("say “hi”…\n", "say \"hi\"...", "say 'hi'...", "say 'hi'…\n"),
        ("wait… now—\n", "wait… now-", "wait... now-", "wait... now—\n"),
        // A file with ASCII characters keeps them as well.
        ("say \"hi\" now\n", "say “hi” now", "say “hi” then", "say \"hi\" then\n"),
    ] {
        let (changed, strategy) = done(text, old, new);
        assert_eq!((changed.as_str(), strategy), (wanted, MatchStrategy::LookAlikes));
    }
}

#[test]
fn two_dashes_are_a_long_dash_and_nothing_else() {
    for (text, old, new, wanted) in [
        ("run — stop\nrest\n", "run -- stop", "run -- halt", "run — halt\nrest\n"),
        ("run — stop  \nrest\n", "run -- stop\nrest", "run -- stop\nlast", "run — stop  \nlast\n"),
        ("a – b — c\n", "a - b -- c", "a - b -- d", "a – b — d\n"),
        ("run -- stop é\n", "run — stop é", "run — halt é", "run -- halt é\n"),
    ] {
        let (changed, strategy) = done(text, old, new);
        assert_eq!((changed.as_str(), strategy), (wanted, MatchStrategy::LookAlikes));
    }
    for text in ["é\nrun - stop\nrest\n", "é\nrun – stop\nrest\n", "é\nrun --- stop\nrest\n"] {
        assert_eq!(refused(text, "run -- stop", "x"), ReplaceError::NotFound, "{text}");
        assert_eq!(refused(text, "run -- stop\nrest", "x"), ReplaceError::NotFound, "{text}");
    }
}

#[test]
fn a_uniform_indent_is_shifted_with_the_new_text() {
    let text = "class A:\n    def f(self):\n        return 1\n";
    let (changed, strategy) = done(
        text,
        "def f(self):\n    return 1\n",
        "def f(self):\n    if self:\n        return 2\n",
    );
    assert_eq!(strategy, MatchStrategy::IndentShift);
    assert_eq!(changed, "class A:\n    def f(self):\n        if self:\n            return 2\n");
    let (changed, _) = done("f()\ng()\n", "    f()\n    g()\n", "    f()\n    h()\n");
    assert_eq!(changed, "f()\nh()\n");
    let (changed, _) = done("\tf()\n\t\tg()\n", "  f()\n    g()", "  f()\n    h()\n\n  i()");
    assert_eq!(changed, "\tf()\n\t\th()\n\n\ti()\n");
    let (changed, _) = done("    f()\n        g()\n", "\tf()\n\t\tg()", "\tf()\n\t\t\th()");
    assert_eq!(changed, "    f()\n            h()\n");
}

#[test]
fn an_uneven_indent_is_no_shift() {
    let text = "if a:\n    b()\n    c()\n";
    assert_eq!(refused(text, "if a:\n    b()\nc()\n", "x"), ReplaceError::NotFound);
    assert_eq!(refused("a\n  b\n", " a\n b\n", "x"), ReplaceError::NotFound);
}

#[test]
fn indentation_is_never_doubled() {
    let text = "class A:\n    def f(self):\n        return 1\n";
    let new = "    def f(self):\n        return 2\n";
    let ReplaceError::Unclear { strategy, lines, reason } =
        refused(text, "def f(self):\n    return 1\n", new)
    else {
        panic!("the new text has the file's indentation already")
    };
    assert_eq!((strategy, lines), (MatchStrategy::IndentShift, LineSpan { first: 2, last: 3 }));
    assert!(reason.contains("twice"), "{reason}");
    let made = replace_text(text, &ask("return 1", "        return 2")).expect("exact");
    assert!(made.warnings.iter().any(|w| w.contains("indented by both")), "{:?}", made.warnings);
}

#[test]
fn a_new_line_that_cannot_be_shifted_is_refused() {
    let refusal = refused("f()\ng()\n", "    f()\n    g()\n", "    f()\nh()\n");
    assert!(matches!(refusal, ReplaceError::Unclear { .. }), "{refusal:?}");
}

#[test]
fn escaped_newlines_are_read_only_where_it_is_clear() {
    let text = "a = 1\nb = 2\n";
    let (changed, strategy) = done(text, "a = 1\\nb = 2", "a = 3");
    assert_eq!((changed.as_str(), strategy), ("a = 3\n", MatchStrategy::EscapedNewlines));
    let refusal = refused(text, "a = 1\\nb = 2", "a = 1\\nb = 3");
    assert!(
        matches!(refusal, ReplaceError::Unclear { .. }),
        "a literal \\n is not written: {refusal:?}"
    );
    let (changed, strategy) = done("print(\"a\\n\")\n", "\"a\\n\"", "\"b\\n\"");
    assert_eq!((changed.as_str(), strategy), ("print(\"b\\n\")\n", MatchStrategy::Exact));
}

#[test]
fn a_line_that_says_backslash_n_is_found_as_it_stands() {
    let (changed, strategy) = done("\\n\r\n", "\\n ", "new");
    assert_eq!((changed.as_str(), strategy), ("new\r\n", MatchStrategy::TrailingWhitespace));
}

#[test]
fn the_new_text_is_never_unescaped_or_escaped() {
    let (changed, _) = done("path\n", "path", r"C:\reports\new\table \\ \' \t");
    assert_eq!(changed, "C:\\reports\\new\\table \\\\ \\' \\t\n");
    let (changed, _) = done("x  \ny\n", "x\ny\n", "C:\\run\\next\ny\n");
    assert_eq!(changed, "C:\\run\\next\ny\n");
}

#[test]
fn several_places_are_named() {
    let ReplaceError::Ambiguous { strategy, places, more } = refused("a\nb\na\n", "a", "x") else {
        panic!("two places")
    };
    let line = |n| LineSpan { first: n, last: n };
    assert_eq!((strategy, places, more), (MatchStrategy::Exact, vec![line(1), line(3)], false));
    let refusal = refused("aaa\n", "aa", "x");
    assert!(matches!(refusal, ReplaceError::Ambiguous { .. }), "places may overlap: {refusal:?}");
    let refusal = refused("  a\n  b\n\n    a\n    b\n", "a\nb\n", "x\n");
    assert!(matches!(
        refusal,
        ReplaceError::Ambiguous { strategy: MatchStrategy::IndentShift, .. }
    ));
    let ReplaceError::Ambiguous { places, more, .. } = refused(&"a\n".repeat(1000), "a", "x")
    else {
        panic!("many places")
    };
    assert_eq!((places.len(), more), (MAX_LISTED_PLACES, true));
}

#[test]
fn overlapping_lines_are_replaced_from_left_to_right() {
    let request = ReplaceRequest { all: true, ..ask("a\na", "b") };
    let text = "a \na \na \n";
    let made = replace_text(text, &request).expect("places");
    assert_eq!(made.strategy, MatchStrategy::TrailingWhitespace);
    assert_eq!(made.lines.len(), 1);
    assert_eq!(apply_edits(text, &made.edits), "b\na \n");
}

#[test]
fn a_place_inside_of_a_longer_name_is_warned_of() {
    let request = ReplaceRequest { all: true, ..ask("id", "key") };
    let made = replace_text("id = width\nid\n", &request).expect("places");
    assert_eq!(made.lines.len(), 3);
    assert_eq!(made.warnings.len(), 1);
    assert!(
        made.warnings[0].contains("'width'") && made.warnings[0].contains("line 1"),
        "{:?}",
        made.warnings
    );
    let made = replace_text("id = 1\n(id)\n", &request).expect("places");
    assert!(made.warnings.is_empty(), "{:?}", made.warnings);
}

#[test]
fn a_line_that_stands_for_others_is_warned_of() {
    let warnings = |old: &str, new: &str| {
        replace_text("a\n# ...\nb\n", &ask(old, new)).expect("there").warnings
    };
    let shown = warnings("b", "b\n// ... existing code ...");
    assert!(shown[0].contains("'// ... existing code ...'"), "{shown:?}");
    assert!(warnings("b", "def f():\n    ...").is_empty(), "dots alone may be meant");
    assert!(warnings("a\n# ...\nb", "c\n# ...\nb").is_empty());
}

#[test]
fn a_line_that_is_joined_is_warned_of() {
    let made = replace_text("a\nb\n", &ask("a\n", "x")).expect("there");
    assert!(made.warnings[0].contains("line 2 is joined"), "{:?}", made.warnings);
    assert!(replace_text("a\nb\n", &ask("a\n", "")).expect("there").warnings.is_empty());
    assert!(replace_text("a\n", &ask("a\n", "x")).expect("there").warnings.is_empty());
}

#[test]
fn brackets_alone_are_not_known_at_another_depth() {
    assert_eq!(refused("if a {\n  b\n}\n", "    }\n", "    }\n    c\n"), ReplaceError::NotFound);
}

#[test]
fn senseless_requests_are_told_apart() {
    assert_eq!(refused("a", "", "b"), ReplaceError::EmptyOld);
    assert_eq!(refused("a", "a", "a"), ReplaceError::Identical);
    assert_eq!(refused("a\r\n", "a\r\n", "a\n"), ReplaceError::OnlyEndingsDiffer);
    assert_eq!(refused("", "a", "b"), ReplaceError::NotFound);
}

#[test]
fn strict_means_exact() {
    let strict = |text, old| {
        replace_text(text, &ReplaceRequest { strictness: MatchStrictness::Strict, ..ask(old, "x") })
    };
    assert!(strict("a\nb\n", "a\nb").is_ok());
    assert_eq!(strict("a\r\nb\r\n", "a\nb").expect_err("relaxed"), ReplaceError::NotFound);
    assert_eq!(strict("a  \nb\n", "a\nb").expect_err("relaxed"), ReplaceError::NotFound);
}

#[test]
fn hostile_texts_are_answered() {
    let long = "a".repeat(2_000_000);
    assert!(replace_text(&long, &ask("ab", "x")).is_err());
    let every = ReplaceRequest { all: true, ..ask("a", "x") };
    assert_eq!(replace_text(&long, &every).expect_err("millions"), ReplaceError::TooMany);
    let dots = "…".repeat(200_000);
    assert!(replace_text(&dots, &ask(&format!("{}…", ".".repeat(100_000)), "x")).is_err());
    let returns = "\r\n".repeat(200_000);
    assert!(replace_text(&returns, &ask(&format!("{}x", "\n\r".repeat(50_000)), "x")).is_err());
    let repeated = "x\n".repeat(40_000);
    let block = format!("{}y\n", "  x\n".repeat(20_000));
    assert!(replace_text(&repeated, &ask(&block, "z")).is_err());
    let block = "  x\n".repeat(20_000);
    assert!(replace_text(&repeated, &ask(&block, "z")).is_err());
}

fn piece() -> impl proptest::strategy::Strategy<Value = String> {
    prop::collection::vec(
        prop::sample::select(vec![
            "a", "b", "\n", " ", "  ", "\t", "“", "\"", "-", "–", "\r\n", "é", "\\n",
        ]),
        0..12,
    )
    .prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn all_exact_places_are_those_of_the_standard_library(
        head in "[ab\n ]{0,20}", old in "[ab\n ]{1,4}", tail in "[ab\n ]{0,20}", new in "[abc\n ]{0,4}",
    ) {
        prop_assume!(old != new);
        let text = format!("{head}{old}{tail}");
        let request = ReplaceRequest { all: true, ..ask(&old, &new) };
        let made = replace_text(&text, &request).expect("there");
        prop_assert_eq!(made.strategy, MatchStrategy::Exact);
        prop_assert_eq!(apply_edits(&text, &made.edits), text.replace(&old, &new));
        prop_assert_eq!(made.lines.len(), text.matches(&old).count());
    }

    #[test]
    fn a_single_exact_place_is_replaced_and_nothing_else(head in "[a-c\n]{0,20}", old in "[x-z\n]{0,6}X[x-z\n]{0,6}", new in "[x-z\n]{0,9}", tail in "[a-c\n]{0,20}") {
        let text = format!("{head}{old}{tail}");
        let made = replace_text(&text, &ask(&old, &new)).expect("there");
        prop_assert_eq!(apply_edits(&text, &made.edits), format!("{head}{new}{tail}"));
    }

    #[test]
    fn line_feeds_and_carriage_returns_make_no_difference(
        text in "[ab \n]{0,30}", old in "[ab \n]{1,6}", new in "[abc \n]{0,6}", all: bool,
    ) {
        let request = ReplaceRequest { all, ..ask(&old, &new) };
        let returns = text.replace('\n', "\r\n");
        match (replace_text(&text, &request), replace_text(&returns, &request)) {
            (Ok(plain), Ok(made)) => {
                prop_assert_eq!(&plain.lines, &made.lines);
                let expected = apply_edits(&text, &plain.edits);
                // A new text gets the ending of the lines around it, if there are any.
                if text.contains('\n') {
                    prop_assert_eq!(apply_edits(&returns, &made.edits), expected.replace('\n', "\r\n"));
                }
            }
            (Err(plain), Err(made)) => prop_assert_eq!(
                std::mem::discriminant(&plain), std::mem::discriminant(&made)
            ),
            (plain, made) => return Err(TestCaseError::fail(format!("{plain:?} {made:?}"))),
        }
    }

    #[test]
    fn edits_stay_inside_of_the_reported_places(text in piece(), old in piece(), new in piece(), all: bool) {
        let request = ReplaceRequest { old: &old, new: &new, all, strictness: MatchStrictness::Relaxed };
        if let Ok(made) = replace_text(&text, &request) {
            let mut last = 0;
            for edit in &made.edits {
                prop_assert!(edit.range.start >= last && edit.range.end <= text.len());
                prop_assert!(text.is_char_boundary(edit.range.start) && text.is_char_boundary(edit.range.end));
                prop_assert!(made.places.iter().any(|p| p.before.start <= edit.range.start && edit.range.end <= p.before.end));
                last = edit.range.end;
            }
            prop_assert!(all || made.lines.len() == 1);
        }
    }

    #[test]
    fn a_relaxed_place_agrees_in_every_line(text in piece(), old in piece()) {
        if let Ok(made) = replace_text(&text, &ask(&old, "new")) {
            let bare = |text: &str| -> Vec<String> {
                let text = text.replace("\r\n", "\n").replace(['“', '”'], "\"").replace('–', "-");
                let mut lines: Vec<String> = text.split('\n').map(|line| line.trim().to_owned()).collect();
                // One line ending more or less is not a line.
                lines.truncate(lines.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1));
                lines
            };
            // `\n` counts as a line ending only for this strategy, and only in the old text.
            let meant = match made.strategy {
                MatchStrategy::EscapedNewlines => old.replace("\\n", "\n"),
                _ => old,
            };
            let place = made.places[0].before.clone();
            prop_assert_eq!(bare(&text[place]), bare(&meant), "{:?}", made.strategy);
        }
    }

    #[test]
    fn a_shifted_block_is_found_and_shifted_back(lines in prop::collection::vec(("[ ]{0,4}", "[a-e]{1,3}"), 1..6), shift in "[ ]{1,4}|\t{1,2}", at in 0_usize..6) {
        let block: Vec<String> = lines.iter().map(|(indent, word)| format!("{indent}{word}")).collect();
        let shifted: String = block.iter().map(|line| format!("{shift}{line}\n")).collect();
        let text = format!("start\n{shifted}end\n");
        let old = format!("{}\n", block.join("\n"));
        let mut wanted = block.clone();
        let at = at.min(wanted.len());
        // Shallow enough that it does not count as already shifted.
        wanted.insert(at, "NEW".to_owned());
        let new = format!("{}\n", wanted.join("\n"));
        prop_assume!(!text.contains(&old));
        match replace_text(&text, &ask(&old, &new)) {
            Ok(made) => {
                prop_assert_eq!(made.strategy, MatchStrategy::IndentShift);
                let expected: String = wanted.iter().map(|line| format!("{shift}{line}\n")).collect();
                prop_assert_eq!(apply_edits(&text, &made.edits), format!("start\n{expected}end\n"));
            }
            Err(refusal) => prop_assert!(matches!(refusal, ReplaceError::Unclear { .. }), "{:?}", refusal),
        }
    }
}

#[test]
fn a_line_that_is_joined_to_the_new_text_is_among_its_lines() {
    let lines = |text: &str, old: &str, new: &str| {
        let made = replace_text(text, &ask(old, new)).expect("one place");
        (made.lines[0].first, made.lines[0].last)
    };
    assert_eq!(lines("a\nb\nc\n", "a\n", "x\ny"), (1, 2));
    assert_eq!(lines("a\nb\nc\n", "a\n", "x\ny\n"), (1, 1));
    assert_eq!(lines("a\nb\nc\n", "\nb\n", "X\nY"), (1, 3));
    assert_eq!(lines("a\nb\nc\n", "b\n", ""), (2, 2));
    assert_eq!(lines("a\nb\nc\n", "c\n", "x"), (3, 3));
    assert_eq!(lines("a\r\nb\r\n", "a\n", "x"), (1, 2));
}

#[test]
fn lines_that_differ_in_endings_are_the_same_place() {
    let line = |first, last| LineSpan { first, last };
    let text = "foo\r\nbar\r\nfoo\nend\n";
    let all = ReplaceRequest { all: true, ..ask("foo\n", "X\n") };
    let made = replace_text(text, &all).expect("two places");
    assert_eq!(apply_edits(text, &made.edits), "X\r\nbar\r\nX\nend\n");
    assert_eq!((made.strategy, made.lines.len()), (MatchStrategy::LineEndings, 2));
    let ambiguous = |text: &str, old: &str| match refused(text, old, "X") {
        ReplaceError::Ambiguous { places, strategy, .. } => (strategy, places),
        other => panic!("{other:?}"),
    };
    let both = (MatchStrategy::LineEndings, vec![line(1, 1), line(3, 3)]);
    assert_eq!(ambiguous(text, "foo\n"), both);
    let text = "foo\r\nbar\r\nz\nfoo\nbar\nend\n";
    let both = (MatchStrategy::LineEndings, vec![line(1, 2), line(4, 5)]);
    assert_eq!(ambiguous(text, "foo\nbar"), both);
    let text = "  a\r\nb\t\r\nb\t\nc\n";
    let both = (MatchStrategy::EscapedNewlines, vec![line(2, 2), line(3, 3)]);
    assert_eq!(ambiguous(text, "b\\t\n"), both);
    // If every occurrence matches exactly, the strategy is exact.
    let (_, strategy) = done("foo\r\nbar\nend\n", "bar\n", "X\n");
    assert_eq!(strategy, MatchStrategy::Exact);
}

#[test]
fn carriage_returns_of_the_old_text_choose_among_endings() {
    let text = "foo\r\nbar\r\nfoo\nend\n";
    let made = replace_text(text, &ask("foo\r\n", "X\r\n")).expect("one place");
    assert_eq!(
        (apply_edits(text, &made.edits).as_str(), made.strategy),
        ("X\r\nbar\r\nfoo\nend\n", MatchStrategy::Exact)
    );
    assert!(made.warnings[0].contains("occur once more"), "{:?}", made.warnings);
    let made = replace_text(text, &ask("bar\r\n", "X\r\n")).expect("one place");
    assert!(made.warnings.is_empty(), "{:?}", made.warnings);
    // If the exact endings occur nowhere, any ending matches.
    let refusal = refused("foo\nbar\nfoo\n", "foo\r\n", "X");
    assert!(matches!(refusal, ReplaceError::Ambiguous { .. }), "{refusal:?}");
    let strict = ReplaceRequest { strictness: MatchStrictness::Strict, ..ask("foo\n", "X\n") };
    let made = replace_text(text, &strict).expect("one place");
    assert_eq!(apply_edits(text, &made.edits), "foo\r\nbar\r\nX\nend\n");
}

#[test]
fn escaped_newlines_forgive_nothing_else() {
    assert_eq!(refused("b\n", "b\\t\n", "x\n"), ReplaceError::NotFound);
    assert_eq!(refused("a \nb\n", "a\\nb", "x"), ReplaceError::NotFound);
    assert_eq!(refused("a\n", "\\n", ""), ReplaceError::NotFound);
    assert_eq!(refused("a\tb\n", "\\t", ""), ReplaceError::NotFound);
}

#[test]
fn deeper_lines_are_shifted_by_the_tabs_of_the_file() {
    let text = "if a:\n\tfoo()\n\tbar()\n";
    let old = "    foo()\n    bar()";
    let made = replace_text(text, &ask(old, "    foo()\n    if b:\n        bar()")).expect("there");
    assert_eq!(apply_edits(text, &made.edits), "if a:\n\tfoo()\n\tif b:\n\t\tbar()\n");
    assert!(made.warnings.is_empty(), "{:?}", made.warnings);
    let text = "if a:\n    foo()\n    bar()\n";
    let (changed, _) = done(text, "\tfoo()\n\tbar()", "\tfoo()\n\tif b:\n\t\tbar()");
    assert_eq!(changed, "if a:\n    foo()\n    if b:\n        bar()\n");
}

#[test]
fn tabs_and_blanks_at_once_are_warned_of() {
    let text = "if a:\n\tfoo()\n\tbar()\n";
    let made =
        replace_text(text, &ask("foo()\nbar()\n", "foo()\nif b:\n    bar()\n")).expect("there");
    assert_eq!(made.strategy, MatchStrategy::IndentShift);
    assert!(made.warnings[0].contains("'bar()'"), "{:?}", made.warnings);
}

#[test]
fn an_empty_line_that_stays_is_as_the_file_has_it() {
    let (changed, _) = done("x:\n    a\n\t\n    b\n", "a\n\nb", "c\n\nd");
    assert_eq!(changed, "x:\n    c\n\t\n    d\n");
    let (changed, _) = done("x:\n    a\n\t\n    b\n", "a\n\nb", "c\n\n\nd");
    assert_eq!(changed, "x:\n    c\n\t\n\n    d\n", "a new one is as it was given");
}

/// Whether the texts are equal outside of these lines.
pub(in crate::matching) fn delimited(old: &str, new: &str, lines: &[(LineSpan, LineSpan)]) -> bool {
    let rows = |text: &str| text.split_inclusive('\n').map(str::to_owned).collect::<Vec<String>>();
    let (old, new) = (rows(old), rows(new));
    // Places in one line share it.
    let mut merged: Vec<(LineSpan, LineSpan)> = Vec::new();
    let mut lines = lines.to_vec();
    lines.sort();
    for (before, after) in lines {
        match merged.last_mut() {
            Some((b, a)) if before.first <= b.last || after.first <= a.last => {
                (b.last, a.last) = (b.last.max(before.last), a.last.max(after.last));
                (b.first, a.first) = (b.first.min(before.first), a.first.min(after.first));
            }
            _ => merged.push((before, after)),
        }
    }
    let (mut at_old, mut at_new) = (0, 0);
    for (before, after) in merged {
        let same = old.get(at_old..before.first - 1) == new.get(at_new..after.first - 1);
        if !same || before.last + 1 < before.first || after.last + 1 < after.first {
            return false;
        }
        (at_old, at_new) = (before.last, after.last);
    }
    old.get(at_old..).is_some() && old.get(at_old..) == new.get(at_new..)
}

#[test]
fn lines_that_go_leave_none_behind() {
    let lines = |text: &str, old: &str, new: &str| {
        let made = replace_text(text, &ask(old, new)).expect("one place");
        let (before, after) = (made.lines[0], made.after[0]);
        ([before.first, before.last], [after.first, after.last])
    };
    assert_eq!(lines("a\nb\nc\n", "b\n", ""), ([2, 2], [2, 1]));
    assert_eq!(lines("a\nb\nc\n", "\nb", ""), ([1, 2], [1, 1]));
    assert_eq!(lines("a\nb\nc\n", "a\nb\nc\n", ""), ([1, 3], [1, 0]));
    assert_eq!(lines("a\nb", "b", ""), ([2, 2], [2, 1]));
    assert_eq!(lines("a\n\nb\n", "a\n\n", "x\n\n"), ([1, 2], [1, 2]));
}

proptest! {
    #[test]
    fn the_lines_of_a_replacement_delimit_what_changed(
        text in "([ab ]|\n|\r\n){0,24}", old in "([ab ]|\n|\\\\n){1,5}", new in "([abc ]|\n){0,5}", all: bool,
    ) {
        if let Ok(made) = replace_text(&text, &ReplaceRequest { all, ..ask(&old, &new) }) {
            let changed = apply_edits(&text, &made.edits);
            let lines: Vec<(LineSpan, LineSpan)> = made.lines.iter().copied().zip(made.after.iter().copied()).collect();
            prop_assert!(delimited(&text, &changed, &lines), "{:?} to {:?}: {:?}", text, changed, lines);
            prop_assert_eq!(MovedRange::lines(&made.places, &text, &changed), lines);
        }
    }

    #[test]
    fn endings_of_a_mixed_text_make_no_difference(
        lines in prop::collection::vec(("[ab]{0,2}", any::<bool>()), 0..8), old in "([ab]|\n){1,5}", all: bool,
    ) {
        let plain: String = lines.iter().map(|(line, _)| format!("{line}\n")).collect();
        let mixed: String = lines.iter().map(|(line, crlf)| format!("{line}{}", if *crlf { "\r\n" } else { "\n" })).collect();
        let request = ReplaceRequest { all, ..ask(&old, "X") };
        match (replace_text(&plain, &request), replace_text(&mixed, &request)) {
            (Ok(plain), Ok(mixed)) => prop_assert_eq!((plain.lines, plain.after), (mixed.lines, mixed.after)),
            (Err(plain), Err(mixed)) => prop_assert_eq!(std::mem::discriminant(&plain), std::mem::discriminant(&mixed)),
            (plain, mixed) => return Err(TestCaseError::fail(format!("{plain:?} {mixed:?}"))),
        }
    }
}
