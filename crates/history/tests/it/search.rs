//! What was said is found again, whatever the script and the signs.

use hermes_history::{HitOrder, MessageQuery, SessionQuery, SessionRelation};
use hermes_llm::ChatMessage;

use crate::{Scratch, answer, asks, reply};

fn query(text: &str) -> MessageQuery {
    MessageQuery { text: text.into(), limit: 10, ..MessageQuery::default() }
}

fn found(scratch: &Scratch, query: &MessageQuery) -> Vec<i64> {
    let results = scratch.store.reader().search(query).unwrap();
    results.hits.iter().map(|hit| hit.message).collect()
}

/// Once while messages wait for the index, once when they are in it.
fn both(scratch: &Scratch, check: impl Fn(&str)) {
    check("waiting");
    scratch.store.index_pending().unwrap();
    check("indexed");
}

#[test]
fn words_phrases_and_beginnings() {
    let scratch = Scratch::new();
    scratch.begin("s", "cli");
    let deploy = scratch.say("s", "Please deploy to Kubernetes, with chat-send and my.file");
    let cafe = scratch.say("s", "A café in Łódź");
    both(&scratch, |when| {
        let find = |text: &str| found(&scratch, &query(text));
        for text in [
            "kubernetes DEPLOY",
            "\"deploy to kubernetes\"",
            "kuber*",
            "chat-send",
            "my.file",
            "bernet",
            "nothing OR deploy",
            "\"unbalanced deploy",
        ] {
            let wanted = if text.starts_with("\"unbalanced") { vec![] } else { vec![deploy] };
            assert_eq!(find(text), wanted, "{text} {when}");
        }
        assert_eq!(find("cafe"), [cafe], "{when}");
        assert_eq!(find("\"kubernetes to deploy\""), Vec::<i64>::new(), "{when}");
        assert_eq!(find("deploy NOT kubernetes"), Vec::<i64>::new(), "{when}");
    });
}

#[test]
fn scripts_without_spaces_with_questions_of_any_length() {
    let scratch = Scratch::new();
    scratch.begin("s", "cli");
    let chinese = scratch.say("s", "我们今天部署集群到生产环境");
    let japanese = scratch.say("s", "データベースを移行する");
    let korean = scratch.say("s", "데이터베이스를 옮긴다");
    let thai = scratch.say("s", "ฐานข้อมูลพังแล้ว");
    let rocket = scratch.say("s", "to the moon 🚀 now");
    both(&scratch, |when| {
        for (text, wanted) in [
            ("集", chinese),
            ("部署", chinese),
            ("部署集群", chinese),
            ("部署 生产", chinese),
            ("移行", japanese),
            ("ベース", japanese),
            ("이터", korean),
            ("ข้อมูล", thai),
            ("🚀", rocket),
        ] {
            assert_eq!(found(&scratch, &query(text)), [wanted], "{text} {when}");
        }
        assert_eq!(found(&scratch, &query("署部")), Vec::<i64>::new(), "{when}");
        let hit = scratch.store.reader().search(&query("部署")).unwrap().hits.remove(0);
        assert_eq!(hit.snippet, "我们今天>>>部署<<<集群到生产环境");
    });
}

#[test]
fn any_text_is_a_question() {
    let scratch = Scratch::new();
    scratch.begin("s", "cli");
    scratch.say("s", "some words here");
    scratch.store.index_pending().unwrap();
    let long = "word ".repeat(5_000);
    for text in [
        "",
        " ",
        "\"",
        "\"\"",
        "'",
        "*",
        "**",
        "(",
        ")",
        "NEAR(a b)",
        "a NEAR b",
        "text:some",
        "-some",
        "^some",
        "some AND",
        "OR",
        "NOT NOT",
        "AND OR NOT",
        "%",
        "_",
        "\\",
        "\0",
        "a\0b",
        "{some}",
        "+some",
        "some;--",
        "rank MATCH",
        "\u{feff}",
        "\u{200b}",
        "🏴󠁧󠁢",
        &long,
    ] {
        for sort in [HitOrder::Rank, HitOrder::Newest, HitOrder::Oldest] {
            let query = MessageQuery { sort, ..query(text) };
            scratch.store.reader().search(&query).unwrap_or_else(|e| panic!("{text:?}: {e}"));
        }
    }
}

#[test]
fn filters_and_orders() {
    let scratch = Scratch::new();
    scratch.begin("one", "cli");
    scratch.begin("two", "cron");
    let at = |day: u32| format!("2026-01-{day:02}T00:00:00Z").parse().unwrap();
    let put = |session: &str, message: ChatMessage, day: u32| {
        scratch.store.append_at(session, &message, at(day)).unwrap()
    };
    let first = put("one", ChatMessage::user("apple pie, apple tart and apple juice"), 1);
    let second = put("one", reply("an apple a day is said to keep many a doctor away for long"), 2);
    let third = put("two", answer("c", "web_search", "apple"), 3);
    both(&scratch, |when| {
        let find = |change: &dyn Fn(&mut MessageQuery)| {
            let mut query = query("apple");
            change(&mut query);
            found(&scratch, &query)
        };
        assert_eq!(find(&|q| q.sort = HitOrder::Newest), [third, second, first], "{when}");
        assert_eq!(find(&|q| q.sort = HitOrder::Oldest), [first, second, third], "{when}");
        assert_eq!(find(&|q| q.roles = vec!["user".into()]), [first], "{when}");
        assert_eq!(find(&|q| q.session = Some("two".into())), [third], "{when}");
        assert_eq!(find(&|q| q.source = Some("cli".into())).len(), 2, "{when}");
        assert_eq!(find(&|q| q.since = Some(at(3))), [third], "{when}");
        assert_eq!(find(&|q| q.until = Some(at(2))), [first], "{when}");
        assert_eq!(find(&|q| q.limit = 1).len(), 1, "{when}");
    });
    let ranked = found(&scratch, &query("apple"));
    assert_eq!(*ranked.last().unwrap(), second, "the long one fits least: {ranked:?}");
}

#[test]
fn calls_are_found_by_tool_and_arguments() {
    let scratch = Scratch::new();
    scratch.begin("s", "cli");
    let call = scratch
        .store
        .append("s", &asks("c", "read_file", r#"{"path":"src\nmain.rs","n":4242}"#))
        .unwrap();
    let broken = scratch.store.append("s", &asks("d", "patch", r#"{"path": "half"#)).unwrap();
    both(&scratch, |when| {
        for (text, wanted) in
            [("read_file", call), ("main.rs", call), ("4242", call), ("half", broken)]
        {
            assert_eq!(found(&scratch, &query(text)), [wanted], "{text} {when}");
        }
    });
}

#[test]
fn sessions_are_discovered_by_family() {
    let scratch = Scratch::new();
    scratch.begin("s1", "cli");
    scratch.child("s1b", "cli", "s1", SessionRelation::Compression);
    scratch.begin("s2", "cron");
    scratch.begin("s4", "subagent");
    scratch.begin("s5", "cli");
    for session in ["s1", "s4", "s2", "s1b"] {
        for n in 0..8 {
            scratch.say(session, &format!("filler {n}"));
        }
        scratch.say(session, "we deploy kubernetes here");
    }
    scratch.say("s5", "something else");
    scratch.store.rename("s5", "Deploy").unwrap();
    both(&scratch, |when| {
        let discover = |text: &str, asker: Option<&str>| {
            let discovery = SessionQuery {
                query: MessageQuery { sort: HitOrder::Newest, limit: 5, ..query(text) },
                window: 2,
                asker: asker.map(Into::into),
            };
            scratch.store.reader().discover(&discovery).unwrap()
        };
        let ids = |asker| -> Vec<String> {
            discover("deploy", asker).0.into_iter().map(|found| found.session.id).collect()
        };
        assert_eq!(
            ids(None),
            ["s5", "s1b", "s2"],
            "{when}: title first, cron last, helpers hidden"
        );
        assert_eq!(ids(Some("s1b")), ["s5", "s2"], "{when}");
        assert_eq!(ids(Some("s1")), ["s5", "s2"], "{when}");
        assert_eq!(ids(Some("never written")).len(), 3, "{when}");
        let (found, total) = discover("deploy kubernetes", None);
        assert_eq!(total, 2);
        let first = found.first().unwrap();
        assert_eq!(first.session.parent.as_ref().map(|p| p.id.as_str()), Some("s1"));
        assert_eq!(first.around.len(), 3);
        assert_eq!(
            (first.before, first.after, first.beginning.len(), first.end.len()),
            (6, 0, 3, 0)
        );
        assert!(first.hit.as_ref().unwrap().snippet.contains(">>>deploy<<< >>>kubernetes<<<"));
    });
}
