//! `write_file`: what it writes, what it preserves, and when it refuses.

use std::collections::BTreeSet;
use std::env;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use hermes_core::{CancellationToken, Scope, Session, ToolContext};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::harness::{Place, holds, tool};

/// A caller with a session.
pub(crate) struct Caller {
    dir: PathBuf,
    session: Session,
    task: &'static str,
}

impl Caller {
    pub(crate) fn new(place: &Place) -> Self {
        let dir = fs::canonicalize(place.path()).unwrap();
        Self { dir, session: Session::in_memory(), task: "main" }
    }

    /// A caller with this session.
    pub(crate) fn keeping(place: &Place, session: Session) -> Self {
        Self { session, ..Self::new(place) }
    }

    pub(crate) fn task(&self, task: &'static str) -> Self {
        Self { dir: self.dir.clone(), session: self.session.clone(), task }
    }

    pub(crate) async fn call(&self, name: &str, arguments: Value) -> Value {
        self.call_until(name, arguments, CancellationToken::new()).await
    }

    pub(crate) async fn call_until(
        &self,
        name: &str,
        arguments: Value,
        cancel: CancellationToken,
    ) -> Value {
        let call = tool(name).bind(&arguments).unwrap();
        let mut cx = ToolContext::bare(&self.dir);
        cx.session = self.session.clone();
        cx.task_id = Arc::from(self.task);
        cx.cancel = cancel;
        match call.run(cx).await {
            Ok(output) => serde_json::from_str(output.content()).unwrap(),
            Err(error) => error.to_value(),
        }
    }

    pub(crate) async fn write(&self, path: &str, content: &str) -> Value {
        self.call("write_file", json!({"path": path, "content": content})).await
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    pub(crate) fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }
}

fn assert_holds(value: &Value, subset: Value) {
    assert!(holds(value, &subset), "{value:#} lacks {subset}");
}

fn hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().chars().take(16).collect()
}

#[tokio::test]
async fn a_new_file_is_made_with_its_folders_and_they_are_told() {
    let place = Place::new();
    let caller = Caller::new(&place);
    fs::create_dir(caller.path("a")).unwrap();
    let done = caller.write("a/b/c/d.txt", "one\ntwo").await;
    let path = caller.path("a/b/c/d.txt");
    let made = [caller.path("a/b"), caller.path("a/b/c")];
    assert_holds(
        &done,
        json!({
            "bytes_written": 7, "created": true, "lines": 2, "hash": hash(b"one\ntwo"),
            "resolved_path": path, "files_modified": [path], "dirs_created": made,
        }),
    );
    for key in ["replaced_unseen", "encoding", "line_endings", "diff", "lint", "not_kept"] {
        assert!(done.get(key).is_none(), "{key}: {done}");
    }
    assert_eq!(fs::read(&path).unwrap(), b"one\ntwo");
    let again = caller.write("a/b/c/d.txt", "").await;
    assert_holds(&again, json!({"bytes_written": 0, "created": false, "lines": 0}));
    assert!(again.get("dirs_created").is_none(), "no folder was made this time: {again}");
    assert!(again["diff"].as_str().unwrap().contains("-one"), "{again}");
    assert_eq!(fs::read(&path).unwrap(), b"");
}

#[tokio::test]
async fn an_unseen_file_is_replaced_and_that_is_told() {
    let place = Place::new();
    place.write("a.txt", "x\ny\n");
    place.write("b.bin", b"\x00\x01\x02\xFF".repeat(50));
    let caller = Caller::new(&place);
    let done = caller.write("a.txt", "x\nz\n").await;
    let replaced = json!({"hash": hash(b"x\ny\n"), "bytes": 4, "lines": 2});
    assert_holds(&done, json!({"created": false, "replaced_unseen": replaced}));
    let diff = "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n x\n-y\n+z\n";
    assert_eq!(done["diff"], diff);
    let done = caller.write("a.txt", "w\n").await;
    assert!(done.get("replaced_unseen").is_none(), "its own write: {done}");
    let done = caller.write("b.bin", "text\n").await;
    assert_holds(&done, json!({"replaced_unseen": {"bytes": 200}}));
    assert!(done.get("diff").is_none());
    assert_eq!(caller.text("b.bin"), "text\n");
}

#[tokio::test]
async fn what_changed_underneath_is_not_overwritten() {
    let place = Place::new();
    let caller = Caller::new(&place);
    caller.write("a.txt", "one\ntwo\nthree\n").await;
    place.write("a.txt", "one\n2\nthree\n");
    let refused = caller.write("a.txt", "mine\n").await;
    let now = hash(b"one\n2\nthree\n");
    assert_holds(
        &refused,
        json!({
            "kind": "conflict", "current_hash": now, "seen_hash": hash(b"one\ntwo\nthree\n"),
            "diff": "--- last seen\n+++ current\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n",
        }),
    );
    assert!(refused["hint"].as_str().unwrap().contains(&now), "{refused}");
    assert_eq!(caller.text("a.txt"), "one\n2\nthree\n");
    // Repeating the call does not bypass the check.
    assert_eq!(caller.write("a.txt", "mine\n").await["kind"], "conflict");
    let arguments = json!({"path": "a.txt", "content": "mine\n", "expected_hash": now});
    let done = caller.call("write_file", arguments).await;
    assert_holds(&done, json!({"bytes_written": 5}));
    assert_eq!(caller.text("a.txt"), "mine\n");
}

#[tokio::test]
async fn what_was_read_and_has_changed_is_not_overwritten() {
    let place = Place::new();
    place.write("a.txt", "one\ntwo\n");
    let caller = Caller::new(&place);
    let read = caller.call("read_file", json!({"path": "a.txt"})).await;
    place.write("a.txt", "one\n2\n");
    let refused = caller.write("a.txt", "mine\n").await;
    assert_holds(&refused, json!({"kind": "conflict", "seen_hash": read["hash"]}));
    assert!(refused["diff"].as_str().unwrap().contains("-two\n+2\n"), "{refused}");
    // After reading it again, the write is allowed.
    let read = caller.call("read_file", json!({"path": "a.txt"})).await;
    assert_eq!(read["hash"], refused["current_hash"]);
    assert_holds(&caller.write("a.txt", "mine\n").await, json!({"bytes_written": 5}));
    // A file that the caller wrote may be written again.
    assert_holds(&caller.write("a.txt", "more\n").await, json!({"bytes_written": 5}));
}

#[tokio::test]
async fn a_file_that_was_read_in_part_is_replaced_with_a_note() {
    let place = Place::new();
    place.write("a.txt", "one\ntwo\nthree\n");
    let caller = Caller::new(&place);
    caller.call("read_file", json!({"path": "a.txt", "limit": 2})).await;
    let done = caller.write("a.txt", "mine\n").await;
    assert!(done["note"].as_str().unwrap().contains("only part"), "{done}");
    assert!(done.get("replaced_unseen").is_none(), "{done}");
    assert!(caller.write("a.txt", "more\n").await.get("note").is_none());
}

#[tokio::test]
async fn a_version_that_is_known_no_more_is_compared_with_the_new_one() {
    let place = Place::new();
    let caller = Caller::new(&place);
    // Too long to be stored in the session.
    let long = "a line of the old file\n".repeat(60_000);
    caller.write("a.txt", &long).await;
    place.write("a.txt", "theirs\n");
    let refused = caller.write("a.txt", "mine\n").await;
    let diff = "--- current\n+++ proposed\n@@ -1 +1 @@\n-theirs\n+mine\n";
    assert_holds(&refused, json!({"kind": "conflict", "diff": diff}));
}

#[tokio::test]
async fn another_time_with_the_same_bytes_is_no_change() {
    let place = Place::new();
    let caller = Caller::new(&place);
    caller.write("a.txt", "one\n").await;
    place.write("a.txt", "two\n");
    let path = place.write("a.txt", "one\n");
    let later =
        fs::metadata(&path).unwrap().modified().unwrap() + std::time::Duration::from_secs(9);
    fs::File::options().write(true).open(&path).unwrap().set_modified(later).unwrap();
    assert_holds(&caller.write("a.txt", "three\n").await, json!({"bytes_written": 6}));
    // If the file already has the new content, nothing is written.
    place.write("a.txt", "four\n");
    let before = fs::metadata(&path).unwrap();
    let done = caller.write("a.txt", "four\n").await;
    assert_holds(&done, json!({"unchanged": true, "bytes_written": 0, "files_modified": []}));
    assert_eq!(fs::metadata(&path).unwrap().ino(), before.ino());
    assert_holds(&caller.write("a.txt", "five\n").await, json!({"bytes_written": 5}));
}

#[tokio::test]
async fn a_file_that_was_removed_is_made_again() {
    let place = Place::new();
    let caller = Caller::new(&place);
    caller.write("a.txt", "one\n").await;
    fs::remove_file(caller.path("a.txt")).unwrap();
    assert_holds(&caller.write("a.txt", "two\n").await, json!({"created": true}));
}

#[tokio::test]
async fn tasks_of_one_session_see_the_writes_of_the_others() {
    let place = Place::new();
    let (main, helper) = {
        let main = Caller::new(&place);
        let helper = main.task("helper");
        (main, helper)
    };
    main.write("a.txt", "one\n").await;
    let unseen = helper.write("a.txt", "two\n").await;
    assert_holds(&unseen, json!({"kind": "conflict", "written_by": {"task_id": "main"}}));
    assert!(unseen["error"].as_str().unwrap().contains("not seen"), "{unseen}");
    let arguments =
        json!({"path": "a.txt", "content": "two\n", "expected_hash": unseen["current_hash"]});
    assert_holds(&helper.call("write_file", arguments).await, json!({"bytes_written": 4}));
    let refused = main.write("a.txt", "three\n").await;
    assert_holds(&refused, json!({"kind": "conflict", "written_by": {"task_id": "helper"}}));
    assert!(refused["error"].as_str().unwrap().contains("task 'helper' wrote it"), "{refused}");
    // Through a symlink it is the same file.
    symlink("a.txt", main.path("link")).unwrap();
    assert_holds(&main.write("link", "three\n").await, json!({"kind": "conflict"}));
    assert_eq!(main.text("a.txt"), "two\n");
    assert_holds(&helper.write("link", "four\n").await, json!({"bytes_written": 5}));
    assert!(fs::symlink_metadata(main.path("link")).unwrap().is_symlink());
}

#[tokio::test]
async fn the_expected_hash_must_be_that_of_the_file() {
    let place = Place::new();
    place.write("a.txt", "one\n");
    let caller = Caller::new(&place);
    let write = |path: &str, expected: &str| json!({"path": path, "content": "new\n", "expected_hash": expected});
    let right = hash(b"one\n");
    for (path, expected, kind) in [
        ("a.txt", hash(b"two\n").as_str(), "conflict"),
        ("none.txt", right.as_str(), "conflict"),
        ("a.txt", "", "invalid_arguments"),
        ("a.txt", "abc", "invalid_arguments"),
        ("a.txt", "not a hash", "invalid_arguments"),
    ] {
        let refused = caller.call("write_file", write(path, expected)).await;
        assert_eq!(refused["kind"], kind, "{refused}");
    }
    assert_eq!(caller.text("a.txt"), "one\n");
    assert!(!caller.path("none.txt").exists());
    let done = caller.call("write_file", write("a.txt", &right[..8].to_uppercase())).await;
    assert_holds(&done, json!({"bytes_written": 4}));
    assert!(done.get("replaced_unseen").is_none(), "{done}");
}

#[tokio::test]
async fn a_rehearsal_writes_nothing() {
    let place = Place::new();
    place.write("a.txt", "one\n");
    let caller = Caller::new(&place);
    for (path, content) in [("a.txt", "two\n"), ("x/y.txt", "new\n")] {
        let arguments = json!({"path": path, "content": content, "dry_run": true});
        let done = caller.call("write_file", arguments.clone()).await;
        assert_holds(&done, json!({"dry_run": true, "bytes_written": 0, "files_modified": []}));
        let effects = place.effects("write_file", arguments);
        assert!(effects.iter().all(|effect| effect.scope == Scope::FILE_READ), "{effects:?}");
    }
    assert_eq!(caller.text("a.txt"), "one\n");
    assert!(!caller.path("x").exists());
}

#[tokio::test]
async fn two_writes_of_one_file_do_not_happen_at_once() {
    let place = Place::new();
    let arguments = json!({"path": "a.txt", "content": "x"});
    let effects = place.effects("write_file", arguments);
    assert!(effects.iter().any(|a| effects.iter().any(|b| a.conflicts_with(b))));
    let other = place.effects("write_file", json!({"path": "b.txt", "content": "x"}));
    assert!(!effects.iter().any(|a| other.iter().any(|b| a.conflicts_with(b))));
}

#[tokio::test]
async fn encoding_mark_and_line_endings_are_kept() {
    let place = Place::new();
    let caller = Caller::new(&place);
    let wide = |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
    let marked = |mark: &[u8], body: &[u8]| [mark, body].concat();
    type Case = (&'static str, Vec<u8>, &'static str, Vec<u8>, Value);
    let cases: [Case; 8] = [
        (
            "latin.txt",
            b"caf\xE9 na\xEFve d\xE9j\xE0 vu, \xE0 bient\xF4t\n".to_vec(),
            "gar\u{E7}on\n",
            b"gar\xE7on\n".to_vec(),
            json!({"encoding": "windows-1252"}),
        ),
        (
            "mark.txt",
            marked(b"\xEF\xBB\xBF", b"one\r\ntwo\r\n"),
            "a\nb\n",
            marked(b"\xEF\xBB\xBF", b"a\r\nb\r\n"),
            json!({"encoding": "utf-8-bom", "line_endings": "crlf"}),
        ),
        (
            "wide.txt",
            marked(b"\xFF\xFE", &wide("one\r\n")),
            "zw\u{F6}lf \u{1F600}\n",
            marked(b"\xFF\xFE", &wide("zw\u{F6}lf \u{1F600}\r\n")),
            json!({"encoding": "utf-16le", "line_endings": "crlf"}),
        ),
        ("cr.txt", b"one\rtwo\r".to_vec(), "a\nb", b"a\rb".to_vec(), json!({"line_endings": "cr"})),
        (
            "crlf.txt",
            b"one\r\ntwo\r\n".to_vec(),
            "a\r\nb\n",
            b"a\r\nb\n".to_vec(),
            json!({"line_endings": "mixed"}),
        ),
        ("unix.txt", b"one\ntwo\n".to_vec(), "a\r\nB\r\n", b"a\nB\n".to_vec(), json!({})),
        (
            "both.txt",
            b"one\n".to_vec(),
            "a\r\nb\n",
            b"a\r\nb\n".to_vec(),
            json!({"line_endings": "mixed"}),
        ),
        ("lf.txt", b"one\n".to_vec(), "\u{FEFF}a\n", b"\xEF\xBB\xBFa\n".to_vec(), json!({})),
    ];
    for (name, old, content, new, said) in cases {
        place.write(name, &old);
        let done = caller.write(name, content).await;
        assert_holds(&done, said);
        assert_eq!(fs::read(caller.path(name)).unwrap(), new, "{name}");
        assert_eq!(done["bytes_written"], new.len(), "{name}");
        assert_eq!(done["hash"], hash(&new), "{name}");
    }
}

#[tokio::test]
async fn what_the_encoding_lacks_is_refused() {
    let place = Place::new();
    let old = b"caf\xE9 na\xEFve d\xE9j\xE0 vu, \xE0 bient\xF4t\n";
    place.write("latin.txt", old);
    let caller = Caller::new(&place);
    let refused = caller.write("latin.txt", "ok\n\u{E9} \u{4E2D}\n").await;
    assert_holds(
        &refused,
        json!({"kind": "invalid_arguments", "offset": 6, "encoding": "windows-1252"}),
    );
    assert!(refused["error"].as_str().unwrap().contains("line 2"), "{refused}");
    assert_eq!(fs::read(caller.path("latin.txt")).unwrap(), old);
    let arguments = json!({"path": "latin.txt", "content": "\u{4E2D}\n", "encoding": "utf-8"});
    assert_holds(&caller.call("write_file", arguments).await, json!({"bytes_written": 4}));
    assert_eq!(caller.text("latin.txt"), "\u{4E2D}\n");
    // A yen sign and a backslash are the same byte there.
    let arguments = json!({"path": "new.txt", "content": "a\u{A5}\n", "encoding": "shift_jis"});
    let refused = caller.call("write_file", arguments).await;
    assert_holds(&refused, json!({"kind": "invalid_arguments", "offset": 1}));
    let arguments = json!({"path": "new.txt", "content": "x", "encoding": "utf-99"});
    assert_eq!(caller.call("write_file", arguments).await["kind"], "invalid_arguments");
    assert!(!caller.path("new.txt").exists());
}

#[tokio::test]
async fn the_caller_may_choose_the_spelling() {
    let place = Place::new();
    place.write("a.txt", "one\r\ntwo\r\n");
    let caller = Caller::new(&place);
    for (extra, expected) in [
        (json!({"line_endings": "lf"}), &b"a\nb\n"[..]),
        (json!({"line_endings": "crlf"}), b"a\r\nb\r\n"),
        (json!({"encoding": "utf-8-bom"}), b"\xEF\xBB\xBFa\r\nb\r\n"),
        (json!({"encoding": "utf-8"}), b"\xEF\xBB\xBFa\r\nb\r\n"),
        (json!({"encoding": "utf-16", "line_endings": "lf"}), b"\xFF\xFEa\0\n\0b\0\n\0"),
        (json!({"encoding": "utf-8", "line_endings": "lf"}), b"a\nb\n"),
        (json!({"encoding": "latin1"}), b"a\nb\n"),
    ] {
        let mut arguments = json!({"path": "a.txt", "content": "a\nb\n"});
        for (key, value) in extra.as_object().unwrap() {
            arguments[key] = value.clone();
        }
        let done = caller.call("write_file", arguments).await;
        assert!(done.get("error").is_none(), "{extra}: {done}");
        assert_eq!(fs::read(caller.path("a.txt")).unwrap(), expected, "{extra}");
    }
}

#[tokio::test]
async fn a_new_file_is_spelt_as_the_project_wants() {
    let place = Place::new();
    place.write(".editorconfig", "root = true\n[*.bat]\ncharset = latin1\n");
    place.write("sub/.editorconfig", "[*.cs]\ncharset = utf-8-bom\n");
    let caller = Caller::new(&place);
    for (name, extra, expected) in [
        ("a.txt", None, &b"\xC3\xA9\n"[..]),
        ("a.bat", None, b"\xE9\n"),
        ("sub/b.bat", None, b"\xE9\n"),
        ("sub/c.cs", None, b"\xEF\xBB\xBF\xC3\xA9\n"),
        ("sub/d.cs", Some("utf-8"), b"\xC3\xA9\n"),
    ] {
        let mut arguments = json!({"path": name, "content": "\u{E9}\n"});
        if let Some(encoding) = extra {
            arguments["encoding"] = json!(encoding);
        }
        let done = caller.call("write_file", arguments).await;
        assert_eq!(fs::read(caller.path(name)).unwrap(), expected, "{name}: {done}");
    }
}

#[tokio::test]
async fn our_own_output_is_not_written_back() {
    let place = Place::new();
    place.write("a.txt", "one\ntwo\n");
    let caller = Caller::new(&place);
    let shown = caller.call("read_file", json!({"path": "a.txt"})).await;
    let numbered = shown["content"].as_str().unwrap();
    for path in ["a.txt", "copy.txt"] {
        let refused = caller.write(path, numbered).await;
        assert_eq!(refused["kind"], "invalid_arguments", "{refused}");
        assert!(refused["hint"].as_str().unwrap().contains("keep_numbers"), "{refused}");
    }
    assert_eq!(caller.text("a.txt"), "one\ntwo\n");
    let arguments = json!({"path": "copy.txt", "content": numbered, "keep_numbers": true});
    assert_holds(&caller.call("write_file", arguments).await, json!({"created": true}));
    let unchanged = caller.call("read_file", json!({"path": "a.txt"})).await;
    assert_eq!(unchanged["status"], "unchanged");
    for content in [unchanged.to_string(), unchanged["message"].as_str().unwrap().to_owned()] {
        assert_eq!(caller.write("a.txt", &content).await["kind"], "invalid_arguments");
    }
}

#[tokio::test]
async fn syntax_errors_are_told_and_never_refused() {
    let place = Place::new();
    let caller = Caller::new(&place);
    let done = caller.write("a.json", "{\"a\": 1,\n \"b\" 2}\n").await;
    assert_holds(&done, json!({"bytes_written": 17, "lint": {"status": "error"}}));
    assert_eq!(done["lint"]["problems"][0]["line"], 2, "{done}");
    let done = caller.write("a.json", "{\"c\": 1,\n \"b\" 2}\n").await;
    assert_holds(&done, json!({"lint": {"status": "error"}}));
    assert!(done["lint"].get("problems").is_none(), "it was there before: {done}");
    for (name, content) in [
        ("tsconfig.json", "// settings\n{\n  \"a\": [1,],\n}\n"),
        ("b.json", "{}"),
        ("c.toml", "[a]\nb = 1\n"),
    ] {
        let done = caller.write(name, content).await;
        assert_holds(&done, json!({"lint": {"status": "ok"}}));
        assert_eq!(caller.text(name), content);
    }
    let done = caller.write("c.toml", "[a\n").await;
    assert_holds(&done, json!({"lint": {"status": "error"}}));
    assert!(caller.write("empty.json", "").await.get("error").is_none());
}

#[tokio::test]
async fn names_of_every_kind() {
    let place = Place::new();
    let caller = Caller::new(&place);
    let deep = format!("{}/file", vec!["d".repeat(200); 18].join("/"));
    let deeper = "e".repeat(255);
    for name in [" with spaces ", "two\nlines", "\u{E4}\u{1F600}", "-rf", "a\tb", &deep, &deeper] {
        let done = caller.write(name, "x\n").await;
        assert_holds(&done, json!({"created": true, "bytes_written": 2}));
        assert_eq!(caller.text(name), "x\n");
        assert_holds(&caller.write(name, "y\n").await, json!({"created": false}));
    }
    let odd = caller.path("").join(OsStr::from_bytes(b"\xFF\xFEname"));
    fs::write(&odd, "old\n").unwrap();
    symlink(&odd, caller.path("odd")).unwrap();
    assert_holds(&caller.write("odd", "new\n").await, json!({"created": false}));
    assert_holds(&caller.write("odd", "newer\n").await, json!({"bytes_written": 6}));
    assert_eq!(fs::read_to_string(&odd).unwrap(), "newer\n");
    let shown = caller.write("odd", "newest\n").await["resolved_path"].clone();
    let address = format!("file://{}/%FF%FEname", caller.dir.display());
    assert_eq!(shown, json!(address), "the file behind the link");
    let done = caller.write(&address, "last\n").await;
    assert_holds(&done, json!({"created": false, "resolved_path": address}));
    assert!(done.get("replaced_unseen").is_none(), "it is the file of the link: {done}");
    assert_eq!(fs::read_to_string(&odd).unwrap(), "last\n");
    let refused = caller.write(&"f".repeat(256), "x").await;
    assert_eq!(refused["kind"], "invalid_arguments", "{refused}");
}

#[tokio::test]
async fn the_file_keeps_what_it_is() {
    let place = Place::new();
    let script = place.write("run.sh", "#!/bin/sh\n");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    fs::hard_link(&script, place.path().join("other")).unwrap();
    let caller = Caller::new(&place);
    let done = caller.write("run.sh", "#!/bin/bash\n").await;
    let shown = done["not_kept"][0].as_str().unwrap();
    assert!(shown.contains("other name") && shown.contains("old content"), "{done}");
    assert_eq!(fs::metadata(&script).unwrap().mode() & 0o777, 0o755);
    assert_eq!(caller.text("other"), "#!/bin/sh\n");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o444)).unwrap();
    assert_eq!(caller.write("run.sh", "x").await["kind"], "denied");
    fs::create_dir(caller.path("folder")).unwrap();
    assert_eq!(caller.write("folder", "x").await["kind"], "invalid_arguments");
    assert!(caller.write("run.sh/below", "x").await["error"].is_string());
    assert_eq!(caller.write("/dev/null", "x").await["kind"], "invalid_arguments");
    assert_eq!(caller.text("run.sh"), "#!/bin/bash\n");
}

#[tokio::test]
async fn a_cancelled_call_writes_nothing() {
    let place = Place::new();
    let caller = Caller::new(&place);
    let stopped = CancellationToken::new();
    stopped.cancel();
    let arguments = json!({"path": "a/b.txt", "content": "x"});
    assert_eq!(caller.call_until("write_file", arguments, stopped).await["kind"], "cancelled");
    assert!(!caller.path("a").exists());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// The file contains what was written, in its own encoding and line endings.
    #[test]
    fn the_file_holds_what_was_written(
        content in "(\\PC|[a-zäé |0-9]|\\n){0,40}",
        old in 0..5_usize,
    ) {
        let wide = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
        let mark = b"\xEF\xBB\xBF";
        let marked = [&mark[..], b"old\n"].concat();
        let olds = [None, Some(b"old\n".to_vec()), Some(b"old\r\nend\r\n".to_vec()), Some(marked),
            Some([&b"\xFF\xFE"[..], &wide("old\r\n")].concat())];
        let crlf = content.replace('\n', "\r\n");
        let expected = match old {
            2 => crlf.clone().into_bytes(),
            3 => [&mark[..], content.as_bytes()].concat(),
            4 => [&b"\xFF\xFE"[..], &wide(&crlf)].concat(),
            _ => content.clone().into_bytes(),
        };
        let place = Place::new();
        if let Some(old) = &olds[old] {
            place.write("a.txt", old);
        }
        let caller = Caller::new(&place);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let arguments = json!({"path": "a.txt", "content": content, "keep_numbers": true});
        let done = runtime.block_on(caller.call("write_file", arguments));
        prop_assert!(done.get("error").is_none(), "{}", done);
        let found = fs::read(caller.path("a.txt")).unwrap();
        prop_assert_eq!(&done["hash"], &json!(hash(&found)));
        prop_assert_eq!(found, expected);
    }
}

const SHARED: &str = "HERMES_TEST_SHARED_FILE";
const LINES: usize = 25;

/// Adds lines to a file, each with the hash of the version that it read.
async fn add_lines(file: &Path, who: &str) {
    let dir = file.parent().unwrap();
    for number in 0..LINES {
        loop {
            let old = fs::read(file).unwrap();
            let content = format!("{}{who} {number}\n", String::from_utf8(old.clone()).unwrap());
            let arguments = json!({"path": file, "content": content, "expected_hash": hash(&old)});
            let call = tool("write_file").bind(&arguments).unwrap();
            match call.run(ToolContext::bare(dir)).await {
                Ok(_) => break,
                Err(error) => assert_eq!(error.kind().name(), "conflict", "{error}"),
            }
        }
    }
}

/// Not a test: the other process.
#[tokio::test]
#[ignore = "started by another test"]
async fn write_from_another_process() {
    if let Some(file) = env::var_os(SHARED) {
        add_lines(Path::new(&file), &format!("process {}", std::process::id())).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn no_update_is_lost() {
    let place = Place::new();
    let file = fs::canonicalize(place.write("log", "")).unwrap();
    let start = || {
        Command::new(env::current_exe().unwrap())
            .args(["--exact", "write_file::write_from_another_process", "--ignored"])
            .env(SHARED, &file)
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap()
    };
    let children = [start(), start()];
    let threads: Vec<_> = (0..8)
        .map(|number| {
            let file = file.clone();
            tokio::spawn(async move { add_lines(&file, &format!("thread {number}")).await })
        })
        .collect();
    for thread in threads {
        thread.await.unwrap();
    }
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(text.lines().count(), 10 * LINES);
    assert_eq!(text.lines().collect::<BTreeSet<_>>().len(), 10 * LINES, "each line once");
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
}

#[tokio::test]
async fn a_path_that_means_a_folder_makes_no_file() {
    let place = Place::new();
    let refused = place.call("write_file", json!({"path": "new/", "content": "x"})).await;
    assert_eq!(refused["kind"], "invalid_arguments", "{refused}");
    assert!(!place.path().join("new").exists());
    place.write("file", "x");
    let in_the_way = place.call("write_file", json!({"path": "file/a", "content": "x"})).await;
    assert_eq!(in_the_way["hint"], "A parent of the path is a file; choose another path.");
}

#[tokio::test]
async fn replacing_a_binary_file_is_said() {
    let place = Place::new();
    place.write("a.png", b"\x89PNG\r\n\x1A\n\0\0");
    let written = place.call("write_file", json!({"path": "a.png", "content": "text\n"})).await;
    assert_eq!(written["note"], "The replaced file is not text.", "{written}");
}

#[tokio::test]
async fn the_file_behind_a_link_is_named() {
    let place = Place::new();
    let caller = Caller::new(&place);
    place.write("t", "one\n");
    std::os::unix::fs::symlink("t", place.path().join("l")).unwrap();
    std::os::unix::fs::symlink("nox", place.path().join("dl")).unwrap();
    let target = json!(caller.path("t"));
    let done = caller.write("l", "x\n").await;
    assert_eq!((&done["resolved_path"], &done["files_modified"][0]), (&target, &target), "{done}");
    let patch = json!({"path": "l", "old_string": "x", "new_string": "y"});
    let done = caller.call("patch", patch).await;
    assert_eq!((&done["resolved_path"], &done["files_modified"][0]), (&target, &target), "{done}");
    let made = caller.write("dl", "x\n").await;
    assert_eq!(made["created"], true);
    assert_eq!(made["resolved_path"], json!(caller.path("nox")), "{made}");
}

#[tokio::test]
async fn a_named_version_counts_also_where_there_is_nothing_to_do() {
    let place = Place::new();
    place.write("c", "0");
    let caller = Caller::new(&place);
    let hash = caller.call("read_file", json!({"path": "c"})).await["hash"].clone();
    place.write("c", "1");
    let answer = caller
        .call("write_file", json!({"path": "c", "content": "1", "expected_hash": hash}))
        .await;
    assert_eq!(answer["kind"], "conflict", "{answer}");
}

#[tokio::test]
async fn a_file_that_was_seen_and_is_gone_is_told_of() {
    let place = Place::new();
    let path = place.write("g", "seen\n");
    let caller = Caller::new(&place);
    caller.call("read_file", json!({"path": "g"})).await;
    fs::remove_file(path).unwrap();
    let answer = caller.call("write_file", json!({"path": "g", "content": "anew\n"})).await;
    assert_eq!(answer["created"], true);
    assert!(answer["note"].as_str().unwrap().contains("no longer existed"), "{answer}");
    let answer = caller.call("write_file", json!({"path": "other", "content": "x\n"})).await;
    assert!(answer.get("note").is_none(), "{answer}");
}

#[tokio::test]
async fn a_trial_of_a_new_file_shows_its_lines() {
    let place = Place::new();
    let arguments = json!({"path": "n.txt", "content": "a\nb\n", "dry_run": true});
    let shown = place.call("write_file", arguments).await;
    assert_eq!(shown["diff"], "--- /dev/null\n+++ b/n.txt\n@@ -0,0 +1,2 @@\n+a\n+b\n");
    assert!(!place.path().join("n.txt").exists());
}
