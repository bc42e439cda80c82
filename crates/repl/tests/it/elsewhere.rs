//! Interpreters on a remote backend.

use std::sync::Arc;
use std::time::Duration;

use hermes_exec::{JobRegistry, RemoteBackend};
use hermes_repl::{ReplLanguage, ReplStatus};
use hermes_testkit::backends::LoopbackTransport;

use crate::bench::{Bench, has, is_alive};

fn bench() -> Bench {
    let mut bench = Bench::new();
    let dir = bench.jobs.directory().to_owned();
    bench.jobs =
        Arc::new(JobRegistry::new(Arc::new(RemoteBackend::new(LoopbackTransport::default())), dir));
    bench
}

#[tokio::test(flavor = "multi_thread")]
async fn they_remember_and_are_interrupted_there() {
    let bench = bench();
    let endless = [
        (ReplLanguage::Python, "x = 1", "while True: pass", "x"),
        (ReplLanguage::Javascript, "let x = 1", "while (true) {}", "x"),
        (ReplLanguage::Bash, "x=1", "while :; do sleep 1; done", "echo $x"),
        (
            ReplLanguage::Sql,
            "CREATE TABLE t AS SELECT 1 AS x",
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n",
            "SELECT x FROM t",
        ),
    ];
    for (language, first, forever, last) in endless {
        if language == ReplLanguage::Javascript && !has("node") {
            continue;
        }
        let answer = bench.answer(language, first).await;
        assert_eq!(answer.status, ReplStatus::Ok, "{answer:?}");
        let mut ask = bench.ask(language, forever);
        ask.timeout = Some(Duration::from_secs(1));
        let answer = bench.try_ask(ask).await.unwrap();
        assert_eq!(answer.status, ReplStatus::Timeout, "{answer:?}");
        let answer = bench.answer(language, last).await;
        assert_eq!(answer.status, ReplStatus::Ok, "{answer:?}");
        let shown = answer.value.map(|value| value.text).unwrap_or(answer.stdout.text);
        assert!(shown.contains('1'), "{shown}");
    }
    bench.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_them_stays_there() {
    let bench = bench();
    let code =
        "import os, subprocess; f'{os.getpid()} {subprocess.Popen([\"sleep\", \"600\"]).pid}'";
    let text = bench.value(ReplLanguage::Python, code).await;
    let pids: Vec<u32> =
        text.trim_matches('\'').split(' ').map(|pid| pid.parse().unwrap()).collect();
    assert!(pids.iter().all(|pid| is_alive(*pid)), "{text}");
    bench.close().await;
    assert!(!pids.iter().any(|pid| is_alive(*pid)), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn pictures_come_here_and_it_is_said_where_they_are() {
    let bench = bench();
    let code =
        "class P:\n    def _repr_png_(self):\n        return b'\\x89PNG\\r\\n' + bytes(1000)\nP()";
    let answer = bench.answer(ReplLanguage::Python, code).await;
    assert_eq!(answer.status, ReplStatus::Ok, "{answer:?}");
    let path = &answer.images[0].path;
    assert!(path.starts_with(bench.jobs.directory()) && path.exists(), "{answer:?}");
    assert!(
        answer.notes.iter().any(|note| note.contains("machine that runs hermes")),
        "{answer:?}"
    );
    let plain = bench.answer(ReplLanguage::Python, "1").await;
    assert!(plain.notes.is_empty(), "{plain:?}");
    bench.close().await;
}
