//! `write_file` and what the session knows about a file: that it did not exist,
//! how much of it was shown, and an encoding that cannot be detected.

use std::fs;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hermes_core::{MemorySessionStore, Session, SessionError, SessionStore};
use serde_json::{Value, json};

use crate::harness::Place;
use crate::write_file::Caller;

#[tokio::test]
async fn a_file_that_was_not_there_is_not_overwritten() {
    let place = Place::new();
    let caller = Caller::new(&place);
    let missing = caller.call("read_file", json!({"path": "new.txt"})).await;
    assert_eq!(missing["kind"], "not_found", "{missing}");
    place.write("new.txt", "somebody else's\n");
    let refused = caller.write("new.txt", "mine\n").await;
    assert_eq!(refused["kind"], "conflict", "{refused}");
    assert!(
        refused["error"].as_str().unwrap().contains("did not exist when you looked"),
        "{refused}"
    );
    assert_eq!(caller.text("new.txt"), "somebody else's\n");
    // Another task has not looked; and a task that reads the file knows it.
    let other = caller.task("other").write("new.txt", "somebody else's\n").await;
    assert_eq!(other["unchanged"], true, "{other}");
    caller.call("read_file", json!({"path": "new.txt"})).await;
    let done = caller.write("new.txt", "mine\n").await;
    assert!(done.get("replaced_unseen").is_none() && done["error"].is_null(), "{done}");
    // What is still missing is created.
    caller.call("read_file", json!({"path": "second.txt"})).await;
    assert_eq!(caller.write("second.txt", "x\n").await["created"], true);
    assert_eq!(caller.write("second.txt", "y\n").await["created"], false);
}

#[tokio::test]
async fn a_file_of_which_a_part_was_read_is_overwritten_with_a_note() {
    let place = Place::new();
    place.write("long.txt", "line\n".repeat(5000));
    let caller = Caller::new(&place);
    caller.call("read_file", json!({"path": "long.txt", "limit": 5})).await;
    let done = caller.write("long.txt", "short\n").await;
    assert!(done["note"].as_str().unwrap().contains("only part"), "{done}");
}

#[tokio::test]
async fn an_encoding_that_the_bytes_hide_is_told_and_remembered() {
    let place = Place::new();
    let caller = Caller::new(&place);
    let arguments = json!({"path": "d", "content": "£ 5 ü", "encoding": "windows-1252"});
    let done = caller.call("write_file", arguments).await;
    assert_eq!(fs::read(caller.path("d")).unwrap(), b"\xA3 5 \xFC");
    let note = done["note"].as_str().unwrap();
    assert!(note.contains("encoding=windows-1252") && note.contains("detected as"), "{note}");
    let read = caller.call("read_file", json!({"path": "d"})).await;
    assert_eq!((&read["content"], &read["encoding"]), (&json!("1|£ 5 ü"), &json!("windows-1252")));
    let patch = json!({"path": "d", "old_string": "£ 5", "new_string": "£ 6"});
    let patched = caller.call("patch", patch).await;
    assert!(patched.get("error").is_none(), "{patched}");
    assert_eq!(fs::read(caller.path("d")).unwrap(), b"\xA3 6 \xFC");
    // Also if the encoding was not specified.
    place.write("old", b"caf\xE9");
    caller.call("read_file", json!({"path": "old"})).await;
    let done = caller.write("old", "naïve").await;
    assert_eq!(done["encoding"], "windows-1252", "{done}");
    let read = caller.call("read_file", json!({"path": "old"})).await;
    assert_eq!(read["content"], "1|naïve", "{read}");
    // A detectable encoding needs no note.
    let done = caller
        .call("write_file", json!({"path": "d", "content": "£ 5 ü", "encoding": "utf-8"}))
        .await;
    assert!(done.get("note").is_none(), "{done}");
    assert_eq!(caller.call("read_file", json!({"path": "d"})).await["content"], "1|£ 5 ü");
}

/// A disk that is full at times.
#[derive(Default)]
struct Full {
    inner: MemorySessionStore,
    is_full: AtomicBool,
}

impl SessionStore for Full {
    fn read(&self, session: &str, key: &str) -> Result<Value, SessionError> {
        self.inner.read(session, key)
    }

    fn update(
        &self,
        session: &str,
        key: &str,
        change: &mut dyn FnMut(Value) -> Result<Value, SessionError>,
    ) -> Result<(), SessionError> {
        if self.is_full.load(Ordering::Relaxed) {
            let _ = change(self.inner.read(session, key)?);
            return Err(SessionError::Failed("No space left on device".into()));
        }
        self.inner.update(session, key, change)
    }
}

#[tokio::test]
async fn what_cannot_be_written_down_is_known_all_the_same() {
    let place = Place::new();
    let disk = Arc::new(Full::default());
    let caller = Caller::keeping(&place, Session::new("full disk", Arc::clone(&disk) as _));
    for name in ["early.txt", "late.txt", "gone.txt"] {
        place.write(name, "one\n");
    }
    caller.call("read_file", json!({"path": "early.txt"})).await;
    caller.call("read_file", json!({"path": "gone.txt"})).await;
    disk.is_full.store(true, Ordering::Relaxed);
    caller.call("read_file", json!({"path": "late.txt"})).await;
    caller.call("read_file", json!({"path": "new.txt"})).await;
    for name in ["early.txt", "late.txt", "new.txt"] {
        place.write(name, "somebody else's\n");
        let refused = caller.write(name, "mine\n").await;
        assert_eq!(refused["kind"], "conflict", "{name}: {refused}");
    }
    // What was read and written in that time is known.
    caller.call("read_file", json!({"path": "late.txt"})).await;
    for text in ["mine\n", "mine again\n"] {
        let done = caller.write("late.txt", text).await;
        assert!(done["error"].is_null() && done.get("replaced_unseen").is_none(), "{done}");
    }
    // Another task has seen nothing of it.
    let other = caller.task("other").write("late.txt", "other\n").await;
    assert_eq!(other["kind"], "conflict", "{other}");
    // And a deleted file is forgotten.
    caller
        .call(
            "patch",
            json!({"patch": "*** Begin Patch\n*** Delete File: gone.txt\n*** End Patch"}),
        )
        .await;
    assert!(!caller.path("gone.txt").exists());
    assert_eq!(caller.write("gone.txt", "anew\n").await["created"], true);
    // Once there is space again, all of it is saved.
    disk.is_full.store(false, Ordering::Relaxed);
    place.write("late.txt", "third\n");
    assert_eq!(caller.write("late.txt", "mine\n").await["kind"], "conflict");
    caller.call("read_file", json!({"path": "late.txt"})).await;
    assert!(caller.write("late.txt", "mine\n").await["error"].is_null());
}

#[tokio::test]
async fn numbered_lines_of_a_table_are_not_written_back() {
    let pages = [
        ("t.md", "| a | b |\n|---|---|\n| 1 | 2 |\n"),
        ("s.sh", "cat x | grep y\nls | wc -l\nps | sort\n"),
        ("t.ts", "type A = x | y;\ntype B = z | w;\n"),
        ("d.csv", "a|b\nc|d\ne|f\n"),
        ("one.sh", "ls | wc\n"),
        ("old.mac", "a|b\rc|d\r"),
    ];
    for (name, text) in pages {
        for offset in [1, 2] {
            let place = Place::new();
            place.write(name, text);
            let caller = Caller::new(&place);
            let read = json!({"path": name, "offset": offset});
            let page = caller.call("read_file", read).await["content"].clone();
            let page = page.as_str().unwrap();
            if page.is_empty() {
                continue;
            }
            for path in [name, "copy"] {
                for content in [page.to_owned(), format!("{page}\n")] {
                    let refused = caller.write(path, &content).await;
                    assert_eq!(
                        refused["kind"], "invalid_arguments",
                        "{path} {content:?}: {refused}"
                    );
                }
            }
            assert_eq!(caller.text(name), text);
            let arguments = json!({"path": "copy", "content": page, "keep_numbers": true});
            assert_eq!(caller.call("write_file", arguments).await["created"], true);
        }
    }
}

#[tokio::test]
async fn a_table_of_which_the_first_column_counts_is_written() {
    let place = Place::new();
    let caller = Caller::new(&place);
    let table = "1|ann|12\n2|bob|7\n3|eve|40\n";
    assert_eq!(caller.write("t.psv", table).await["created"], true);
    // Also once it was shown.
    caller.call("read_file", json!({"path": "t.psv"})).await;
    let more = format!("{table}4|zoe|1\n");
    for (path, content) in [("t.psv", more.as_str()), ("copy.psv", table), ("one.psv", "1|x\n")] {
        let done = caller.write(path, content).await;
        assert!(done.get("error").is_none(), "{path}: {done}");
    }
    assert_eq!(caller.text("t.psv"), more);
    // With line numbers before its own numbers it is refused.
    let shown = caller.call("read_file", json!({"path": "t.psv"})).await;
    let refused = caller.write("t.psv", shown["content"].as_str().unwrap()).await;
    assert_eq!(refused["kind"], "invalid_arguments", "{refused}");
}
