//! Interpreters in a place that is reached by a carrier.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use hermes_core::{BoxFuture, ToolError};
use hermes_exec::{Carriage, Carrier, Elsewhere, Exit, Jobs, Way};
use hermes_repl::{Language, Status};

use crate::bench::{Bench, has, is_alive};

/// A place that is reached like another host, and is this one.
#[derive(Debug)]
struct NextDoor;

impl Way for NextDoor {
    fn name(&self) -> &str {
        "next door"
    }

    fn open(&self) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(async { Ok(()) })
    }

    fn carrier(&self, script: &str, _carriage: Carriage) -> Carrier {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let home = std::env::var_os("HOME").unwrap_or_default();
        Carrier {
            program: "sh".into(),
            arguments: vec!["-c".into(), script.into()],
            environment: BTreeMap::from([("PATH".into(), path), ("HOME".into(), home)]),
        }
    }

    fn held(&self) -> Option<String> {
        None
    }

    fn failure(&self, _exit: Exit, _errors: &str) -> Option<ToolError> {
        None
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}

fn bench() -> Bench {
    let mut bench = Bench::new();
    let folder = bench.jobs.folder().to_owned();
    bench.jobs = Arc::new(Jobs::new(Arc::new(Elsewhere::new(NextDoor)), folder));
    bench
}

#[tokio::test(flavor = "multi_thread")]
async fn they_remember_and_are_interrupted_there() {
    let bench = bench();
    let endless = [
        (Language::Python, "x = 1", "while True: pass", "x"),
        (Language::Javascript, "let x = 1", "while (true) {}", "x"),
        (Language::Bash, "x=1", "while :; do sleep 1; done", "echo $x"),
        (
            Language::Sql,
            "CREATE TABLE t AS SELECT 1 AS x",
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n",
            "SELECT x FROM t",
        ),
    ];
    for (language, first, forever, last) in endless {
        if language == Language::Javascript && !has("node") {
            continue;
        }
        let answer = bench.answer(language, first).await;
        assert_eq!(answer.status, Status::Ok, "{answer:?}");
        let mut ask = bench.ask(language, forever);
        ask.timeout = Some(Duration::from_secs(1));
        let answer = bench.try_ask(ask).await.unwrap();
        assert_eq!(answer.status, Status::Timeout, "{answer:?}");
        let answer = bench.answer(language, last).await;
        assert_eq!(answer.status, Status::Ok, "{answer:?}");
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
    let text = bench.value(Language::Python, code).await;
    let pids: Vec<u32> =
        text.trim_matches('\'').split(' ').map(|pid| pid.parse().unwrap()).collect();
    assert!(pids.iter().all(|pid| is_alive(*pid)), "{text}");
    bench.close().await;
    assert!(!pids.iter().any(|pid| is_alive(*pid)), "{text}");
}
