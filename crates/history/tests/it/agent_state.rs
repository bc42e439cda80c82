//! Conversations of Hermes Agent: read from databases that its own code made,
//! and imported.

use std::path::{Path, PathBuf};
use std::sync::mpsc;

use hermes_history::{
    AgentStateDb, AgentStateSession, HistoryError, HistoryReader, HistoryStore, HomeHistory,
    ImportReport, MessageQuery, MessageRange, NewSession, SessionFilter, SessionRelation,
};
use hermes_llm::{ChatMessage, ContentPart, FinishReason};
use rusqlite::Connection;

const NEW_VERSION: &str = include_str!("../fixtures/hermes_agent_0_19_0.sql");
const OLD_VERSION: &str = include_str!("../fixtures/hermes_agent_0_13_0.sql");
const GARDEN: &str = "20260115_093000_a1b2c3";
const HELPER: &str = "20260115_094000_d4e5f6";
const CHAT: &str = "20260115_095000_0789ab";
const ARCHIVED: &str = "20260115_097000_archiv";

/// A home directory with a `state.db`.
struct AgentHome {
    dir: tempfile::TempDir,
    history: HomeHistory,
}

impl AgentHome {
    fn new(sql: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let history = HomeHistory::for_home(dir.path());
        let home = Self { dir, history };
        let connection = home.writer();
        connection.execute_batch(sql).unwrap();
        home
    }

    fn state(&self) -> PathBuf {
        self.dir.path().join("state.db")
    }

    /// Opens the database as Hermes Agent does.
    fn writer(&self) -> Connection {
        let connection = Connection::open(self.state()).unwrap();
        connection.pragma_update(None, "journal_mode", "wal").unwrap();
        connection
    }

    fn session(&self, id: &str) -> AgentStateSession {
        let sessions = self.history.agent_state().sessions().unwrap();
        sessions.into_iter().find(|session| session.summary.id == id).unwrap()
    }

    fn import(&self, id: &str) -> ImportReport {
        self.history.import(&self.session(id)).unwrap()
    }

    fn pending(&self) -> Vec<String> {
        let pending = self.history.pending_imports().unwrap();
        pending.into_iter().map(|session| session.summary.id).collect()
    }

    fn texts(&self, id: &str) -> Vec<String> {
        let reader = self.history.reader().unwrap().unwrap();
        let session = reader.session(id).unwrap();
        let conversation = reader.conversation(&session).unwrap();
        let shown = reader.messages(&session, MessageRange::All).unwrap();
        assert_eq!(conversation.len(), shown.len());
        assert_eq!(session.messages, shown.len() as u64);
        conversation.iter().map(ChatMessage::text).collect()
    }

    fn add(&self, id: &str, role: &str, content: &str) {
        self.writer()
            .execute(
                "INSERT INTO messages (session_id, role, content, timestamp) \
                 VALUES (?1, ?2, ?3, 1768480000.25)",
                [id, role, content],
            )
            .unwrap();
    }

    fn files(&self) -> Vec<String> {
        files(self.dir.path())
    }
}

fn files(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn conversations_of_hermes_agent_are_listed_with_their_metadata() {
    let home = AgentHome::new(NEW_VERSION);
    let before = std::fs::read(home.state()).unwrap();
    assert_eq!(home.pending(), [ARCHIVED, CHAT, HELPER, GARDEN], "no empty one");
    let garden = home.session(GARDEN);
    assert!(!garden.is_archived && home.session(ARCHIVED).is_archived);
    let garden = garden.summary;
    assert_eq!(garden.source, "hermes-agent");
    assert_eq!(garden.title.as_deref(), Some("Garden plan"));
    assert_eq!(garden.cwd.as_deref(), Some("/srv/garden"));
    assert_eq!(garden.model.as_deref(), Some("qwen3-coder"));
    assert_eq!(garden.preview, "Which files are here?");
    assert_eq!((garden.messages, garden.calls), (6, 1));
    assert_eq!(garden.started.to_string(), "2026-01-15T09:30:03Z");
    assert_eq!(garden.last_active.to_string(), "2026-01-15T09:30:12Z");
    assert_eq!(garden.end_reason.as_deref(), Some("cli_exit"));
    assert_eq!((garden.usage.input, garden.usage.output), (150, 20), "with cached tokens");
    assert_eq!(garden.usage.cost, Some(0.125));
    let helper = home.session(HELPER).summary;
    assert_eq!(helper.source, "subagent");
    let parent = helper.parent.unwrap();
    assert_eq!((parent.id.as_str(), parent.relation), (GARDEN, SessionRelation::Delegation));
    assert_eq!(home.files(), ["state.db"], "reading creates no files");
    assert_eq!(std::fs::read(home.state()).unwrap(), before);
}

#[test]
fn messages_are_imported_with_calls_reasoning_and_images() {
    let home = AgentHome::new(NEW_VERSION);
    assert_eq!(home.import(GARDEN), ImportReport { is_new: true, messages: 6 });
    let reader = home.history.reader().unwrap().unwrap();
    let session = reader.session(GARDEN).unwrap();
    let expected = home.session(GARDEN).summary;
    assert_eq!(
        (session.title.as_ref(), &session.usage),
        (expected.title.as_ref(), &expected.usage)
    );
    assert_eq!((session.started, session.ended), (expected.started, expected.ended));
    assert_eq!((session.last_active, session.calls), (expected.last_active, 1));
    assert_eq!((session.cwd, session.model), (expected.cwd, expected.model));
    assert_eq!(reader.system_prompt(&reader.session(GARDEN).unwrap()).unwrap(), None);
    let session = reader.session(GARDEN).unwrap();
    let stored = reader.messages(&session, MessageRange::All).unwrap();
    assert_eq!(stored[0].at.to_string(), "2026-01-15T09:30:04.5Z");
    let ChatMessage::Assistant(reply) = &stored[1].message else { panic!("{stored:?}") };
    assert_eq!(reply.calls[0].arguments, r#"{"command": "ls"}"#);
    assert_eq!((reply.calls[0].id.as_str(), &reply.finish), ("call_1", &FinishReason::Calls));
    assert_eq!(reply.reasoning.as_ref().unwrap().text, "The user wants a listing.");
    assert_eq!(stored[2].answered_call(), Some(("terminal", "call_1")));
    let ChatMessage::User { content } = &stored[4].message else { panic!("{stored:?}") };
    let [ContentPart::Text { text }, ContentPart::Image(image)] = content.as_slice() else {
        panic!("{content:?}")
    };
    assert_eq!(text, "What grows on this picture?");
    assert_eq!((image.media_type.as_str(), image.data.as_str()), ("image/png", "iVBORw0KGgo="));
    let ChatMessage::Assistant(reply) = &stored[5].message else { panic!("{stored:?}") };
    assert_eq!(reply.text, "Tomatoes 🍅.");
    assert_eq!(reply.reasoning.as_ref().unwrap().text, "Red, round.");
    let query = MessageQuery { text: "tomatoes".into(), limit: 5, ..MessageQuery::default() };
    assert_eq!(reader.search(&query).unwrap().hits.len(), 1);
}

#[test]
fn rewound_and_compacted_messages_are_left_out_as_on_resume() {
    let home = AgentHome::new(NEW_VERSION);
    home.import(GARDEN);
    home.import(CHAT);
    assert!(!home.texts(GARDEN).iter().any(|text| text.contains("Dig")));
    assert_eq!(
        home.texts(CHAT),
        ["[Summary: the user needs seeds.]", "Understood.", "When does it rain?", "On Friday."]
    );
}

#[test]
fn an_older_database_without_newer_columns_is_read() {
    let home = AgentHome::new(OLD_VERSION);
    assert_eq!(home.pending(), [CHAT, HELPER, GARDEN]);
    let garden = home.session(GARDEN).summary;
    assert_eq!((garden.cwd, garden.title.as_deref()), (None, Some("Garden plan")));
    assert_eq!(home.session(HELPER).summary.source, "subagent");
    assert_eq!(home.import(GARDEN).messages, 6);
    assert_eq!(home.import(CHAT).messages, 4, "without the log entry");
    assert_eq!(home.texts(CHAT)[0], "Remind me of the seeds");
}

#[test]
fn columns_and_tables_of_newer_versions_are_ignored() {
    let home = AgentHome::new(NEW_VERSION);
    home.writer()
        .execute_batch(
            "UPDATE schema_version SET version = 99; CREATE TABLE later (x); \
             ALTER TABLE sessions ADD COLUMN mood TEXT DEFAULT 'good'; \
             ALTER TABLE messages ADD COLUMN mood TEXT DEFAULT 'good';",
        )
        .unwrap();
    assert_eq!(home.import(GARDEN).messages, 6);
    home.writer().execute_batch("ALTER TABLE messages RENAME COLUMN content TO body").unwrap();
    let error = home.history.agent_state().sessions().unwrap_err();
    assert!(error.to_string().contains("'messages' has no column 'content'"), "{error}");
}

#[test]
fn a_second_import_adds_only_what_is_new() {
    let home = AgentHome::new(NEW_VERSION);
    home.import(CHAT);
    assert_eq!(home.import(CHAT), ImportReport::default());
    home.add(CHAT, "user", "And on Saturday?");
    home.add(CHAT, "assistant", "Sun.");
    assert_eq!(home.import(CHAT), ImportReport { is_new: false, messages: 2 });
    assert_eq!(home.import(CHAT), ImportReport::default());
    let texts = home.texts(CHAT);
    assert_eq!(texts[3..], ["On Friday.", "And on Saturday?", "Sun."]);
    let reader = home.history.reader().unwrap().unwrap();
    let active = reader.session(CHAT).unwrap().last_active;
    assert_eq!(active.to_string(), "2026-01-15T12:26:40.25Z");
}

#[test]
fn a_conversation_rewritten_there_is_followed_and_one_continued_here_is_kept() {
    let home = AgentHome::new(NEW_VERSION);
    home.import(CHAT);
    let rewind =
        "UPDATE messages SET active = 0 WHERE content IN ('When does it rain?', 'On Friday.')";
    home.writer().execute_batch(rewind).unwrap();
    home.add(CHAT, "user", "Does it snow?");
    assert_eq!(home.import(CHAT).messages, 1);
    let texts = ["[Summary: the user needs seeds.]", "Understood.", "Does it snow?"];
    assert_eq!(home.texts(CHAT), texts);

    let store = home.history.store().unwrap();
    store.append(CHAT, &ChatMessage::user("Said here")).unwrap();
    home.add(CHAT, "assistant", "No.");
    assert_eq!(home.import(CHAT).messages, 1);
    assert_eq!(home.texts(CHAT)[2..], ["Does it snow?", "Said here", "No."]);
    home.writer().execute_batch("UPDATE messages SET active = 0 WHERE content = 'No.'").unwrap();
    assert_eq!(home.import(CHAT), ImportReport::default());
    assert_eq!(home.texts(CHAT)[2..], ["Does it snow?", "Said here", "No."]);
}

#[test]
fn an_import_keeps_families_titles_and_sessions_of_the_same_id() {
    let home = AgentHome::new(NEW_VERSION);
    let store = home.history.store().unwrap();
    let own = NewSession { id: Some(CHAT.into()), source: "cli".into(), ..NewSession::default() };
    store.begin(&own).unwrap();
    assert_eq!(home.pending(), [ARCHIVED, HELPER, GARDEN]);
    let error = home.history.import(&home.session(CHAT)).unwrap_err();
    assert!(matches!(error, HistoryError::SessionExists(_)), "{error:?}");

    home.import(GARDEN);
    home.import(HELPER);
    let reader = store.reader();
    let family = reader.family(&reader.session(GARDEN).unwrap()).unwrap();
    assert_eq!(family.len(), 2);
    store.rename(GARDEN, "Mine").unwrap();
    home.add(GARDEN, "user", "More");
    home.import(GARDEN);
    assert_eq!(reader.session(GARDEN).unwrap().title.as_deref(), Some("Mine"));
}

#[test]
fn a_deleted_import_returns_only_when_asked_for() {
    let home = AgentHome::new(NEW_VERSION);
    home.import(GARDEN);
    home.history.store().unwrap().delete(GARDEN).unwrap();
    assert!(!home.pending().contains(&GARDEN.to_owned()));
    assert_eq!(home.import(GARDEN), ImportReport { is_new: true, messages: 6 });
    assert_eq!(home.texts(GARDEN).len(), 6);
}

#[test]
fn missing_and_empty_files_have_no_conversations_and_others_are_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("state.db");
    let db = AgentStateDb::new(&path);
    assert!(db.sessions().unwrap().is_empty());
    assert!(files(dir.path()).is_empty(), "nothing is created");
    std::fs::write(&path, "").unwrap();
    assert!(db.sessions().unwrap().is_empty());
    let noise = b"This is no database, though it is long enough to be taken for one. ".repeat(99);
    std::fs::write(&path, &noise).unwrap();
    let error = db.sessions().unwrap_err();
    assert!(matches!(error, HistoryError::AgentState { .. }), "{error:?}");
    assert!(error.to_string().contains("Hermes Agent"), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), noise);

    std::fs::remove_file(&path).unwrap();
    let foreign = Connection::open(&path).unwrap();
    foreign.execute_batch("CREATE TABLE recipes (id TEXT)").unwrap();
    drop(foreign);
    let error = db.sessions().unwrap_err();
    assert!(error.to_string().contains("'sessions' has no column 'id'"), "{error}");

    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    assert!(matches!(db.sessions(), Err(HistoryError::AgentState { .. })));
}

#[test]
fn damaged_pages_are_an_error_and_import_nothing() {
    let home = AgentHome::new(NEW_VERSION);
    for n in 0..300 {
        home.add(CHAT, "user", &format!("message {n} {}", "with text ".repeat(40)));
    }
    let mut bytes = std::fs::read(home.state()).unwrap();
    let (middle, end) = (bytes.len() / 4096 / 3 * 4096, bytes.len() - 4096);
    bytes[middle..end].fill(0xa5);
    std::fs::write(home.state(), bytes).unwrap();
    let db = home.history.agent_state();
    let outcome = db.sessions().and_then(|_| db.messages(CHAT));
    assert!(matches!(outcome, Err(HistoryError::AgentState { .. })), "{outcome:?}");
    let store = HistoryStore::open(home.dir.path().join("sessions.db")).unwrap();
    assert!(store.reader().sessions(&SessionFilter::default()).unwrap().is_empty());
}

#[test]
fn a_concurrent_writer_is_seen_whole_and_not_disturbed() {
    let home = AgentHome::new(NEW_VERSION);
    let (begun, has_begun) = mpsc::channel();
    let (stop, is_stopped) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        let home = &home;
        scope.spawn(move || {
            // Opens and closes the file again and again, as commands of Hermes
            // Agent do: the WAL comes and goes. Each turn has two messages.
            while is_stopped.try_recv() == Err(mpsc::TryRecvError::Empty) {
                let mut writer = home.writer();
                writer.busy_timeout(std::time::Duration::from_secs(10)).unwrap();
                let turn = writer.transaction().unwrap();
                for role in ["user", "assistant"] {
                    let sql = "INSERT INTO messages (session_id, role, content, timestamp) \
                               VALUES (?1, ?2, 'again', 1768480000)";
                    turn.execute(sql, [CHAT, role]).unwrap();
                }
                turn.commit().unwrap();
                drop(writer);
                let _ = begun.send(());
            }
        });
        has_begun.recv().unwrap();
        let mut last = 0;
        for _ in 0..50 {
            let messages = home.history.agent_state().messages(CHAT).unwrap();
            assert_eq!(messages.len() % 2, 0, "half a turn was read");
            assert!(messages.len() >= last);
            last = messages.len();
            home.import(CHAT);
        }
        drop(stop);
    });
    home.import(CHAT);
    let messages = home.history.agent_state().messages(CHAT).unwrap();
    assert_eq!(home.texts(CHAT).len(), messages.len());
    let check: String =
        home.writer().query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(check, "ok");
}

#[test]
fn an_open_writer_is_read_with_what_is_in_its_log() {
    let home = AgentHome::new(NEW_VERSION);
    let writer = home.writer();
    let rename = |title: &str| {
        let sql = "UPDATE sessions SET title = ?1 WHERE id = ?2";
        writer.execute(sql, [title, GARDEN]).unwrap();
    };
    rename("In the log");
    let files = home.files();
    assert_eq!(home.session(GARDEN).summary.title.as_deref(), Some("In the log"));
    assert_eq!(home.files(), files);
    writer.execute_batch("BEGIN IMMEDIATE").unwrap();
    rename("Unfinished");
    assert_eq!(home.session(GARDEN).summary.title.as_deref(), Some("In the log"));
}

#[test]
fn a_history_from_before_imports_is_migrated() {
    let home = AgentHome::new(NEW_VERSION);
    let path = home.dir.path().join("sessions.db");
    drop(HistoryStore::open(&path).unwrap());
    let old = Connection::open(&path).unwrap();
    old.execute_batch("DROP TABLE imports; PRAGMA user_version = 1").unwrap();
    drop(old);
    let reader = HistoryReader::open(&path).unwrap().unwrap();
    assert!(reader.taken_ids().unwrap().is_empty());
    assert_eq!(home.import(GARDEN).messages, 6);
}
