//! How fast conversations are kept and found.
//!
//! `cargo run --profile profiling -p hermes-history --example bench_history [MESSAGES]`
//!
//! Appending is compared with SQLite alone: the same rows into a table of the
//! same columns in the same mode, without any index of words.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::time::{Duration, Instant};

use hermes_history::{HistoryStore, HitOrder, MessageQuery, NewSession, SessionQuery};
use hermes_llm::{ChatMessage, ModelReply, RequestedCall, TokenUsage, ToolCallAnswer};
use rusqlite::Connection;

/// Numbers that look random and are the same each time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) as usize % sides
    }

    /// Few words are common and many are rare, as in speech.
    fn word(&mut self) -> String {
        let rank = self.roll(20_000).min(self.roll(20_000)).min(self.roll(20_000));
        let syllables = ["ka", "lo", "mi", "ren", "tu", "sor", "ve", "dan", "qui", "po"];
        let mut rest = rank + 10;
        let mut word = String::new();
        while rest > 0 {
            word.push_str(syllables[rest % 10]);
            rest /= 10;
        }
        word
    }

    fn text(&mut self, words: usize) -> String {
        (0..words).map(|_| self.word()).collect::<Vec<_>>().join(" ")
    }
}

fn message(dice: &mut Dice, n: usize) -> ChatMessage {
    let usage = TokenUsage { input: 1_000, output: 50, cost: Some(0.001), ..TokenUsage::default() };
    match n % 4 {
        0 => {
            let words = 10 + dice.roll(20);
            ChatMessage::user(dice.text(words))
        }
        1 => ChatMessage::Assistant(ModelReply {
            calls: vec![RequestedCall {
                id: format!("call_{n}"),
                name: "read_file".into(),
                arguments: format!(r#"{{"path":"src/{}.rs"}}"#, dice.word()),
            }],
            usage,
            ..ModelReply::default()
        }),
        2 => ChatMessage::Tool(ToolCallAnswer {
            call_id: format!("call_{}", n - 1),
            name: "read_file".into(),
            content: dice.text(80),
            images: Vec::new(),
            is_error: false,
            is_cancelled: false,
        }),
        _ => {
            let words = 20 + dice.roll(60);
            let mut text = dice.text(words);
            if n % 1_000 == 3 {
                text.push_str(" 我们今天部署集群到生产环境");
            }
            ChatMessage::Assistant(ModelReply { text, usage, ..ModelReply::default() })
        }
    }
}

fn show(name: &str, times: &mut [Duration]) -> Duration {
    times.sort();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    let mean = times.iter().sum::<Duration>() / times.len() as u32;
    println!("{name:<44} p50 {:>9.1?}  p95 {:>9.1?}  mean {mean:>9.1?}", at(0.5), at(0.95));
    at(0.5)
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

fn time<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let begun = Instant::now();
    let outcome = work();
    (begun.elapsed(), outcome)
}

/// SQLite alone, with a table of the same columns in the same mode.
struct Alone {
    source: Connection,
    target: Connection,
    insert: String,
    columns: usize,
    times: Vec<Duration>,
}

impl Alone {
    fn new(from: &std::path::Path, to: &std::path::Path) -> Self {
        let source = Connection::open(from).unwrap();
        let target = Connection::open(to).unwrap();
        target.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(())).unwrap();
        target.pragma_update(None, "synchronous", "normal").unwrap();
        let table: String = source
            .query_row("SELECT sql FROM sqlite_schema WHERE name = 'messages'", [], |r| r.get(0))
            .unwrap();
        let table = table.replace("REFERENCES sessions(key) ON DELETE CASCADE", "");
        target.execute_batch(&table).unwrap();
        target.execute_batch("CREATE INDEX messages_by_session ON messages(session);").unwrap();
        let columns = source.prepare(NEWEST).unwrap().column_count();
        let insert = format!("INSERT INTO messages VALUES ({})", vec!["?"; columns].join(","));
        Self { source, target, insert, columns, times: Vec::new() }
    }

    /// Keeps the row that was kept last as well.
    fn keep(&mut self) {
        let mut newest = self.source.prepare_cached(NEWEST).unwrap();
        let values: Vec<rusqlite::types::Value> =
            newest.query_row([], |row| (0..self.columns).map(|n| row.get(n)).collect()).unwrap();
        let mut insert = self.target.prepare_cached(&self.insert).unwrap();
        let work = || insert.execute(rusqlite::params_from_iter(&values)).unwrap();
        self.times.push(time(work).0);
    }
}

const NEWEST: &str = "SELECT * FROM messages ORDER BY id DESC LIMIT 1";

fn main() {
    let count = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(100_000);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("sessions.db");
    let store = HistoryStore::open(&path).unwrap();
    let mut dice = Dice(7);
    let mut session = String::new();
    let mut times = Vec::new();
    let mut alone = Alone::new(&path, &dir.path().join("alone.db"));
    for n in 0..count {
        if n % 100 == 0 {
            session =
                store.begin(&NewSession { source: "cli".into(), ..NewSession::default() }).unwrap();
        }
        let message = message(&mut dice, n);
        times.push(time(|| store.append(&session, &message).unwrap()).0);
        // By turns, so that each finds the machine as the other has left it.
        alone.keep();
    }
    store.index_pending().unwrap();
    println!("{count} messages, {} MB", std::fs::metadata(&path).unwrap().len() / 1_000_000);
    let ours = show("append", &mut times);
    let theirs = show("SQLite alone", &mut alone.times);
    let in_all = |times: &[Duration]| times.iter().sum::<Duration>().as_secs_f64();
    let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
    let total = in_all(&times) / in_all(&alone.times);
    println!("  append takes {ratio:.2} x of that at p50, {total:.2} x in all");
    let (p50_us, reference_us) = (micros(ours), micros(theirs));
    println!(
        r#"{{"metric":"history.append","p50_us":{p50_us:.1},"reference_us":{reference_us:.1},"ratio":{ratio:.3},"n":{count}}}"#
    );
    drop(alone);
    searches(&store, &mut dice);
    let (taken, deleted) = time(|| store.delete(&session).unwrap());
    println!("delete a session of {} messages: {taken:.1?}", deleted.messages);
}

fn searches(store: &HistoryStore, dice: &mut Dice) {
    let reader = store.reader();
    let roles = vec!["user".to_owned(), "assistant".to_owned()];
    let mut all = Vec::new();
    type Asks<'a> = Box<dyn Fn(&mut Dice) -> String + 'a>;
    let kinds: [(&str, Asks<'_>); 7] = [
        ("two words", Box::new(|dice| dice.text(2))),
        ("one word", Box::new(|dice| dice.word())),
        ("a very common word", Box::new(|_| "kalo".into())),
        ("a beginning", Box::new(|dice| format!("{}*", &dice.word()[..4]))),
        ("a piece of words", Box::new(|dice| dice.word()[1..].to_owned())),
        (
            "one or two characters of CJK",
            Box::new(|dice| ["部", "部署", "集群", "今"][dice.roll(4)].into()),
        ),
        ("nothing like it", Box::new(|dice| format!("zz{}xx", dice.word()))),
    ];
    for (name, ask) in kinds {
        let mut times = Vec::new();
        for n in 0..200 {
            let sort = [HitOrder::Rank, HitOrder::Rank, HitOrder::Newest, HitOrder::Oldest][n % 4];
            let text = ask(dice);
            let query = MessageQuery {
                text,
                limit: 20,
                sort,
                roles: roles.clone(),
                ..MessageQuery::default()
            };
            times.push(time(|| reader.search(&query).unwrap()).0);
        }
        all.extend_from_slice(&times);
        show(&format!("search: {name}"), &mut times);
    }
    let found = show("search: all of these", &mut all);
    println!(r#"{{"metric":"history.search","p50_us":{:.1},"n":{}}}"#, micros(found), all.len());
    let mut times = Vec::new();
    for _ in 0..200 {
        let query = MessageQuery {
            text: dice.text(2),
            limit: 3,
            roles: roles.clone(),
            ..MessageQuery::default()
        };
        let discovery = SessionQuery { query, window: 5, asker: None };
        times.push(time(|| reader.discover(&discovery).unwrap()).0);
    }
    show("discover sessions by two words", &mut times);
}
