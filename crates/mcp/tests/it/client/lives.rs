//! Programs: what they may see, and that nothing of them is left.

use std::process::{Command, Stdio};
use std::time::Duration;

use hermes_core::{CancellationToken, ToolCall};
use serde_json::{Value, json};

use super::{World, caller, content, is_running, odd, until, with};

async fn text_of(world: &World, tool: &str) -> String {
    world.call(tool, json!({})).await["result"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_sees_only_harmless_variables_and_its_own() {
    let world = World::new();
    let entry = with(odd(&[]), json!({"env": {"MINE": "1"}}));
    let settings = hermes_mcp::client::McpClientSettings::read(&json!({"odd": entry}), &|_| None);
    let surroundings = [
        ("PATH", "/usr/bin:/bin"),
        ("HOME", "/home/x"),
        ("OPENAI_API_KEY", "sk-123"),
        ("LANG", "C"),
    ];
    let deps = hermes_mcp::client::ClientDeps {
        engine: world.engine.clone(),
        cache: world.path("cache"),
        state: world.path("state"),
        roots: Vec::new(),
        prompter: None,
        models: None,
        own_env: surroundings.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec(),
        osv: None,
    };
    let servers = hermes_mcp::client::McpServers::new(settings, deps);
    servers.start();
    servers.wait_settled(Duration::from_secs(20)).await;
    let seen: Value = serde_json::from_str(&text_of(&world, "mcp__odd__env").await).unwrap();
    let names: Vec<&str> = seen.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!((seen["MINE"].as_str(), seen["HOME"].as_str()), (Some("1"), Some("/home/x")));
    for name in &names {
        let known = ["PATH", "HOME", "LANG", "MINE", "HERMES_JOB", "LC_CTYPE"];
        assert!(known.contains(name), "{name} of {names:?}");
    }
    servers.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_left_of_a_server_and_what_it_started() {
    let world = World::new();
    let servers = world.ready(&json!({"odd": odd(&[])})).await;
    let server = text_of(&world, "mcp__odd__pid").await;
    let child = text_of(&world, "mcp__odd__spawn").await;
    assert!(is_running(&server) && is_running(&child));
    servers.stop().await;
    assert!(!is_running(&server) && !is_running(&child));
    let left = std::fs::read_dir(world.path("state/mcp/running")).unwrap().count();
    assert_eq!(left, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_left_of_a_server_that_was_only_being_started() {
    let world = World::new();
    let note = world.path("child");
    let entry = with(odd(&["hang"]), json!({"env": {"CHILD_NOTE": note}}));
    let servers = world.start(&json!({"odd": entry}));
    until("its child runs", || std::fs::read_to_string(&note).is_ok_and(|it| it.ends_with('\n')))
        .await;
    let child = std::fs::read_to_string(&note).unwrap().trim().to_owned();
    assert!(is_running(&child));
    servers.stop().await;
    assert!(!is_running(&child));
    let left = std::fs::read_dir(world.path("state/mcp/running")).unwrap().count();
    assert_eq!(left, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_crash_has_left_is_ended_at_the_next_start() {
    let world = World::new();
    // A process that a program which is gone has written down.
    let mut orphan = Command::new("sleep")
        .arg("600")
        .env("HERMES_JOB", "mcp-x-1-1")
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    let pid = orphan.id();
    let leftovers =
        hermes_exec::job_records::JobRecords::open(world.path("state/mcp/running")).unwrap();
    let entry = hermes_exec::job_records::JobRecord {
        id: "mcp-x-1-1".to_owned(),
        pid,
        started: hermes_exec::tree::start_time(pid).unwrap(),
        command: "MCP server x".to_owned(),
        cwd: "/".into(),
        session: String::new(),
        owner_pid: 1,
        owner_started: 1,
        at: 1,
        detached: false,
        output: None,
        elsewhere: None,
    };
    leftovers.record(&entry).unwrap();
    // An unrelated process that reuses the pid is left alone.
    let mut outsider = Command::new("sleep").arg("600").stdin(Stdio::null()).spawn().unwrap();
    let other = hermes_exec::job_records::JobRecord {
        id: "mcp-y-1-2".into(),
        pid: outsider.id(),
        started: 7,
        ..entry
    };
    leftovers.record(&other).unwrap();

    let ended = tokio::task::spawn_blocking(move || orphan.wait());
    // However short the run is.
    world.start(&json!({})).stop().await;
    assert!(!is_running(&pid.to_string()));
    ended.await.unwrap().unwrap();
    assert!(is_running(&outsider.id().to_string()));
    outsider.kill().unwrap();
    outsider.wait().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_learnt_is_there_before_the_server_is() {
    let world = World::new();
    let entry = json!({"odd": odd(&[])});
    let servers = world.ready(&entry).await;
    servers.stop().await;
    let world = World { engine: hermes_engine::Engine::builder().build().unwrap(), ..world };
    let servers = world.start(&entry);
    assert!(world.tools().contains(&"mcp__odd__echo".to_owned()));
    assert_eq!(servers.status()[0].status, "idle");
    assert_eq!(world.call("mcp__odd__echo", json!({"text": "hi"})).await, json!({"result": "hi"}));
    assert_eq!(servers.status()[0].status, "connected");
    servers.stop().await;
    // Other settings may be another server.
    let world = World { engine: hermes_engine::Engine::builder().build().unwrap(), ..world };
    let servers = world.start(&json!({"odd": with(odd(&[]), json!({"env": {"A": "b"}}))}));
    assert_eq!(servers.status()[0].tools, 0);
    servers.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_program_is_ended_and_comes_back() {
    let world = World::new();
    let entry = with(odd(&[]), json!({"lifecycle": {"idle_timeout_seconds": 0.1}}));
    let servers = world.ready(&json!({"odd": entry})).await;
    let first = text_of(&world, "mcp__odd__pid").await;
    until("it rests", || servers.status()[0].status == "idle").await;
    assert!(!is_running(&first));
    assert_ne!(text_of(&world, "mcp__odd__pid").await, first);
    servers.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_cancelled_is_told_to_the_server() {
    let world = World::new();
    let servers = world.ready(&json!({"odd": odd(&[])})).await;
    let cancel = CancellationToken::new();
    let mut caller = caller(world.home.path());
    caller.cancel = cancel.clone();
    let engine = world.engine.clone();
    let running = tokio::spawn(async move {
        let call = ToolCall::new("1", "mcp__odd__sleep", json!({"seconds": 5}));
        engine.call(call, &caller).await
    });
    tokio::time::sleep(Duration::from_millis(100)).await;
    cancel.cancel();
    let answer = content(&running.await.unwrap());
    assert_eq!(answer["kind"], "cancelled", "{answer}");
    let mut shown = String::new();
    for _ in 0..100 {
        shown = text_of(&world, "mcp__odd__cancelled").await;
        if shown != "[]" {
            break;
        }
    }
    assert_ne!(shown, "[]");
    servers.stop().await;
}

/// The other half of the next test: a program with a server that hears
/// nothing.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "run by another test"]
async fn hold() {
    let Some(dir) = std::env::var_os("HERMES_TEST_HOLD") else { return };
    let mut world = World::new();
    world.home = tempfile::tempdir_in(dir).unwrap();
    let _servers = world.start(&json!({"odd": odd(&["hang"])}));
    std::future::pending::<()>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_dies_with_us_however_we_die() {
    if !std::path::Path::new("/usr/bin/setpriv").exists() {
        println!("skipped: no setpriv (Debian: util-linux)");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let mut other = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "client::lives::hold", "--ignored"])
        .env("HERMES_TEST_HOLD", dir.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let note = || {
        let home = std::fs::read_dir(dir.path()).ok()?.next()?.ok()?.path();
        let file = std::fs::read_dir(home.join("state/mcp/running")).ok()?.next()?.ok()?.path();
        let note: Value = serde_json::from_slice(&std::fs::read(file).ok()?).ok()?;
        note["entry"]["pid"].as_u64().map(|pid| pid.to_string())
    };
    until("the server is there", || note().is_some_and(|pid| is_running(&pid))).await;
    let pid = note().unwrap();
    // Once setpriv has been replaced by the server.
    until("it runs", || {
        std::fs::read_to_string(format!("/proc/{pid}/cmdline"))
            .is_ok_and(|it| it.contains("odd.py") && !it.contains("setpriv"))
    })
    .await;
    other.kill().unwrap();
    other.wait().unwrap();
    until("the server is gone", || !is_running(&pid)).await;
}
