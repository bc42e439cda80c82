use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use hermes_core::{Effect, Grants, Scope, ToolContext};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::harness::{Place, check_examples, tool};

/// One replacement in a file of this content: the answer, and what the file
/// holds then.
async fn replace(content: impl AsRef<[u8]>, arguments: Value) -> (Value, Vec<u8>) {
    let place = Place::new();
    let path = place.write("file.txt", content);
    let mut arguments = arguments;
    arguments["path"] = json!("file.txt");
    let answer = place.call("patch", arguments).await;
    (answer, fs::read(path).unwrap())
}

fn old_new(old: &str, new: &str) -> Value {
    json!({"old_string": old, "new_string": new})
}

async fn apply(place: &Place, patch: &str) -> Value {
    place.call("patch", json!({"patch": patch})).await
}

fn text(place: &Place, name: &str) -> Option<String> {
    fs::read_to_string(place.path().join(name)).ok()
}

#[tokio::test]
async fn examples_hold() {
    check_examples("patch").await;
}

#[tokio::test]
async fn the_answer_tells_strategy_lines_diff_and_hash() {
    let place = Place::new();
    let path = place.write("a b.txt", "one\ntwo\nthree\n");
    let arguments = json!({"path": "a b.txt", "old_string": "two", "new_string": "2\n2b"});
    let answer = place.call("patch", arguments).await;
    let shown = path.to_string_lossy();
    assert_eq!(answer["success"], true);
    assert_eq!(answer["strategy"], "exact");
    assert_eq!(answer["verified"], true);
    assert_eq!(answer["files_modified"], json!([shown]));
    assert_eq!(answer["resolved_path"], json!(shown));
    assert_eq!(
        answer["line_ranges"],
        json!([{"strategy": "exact", "before": [2, 2], "after": [2, 3]}])
    );
    let diff = "--- a/a b.txt\n+++ b/a b.txt\n@@ -1,3 +1,4 @@\n one\n-two\n+2\n+2b\n three\n";
    assert_eq!(answer["diff"], diff);
    assert_eq!(answer["hashes"][0]["hash"].as_str().unwrap().len(), 16);
    assert_eq!(fs::read_to_string(path).unwrap(), "one\n2\n2b\nthree\n");
    assert!(answer.get("warnings").is_none(), "{answer}");
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
        let refused = place.call_within(Grants::of(&fewer), "patch", arguments.clone()).await;
        assert_eq!(refused["kind"], "denied", "without {}: {refused}", effects[left_out]);
        assert_eq!(text(&place, "u").as_deref(), Some("a\n"));
    }
    let answer = place.call_within(Grants::of(&effects), "patch", arguments).await;
    assert_eq!(answer["success"], true, "{answer}");
    assert_eq!(text(&place, "sub/n").as_deref(), Some("m\n"));
    assert_eq!(text(&place, "d"), None);
}

// Named after what went wrong elsewhere.

#[tokio::test]
async fn a_similar_line_is_not_replaced() {
    let (answer, content) =
        replace("a\ntimeout = 30\nb\n", old_new("timeout = 31", "timeout = 60")).await;
    assert_eq!(answer["kind"], "not_found");
    assert_eq!(content, b"a\ntimeout = 30\nb\n");
    assert_eq!(answer["nearest"]["difference"], "2|timeout = 3[-1-]{+0+}");
    assert_eq!(answer["nearest"]["text"], "timeout = 30");
    assert_eq!(answer["nearest"]["lines"], json!([2, 2]));
    assert!(answer["current_hash"].is_string());
}

#[tokio::test]
async fn a_block_whose_first_and_last_line_agree_is_not_replaced() {
    let content = "start()\nbeta(2)\nend()\n";
    let (answer, after) = replace(content, old_new("start()\nbeta(9)\nend()\n", "x\n")).await;
    assert_eq!(answer["kind"], "not_found", "{answer}");
    assert_eq!(after, content.as_bytes());
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
async fn indentation_is_not_doubled() {
    let content = "class A:\n    def f(self):\n        return 1\n";
    let new = "    def f(self):\n        return 2\n";
    let (answer, after) = replace(content, old_new("def f(self):\n    return 1\n", new)).await;
    assert_eq!(answer["kind"], "invalid_arguments", "{answer}");
    assert_eq!(after, content.as_bytes());
    let (answer, after) =
        replace(content, old_new("def f(self):\n    return 1\n", "def f(self):\n    return 2\n"))
            .await;
    assert_eq!(answer["strategy"], "indent_shift", "{answer}");
    assert_eq!(after, b"class A:\n    def f(self):\n        return 2\n");
}

#[tokio::test]
async fn escapes_in_the_new_text_stay_as_they_are() {
    let new = "path = r\"C:\\reports\\new\\table\"\nre = '\\\\d+\\n'";
    let (answer, after) = replace("path = 1\n", old_new("path = 1", new)).await;
    assert_eq!(answer["success"], true);
    assert_eq!(after, format!("{new}\n").as_bytes());
    let (answer, after) =
        replace("a = 1\nb = 2\n", old_new("a = 1\\nb = 2", "a = 1\\nb = 3")).await;
    assert_eq!(answer["kind"], "invalid_arguments", "a literal \\n is not written: {answer}");
    assert_eq!(after, b"a = 1\nb = 2\n");
}

#[tokio::test]
async fn lines_to_add_are_not_put_at_the_end() {
    let place = Place::new();
    place.write("f.py", "import os\nimport sys\n\nmain()\n");
    let answer = apply(&place, "*** Update File: f.py\n@@ import os\n+import re\n").await;
    assert_eq!(answer["success"], true, "{answer}");
    assert_eq!(
        text(&place, "f.py").as_deref(),
        Some("import os\nimport re\nimport sys\n\nmain()\n")
    );
    let answer = apply(&place, "*** Update File: f.py\n@@\n+import json\n").await;
    assert_eq!(answer["kind"], "invalid_arguments", "{answer}");
    assert!(answer["hint"].as_str().unwrap().contains("*** End of File"), "{answer}");
}

#[tokio::test]
async fn overlapping_lines_are_not_lost_by_replace_all() {
    let mut arguments = old_new("a\na", "b");
    arguments["replace_all"] = json!(true);
    let (answer, after) = replace("a \na \na \n", arguments).await;
    assert_eq!(answer["changes"], 1, "{answer}");
    assert_eq!(after, b"b\na \n");
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
    // A failure while writing puts back what was done.
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
async fn several_places_are_shown_with_their_surroundings() {
    let (answer, after) = replace("a\nx\nb\nc\nx\nd\n", old_new("x", "y")).await;
    assert_eq!(answer["kind"], "invalid_arguments");
    assert_eq!(answer["places"][0], json!({"lines": [2, 2], "context": "1|a\n2|x\n3|b\n4|c"}));
    assert_eq!(answer["places"][1]["lines"], json!([5, 5]));
    assert_eq!(after, b"a\nx\nb\nc\nx\nd\n");
    let place = Place::new();
    place.write("f", "x\n\nx\n");
    let answer = apply(&place, "*** Update File: f\n-x\n+y\n").await;
    assert_eq!(answer["places"].as_array().unwrap().len(), 2, "{answer}");
    assert!(answer["hint"].as_str().unwrap().contains("@@"), "{answer}");
}

#[tokio::test]
async fn replace_all_says_how_many_and_warns_of_parts_of_names() {
    let mut arguments = old_new("id", "key");
    arguments["replace_all"] = json!(true);
    let (answer, after) = replace("id = 1\nwidth = id\n", arguments).await;
    assert_eq!(after, b"key = 1\nwkeyth = key\n");
    assert_eq!(answer["changes"], 3);
    assert_eq!(answer["line_ranges"].as_array().unwrap().len(), 3);
    assert!(answer["warnings"][0].as_str().unwrap().contains("'width'"), "{answer}");
}

#[tokio::test]
async fn bytes_outside_of_the_edit_are_not_touched() {
    let utf16: Vec<u8> = [0xFF, 0xFE]
        .into_iter()
        .chain("año\r\nzwei\r\n".encode_utf16().flat_map(u16::to_le_bytes))
        .collect();
    let (answer, after) = replace(&utf16, old_new("zwei", "drei\nvier")).await;
    assert_eq!(answer["success"], true, "{answer}");
    let expected: Vec<u8> = [0xFF, 0xFE]
        .into_iter()
        .chain("año\r\ndrei\r\nvier\r\n".encode_utf16().flat_map(u16::to_le_bytes))
        .collect();
    assert_eq!(after, expected);
    let (_, after) = replace(b"\xEF\xBB\xBFa\r\nb\nc\r\n", old_new("b", "x")).await;
    assert_eq!(after, b"\xEF\xBB\xBFa\r\nx\nc\r\n");
    let latin = b"caf\xE9 cr\xE8me br\xFBl\xE9e \xE0 la fran\xE7aise\nprix = 1\n";
    let (_, after) = replace(latin, old_new("prix = 1", "prix = 2 \u{e9}")).await;
    assert_eq!(after, b"caf\xE9 cr\xE8me br\xFBl\xE9e \xE0 la fran\xE7aise\nprix = 2 \xE9\n");
    let (answer, after) = replace(latin, old_new("prix = 1", "prix ✓")).await;
    assert_eq!(answer["kind"], "invalid_arguments", "{answer}");
    assert_eq!(answer["character"], "✓");
    assert_eq!(after, latin);
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
async fn a_dry_run_writes_nothing() {
    let place = Place::new();
    place.write("f", "a\n");
    let arguments = json!({"path": "f", "old_string": "a", "new_string": "b", "dry_run": true});
    let grants = Grants::of(&place.effects("patch", arguments.clone()));
    let answer = place.call_within(grants, "patch", arguments).await;
    assert_eq!(answer["diff"], "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n");
    assert_eq!(answer["dry_run"], true);
    assert!(answer.get("verified").is_none());
    assert_eq!(text(&place, "f").as_deref(), Some("a\n"));
}

#[tokio::test]
async fn another_version_is_refused() {
    let place = Place::new();
    place.write("f", "a\n");
    let arguments = json!({"path": "f", "old_string": "a", "new_string": "b", "dry_run": true});
    let hash = place.call("patch", arguments).await["hashes"][0]["hash"].clone();
    let arguments = |hash: &Value| json!({"path": "f", "old_string": "a", "new_string": "b", "expected_hash": hash});
    let answer = place.call("patch", arguments(&hash)).await;
    assert_eq!(answer["kind"], "conflict", "{answer}");
    let current = answer["current_hash"].clone();
    assert_eq!(place.call("patch", arguments(&current)).await["success"], true);
    let answer = place
        .call(
            "patch",
            json!({"patch": "*** Delete File: f\n*** Add File: g\n+x\n", "expected_hash": hash}),
        )
        .await;
    assert_eq!(answer["kind"], "invalid_arguments", "{answer}");
}

#[tokio::test]
async fn strict_takes_exact_places_only() {
    let mut arguments = old_new("a\nb", "x");
    arguments["strict"] = json!(true);
    let (answer, _) = replace("a  \nb\n", arguments).await;
    assert_eq!(answer["kind"], "not_found", "{answer}");
}

#[tokio::test]
async fn what_is_missing_or_senseless_is_told() {
    let place = Place::new();
    place.write("f", "a\n");
    place.write("empty", "");
    for (arguments, kind, word) in [
        (json!({}), "invalid_arguments", "path is missing"),
        (json!({"path": "f"}), "invalid_arguments", "old_string is missing"),
        (json!({"path": "f", "old_string": "a"}), "invalid_arguments", "new_string is missing"),
        (json!({"mode": "patch"}), "invalid_arguments", "patch argument"),
        (
            json!({"path": "f", "old_string": "a", "new_string": "b", "patch": "x"}),
            "invalid_arguments",
            "Both",
        ),
        (json!({"path": "f", "old_string": "", "new_string": "b"}), "invalid_arguments", "empty"),
        (
            json!({"path": "f", "old_string": "a", "new_string": "a"}),
            "invalid_arguments",
            "the same",
        ),
        (json!({"path": "g", "old_string": "a", "new_string": "b"}), "not_found", "not found"),
        (json!({"patch": "*** Update File: ../x\n-a\n+b\n"}), "invalid_arguments", ".."),
        (json!({"patch": "hello"}), "invalid_arguments", "no patch"),
        (
            json!({"path": "f", "old_string": "a", "new_string": "b", "expected_hash": "xyz"}),
            "invalid_arguments",
            "hash",
        ),
        (json!({"path": ".", "old_string": "a", "new_string": "b"}), "invalid_arguments", "folder"),
    ] {
        let answer = place.call("patch", arguments.clone()).await;
        assert_eq!(answer["kind"], kind, "{arguments}: {answer}");
        let message = answer["error"].as_str().unwrap();
        assert!(message.contains(word), "{arguments}: {answer}");
    }
    for path in ["empty", "new"] {
        let answer =
            place.call("patch", json!({"path": path, "old_string": "", "new_string": "b"})).await;
        assert!(answer["hint"].as_str().unwrap().contains("write_file"), "{answer}");
    }
}

#[tokio::test]
async fn the_mode_follows_from_what_is_given() {
    let place = Place::new();
    place.write("f", "a\n");
    let arguments = json!({"mode": "replace", "path": "f", "old_string": "", "new_string": "", "patch": "*** Update File: f\n-a\n+b\n"});
    assert_eq!(place.call("patch", arguments).await["format"], "v4a");
    let arguments =
        json!({"mode": "patch", "path": "f", "old_string": "b", "new_string": "c", "patch": ""});
    assert_eq!(place.call("patch", arguments).await["strategy"], "exact");
    assert_eq!(text(&place, "f").as_deref(), Some("c\n"));
}

#[tokio::test]
async fn a_change_that_was_made_before_is_told() {
    let (answer, _) =
        replace("let total = 2;\n", old_new("let total = 1;", "let total = 2;")).await;
    assert_eq!(answer["already_applied"], true, "{answer}");
}

#[tokio::test]
async fn after_some_failures_another_way_is_advised() {
    let place = Place::new();
    place.write("f", "alpha\n");
    let mut cx = ToolContext::bare(place.path());
    let call = async |old: &str, cx: &ToolContext| {
        let arguments = json!({"path": "f", "old_string": old, "new_string": "x"});
        match tool("patch").bind(&arguments).unwrap().run(cx.clone()).await {
            Ok(output) => serde_json::from_str(output.content()).unwrap(),
            Err(error) => error.to_value(),
        }
    };
    for times in 1..=3 {
        let answer: Value = call("alpa", &cx).await;
        assert_eq!(
            answer.get("failures_in_a_row").and_then(Value::as_u64),
            (times == 3).then_some(3)
        );
    }
    cx.task_id = "other".into();
    assert!(call("alpa", &cx).await.get("failures_in_a_row").is_none(), "others begin anew");
    cx.task_id = "default".into();
    assert_eq!(call("alpha", &cx).await["success"], true);
    assert!(call("alpa", &cx).await.get("failures_in_a_row").is_none(), "a success ends the row");
}

#[tokio::test]
async fn a_version_that_somebody_else_wrote_is_warned_of() {
    let place = Place::new();
    place.write("f", "a\nb\n");
    let mut cx = ToolContext::bare(place.path());
    let call = async |old: &str, new: &str, cx: &ToolContext| -> Value {
        let arguments = json!({"path": "f", "old_string": old, "new_string": new});
        let output = tool("patch").bind(&arguments).unwrap().run(cx.clone()).await.unwrap();
        serde_json::from_str(output.content()).unwrap()
    };
    assert!(call("a", "A", &cx).await.get("warnings").is_none());
    cx.task_id = "sub-agent".into();
    call("A", "AA", &cx).await;
    cx.task_id = "default".into();
    let answer = call("b", "B", &cx).await;
    assert!(answer["warnings"][0].as_str().unwrap().contains("sub-agent"), "{answer}");
}

#[tokio::test]
async fn names_of_every_kind_can_be_patched() {
    let place = Place::new();
    let long = format!("{}/{}", "d".repeat(200), "f".repeat(200));
    for name in ["with space.txt", "new\nline.txt", "ünï—code.txt", "-dash", "quote\".txt", &long]
    {
        place.write(name, "a\n");
        let answer =
            place.call("patch", json!({"path": name, "old_string": "a", "new_string": "b"})).await;
        assert_eq!(answer["success"], true, "{name}: {answer}");
        assert_eq!(text(&place, name).as_deref(), Some("b\n"));
    }
    // A file whose folder has a name that is not text.
    let odd = place.path().join(std::ffi::OsStr::from_bytes(b"odd-\xFF"));
    fs::create_dir(&odd).unwrap();
    fs::write(odd.join("f"), "a\n").unwrap();
    symlink(&odd, place.path().join("link")).unwrap();
    let answer =
        place.call("patch", json!({"path": "link/f", "old_string": "a", "new_string": "b"})).await;
    assert_eq!(answer["success"], true, "{answer}");
    assert_eq!(fs::read(odd.join("f")).unwrap(), b"b\n");
}

#[tokio::test]
async fn links_and_modes_are_kept() {
    let place = Place::new();
    let path = place.write("script.sh", "echo a\n");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    symlink("script.sh", place.path().join("link")).unwrap();
    let answer =
        place.call("patch", json!({"path": "link", "old_string": "a", "new_string": "b"})).await;
    assert_eq!(answer["success"], true, "{answer}");
    assert!(place.path().join("link").is_symlink());
    assert_eq!(fs::read_to_string(&path).unwrap(), "echo b\n");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o755);
}

#[tokio::test]
async fn new_syntax_errors_are_told() {
    let place = Place::new();
    place.write("a.json", "{\"a\": 1}\n");
    let answer =
        place.call("patch", json!({"path": "a.json", "old_string": "1}", "new_string": "1"})).await;
    assert_eq!(answer["success"], true);
    assert_eq!(answer["lint"][0]["status"], "error", "{answer}");
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

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn patches_at_the_same_time_are_all_made() {
    let place = Place::new();
    let lines: String = (0..24).map(|n| format!("line {n} old\n")).collect();
    place.write("f", &lines);
    let calls = (0..24).map(|n| {
        let arguments = json!({"path": "f", "old_string": format!("line {n} old"), "new_string": format!("line {n} new")});
        let call = tool("patch").bind(&arguments).unwrap();
        tokio::spawn(call.run(ToolContext::bare(place.path())))
    });
    for call in calls.collect::<Vec<_>>() {
        call.await.unwrap().unwrap();
    }
    assert_eq!(text(&place, "f"), Some(lines.replace("old", "new")));
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
async fn a_long_line_can_be_patched() {
    let line = "x".repeat(20_000_000);
    let (answer, after) = replace(format!("{line}NEEDLE{line}\n"), old_new("NEEDLE", "pin")).await;
    assert_eq!(answer["success"], true, "{}", answer["error"]);
    assert_eq!(after.len(), 2 * line.len() + 4);
    assert!(answer.to_string().len() < 20_000);
    let (answer, _) =
        replace(format!("{line}NEEDLE{line}\n"), old_new("NEEDEL in a haystack", "pin")).await;
    assert_eq!(answer["kind"], "not_found");
    assert!(answer.to_string().len() < 20_000);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn a_patch_applies_as_reported_or_changes_nothing(
        content in "[ab \n\r]{0,24}", old in "[ab \n]{1,6}", new in "[abc \n]{0,6}", all: bool,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let mut arguments = old_new(&old, &new);
        arguments["replace_all"] = json!(all);
        let (answer, after) = runtime.block_on(replace(&content, arguments));
        let after = String::from_utf8(after).unwrap();
        if answer.get("error").is_some() {
            prop_assert_eq!(after, content);
            return Ok(());
        }
        prop_assert_eq!(&answer["verified"], true);
        if answer["strategy"] == "exact" && !content.contains('\r') {
            let expected = if all { content.replace(&old, &new) } else { content.replacen(&old, &new, 1) };
            prop_assert_eq!(&after, &expected);
        }
        // Lines outside of the reported ones are as they were.
        let ranges = answer["line_ranges"].as_array().unwrap();
        let first = ranges[0]["before"][0].as_u64().unwrap() as usize;
        let last = ranges[ranges.len() - 1]["before"][1].as_u64().unwrap() as usize;
        let lines: Vec<&str> = content.split_inclusive('\n').collect();
        prop_assert!(after.starts_with(&lines[..(first - 1).min(lines.len())].concat()));
        prop_assert!(after.ends_with(&lines[last.min(lines.len())..].concat()));
    }
}
