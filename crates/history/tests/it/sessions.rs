//! Sessions begin, go on, are taken back, folded, ended, deleted.

use hermes_history::{
    DeleteReport, HistoryError, MessageQuery, MessageRange, MessageState, NewSession,
    SessionFilter, SessionRelation,
};
use hermes_llm::{ChatMessage, TokenUsage};

use crate::{Scratch, answer, asks, reply};

#[test]
fn a_session_keeps_what_was_said_and_what_it_took() {
    let scratch = Scratch::new();
    let id = scratch
        .store
        .begin(&NewSession {
            source: "cli".into(),
            cwd: Some("/work".into()),
            system: Some("Be brief".into()),
            ..NewSession::default()
        })
        .unwrap();
    let said = [
        ChatMessage::user("  Deploy\nit "),
        asks("c1", "terminal", r#"{"command":"make"}"#),
        answer("c1", "terminal", "done"),
        reply("Deployed"),
    ];
    for message in &said {
        scratch.store.append(&id, message).unwrap();
    }
    let info = scratch.info(&id);
    assert_eq!((info.messages, info.calls, info.preview.as_str()), (4, 1, "Deploy it"));
    assert_eq!(
        (info.usage.input, info.usage.cost, info.model.as_deref()),
        (10, Some(0.5), Some("m"))
    );
    assert_eq!((info.cwd.as_deref(), info.ended), (Some("/work"), None));
    let reader = scratch.store.reader();
    assert_eq!(reader.conversation(&info).unwrap(), said);
    assert_eq!(reader.system_prompt(&info).unwrap().as_deref(), Some("Be brief"));

    scratch.store.end(&id, "done").unwrap();
    assert_eq!(scratch.info(&id).end_reason.as_deref(), Some("done"));
    scratch.store.reopen(&id).unwrap();
    scratch.store.rename(&id, " Deployment ").unwrap();
    let info = scratch.info(&id);
    assert_eq!((info.ended, info.title.as_deref()), (None, Some("Deployment")));
}

#[test]
fn what_was_spent_counts_with_helpers_and_what_was_no_message() {
    let scratch = Scratch::new();
    scratch.begin("s", "cli");
    scratch.store.append("s", &reply("one")).unwrap();
    let usage = TokenUsage { input: 5, cost: Some(0.25), ..TokenUsage::default() };
    scratch.store.add_usage("s", &usage).unwrap();
    assert_eq!(scratch.info("s").usage.cost, Some(0.75));
    scratch.child("h", "subagent", "s", SessionRelation::Delegation);
    scratch.child("hh", "subagent", "h", SessionRelation::Delegation);
    scratch.child("b", "cli", "s", SessionRelation::Branch);
    for helper in ["h", "hh", "b"] {
        scratch.store.append(helper, &reply("part")).unwrap();
    }
    let spent = |id: &str| scratch.store.reader().total_usage(&scratch.info(id)).unwrap();
    assert_eq!((spent("s").input, spent("s").cost), (35, Some(1.75)), "a branch is its own");
    assert_eq!((spent("hh").input, spent("hh").cost), (10, Some(0.5)));
    assert!(scratch.store.add_usage("nobody", &usage).is_err());
    scratch.begin("quiet", "cli");
    assert_eq!(spent("quiet"), TokenUsage::default());
}

#[test]
fn a_result_takes_the_place_of_the_one_before() {
    let scratch = Scratch::new();
    scratch.begin("s", "cli");
    scratch.say("s", "go");
    scratch.store.append("s", &asks("c1", "terminal", "{}")).unwrap();
    scratch.store.append("s", &answer("c1", "terminal", "an apple")).unwrap();
    scratch.store.append("s", &answer("c2", "terminal", "a plum")).unwrap();
    let finds = |text: &str| {
        let query = MessageQuery { text: text.into(), limit: 10, ..MessageQuery::default() };
        scratch.store.reader().search(&query).unwrap().hits.len()
    };
    scratch.store.replace_result("s", &answer("c1", "terminal", "a pear")).unwrap();
    assert_eq!(scratch.texts("s")[2..], ["a plum", "a pear"]);
    assert_eq!((finds("apple"), finds("pear"), scratch.info("s").messages), (0, 1, 4));
    // The same once it is in the index.
    scratch.store.index_pending().unwrap();
    scratch.store.replace_result("s", &answer("c1", "terminal", "a fig")).unwrap();
    scratch.store.index_pending().unwrap();
    assert_eq!((finds("pear"), finds("fig"), finds("plum")), (0, 1, 1));
    scratch.store.replace_result("s", &answer("c3", "terminal", "new")).unwrap();
    assert_eq!(scratch.info("s").messages, 5, "one that was not there is added");
}

#[test]
fn sessions_are_found_by_the_beginning_of_their_id() {
    let scratch = Scratch::new();
    for id in ["20260101_aa", "20260101_ab", "a%_b"] {
        scratch.begin(id, "cli");
    }
    let find = |id: &str| scratch.store.reader().session(id).map(|found| found.id);
    assert_eq!(find("20260101_ab").unwrap(), "20260101_ab");
    assert_eq!(find("a%_b").unwrap(), "a%_b");
    assert!(matches!(find("20260101"), Err(HistoryError::Ambiguous(_))));
    assert!(matches!(find("%%%%"), Err(HistoryError::NoSession(_))));
    assert!(matches!(find(""), Err(HistoryError::NoSession(_))));
    let taken = NewSession { id: Some("a%_b".into()), ..NewSession::default() };
    assert!(matches!(scratch.store.begin(&taken), Err(HistoryError::SessionExists(_))));
    let nowhere = scratch.store.append("none", &ChatMessage::user("x"));
    assert!(matches!(nowhere, Err(HistoryError::NoSession(_))));
}

#[test]
fn the_list_begins_with_the_latest_word() {
    let scratch = Scratch::new();
    for (id, source) in [("one", "cli"), ("two", "cron"), ("three", "cli")] {
        scratch.begin(id, source);
    }
    let later = "2100-01-01T00:00:00Z".parse().unwrap();
    scratch.store.append_at("one", &ChatMessage::user("late"), later).unwrap();
    let list = |listing: SessionFilter| -> Vec<String> {
        let found = scratch.store.reader().sessions(&listing).unwrap();
        found.into_iter().map(|session| session.id).collect()
    };
    assert_eq!(list(SessionFilter::default()), ["one", "three", "two"]);
    assert_eq!(list(SessionFilter { limit: 1, offset: 1, ..SessionFilter::default() }), ["three"]);
    assert_eq!(
        list(SessionFilter { source: Some("cron".into()), ..SessionFilter::default() }),
        ["two"]
    );
    assert_eq!(
        list(SessionFilter {
            excluded_sources: vec!["cron".into()],
            limit: 9,
            ..SessionFilter::default()
        })
        .len(),
        2
    );
    let since = Some("2099-01-01T00:00:00Z".parse().unwrap());
    assert_eq!(list(SessionFilter { since, ..SessionFilter::default() }), ["one"]);
}

#[test]
fn what_is_undone_is_neither_sent_nor_shown_nor_found() {
    let scratch = Scratch::new();
    scratch.begin("s", "cli");
    for turn in ["alpha", "beta", "gamma"] {
        scratch.say("s", turn);
        scratch.store.append("s", &reply(&format!("about {turn}"))).unwrap();
    }
    scratch.store.index_pending().unwrap();
    let undone = scratch.store.undo("s", 1).unwrap();
    assert_eq!((undone.messages, undone.user_text.as_deref()), (2, Some("gamma")));
    assert_eq!(scratch.texts("s"), ["alpha", "about alpha", "beta", "about beta"]);
    let info = scratch.info("s");
    assert_eq!(info.messages, 4);
    assert_eq!(scratch.store.reader().messages(&info, MessageRange::All).unwrap().len(), 4);
    // Said again, and not yet in the index: again it must go.
    scratch.say("s", "gamma anew");
    scratch.store.undo("s", 1).unwrap();
    for text in ["gamma", "amma", "am", "gam*"] {
        let query = MessageQuery { text: text.into(), limit: 9, ..MessageQuery::default() };
        assert!(scratch.store.reader().search(&query).unwrap().hits.is_empty(), "{text}");
    }
    assert_eq!(scratch.store.undo("s", 0).unwrap().messages, 0);
    assert_eq!(scratch.store.undo("s", 99).unwrap().messages, 0, "there are not so many");
    assert_eq!(scratch.store.undo("s", 2).unwrap().messages, 4);
    assert!(scratch.texts("s").is_empty());
}

#[test]
fn a_summary_stands_for_what_is_kept() {
    let scratch = Scratch::new();
    scratch.begin("s", "cli");
    let turns = ["one", "two", "three", "four"].map(|text| scratch.say("s", text));
    let shorter = [ChatMessage::user("sum"), ChatMessage::user("three"), ChatMessage::user("four")];
    scratch.store.compress("s", &shorter, &|_| true).unwrap();
    scratch.say("s", "five");
    assert_eq!(scratch.texts("s"), ["sum", "three", "four", "five"]);
    let info = scratch.info("s");
    let shown = scratch.store.reader().messages(&info, MessageRange::All).unwrap();
    let shown: Vec<_> = shown.iter().map(|kept| (kept.message.text(), kept.state)).collect();
    let folded = |text: &str| (text.to_owned(), MessageState::Folded);
    assert_eq!(shown[..4], ["one", "two", "three", "four"].map(folded));
    assert_eq!(shown[4], ("sum".to_owned(), MessageState::Summary));
    assert_eq!(shown.len(), 6, "nothing is shown twice");

    // Again: the summary itself is folded.
    scratch
        .store
        .compress("s", &[ChatMessage::user("sum 2"), ChatMessage::user("five")], &|_| true)
        .unwrap();
    assert_eq!(scratch.texts("s"), ["sum 2", "five"]);
    let count = |text: &str| {
        let query = MessageQuery { text: text.into(), limit: 9, ..MessageQuery::default() };
        scratch.store.reader().search(&query).unwrap().hits.len()
    };
    for when in ["waiting", "indexed"] {
        assert_eq!((count("one"), count("five"), count("sum")), (1, 1, 0), "{when}");
        scratch.store.index_pending().unwrap();
    }

    // What came after the summary is taken back: the summary stays.
    scratch.store.undo("s", 1).unwrap();
    assert_eq!(scratch.texts("s"), ["sum 2"]);
    assert_eq!(count("five"), 0);
    // What the summary stands for is taken back: the rest is sent itself.
    scratch.store.undo_from("s", turns[2]).unwrap();
    assert_eq!(scratch.texts("s"), ["one", "two"]);
    assert_eq!((count("two"), count("three"), count("four")), (1, 0, 0));
}

#[test]
fn a_turn_after_a_summary_can_be_taken_back_alone() {
    let scratch = Scratch::new();
    scratch.begin("s", "cli");
    for text in ["one", "two", "three"] {
        scratch.say("s", text);
    }
    let shorter = ["sum", "two", "three"].map(ChatMessage::user);
    scratch.store.compress("s", &shorter, &|_| true).unwrap();
    scratch.store.undo("s", 1).unwrap();
    assert_eq!(scratch.texts("s"), ["sum", "two"]);
    scratch.store.undo("s", 1).unwrap();
    assert_eq!(scratch.texts("s"), ["sum"]);
}

#[test]
fn a_deleted_session_takes_its_helpers_along_and_leaves_no_word() {
    let scratch = Scratch::new();
    scratch.begin("main", "cli");
    scratch.child("helper", "subagent", "main", SessionRelation::Delegation);
    scratch.child("branch", "cli", "main", SessionRelation::Branch);
    for session in ["main", "helper", "branch"] {
        scratch.say(session, &format!("zanzibar of {session}"));
    }
    scratch.store.index_pending().unwrap();
    let deleted = scratch.store.delete("main").unwrap();
    assert_eq!(deleted, DeleteReport { sessions: 2, messages: 2 });
    let left = scratch.info("branch");
    assert_eq!(left.parent, None);
    let query = MessageQuery { text: "zanzibar".into(), limit: 9, ..MessageQuery::default() };
    assert_eq!(scratch.store.reader().search(&query).unwrap().hits.len(), 1);
    scratch.store.delete("branch").unwrap();
    assert!(matches!(scratch.store.delete("branch"), Err(HistoryError::NoSession(_))));
    for name in ["sessions.db", "sessions.db-wal"] {
        let bytes = std::fs::read(scratch.path().with_file_name(name)).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("zanzibar"), "{name}");
    }
}
