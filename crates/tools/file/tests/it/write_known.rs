//! `write_file` and what the session knows of a file: that it was not there,
//! how much of it was shown, and the encoding that its bytes hide.

use std::fs;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hermes_core::{MemorySessions, Session, SessionError, SessionStore};
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
    assert!(refused["error"].as_str().unwrap().contains("not there when you looked"), "{refused}");
    assert_eq!(caller.text("new.txt"), "somebody else's\n");
    // Another task has not looked; and whoever reads it knows it.
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
    assert!(done["note"].as_str().unwrap().contains("only a part"), "{done}");
}

#[tokio::test]
async fn an_encoding_that_the_bytes_hide_is_told_and_remembered() {
    let place = Place::new();
    let caller = Caller::new(&place);
    let arguments = json!({"path": "d", "content": "£ 5 ü", "encoding": "windows-1252"});
    let done = caller.call("write_file", arguments).await;
    assert_eq!(fs::read(caller.path("d")).unwrap(), b"\xA3 5 \xFC");
    let note = done["note"].as_str().unwrap();
    assert!(note.contains("encoding=windows-1252") && note.contains("look like"), "{note}");
    let read = caller.call("read_file", json!({"path": "d"})).await;
    assert_eq!((&read["content"], &read["encoding"]), (&json!("1|£ 5 ü"), &json!("windows-1252")));
    let patch = json!({"path": "d", "old_string": "£ 5", "new_string": "£ 6"});
    let patched = caller.call("patch", patch).await;
    assert!(patched.get("error").is_none(), "{patched}");
    assert_eq!(fs::read(caller.path("d")).unwrap(), b"\xA3 6 \xFC");
    // Also where nobody named it.
    place.write("old", b"caf\xE9");
    caller.call("read_file", json!({"path": "old"})).await;
    let done = caller.write("old", "naïve").await;
    assert_eq!(done["encoding"], "windows-1252", "{done}");
    let read = caller.call("read_file", json!({"path": "old"})).await;
    assert_eq!(read["content"], "1|naïve", "{read}");
    // Bytes that tell it need no note.
    let done = caller
        .call("write_file", json!({"path": "d", "content": "£ 5 ü", "encoding": "utf-8"}))
        .await;
    assert!(done.get("note").is_none(), "{done}");
    assert_eq!(caller.call("read_file", json!({"path": "d"})).await["content"], "1|£ 5 ü");
}

/// A disk that is full now and then.
#[derive(Default)]
struct Full {
    inner: MemorySessions,
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
    // What was seen then is known, and what was written.
    caller.call("read_file", json!({"path": "late.txt"})).await;
    for text in ["mine\n", "mine again\n"] {
        let done = caller.write("late.txt", text).await;
        assert!(done["error"].is_null() && done.get("replaced_unseen").is_none(), "{done}");
    }
    // Another task has seen nothing of it.
    let other = caller.task("other").write("late.txt", "other\n").await;
    assert_eq!(other["kind"], "conflict", "{other}");
    // And what was deleted is forgotten.
    caller
        .call(
            "patch",
            json!({"patch": "*** Begin Patch\n*** Delete File: gone.txt\n*** End Patch"}),
        )
        .await;
    assert!(!caller.path("gone.txt").exists());
    assert_eq!(caller.write("gone.txt", "anew\n").await["created"], true);
    // Once there is room again, all of it is written down.
    disk.is_full.store(false, Ordering::Relaxed);
    place.write("late.txt", "third\n");
    assert_eq!(caller.write("late.txt", "mine\n").await["kind"], "conflict");
    caller.call("read_file", json!({"path": "late.txt"})).await;
    assert!(caller.write("late.txt", "mine\n").await["error"].is_null());
}
