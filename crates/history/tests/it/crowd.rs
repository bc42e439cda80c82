//! Several processes at once, and processes that are killed.

use std::process::{Command, Stdio};

use hermes_history::{HistoryReader, HistoryStore, MessageQuery, NewSession};
use hermes_llm::ChatMessage;

use crate::Scratch;

const WRITER: &str = "HERMES_HISTORY_TEST_WRITER";

/// Not a test of its own: what the writers of the others run.
#[test]
fn writer() {
    let Some(task) = std::env::var_os(WRITER) else { return };
    let task = task.into_string().unwrap();
    let (path, rest) = task.split_once('|').unwrap();
    let (session, count) = rest.split_once('|').unwrap();
    let store = HistoryStore::open(path).unwrap();
    let beginning =
        NewSession { id: Some(session.into()), source: "cli".into(), ..NewSession::default() };
    store.begin(&beginning).unwrap();
    for n in 0..count.parse::<usize>().unwrap() {
        store.append(session, &ChatMessage::user(format!("word{n} of {session}"))).unwrap();
    }
}

fn start(path: &std::path::Path, session: &str, count: usize) -> std::process::Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crowd::writer"])
        .env(WRITER, format!("{}|{session}|{count}", path.display()))
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn processes_write_at_once_and_lose_nothing() {
    let dir = tempfile::tempdir().unwrap();
    // They also meet while the file is made.
    let path = dir.path().join("sessions.db");
    let names = ["p0", "p1", "p2", "p3"];
    let children: Vec<_> = names.iter().map(|name| start(&path, name, 150)).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let store = HistoryStore::open(&path).unwrap();
    for name in names {
        let info = store.reader().session(name).unwrap();
        assert_eq!(info.messages, 150);
        let said = store.reader().conversation(&info).unwrap();
        let wanted: Vec<_> =
            (0..150).map(|n| ChatMessage::user(format!("word{n} of {name}"))).collect();
        assert_eq!(said, wanted);
    }
    for n in [0, 77, 149] {
        let query = MessageQuery { text: format!("word{n}"), limit: 99, ..MessageQuery::default() };
        assert_eq!(store.reader().search(&query).unwrap().hits.len(), 4);
    }
}

#[test]
fn a_killed_writer_loses_at_most_the_message_it_was_at() {
    let scratch = Scratch::new();
    let path = scratch.path();
    for round in 0..5_u64 {
        let session = format!("killed{round}");
        let mut child = start(&path, &session, 1_000_000);
        // Some have come in; where exactly it is hit is left to chance.
        let reader = HistoryReader::open(&path).unwrap().unwrap();
        let begun = std::time::Instant::now();
        while reader.session(&session).map_or(0, |info| info.messages) < 20 * (round + 1) {
            assert!(begun.elapsed().as_secs() < 60, "nothing was written");
            std::thread::yield_now();
        }
        let seen = reader.session(&session).unwrap().messages;
        child.kill().unwrap();
        child.wait().unwrap();
        let info = scratch.info(&session);
        let said = scratch.texts(&session);
        assert!(info.messages >= seen && said.len() as u64 == info.messages);
        for (n, text) in said.iter().enumerate() {
            assert_eq!(*text, format!("word{n} of {session}"));
        }
        scratch.say(&session, "and on it goes");
        let last = MessageQuery {
            text: format!("word{}", said.len() - 1),
            session: Some(session),
            limit: 9,
            ..MessageQuery::default()
        };
        assert_eq!(scratch.store.reader().search(&last).unwrap().hits.len(), 1);
    }
}
