//! What a command leaves running that holds none of its streams.

use std::fs;
use std::sync::Arc;

use hermes_core::{Ports, ToolCall, ToolOutput};
use hermes_engine::{Caller, Engine};
use hermes_exec::{ExecBackend, JobRegistry, RemoteBackend};
use hermes_testkit::backends::LoopbackTransport;
use hermes_testkit::probe::ProbeTool;
use serde_json::{Value, json};

use crate::desk::{Desired, Desk, eventually, processes_of};

/// Commands that leave something, each in another way. All write down which.
const LEAVING: [&str; 4] = [
    "sleep 600 >/dev/null 2>&1 & echo $! >left",
    "nohup sleep 600 >/dev/null 2>&1 </dev/null & echo $! >left",
    "(setsid sh -c 'echo $$ >left; exec sleep 600' >/dev/null 2>&1 </dev/null &); \
     while [ ! -s left ]; do sleep 0.02; done",
    // Without a recognizable word.
    "eval \"$(printf 'sleep 600 >left.log 2>\\0461 \\046 echo $! >left')\"",
];

fn left(desk: &Desk) -> String {
    let file = desk.path().join("left");
    let pid = fs::read_to_string(&file).unwrap().trim().to_owned();
    fs::remove_file(file).unwrap();
    pid
}

fn is_running(pid: &str) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit(')').next().unwrap_or_default().starts_with(" Z"))
}

async fn listed(desk: &Desk) -> Vec<Value> {
    let list = desk.call("process", json!({ "action": "list" })).await;
    list["processes"].as_array().unwrap().clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_command_leaves_is_listed_and_can_be_ended() {
    let desk = Desk::new();
    for command in LEAVING {
        let answer = desk.run(command).await;
        assert_eq!(answer["exit_code"], 0, "{answer}");
        assert!(answer["note"].as_str().unwrap_or_default().contains("still runs"), "{answer}");
        let (id, pid) = (answer["session_id"].clone(), left(&desk));
        let line = listed(&desk).await.into_iter().find(|line| line["session_id"] == id);
        assert_eq!(line.unwrap()["status"], "lingering", "{command}");
        assert!(is_running(&pid));
        let killed = desk.process("kill", &id).await;
        assert_eq!(killed["status"], "killed", "{killed}");
        assert!(!is_running(&pid), "{command}");
        let after = desk.process("poll", &id).await;
        assert_ne!(after["status"], "lingering", "{after}");
    }
    desk.engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_ends_by_itself_is_no_longer_listed_as_running() {
    let desk = Desk::new();
    let waits = "{ while [ ! -e stop ]; do sleep 0.02; done; } >/dev/null 2>&1 & echo ok";
    let answer = desk.run(waits).await;
    assert_eq!(answer["output"], "ok\n", "{answer}");
    let id = answer["session_id"].clone();
    assert_eq!(desk.process("poll", &id).await["status"], "lingering");
    fs::write(desk.path().join("stop"), "").unwrap();
    eventually("it is gone", || processes_of(&id) == 0).await;
    let mut status = Value::Null;
    while status != "exited" {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        status = desk.process("poll", &id).await["status"].clone();
    }
    desk.engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_leaves_nothing_is_not_listed() {
    let desk = Desk::new();
    for command in ["true", "sleep 0.01 & wait", "yes | head -1", "cat <(echo a)"] {
        let answer = desk.run(command).await;
        assert!(answer["session_id"].is_null(), "{answer}");
    }
    assert_eq!(listed(&desk).await, Vec::<Value>::new());
    desk.engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_left_elsewhere_is_listed_and_ends_with_us() {
    let place = Arc::new(RemoteBackend::new(LoopbackTransport::default()));
    let backend = Some(Arc::clone(&place) as Arc<dyn ExecBackend>);
    let desk = Desk::with(Desired { backend, ..Desired::default() });
    let mut pids = Vec::new();
    for (at, command) in LEAVING.into_iter().enumerate() {
        let answer = desk.run(command).await;
        pids.push(left(&desk));
        // Elsewhere a look is a trip, which is made if there is a reason.
        let is_known = at < 3;
        assert_eq!(answer["session_id"].is_string(), is_known, "{answer}");
    }
    assert_eq!(listed(&desk).await.len(), 3);
    assert!(pids.iter().all(|pid| is_running(pid)));
    let id = listed(&desk).await.first().unwrap()["session_id"].clone();
    assert_eq!(desk.process("kill", &id).await["status"], "killed");
    assert_ne!(desk.process("poll", &id).await["status"], "lingering");
    assert!(!is_running(pids.first().unwrap()));
    desk.engine.shutdown().await;
    place.cleanup().await;
    assert_eq!(pids.iter().filter(|pid| is_running(pid)).count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_crash_has_left_elsewhere_is_told_and_can_be_ended() {
    let jobs = tempfile::tempdir().unwrap();
    let desk = || {
        let backend: Arc<dyn ExecBackend> =
            Arc::new(RemoteBackend::new(LoopbackTransport::default()));
        let jobs = Some(jobs.path().to_owned());
        Desk::with(Desired { backend: Some(backend), jobs, ..Desired::default() })
    };
    let first = desk();
    let id = first.start("sleep 600").await;
    let second = desk();
    assert_eq!(listed(&second).await, Vec::<Value>::new(), "its owner lives");
    // As if its owner were gone.
    let file = jobs.path().join("running").join(format!("{}.json", id.as_str().unwrap()));
    let mut note: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    note["entry"]["owner_started"] = json!(1);
    note["entry"]["cwd"] = json!(second.path());
    fs::write(&file, note.to_string()).unwrap();
    let list = second.call("process", json!({ "action": "list" })).await;
    let line = &list["processes"][0];
    assert_eq!((&line["session_id"], &line["status"]), (&id, &json!("unknown")), "{list}");
    assert!(list["note"].as_str().unwrap().contains("next door"), "{list}");
    assert_eq!(second.process("poll", &id).await["kind"], "conflict");
    assert_eq!(second.process("kill", &id).await["status"], "killed");
    eventually("it is gone", || processes_of(&id) == 0).await;
    assert_eq!(listed(&second).await, Vec::<Value>::new());
    first.engine.shutdown().await;
    second.engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_command_of_a_tool_leaves_is_known_as_the_tools_own() {
    let dir = tempfile::tempdir().unwrap();
    let jobs = Arc::new(JobRegistry::local(dir.path().join("jobs")));
    let ender = Arc::clone(&jobs);
    let script = ProbeTool::new("script").on_run(move |_, cx| {
        let jobs = Arc::clone(&ender);
        async move {
            let call = ToolCall::new(
                format!("{}.1", cx.call_id),
                "terminal",
                json!({ "command": "sleep 604 & echo begun" }),
            );
            let answer = cx.engine.as_ref().unwrap().call(call).await;
            assert!(answer.content.contains("begun"), "{}", answer.content);
            let ended = jobs.terminate_started_by(cx.session.id(), &cx.call_id).await;
            ToolOutput::json(&ended)
        }
    });
    let mut tools = hermes_tools_system::tools();
    tools.push(script.into_tool());
    let engine = Engine::builder()
        .ports(Ports::new().with(jobs))
        .tools(tools)
        .spill_to(dir.path().join("spill"))
        .build()
        .unwrap();
    let caller = Caller::new(dir.path());
    let answer = engine.call(ToolCall::new("a", "script", json!({})), &caller).await;
    assert!(answer.content.contains("sleep 604 & echo begun"), "{}", answer.content);
    engine.shutdown().await;
}
