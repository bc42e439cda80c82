//! Conversations through the public door.
#![allow(clippy::unwrap_used)]

mod agent_state;
mod crowd;
mod files;
mod search;
mod sessions;

use std::path::PathBuf;

use hermes_history::{HistoryStore, NewSession, ParentLink, SessionRelation, SessionSummary};
use hermes_llm::{ChatMessage, ModelReply, RequestedCall, TokenUsage, ToolCallAnswer};

/// A file of conversations that goes away.
struct Scratch {
    store: HistoryStore,
    dir: tempfile::TempDir,
}

impl Scratch {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = HistoryStore::open(dir.path().join("home/sessions.db")).unwrap();
        Self { store, dir }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("home/sessions.db")
    }

    fn begin(&self, id: &str, source: &str) -> String {
        let beginning =
            NewSession { id: Some(id.into()), source: source.into(), ..NewSession::default() };
        self.store.begin(&beginning).unwrap()
    }

    fn child(&self, id: &str, source: &str, parent: &str, by: SessionRelation) -> String {
        let parent = Some(ParentLink { id: parent.into(), relation: by });
        let (id, source) = (Some(id.into()), source.into());
        self.store.begin(&NewSession { id, source, parent, ..NewSession::default() }).unwrap()
    }

    fn say(&self, session: &str, text: &str) -> i64 {
        self.store.append(session, &ChatMessage::user(text)).unwrap()
    }

    fn info(&self, session: &str) -> SessionSummary {
        self.store.reader().session(session).unwrap()
    }

    fn texts(&self, session: &str) -> Vec<String> {
        let conversation = self.store.reader().conversation(&self.info(session)).unwrap();
        conversation.iter().map(ChatMessage::text).collect()
    }
}

fn reply(text: &str) -> ChatMessage {
    let usage = TokenUsage { input: 10, output: 2, cost: Some(0.5), ..TokenUsage::default() };
    ChatMessage::Assistant(ModelReply {
        text: text.into(),
        usage,
        model: "m".into(),
        ..ModelReply::default()
    })
}

fn asks(id: &str, name: &str, arguments: &str) -> ChatMessage {
    let call = RequestedCall { id: id.into(), name: name.into(), arguments: arguments.into() };
    ChatMessage::Assistant(ModelReply { calls: vec![call], ..ModelReply::default() })
}

fn answer(id: &str, name: &str, content: &str) -> ChatMessage {
    ChatMessage::Tool(ToolCallAnswer {
        call_id: id.into(),
        name: name.into(),
        content: content.into(),
        images: Vec::new(),
        is_error: false,
        is_cancelled: false,
    })
}
