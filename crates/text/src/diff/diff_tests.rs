use proptest::prelude::*;

use super::*;

/// What a plain reading of the diff makes of the old text.
fn apply(old: &str, diff: &str) -> String {
    let mut left = old.split_inclusive('\n').collect::<Vec<_>>().into_iter();
    let mut done = 0;
    let mut new = String::new();
    let mut lines = diff.split_inclusive('\n').skip(2).peekable();
    // Lines of the hunk that are still to come, by its own word.
    let (mut old_left, mut new_left) = (0, 0);
    while let Some(line) = lines.next() {
        let body = line.get(1..).expect("a sign");
        let is_open = lines.peek().is_some_and(|next| next.starts_with('\\'));
        let body = if is_open { body.strip_suffix('\n').expect("its line feed") } else { body };
        match line.as_bytes()[0] {
            b'@' => {
                assert_eq!((old_left, new_left), (0, 0), "the hunk before is whole");
                let range = |at: usize| {
                    let range = &line.split(' ').nth(at).expect("a range")[1..];
                    let (start, count) = range.split_once(',').unwrap_or((range, "1"));
                    let count: usize = count.parse().expect("a number");
                    (start.parse::<usize>().expect("a number") - count.min(1), count)
                };
                let (start, new_start);
                ((start, old_left), (new_start, new_left)) = (range(1), range(2));
                new.extend(left.by_ref().take(start - done));
                assert_eq!(new.split_inclusive('\n').count(), new_start);
                done = start;
            }
            b' ' => {
                old_left -= 1;
                new_left -= 1;
                assert_eq!(left.next(), Some(body));
                new.push_str(body);
                done += 1;
            }
            b'-' => {
                old_left -= 1;
                assert_eq!(left.next(), Some(body));
                done += 1;
            }
            b'+' => {
                new_left -= 1;
                new.push_str(body);
            }
            b'\\' => assert_eq!(line, "\\ No newline at end of file\n"),
            other => panic!("an unknown sign {other}: {line:?}"),
        }
    }
    assert_eq!((old_left, new_left), (0, 0), "the last hunk is whole");
    new.extend(left);
    new
}

fn diff(old: &str, new: &str) -> String {
    unified_diff(old, new, "a", "b", 3)
}

#[test]
fn equal_texts_have_no_diff() {
    assert_eq!(diff("a\n", "a\n"), "");
    assert_eq!(diff("", ""), "");
    assert_eq!(word_diff("a\n", "a\n"), "");
}

#[test]
fn changes_come_with_their_surroundings() {
    let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
    let new = "1\n2\n3\n4\nfive\n6\n7\n8\n9\n";
    assert_eq!(
        diff(old, new),
        "--- a\n+++ b\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n"
    );
    assert_eq!(unified_diff(old, new, "a", "b", 0), "--- a\n+++ b\n@@ -5 +5 @@\n-5\n+five\n");
}

#[test]
fn near_changes_share_a_hunk_and_far_ones_do_not() {
    let old: String = (1..=30).map(|line| format!("{line}\n")).collect();
    let near = old.replace("\n10\n", "\nten\n").replace("\n17\n", "\n");
    assert_eq!(diff(&old, &near).matches("@@ -").count(), 1);
    let far = old.replace("\n10\n", "\nten\n").replace("\n18\n", "\n");
    assert_eq!(diff(&old, &far).matches("@@ -").count(), 2);
    assert!(diff(&old, &far).contains("@@ -15,7 +15,6 @@\n 15\n 16\n 17\n-18\n 19\n"));
}

#[test]
fn all_new_and_all_gone() {
    assert_eq!(diff("", "a\nb\n"), "--- a\n+++ b\n@@ -0,0 +1,2 @@\n+a\n+b\n");
    assert_eq!(diff("a\n", ""), "--- a\n+++ b\n@@ -1 +0,0 @@\n-a\n");
}

#[test]
fn a_carriage_return_at_the_end_is_no_line_feed() {
    let none = "\\ No newline at end of file\n";
    let one = "--- a\n+++ b\n@@ -1 +1 @@\n";
    assert_eq!(diff("x\r", "x\r\n"), format!("{one}-x\r\n{none}+x\r\n"));
    assert_eq!(diff("x\r\n", "x\r"), format!("{one}-x\r\n+x\r\n{none}"));
    assert_eq!(
        diff("a\nb\r", "a\nb"),
        format!("--- a\n+++ b\n@@ -1,2 +1,2 @@\n a\n-b\r\n{none}+b\n{none}")
    );
    assert_eq!(
        diff("a\nb\r", "c\nb\r"),
        format!("--- a\n+++ b\n@@ -1,2 +1,2 @@\n-a\n+c\n b\r\n{none}")
    );
    assert_eq!(diff("x\r", "x\ry\r"), format!("{one}-x\r\n{none}+x\ry\r\n{none}"));
}

#[test]
fn names_with_blanks_are_closed_by_a_tab_as_by_git() {
    assert!(
        unified_diff("a\n", "b\n", "a/h ", "b/h i", 3).starts_with("--- a/h \t\n+++ b/h i\t\n@@")
    );
    assert!(
        unified_diff("a\n", "b\n", "a/h", "b/\"h i", 3)
            .starts_with("--- a/h\n+++ \"b/\\\"h i\"\n@@")
    );
}

#[test]
fn a_missing_last_line_feed_is_told_on_its_own_side() {
    let none = "\\ No newline at end of file\n";
    assert_eq!(
        diff("a\nb", "a\nb\n"),
        format!("--- a\n+++ b\n@@ -1,2 +1,2 @@\n a\n-b\n{none}+b\n")
    );
    assert_eq!(
        diff("a\nb\n", "a\nb"),
        format!("--- a\n+++ b\n@@ -1,2 +1,2 @@\n a\n-b\n+b\n{none}")
    );
    assert_eq!(diff("a\nb", "c\nb"), format!("--- a\n+++ b\n@@ -1,2 +1,2 @@\n-a\n+c\n b\n{none}"));
    assert_eq!(
        diff("x", "50%\r100%"),
        format!("--- a\n+++ b\n@@ -1 +1 @@\n-x\n{none}+50%\r100%\n{none}")
    );
    assert_eq!(
        diff("a\nx", "a\n50%\r100%"),
        format!("--- a\n+++ b\n@@ -1,2 +1,2 @@\n a\n-x\n{none}+50%\r100%\n{none}")
    );
}

#[test]
fn line_endings_are_part_of_the_line() {
    assert_eq!(diff("a\r\nb\n", "a\nb\n"), "--- a\n+++ b\n@@ -1,2 +1,2 @@\n-a\r\n+a\n b\n");
    let none = "\\ No newline at end of file\n";
    assert_eq!(
        diff("a\rb\r", "a\rc\r"),
        format!("--- a\n+++ b\n@@ -1 +1 @@\n-a\rb\r\n{none}+a\rc\r\n{none}")
    );
}

#[test]
fn a_unified_diff_has_only_lines_that_patch_knows() {
    let none = "\\ No newline at end of file\n";
    assert_eq!(
        diff("a\rb", "\u{c}\n"),
        format!("--- a\n+++ b\n@@ -1 +1 @@\n-a\rb\n{none}+\u{c}\n")
    );
    assert_eq!(
        diff("a\rb\n--- x\n", "a\rb"),
        format!("--- a\n+++ b\n@@ -1,2 +1 @@\n-a\rb\n---- x\n+a\rb\n{none}")
    );
}

#[test]
fn whoever_only_reads_sees_lines_where_carriage_returns_end_them() {
    let options = DiffOptions { line_breaks: LineBreaks::AsRead, ..DiffOptions::default() };
    let found = TextDiff::new("a\rb\rc\r", "a\rB\rc\r", &options);
    assert_eq!(found.stat(), DiffStat { added: 1, removed: 1 });
    let shown = found.side_by_side(&DiffLayout::full("a", "b"), 19).text;
    assert!(shown.starts_with("--- a\n+++ b\n@@ -1,3 +1,3 @@\na"), "{shown}");
    let shown = word_diff("a\rb\rc\r", "a\rB\rc\r");
    assert!(shown.contains("[-b-]{+B+}"), "{shown}");
}

#[test]
fn an_inserted_block_is_told_as_one() {
    let old = "fn a() {\n    1\n}\n\nfn c() {\n    3\n}\n";
    let new = "fn a() {\n    1\n}\n\nfn b() {\n    2\n}\n\nfn c() {\n    3\n}\n";
    let shown = diff(old, new);
    assert!(shown.contains("+fn b() {\n+    2\n+}\n+\n fn c() {\n"), "{shown}");
}

#[test]
fn odd_names_stay_on_their_line() {
    let shown = unified_diff("a\n", "b\n", "x y", "new\nline\t\"\\\u{1}", 0);
    assert!(shown.starts_with("--- x y\t\n+++ \"new\\nline\\t\\\"\\\\\\001\"\n@@"), "{shown}");
}

fn with(whitespace: WhitespaceMode) -> DiffOptions {
    DiffOptions { whitespace, ..DiffOptions::default() }
}

#[test]
fn white_space_counts_as_far_as_it_is_asked_to() {
    use WhitespaceMode::{Exact, IgnoreAll, IgnoreAmount, IgnoreTrailing};
    let same = |old, new, options| TextDiff::new(old, new, &options).is_empty();
    for (old, new, equal) in [
        ("a\n", "a \r\n", [false, true, true, true]),
        ("a b\n", "a\t  b\n", [false, false, true, true]),
        ("\tif x\n", "    if x\n", [false, false, true, true]),
        ("ab\n", "a b\n", [false, false, false, true]),
        ("a\n", "a", [false, true, true, true]),
        ("a\n", "b\n", [false; 4]),
    ] {
        let found =
            [Exact, IgnoreTrailing, IgnoreAmount, IgnoreAll].map(|kind| same(old, new, with(kind)));
        assert_eq!(found, equal, "{old:?} {new:?}");
    }
    let case = DiffOptions { ignore_case: true, ..DiffOptions::default() };
    assert!(same("Straße\n", "STRAßE\n", case));
}

#[test]
fn empty_lines_may_be_passed_over() {
    let options = DiffOptions { ignore_blank_lines: true, ..DiffOptions::default() };
    let old = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n";
    let blank = old.replace("b\n", "b\n\n");
    assert!(TextDiff::new(old, &blank, &options).is_empty());
    let both = blank.replace("j\n", "J\n");
    let found = TextDiff::new(old, &both, &options);
    assert_eq!(found.stat(), DiffStat { added: 1, removed: 1 });
    let shown = found.unified(&DiffLayout { context: 1, ..DiffLayout::full("a", "b") }).text;
    assert_eq!(shown, "--- a\n+++ b\n@@ -9,2 +10,2 @@\n i\n-j\n+J\n");
}

#[test]
fn changed_words_are_marked_in_their_lines() {
    let body = |old, new| {
        let shown = word_diff(old, new);
        shown.split_once("@@\n").map(|(_, body)| body.to_owned()).unwrap_or(shown)
    };
    assert_eq!(body("let a = 30;\n", "let a = 31;\n"), "let a = [-30-]{+31+};\n");
    assert_eq!(body("one two three\n", "one 2 3\n"), "one [-two three-]{+2 3+}\n");
    assert_eq!(body("a\nold\n", "a\n"), "a\n[-old-]\n");
    assert_eq!(body("a\n", "a\nnew\nmore\n"), "a\n{+new+}\n{+more+}\n");
    assert_eq!(body("a\n", "a\n\n"), "a\n{+↵+}\n");
    assert_eq!(body("a\nb\n", "a b\n"), "a[-↵-]{+ +}b\n");
    assert_eq!(body("a b\n", "a\nb\n"), "a[- -]{+↵+}\nb\n");
    assert_eq!(body("a\r\n", "a\n"), "a[-␍↵-]{+↵+}\n");
    assert_eq!(body("a\r", "a\n"), "a[-␍↵-]{+↵+}\n");
}

#[test]
fn a_changed_word_is_seen_in_the_longest_line() {
    let line =
        |word: &str| format!("{}{word}{}\n", "head, ".repeat(100_000), " tail".repeat(100_000));
    let (old, new) = (line("old"), line("new"));
    let layout = DiffLayout { line_limit: 2000, ..DiffLayout::full("a", "b") };
    let shown = TextDiff::new(&old, &new, &DiffOptions::default()).word_diff(&layout);
    assert!(shown.text.contains("head, [-old-]{+new+} tail"), "{}", shown.text.len());
    assert!(shown.text.contains(" … [599600 characters] … "), "{}", shown.text.len());
    assert!(shown.text.len() < 2000 && shown.truncated_lines == 0);
}

#[test]
fn columns_are_as_wide_as_they_look() {
    let old = "same\n日本語 text\nold\ngone\n";
    let new = "same\n日本 text\nnew\n";
    let shown = TextDiff::new(old, new, &DiffOptions::default())
        .side_by_side(&DiffLayout::full("a", "b"), 31)
        .text;
    let expected = "\
--- a
+++ b
@@ -1,4 +1,3 @@
same             same
日本語 text    | 日本 text
old            | new
gone           <
";
    assert_eq!(shown, expected);
}

#[test]
fn long_lines_go_on_below_and_controls_are_seen() {
    let shown =
        TextDiff::new("abcdefghij\tx\n", "abcdefghijK\u{1B}[0m\r\n", &DiffOptions::default())
            .side_by_side(&DiffLayout::full("a", "b"), 19)
            .text;
    let expected = "\
--- a
+++ b
@@ -1 +1 @@
abcdefgh | abcdefgh
ij         ijK␛[0m␍
x
";
    assert_eq!(shown, expected);
    let combined = TextDiff::new("e\u{301}\n", "é\n", &DiffOptions::default());
    let shown = combined.side_by_side(&DiffLayout::full("a", "b"), 19).text;
    assert!(shown.ends_with("e\u{301}        | é\n"), "{shown}");
}

#[test]
fn either_side_is_written_as_it_is_where_the_difference_does_not_count() {
    let found = TextDiff::new("a  b\nx\n", "a b\ny\n", &with(WhitespaceMode::IgnoreAmount));
    let shown = found.side_by_side(&DiffLayout::full("a", "b"), 19).text;
    assert!(shown.ends_with("@@ -1,2 +1,2 @@\na  b       a b\nx        | y\n"), "{shown}");
}

#[test]
fn the_sides_tell_a_missing_last_line_feed() {
    let shown = TextDiff::new("a", "a\n", &DiffOptions::default());
    let shown = shown.side_by_side(&DiffLayout::full("a", "b"), 19).text;
    assert!(shown.ends_with("@@ -1 +1 @@\na∎       | a\n"), "{shown}");
}

#[test]
fn a_limit_cuts_whole_lines_and_counts_them() {
    let old: String = (0..100).map(|line| format!("old {line}\n")).collect();
    let new: String = (0..100).map(|line| format!("new {line}\n")).collect();
    let found = TextDiff::new(&old, &new, &DiffOptions::default());
    assert_eq!(found.stat(), DiffStat { added: 100, removed: 100 });
    let whole = found.unified(&DiffLayout::full("a", "b"));
    assert_eq!((whole.omitted_lines, whole.text.lines().count()), (0, 203));
    let layout = DiffLayout { limit: 200, ..DiffLayout::full("a", "b") };
    for part in [found.unified(&layout), found.side_by_side(&layout, 40), found.word_diff(&layout)]
    {
        assert!(part.text.len() <= 200 && part.omitted_lines > 0, "{part:?}");
        assert!(part.text.ends_with('\n'));
    }
    let part = found.unified(&layout);
    assert!(whole.text.starts_with(&part.text));
    assert_eq!(part.omitted_lines + part.text.lines().count(), 203);
}

#[test]
fn a_long_line_is_cut_and_says_so() {
    let (old, new) = ("x".repeat(500), "y".repeat(500) + "\n");
    let layout = DiffLayout { line_limit: 10, ..DiffLayout::full("a", "b") };
    let shown = TextDiff::new(&old, &new, &DiffOptions::default()).unified(&layout);
    assert!(shown.text.contains("+yyyyyyyyy … [491 more characters]\n"), "{shown:?}");
    assert!(shown.text.contains("\n\\ No newline at end of file\n"), "{shown:?}");
    assert_eq!(shown.truncated_lines, 2);
}

#[test]
fn without_time_the_diff_is_coarse_and_still_true() {
    let old: String = (0..3000).map(|line| format!("{}\n", line * 7919 % 3001)).collect();
    let new: String = (0..3000).map(|line| format!("{}\n", line * 6007 % 3001)).collect();
    let options = DiffOptions { time_limit: Duration::ZERO, ..DiffOptions::default() };
    let found = TextDiff::new(&old, &new, &options);
    assert!(found.is_coarse());
    assert_eq!(apply(&old, &found.unified(&DiffLayout::full("a", "b")).text), new);
}

#[test]
fn lines_of_one_text_alone_take_no_time_to_find() {
    let line = |line: usize| format!("{line}\n");
    let old: String = (0..2000).map(line).collect();
    let new: String = (0..2000).map(|n| line(if n % 2 == 0 { n } else { n + 5000 })).collect();
    let options = DiffOptions { time_limit: Duration::ZERO, ..DiffOptions::default() };
    assert_eq!(TextDiff::new(&old, &new, &options).stat(), DiffStat { added: 1000, removed: 1000 });
}

#[test]
fn too_many_lines_change_as_a_whole() {
    let old = format!("first\n{}last\n", "\n".repeat(2_500_000));
    let new = format!("first\nx\n{}y\nlast\n", "\n".repeat(2_500_001));
    let found = TextDiff::new(&old, &new, &DiffOptions::default());
    assert!(found.is_coarse());
    assert_eq!(found.stat(), DiffStat { added: 2_500_003, removed: 2_500_000 });
    let shown = found.unified(&DiffLayout { limit: 100, ..DiffLayout::full("a", "b") });
    assert!(shown.text.starts_with("--- a\n+++ b\n@@ -1,2500002 +1,2500005 @@\n first\n-\n-\n"));
}

fn any_lines() -> impl Strategy<Value = String> {
    let line = prop::sample::select(vec![
        "a\n", "b\n", "c\n", "\n", "a\r\n", "d e\n", " f\n", "a\r", "\u{c}", "b\rb\n", "--- x\n",
        "\\\n",
    ]);
    let end = prop::sample::select(vec!["", "", "z", "a", "\r", "a\rb", "\u{85}", "\u{2028}"]);
    // Texts without any line feed are their own kind.
    let bare = prop::collection::vec(prop::sample::select(vec!["a", "\r", "b", "\u{b}"]), 0..6);
    let lines = prop_oneof![4 => prop::collection::vec(line, 0..25), 1 => bare];
    (lines, end).prop_map(|(lines, end)| lines.concat() + end)
}

proptest! {
    #[test]
    fn a_diff_makes_the_new_text_of_the_old(old in any_lines(), new in any_lines(), context in 0..5_usize) {
        let found = TextDiff::new(&old, &new, &DiffOptions::default());
        let shown = found.unified(&DiffLayout { context, ..DiffLayout::full("a", "b") }).text;
        prop_assert_eq!(shown.is_empty(), old == new);
        prop_assert_eq!(&apply(&old, &shown), &new);
        let signed = |sign: char| {
            shown.lines().skip(2).filter(|line| line.starts_with(sign)).count()
        };
        prop_assert_eq!(found.stat(), DiffStat { added: signed('+'), removed: signed('-') });
    }

    #[test]
    fn marked_words_hold_both_texts(old in "[ab \n]{0,20}", new in "[ab \n]{0,20}") {
        let shown = TextDiff::new(&old, &new, &DiffOptions::default())
            .word_diff(&DiffLayout { context: 100, ..DiffLayout::full("a", "b") }).text;
        let body: String = shown.lines().skip(3).collect();
        let plain = |text: &str| -> String { text.chars().filter(char::is_ascii_alphabetic).collect() };
        let without = |body: &str, open: &str, close: &str| {
            let mut kept = String::new();
            let mut rest = body;
            while let Some((before, inside)) = rest.split_once(open) {
                kept.push_str(before);
                rest = inside.split_once(close).expect("marks are closed").1;
            }
            plain(&(kept + rest))
        };
        if old != new {
            prop_assert_eq!(without(&body, "{+", "+}"), plain(&old));
            prop_assert_eq!(without(&body, "[-", "-]"), plain(&new));
        }
    }
}

#[test]
fn a_name_that_is_no_text_is_quoted_as_git_does() {
    assert_eq!(quote_name_bytes(b"a/bad\xFF\n"), "\"a/bad\\377\\n\"");
    assert_eq!(quote_name_bytes("a/é b".as_bytes()), "a/é b");
    let layout = DiffLayout { is_quoted: true, ..DiffLayout::full("\"a/\\377\"", "/dev/null") };
    let shown = TextDiff::new("a\n", "", &DiffOptions::default()).unified(&layout).text;
    assert!(shown.starts_with("--- \"a/\\377\"\n+++ /dev/null\n"), "{shown}");
}
