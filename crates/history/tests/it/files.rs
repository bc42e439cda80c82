//! Files that are damaged, of others, of later versions, or not to be written.

use hermes_history::{
    HistoryError, HistoryReader, HistoryStore, MessageQuery, NewSession, SessionFilter,
};
use rusqlite::Connection;

use crate::Scratch;

#[test]
fn a_file_that_is_not_there_is_not_made_by_reading() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("sessions.db");
    assert!(HistoryReader::open(&path).unwrap().is_none());
    assert!(!path.exists());
    std::fs::write(&path, "").unwrap();
    assert!(HistoryReader::open(&path).unwrap().is_none(), "nothing is in it yet");
}

#[test]
fn damage_is_told_and_nothing_is_touched() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("sessions.db");
    let noise = b"This is no database, though it is long enough to be taken for one. ".repeat(100);
    std::fs::write(&path, &noise).unwrap();
    for error in [HistoryStore::open(&path).unwrap_err(), HistoryReader::open(&path).unwrap_err()] {
        assert!(matches!(error, HistoryError::Damaged { .. }), "{error:?}");
        assert!(error.hint().contains("Move"), "{}", error.hint());
    }
    assert_eq!(std::fs::read(&path).unwrap(), noise);
}

#[test]
fn pages_overwritten_in_the_middle_are_an_error_and_no_panic() {
    let scratch = Scratch::new();
    scratch.begin("s", "cli");
    for n in 0..300 {
        scratch.say("s", &format!("message {n} with some more text to fill the pages of the file"));
    }
    let path = scratch.path();
    let Scratch { store, dir } = scratch;
    drop(store);
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 4096 / 3 * 4096;
    let end = bytes.len() - 4096;
    bytes[middle..end].fill(0xa5);
    std::fs::write(&path, bytes).unwrap();
    let reader = HistoryReader::open(&path);
    let outcome = reader.and_then(|reader| {
        let reader = reader.unwrap();
        let sessions = reader.sessions(&SessionFilter::default())?;
        for session in sessions {
            reader.conversation(&session)?;
        }
        reader.search(&MessageQuery { text: "message".into(), limit: 5, ..MessageQuery::default() })
    });
    assert!(matches!(outcome, Err(HistoryError::Damaged { .. })), "{outcome:?}");
    drop(dir);
}

#[test]
fn databases_of_others_stay_as_they_are() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("state.db");
    let other = Connection::open(&path).unwrap();
    other
        .execute_batch("CREATE TABLE sessions (id TEXT); INSERT INTO sessions VALUES ('x')")
        .unwrap();
    drop(other);
    let before = std::fs::read(&path).unwrap();
    assert!(matches!(HistoryStore::open(&path), Err(HistoryError::Foreign { .. })));
    assert!(matches!(HistoryReader::open(&path), Err(HistoryError::Foreign { .. })));
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn later_layouts_are_left_alone() {
    let scratch = Scratch::new();
    let other = Connection::open(scratch.path()).unwrap();
    other.pragma_update(None, "user_version", 99).unwrap();
    assert!(matches!(
        HistoryStore::open(scratch.path()),
        Err(HistoryError::Newer { found: 99, .. })
    ));
    assert!(matches!(HistoryReader::open(scratch.path()), Err(HistoryError::Newer { .. })));
}

#[test]
fn a_lost_index_is_made_anew() {
    let scratch = Scratch::new();
    scratch.begin("s", "cli");
    scratch.say("s", "needle");
    scratch.store.index_pending().unwrap();
    let other = Connection::open(scratch.path()).unwrap();
    // What is left is no index: its parts are gone.
    other.execute_batch("DELETE FROM words_data; DELETE FROM words_idx;").unwrap();
    drop(other);
    for n in 0..200 {
        scratch.say("s", &format!("straw {n}"));
    }
    scratch.store.index_pending().unwrap();
    let query = MessageQuery { text: "needle".into(), limit: 5, ..MessageQuery::default() };
    let reader = HistoryReader::open(scratch.path()).unwrap().unwrap();
    assert_eq!(reader.search(&query).unwrap().hits.len(), 1);
}

#[cfg(unix)]
#[test]
fn only_the_owner_reads_the_file_and_a_folder_without_writing_can_be_read() {
    use std::os::unix::fs::PermissionsExt as _;
    let scratch = Scratch::new();
    scratch.begin("s", "cli");
    scratch.say("s", "hello");
    let path = scratch.path();
    let dir = path.parent().unwrap().to_owned();
    let mode =
        |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(&dir)), (0o600, 0o700));
    assert_eq!(mode(&path.with_file_name("sessions.db-wal")), 0o600);
    let Scratch { store, dir: keep } = scratch;
    drop(store);
    std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o500)).unwrap();
    let reader = HistoryReader::open(&path).unwrap().unwrap();
    assert_eq!(reader.sessions(&SessionFilter::default()).unwrap().len(), 1);
    std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o700)).unwrap();
    drop(keep);
}

#[test]
fn a_folder_that_cannot_be_made_is_told() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("file"), "").unwrap();
    let error = HistoryStore::open(dir.path().join("file/sessions.db")).unwrap_err();
    assert!(matches!(error, HistoryError::Access { .. }), "{error:?}");
    let beginning = NewSession::default();
    assert!(beginning.id.is_none());
}

#[test]
fn what_is_over_is_in_the_file_itself() {
    let scratch = Scratch::new();
    scratch.begin("s", "cli");
    scratch.say("s", "what was said");
    scratch.store.end("s", "done").unwrap();
    let copy = scratch.dir.path().join("copy.db");
    std::fs::copy(scratch.path(), &copy).unwrap();
    let reader = HistoryReader::open(&copy).unwrap().unwrap();
    assert_eq!(reader.sessions(&SessionFilter::default()).unwrap().len(), 1);
}
