use proptest::prelude::*;

use super::*;
use crate::diff::unified_diff;
use crate::matching::{MatchStrictness, apply_edits, apply_hunks};

fn operations(patch: &str) -> Vec<PatchOperation> {
    parse_patch(patch, None).expect("a patch").operations
}

fn refused(patch: &str) -> String {
    parse_patch(patch, None).expect_err("no patch").to_string()
}

/// The only update of a patch, applied.
fn updated(patch: &str, text: &str) -> String {
    let operations = parse_patch(patch, Some("file")).expect("a patch").operations;
    let [PatchOperation::Update { hunks, .. }] = operations.as_slice() else {
        panic!("one update: {operations:?}")
    };
    let made = apply_hunks(text, hunks, MatchStrictness::Relaxed).expect("fits");
    apply_edits(text, &made.edits)
}

#[test]
fn a_v4a_patch_has_a_section_for_each_file() {
    let patch = "*** Begin Patch\n*** Update File: a b.txt\n@@ class A\n@@ def f\n ctx\n-old\n+new\n*** Add File: new.txt\n+one\n+\n+two\n*** Delete File: gone.txt\n*** Move File: x.txt -> y.txt\n*** Update File: p.txt\n*** Move to: q.txt\n@@\n-a\n+b\n*** End of File\n*** End Patch\n";
    let operations = operations(patch);
    assert_eq!(operations.len(), 5);
    let PatchOperation::Update { path, hunks, to: None } = &operations[0] else { panic!() };
    assert_eq!((path.as_str(), hunks.len()), ("a b.txt", 1));
    assert_eq!(hunks[0].hints, ["class A", "def f"]);
    assert_eq!((hunks[0].old_text(), hunks[0].new_text()), ("ctx\nold".into(), "ctx\nnew".into()));
    assert_eq!(
        operations[1],
        PatchOperation::Add { path: "new.txt".into(), text: "one\n\ntwo\n".into() }
    );
    assert_eq!(operations[2], PatchOperation::Delete { path: "gone.txt".into(), hunks: vec![] });
    let PatchOperation::Update { path, to: Some(to), hunks } = &operations[3] else { panic!() };
    assert_eq!((path.as_str(), to.as_str(), hunks.len()), ("x.txt", "y.txt", 0));
    let PatchOperation::Update { to: Some(to), hunks, .. } = &operations[4] else { panic!() };
    assert_eq!((to.as_str(), hunks[0].at_end), ("q.txt", true));
}

#[test]
fn a_bare_empty_line_is_context() {
    let patch = "*** Begin Patch\n*** Update File: f\n@@\n a\n\n-b\n+c\n*** End Patch";
    assert_eq!(updated(patch, "a\n\nb\n"), "a\n\nc\n");
}

#[test]
fn empty_lines_between_sections_are_layout() {
    let patch = "*** Begin Patch\n\n*** Update File: f\n@@\n-a\n+b\n\n*** End Patch\n";
    assert_eq!(updated(patch, "a\nx\n"), "b\nx\n");
    let patch = "*** Update File: f\n\n-a\n+b\n\n@@\n-x\n+y\n";
    assert_eq!(updated(patch, "a\nx\n"), "b\ny\n");
}

#[test]
fn blanks_around_markers_are_accepted() {
    let hunk = "@@\n-a\n+b\n";
    for patch in [
        format!(" *** Begin Patch\n*** Update File: f\n{hunk}*** End Patch "),
        format!("*** Begin Patch\n  *** Update File: f\n{hunk}*** End Patch"),
        format!("*** Begin Patch\n*** Update File: f\n{hunk}\t*** End Patch\n"),
        format!(" *** Begin Patch\n  *** Update File: f\n{hunk} *** End Patch\n"),
        format!("  *** Update File: f  \n{hunk}"),
        "  *** Begin Patch\n  *** Update File: f\n  @@\n  -a\n  +b\n\n  *** End Patch\n".to_owned(),
    ] {
        assert_eq!(updated(&patch, "a\nx\n"), "b\nx\n", "{patch}");
    }
    let several = format!(
        " *** Begin Patch\n *** Add File: n\n+x\n *** Update File: f\n *** Move to: g\n{hunk} *** \
         Update File: h\n{hunk} *** Delete File: d\n *** End Patch"
    );
    assert_eq!(operations(&several).len(), 4, "{several}");
}

#[test]
fn added_lines_without_a_place_are_appended() {
    let patch = |hunk: &str| format!("*** Begin Patch\n*** Update File: f\n{hunk}*** End Patch");
    for hunk in ["@@\n+x\n+y\n", "+x\n+y\n", "@@\n+x\n+y\n\n", "@@ ...\n+x\n+y\n"] {
        assert_eq!(updated(&patch(hunk), "a\nb\n"), "a\nb\nx\ny\n", "{hunk}");
    }
    assert_eq!(updated(&patch("@@\n-a\n+A\n@@\n+x\n"), "a\nb\n"), "A\nb\nx\n");
    // A line number is a place, though not a reliable one.
    let numbered = parse_patch(&patch("@@ -1,0 +2 @@\n+x\n"), None).expect("a patch");
    let [PatchOperation::Update { hunks, .. }] = numbered.operations.as_slice() else { panic!() };
    assert!(apply_hunks("a\nb\n", hunks, MatchStrictness::Relaxed).is_err());
}

#[test]
fn a_padded_marker_inside_a_hunk_is_context() {
    let patch = "*** Begin Patch\n*** Update File: f\n@@\n-a\n+b\n *** End Patch\n *** Add File: \
                 x\n-c\n+d\n*** End Patch\n";
    assert_eq!(
        updated(patch, "a\n*** End Patch\n*** Add File: x\nc\n"),
        "b\n*** End Patch\n*** Add File: x\nd\n"
    );
}

#[test]
fn markers_spacing_wrapping_and_returns_are_forgiven() {
    let body = "*** Update File: f\n@@\n-a\n+b\n";
    for patch in [
        body.to_owned(),
        body.replace("*** ", "***"),
        format!("*** Begin Patch\n{body}*** End Patch").replace('\n', "\r\n"),
        format!("```diff\n*** Begin Patch\n{body}*** End Patch\n```\n"),
        format!("apply_patch <<'EOF'\n*** Begin Patch\n{body}*** End Patch\nEOF\n"),
        format!("```bash\napply_patch <<EOF\n*** Begin Patch\n{body}*** End Patch\nEOF\n```"),
    ] {
        assert_eq!(recognize_format(&patch), Some(PatchFormat::V4a), "{patch}");
        assert_eq!(updated(&patch, "a\nx\n"), "b\nx\n", "{patch}");
    }
    assert_eq!(updated("@@\n-a\n+b\n", "a\n"), "b\n", "the path may come from elsewhere");
}

#[test]
fn a_patch_that_was_escaped_once_too_often_is_refused() {
    for patch in [
        "*** Begin Patch\\n*** Update File: f\\n@@\\n-a\\n+b\\n*** End Patch",
        "*** Update File: f\\n-a\\n+b\n",
        "--- a/f\\n+++ b/f\\n@@ -1 +1 @@\\n-a\\n+b",
    ] {
        assert!(refused(patch).contains("real line breaks"), "{patch}");
    }
    assert!(refused("a\\nb").contains("unknown patch format"));
}

#[test]
fn dots_are_no_hint() {
    for patch in ["*** Update File: f\n@@ ... @@\n-a\n+b\n", "--- f\n+++ f\n@@ ... @@\n-a\n+b\n"] {
        let PatchOperation::Update { hunks, .. } = &operations(patch)[0] else { panic!() };
        assert!(hunks[0].hints.is_empty(), "{hunks:?}");
    }
}

#[test]
fn what_is_no_v4a_patch_is_told_with_its_line() {
    assert_eq!(
        refused("*** Add File: a\n+x\ny\n"),
        "line 3 of the patch: every line of a new file begins with `+`"
    );
    assert!(refused("*** Update File: a\n@@\n ctx\n").contains("changes nothing"));
    assert!(refused("*** Delete File: a\n-x\n").starts_with("line 2"));
    assert!(refused("*** Update File:\n-a\n+b\n").contains("no name"));
    assert!(refused("*** Begin Patch\n*** End Patch\n").contains("changes nothing"));
    assert!(refused("hello").contains("unknown patch format"));
    assert!(
        refused("*** Begin Patch\nhello\n*** Delete File: a\n*** End Patch").starts_with("line 2")
    );
}

#[test]
fn a_unified_diff_names_what_happens_to_each_file() {
    let patch = "diff --git a/src/a b.rs b/src/a b.rs\nindex 1..2 100644\n--- a/src/a b.rs\t2026-01-01\n+++ b/src/a b.rs\n@@ -1,2 +1,2 @@ fn main()\n ctx\n-old\n+new\ndiff --git a/new.txt b/new.txt\nnew file mode 100644\n--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1,2 @@\n+one\n+two\n\\ No newline at end of file\ndiff --git a/gone b/gone\ndeleted file mode 100644\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\ndiff --git a/o.txt b/n.txt\nsimilarity index 90%\nrename from o.txt\nrename to n.txt\n";
    let operations = operations(patch);
    assert_eq!(operations.len(), 4);
    let PatchOperation::Update { path, hunks, to: None } = &operations[0] else {
        panic!("{operations:?}")
    };
    assert_eq!((path.as_str(), hunks[0].line), ("src/a b.rs", Some(1)));
    assert_eq!(
        operations[1],
        PatchOperation::Add { path: "new.txt".into(), text: "one\ntwo".into() }
    );
    let PatchOperation::Delete { path, hunks } = &operations[2] else { panic!() };
    assert_eq!((path.as_str(), hunks[0].old_text().as_str()), ("gone", "x"));
    let PatchOperation::Update { path, to: Some(to), .. } = &operations[3] else { panic!() };
    assert_eq!((path.as_str(), to.as_str()), ("o.txt", "n.txt"));
}

#[test]
fn names_may_stand_in_the_first_line_only() {
    let patch = "diff --git a/my file b/my file\nnew file mode 100644\nindex 0..e69\n";
    assert_eq!(
        operations(patch),
        [PatchOperation::Add { path: "my file".into(), text: String::new() }]
    );
}

#[test]
fn names_are_read_as_git_writes_them() {
    let patch =
        "--- \"a/t\\303\\244\\tb\\\"\"\n+++ \"b/t\\303\\244\\tb\\\"\"\n@@ -1 +1 @@\n-a\n+b\n";
    let PatchOperation::Update { path, .. } = &operations(patch)[0] else { panic!() };
    assert_eq!(path, "tä\tb\"");
    for (old, new, name) in
        [("x/y", "x/y", "x/y"), ("a/y", "a/y", "a/y"), ("y.orig", "y", "y"), ("i/y", "w/y", "y")]
    {
        let patch = format!("--- {old}\n+++ {new}\n@@ -1 +1 @@\n-a\n+b\n");
        let PatchOperation::Update { path, .. } = &operations(&patch)[0] else { panic!() };
        assert_eq!(path, name);
    }
}

/// The file that a patch targets if files with these names exist.
fn about(patch: &str, there: &[&str]) -> String {
    let parsed = parse_patch_with(patch, None, &|name| there.contains(&name)).expect("a patch");
    match parsed.operations.into_iter().next() {
        Some(PatchOperation::Add { path, .. } | PatchOperation::Update { path, .. }) => path,
        Some(PatchOperation::Delete { path, .. }) => path,
        None => parsed.executables.into_iter().next().expect("a mode").0,
    }
}

#[test]
fn a_name_is_taken_to_the_letter_where_there_is_such_a_file() {
    type Shape = fn(&str) -> String;
    let update: Shape = |name| format!("*** Update File: {name}\n@@\n-a\n+b\n");
    let delete: Shape = |name| format!("*** Delete File: {name}\n");
    let moved: Shape = |name| format!("*** Move File: {name} -> other\n");
    let unified: Shape = |name| format!("--- a/{name}\n+++ b/{name}\n@@ -1 +1 @@\n-a\n+b\n");
    let git: Shape = |name| format!("--- a/{name}\t\n+++ b/{name}\t\n@@ -1 +1 @@\n-a\n+b\n");
    let dated: Shape =
        |name| format!("--- {name}\t2026-01-01\n+++ {name}\t2026-01-02\n@@ -1 +1 @@\n-a\n+b\n");
    let gone: Shape = |name| format!("--- a/{name}\t\n+++ /dev/null\t\n@@ -1 +0,0 @@\n-a\n");
    let mode: Shape =
        |name| format!("diff --git a/{name} b/{name}\nold mode 100644\nnew mode 100755\n");
    let renamed: Shape =
        |name| format!("diff --git a/{name} b/x\nrename from {name}\nrename to x\n");
    let block: Shape = |name| format!("{name}\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n");
    for (shapes, names) in [
        (&[update, delete, moved][..], &["\"h\"", "`h`", "h ", " h", "\"h"][..]),
        (&[unified, git, dated, gone, mode, renamed], &["h ", "h  "]),
        (&[block], &["#h", "#h#", "h:", "*h*", "`h`", "\"h\"", " h ", "**h**"]),
    ] {
        for (at, shape) in shapes.iter().enumerate() {
            for name in names {
                let patch = shape(name);
                assert_eq!(about(&patch, &[name, "h"]), *name, "{at}: {patch:?}");
                assert_eq!(about(&patch, &[name]), *name, "{at}: {patch:?}");
                assert_eq!(about(&patch, &["h"]), "h", "{at}: {patch:?}");
            }
            // Files whose names differ from the header's by blanks are not the target.
            assert_eq!(about(&shape("h"), &["h", " h", "h "]), "h", "{at}");
        }
    }
    assert_eq!(about(&block("### `#h#`:"), &["#h#", "h"]), "#h#");
    assert_eq!(about(&block("File: `h`"), &["`h`", "h"]), "`h`");
}

#[test]
fn the_blanks_of_a_new_name_count_where_git_says_so() {
    let new = |name: &str| format!("--- /dev/null\n+++ {name}\n@@ -0,0 +1 @@\n+a\n");
    for (patch, path) in [
        (new("b/h \t"), "h "),
        (new("\"b/h \""), "h "),
        (new("b/h "), "h"),
        (new("b/h \t2026-01-01"), "h"),
        ("diff --git a/h  b/h \nnew file mode 100644\n".to_owned(), "h "),
        ("*** Add File: \"h\" \n+a\n".to_owned(), "h"),
    ] {
        assert_eq!(about(&patch, &["h ", "\"h\""]), path, "{patch:?}");
    }
    let patch = "diff --git a/x b/h \nrename from x\nrename to h \n--- a/x\n+++ b/h \t\n@@ -1 +1 @@\n-a\n+b\n";
    let PatchOperation::Update { to: Some(to), .. } = &operations(patch)[0] else { panic!() };
    assert_eq!(to, "h ");
}

#[test]
fn wrong_counts_are_forgiven() {
    for head in ["@@ -1,9 +1,9 @@", "@@ -1,1 +1,1 @@", "@@ -1 +1 @@", "@@", "@@ @@"] {
        let patch = format!(
            "--- a/f\n+++ b/f\n{head}\n a\n-b\n+x\n c\n--- a/g\n+++ b/g\n@@ -1 +1 @@\n-a\n+b\n"
        );
        let operations = operations(&patch);
        assert_eq!(operations.len(), 2, "{head}");
        let PatchOperation::Update { hunks, .. } = &operations[0] else { panic!() };
        assert_eq!(hunks[0].old_text(), "a\nb\nc", "{head}");
    }
}

#[test]
fn lines_that_look_like_headers_are_lines_where_the_counts_say_so() {
    let patch = "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n--- x\n+++ y\n z\n";
    assert_eq!(updated(patch, "-- x\nz\n"), "++ y\nz\n");
    let patch = "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n-- \n2.43.0\n";
    assert_eq!(updated(patch, "a\n"), "b\n");
}

#[test]
fn the_final_newline_is_as_the_diff_says() {
    let no = "\\ No newline at end of file";
    assert_eq!(updated(&format!("@@ -1 +1 @@\n-a\n{no}\n+b\n"), "a"), "b\n");
    assert_eq!(updated(&format!("@@ -1 +1 @@\n-a\n+b\n{no}\n"), "a\n"), "b");
    assert_eq!(updated(&format!("@@ -1 +1 @@\n-a\n{no}\n+b\n{no}\n"), "a"), "b");
    assert_eq!(updated(&format!("@@ -1,2 +1,2 @@\n-a\n+b\n c\n{no}\n"), "a\nc"), "b\nc");
}

#[test]
fn binary_patches_and_copies_are_refused() {
    assert!(refused("diff --git a/x b/x\nGIT binary patch\nliteral 3\n").contains("binary"));
    assert!(refused("diff --git a/x b/x\nBinary files a/x and b/x differ\n").contains("binary"));
    assert!(refused("diff --git a/x b/y\ncopy from x\ncopy to y\n").contains("copies"));
    assert!(refused("@@ -1 +1 @@\n-a\n+b\n").contains("no file"));
    assert!(
        refused("diff --git a/x b/x\nold mode 100644\nnew mode 100644\n").contains("no changes")
    );
}

#[test]
fn blocks_belong_to_the_file_before_them() {
    let patch = "Here it is:\n\nsrc/main.rs\n```rust\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n```\n\n<<<<<<< SEARCH\nc\n=======\n>>>>>>> REPLACE\n\n`my file.txt`\n<<<<<<< SEARCH\n=======\nnew\n>>>>>>> REPLACE\n";
    let operations = operations(patch);
    assert_eq!(operations.len(), 2, "{operations:?}");
    let PatchOperation::Update { path, hunks, .. } = &operations[0] else { panic!() };
    assert_eq!((path.as_str(), hunks.len()), ("src/main.rs", 2));
    assert_eq!(hunks[1].new_text(), "");
    assert_eq!(
        operations[1],
        PatchOperation::Add { path: "my file.txt".into(), text: "new\n".into() }
    );
}

#[test]
fn blocks_without_a_file_take_the_given_one() {
    let patch = "Change this as follows:\n<<<<<<< SEARCH\na\nb\n=======\na\nc\n>>>>>>> REPLACE\n";
    assert_eq!(updated(patch, "a\nb\n"), "a\nc\n");
    assert!(refused(patch).contains("no file"));
    let patch = format!("Then\n{}", patch.split_once('\n').expect("two lines").1);
    assert_eq!(updated(&patch, "a\nb\n"), "a\nc\n", "a word is no file where one is given");
    let PatchOperation::Update { path, .. } = &operations(&patch.replace("Then", "Makefile"))[0]
    else {
        panic!()
    };
    assert_eq!(path, "Makefile");
}

#[test]
fn blocks_have_other_markers_too() {
    for (open, close) in
        [("<<<<<<< ORIGINAL", ">>>>>>> UPDATED"), ("------- SEARCH", "+++++++ REPLACE")]
    {
        let patch = format!("{open}\na\n=======\nb\n{close}\n");
        assert_eq!(recognize_format(&patch), Some(PatchFormat::Blocks));
        assert_eq!(updated(&patch, "a\nx\n"), "b\nx\n");
    }
}

#[test]
fn broken_blocks_are_refused() {
    let file = "f.txt\n";
    assert!(refused(&format!("{file}<<<<<<< SEARCH\na\n=======\nb\n")).contains(">>>>>>> REPLACE"));
    assert!(refused(&format!("{file}<<<<<<< SEARCH\na\n>>>>>>> REPLACE\n")).contains("======="));
    assert!(
        refused(&format!("{file}<<<<<<< SEARCH\na\n=======\nb\n=======\nc\n>>>>>>> REPLACE\n"))
            .contains("several")
    );
    assert!(
        refused(&format!("{file}<<<<<<< SEARCH\na\n=======\na\n>>>>>>> REPLACE\n"))
            .contains("changes nothing")
    );
}

#[test]
fn a_cut_off_patch_is_refused() {
    let patch = "*** Begin Patch\n*** Update File: f\n@@\n-a\n+b\n";
    assert!(refused(patch).contains("no `*** End Patch`"), "{}", refused(patch));
    assert!(refused(&format!("```\n{patch}```\n")).contains("cut off"));
    let names = "--- a/f\n+++ b/f\n";
    let read =
        parse_patch(&format!("{names}@@ -1,4 +1,4 @@\n a\n-b\n+x\n c\n"), None).expect("a patch");
    assert!(read.warnings[0].contains("is the patch cut off?"), "{:?}", read.warnings);
    // A hunk that would only remove lines, or write half a line, is not guessed.
    for rest in [" a\n-b\n", " a\n-b\n+x"] {
        let cut = refused(&format!("{names}@@ -1,4 +1,4 @@\n{rest}"));
        assert!(cut.contains("the patch ends in the middle of a hunk: 4 old and 4 new"), "{cut}");
    }
    // If only one count is wrong, it is a miscount, not a truncation.
    let patch = format!("{names}@@ -1,2 +1,4 @@\n a\n-b\n+x\n");
    let read = parse_patch(&patch, None).expect("a patch");
    assert!(read.warnings[0].contains("is the patch cut off?"), "{:?}", read.warnings);
    for patch in [
        format!("{names}@@ -1,1 +1,1 @@\n a\n-b\n+x\n c\n"),
        format!("{names}@@ -1,9 +1,9 @@\n a\n-b\n+x\n{names}@@ -7 +7 @@\n-a\n+b\n"),
    ] {
        assert_eq!(parse_patch(&patch, None).expect("a patch").warnings, Vec::<String>::new());
    }
}

#[test]
fn numbers_that_are_too_large_are_forgiven_wherever_they_stand() {
    let names = "--- a/f\n+++ b/f\n";
    let hunk = "@@ -1,4 +1,5 @@\n a\n-b\n+x\n";
    for (patch, warned) in [
        (format!("{names}{hunk}"), true),
        (format!("```diff\n{names}{hunk}```\n"), true),
        (format!("Here:\n\n```diff\n{names}{hunk}```\n"), true),
        (format!("Here:\n\n```diff\n{names}{hunk}```\n\nThat is all.\n"), true),
        (format!("{names}{hunk}@@ -9 +9 @@\n-y\n+Y\n"), false),
    ] {
        let read = parse_patch(&patch, None).expect("a patch");
        let PatchOperation::Update { hunks, .. } = &read.operations[0] else { panic!("{patch}") };
        let made = apply_hunks("a\nb\nc\ny\n", hunks, MatchStrictness::Relaxed).expect(&patch);
        assert!(apply_edits("a\nb\nc\ny\n", &made.edits).starts_with("a\nx\nc\n"), "{patch}");
        assert_eq!(read.warnings.iter().any(|it| it.contains("cut off?")), warned, "{patch}");
        // The numbers do not choose a place where lines may be missing.
        let twice = apply_hunks("a\nb\nc\na\nb\ny\n", hunks, MatchStrictness::Relaxed);
        assert_eq!(twice.is_err(), warned, "{patch}");
    }
}

#[test]
fn a_fence_behind_an_introduction_is_no_line_of_the_patch() {
    let diff = "Here:\n\n```diff\n--- a/u\n+++ b/u\n@@ -1,1 +1,3 @@\n-a\n+X\n```\n";
    assert_eq!(updated(diff, "a\nb\nc\n"), "X\nb\nc\n");
    let two = "One:\n```diff\n--- a/u\n+++ b/u\n@@ -1,4 +1,4 @@\n-a\n+X\n```\nand two:\n```diff\n--- a/v\n+++ b/v\n@@ -1 +1 @@\n-b\n+Y\n```\n";
    let operations = operations(two);
    assert_eq!(operations.len(), 2);
    let PatchOperation::Update { hunks, .. } = &operations[0] else { panic!() };
    assert_eq!(hunks[0].old_text(), "a");
    // A fence of the file itself is one of its lines.
    let markdown = "```diff\n--- a/u\n+++ b/u\n@@ -1,3 +1,3 @@\n-a\n+X\n ```\n b\n```\n";
    assert_eq!(updated(markdown, "a\n```\nb\n"), "X\n```\nb\n");
    let unmarked = "```diff\n--- a/u\n+++ b/u\n@@ -1,3 +1,3 @@\n a\n```\n-b\n+Y\n```\n";
    assert_eq!(updated(unmarked, "a\n```\nb\n"), "a\n```\nY\n");
    let v4a = "Here:\n\n```\n*** Update File: u\n@@\n-a\n+X\n```\nDone.\n";
    assert_eq!(updated(v4a, "a\nb\n"), "X\nb\n");
}

#[test]
fn an_error_knows_the_format() {
    let shown = |patch: &str| parse_patch(patch, None).expect_err("no patch");
    assert_eq!(shown("@@ -1 +1 @@\n-a\n+b\n").format, Some(PatchFormat::Unified));
    assert_eq!(shown("*** Update File: a\n@@\n ctx\n").format, Some(PatchFormat::V4a));
    assert_eq!(shown("hello").format, None);
    let dividers = shown("f\n<<<<<<< SEARCH\na\n=======\nb\n=======\nc\n>>>>>>> REPLACE\n");
    assert_eq!(dividers.format, Some(PatchFormat::Blocks));
    assert!(dividers.remedy.is_some_and(|remedy| remedy.contains("old_string")));
}

#[test]
fn a_deletion_without_lines_is_of_an_empty_file() {
    let patch = "diff --git a/n b/n\ndeleted file mode 100644\nindex e69de29..0000000\n";
    let hunks = vec![PatchHunk::default()];
    assert_eq!(operations(patch), [PatchOperation::Delete { path: "n".into(), hunks }]);
}

#[test]
fn modes_are_told_and_other_kinds_refused() {
    let programs = |patch: &str| parse_patch(patch, None).expect("a patch").executables;
    let new =
        "diff --git a/n b/n\nnew file mode 100755\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n";
    assert_eq!(programs(new), [("n".to_owned(), true)]);
    assert_eq!(programs(&new.replace("100755", "100644")), []);
    assert!(refused(&new.replace("100755", "120000")).contains("symbolic links"));
    assert!(refused(&new.replace("100755", "160000")).contains("submodules"));
    let old = "diff --git a/n b/n\nold mode 100644\nnew mode 100755\n--- a/n\n+++ b/n\n@@ -1 +1 @@\n-x\n+y\n";
    assert_eq!(programs(old), [("n".to_owned(), true)]);
    let alone = "diff --git a/n b/n\nold mode 100755\nnew mode 100644\ndiff --git a/o b/p\nold mode 100644\nnew mode 100755\nsimilarity index 100%\nrename from o\nrename to p\n";
    assert_eq!(programs(alone), [("n".to_owned(), false), ("p".to_owned(), true)]);
    assert_eq!(operations(alone).len(), 1);
    let link = "diff --git a/n b/n\nindex 1..2 120000\n--- a/n\n+++ b/n\n@@ -1 +1 @@\n-x\n+y\n";
    assert!(refused(link).contains("symbolic links"));
}

#[test]
fn a_mark_on_a_line_that_stays_leaves_the_end_of_the_file() {
    let no = "\\ No newline at end of file";
    let patch = format!("@@ -1,2 +1,2 @@\n-a\n+b\n c\n{no}\n");
    assert_eq!(updated(&patch, "a\nc\n"), "b\nc\n");
    let both = format!("@@ -1 +1 @@\n-a\n{no}\n+b\n{no}\n");
    assert_eq!(updated(&both, "a\n"), "b\n");
    let read = parse_patch(&patch, Some("f")).expect("a patch");
    let PatchOperation::Update { hunks, .. } = &read.operations[0] else { panic!() };
    let made = apply_hunks("a\nc\n", hunks, MatchStrictness::Relaxed).expect("fits");
    assert!(made.warnings[0].contains("which was kept"), "{:?}", made.warnings);
    assert!(apply_hunks("a\nc\nd\n", hunks, MatchStrictness::Relaxed).is_err(), "not at the end");
}

#[test]
fn endings_that_a_patch_tells_apart_are_kept() {
    let head = "--- a/f\n+++ b/f\n@@ -1,3 +1,4 @@\n";
    let mixed = format!("{head} a\n-b\r\n+B\r\n+n\n c\n");
    assert_eq!(updated(&mixed, "a\nb\r\nc\n"), "a\nB\r\nn\nc\n");
    let turned = "@@ -1,2 +1,2 @@\n a\n-b\n+b\r\n";
    assert_eq!(updated(turned, "a\nb\n"), "a\nb\r\n");
    let stray = "@@ -1,2 +1,2 @@\n a\n-b\n+B\r\n";
    assert_eq!(updated(stray, "a\nb\n"), "a\nB\n", "no line of the file ends so");
    // A patch with a single style is no evidence.
    let lf = "@@ -1,2 +1,2 @@\n a\n-b\n+B\n";
    assert_eq!(updated(lf, "a\r\nb\r\n"), "a\r\nB\r\n");
    assert_eq!(updated(&lf.replace('\n', "\r\n"), "a\nb\n"), "a\nB\n");
    let body = format!("{head} a\r\n-b\r\n+B\r\n+n\r\n c\r\n");
    assert_eq!(updated(&body, "a\nb\nc\n"), "a\nB\nn\nc\n");
    // The line before a mark has no ending of its own.
    let no = "\\ No newline at end of file\n";
    let marked = format!("@@ -1,2 +1,3 @@\n a\r\n-b\n{no}+B\r\n+c\n{no}");
    assert_eq!(updated(&marked, "a\r\nb"), "a\r\nB\r\nc");
    let new = "--- /dev/null\n+++ b/f\n@@ -0,0 +1,2 @@\n+a\r\n+b\r\n";
    let text = |patch: &str| match operations(patch).pop() {
        Some(PatchOperation::Add { text, .. }) => text,
        other => panic!("{other:?}"),
    };
    assert_eq!(text(new), "a\r\nb\r\n");
    assert_eq!(text(new.trim_end_matches('\n')), "a\r\nb\r\n", "the last line may lack its feed");
    assert_eq!(text(&new.replace("\r\n", "\n").replace('\n', "\r\n")), "a\nb\n");
}

#[test]
fn long_and_hostile_patches_are_read() {
    let many: String = (0..100_000).map(|n| format!("@@\n-{n}\n+x{n}\n")).collect();
    let patch = format!("*** Update File: f\n{many}");
    let PatchOperation::Update { hunks, .. } = &operations(&patch)[0] else { panic!() };
    assert_eq!(hunks.len(), 100_000);
    let blocks: String = (0..20_000)
        .map(|n| format!("<<<<<<< SEARCH\n{n}\n=======\nx\n>>>>>>> REPLACE\n"))
        .collect();
    assert_eq!(operations(&format!("f.txt\n{blocks}")).len(), 1);
    let _ = parse_patch(&"<<<<<<< SEARCH\n".repeat(50_000), Some("f"));
    let _ = parse_patch(&"--- a\n+++ b\n".repeat(50_000), None);
    let _ = parse_patch(
        &format!("*** Begin Patch\n{}*** Add File: f\n+x\n", "\n".repeat(200_000)),
        None,
    );
    let _ = parse_patch(
        &format!("diff --git {}\n@@ -1 +1 @@\n-a\n+b", "a/x b/x ".repeat(200_000)),
        None,
    );
    let _ = parse_patch(&format!("*** Add File: f\n+{}", "x".repeat(5_000_000)), None);
}

/// A text, and the same text with a few lines changed. Lines repeat.
fn two_texts() -> impl Strategy<Value = (String, String)> {
    let line =
        || prop::sample::select(vec!["a", "b", "", " c", "-d", "+e", "--- f", "@@ g", "\\ h"]);
    let text = |lines: Vec<&str>, closed: bool| {
        let body = lines.join("\n");
        if closed && !lines.is_empty() { format!("{body}\n") } else { body }
    };
    let lines = prop::collection::vec(line(), 1..14);
    let edits = prop::collection::vec((any::<prop::sample::Index>(), any::<bool>(), line()), 1..4);
    (lines, edits, any::<bool>(), any::<bool>()).prop_map(
        move |(old, edits, closed, closed_after)| {
            let mut new = old.clone();
            for (at, goes, line) in edits {
                let at = at.index(new.len() + 1);
                if goes && at < new.len() {
                    new.remove(at);
                } else {
                    new.insert(at, line);
                }
            }
            (text(old, closed), text(new, closed_after))
        },
    )
}

proptest! {
    #[test]
    fn a_unified_diff_applies_back((old, new) in two_texts(), context in 0_usize..4) {
        prop_assume!(old != new && !old.is_empty());
        let patch = unified_diff(&old, &new, "a/file", "b/file", context);
        let Ok(parsed) = parse_patch(&patch, None) else {
            return Err(TestCaseError::fail(format!("not read: {patch}")));
        };
        let [PatchOperation::Update { hunks, .. }] = parsed.operations.as_slice() else {
            return Err(TestCaseError::fail(format!("{parsed:?}")));
        };
        match apply_hunks(&old, hunks, MatchStrictness::Strict) {
            Ok(made) => prop_assert_eq!(apply_edits(&old, &made.edits), new, "{}", patch),
            // Without context nothing determines where lines go.
            Err(failure) => prop_assert!(context == 0, "{:?}: {}", failure, patch),
        }
    }

    #[test]
    fn a_v4a_patch_applies_or_is_refused((old, new) in two_texts()) {
        let hunk = PatchHunk::from_texts(&old, &new);
        let lines: String = hunk.lines.iter().map(|line| {
            let mark = match line.role { LineRole::Context => ' ', LineRole::Remove => '-', LineRole::Add => '+' };
            format!("{mark}{}\n", line.text)
        }).collect();
        let patch = format!("*** Begin Patch\n*** Update File: file\n@@\n{lines}*** End Patch\n");
        prop_assume!(!hunk.changes_nothing() && !old.is_empty() && !hunk.old_text().is_empty());
        let parsed = parse_patch(&patch, None).map_err(|e| TestCaseError::fail(e.to_string()))?;
        let [PatchOperation::Update { hunks, .. }] = parsed.operations.as_slice() else {
            return Err(TestCaseError::fail(format!("{parsed:?}")));
        };
        let made = apply_hunks(&old, hunks, MatchStrictness::Relaxed).map_err(|e| TestCaseError::fail(format!("{e:?}")))?;
        // A V4A patch does not say how the file ends.
        let changed = apply_edits(&old, &made.edits);
        prop_assert_eq!(changed.trim_end_matches('\n'), new.trim_end_matches('\n'));
    }

    #[test]
    fn any_text_is_a_patch_or_none(text in "([*@+<>= -]{0,9}|[a-b/]{1,2}|\n|SEARCH|REPLACE|\\*\\*\\* Update File: a\n|--- a\n\\+\\+\\+ b\n|@@ -1 \\+1 @@\n|diff --git a/x b/x\n){0,12}") {
        let _ = parse_patch(&text, Some("f"));
        let _ = recognize_format(&text);
    }
}

#[test]
fn the_heading_of_a_hunk_chooses_between_places() {
    let text = "def a():\n    x = 1\n\ndef b():\n    x = 1\n";
    let patch = "--- a/file\n+++ b/file\n@@ -50,1 +50,1 @@ def b():\n-    x = 1\n+    x = 2\n";
    assert_eq!(updated(patch, text), "def a():\n    x = 1\n\ndef b():\n    x = 2\n");
}

#[test]
fn a_quoted_name_need_not_be_text() {
    let hunk = "@@ -1 +1 @@\n-a\n+b\n";
    for (names, path) in [
        ("--- \"a/bad\\377\"\n+++ \"b/bad\\377\"\n", "file://./bad%FF"),
        ("--- \"a/d \\303\\251/\\377\"\n+++ \"b/d \\303\\251/\\377\"\n", "file://./d%20%C3%A9/%FF"),
        ("--- \"/tmp/\\377\"\n+++ \"/tmp/\\377\"\n", "file:///tmp/%FF"),
        ("--- \"a/\\303\\251\"\n+++ \"b/\\303\\251\"\n", "\u{E9}"),
    ] {
        let PatchOperation::Update { path: read, .. } = &operations(&format!("{names}{hunk}"))[0]
        else {
            panic!("{names}");
        };
        assert_eq!(read, path, "{names}");
    }
    let renamed = "diff --git \"a/\\377\" b/n\nrename from \"\\377\"\nrename to n\n";
    let PatchOperation::Update { path, to, .. } = &operations(renamed)[0] else { panic!() };
    assert_eq!((path.as_str(), to.as_deref()), ("file://./%FF", Some("n")));
}
