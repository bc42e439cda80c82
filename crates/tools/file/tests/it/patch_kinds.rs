//! Patches of symlinks, modes, line endings and unusual files.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use hermes_core::{Grant, Grants, Scope};
use hermes_files::{real_entry, real_path};
use serde_json::{Value, json};

use crate::harness::Place;

async fn apply(place: &Place, patch: &str) -> Value {
    place.call("patch", json!({"patch": patch})).await
}

fn text(place: &Place, name: &str) -> Option<String> {
    fs::read_to_string(place.path().join(name)).ok()
}

fn link(place: &Place, name: &str) -> Option<PathBuf> {
    fs::read_link(place.path().join(name)).ok()
}

/// A file and a link to it.
fn linked() -> Place {
    let place = Place::new();
    place.write("a", "one\n");
    symlink("a", place.path().join("ln")).unwrap();
    place
}

#[tokio::test]
async fn a_diff_that_deletes_an_empty_file_deletes_no_other() {
    let place = Place::new();
    let diff = "diff --git a/n b/n\ndeleted file mode 100644\nindex e69de29..0000000\n";
    place.write("n", "precious\n");
    let answer = apply(&place, diff).await;
    assert_eq!(answer["kind"], "conflict", "{answer}");
    assert!(answer["error"].as_str().unwrap().contains("not empty (9 bytes)"), "{answer}");
    assert_eq!(text(&place, "n").as_deref(), Some("precious\n"));
    place.write("n", b"\x00\x01binary");
    assert!(apply(&place, diff).await.get("error").is_some());
    assert!(place.path().join("n").exists());
    place.write("n", "");
    let answer = apply(&place, diff).await;
    assert_eq!(answer["success"], true, "{answer}");
    assert!(!place.path().join("n").exists());
}

#[tokio::test]
async fn a_patch_that_is_cut_off_changes_nothing() {
    let place = Place::new();
    place.write("f", "a\nb\nc\nd\n");
    for patch in [
        "*** Begin Patch\n*** Update File: f\n@@\n a\n-b\n+x\n",
        "--- a/f\n+++ b/f\n@@ -1,4 +1,4 @@\n a\n-b\n-c\n",
        "--- a/f\n+++ b/f\n@@ -1,4 +1,4 @@\n a\n-b\n+x",
    ] {
        let answer = apply(&place, patch).await;
        assert_eq!(answer["kind"], "invalid_arguments", "{answer}");
        assert_eq!(text(&place, "f").as_deref(), Some("a\nb\nc\nd\n"));
    }
}

#[tokio::test]
async fn a_hunk_that_is_shorter_than_it_says_is_warned_of() {
    let place = Place::new();
    place.write("f", "a\nb\nc\nd\n");
    let answer = apply(&place, "--- a/f\n+++ b/f\n@@ -1,4 +1,4 @@\n a\n-b\n+x\n").await;
    let warning = answer["warnings"][0].as_str().unwrap();
    assert!(warning.contains("cut off?") && warning.contains("bare `@@`"), "{answer}");
    assert_eq!(text(&place, "f").as_deref(), Some("a\nx\nc\nd\n"));
}

#[tokio::test]
async fn the_lines_of_every_format_are_counted_alike() {
    for (patch, before, after) in [
        ("r\n<<<<<<< SEARCH\nb\n\n=======\nX\n\n>>>>>>> REPLACE\n", [2, 3], [2, 3]),
        ("*** Begin Patch\n*** Update File: r\n@@\n-b\n+X\n \n*** End Patch\n", [2, 3], [2, 3]),
        ("--- a/r\n+++ b/r\n@@ -2,2 +2,3 @@\n-b\n+X\n+\n \n", [2, 3], [2, 4]),
        ("--- a/r\n+++ b/r\n@@ -2 +2,2 @@\n-b\n+X\n+\n", [2, 2], [2, 3]),
        ("r\n<<<<<<< SEARCH\nb\n=======\n>>>>>>> REPLACE\n", [2, 2], [2, 1]),
        ("*** Update File: r\n@@\n-b\n", [2, 2], [2, 1]),
        ("*** Update File: r\n@@ b\n+X\n", [3, 2], [3, 3]),
    ] {
        let place = Place::new();
        place.write("r", "a\nb\n\nd\n");
        let answer = apply(&place, patch).await;
        let range = &answer["line_ranges"][0];
        assert_eq!((&range["before"], &range["after"]), (&json!(before), &json!(after)), "{patch}");
    }
}

#[tokio::test]
async fn lines_of_several_steps_are_those_of_the_file_before_and_after_all() {
    let place = Place::new();
    place.write("r", "a\nb\nc\nd\n");
    let patch = "*** Update File: r\n@@\n-b\n+B1\n+B2\n*** Update File: r\n@@\n-d\n+D\n\
        *** Update File: r\n@@\n-a\n*** Move File: r -> s\n*** Update File: s\n@@\n-B2\n+x\n+y\n";
    let answer = apply(&place, patch).await;
    assert_eq!(text(&place, "s").as_deref(), Some("B1\nx\ny\nc\nD\n"), "{answer}");
    let ranges = answer["line_ranges"].as_array().unwrap();
    let lines = |key: &str| ranges.iter().map(|range| range[key].clone()).collect::<Vec<Value>>();
    // The replacement of lines 1 and 2 is one range.
    assert_eq!(json!(lines("before")), json!([[2, 2], [4, 4], [1, 1], [1, 2]]));
    assert_eq!(json!(lines("after")), json!([[1, 3], [5, 5], [1, 0], [2, 3]]));
}

#[tokio::test]
async fn refusals_speak_of_the_format_of_the_patch() {
    let place = Place::new();
    place.write("f", "x\ny\nx\n");
    let refused = async |patch: &str| {
        let answer = apply(&place, patch).await;
        let said = |key: &str| answer[key].as_str().unwrap_or_default().to_owned();
        assert!(answer.get("success").is_none(), "{answer}");
        (said("error"), said("hint"))
    };
    let (error, hint) = refused("f\n<<<<<<< SEARCH\nx\n=======\nz\n>>>>>>> REPLACE\n").await;
    assert!(error.contains("The block for") && hint.contains("into SEARCH"), "{error} {hint}");
    assert!(!hint.contains("@@"), "{hint}");
    let (_, hint) = refused("--- a/f\n+++ b/f\n@@ -9 +9 @@\n-x\n+z\n").await;
    assert!(hint.contains("context lines") && !hint.contains("SEARCH"), "{hint}");
    let (_, hint) = refused("*** Update File: f\n@@\n-x\n+z\n").await;
    assert!(hint.contains("`@@ text"), "{hint}");
    let (error, hint) = refused("f\n<<<<<<< SEARCH\n=======\nz\n>>>>>>> REPLACE\n").await;
    assert!(error.contains("empty SEARCH") && !hint.contains("***"), "{error} {hint}");
    let (error, hint) = refused("--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+z\n").await;
    assert!(!error.contains("Add File") && hint.contains("`--- a/file`"), "{error} {hint}");
    let (error, hint) = refused("*** Add File: f\n+z\n").await;
    assert!(error.contains("Add File") && hint.contains("*** Update File:"), "{error} {hint}");
    let (_, hint) = refused("@@ -1 +1 @@\n-a\n+b\n").await;
    assert!(hint.contains("unified diff") && !hint.contains("V4A"), "{hint}");
    let blocks = "f\n<<<<<<< SEARCH\na\n=======\nb\n=======\nc\n>>>>>>> REPLACE\n";
    let (error, hint) = refused(blocks).await;
    assert!(!error.contains("old_string") && hint.contains("old_string"), "{error} {hint}");
}

#[tokio::test]
async fn changes_count_files_as_well() {
    let place = Place::new();
    place.write("d", "d\n");
    place.write("m", "m\n");
    let patch = "*** Add File: a\n+x\n*** Delete File: d\n*** Move File: m -> n\n";
    assert_eq!(apply(&place, patch).await["changes"], 3);
    assert_eq!(apply(&place, "*** Update File: a\n@@\n-x\n+y\n").await["changes"], 1);
}

#[tokio::test]
async fn modes_are_set_and_other_kinds_refused() {
    let place = Place::new();
    let diff = "diff --git a/run b/run\nnew file mode 100755\n--- /dev/null\n+++ b/run\n@@ -0,0 +1 @@\n+x\n";
    let answer = apply(&place, diff).await;
    assert!(answer.get("error").is_none(), "{answer}");
    let mode = |name: &str| fs::metadata(place.path().join(name)).unwrap().permissions().mode();
    assert_eq!(mode("run") & 0o100, 0o100);
    let answer = apply(&place, &diff.replace("run", "ln").replace("100755", "120000")).await;
    assert_eq!(answer["kind"], "invalid_arguments", "{answer}");
    assert_eq!((text(&place, "run").as_deref(), text(&place, "ln")), (Some("x\n"), None));
}

#[tokio::test]
async fn a_change_of_mode_alone_is_made() {
    let place = Place::new();
    let mode =
        |name: &str| fs::metadata(place.path().join(name)).unwrap().permissions().mode() & 0o777;
    for (name, bits) in [("r.sh", 0o640), ("p", 0o755), ("data", 0o644), ("old", 0o600)] {
        place.write(name, if name == "data" { &b"\x7FELF\0\0\xFF"[..] } else { b"echo\n" });
        fs::set_permissions(place.path().join(name), fs::Permissions::from_mode(bits)).unwrap();
    }
    let diff = "diff --git a/r.sh b/r.sh\nold mode 100644\nnew mode 100755\n\
        diff --git a/p b/p\nold mode 100755\nnew mode 100644\n--- a/p\n+++ b/p\n@@ -1 +1 @@\n-echo\n+ls\n\
        diff --git a/data b/data\nold mode 100644\nnew mode 100755\n\
        diff --git a/old b/new\nold mode 100644\nnew mode 100755\nsimilarity index 100%\nrename from old\nrename to new\n";
    let answer = apply(&place, diff).await;
    assert!(answer.get("error").is_none(), "{answer}");
    assert_eq!([mode("r.sh"), mode("p"), mode("data"), mode("new")], [0o750, 0o644, 0o755, 0o700]);
    assert_eq!(text(&place, "p").as_deref(), Some("ls\n"));
    assert_eq!(text(&place, "r.sh").as_deref(), Some("echo\n"));
    assert_eq!(fs::read(place.path().join("data")).unwrap(), b"\x7FELF\0\0\xFF");
    assert!(!place.path().join("old").exists());
    assert!(answer["diff"].as_str().unwrap().contains("new mode 100755"), "{answer}");
    // The second time there is nothing left to do; and the file must exist.
    let alone = "diff --git a/r.sh b/r.sh\nold mode 100644\nnew mode 100755\n";
    assert!(apply(&place, alone).await["error"].is_string());
    let missing = apply(&place, &alone.replace("r.sh", "none")).await;
    assert_eq!(missing["kind"], "not_found", "{missing}");
}

#[tokio::test]
async fn the_end_of_a_file_stays_when_the_patch_is_wrong_about_it() {
    let place = Place::new();
    place.write("f", "a\nc\n");
    let diff = "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-a\n+b\n c\n\\ No newline at end of file\n";
    let answer = apply(&place, diff).await;
    assert!(answer["warnings"][0].as_str().unwrap().contains("was kept"), "{answer}");
    assert_eq!(text(&place, "f").as_deref(), Some("b\nc\n"));
    place.write("f", "a\nc\nd\n");
    let answer = apply(&place, diff).await;
    assert!(answer["hint"].as_str().unwrap().contains("lines 1-2"), "{answer}");
    assert_eq!(text(&place, "f").as_deref(), Some("a\nc\nd\n"));
}

#[tokio::test]
async fn added_lines_end_as_a_mixed_patch_says() {
    let place = Place::new();
    place.write("f", "a\nb\r\nc\n");
    let diff = "--- a/f\n+++ b/f\n@@ -1,3 +1,4 @@\n a\n b\r\n+n\r\n c\n";
    let answer = apply(&place, diff).await;
    assert_eq!((&answer["success"], answer.get("warnings")), (&json!(true), None), "{answer}");
    assert_eq!(text(&place, "f").as_deref(), Some("a\nb\r\nn\r\nc\n"));
    let diff = "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+A\r\n";
    place.write("f", "a\nb\nc\r\n");
    let answer = apply(&place, diff).await;
    assert!(answer["warnings"][0].as_str().unwrap().contains("CRLF"), "{answer}");
    assert_eq!(text(&place, "f").as_deref(), Some("A\r\nb\nc\r\n"));
}

#[tokio::test]
async fn a_mixed_patch_brings_no_new_ending_into_a_file() {
    let place = Place::new();
    place.write("f", "a\nb\n");
    let answer = apply(&place, "--- a/f\n+++ b/f\n@@ -1 +1,2 @@\n-a\n+A\r\n+B\r\n").await;
    assert_eq!((&answer["success"], answer.get("warnings")), (&json!(true), None), "{answer}");
    assert_eq!(text(&place, "f").as_deref(), Some("A\nB\nb\n"));
}

#[tokio::test]
async fn deleting_a_link_deletes_the_link() {
    let place = linked();
    symlink("nowhere", place.path().join("dangling")).unwrap();
    let arguments = json!({"patch": "*** Delete File: ln\n*** Delete File: dangling\n"});
    let judged = |entry: bool| {
        let effects = place.effects("patch", arguments.clone());
        let grants = effects.into_iter().map(|effect| {
            let path = effect.resource.as_path().unwrap();
            let is_entry = entry && effect.scope == Scope::FILE_DELETE;
            let real = if is_entry { real_entry(path) } else { real_path(path) };
            Grant { real_path: Some(real.unwrap()), effect }
        });
        Grants::new(grants.collect())
    };
    let refused = place.call_within(judged(false), "patch", arguments.clone()).await;
    assert_eq!(refused["kind"], "denied", "{refused}");
    assert!(refused["error"].as_str().unwrap().contains("is a symlink"), "{refused}");
    let answer = place.call_within(judged(true), "patch", arguments.clone()).await;
    assert_eq!(answer["files_deleted"].as_array().map(Vec::len), Some(2), "{answer}");
    assert_eq!((link(&place, "ln"), link(&place, "dangling")), (None, None));
    assert_eq!(text(&place, "a").as_deref(), Some("one\n"));
}

#[tokio::test]
async fn a_diff_deletes_a_link_by_where_it_leads() {
    let place = linked();
    let diff = |target: &str| {
        format!(
            "diff --git a/ln b/ln\ndeleted file mode 120000\n--- a/ln\n+++ /dev/null\n@@ -1 +0,0 @@\n-{target}\n\\ No newline at end of file\n"
        )
    };
    let answer = apply(&place, &diff("one")).await;
    assert_eq!(answer["kind"], "conflict", "{answer}");
    assert_eq!(apply(&place, &diff("a")).await["success"], true);
    assert_eq!((link(&place, "ln"), text(&place, "a").as_deref()), (None, Some("one\n")));
}

#[tokio::test]
async fn moving_a_link_moves_the_link() {
    let place = linked();
    let answer = apply(&place, "*** Move File: ln -> other\n").await;
    assert_eq!((&answer["success"], answer.get("warnings")), (&json!(true), None), "{answer}");
    assert_eq!((link(&place, "ln"), link(&place, "other")), (None, Some("a".into())));
    let answer = apply(&place, "*** Move File: other -> sub/ln\n").await;
    assert!(answer["warnings"][0].as_str().unwrap().contains("leads elsewhere"), "{answer}");
    assert_eq!(link(&place, "sub/ln"), Some("a".into()));
    let answer = apply(&place, "*** Move File: sub/ln -> a\n").await;
    assert_eq!(answer["kind"], "conflict", "{answer}");
    assert_eq!(text(&place, "a").as_deref(), Some("one\n"));
}

#[tokio::test]
async fn an_update_through_a_link_keeps_the_link() {
    let place = linked();
    let answer = apply(&place, "*** Update File: ln\n-one\n+two\n").await;
    assert_eq!(answer["success"], true, "{answer}");
    assert_eq!(
        (link(&place, "ln"), text(&place, "a").as_deref()),
        (Some("a".into()), Some("two\n"))
    );
}

#[tokio::test]
async fn a_link_and_its_file_are_one() {
    let place = linked();
    let refused = |patch: &'static str| {
        let place = &place;
        async move {
            let answer = apply(place, patch).await;
            assert_eq!(answer["kind"], "invalid_arguments", "{patch}: {answer}");
            assert_eq!(text(place, "a").as_deref(), Some("one\n"), "{patch}");
            assert_eq!(link(place, "ln"), Some("a".into()), "{patch}");
            answer["error"].as_str().unwrap().to_owned()
        }
    };
    let error =
        refused("*** Update File: a\n-one\n+two\n*** Update File: ln\n-one\n+three\n").await;
    assert!(error.contains("same file"), "{error}");
    for patch in [
        "*** Delete File: ln\n*** Add File: ln\n+new\n",
        "*** Update File: ln\n-one\n+two\n*** Delete File: ln\n",
        "*** Update File: ln\n*** Move to: x\n-one\n+two\n",
        "*** Move File: ln -> x\n*** Update File: x\n-one\n+two\n",
        "*** Delete File: ln\n*** Delete File: ln\n",
        "*** Delete File: ln\n*** Move File: a -> ln\n",
    ] {
        let error = refused(patch).await;
        assert!(error.contains("is a symbolic link"), "{patch}: {error}");
    }
    // Only the symlink is deleted, only its target changes: no conflict.
    let answer = apply(&place, "*** Delete File: ln\n*** Update File: a\n-one\n+two\n").await;
    assert_eq!(answer["success"], true, "{answer}");
    assert_eq!((link(&place, "ln"), text(&place, "a").as_deref()), (None, Some("two\n")));
}

#[tokio::test]
async fn what_is_not_found_is_explained_truly() {
    let place = Place::new();
    place.write("f", "x2y\n");
    let answer = apply(&place, "f\n<<<<<<< SEARCH\n2\n=======\n3\n>>>>>>> REPLACE\n").await;
    let hint = answer["hint"].as_str().unwrap();
    assert!(hint.contains("whole lines") && !hint.contains("case"), "{answer}");
    let diff = "--- a/f\n+++ b/f\n@@ -1,0 +2,2 @@\n+a\n+b\n";
    let answer = apply(&place, diff).await;
    assert!(answer["hint"].as_str().unwrap().contains("git diff -U3"), "{answer}");
    let large: String = (0..600_000).map(|n| format!("alpha beta {n:06}\n")).collect();
    place.write("large", large);
    let arguments = json!({"path": "large", "old_string": "alpha bxta 000007\nalpha bxta 000008", "new_string": "x"});
    let answer = place.call("patch", arguments).await;
    assert!(answer["hint"].as_str().unwrap().contains("too large"), "{answer}");
}
