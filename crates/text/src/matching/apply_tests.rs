use proptest::prelude::*;

use super::super::{HunkLine, LineRole};
use super::*;
use crate::matching::MatchStrategy;

fn hunk(lines: &str) -> PatchHunk {
    let line = |line: &str| {
        let side = match line.as_bytes().first() {
            Some(b'+') => LineRole::Add,
            Some(b'-') => LineRole::Remove,
            _ => LineRole::Context,
        };
        HunkLine { role: side, text: line.get(1..).unwrap_or_default().to_owned(), ending: None }
    };
    PatchHunk { lines: lines.split('\n').map(line).collect(), ..PatchHunk::default() }
}

fn hinted(hints: &[&str], lines: &str) -> PatchHunk {
    PatchHunk { hints: hints.iter().map(|hint| (*hint).to_owned()).collect(), ..hunk(lines) }
}

fn done(text: &str, hunks: &[PatchHunk]) -> String {
    let made = apply_hunks(text, hunks, MatchStrictness::Relaxed).expect("fits");
    apply_edits(text, &made.edits)
}

fn refused(text: &str, hunks: &[PatchHunk]) -> HunkError {
    apply_hunks(text, hunks, MatchStrictness::Relaxed).expect_err("does not fit").error
}

#[test]
fn lines_come_and_go() {
    let text = "a\nb\nc\n";
    assert_eq!(done(text, &[hunk(" a\n-b\n+x\n+y\n c")]), "a\nx\ny\nc\n");
    assert_eq!(done(text, &[hunk("-a\n b")]), "b\nc\n");
    assert_eq!(done(text, &[hunk(" b\n-c")]), "a\nb\n");
    assert_eq!(done(text, &[hunk("-a\n-b\n-c")]), "");
    assert_eq!(done(text, &[hunk(" c\n+d")]), "a\nb\nc\nd\n");
    assert_eq!(done(text, &[hunk("+z\n a")]), "z\na\nb\nc\n");
}

#[test]
fn a_missing_final_newline_stays_missing() {
    let text = "a\nb";
    assert_eq!(done(text, &[hunk(" b\n+c")]), "a\nb\nc");
    assert_eq!(done(text, &[hunk("-b\n+c")]), "a\nc");
    assert_eq!(done(text, &[hunk(" a\n-b")]), "a\n", "the ending of another line is not touched");
    assert_eq!(done(text, &[hunk("-b")]), "a\n");
    let with = PatchHunk { final_newline: Some(true), ..hunk("-b\n+c") };
    assert_eq!(done(text, &[with]), "a\nc\n");
    let without = PatchHunk { final_newline: Some(false), ..hunk(" a\n-b\n+c") };
    assert_eq!(done("a\r\nb\r\n", &[without]), "a\r\nc");
}

#[test]
fn an_added_line_that_stands_for_others_is_warned_of() {
    let warnings = |lines: &str| {
        apply_hunks("a\nb\n", &[hunk(lines)], MatchStrictness::Relaxed).expect("fits").warnings
    };
    assert_eq!(warnings("-a\n+# ... rest of the file unchanged ...").len(), 1);
    assert_eq!(warnings("-a\n+c").len(), 0);
}

#[test]
fn endings_of_untouched_lines_are_not_touched() {
    assert_eq!(done("a\r\nb\nc\r\n", &[hunk(" a\n-b\n c")]), "a\r\nc\r\n");
    assert_eq!(done("a\r\nb\nc\r\n", &[hunk(" b\n+x\n c")]), "a\r\nb\nx\nc\r\n");
    assert_eq!(done("a\r\nb\r\n", &[hunk("-a\n+x\n+y")]), "x\r\ny\r\nb\r\n");
}

#[test]
fn a_hunk_that_fits_twice_is_refused_with_its_places() {
    let text = "x\ny\n\nx\ny\n";
    let HunkError::Ambiguous { places, more, .. } = refused(text, &[hunk("-x\n+z\n y")]) else {
        panic!("two places")
    };
    assert_eq!(places, [LineSpan { first: 1, last: 2 }, LineSpan { first: 4, last: 5 }]);
    assert!(!more);
}

const SHAPES: &str = "class Square:\n    def area(self):\n        return 1\n\n    def name(self):\n        return 2\n\nclass Circle:\n    def area(self):\n        return 1\n";

#[test]
fn hints_choose_among_places_and_may_be_nested() {
    let change = "-        return 1\n+        return 3";
    let made = done(SHAPES, &[hinted(&["class Circle"], change)]);
    assert_eq!(made.matches("return 3").count(), 1);
    assert!(made.ends_with("return 3\n"), "{made}");
    let made = done(SHAPES, &[hinted(&["class Square:", "def area(self):"], change)]);
    assert!(made.starts_with("class Square:\n    def area(self):\n        return 3\n"), "{made}");
    let refusal = refused(SHAPES, &[hinted(&["def area(self):"], change)]);
    assert!(matches!(refusal, HunkError::Ambiguous { .. }), "both have it: {refusal:?}");
}

#[test]
fn a_place_outside_of_the_hinted_block_is_not_taken() {
    let refusal =
        refused(SHAPES, &[hinted(&["def name(self):"], "-        return 1\n+        return 3")]);
    assert!(matches!(refusal, HunkError::NotAtHint { .. }), "{refusal:?}");
    let text = "def a():\n    return 0\n\ndef b():\n    return 1\n";
    let refusal = refused(text, &[hinted(&["def a():"], "-    return 1\n+    return 2")]);
    assert!(matches!(refusal, HunkError::NotAtHint { .. }), "a unique one neither: {refusal:?}");
}

#[test]
fn a_hunk_may_hold_its_own_hint() {
    let text = "@a\ndef f():\n    x\n\n@a\ndef g():\n    x\n";
    let made = done(text, &[hinted(&["def g():"], "-@a\n+@b\n def g():")]);
    assert_eq!(made, "@a\ndef f():\n    x\n\n@b\ndef g():\n    x\n");
    let made = done(text, &[hinted(&["def g():"], " def g():\n-    x\n+    y")]);
    assert_eq!(made, "@a\ndef f():\n    x\n\n@a\ndef g():\n    y\n");
}

#[test]
fn blocks_end_where_their_indentation_ends() {
    let text = "void f()\n{\n    a;\n\n    b;\n}\n\nvoid g(\n    int x\n) {\n    a;\n}\n";
    let made = done(text, &[hinted(&["void g("], "-    a;\n+    c;")]);
    assert_eq!(made, text.replace("{\n    a;\n}", "{\n    c;\n}"));
    let made = done(text, &[hinted(&["void f()"], "-    a;\n+    c;")]);
    assert_eq!(made, text.replacen("a;", "c;", 1));
    let refusal = refused(text, &[hinted(&["void g("], "-    b;\n+    c;")]);
    let HunkError::NotAtHint { hinted, places, .. } = refusal else { panic!("{refusal:?}") };
    assert_eq!(
        (hinted[0], places[0]),
        (LineSpan { first: 8, last: 12 }, LineSpan { first: 5, last: 5 })
    );
}

#[test]
fn hints_in_a_hostile_text_are_answered() {
    let nested: String = (0..1500).map(|n| format!("{}x\n", " ".repeat(n))).collect();
    let hunk = hinted(&["x", "x"], "-x\n+y");
    assert!(matches!(refused(&nested, &[hunk]), HunkError::NotAtHint { .. }));
    let flat = "x\n".repeat(100_000);
    let hunks: Vec<PatchHunk> = (0..100).map(|_| hinted(&["x"], "-x\n+y")).collect();
    assert!(matches!(refused(&flat, &hunks), HunkError::Ambiguous { .. }));
}

#[test]
fn a_hint_that_is_nowhere_is_told() {
    let made = apply_hunks("a\nb\n", &[hinted(&["fn gone()"], "-a\n+x")], MatchStrictness::Relaxed)
        .expect("fits");
    assert!(made.warnings[0].contains("fn gone()"), "{:?}", made.warnings);
}

#[test]
fn additions_go_behind_the_hint_and_never_to_the_end_by_themselves() {
    let text = "import a\nimport b\n\nmain()\n";
    assert_eq!(
        done(text, &[hinted(&["import a"], "+import x")]),
        "import a\nimport x\nimport b\n\nmain()\n"
    );
    assert_eq!(refused(text, &[hunk("+x")]), HunkError::NoLocation);
    assert!(matches!(refused(text, &[hinted(&["gone"], "+x")]), HunkError::HintNotFound { .. }));
    assert!(matches!(refused(text, &[hinted(&["import"], "+x")]), HunkError::HintAmbiguous { .. }));
    let at_end = PatchHunk { at_end: true, ..hunk("+x\n+y") };
    assert_eq!(done(text, std::slice::from_ref(&at_end)), format!("{text}x\ny\n"));
    assert_eq!(done("a", &[at_end]), "a\nx\ny");
    assert_eq!(done("", &[hunk("+x\n+y")]), "x\ny\n");
}

#[test]
fn the_end_of_the_file_chooses_among_places() {
    let text = "end\nx\nend\n";
    let hunk = PatchHunk { at_end: true, ..hunk("-end\n+END") };
    assert_eq!(done(text, &[hunk]), "end\nx\nEND\n");
}

#[test]
fn line_numbers_choose_only_among_exact_places() {
    let text = "x\ny\nx\ny\nx \n";
    let at = |line| PatchHunk { line: Some(line), ..hunk("-x\n+z") };
    assert_eq!(done(text, &[at(3)]), "x\ny\nz\ny\nx \n");
    assert!(matches!(refused(text, &[at(5)]), HunkError::Ambiguous { .. }));
    assert!(matches!(refused(text, &[at(2)]), HunkError::Ambiguous { .. }));
    // The file has grown by a line since: the first hunk tells.
    let text = "new\na\nx\nb\nx\nc\n";
    let first = PatchHunk { line: Some(1), ..hunk("-a\n+A") };
    let second = PatchHunk { line: Some(4), ..hunk("-x\n+z") };
    assert_eq!(done(text, &[first, second]), "new\nA\nx\nb\nz\nc\n");
}

#[test]
fn every_relaxation_needs_every_line() {
    let made =
        apply_hunks("  f()  \n  g()\n", &[hunk(" f()\n-g()\n+h()")], MatchStrictness::Relaxed)
            .expect("fits");
    assert_eq!(made.placed[0].strategy, MatchStrategy::IndentShift);
    assert_eq!(apply_edits("  f()  \n  g()\n", &made.edits), "  f()  \n  h()\n");
    assert_eq!(refused("  f()\n   g()\n", &[hunk(" f()\n-g()\n+h()")]), HunkError::NotFound);
    assert_eq!(refused("f(1)\ng()\nh()\n", &[hunk(" f(1)\n-g(2)\n+x\n h()")]), HunkError::NotFound);
    let strict = apply_hunks("f() \n", &[hunk("-f()\n+g()")], MatchStrictness::Strict);
    assert_eq!(strict.expect_err("relaxed").error, HunkError::NotFound);
}

#[test]
fn empty_lines_at_the_end_of_a_hunk_may_be_layout() {
    let loose = PatchHunk { optional_blank_lines: 1, ..hunk("-a\n+x\n") };
    assert_eq!(done("a\nb\n", std::slice::from_ref(&loose)), "x\nb\n");
    assert_eq!(done("a\n\nb\na\n", &[loose]), "x\n\nb\na\n", "and context where it fits");
}

#[test]
fn hunks_may_build_upon_each_other() {
    let made = apply_hunks(
        "a\nb\nc\n",
        &[hunk("-b\n+x\n+y"), hunk(" x\n-y\n+z"), hunk("-a\n+A")],
        MatchStrictness::Relaxed,
    )
    .expect("fits");
    assert_eq!(apply_edits("a\nb\nc\n", &made.edits), "A\nx\nz\nc\n");
    let lines = |first, last| LineSpan { first, last };
    let after: Vec<LineSpan> = made.placed.iter().map(|placed| placed.after).collect();
    assert_eq!(after, [lines(2, 3), lines(2, 3), lines(1, 1)]);
    let before: Vec<LineSpan> = made.placed.iter().map(|placed| placed.before).collect();
    assert_eq!(before, [lines(2, 2), lines(2, 2), lines(1, 1)], "as it was before all of them");
    let failure =
        apply_hunks("a\nb\n", &[hunk("-a\n+x"), hunk("-a\n+y")], MatchStrictness::Relaxed)
            .expect_err("gone");
    assert_eq!((failure.hunk, failure.text.as_deref()), (1, Some("x\nb\n")));
}

#[test]
fn lines_before_and_after_are_told() {
    let made = apply_hunks(
        "a\nb\nc\nd\n",
        &[hunk("-a\n+x\n+y\n+z"), hunk(" c\n-d")],
        MatchStrictness::Relaxed,
    )
    .expect("fits");
    assert_eq!(made.placed[0].before, LineSpan { first: 1, last: 1 });
    assert_eq!(made.placed[0].after, LineSpan { first: 1, last: 3 });
    assert_eq!(made.placed[1].before, LineSpan { first: 3, last: 4 });
    assert_eq!(made.placed[1].after, LineSpan { first: 5, last: 5 });
}

#[test]
fn a_hundred_thousand_hunks_are_applied() {
    let text: String = (0..100_000).map(|n| format!("line {n}\n")).collect();
    let hunks: Vec<PatchHunk> =
        (0..100_000).map(|n| hunk(&format!("-line {n}\n+LINE {n}"))).collect();
    assert_eq!(done(&text, &hunks), text.replace("line", "LINE"));
}

#[test]
fn a_hostile_patch_is_answered() {
    let text = "x\n".repeat(50_000);
    let block = format!("{}+z", "-x\n".repeat(20_000));
    assert!(matches!(refused(&text, &[hunk(&block)]), HunkError::Ambiguous { .. }));
    let text = format!("{}y\n", "x\n".repeat(50_000));
    let block = format!("{}-z\n+z", "-x\n".repeat(20_000));
    assert_eq!(refused(&text, &[hunk(&block)]), HunkError::NotFound);
    let shifted = format!("{} y\n", " x\n".repeat(60_000));
    let block = format!("{}-  y\n+z", "-  x\n-x\n".repeat(10_000));
    assert!(matches!(
        refused(&shifted, &[hunk(&block)]),
        HunkError::NotFound | HunkError::TooRepetitive
    ));
}

/// Random edits of lines, as a model that cannot be wrong.
fn any_edit() -> impl proptest::strategy::Strategy<Value = (Vec<String>, Vec<String>)> {
    let line = prop::sample::select(vec!["a", "b", "", "  c", "d "]);
    let lines = prop::collection::vec(line.prop_map(str::to_owned), 0..12);
    (lines, prop::collection::vec((any::<prop::sample::Index>(), any::<Option<bool>>()), 0..4))
        .prop_map(|(old, edits)| {
            let mut new = old.clone();
            for (number, (at, kind)) in edits.into_iter().enumerate() {
                let at = at.index(new.len() + 1);
                match kind {
                    Some(true) if at < new.len() => drop(new.remove(at)),
                    Some(false) if at < new.len() => new[at] = format!("changed {number}"),
                    _ => new.insert(at, format!("added {number}")),
                }
            }
            (old, new)
        })
}

proptest! {
    #[test]
    fn a_whole_file_hunk_gives_the_new_file((old, new) in any_edit()) {
        let text = |lines: &[String]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
        let (from, to) = (text(&old), text(&new));
        let hunk = PatchHunk::from_texts(&from, &to);
        if !from.is_empty() && !hunk.changes_nothing() {
            prop_assert_eq!(done(&from, &[hunk]), to);
        }
    }

    #[test]
    fn a_hunk_applies_as_reported_or_not_at_all(text in "[ab \n]{0,30}", old in "[ab \n]{1,8}", new in "[abx \n]{0,8}") {
        let hunk = PatchHunk::from_texts(&old, &new);
        if let Ok(made) = apply_hunks(&text, std::slice::from_ref(&hunk), MatchStrictness::Relaxed) {
            let changed = apply_edits(&text, &made.edits);
            for placed in &made.placed {
                let rows = LineTable::new(&text);
                let there: Vec<&str> = (placed.before.first - 1..placed.before.last).map(|row| rows.line(row).trim()).collect();
                let wanted = hunk.old_text();
                let wanted: Vec<&str> = wanted.split('\n').map(str::trim).collect();
                prop_assert_eq!(there, wanted);
                // What lies outside of the reported lines is as it was.
                let head: Vec<&str> = text.split_inclusive('\n').take(placed.before.first - 1).collect();
                prop_assert!(changed.starts_with(&head.concat()));
                let tail: String = text.split_inclusive('\n').skip(placed.before.last).collect();
                prop_assert!(changed.ends_with(&tail));
            }
        }
    }

    #[test]
    fn hunks_of_every_kind_give_edits_in_order(
        text in "([ab{} \n\t]|\r\n){0,40}",
        hunks in prop::collection::vec(
            ("[ -+ab{}\n]{0,10}", prop::collection::vec("[ab{]{0,2}", 0..3), any::<Option<u8>>(), any::<bool>(), any::<Option<bool>>(), any::<bool>(), 0_usize..3),
            0..4,
        ),
    ) {
        let hunks: Vec<PatchHunk> = hunks.into_iter().map(|(lines, hints, line, at_end, final_newline, open_end, loose)| PatchHunk {
            hints, line: line.map(usize::from), at_end, final_newline, no_newline_at_end: open_end, optional_blank_lines: loose, ..hunk(&lines)
        }).collect();
        if let Ok(made) = apply_hunks(&text, &hunks, MatchStrictness::Relaxed) {
            let mut last = 0;
            for edit in &made.edits {
                prop_assert!(last <= edit.range.start && edit.range.end <= text.len(), "{:?}", made.edits);
                prop_assert!(text.get(edit.range.clone()).is_some());
                last = edit.range.end;
            }
            let count = LineTable::new(&apply_edits(&text, &made.edits)).len().max(1);
            for placed in &made.placed {
                prop_assert!(placed.after.first <= placed.after.last + 1 && placed.after.last <= count);
            }
        }
    }

    #[test]
    fn composed_edits_do_what_both_do(text in "[a-f]{0,20}", first in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), "[xy]{0,3}"), 0..4), second in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), "[pq]{0,3}"), 0..4)) {
        let edits = |text: &str, wanted: &[(prop::sample::Index, prop::sample::Index, String)]| {
            let mut made: Vec<TextEdit> = wanted.iter().map(|(a, b, new)| {
                let (a, b) = (a.index(text.len() + 1), b.index(text.len() + 1));
                TextEdit { range: a.min(b)..a.max(b), text: new.clone() }
            }).collect();
            made.sort_by_key(|edit| (edit.range.start, edit.range.end));
            let mut apart: Vec<TextEdit> = Vec::new();
            for edit in made {
                if apart.last().is_none_or(|last| last.range.end <= edit.range.start && last.range.start < edit.range.start) {
                    apart.push(edit);
                }
            }
            apart
        };
        let first = edits(&text, &first);
        let middle = apply_edits(&text, &first);
        let second = edits(&middle, &second);
        let both = compose_edits(&middle, &first, &second);
        prop_assert_eq!(apply_edits(&text, &both), apply_edits(&middle, &second));
        prop_assert!(both.windows(2).all(|pair| pair[0].range.end <= pair[1].range.start));
    }
}

#[test]
fn a_hunk_at_the_end_that_is_elsewhere_is_warned_of() {
    let at_end = |lines: &str| PatchHunk { at_end: true, ..hunk(lines) };
    let shown = |text: &str, hunk: PatchHunk| {
        apply_hunks(text, &[hunk], MatchStrictness::Relaxed).expect("fits").warnings.join(" ")
    };
    let warned = shown("x\ny\n", at_end("-x"));
    assert!(warned.contains("End of File") && warned.contains("line 1 of 2"), "{warned}");
    assert_eq!(shown("x\ny\n", at_end("-y")), "");
    assert_eq!(shown("x\ny\nx\n", at_end("-x")), "", "the last one is meant");
    assert_eq!(shown("x\ny\n", hunk("-x")), "");
    let hinted = PatchHunk { hints: vec!["x".into()], ..at_end("+z") };
    assert!(shown("x\ny\n", hinted).contains("line 1 of 2"));
    assert_eq!(shown("x\ny\n", at_end("+z")), "");
}

#[test]
fn lines_that_come_or_go_have_no_lines_on_the_other_side() {
    let placed = |text: &str, hunk: PatchHunk| {
        let made = apply_hunks(text, &[hunk], MatchStrictness::Relaxed).expect("fits");
        let (before, after) = (made.placed[0].before, made.placed[0].after);
        ([before.first, before.last], [after.first, after.last])
    };
    assert_eq!(placed("a\nb\n\nd\n", hunk("-b\n+X\n ")), ([2, 3], [2, 3]));
    assert_eq!(placed("a\nb\nc\n", hunk("-b")), ([2, 2], [2, 1]));
    assert_eq!(placed("a\nb\nc\n", hunk("-b\n c")), ([2, 3], [2, 2]));
    assert_eq!(placed("a\nb\nc\n", hunk("-a\n-b\n-c")), ([1, 3], [1, 0]));
    assert_eq!(placed("a\nb\nc\n", hinted(&["b"], "+x\n+y")), ([3, 2], [3, 4]));
    let at_end = PatchHunk { at_end: true, ..hunk("+x") };
    assert_eq!(placed("a\nb\n", at_end.clone()), ([3, 2], [3, 3]));
    assert_eq!(placed("a\nb", at_end), ([2, 2], [2, 3]), "the last line gets an ending");
    assert_eq!(placed("", hunk("+x\n+")), ([1, 0], [1, 2]));
    assert_eq!(placed("a\nb\n", hunk(" b\n+")), ([2, 2], [2, 3]));
}

#[test]
fn what_a_neighbour_puts_in_is_not_among_the_lines_of_a_hunk() {
    let made =
        apply_hunks("a\nb\nc\n", &[hunk("-a\n+x"), hunk("+z\n b")], MatchStrictness::Relaxed)
            .expect("fits");
    let lines = |first, last| LineSpan { first, last };
    assert_eq!(made.placed[0].after, lines(1, 1));
    assert_eq!(made.placed[1].after, lines(2, 3));
}

#[test]
fn a_file_that_ends_its_lines_in_one_way_keeps_it() {
    let crlf = |lines: &str| {
        let mut made = hunk(lines);
        for line in made.lines.iter_mut().filter(|line| line.role == LineRole::Add) {
            line.ending = Some(crate::line_endings::LineEnding::CrLf);
        }
        made
    };
    let made =
        apply_hunks("a\nb\n", &[crlf("-a\n+A\n+B")], MatchStrictness::Relaxed).expect("fits");
    assert_eq!(apply_edits("a\nb\n", &made.edits), "A\nB\nb\n");
    assert!(made.warnings.is_empty(), "{:?}", made.warnings);
    assert_eq!(done("a\nb\r\n", &[crlf("-a\n+A")]), "A\r\nb\r\n", "it has such lines");
    let inserted = PatchHunk { hints: vec!["a".into()], ..crlf("+A") };
    assert_eq!(done("a\nb\n", &[inserted]), "a\nA\nb\n");
}

proptest! {
    #[test]
    fn the_lines_of_hunks_delimit_what_changed(
        text in "([ab{} ]|\n|\r\n){0,30}",
        hunks in prop::collection::vec(
            ("[ -+ab{}\n]{0,10}", prop::collection::vec("[ab{]{0,2}", 0..2), any::<bool>(), any::<Option<bool>>(), 0_usize..3),
            0..4,
        ),
    ) {
        let hunks: Vec<PatchHunk> = hunks.into_iter().map(|(lines, hints, at_end, final_newline, loose)| PatchHunk {
            hints, at_end, final_newline, optional_blank_lines: loose, ..hunk(&lines)
        }).collect();
        if let Ok(made) = apply_hunks(&text, &hunks, MatchStrictness::Relaxed) {
            let changed = apply_edits(&text, &made.edits);
            let lines: Vec<(LineSpan, LineSpan)> = made.placed.iter().map(|placed| (placed.before, placed.after)).collect();
            prop_assert!(
                super::super::replace::tests::delimited(&text, &changed, &lines),
                "{:?} to {:?}: {:?}", text, changed, lines
            );
        }
    }
}
