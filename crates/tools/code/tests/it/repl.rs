//! `repl` through the whole engine.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hermes_core::{Ports, ToolCall, ToolResult};
use hermes_engine::{Caller, Engine};
use hermes_exec::JobRegistry;
use serde_json::{Value, json};
use tempfile::TempDir;

struct Bench {
    dir: TempDir,
    _jobs: TempDir,
    engine: Engine,
    caller: Caller,
}

impl Bench {
    fn new() -> Self {
        let (dir, jobs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let port = Arc::new(JobRegistry::local(jobs.path().join("jobs")));
        let engine = Engine::builder()
            .ports(Ports::new().with(port))
            .tools(hermes_tools_code::tools())
            .spill_to(jobs.path().join("spill"))
            .build()
            .unwrap();
        let caller = Caller::new(dir.path());
        Self { dir, _jobs: jobs, engine, caller }
    }

    async fn result(&self, arguments: Value) -> ToolResult {
        self.engine.call(ToolCall::new("1", "repl", arguments), &self.caller).await
    }

    async fn call(&self, arguments: Value) -> Value {
        serde_json::from_str(&self.result(arguments).await.content).unwrap()
    }
}

fn is_alive(pid: &str) -> bool {
    let stat = fs::read_to_string(Path::new("/proc").join(pid).join("stat")).unwrap_or_default();
    let state = stat.rsplit_once(')').map(|(_, rest)| rest.trim_start().to_owned());
    state.is_some_and(|state| !state.starts_with(['Z', 'X']))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_used_listed_forgotten_and_closed() {
    let bench = Bench::new();
    let answer = bench.call(json!({ "code": "x = 5\nprint('out')\nx" })).await;
    assert_eq!(answer["status"], "ok", "{answer}");
    assert_eq!((&answer["value"], &answer["type"]), (&json!("5"), &json!("int")), "{answer}");
    assert_eq!((&answer["session"], &answer["stdout"]), (&json!("main"), &json!("out\n")));
    let result = bench.result(json!({ "code": "x", "session": "other" })).await;
    assert!(result.command_failed, "{}", result.content);
    let answer: Value = serde_json::from_str(&result.content).unwrap();
    assert_eq!((&answer["status"], &answer["exit_code"]), (&json!("error"), &json!(1)), "{answer}");
    assert_eq!(answer["error"]["type"], "NameError", "{answer}");
    let answer = bench.call(json!({ "lang": "bash", "input": "exit 3" })).await;
    assert_eq!((&answer["status"], &answer["exit_code"]), (&json!("ended"), &json!(3)), "{answer}");
    let answer = bench.call(json!({ "action": "list" })).await;
    let names: Vec<_> =
        answer["sessions"].as_array().unwrap().iter().map(|one| &one["session"]).collect();
    assert_eq!(names, ["main", "other"], "{answer}");
    let answer = bench.call(json!({ "action": "reset" })).await;
    assert_eq!(answer["status"], "ok", "{answer}");
    let answer = bench.call(json!({ "code": "'x' in globals()" })).await;
    assert_eq!(answer["value"], "False", "{answer}");
    let answer = bench.call(json!({ "action": "close", "session": "other" })).await;
    assert_eq!(answer["status"], "ok", "{answer}");
    let answer = bench.call(json!({ "action": "interrupt" })).await;
    assert_eq!(answer["note"], "Nothing was running.", "{answer}");
    bench.engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_makes_no_sense_is_refused() {
    let bench = Bench::new();
    let wrong = [
        (json!({}), "invalid_arguments"),
        (json!({ "code": "1", "session": "../x" }), "invalid_arguments"),
        (json!({ "code": "1", "database": "a.db" }), "invalid_arguments"),
        (json!({ "code": "1", "language": "cobol" }), "invalid_arguments"),
        (json!({ "action": "close", "session": "nonesuch" }), "not_found"),
    ];
    for (arguments, kind) in wrong {
        let answer = bench.call(arguments.clone()).await;
        assert_eq!(answer["kind"], kind, "{arguments}: {answer}");
    }
    bench.engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_session_of_hermes_has_its_own_interpreters() {
    let bench = Bench::new();
    bench.call(json!({ "code": "x = 5" })).await;
    let outsider = Caller::new(bench.dir.path());
    let call = ToolCall::new("2", "repl", json!({ "code": "'x' in globals()" }));
    let result = bench.engine.call(call, &outsider).await;
    assert!(result.content.contains(r#""value":"False""#), "{}", result.content);
    bench.engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_is_a_file_of_the_project() {
    let bench = Bench::new();
    let code = "CREATE TABLE t (x); INSERT INTO t VALUES (1), (2); SELECT x FROM t";
    let answer = bench.call(json!({ "language": "sql", "code": code, "db": "a.db" })).await;
    assert_eq!((&answer["status"], &answer["rows"]), (&json!("ok"), &json!(2)), "{answer}");
    assert!(bench.dir.path().join("a.db").is_file());
    bench.engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pictures_come_with_the_answer() {
    let bench = Bench::new();
    let code = "class P:\n    def _repr_png_(self):\n        return b'\\x89PNG\\r\\n'\nP()";
    let result = bench.result(json!({ "code": code })).await;
    let answer: Value = serde_json::from_str(&result.content).unwrap();
    let path = answer["files"][0].as_str().unwrap_or_else(|| panic!("{answer}"));
    assert!(fs::read(path).unwrap().starts_with(b"\x89PNG"));
    assert_eq!(result.attachments.len(), 1);
    assert_eq!(result.attachments[0].media_type, "image/png");
    bench.engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_call_stops_its_code_and_the_end_of_hermes_all() {
    let bench = Arc::new(Bench::new());
    let answer = bench.call(json!({ "code": "import os; os.getpid()" })).await;
    let pid = answer["value"].as_str().unwrap().to_owned();
    let other = Arc::clone(&bench);
    let code = "open('begun', 'w').close()\nimport time; time.sleep(600)";
    let call = tokio::spawn(async move { other.call(json!({ "code": code })).await });
    while !bench.dir.path().join("begun").exists() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    bench.caller.cancel.cancel();
    let answer = call.await.unwrap();
    assert_eq!(answer["kind"], "cancelled", "{answer}");
    assert!(is_alive(&pid), "the state is kept");
    bench.engine.shutdown().await;
    assert!(!is_alive(&pid));
}

#[tokio::test(flavor = "multi_thread")]
async fn different_sessions_of_one_batch_run_side_by_side() {
    let bench = Bench::new();
    // Each waits for the other.
    let code = |own: &str, other: &str| {
        format!(
            "import os, time\nopen('{own}', 'w').close()\nend = time.time() + 20\n\
             while not os.path.exists('{other}') and time.time() < end: time.sleep(0.01)\n\
             os.path.exists('{other}')"
        )
    };
    let call = |id: &str, own: &str, other: &str| {
        ToolCall::new(id, "repl", json!({ "session": own, "code": code(own, other) }))
    };
    let calls = vec![call("1", "a", "b"), call("2", "b", "a")];
    for result in bench.engine.dispatch(calls, &bench.caller).await {
        let answer: Value = serde_json::from_str(&result.content).unwrap();
        assert_eq!(answer["value"], "True", "{answer}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_bash_is_told_is_a_command() {
    let bench = Bench::new();
    let commands = async |arguments: Value| {
        let call = ToolCall::new("1", "repl", arguments);
        let effects = bench.engine.preview(call, &bench.caller).await.unwrap().effects;
        let shown = effects.iter().map(ToString::to_string);
        shown.filter(|effect| effect.starts_with("terminal:execute")).collect::<Vec<_>>()
    };
    let long = format!("{}rm -rf zz", "# nothing\n".repeat(20_000));
    for code in ["rm -rf /", long.as_str()] {
        let arguments = json!({ "language": "bash", "code": code });
        assert_eq!(commands(arguments).await, [format!("terminal:execute {code}")]);
    }
    assert!(commands(json!({ "code": "print(1)" })).await.is_empty());
}
