use std::time::Duration;

use hermes_core::ErrorKind;
use hermes_repl::{ReplLanguage, ReplStatus};

use crate::bench::Bench;

const SQL: ReplLanguage = ReplLanguage::Sql;

#[tokio::test(flavor = "multi_thread")]
async fn rows_are_a_table_with_types_and_a_count() {
    let bench = Bench::new();
    let code = "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, price REAL); -- a; comment\n\
                INSERT INTO t (name, price) VALUES ('it''s; one', 1.5), (NULL, 20);";
    assert_eq!(bench.value(SQL, code).await, "CREATE: done\n\nINSERT: 2 rows changed");
    let answer = bench.answer(SQL, "SELECT * FROM t").await;
    assert_eq!(answer.rows, Some(2));
    let wanted = "     id | name       | price\n\
                  INTEGER | TEXT       |  REAL\n\
                  --------+------------+------\n      \
                  1 | it's; one  |   1.5\n      \
                  2 | NULL       |  20.0\n\
                  (2 rows)";
    let shape = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ").replace('-', "");
    assert_eq!(shape(&answer.value.unwrap().text), shape(wanted));
    let text = bench.value(SQL, ".tables").await;
    assert!(text.contains('t') && text.contains("(1 row)"), "{text}");
    assert!(bench.value(SQL, ".schema t").await.starts_with("CREATE TABLE t ("));
    bench.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mistake_names_the_line_and_a_transaction_stays_open() {
    let bench = Bench::new();
    let answer = bench
        .answer(
            SQL,
            "CREATE TABLE a (x);\nBEGIN;\nINSERT INTO a VALUES (1);\n\nSELECT nonesuch FROM a;",
        )
        .await;
    assert_eq!(answer.status, ReplStatus::Error);
    let error = answer.error.unwrap();
    assert_eq!((error.kind.as_str(), error.line), ("OperationalError", Some(5)), "{error:?}");
    assert!(answer.notes.concat().contains("transaction is open"), "{:?}", answer.notes);
    assert!(bench.value(SQL, "ROLLBACK; SELECT count(*) FROM a").await.contains("\n       0\n"));
    let trigger =
        "CREATE TRIGGER g AFTER INSERT ON a BEGIN DELETE FROM a; SELECT 1; END; SELECT 'x;y'";
    let answer = bench.answer(SQL, trigger).await;
    assert_eq!((answer.status, answer.rows), (ReplStatus::Ok, Some(1)), "{answer:?}");
    bench.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_kept_and_a_session_has_one() {
    let bench = Bench::new();
    let on = |file: &str, code: &str| {
        let mut ask = bench.ask(SQL, code);
        ask.database = Some(bench.path().join(file));
        ask
    };
    bench.try_ask(on("one.db", "CREATE TABLE t (x); INSERT INTO t VALUES (5)")).await.unwrap();
    let error = bench.try_ask(on("two.db", "SELECT 1")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    bench.all.close(bench.cx.session.id(), SQL, "main").await.unwrap();
    let answer = bench.try_ask(on("one.db", "SELECT x FROM t")).await.unwrap();
    assert!(answer.value.unwrap().text.contains("\n      5\n"));
    bench.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_query_is_stopped_and_the_state_kept() {
    let bench = Bench::new();
    bench.value(SQL, "CREATE TABLE t AS SELECT 3 AS x").await;
    let endless =
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n";
    let mut ask = bench.ask(SQL, endless);
    ask.timeout = Some(Duration::from_millis(700));
    let answer = bench.try_ask(ask).await.unwrap();
    assert_eq!(answer.status, ReplStatus::Timeout, "{answer:?}");
    let many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 5000) SELECT i FROM n";
    let answer = bench.answer(SQL, many).await;
    assert_eq!(answer.rows, Some(5000));
    assert!(answer.value.unwrap().text.ends_with("(5000 rows, the first 200 shown)"));
    assert_eq!(bench.answer(SQL, "SELECT x FROM t").await.rows, Some(1));
    bench.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_attached_is_listed_as_well() {
    let bench = Bench::new();
    let code = "CREATE TABLE own (a); ATTACH ':memory:' AS \"o't\"; CREATE TABLE \"o't\".other (b); \
                CREATE INDEX \"o't\".byb ON other (b); CREATE TEMP TABLE brief (c);";
    bench.value(SQL, code).await;
    let tables = bench.value(SQL, ".tables").await;
    for name in ["own", "o't.other", "brief", "(3 rows)"] {
        assert!(tables.contains(name), "{name}: {tables}");
    }
    assert!(bench.value(SQL, ".schema other").await.starts_with("CREATE TABLE"), "its schema");
    assert!(bench.value(SQL, ".indexes").await.contains("o't.byb"), "its index");
    bench.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_cannot_be_opened_is_not_a_missing_interpreter() {
    let bench = Bench::new();
    for (file, kind) in [("nowhere/a.db", ErrorKind::NotFound), (".", ErrorKind::InvalidArguments)]
    {
        let mut ask = bench.ask(SQL, "SELECT 1");
        ask.database = Some(bench.path().join(file));
        let error = bench.try_ask(ask).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{error:?}");
        assert!(error.hint().contains("'database'"), "{error:?}");
    }
    bench.close().await;
}
