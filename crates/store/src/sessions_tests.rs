#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::thread;

use hermes_core::Session;
use proptest::prelude::*;
use serde_json::json;
use tempfile::TempDir;

use super::*;

fn set(store: &FileSessionStore, session: &str, key: &str, value: Value) {
    store.update(session, key, &mut |_| Ok(value.clone())).unwrap();
}

#[test]
fn a_document_is_there_for_the_next_process() {
    let dir = TempDir::new().unwrap();
    let store = FileSessionStore::new(dir.path().join("sessions"));
    assert_eq!(store.read("s", "todo").unwrap(), Value::Null);
    set(&store, "s", "todo", json!([1, {"b": 2, "a": 1}]));
    set(&store, "s", "env", json!({"A": null}));

    let other = FileSessionStore::new(store.dir());
    assert_eq!(other.read("s", "todo").unwrap(), json!([1, {"b": 2, "a": 1}]));
    assert_eq!(other.read("s", "env").unwrap(), json!({"A": null}));
    assert_eq!(other.read("s", "cwd").unwrap(), Value::Null);
    assert_eq!(other.read("t", "todo").unwrap(), Value::Null);
}

#[test]
fn the_file_says_what_it_is() {
    let dir = TempDir::new().unwrap();
    let store = FileSessionStore::new(dir.path());
    set(&store, "s", "k", json!("v"));
    let written: Value =
        serde_json::from_slice(&fs::read(dir.path().join("s.json")).unwrap()).unwrap();
    assert_eq!(written, json!({"version": 1, "session": "s", "documents": {"k": "v"}}));
}

#[test]
fn one_of_many_documents_has_a_file_of_its_own() {
    let dir = TempDir::new().unwrap();
    let store = FileSessionStore::new(dir.path());
    set(&store, "s", "files/0a", json!({"a": 1}));
    set(&store, "s", "files/0b", json!({"b": 2}));
    set(&store, "s", "todo", json!([]));
    assert_eq!(store.read("s", "files/0a").unwrap(), json!({"a": 1}));
    assert_eq!(store.read("s", "files/0b").unwrap(), json!({"b": 2}));
    assert_eq!(store.read("s", "files/0c").unwrap(), Value::Null);
    assert_eq!(store.list().unwrap().len(), 1);
    let main = fs::read_to_string(dir.path().join("s.json")).unwrap();
    assert!(main.contains("todo") && !main.contains("files"), "{main}");
    assert!(store.remove("s").unwrap());
    assert_eq!(store.read("s", "files/0a").unwrap(), Value::Null);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    // A session that has nothing else is known all the same.
    set(&store, "t", "files/0a", json!(1));
    assert_eq!(store.list().unwrap()[0].id, "t");
}

#[test]
fn one_of_many_documents_that_is_damaged_is_begun_anew() {
    let dir = TempDir::new().unwrap();
    let store = FileSessionStore::new(dir.path());
    set(&store, "s", "files/0a", json!(1));
    let parts: Vec<_> = fs::read_dir(dir.path().join("s.parts")).unwrap().flatten().collect();
    let [part] = &*parts else { panic!("{parts:?}") };
    fs::write(part.path(), "").unwrap();
    assert_eq!(store.read("s", "files/0a").unwrap(), Value::Null);
    set(&store, "s", "files/0a", json!(2));
    assert_eq!(store.read("s", "files/0a").unwrap(), json!(2));
}

#[test]
fn null_takes_a_document_away() {
    let dir = TempDir::new().unwrap();
    let store = FileSessionStore::new(dir.path());
    set(&store, "s", "a", json!(1));
    set(&store, "s", "b", json!(2));
    set(&store, "s", "a", Value::Null);
    assert_eq!(store.read("s", "a").unwrap(), Value::Null);
    assert_eq!(store.read("s", "b").unwrap(), json!(2));
}

#[test]
fn many_writers_lose_no_update() {
    let dir = TempDir::new().unwrap();
    thread::scope(|scope| {
        for writer in 0..8 {
            let store = FileSessionStore::new(dir.path());
            scope.spawn(move || {
                let session = Session::new("shared", Arc::new(store));
                for turn in 0..50 {
                    session
                        .update("log", |seen: &mut Vec<(u32, u32)>| seen.push((writer, turn)))
                        .unwrap();
                    let seen: Vec<(u32, u32)> = session.read("log").unwrap();
                    assert!(seen.contains(&(writer, turn)));
                }
            });
        }
    });
    let session = Session::new("shared", Arc::new(FileSessionStore::new(dir.path())));
    let seen: Vec<(u32, u32)> = session.read("log").unwrap();
    assert_eq!(seen.len(), 400);
    assert_eq!(seen.iter().collect::<BTreeSet<_>>().len(), 400);
}

#[test]
fn a_session_that_is_removed_and_reborn_meanwhile_is_never_half_there() {
    let dir = TempDir::new().unwrap();
    thread::scope(|scope| {
        for _ in 0..3 {
            let store = FileSessionStore::new(dir.path());
            scope.spawn(move || {
                for _ in 0..20 {
                    store
                        .update("s", "n", &mut |old| Ok(json!(old.as_u64().unwrap_or(0) + 1)))
                        .unwrap();
                }
            });
        }
        let store = FileSessionStore::new(dir.path());
        scope.spawn(move || {
            for _ in 0..20 {
                store.remove("s").unwrap();
            }
        });
    });
    let store = FileSessionStore::new(dir.path());
    set(&store, "s", "n", json!(7));
    assert!(store.remove("s").unwrap());
    assert!(!store.remove("s").unwrap());
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn a_change_that_fails_writes_nothing() {
    let dir = TempDir::new().unwrap();
    let store = FileSessionStore::new(dir.path());
    set(&store, "s", "k", json!(1));
    let error =
        store.update("s", "k", &mut |_| Err(SessionError::Failed("no".into()))).unwrap_err();
    assert_eq!(error.to_string(), "no");
    assert_eq!(store.read("s", "k").unwrap(), json!(1));
}

#[test]
fn a_damaged_file_is_named_and_left_alone() {
    let dir = TempDir::new().unwrap();
    let store = FileSessionStore::new(dir.path());
    let path = dir.path().join("s.json");
    for damage in
        ["", "{\"version\":1,\"documents\":{\"k\":", "[]", "{\"version\":1}", "\u{0}\u{0}"]
    {
        fs::write(&path, damage).unwrap();
        let read = store.read("s", "k").unwrap_err().to_string();
        let update = store.update("s", "k", &mut |_| Ok(json!(1))).unwrap_err().to_string();
        for message in [read, update] {
            assert!(message.contains("s.json") && message.contains("move it away"), "{message}");
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), damage);
    }
    assert_eq!(store.read("other", "k").unwrap(), Value::Null);
}

#[test]
fn a_file_of_a_later_version_is_left_alone() {
    let dir = TempDir::new().unwrap();
    let store = FileSessionStore::new(dir.path());
    let later = r#"{"version":2,"tables":[]}"#;
    fs::write(dir.path().join("s.json"), later).unwrap();
    let message = store.update("s", "k", &mut |_| Ok(json!(1))).unwrap_err().to_string();
    assert!(message.contains("version 2"), "{message}");
    assert_eq!(fs::read_to_string(dir.path().join("s.json")).unwrap(), later);
}

#[test]
fn what_could_not_be_read_back_is_not_written() {
    let dir = TempDir::new().unwrap();
    let store = FileSessionStore::new(dir.path());
    let nested = |levels: usize| (0..levels).fold(json!(1), |inner, _| Value::Array(vec![inner]));
    set(&store, "s", "k", nested(90));
    assert_eq!(store.read("s", "k").unwrap(), nested(90));
    let message = store.update("s", "k", &mut |_| Ok(nested(1_000))).unwrap_err().to_string();
    assert!(message.contains("nested"), "{message}");
    assert_eq!(store.read("s", "k").unwrap(), nested(90));
}

#[test]
fn a_write_that_was_cut_off_leaves_the_old_content_and_no_litter() {
    let dir = TempDir::new().unwrap();
    let store = FileSessionStore::new(dir.path());
    set(&store, "s", "k", json!("old"));
    let path = dir.path().join("s.json");
    let left = dir.path().join(atomic::temporary_name(&path));
    fs::write(&left, "{\"version\":1,\"docu").unwrap();

    assert_eq!(store.read("s", "k").unwrap(), json!("old"));
    assert_eq!(store.list().unwrap().len(), 1);
    set(&store, "s", "k", json!("new"));
    assert!(!left.exists());
    assert_eq!(store.read("s", "k").unwrap(), json!("new"));
}

#[test]
fn ids_of_any_kind_have_their_own_session_inside_the_folder() {
    let outer = TempDir::new().unwrap();
    let store = FileSessionStore::new(outer.path().join("sessions"));
    let long = "x".repeat(10_000);
    let ids = [
        "",
        ".",
        "..",
        "../../up",
        "/etc/passwd",
        "a/b",
        "a_b",
        "a b",
        "日本",
        "nul\0",
        ".json",
        &long,
    ];
    for id in ids {
        set(&store, id, "id", json!(id));
    }
    for id in ids {
        assert_eq!(store.read(id, "id").unwrap(), json!(id));
    }
    assert_eq!(fs::read_dir(outer.path()).unwrap().count(), 1);

    let listed: BTreeSet<String> = store.list().unwrap().into_iter().map(|s| s.id).collect();
    assert_eq!(listed, ids.iter().map(|id| (*id).to_owned()).collect());
    for id in ids {
        assert!(store.remove(id).unwrap(), "{id:?}");
        assert_eq!(store.read(id, "id").unwrap(), Value::Null);
    }
    assert_eq!(fs::read_dir(store.dir()).unwrap().count(), 0);
}

#[test]
fn a_folder_that_is_not_there_holds_no_sessions() {
    let dir = TempDir::new().unwrap();
    let store = FileSessionStore::new(dir.path().join("none"));
    assert_eq!(store.list().unwrap(), []);
    assert!(!store.remove("s").unwrap());
    assert!(!store.dir().exists());
}

#[cfg(unix)]
#[test]
fn only_the_owner_can_look() {
    use std::os::unix::fs::MetadataExt;
    let dir = TempDir::new().unwrap();
    let store = FileSessionStore::new(dir.path().join("a/b"));
    set(&store, "s", "k", json!(1));
    let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!(mode(store.dir()), 0o700);
    assert_eq!(mode(&store.dir().join("s.json")), 0o600);
    assert_eq!(mode(&store.dir().join("s.lock")), 0o600);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_is_read(id in ".{0,30}", key in ".{0,10}", text in ".{0,60}", number in any::<i64>()) {
        let dir = TempDir::new().unwrap();
        let store = FileSessionStore::new(dir.path());
        let value = json!({ "text": text, "number": number });
        set(&store, &id, &key, value.clone());
        prop_assert_eq!(store.read(&id, &key).unwrap(), value);
    }
}

#[test]
fn what_cannot_be_written_is_told() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("a file");
    fs::write(&file, "").unwrap();
    let store = FileSessionStore::new(file.join("sessions"));
    assert_eq!(store.last_problem(), None);
    assert!(store.update("s", "k", &mut |_| Ok(json!(1))).is_err());
    assert!(store.clone().last_problem().unwrap().contains("a file"));
}
