//! Patches of several files, in every format.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;

use hermes_core::{Effect, Grants, Scope};
use serde_json::{Value, json};

use crate::harness::Place;

async fn apply(place: &Place, patch: &str) -> Value {
    place.call("patch", json!({"patch": patch})).await
}

fn text(place: &Place, name: &str) -> Option<String> {
    fs::read_to_string(place.path().join(name)).ok()
}

#[tokio::test]
async fn effects_name_every_file_of_the_patch() {
    let place = Place::new();
    let at = |name: &str| place.path().join(name);
    let patch = "*** Begin Patch\n*** Update File: u\n-a\n+b\n*** Add File: a\n+x\n*** Delete File: d\n*** Move File: m -> n\n*** End Patch";
    let effects = place.effects("patch", json!({"patch": patch}));
    for (scope, names) in [
        (Scope::FILE_READ, &["u", "a", "d", "m", "n"][..]),
        (Scope::FILE_WRITE, &["u", "a", "n"]),
        (Scope::FILE_DELETE, &["d", "m"]),
    ] {
        let mut found: Vec<&Effect> = effects.iter().filter(|e| e.scope == scope).collect();
        for name in names {
            let expected = Effect::path(scope.clone(), at(name));
            assert!(found.contains(&&expected), "{scope} {name}: {effects:?}");
            found.retain(|e| **e != expected);
        }
        assert!(found.is_empty(), "{found:?}");
    }
    let effects = place.effects("patch", json!({"patch": patch, "dry_run": true}));
    assert!(effects.iter().all(|effect| effect.scope == Scope::FILE_READ));
    let diff = "diff --git \"a/t\\303\\244.txt\" \"b/t\\303\\244.txt\"\n--- \"a/t\\303\\244.txt\"\n+++ \"b/t\\303\\244.txt\"\n@@ -1 +1 @@\n-a\n+b\n";
    let effects = place.effects("patch", json!({"patch": diff}));
    assert!(effects.contains(&Effect::path(Scope::FILE_WRITE, at("tä.txt"))), "{effects:?}");
    assert!(place.effects("patch", json!({"patch": "nonsense"})).is_empty());
}

#[tokio::test]
async fn the_declared_effects_are_enough_and_needed() {
    let place = Place::new();
    place.write("u", "a\n");
    place.write("m", "m\n");
    place.write("d", "d\n");
    let arguments = json!({"patch": "*** Update File: u\n-a\n+b\n*** Move File: m -> sub/n\n*** Delete File: d\n"});
    let effects = place.effects("patch", arguments.clone());
    for left_out in 0..effects.len() {
        let mut fewer = effects.clone();
        fewer.remove(left_out);
        let refused =
            place.call_within(Grants::from_effects(&fewer), "patch", arguments.clone()).await;
        assert_eq!(refused["kind"], "denied", "without {}: {refused}", effects[left_out]);
        assert_eq!(text(&place, "u").as_deref(), Some("a\n"));
    }
    let answer = place.call_within(Grants::from_effects(&effects), "patch", arguments).await;
    assert_eq!(answer["success"], true, "{answer}");
    assert_eq!(text(&place, "sub/n").as_deref(), Some("m\n"));
    assert_eq!(text(&place, "d"), None);
}

#[tokio::test]
async fn a_similar_hunk_nearby_is_not_taken() {
    let place = Place::new();
    let content = "def a():\n    x = 1\n    return x\n\ndef b():\n    x = 2\n    return x\n";
    place.write("f.py", content);
    let answer = apply(
        &place,
        "*** Update File: f.py\n@@ def a():\n     x = 2\n-    return x\n+    return y\n",
    )
    .await;
    assert_eq!(answer["kind"], "invalid_arguments", "{answer}");
    assert_eq!(text(&place, "f.py").as_deref(), Some(content));
}

#[tokio::test]
async fn lines_to_add_go_behind_their_hint_or_to_the_end() {
    let place = Place::new();
    place.write("f.py", "import os\nimport sys\n\nmain()\n");
    let answer = apply(&place, "*** Update File: f.py\n@@ import os\n+import re\n").await;
    assert_eq!(answer["success"], true, "{answer}");
    assert_eq!(
        text(&place, "f.py").as_deref(),
        Some("import os\nimport re\nimport sys\n\nmain()\n")
    );
    let answer = apply(&place, "*** Update File: f.py\n@@\n+import json\n").await;
    assert_eq!(answer["success"], true, "{answer}");
    assert!(text(&place, "f.py").unwrap().ends_with("main()\nimport json\n"), "{answer}");
    let answer = apply(&place, "--- a/f.py\n+++ b/f.py\n@@ -1,0 +2 @@\n+import csv\n").await;
    assert_eq!(answer["kind"], "invalid_arguments", "{answer}");
}

#[tokio::test]
async fn an_empty_line_in_a_hunk_is_context() {
    let place = Place::new();
    place.write("f", "a\n\nb\n");
    let answer =
        apply(&place, "*** Begin Patch\n*** Update File: f\n@@\n a\n\n-b\n+c\n*** End Patch\n")
            .await;
    assert_eq!(answer["success"], true, "{answer}");
    assert_eq!(text(&place, "f").as_deref(), Some("a\n\nc\n"));
}

#[tokio::test]
async fn an_added_file_ends_with_a_newline_and_never_replaces_another() {
    let place = Place::new();
    let answer = apply(&place, "*** Add File: new/deep/f.txt\n+one\n+two\n").await;
    assert_eq!(answer["files_created"].as_array().unwrap().len(), 1, "{answer}");
    assert_eq!(answer["dirs_created"].as_array().unwrap().len(), 2, "{answer}");
    assert_eq!(text(&place, "new/deep/f.txt").as_deref(), Some("one\ntwo\n"));
    let answer = apply(&place, "*** Add File: new/deep/f.txt\n+three\n").await;
    assert_eq!(answer["kind"], "conflict", "{answer}");
    assert_eq!(text(&place, "new/deep/f.txt").as_deref(), Some("one\ntwo\n"));
    place.write("g", "g\n");
    let answer = apply(&place, "*** Move File: g -> new/deep/f.txt\n").await;
    assert_eq!(answer["kind"], "conflict", "{answer}");
    assert_eq!(text(&place, "g").as_deref(), Some("g\n"));
}

#[tokio::test]
async fn operations_on_one_file_are_done_in_order() {
    let place = Place::new();
    place.write("f", "a\nb\n");
    place.write("g", "g\n");
    let patch = "*** Begin Patch\n*** Update File: f\n-a\n+x\n*** Update File: f\n-x\n+y\n*** Move File: f -> h\n*** Update File: h\n-b\n+z\n*** Delete File: g\n*** Add File: g\n+new\n*** End Patch";
    let answer = apply(&place, patch).await;
    assert_eq!(answer["success"], true, "{answer}");
    assert_eq!((text(&place, "f"), text(&place, "h").as_deref()), (None, Some("y\nz\n")));
    assert_eq!(text(&place, "g").as_deref(), Some("new\n"));
    assert_eq!(answer["files_moved"].as_array().unwrap().len(), 1, "{answer}");
}

#[tokio::test]
async fn files_can_change_places() {
    let place = Place::new();
    place.write("a", "A\n");
    place.write("b", "B\n");
    let answer =
        apply(&place, "*** Move File: a -> t\n*** Move File: b -> a\n*** Move File: t -> b\n")
            .await;
    assert_eq!(answer["success"], true, "{answer}");
    assert_eq!(
        (text(&place, "a").as_deref(), text(&place, "b").as_deref()),
        (Some("B\n"), Some("A\n"))
    );
    assert_eq!(text(&place, "t"), None);
}

#[tokio::test]
async fn all_files_or_none() {
    let place = Place::new();
    place.write("a", "a\n");
    place.write("c", "c\n");
    let patch = "*** Update File: a\n-a\n+A\n*** Add File: b\n+b\n*** Delete File: c\n*** Update File: d\n-d\n+D\n";
    let answer = apply(&place, patch).await;
    assert_eq!(answer["kind"], "not_found", "{answer}");
    place.write("d", "other\n");
    let answer = apply(&place, patch).await;
    assert_eq!(answer["kind"], "not_found", "{answer}");
    assert_eq!((text(&place, "a").as_deref(), text(&place, "b")), (Some("a\n"), None));
    assert_eq!(text(&place, "c").as_deref(), Some("c\n"));
    // A failure while writing rolls back earlier changes.
    fs::create_dir(place.path().join("ro")).unwrap();
    place.write("ro/x", "x\n");
    fs::set_permissions(place.path().join("ro/x"), fs::Permissions::from_mode(0o444)).unwrap();
    let answer = apply(
        &place,
        "*** Update File: a\n-a\n+A\n*** Add File: b\n+b\n*** Update File: ro/x\n-x\n+y\n",
    )
    .await;
    assert_eq!(answer["kind"], "denied", "{answer}");
    assert_eq!((text(&place, "a").as_deref(), text(&place, "b")), (Some("a\n"), None));
}

#[tokio::test]
async fn a_path_that_is_nearly_right_is_told() {
    let place = Place::new();
    place.write("src/deep/a.rs", "one\n");
    place.write("top.rs", "one\n");
    let outside = place.path().strip_prefix("/").unwrap().join("src/deep/a.rs");
    let root = place.path().file_name().unwrap().to_str().unwrap();
    for (written, meant) in [
        ("a/src/deep/a.rs", "src/deep/a.rs"),
        ("src\\deep\\a.rs", "src/deep/a.rs"),
        ("engine/src/deep/a.rs", "src/deep/a.rs"),
        (outside.to_str().unwrap(), "src/deep/a.rs"),
        ("b/top.rs", "top.rs"),
        (&format!("{root}/top.rs"), "top.rs"),
    ] {
        let patch = format!("*** Update File: {written}\n-one\n+two\n");
        let answer = apply(&place, &patch).await;
        assert_eq!(answer["kind"], "not_found", "{answer}");
        assert_eq!(answer["similar_files"], json!([meant]), "{answer}");
        assert!(answer["hint"].as_str().unwrap().contains(meant), "{answer}");
    }
    let answer = apply(&place, "*** Update File: other/top.rs\n-one\n+two\n").await;
    assert!(!answer["hint"].as_str().unwrap().contains("'top.rs'"), "{answer}");
}

#[tokio::test]
async fn lines_that_stay_without_their_space_are_told() {
    let place = Place::new();
    place.write("f", "fn a() {\n    fn b() {\n        c\n    }\n}\n");
    let hunk = "@@\n    fn b() {\n-        c\n+        d\n    }\n";
    let answer = apply(&place, &format!("*** Update File: f\n{hunk}")).await;
    assert!(answer["hint"].as_str().unwrap().contains("one more space"), "{answer}");
    let repaired = hunk.replace("\n    ", "\n     ");
    let answer = apply(&place, &format!("*** Update File: f\n{repaired}")).await;
    assert_eq!(answer["success"], true, "{answer}");
}

#[tokio::test]
async fn a_hunk_that_fails_says_that_the_others_were_not_made() {
    let place = Place::new();
    place.write("f", "a\nb\n");
    let answer = apply(&place, "*** Update File: f\n@@\n-a\n+x\n@@\n-c\n+y\n").await;
    assert!(answer["changed"].as_str().unwrap().starts_with("nothing"), "{answer}");
    assert_eq!(text(&place, "f").unwrap(), "a\nb\n");
    let answer = apply(&place, "*** Update File: f\n@@\n-c\n+y\n").await;
    assert!(answer.get("changed").is_none(), "{answer}");
}

#[tokio::test]
async fn binary_files_are_moved_and_deleted_but_not_patched() {
    let place = Place::new();
    let bytes = b"\x00\x01\x02binary\x00";
    place.write("x.bin", bytes);
    let answer = place
        .call("patch", json!({"path": "x.bin", "old_string": "binary", "new_string": "x"}))
        .await;
    assert_eq!((&answer["kind"], &answer["binary"]), (&json!("invalid_arguments"), &json!(true)));
    let answer = apply(&place, "*** Move File: x.bin -> y.bin\n").await;
    assert_eq!(answer["success"], true, "{answer}");
    assert_eq!(fs::read(place.path().join("y.bin")).unwrap(), bytes);
    let answer = apply(&place, "*** Delete File: y.bin\n").await;
    assert_eq!(answer["files_deleted"].as_array().unwrap().len(), 1, "{answer}");
}

#[tokio::test]
async fn unified_diffs_and_blocks_are_recognised() {
    let place = Place::new();
    place.write("src/a.rs", "fn a() {\n    1\n}\n");
    let diff = "diff --git a/src/a.rs b/src/a.rs\n--- a/src/a.rs\n+++ b/src/a.rs\n@@ -1,3 +1,3 @@\n fn a() {\n-    1\n+    2\n }\ndiff --git a/gone b/gone\ndeleted file mode 100644\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n";
    place.write("gone", "changed\n");
    let answer = apply(&place, diff).await;
    assert_eq!(answer["kind"], "conflict", "what goes must be what is there: {answer}");
    place.write("gone", "gone\n");
    let answer = apply(&place, diff).await;
    assert_eq!(
        (&answer["success"], &answer["format"]),
        (&json!(true), &json!("unified")),
        "{answer}"
    );
    assert_eq!(text(&place, "gone"), None);
    let blocks = "src/a.rs\n```rust\n<<<<<<< SEARCH\n    2\n=======\n    3\n>>>>>>> REPLACE\n```\n";
    let answer = apply(&place, blocks).await;
    assert_eq!(answer["format"], "search_replace", "{answer}");
    assert_eq!(text(&place, "src/a.rs").as_deref(), Some("fn a() {\n    3\n}\n"));
    let arguments = json!({"path": "src/a.rs", "patch": "<<<<<<< SEARCH\n    3\n=======\n    4\n>>>>>>> REPLACE\n"});
    assert_eq!(place.call("patch", arguments).await["success"], true);
    let answer = apply(&place, "diff --git a/x b/x\nGIT binary patch\nliteral 1\n").await;
    assert!(answer["error"].as_str().unwrap().contains("binary"), "{answer}");
}

#[tokio::test]
async fn the_diff_of_an_answer_is_a_patch() {
    let place = Place::new();
    place.write("m", "one\ntwo\n");
    place.write("odd \"name\"\n", "a\n");
    place.write("d", "gone");
    let patch =
        "*** Update File: m\n*** Move to: n\n-one\n+1\n*** Delete File: d\n*** Add File: new\n+x\n";
    let first = apply(&place, patch).await;
    let arguments = json!({"path": "odd \"name\"\n", "old_string": "a", "new_string": "b"});
    let second = place.call("patch", arguments).await;
    let other = Place::new();
    other.write("m", "one\ntwo\n");
    other.write("odd \"name\"\n", "a\n");
    other.write("d", "gone");
    for answer in [first, second] {
        let again = apply(&other, answer["diff"].as_str().unwrap()).await;
        assert_eq!(again["success"], true, "{answer} {again}");
    }
    for name in ["m", "n", "new", "d", "odd \"name\"\n"] {
        assert_eq!(text(&place, name), text(&other, name), "{name}");
    }
}

#[tokio::test]
async fn the_path_argument_completes_the_name_in_a_header() {
    let place = Place::new();
    place.write("deep/src/a.rs", "a\n");
    let arguments = json!({"path": "deep/src/a.rs", "patch": "--- a/src/a.rs\n+++ b/src/a.rs\n@@ -1 +1 @@\n-a\n+b\n"});
    assert_eq!(place.call("patch", arguments).await["success"], true);
    assert_eq!(text(&place, "deep/src/a.rs").as_deref(), Some("b\n"));
}

#[tokio::test]
async fn the_diff_of_any_name_is_a_patch() {
    let place = Place::new();
    let elsewhere = Place::new();
    let odd = place.path().join(std::ffi::OsStr::from_bytes(b"bad\xFF"));
    fs::write(&odd, "a\n").unwrap();
    elsewhere.write("far", "a\n");
    let far = elsewhere.path().join("far");
    let far = far.to_str().unwrap();
    let patch = format!(
        "--- \"a/bad\\377\"\n+++ \"b/bad\\377\"\n@@ -1 +1 @@\n-a\n+b\n--- {far}\n+++ {far}\n@@ -1 +1 @@\n-a\n+b\n"
    );
    let done = apply(&place, &patch).await;
    assert_eq!(fs::read_to_string(&odd).unwrap(), "b\n", "{done}");
    assert_eq!(text(&elsewhere, "far").as_deref(), Some("b\n"));
    assert_eq!(done["diff"], patch, "as it was given");
}

#[tokio::test]
async fn the_diff_of_a_new_file_is_a_patch() {
    let place = Place::new();
    let run = "diff --git a/run b/run\nnew file mode 100755\n--- /dev/null\n+++ b/run\n@@ -0,0 +1 @@\n+x\n";
    let done = apply(&place, run).await;
    assert_eq!(done["diff"], run);
    let empty = "diff --git a/none b/none\nnew file mode 100644\n";
    let done = apply(&place, empty).await;
    assert_eq!((&done["diff"], text(&place, "none").as_deref()), (&json!(empty), Some("")));
    let gone = "diff --git a/none b/none\ndeleted file mode 100644\n";
    let done = apply(&place, gone).await;
    assert_eq!((&done["diff"], text(&place, "none")), (&json!(gone), None));
}

#[tokio::test]
async fn the_file_that_is_named_is_changed_and_no_other() {
    let block = |name: &str| format!("{name}\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n");
    let update = |name: &str| format!("*** Update File: {name}\n@@\n-a\n+b\n");
    let diff = |name: &str| format!("--- a/{name}\t\n+++ b/{name}\t\n@@ -1 +1 @@\n-a\n+b\n");
    for (name, patch) in [
        ("#h#", block("#h#")),
        ("h:", block("h:")),
        ("\"h\"", update("\"h\"")),
        ("h ", update("h ")),
        ("h ", diff("h ")),
    ] {
        let place = Place::new();
        place.write(name, "a\n");
        place.write("h", "a\n");
        let done = apply(&place, &patch).await;
        assert_eq!(text(&place, name).as_deref(), Some("b\n"), "{patch}: {done}");
        assert_eq!(text(&place, "h").as_deref(), Some("a\n"), "{patch}: {done}");
        let named = place.effects("patch", json!({"patch": &patch}));
        let path = place.path().join(name);
        assert!(named.iter().all(|effect| effect.resource.as_path() == Some(&path)), "{named:?}");
        // Decoration around a name is ignored if no file has that name.
        fs::remove_file(&path).unwrap();
        apply(&place, &patch).await;
        assert_eq!(text(&place, "h").as_deref(), Some("b\n"), "{patch}");
    }
    let place = Place::new();
    place.write("h ", "a\n");
    place.write("h", "a\n");
    apply(&place, "*** Begin Patch\n*** Delete File: h \n*** End Patch").await;
    assert_eq!((text(&place, "h "), text(&place, "h").as_deref()), (None, Some("a\n")));
}

#[tokio::test]
async fn the_diff_of_a_name_with_blanks_says_where_it_ends() {
    let place = Place::new();
    place.write("h ", "a\n");
    let edit = json!({"path": "h ", "old_string": "a", "new_string": "b"});
    let done = place.call("patch", edit).await;
    assert_eq!(done["diff"], "--- a/h \t\n+++ b/h \t\n@@ -1 +1 @@\n-a\n+b\n");
    let written = place.call("write_file", json!({"path": "h ", "content": "c\n"})).await;
    let diff = written["diff"].as_str().unwrap();
    assert!(diff.starts_with("--- a/h \t\n+++ b/h \t\n"), "{diff}");
    place.write("h ", "b\n");
    let again = apply(&place, diff).await;
    assert_eq!(text(&place, "h ").as_deref(), Some("c\n"), "{again}");
    let new = "--- /dev/null\n+++ b/i \t\n@@ -0,0 +1 @@\n+x\n";
    assert_eq!(apply(&place, new).await["diff"], new);
    assert_eq!(text(&place, "i ").as_deref(), Some("x\n"));
}

#[tokio::test]
async fn a_file_in_the_way_of_a_folder_is_told_truly() {
    let place = Place::new();
    let both = apply(&place, "*** Add File: a\n+x\n*** Add File: a/b\n+y\n").await;
    assert_eq!(both["kind"], "invalid_arguments", "{both}");
    assert!(both["error"].as_str().unwrap().contains("cannot be a directory for"), "{both}");
    assert_eq!(text(&place, "a"), None);
    place.write("a", "old\n");
    for patch in [
        "*** Delete File: a\n*** Add File: a/b\n+y\n",
        "*** Add File: a/b\n+y\n*** Delete File: a\n",
        "*** Move File: a -> a/b\n",
    ] {
        let refused = apply(&place, patch).await;
        assert!(refused["hint"].as_str().unwrap().contains("two calls"), "{refused}");
        assert_eq!(text(&place, "a").as_deref(), Some("old\n"), "{patch}");
    }
    // A directory is no obstacle.
    place.write("d/x", "x\n");
    assert_eq!(
        apply(&place, "*** Delete File: d/x\n*** Add File: d/y\n+y\n").await["success"],
        true
    );
}

#[tokio::test]
async fn a_hunk_that_is_not_at_the_end_of_the_file_is_warned_of() {
    let place = Place::new();
    place.write("f", "x\ny\n");
    let done = apply(&place, "*** Update File: f\n@@\n-x\n*** End of File\n").await;
    assert!(done["warnings"][0].as_str().unwrap().contains("End of File"), "{done}");
    assert_eq!(text(&place, "f").as_deref(), Some("y\n"));
}
