use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;

use hermes_core::{
    CheckpointReader, CheckpointSummary, Effect, Grants, Ports, Scope, ToolContext, ToolError,
};
use serde_json::{Value, json};

use crate::harness::{Place, check_examples, tool};

fn diff(result: &Value) -> &str {
    result["diff"].as_str().unwrap_or_else(|| panic!("{result}"))
}

fn statuses(result: &Value) -> Vec<(&str, &str)> {
    let files = result["files"].as_array().unwrap_or_else(|| panic!("{result}"));
    files.iter().map(|f| (f["path"].as_str().unwrap(), f["status"].as_str().unwrap())).collect()
}

#[tokio::test]
async fn examples_hold() {
    check_examples("file_diff").await;
}

#[tokio::test]
async fn two_files_differ_or_not() {
    let place = Place::new();
    place.write("a b.txt", "one\ntwo\n");
    place.write("c.txt", "one\nthree\n");
    let result = place.call("file_diff", json!({"path": "a b.txt", "other_path": "c.txt"})).await;
    assert_eq!(diff(&result), "--- a b.txt\t\n+++ c.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n");
    assert_eq!(result["old"], json!({"name": "a b.txt", "size": 8}));
    assert_eq!(result["truncated"], false);
    let same = place.call("file_diff", json!({"path": "c.txt", "other_path": "./c.txt"})).await;
    assert_eq!((&same["identical"], same.get("diff")), (&json!(true), None));
    assert_eq!(same["note"], "The two are the same.");
    let effects = place.effects("file_diff", json!({"path": "a b.txt", "other_path": "c.txt"}));
    let read = |name: &str| Effect::path(Scope::FILE_READ, place.path().join(name));
    assert_eq!(effects, [read("a b.txt"), read("c.txt")]);
}

#[tokio::test]
async fn texts_stand_in_for_files() {
    let place = Place::new();
    place.write("a.txt", "one\n");
    let new = place.call("file_diff", json!({"path": "a.txt", "content": "two\n"})).await;
    assert_eq!(diff(&new), "--- a.txt\n+++ content\n@@ -1 +1 @@\n-one\n+two\n");
    let old =
        place.call("file_diff", json!({"old_content": "zero\n", "other_path": "a.txt"})).await;
    assert_eq!(diff(&old), "--- old_content\n+++ a.txt\n@@ -1 +1 @@\n-zero\n+one\n");
    let both = json!({"old_content": "a\n", "content": "a"});
    assert!(place.effects("file_diff", both.clone()).is_empty());
    let both = place.call("file_diff", both).await;
    assert!(diff(&both).ends_with("-a\n+a\n\\ No newline at end of file\n"), "{both}");
    let same = place.call("file_diff", json!({"path": "a.txt", "content": "one\n"})).await;
    assert_eq!(same["identical"], true);
}

#[tokio::test]
async fn what_to_compare_must_be_clear() {
    let place = Place::new();
    place.write("a.txt", "");
    fs::create_dir(place.path().join("dir")).unwrap();
    for arguments in [
        json!({}),
        json!({"path": "a.txt"}),
        json!({"path": "a.txt", "other_path": "a.txt", "content": ""}),
        json!({"path": "a.txt", "content": "", "checkpoint": "latest"}),
        json!({"content": ""}),
        json!({"path": "a.txt", "other_path": "dir"}),
        json!({"path": "a.txt", "content": "", "encoding": "utf-9"}),
    ] {
        let wrong = place.call("file_diff", arguments.clone()).await;
        assert_eq!(wrong["kind"], "invalid_arguments", "{arguments} {wrong}");
        assert!(!wrong["hint"].as_str().unwrap().is_empty());
    }
    let missing = place.call("file_diff", json!({"path": "b.txt", "other_path": "a.txt"})).await;
    assert_eq!(
        (&missing["kind"], &missing["similar_files"][0]),
        (&json!("not_found"), &json!("a.txt"))
    );
}

#[tokio::test]
async fn formats_show_the_same_change() {
    let place = Place::new();
    place.write("a", "let limit = 30;\nend\n");
    place.write("b", "let limit = 31;\nend\n");
    let call = |format: &'static str| {
        place.call(
            "file_diff",
            json!({"path": "a", "other_path": "b", "format": format, "width": 43}),
        )
    };
    assert!(diff(&call("words").await).contains("let limit = [-30-]{+31+};\nend\n"));
    let sides = call("side_by_side").await;
    assert!(diff(&sides).contains("let limit = 30;      | let limit = 31;\n"), "{sides}");
    let stat = call("stat").await;
    assert_eq!(stat.get("diff"), None);
    assert_eq!((&stat["added_lines"], &stat["removed_lines"]), (&json!(1), &json!(1)));
}

#[tokio::test]
async fn white_space_can_be_looked_past() {
    let place = Place::new();
    place.write("dos", "a\r\n  b\r\n");
    place.write("unix", "a\n  b\n");
    let call = |ignored: &'static str| {
        let arguments = json!({"path": "dos", "other_path": "unix", "ignore_whitespace": ignored});
        place.call("file_diff", arguments)
    };
    let plain = call("none").await;
    assert_eq!(plain["removed_lines"], 2);
    assert_eq!(plain["old"]["line_ending"], "crlf");
    assert!(plain["note"].as_str().unwrap().contains("Line endings differ: crlf, lf."), "{plain}");
    let trailing = call("trailing").await;
    assert_eq!((&trailing["identical"], trailing.get("diff")), (&json!(false), None));
    assert!(trailing["note"].as_str().unwrap().starts_with("They differ only in what is ignored."));
}

#[tokio::test]
async fn encodings_are_read_and_named() {
    let place = Place::new();
    let wide: Vec<u8> = "\u{FEFF}größe\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    place.write("wide.txt", wide);
    place.write("plain.txt", "größe\n");
    let same =
        place.call("file_diff", json!({"path": "wide.txt", "other_path": "plain.txt"})).await;
    assert_eq!((&same["identical"], same.get("diff")), (&json!(false), None));
    assert_eq!(
        same["note"],
        "The text is the same, the bytes are not. Encodings differ: utf-16le, utf-8."
    );
    place.write("old.txt", b"na\xEFve\n");
    let shown = json!({"path": "old.txt", "content": "naïve\n", "encoding": "latin1"});
    assert_eq!(place.call("file_diff", shown).await["identical"], true);
}

#[tokio::test]
async fn binary_files_are_told_apart_by_size_and_hash() {
    let place = Place::new();
    place.write("a.png", b"\x89PNG\r\n\x1A\n\0\0\0\x0D");
    place.write("b.png", b"\x89PNG\r\n\x1A\n\0\0\0\x0E!");
    let result = place.call("file_diff", json!({"path": "a.png", "other_path": "b.png"})).await;
    assert_eq!(result["identical"], false);
    assert_eq!((result.get("diff"), result.get("added_lines")), (None, None));
    assert_eq!((&result["old"]["size"], &result["new"]["size"]), (&json!(12), &json!(13)));
    assert_eq!(result["old"]["kind"], "a PNG image");
    assert_ne!(result["old"]["hash"], result["new"]["hash"]);
    place.write("c.png", b"\x89PNG\r\n\x1A\n\0\0\0\x0D");
    let same = place.call("file_diff", json!({"path": "a.png", "other_path": "c.png"})).await;
    assert_eq!(same["identical"], true);
    assert_eq!(same["old"]["hash"], same["new"]["hash"]);
}

#[tokio::test]
async fn a_long_diff_is_cut_with_a_way_on() {
    let place = Place::new();
    place.write("a", (0..20_000).map(|n| format!("old {n}\n")).collect::<String>());
    place.write("b", (0..20_000).map(|n| format!("new {n}\n")).collect::<String>());
    let result = place.call("file_diff", json!({"path": "a", "other_path": "b"})).await;
    assert_eq!((&result["truncated"], &result["added_lines"]), (&json!(true), &json!(20_000)));
    assert!(diff(&result).len() <= 50_000);
    assert!(result["hint"].as_str().unwrap().contains("more lines of the diff do not fit"));
    place.write("c", "x".repeat(10_000));
    place.write("d", "y".repeat(10_000));
    let long = place.call("file_diff", json!({"path": "c", "other_path": "d"})).await;
    assert_eq!(long["truncated"], true);
    assert!(long["hint"].as_str().unwrap().starts_with("2 long lines are cut"), "{long}");
}

fn trees() -> Place {
    let place = Place::new();
    for (name, content) in [
        ("old/same.txt", "same\n"),
        ("old/changed.txt", "one\ntwo\n"),
        ("old/gone/deep/a.txt", "a\n"),
        ("old/kind", "a file\n"),
        ("new/same.txt", "same\n"),
        ("new/changed.txt", "one\n2\n3\n"),
        ("new/.hidden", "h\n"),
        ("new/kind/inner.txt", "in\n"),
        ("new/data.bin", "\0\u{1}\u{2}"),
    ] {
        place.write(name, content);
    }
    symlink("same.txt", place.path().join("old/link")).unwrap();
    symlink("changed.txt", place.path().join("new/link")).unwrap();
    fs::create_dir(place.path().join("new/empty")).unwrap();
    place
}

#[tokio::test]
async fn folders_are_compared_entry_by_entry() {
    let place = trees();
    let result = place.call("file_diff", json!({"path": "old/", "other_path": "new"})).await;
    assert_eq!(
        statuses(&result),
        [
            (".hidden", "added"),
            ("changed.txt", "changed"),
            ("data.bin", "added"),
            ("empty", "added"),
            ("gone/deep/a.txt", "removed"),
            ("kind", "type_changed"),
            ("kind/inner.txt", "added"),
            ("link", "changed"),
        ]
    );
    assert_eq!(
        result["summary"],
        json!({"added": 4, "removed": 1, "changed": 2, "type_changed": 1, "identical": 1})
    );
    assert_eq!((&result["added_lines"], &result["removed_lines"]), (&json!(4), &json!(2)));
    let text = diff(&result);
    assert!(text.contains(
        "--- old/changed.txt\n+++ new/changed.txt\n@@ -1,2 +1,3 @@\n one\n-two\n+2\n+3\n"
    ));
    assert!(text.contains("--- old/gone/deep/a.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"));
    assert!(text.contains("--- /dev/null\n+++ new/.hidden\n@@ -0,0 +1 @@\n+h\n"));
    let entry = |name: &str| {
        let files = result["files"].as_array().unwrap();
        files.iter().find(|file| file["path"] == name).unwrap().clone()
    };
    assert_eq!(entry("data.bin")["binary"], true);
    assert_eq!(entry("kind")["note"], "a file, now a directory");
    assert_eq!(entry("link")["note"], "a symbolic link to same.txt, now to changed.txt");
    assert_eq!(entry("empty")["note"], "a directory");
    let same = place.call("file_diff", json!({"path": "old", "other_path": "old"})).await;
    assert_eq!((&same["identical"], same.get("files")), (&json!(true), None));
    assert_eq!(same["note"], "The directories are the same.");
}

#[tokio::test]
async fn what_git_ignores_is_left_out_of_folders() {
    let place = Place::new();
    for side in ["old", "new"] {
        fs::create_dir_all(place.path().join(side).join(".git")).unwrap();
        place.write(&format!("{side}/.git/index"), side);
        place.write(&format!("{side}/target/out"), side);
    }
    // Only one side ignores it: it must not appear as removed from the other.
    place.write("old/.gitignore", "target/\n");
    place.write("new/.gitignore", "target/\n*.log\n");
    place.write("old/x.log", "x\n");
    let result = place.call("file_diff", json!({"path": "old", "other_path": "new"})).await;
    assert_eq!(statuses(&result), [(".gitignore", "changed")]);
    let all = json!({"path": "old", "other_path": "new", "gitignore": false, "format": "stat"});
    let all = place.call("file_diff", all).await;
    assert_eq!(
        statuses(&all),
        [
            (".git/index", "changed"),
            (".gitignore", "changed"),
            ("target/out", "changed"),
            ("x.log", "removed"),
        ]
    );
}

#[tokio::test]
async fn a_cut_list_of_files_keeps_the_totals() {
    let place = Place::new();
    fs::create_dir(place.path().join("old")).unwrap();
    for number in 0..30 {
        place.write(&format!("new/f{number:02}"), "x\n");
    }
    let result =
        place.call("file_diff", json!({"path": "old", "other_path": "new", "limit": 4})).await;
    assert_eq!(statuses(&result).len(), 4);
    assert_eq!((&result["summary"]["added"], &result["added_lines"]), (&json!(30), &json!(30)));
    assert_eq!(result["truncated"], true);
    assert!(result["hint"].as_str().unwrap().starts_with("4 of 30 differences are listed"));
}

#[tokio::test]
async fn odd_names_are_compared() {
    let place = Place::new();
    let odd = std::ffi::OsStr::from_bytes(b"bad\xFFname");
    for side in ["old", "new"] {
        place.write(&format!("{side}/new\nline"), side);
        fs::write(place.path().join(side).join(odd), side).unwrap();
    }
    let result = place.call("file_diff", json!({"path": "old", "other_path": "new"})).await;
    let address = format!("file://{}/new/bad%FFname", place.path().display());
    assert_eq!(statuses(&result), [(address.as_str(), "changed"), ("new\nline", "changed")]);
    assert!(diff(&result).contains("--- \"old/new\\nline\"\n+++ \"new/new\\nline\"\n"), "{result}");
}

#[tokio::test]
async fn a_deep_tree_is_walked_to_its_end() {
    let place = Place::new();
    let deep = "d/".repeat(300);
    place.write(&format!("old/{deep}f"), "1\n");
    place.write(&format!("new/{deep}f"), "2\n");
    let result = place
        .call("file_diff", json!({"path": "old", "other_path": "new", "format": "stat"}))
        .await;
    assert_eq!(result["summary"]["changed"], 1, "{result}");
}

#[tokio::test]
async fn the_longest_paths_are_compared() {
    let place = Place::new();
    let mut name = String::new();
    while place.path().as_os_str().len() + name.len() < 3_800 {
        name.push_str(&"x".repeat(200));
        name.push('/');
    }
    let room = 4_090 - place.path().as_os_str().len() - name.len();
    let name = name + &"f".repeat(room.min(250));
    place.write(&name, "1\n");
    let result = place.call("file_diff", json!({"path": name, "content": "2\n"})).await;
    assert_eq!(
        (&result["added_lines"], &result["removed_lines"]),
        (&json!(1), &json!(1)),
        "{result}"
    );
}

#[tokio::test]
async fn an_empty_file_that_is_new_is_told() {
    let place = Place::new();
    fs::create_dir(place.path().join("old")).unwrap();
    place.write("new/empty", "");
    let result = place.call("file_diff", json!({"path": "old", "other_path": "new"})).await;
    assert_eq!(
        result["files"],
        json!([{"path": "empty", "status": "added", "note": "The file is empty."}])
    );
}

#[tokio::test]
async fn what_cannot_be_read_is_named_and_not_taken_for_a_difference() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    place.write("old/a/f", "f\n");
    place.write("new/a/f", "f\n");
    place.write("new/b/f", "f\n");
    let set_mode = |mode: u32| {
        for closed in ["new/a", "new/b"] {
            let mode = fs::Permissions::from_mode(mode);
            fs::set_permissions(place.path().join(closed), mode).unwrap();
        }
    };
    set_mode(0o000);
    let may_read = fs::read_dir(place.path().join("new/a")).is_ok();
    let result = place.call("file_diff", json!({"path": "old", "other_path": "new"})).await;
    set_mode(0o755);
    // The superuser reads everything.
    if may_read {
        assert_eq!(statuses(&result), [("b/f", "added")]);
    } else {
        assert_eq!(result["unreadable"], json!(["new/b", "new/a"]), "{result}");
        assert_eq!((&result["identical"], result.get("files")), (&json!(false), None));
    }
}

#[tokio::test]
async fn a_file_that_became_an_empty_folder_is_told_once() {
    let place = Place::new();
    place.write("old/x", "x\n");
    fs::create_dir_all(place.path().join("new/x")).unwrap();
    let result = place.call("file_diff", json!({"path": "old", "other_path": "new"})).await;
    assert_eq!(statuses(&result), [("x", "type_changed")]);
}

#[tokio::test]
async fn both_sides_need_their_grant() {
    let place = trees();
    for name in ["", "/changed.txt"] {
        let arguments = json!({"path": format!("old{name}"), "other_path": format!("new{name}")});
        let effects = place.effects("file_diff", arguments.clone());
        let free = place.call("file_diff", arguments.clone()).await;
        let bounded =
            place.call_within(Grants::from_effects(&effects), "file_diff", arguments.clone()).await;
        assert_eq!(bounded, free);
        for effect in effects {
            let refused = place
                .call_within(Grants::from_effects(&[effect]), "file_diff", arguments.clone())
                .await;
            assert_eq!(refused["kind"], "denied", "{refused}");
        }
    }
}

/// One checkpoint, before which `a.txt` existed and `b.txt` did not.
struct Kept;

impl CheckpointReader for Kept {
    fn file_content(&self, checkpoint: &str, path: &Path) -> Result<Option<Vec<u8>>, ToolError> {
        let name = path.file_name().and_then(|name| name.to_str());
        match (checkpoint, name) {
            ("latest", Some("a.txt" | "gone.txt")) => Ok(Some(b"before\n".to_vec())),
            ("latest", Some("b.txt")) => Ok(None),
            _ => Err(ToolError::not_found(format!("No checkpoint '{checkpoint}' of that file"))),
        }
    }

    fn list(&self, _limit: usize) -> Result<Vec<CheckpointSummary>, ToolError> {
        Ok(Vec::new())
    }
}

#[tokio::test]
async fn a_file_is_compared_with_its_checkpoint() {
    let place = Place::new();
    place.write("a.txt", "after\n");
    place.write("b.txt", "new\n");
    fs::create_dir(place.path().join("dir")).unwrap();
    let call = async |grants: Grants, path: &str, checkpoint: &str| {
        let arguments = json!({"path": path, "checkpoint": checkpoint});
        let mut cx = ToolContext::bare(place.path());
        cx.ports = Arc::new(Ports::new().with::<dyn CheckpointReader>(Arc::new(Kept)));
        cx.grants = Arc::new(grants);
        match tool("file_diff").bind(&arguments).unwrap().run(cx).await {
            Ok(output) => serde_json::from_str(output.content()).unwrap(),
            Err(error) => error.to_value(),
        }
    };
    let free = Grants::allow_all;
    let changed: Value = call(free(), "a.txt", "latest").await;
    assert_eq!(diff(&changed), "--- a.txt@latest\n+++ a.txt\n@@ -1 +1 @@\n-before\n+after\n");
    let created: Value = call(free(), "b.txt", "latest").await;
    assert_eq!(diff(&created), "--- /dev/null\n+++ b.txt\n@@ -0,0 +1 @@\n+new\n");
    assert_eq!(created["old"]["exists"], false);
    let gone: Value = call(free(), "gone.txt", "latest").await;
    assert_eq!(diff(&gone), "--- gone.txt@latest\n+++ /dev/null\n@@ -1 +0,0 @@\n-before\n");
    assert_eq!(call(free(), "a.txt", "none").await["kind"], "not_found");
    assert_eq!(call(free(), "dir", "latest").await["kind"], "invalid_arguments");
    assert_eq!(call(Grants::from_effects(&[]), "a.txt", "latest").await["kind"], "denied");
    let without = place.call("file_diff", json!({"path": "a.txt", "checkpoint": "latest"})).await;
    assert_eq!(without["kind"], "unavailable");
}

#[tokio::test]
async fn a_cancelled_call_stops() {
    let place = trees();
    let cx = ToolContext::bare(place.path());
    cx.cancel.cancel();
    let call = tool("file_diff").bind(&json!({"path": "old", "other_path": "new"})).unwrap();
    assert_eq!(call.run(cx).await.unwrap_err().kind().name(), "cancelled");
}

#[tokio::test]
async fn closed_places_are_neither_named_nor_entered() {
    let place = Place::new();
    place.write("home/.ssh/id_rsa", "secret\n");
    place.write("home/a.txt", "a\n");
    place.write("home/deep/key.pem", "secret\n");
    place.write("copy/a.txt", "b\n");
    let closed = |_: &hermes_core::Scope, real: &std::path::Path| {
        real.components().any(|part| part.as_os_str() == ".ssh") || real.ends_with("key.pem")
    };
    for (old, new) in [("home", "copy"), ("copy", "home")] {
        let grants = hermes_core::Grants::allow_all().with_exceptions(std::sync::Arc::new(closed));
        let answer =
            place.call_within(grants, "file_diff", json!({"path": old, "other_path": new})).await;
        let shown = answer.to_string();
        assert!(!shown.contains("ssh") && !shown.contains("pem"), "{shown}");
        assert_eq!(answer["files"].as_array().unwrap().len(), 1, "{shown}");
        let note = answer["note"].as_str().unwrap();
        assert!(note.contains("2 protected entries"), "{shown}");
    }
}

#[tokio::test]
async fn a_file_that_may_be_run_is_another() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new();
    for name in ["a/x", "b/x", "a/y", "b/y"] {
        place.write(name, "same\n");
    }
    let runs = fs::Permissions::from_mode(0o755);
    fs::set_permissions(place.path().join("b/x"), runs).unwrap();
    let found = place.call("file_diff", json!({"path": "a", "other_path": "b"})).await;
    assert_eq!(found["identical"], false, "{found}");
    assert!(found.to_string().contains("now executable"), "{found}");
    assert!(!found.to_string().contains("\"y\""), "{found}");
}

#[tokio::test]
async fn a_carriage_return_at_the_very_end_is_no_line_feed() {
    let place = Place::new();
    place.write("old", "x\r");
    place.write("new", "x\r\n");
    let shown = place.call("file_diff", json!({"path": "old", "other_path": "new"})).await;
    assert!(diff(&shown).ends_with("-x\r\n\\ No newline at end of file\n+x\r\n"), "{shown}");
    let edit = json!({"path": "old", "old_string": "x", "new_string": "y"});
    let done = place.call("patch", edit).await;
    let none = "\\ No newline at end of file\n";
    assert!(diff(&done).ends_with(&format!("-x\r\n{none}+y\r\n{none}")), "{done}");
    // It is still a valid patch.
    place.write("old", "x\r");
    let again = place.call("patch", json!({"patch": diff(&done)})).await;
    assert_eq!(std::fs::read(place.path().join("old")).unwrap(), b"y\r", "{again}");
    assert!(again.get("warnings").is_none(), "{again}");
}

#[tokio::test]
async fn a_diff_of_lines_that_end_with_carriage_returns_can_be_applied() {
    let place = Place::new();
    place.write("a.txt", "a\rb");
    place.write("b.txt", "\u{c}\n");
    let shown = place.call("file_diff", json!({"path": "a.txt", "other_path": "b.txt"})).await;
    let none = "\\ No newline at end of file\n";
    assert!(diff(&shown).ends_with(&format!("@@ -1 +1 @@\n-a\rb\n{none}+\u{c}\n")), "{shown}");
    assert!(shown["note"].as_str().unwrap().contains("a.txt ends its lines with CR"), "{shown}");
    place.write("b.txt", "a\rc");
    let words = json!({"path": "a.txt", "other_path": "b.txt", "format": "words"});
    let shown = place.call("file_diff", words).await;
    assert!(diff(&shown).contains("@@ -1,2 +1,2 @@"), "{shown}");
}

#[tokio::test]
async fn a_folder_has_no_size_of_its_own() {
    let place = Place::new();
    place.write("a/x", "1\n");
    place.write("b/x", "2\n");
    let shown = place.call("file_diff", json!({"path": "a", "other_path": "b"})).await;
    assert_eq!(
        (&shown["old"]["kind"], shown["old"].get("size")),
        (&json!("folder"), None),
        "{shown}"
    );
}

#[tokio::test]
async fn a_huge_sparse_file_is_refused_by_its_size() {
    let place = Place::new();
    place.write("small.txt", "one\n");
    for dir in ["v1", "v2"] {
        fs::create_dir(place.path().join(dir)).unwrap();
        let huge = fs::File::create(place.path().join(dir).join("disk.img")).unwrap();
        huge.set_len(1 << 40).unwrap();
    }
    let sides = json!({"path": "small.txt", "other_path": "v1/disk.img"});
    let error = place.call("file_diff", sides).await;
    assert_eq!(error["kind"], "limit", "{error}");
    assert!(
        error["error"].as_str().unwrap().contains("disk.img has 1099511627776 bytes"),
        "{error}"
    );
    let dirs = place.call("file_diff", json!({"path": "v1", "other_path": "v2"})).await;
    assert_eq!(dirs["unreadable"], json!(["v1/disk.img"]), "{dirs}");
}
