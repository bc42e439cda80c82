#![allow(clippy::unwrap_used)]

use std::path::PathBuf;

use hermes_core::{ErrorKind, MemorySessionStore, Ports, Session, erase};
use hermes_history::{NewSession, ParentLink, SessionRelation};
use hermes_llm::ChatMessage;
use serde_json::{Value, json};

use super::*;

/// A temporary home directory.
struct Home(PathBuf);

impl Home {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("hermes-search-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        Self(dir)
    }

    fn history(&self) -> Arc<HomeHistory> {
        Arc::new(HomeHistory::for_home(&self.0))
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn begin(history: &HomeHistory, id: &str, source: &str, parent: Option<&str>) {
    let parent =
        parent.map(|id| ParentLink { id: id.into(), relation: SessionRelation::Compression });
    let beginning =
        NewSession { id: Some(id.into()), source: source.into(), parent, ..NewSession::default() };
    history.store().unwrap().begin(&beginning).unwrap();
}

fn say(history: &HomeHistory, session: &str, text: &str) -> i64 {
    history.store().unwrap().append(session, &ChatMessage::user(text)).unwrap()
}

async fn ask(
    history: &Arc<HomeHistory>,
    asker: &str,
    arguments: Value,
) -> Result<Value, ToolError> {
    let mut cx = ToolContext::bare(std::env::temp_dir());
    cx.ports = Arc::new(Ports::new().with(Arc::clone(history)));
    cx.session = Session::new(asker, Arc::new(MemorySessionStore::default()));
    let output = erase(SessionSearch).bind(&arguments)?.run(cx).await?;
    Ok(serde_json::from_str(output.content()).unwrap())
}

#[tokio::test]
async fn sessions_are_found_read_and_listed() {
    let home = Home::new("found");
    let history = home.history();
    assert_eq!(ask(&history, "me", json!({})).await.unwrap()["count"], 0);
    assert!(!home.0.exists(), "looking makes nothing");
    begin(&history, "s1", "cli", None);
    begin(&history, "s1b", "cli", Some("s1"));
    begin(&history, "s2", "cron", None);
    begin(&history, "s4", "subagent", None);
    let mut hit = 0;
    for session in ["s1", "s2", "s4", "s1b"] {
        for n in 0..40 {
            say(&history, session, &format!("filler {n}"));
        }
        hit = say(&history, session, "deploy kubernetes");
    }
    let found = ask(&history, "me", json!({"query": "deploy", "limit": 5, "sort": "newest"}))
        .await
        .unwrap();
    let ids: Vec<&str> = found["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| r["session_id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ["s1b", "s2"]);
    let first = &found["results"][0];
    assert_eq!(first["match_message_id"], hit);
    assert_eq!(first["parent_session_id"], "s1");
    assert_eq!(first["messages"].as_array().unwrap().len(), 6);
    assert_eq!(first["messages"][5]["anchor"], true);
    assert_eq!(first["messages_before"], 35);
    assert_eq!(first["snippet"], ">>>deploy<<< kubernetes");
    let own = ask(&history, "s1b", json!({"query": "deploy"})).await.unwrap();
    assert_eq!(own["count"], 1);
    let within = ask(&history, "me", json!({"query": "deploy", "session_id": "s4"})).await.unwrap();
    assert_eq!(within["results"][0]["session_id"], "s4");

    let read = ask(&history, "me", json!({"session_id": "s1"})).await.unwrap();
    assert_eq!((&read["truncated"], &read["message_count"]), (&json!(true), &json!(41)));
    assert_eq!(read["messages"].as_array().unwrap().len(), 30);
    let listed = ask(&history, "s2", json!({"limit": 10})).await.unwrap();
    assert_eq!(listed["count"], 2, "neither helpers nor the one that asks: {listed}");
}

#[tokio::test]
async fn reading_around_a_message_follows_it_to_its_session() {
    let home = Home::new("around");
    let history = home.history();
    begin(&history, "s1", "cli", None);
    begin(&history, "s1b", "cli", Some("s1"));
    begin(&history, "s2", "cli", None);
    let ids: Vec<i64> = (0..9).map(|n| say(&history, "s1b", &format!("m{n}"))).collect();
    let other = say(&history, "s2", "elsewhere");
    let around = |session: &str, message: i64| json!({"session_id": session, "around_message_id": message, "window": 2});
    let scrolled = ask(&history, "me", around("s1b", ids[4])).await.unwrap();
    assert_eq!(scrolled["mode"], "scroll");
    assert_eq!((&scrolled["messages_before"], &scrolled["messages_after"]), (&json!(2), &json!(2)));
    assert_eq!(scrolled["messages"][2]["content"], "m4");
    let moved = ask(&history, "me", around("s1", ids[4])).await.unwrap();
    assert_eq!(moved["session_id"], "s1b");
    assert!(moved["warning"].is_string());
    for wrong in [around("s1", other), around("s1", 999), around("nope", 1)] {
        assert_eq!(ask(&history, "me", wrong).await.unwrap_err().kind(), ErrorKind::NotFound);
    }
    let own = ask(&history, "s1b", around("s1b", ids[4])).await.unwrap_err();
    assert_eq!(own.kind(), ErrorKind::InvalidArguments);
    history.store().unwrap().compress("s1b", &[ChatMessage::user("summary")], &|_| true).unwrap();
    assert!(ask(&history, "s1b", around("s1b", ids[4])).await.is_ok(), "it is out of sight now");
    let lost = ask(&history, "me", json!({"around_message_id": 3})).await.unwrap_err();
    assert_eq!(lost.kind(), ErrorKind::InvalidArguments);
    assert!(
        ask(&history, "me", json!({"session_id": "s1", "around_message_id": "x"})).await.is_err()
    );
}

#[tokio::test]
async fn long_messages_are_clipped() {
    let home = Home::new("long");
    let history = home.history();
    begin(&history, "s", "cli", None);
    for _ in 0..30 {
        say(&history, "s", &format!("needle {} end", "長い話".repeat(50_000)));
    }
    for arguments in [json!({"query": "needle"}), json!({"session_id": "s"})] {
        let found = ask(&history, "me", arguments).await.unwrap().to_string();
        assert!(found.len() < 120_000, "{}", found.len());
        assert!(found.contains("characters left out"));
    }
}

#[tokio::test]
async fn filters_that_make_no_sense_are_told() {
    let home = Home::new("filters");
    let history = home.history();
    begin(&history, "s", "cli", None);
    say(&history, "s", "needle");
    for arguments in [
        json!({"query": "needle", "role_filter": "nobody"}),
        json!({"query": "needle", "since": "whenever"}),
    ] {
        assert_eq!(
            ask(&history, "me", arguments).await.unwrap_err().kind(),
            ErrorKind::InvalidArguments
        );
    }
    let none = json!({"query": "needle", "role_filter": "tool, assistant"});
    assert_eq!(ask(&history, "me", none).await.unwrap()["count"], 0);
    let recent = json!({"query": "needle", "since": "1h"});
    assert_eq!(ask(&history, "me", recent).await.unwrap()["count"], 1);
    let past = json!({"query": "needle", "until": "2020-01-01"});
    assert_eq!(ask(&history, "me", past).await.unwrap()["count"], 0);
}

#[tokio::test]
async fn profiles_have_sessions_of_their_own() {
    let home = Home::new("profiles");
    let history = home.history();
    begin(&history, "mine", "cli", None);
    let theirs = HomeHistory::for_home(home.0.join("profiles/work"));
    begin(&theirs, "theirs", "cli", None);
    say(&theirs, "theirs", "needle");
    assert_eq!(ask(&history, "me", json!({"query": "needle"})).await.unwrap()["count"], 0);
    let asked = json!({"query": "needle", "profile": "work"});
    assert_eq!(ask(&history, "me", asked).await.unwrap()["count"], 1);
    for id in ["theirs", "work/theirs"] {
        let read = ask(&history, "me", json!({"session_id": id})).await.unwrap();
        assert_eq!(read["profile"], "work");
    }
    for name in ["none", "../profiles/work", ".."] {
        let error = ask(&history, "me", json!({"profile": name})).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound, "{name}");
    }
}

#[tokio::test]
async fn a_damaged_file_is_told_with_what_to_do() {
    let home = Home::new("damaged");
    std::fs::create_dir_all(&home.0).unwrap();
    std::fs::write(home.0.join(hermes_history::DB_FILE_NAME), "no database ".repeat(1_000))
        .unwrap();
    let error = ask(&home.history(), "me", json!({})).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.hint().contains("Move"), "{}", error.hint());
}
