//! Background processes: inactivity, input, detachment, leftovers.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::Instant;

use hermes_core::{Ports, ToolCall};
use hermes_engine::{Caller, Engine};
use hermes_exec::JobRegistry;
use serde_json::{Value, json};

use crate::desk::{Desired, Desk, eventually, processes_of};

#[tokio::test(flavor = "multi_thread")]
async fn a_silent_command_is_ended() {
    let desk = Desk::new();
    let arguments = json!({ "command": "echo begun; sleep 600", "inactivity_timeout": 1 });
    let answer = desk.call("terminal", arguments).await;
    assert_eq!((&answer["status"], &answer["exit_code"]), (&json!("timeout"), &json!(124)));
    assert!(answer["error"].as_str().unwrap().contains("wrote nothing for 1 s"), "{answer}");
    // A shell that starts slowly has no output yet.
    assert!("begun\n".starts_with(answer["output"].as_str().unwrap()), "{answer}");

    let arguments =
        json!({ "command": "echo a; sleep 600", "background": true, "inactivity_timeout": 1 });
    let answer = desk.call("terminal", arguments).await;
    let ended = desk.process("wait", &answer["session_id"]).await;
    assert_eq!(ended["status"], "killed", "{ended}");
    eventually("its processes are gone", || processes_of(&answer["session_id"]) == 0).await;
    let seen = desk.process("poll", &answer["session_id"]).await;
    assert!(seen["note"].as_str().unwrap().contains("produced no output"), "{seen}");
    desk.engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chatty_command_is_not_ended() {
    let desk = Desk::new();
    // It prints the time itself, without another program that might be late.
    let command = "exec 3<> <(:); for i in {1..15}; do echo $EPOCHREALTIME; read -t 0.1 -u 3; \
                   done; echo done";
    let arguments = json!({ "command": command, "inactivity_timeout": 1 });
    let answer = desk.call("terminal", arguments).await;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let output = answer["output"].as_str().unwrap();
    if answer["status"] == "timeout" {
        // The machine delayed its output; then terminating it is correct.
        let last: f64 = output.lines().last().map_or(0.0, |line| line.parse().unwrap());
        assert!(now.as_secs_f64() - last >= 1.0, "{answer}");
        return;
    }
    assert_eq!(answer["exit_code"], 0, "{answer}");
    assert_eq!((output.lines().count(), output.lines().last()), (16, Some("done")), "{answer}");
}

/// A program that embeds the tools, and neither sets a directory for jobs nor
/// shuts anything down.
#[tokio::test(flavor = "multi_thread")]
async fn who_drops_the_tools_leaves_no_folder_and_no_process() {
    let dirs = || {
        let prefix = format!("hermes-jobs-{}-", std::process::id());
        let entries = std::fs::read_dir(std::env::temp_dir()).unwrap().flatten();
        entries.filter(|it| it.file_name().to_string_lossy().starts_with(&prefix)).count()
    };
    let dir = tempfile::tempdir().unwrap();
    let caller = Caller::new(dir.path());
    let engine = Engine::builder().tools(hermes_tools_system::tools()).build().unwrap();
    let call = async |tool: &str, arguments: Value| {
        let result = engine.call(ToolCall::new("1", tool, arguments), &caller).await;
        serde_json::from_str::<Value>(&result.content).unwrap()
    };
    let listed = call("process", json!({ "action": "list" })).await;
    assert_eq!(listed["processes"], json!([]), "{listed}");
    assert_eq!(dirs(), 0, "nothing was run");
    let started = call("terminal", json!({ "command": "sleep 600", "background": true })).await;
    let id = started["session_id"].clone();
    let long = call("terminal", json!({ "command": "seq 1 100000" })).await;
    let file = long["output_file"].as_str().unwrap().to_owned();
    assert!(std::path::Path::new(&file).exists() && dirs() == 1);
    let polled = call("process", json!({ "action": "poll", "session_id": id })).await;
    assert_eq!(polled["status"], "running", "{polled}");
    drop(engine);
    eventually("all of it is gone", || dirs() == 0 && processes_of(&id) == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_input_is_answered_question_by_question() {
    let desk = Desk::new();
    let command = "read -p 'name? ' name; read -p \"$name's age? \" age; echo $name is $age";
    let arguments = json!({ "command": command, "open_stdin": true });
    let asked = desk.call("terminal", arguments).await;
    assert_eq!(asked["status"], "awaiting_input", "{asked}");
    let id = asked["session_id"].clone();
    let submit = |data: &'static str| json!({ "action": "submit", "session_id": id, "data": data });
    let next = desk.call("process", submit("Ada")).await;
    assert_eq!(next["status"], "awaiting_input", "{next}");
    let last = desk.call("process", submit("36")).await;
    assert_eq!((&last["status"], &last["exit_code"]), (&json!("exited"), &json!(0)), "{last}");
    assert!(last["output"].as_str().unwrap().contains("Ada is 36"), "{last}");
    let late = desk.call("process", submit("more")).await;
    assert_eq!(late["kind"], "conflict");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_asks_is_seen_by_whoever_looks() {
    let desk = Desk::new();
    let id = desk.start("read -p 'name? ' name; echo got $name; sleep 60").await;
    let asked = desk.process("wait", &id).await;
    assert_eq!(asked["status"], "awaiting_input", "{asked}");
    for action in ["poll", "log"] {
        assert_eq!(desk.process(action, &id).await["status"], "awaiting_input", "{action}");
    }
    let list = desk.call("process", json!({ "action": "list" })).await;
    assert_eq!(list["processes"][0]["status"], "awaiting_input", "{list}");
    let submit = json!({ "action": "submit", "session_id": id, "data": "Ada" });
    assert_eq!(desk.call("process", submit).await["status"], "running");
    assert_eq!(desk.process("poll", &id).await["status"], "running");
    desk.engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_has_closed_its_input_is_no_defect() {
    let desk = Desk::new();
    let id = desk.start("exec <&-; echo closed; sleep 60").await;
    let write = json!({ "action": "write", "session_id": id, "data": "x" });
    let mut answer = desk.call("process", write.clone()).await;
    // It may not have closed it yet.
    while answer["kind"].is_null() {
        answer = desk.call("process", write.clone()).await;
    }
    assert_eq!(answer["kind"], "conflict", "{answer}");
    desk.engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn input_is_open_when_a_command_goes_to_the_background() {
    let desk = Desk::new();
    let command = "sleep 2; while read line; do echo \"got $line\"; done";
    let arguments = json!({ "command": command, "open_stdin": true, "background_after": 1 });
    let turned = desk.call("terminal", arguments).await;
    assert_eq!(turned["status"], "running", "{turned}");
    let id = turned["session_id"].clone();
    let arguments = json!({ "action": "submit", "session_id": id, "data": "one", "timeout": 30 });
    let answer = desk.call("process", arguments).await;
    assert_eq!(answer["output"], "got one\n", "{answer}");
    desk.process("close", &id).await;
    let ended = desk.process("wait", &id).await;
    assert_eq!(ended["exit_code"], 0, "{ended}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_after_a_close_tells_how_it_ended() {
    let desk = Desk::new();
    // It exits at the end of its input.
    let id = desk.start("cat; exit 3").await;
    let closed = desk.process("close", &id).await;
    assert_eq!(
        (&closed["status"], &closed["exit_code"]),
        (&json!("exited"), &json!(3)),
        "{closed}"
    );
    let killed = desk.process("kill", &id).await;
    assert_eq!(killed["status"], "already_exited", "{killed}");
    assert_eq!(killed["exit_code"], 3, "{killed}");
    // It continues without input.
    let id = desk.start("cat; while true; do sleep 0.1; done").await;
    assert_eq!(desk.process("close", &id).await["status"], "running");
    let killed = desk.process("kill", &id).await;
    assert_eq!((&killed["status"], &killed["exit_code"]), (&json!("killed"), &json!(143)));
    // In one batch, without a wait in between.
    for _ in 0..2 {
        let id = desk.start("read line; exit 3").await;
        let calls = ["close", "kill"].map(|action| {
            ToolCall::new(action, "process", json!({ "action": action, "session_id": id }))
        });
        let answers = desk.engine.dispatch(calls.to_vec(), &desk.caller).await;
        let killed: Value = serde_json::from_str(&answers[1].content).unwrap();
        assert_eq!(killed["status"], "already_exited", "{killed}");
        assert_eq!(killed["exit_code"], 3, "{killed}");
    }
    desk.engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_is_driven_by_keys_and_takes_another_size() {
    let desk = Desk::new();
    let command = "trap 'stty size' WINCH; trap 'echo caught; exit 7' INT; echo up; \
                   while true; do sleep 0.1; done";
    let arguments = json!({ "command": command, "pty": true, "background": true });
    let answer = desk.call("terminal", arguments).await;
    let id = answer["session_id"].clone();
    let arguments = json!({ "action": "resize", "session_id": id, "rows": 12, "columns": 40 });
    desk.call("process", arguments).await;
    let begin = Instant::now();
    loop {
        let seen = desk.process("poll", &id).await;
        if seen["screen"].as_str().unwrap().contains("12 40") {
            break;
        }
        assert!(begin.elapsed().as_secs() < 30, "{seen}");
    }
    let arguments = json!({ "action": "keys", "session_id": id, "keys": "ctrl-c" });
    desk.call("process", arguments).await;
    let ended = desk.process("wait", &id).await;
    assert_eq!(ended["exit_code"], 7, "{ended}");
    assert!(ended["screen"].as_str().unwrap().contains("caught"), "{ended}");
    let unknown = json!({ "action": "keys", "session_id": id, "keys": "hyper-q" });
    assert_eq!(desk.call("process", unknown).await["kind"], "invalid_arguments");
    let plain = desk.start("sleep 60").await;
    let arguments = json!({ "action": "resize", "session_id": plain, "rows": 12 });
    assert_eq!(desk.call("process", arguments).await["kind"], "conflict");
    let missing = desk.process("poll", &json!("proc_none")).await;
    assert_eq!(missing["kind"], "not_found");
    assert!(missing["hint"].as_str().unwrap().contains(plain.as_str().unwrap()), "{missing}");
    desk.engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_is_paged_by_lines() {
    let desk = Desk::new();
    let id = desk.start("seq 1 500; sleep 60").await;
    let page =
        |offset: u64| json!({ "action": "log", "session_id": id, "offset": offset, "limit": 3 });
    let begin = Instant::now();
    let mut answer = desk.call("process", page(10)).await;
    while answer["total_lines"] != 500 && begin.elapsed().as_secs() < 30 {
        answer = desk.call("process", page(10)).await;
    }
    assert_eq!(answer["output"], "10\n11\n12", "{answer}");
    assert_eq!((&answer["total_lines"], &answer["showing"]), (&json!(500), &json!("lines 10-12")));
    let first = desk.call("process", page(0)).await;
    assert_eq!((&first["output"], &first["showing"]), (&json!("1\n2\n3"), &json!("lines 1-3")));
    let last = json!({ "action": "log", "session_id": id, "limit": 3 });
    let last = desk.call("process", last).await;
    assert_eq!(last["output"], "498\n499\n500", "{last}");
    let beyond = desk.call("process", page(600)).await;
    assert_eq!(beyond["output"], "", "{beyond}");
    desk.engine.shutdown().await;
}

/// A desk in the same directory, as after a restart of the program.
struct Next {
    engine: Engine,
    caller: Caller,
}

impl Next {
    fn new(desk: &Desk) -> Self {
        let jobs = Arc::new(JobRegistry::local(desk.path().join(".jobs")));
        let engine = Engine::builder()
            .ports(Ports::new().with(jobs))
            .tools(hermes_tools_system::tools())
            .build()
            .unwrap();
        Self { engine, caller: Caller::new(desk.path()) }
    }

    async fn process(&self, arguments: Value) -> Value {
        self.call("process", arguments).await
    }

    async fn call(&self, tool: &str, arguments: Value) -> Value {
        let call = ToolCall::new("1", tool, arguments);
        let result = self.engine.call(call, &self.caller).await;
        serde_json::from_str(&result.content).unwrap()
    }
}

/// Makes it look as if the program that started the job had exited.
fn orphan(desk: &Desk, id: &Value) {
    let file = desk.path().join(format!(".jobs/running/{}.json", id.as_str().unwrap()));
    let mut note: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    note["entry"]["owner_started"] = json!(1);
    std::fs::write(&file, note.to_string()).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_detached_outlives_us_and_is_found_again() {
    let desk = Desk::new();
    let command = "echo out; echo err >&2; while true; do sleep 0.1; done";
    let answer = desk.call("terminal", json!({ "command": command, "detach": true })).await;
    assert_eq!((&answer["status"], &answer["detached"]), (&json!("running"), &json!(true)));
    assert!(answer["note"].as_str().unwrap().contains("continues after hermes exits"), "{answer}");
    let id = answer["session_id"].clone();
    let begin = Instant::now();
    loop {
        let log = desk.process("log", &id).await;
        if log["output"] == "out\nerr" {
            break;
        }
        assert!(begin.elapsed().as_secs() < 30, "{log}");
    }
    desk.engine.shutdown().await;
    assert!(processes_of(&id) > 0, "it is still running");
    let file = answer["output_file"].as_str().unwrap();
    assert_eq!(std::fs::read_to_string(file).unwrap(), "out\nerr\n");
    let mode = std::fs::metadata(file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "only the owner can read it");

    orphan(&desk, &id);
    let next = Next::new(&desk);
    let listed = next.process(json!({ "action": "list" })).await;
    let line = &listed["processes"][0];
    assert_eq!((&line["session_id"], &line["left_over"]), (&id, &json!(true)), "{listed}");
    assert_eq!((&line["detached"], &line["output_file"]), (&json!(true), &json!(file)));
    let polled = next.process(json!({ "action": "poll", "session_id": id })).await;
    assert_eq!((&polled["status"], &polled["output"]), (&json!("running"), &json!("out\nerr")));
    assert!(polled["note"].as_str().unwrap().contains(file), "{polled}");
    let page = json!({ "action": "log", "session_id": id, "offset": 2 });
    let page = next.process(page).await;
    assert_eq!((&page["output"], &page["showing"]), (&json!("err"), &json!("lines 2-2")));
    let waited = next.process(json!({ "action": "wait", "session_id": id, "timeout": 1 })).await;
    assert_eq!(waited["status"], "timeout", "{waited}");
    let slept = next.call("sleep", json!({ "until_process": id, "seconds": 0.05 })).await;
    assert!(slept["reason"].as_str().unwrap().contains("still runs"), "{slept}");
    let typed = json!({ "action": "submit", "session_id": id, "data": "x" });
    assert_eq!(next.process(typed).await["kind"], "conflict");
    // A file that replaced its output is not read.
    let kept = std::fs::read(file).unwrap();
    std::fs::remove_file(file).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", file).unwrap();
    let read = next.process(json!({ "action": "log", "session_id": id })).await;
    assert!(read["error"].as_str().is_some_and(|why| why.contains("was replaced")), "{read}");
    std::fs::remove_file(file).unwrap();
    std::fs::write(file, kept).unwrap();
    let killed = next.process(json!({ "action": "kill", "session_id": id })).await;
    assert_eq!(killed["status"], "killed", "{killed}");
    eventually("all of it is gone", || processes_of(&id) == 0).await;
    assert_eq!(next.process(json!({ "action": "list" })).await["processes"], json!([]));
    let again = next.process(json!({ "action": "kill", "session_id": id })).await;
    assert_eq!(again["kind"], "not_found");
    std::fs::remove_dir_all(std::path::Path::new(file).parent().unwrap()).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_crash_leaves_is_found_and_an_innocent_process_is_not_touched() {
    let desk = Desk::new();
    let id = desk.start("while true; do sleep 0.1; done").await;
    orphan(&desk, &id);
    let next = Next::new(&desk);
    let listed = next.process(json!({ "action": "list" })).await;
    assert_eq!(listed["processes"][0]["session_id"], id, "{listed}");
    assert!(listed["processes"][0].get("detached").is_none());

    // The same pid, but another process: it started at another time.
    let mut innocent = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    let running = desk.path().join(".jobs/running");
    let text = std::fs::read(running.join(format!("{}.json", id.as_str().unwrap()))).unwrap();
    let mut note: Value = serde_json::from_slice(&text).unwrap();
    note["entry"]["id"] = json!("proc_other");
    note["entry"]["pid"] = json!(innocent.id());
    std::fs::write(running.join("proc_other.json"), note.to_string()).unwrap();
    let killed = next.process(json!({ "action": "kill", "session_id": "proc_other" })).await;
    assert_eq!(killed["kind"], "not_found", "{killed}");
    assert!(innocent.try_wait().unwrap().is_none(), "it runs on");
    innocent.kill().unwrap();
    innocent.wait().unwrap();

    let killed = next.process(json!({ "action": "kill", "session_id": id })).await;
    assert_eq!(killed["status"], "killed", "{killed}");
    eventually("all of it is gone", || processes_of(&id) == 0).await;
    desk.engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_cannot_be_detached() {
    let desk = Desk::new();
    let arguments = json!({ "command": "true", "detach": true, "pty": true });
    assert_eq!(desk.call("terminal", arguments).await["kind"], "invalid_arguments");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_typed_into_a_shell_is_a_command() {
    let desk = Desk::new();
    let shell = desk.start("bash --norc").await;
    let other = desk.start("cat").await;
    let effects = async |arguments: Value| {
        let call = ToolCall::new("1", "process", arguments);
        let preview = desk.engine.preview(call, &desk.caller).await.unwrap();
        preview.effects.iter().skip(1).map(ToString::to_string).collect::<Vec<_>>()
    };
    let submit = |id: &Value| json!({ "action": "submit", "session_id": id, "data": "rm -rf zz" });
    assert_eq!(effects(submit(&shell)).await, ["terminal:execute rm -rf zz"]);
    assert!(effects(submit(&other)).await.is_empty());
    let keys = json!({ "action": "keys", "session_id": shell, "keys": "l s space / enter" });
    assert_eq!(effects(keys).await, ["terminal:execute ls /\n"]);
    assert!(effects(json!({ "action": "poll", "session_id": shell })).await.is_empty());
    let said = json!({ "action": "submit", "session_id": shell, "data": "echo $((20 + 22))" });
    let answer = desk.call("process", said).await;
    assert!(answer["output"].as_str().unwrap().contains("42"), "{answer}");
    desk.engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_is_declared_with_its_folder_and_its_input() {
    let desk = Desk::new();
    let declared = async |arguments: Value| {
        let call = ToolCall::new("1", "terminal", arguments);
        desk.engine.preview(call, &desk.caller).await.unwrap().effects[0].to_string()
    };
    assert_eq!(declared(json!({ "command": "ls" })).await, "terminal:execute ls");
    assert_eq!(
        declared(json!({ "command": "rm -rf *", "workdir": "/" })).await,
        "terminal:execute rm -rf * (in /)"
    );
    assert_eq!(
        declared(json!({ "command": "bash", "stdin": "rm -rf /" })).await,
        "terminal:execute bash (its input: rm -rf /)"
    );
    let long = "x".repeat(1 << 20);
    assert!(declared(json!({ "command": "cat", "stdin": long })).await.len() < 10_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_asked_about_what_is_typed_into_a_shell_that_has_ended() {
    let mut desk = Desk::new();
    let id = desk.start("bash").await;
    let typed = |data: &str| json!({ "action": "submit", "session_id": id, "data": data });
    let ended = desk.call("process", typed("exit")).await;
    assert_eq!(ended["status"], "exited", "{ended}");
    desk.caller.dry_run = true;
    let judged = desk.call("process", typed("frobnicate")).await;
    let effects = json!([{ "scope": "process:manage", "resource": id }]);
    assert_eq!(judged["effects"], effects, "{judged}");
    desk.caller.dry_run = false;
    let refused = desk.call("process", typed("frobnicate")).await;
    assert_eq!(refused["kind"], "conflict", "{refused}");
    desk.engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_written_down_is_not_detached() {
    let dir = tempfile::tempdir().unwrap();
    // As on a disk that is full.
    std::fs::write(dir.path().join("running"), "").unwrap();
    let desk = Desk::with(Desired { jobs: Some(dir.path().into()), ..Desired::default() });
    let arguments = json!({ "command": "echo out; sleep 600", "detach": true });
    let answer = desk.call("terminal", arguments).await;
    assert!(answer.get("detached").is_none(), "{answer}");
    assert!(answer["note"].as_str().unwrap().contains("It is not detached"), "{answer}");
    let id = answer["session_id"].clone();
    assert!(processes_of(&id) > 0);
    desk.engine.shutdown().await;
    assert_eq!(processes_of(&id), 0, "it could not be found again");
}
