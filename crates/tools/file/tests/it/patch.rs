use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use hermes_core::{Grants, ToolContext};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::harness::{Place, check_examples, tool};

/// Makes one replacement in a file of this content: returns the result and the
/// new content.
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
    let diff = "--- a/a b.txt\t\n+++ b/a b.txt\t\n@@ -1,3 +1,4 @@\n one\n-two\n+2\n+2b\n three\n";
    assert_eq!(answer["diff"], diff);
    assert_eq!(answer["hashes"][0]["hash"].as_str().unwrap().len(), 16);
    assert_eq!(fs::read_to_string(path).unwrap(), "one\n2\n2b\nthree\n");
    assert!(answer.get("warnings").is_none(), "{answer}");
}

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
async fn overlapping_lines_are_not_lost_by_replace_all() {
    let mut arguments = old_new("a\na", "b");
    arguments["replace_all"] = json!(true);
    let (answer, after) = replace("a \na \na \n", arguments).await;
    assert_eq!(answer["changes"], 1, "{answer}");
    assert_eq!(after, b"b\na \n");
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
async fn the_encoding_of_the_editorconfig_counts() {
    let place = Place::new();
    place.write(".editorconfig", "root = true\n[*.txt]\ncharset = latin1\n");
    let path = place.write("a.txt", b"\xE9t\xE9 = 1\n");
    let answer = place
        .call("patch", json!({"path": "a.txt", "old_string": "été = 1", "new_string": "été = ü"}))
        .await;
    assert_eq!(answer["success"], true, "{answer}");
    assert_eq!(fs::read(path).unwrap(), b"\xE9t\xE9 = \xFC\n");
    let answer = apply(&place, "*** Add File: b.txt\n+naïf\n").await;
    assert_eq!(answer["success"], true, "{answer}");
    assert_eq!(fs::read(place.path().join("b.txt")).unwrap(), b"na\xEFf\n");
    let answer = apply(&place, "*** Add File: c.txt\n+✓\n").await;
    assert_eq!((&answer["kind"], &answer["character"]), (&json!("invalid_arguments"), &json!("✓")));
    assert!(!place.path().join("c.txt").exists());
}

#[tokio::test]
async fn names_that_are_not_text_are_addresses() {
    let place = Place::new();
    let odd = place.path().join(std::ffi::OsStr::from_bytes(b"odd-\xFF.txt"));
    fs::write(&odd, "a\n").unwrap();
    let address = format!("file://{}/odd-%FF.txt", place.path().display());
    let answer =
        place.call("patch", json!({"path": address, "old_string": "a", "new_string": "b"})).await;
    assert_eq!(answer["files_modified"], json!([address]), "{answer}");
    let answer = apply(&place, &format!("*** Update File: {address}\n-b\n+c\n")).await;
    assert_eq!(answer["success"], true, "{answer}");
    assert_eq!(fs::read(&odd).unwrap(), b"c\n");
}

#[tokio::test]
async fn a_dry_run_writes_nothing() {
    let place = Place::new();
    place.write("f", "a\n");
    let arguments = json!({"path": "f", "old_string": "a", "new_string": "b", "dry_run": true});
    let grants = Grants::from_effects(&place.effects("patch", arguments.clone()));
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
            json!({"patch": "*** Delete File: f\n*** Delete File: g\n", "expected_hash": hash}),
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
    assert!(answer["hint"].as_str().unwrap().contains("trailing_whitespace"), "{answer}");
}

#[tokio::test]
async fn what_a_strict_patch_is_told_to_copy_is_found() {
    for content in ["x\r\nalpha\r\nbeta\r\n", "x\ralpha\rbeta\r", "x\nalpha \nbeta\nalphabet\n"] {
        let mut arguments = old_new("alpha\nbeta", "new");
        arguments["strict"] = json!(true);
        let (answer, _) = replace(content, arguments.clone()).await;
        assert_eq!(answer["nearest"]["lines"], json!([2, 3]), "{answer}");
        assert!(answer["nearest"]["difference"].as_str().unwrap().contains("{+"), "{answer}");
        arguments["old_string"] = answer["nearest"]["text"].clone();
        let (answer, left) = replace(content, arguments).await;
        assert_eq!(answer["success"], true, "{answer}");
        assert!(left.windows(3).any(|part| part == b"new"), "{left:?}");
    }
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
        (json!({"patch": "hello"}), "invalid_arguments", "unknown patch format"),
        (
            json!({"path": "f", "old_string": "a", "new_string": "b", "expected_hash": "xyz"}),
            "invalid_arguments",
            "hash",
        ),
        (
            json!({"path": ".", "old_string": "a", "new_string": "b"}),
            "invalid_arguments",
            "directory",
        ),
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
    assert!(call("alpa", &cx).await.get("failures_in_a_row").is_none(), "others start at zero");
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
    let deep = format!("{}/f", vec!["d".repeat(250); 15].join("/"));
    place.write(&deep, "a\n");
    let arguments = json!({"path": deep, "old_string": "a", "new_string": "b"});
    assert_eq!(place.call("patch", arguments).await["success"], true);
    // A file whose directory name is not UTF-8.
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
async fn a_long_line_can_be_patched() {
    let line = "x".repeat(8_000_000);
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
        content in "([ab \n]|\r\n){0,24}", old in "[ab \n]{1,6}", new in "[abc \n]{0,6}", all: bool,
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
        // Lines outside the reported ranges are unchanged.
        let ranges = answer["line_ranges"].as_array().unwrap();
        let first = ranges[0]["before"][0].as_u64().unwrap() as usize;
        let last = ranges[ranges.len() - 1]["before"][1].as_u64().unwrap() as usize;
        let lines: Vec<&str> = content.split_inclusive('\n').collect();
        prop_assert!(after.starts_with(&lines[..(first - 1).min(lines.len())].concat()));
        prop_assert!(after.ends_with(&lines[last.min(lines.len())..].concat()));
    }
}

#[tokio::test]
async fn the_lines_of_a_replacement_are_all_that_changed() {
    for (old, new, before, after) in [
        ("a\n", "x\ny", [1, 2], [1, 2]),
        ("a\n", "x", [1, 2], [1, 1]),
        ("c\n", "x\ny", [3, 3], [3, 4]),
        ("\nb\n", "X\nY", [1, 3], [1, 2]),
        ("b\n", "B\nC\n", [2, 2], [2, 3]),
    ] {
        let (answer, _) = replace("a\nb\nc\n", old_new(old, new)).await;
        let range = &answer["line_ranges"][0];
        assert_eq!(
            (&range["before"], &range["after"]),
            (&json!(before), &json!(after)),
            "{answer}"
        );
    }
}

#[tokio::test]
async fn lines_with_other_endings_are_not_left_out_silently() {
    let content = "foo\r\nbar\r\nfoo\nend\n";
    let mut arguments = old_new("foo\n", "X\n");
    let (answer, after) = replace(content, arguments.clone()).await;
    assert_eq!(answer["places"].as_array().map(Vec::len), Some(2), "{answer}");
    assert_eq!(after, content.as_bytes());
    arguments["replace_all"] = json!(true);
    let (answer, after) = replace(content, arguments).await;
    assert_eq!((&answer["changes"], &answer["strategy"]), (&json!(2), &json!("line_endings")));
    assert_eq!(after, b"X\r\nbar\r\nX\nend\n");
}

#[tokio::test]
async fn the_nearest_text_is_found_at_the_next_try_though_it_is_repeated() {
    let content = "def a():\n    timeout = 30\n\ndef b():\n    timeout = 30\n";
    let (answer, _) = replace(content, old_new("    timeout = 31", "    timeout = 60")).await;
    assert!(answer["hint"].as_str().unwrap().contains("as_near"), "{answer}");
    assert_eq!(answer["as_near"][0]["lines"], json!([5, 5]), "{answer}");
    assert!(answer["as_near"][0]["context"].as_str().unwrap().contains("4|def b():"), "{answer}");
    let text = answer["nearest"]["text"].as_str().unwrap();
    let (answer, _) = replace(content, old_new(text, "def a():\n    timeout = 60")).await;
    assert_eq!(answer["success"], true, "{answer}");
}

#[tokio::test]
async fn places_are_shown_with_as_many_lines_as_tell_them_apart() {
    let block = "x\none\ntwo\nthree\nfour\n";
    let content = format!("first\n{block}second\n{block}third\n");
    let (answer, _) = replace(&content, old_new("x\n", "y\n")).await;
    let context = |at: usize| answer["places"][at]["context"].as_str().unwrap();
    assert!(context(0).starts_with("1|first"), "{answer}");
    assert!(context(1).contains("7|second"), "{answer}");
    let content = format!("{block}{block}{block}");
    let (answer, _) = replace(&content, old_new("one", "y")).await;
    let context = |at: usize| answer["places"][at]["context"].as_str().unwrap();
    for at in 0..3 {
        let lines = context(at).lines().map(|line| line.split_once('|').unwrap().1);
        let copied = lines.collect::<Vec<_>>().join("\n");
        assert_eq!(content.matches(&copied).count(), 1, "{copied}");
    }
    let (answer, _) = replace("x\n".repeat(200), old_new("x\n", "y\n")).await;
    assert_eq!(answer["places"][3]["unique"], false, "{answer}");
}

#[tokio::test]
async fn a_short_change_that_was_made_before_is_told() {
    let (answer, _) = replace("x = 2\n", old_new("x = 1", "x = 2")).await;
    assert_eq!(answer["already_applied"], true, "{answer}");
    let place = Place::new();
    place.write("f", "x = 2\n");
    let answer = apply(&place, "*** Update File: f\n@@\n-x = 1\n+x = 2\n").await;
    assert_eq!(answer["already_applied"], true, "{answer}");
}

#[tokio::test]
async fn texts_that_differ_in_endings_only_are_told_so() {
    let (answer, _) = replace("a\r\n", old_new("a\r\n", "a\n")).await;
    assert!(answer["error"].as_str().unwrap().contains("only in line endings"), "{answer}");
    let (answer, _) = replace("a\n", old_new("a\n", "a\n")).await;
    assert!(answer["error"].as_str().unwrap().ends_with("are the same"), "{answer}");
}
