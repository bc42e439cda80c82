#![allow(clippy::unwrap_used)]

use std::fs;
use std::net::TcpListener;
use std::process::Command;
use std::sync::Arc;

use hermes_core::{ErrorKind, Ports, ProgressCallback, ProgressUpdate, erase};
use hermes_exec::JobRegistry;
use hermes_exec::job_records::{JobRecord, JobRecords};
use jiff::Timestamp;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;

async fn call(cx: &ToolContext, arguments: Value) -> Result<Value, ToolError> {
    let bound = erase(Sleep).bind(&arguments)?;
    let output = bound.run(cx.clone()).await?;
    Ok(serde_json::from_str(output.content()).unwrap())
}

fn context(dir: &TempDir) -> ToolContext {
    ToolContext::bare(dir.path())
}

#[tokio::test]
async fn a_wait_ends_by_itself() {
    let dir = TempDir::new().unwrap();
    let answer = call(&context(&dir), json!({"seconds": 0.02})).await.unwrap();
    assert_eq!(answer["woke"], "elapsed");
    assert!(answer["slept_seconds"].as_f64().unwrap() >= 0.02);
    assert!(answer.get("reason").is_none());
}

#[tokio::test]
async fn a_time_that_has_passed_wakes_at_once() {
    let dir = TempDir::new().unwrap();
    let answer = call(&context(&dir), json!({"until": "2001-01-01T00:00:00Z"})).await.unwrap();
    assert_eq!(answer["woke"], "elapsed");
}

#[tokio::test]
async fn a_time_to_come_is_waited_for() {
    let dir = TempDir::new().unwrap();
    let at = Timestamp::now() + Duration::from_millis(40);
    let answer = call(&context(&dir), json!({"until": at.to_string()})).await.unwrap();
    assert_eq!(answer["woke"], "elapsed");
    assert!(Timestamp::now() >= at);
}

#[tokio::test]
async fn a_cancelled_wait_ends_now() {
    let dir = TempDir::new().unwrap();
    for arguments in [
        json!({"seconds": 3600}),
        json!({"until_file": "never"}),
        json!({"until_port": "1"}),
        json!({"until_process": "1"}),
    ] {
        let cx = context(&dir);
        let cancel = cx.cancel.clone();
        let wait = tokio::spawn(async move { call(&cx, arguments).await });
        tokio::time::sleep(Duration::from_millis(10)).await;
        cancel.cancel();
        let error = wait.await.unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled);
    }
}

/// Forwards the first progress report as an event.
fn first_report(sender: tokio::sync::oneshot::Sender<ProgressUpdate>) -> ProgressCallback {
    let sender = Mutex::new(Some(sender));
    Arc::new(move |_, progress| {
        if let Some(sender) = sender.lock().take() {
            let _ = sender.send(progress.clone());
        }
    })
}

/// Starts a wait, and makes the change once it has started.
async fn waited(dir: &TempDir, arguments: Value, change: impl FnOnce()) -> Value {
    let (sender, begun) = tokio::sync::oneshot::channel();
    let mut cx = context(dir);
    cx.progress = Some(first_report(sender));
    let wait = tokio::spawn(async move { call(&cx, arguments).await.unwrap() });
    begun.await.unwrap();
    change();
    wait.await.unwrap()
}

fn told(answer: &Value) -> (&str, &str) {
    (answer["woke"].as_str().unwrap(), answer["reason"].as_str().unwrap_or_default())
}

#[tokio::test]
async fn a_file_that_appears_changes_or_goes_wakes() {
    let dir = TempDir::new().unwrap();
    let flag = dir.path().join("flag");
    let watch = |state: &str| json!({"until_file": "flag", "file_state": state});
    let write = |text: &'static str| {
        let flag = flag.clone();
        move || fs::write(flag, text).unwrap()
    };
    let appeared = waited(&dir, json!({"until_file": "flag"}), write("1")).await;
    assert_eq!(told(&appeared), ("file", "flag appeared"));
    let changed = waited(&dir, watch("changed"), write("22")).await;
    assert_eq!(told(&changed), ("file", "flag changed"));
    let gone = waited(&dir, watch("gone"), || fs::remove_file(&flag).unwrap()).await;
    assert_eq!(told(&gone), ("file", "flag was removed"));
    let appeared = waited(&dir, watch("changed"), write("1")).await;
    assert_eq!(told(&appeared), ("file", "flag appeared"));
}

#[tokio::test]
async fn what_is_so_already_wakes_at_once() {
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("flag"), "1").unwrap();
    let cx = context(&dir);
    let there = call(&cx, json!({"until_file": "flag"})).await.unwrap();
    assert_eq!(told(&there), ("file", "flag exists"));
    let gone = call(&cx, json!({"until_file": "none", "file_state": "gone"})).await.unwrap();
    assert_eq!(told(&gone), ("file", "none does not exist"));
    let no_process = call(&cx, json!({"until_process": "2147483647"})).await.unwrap();
    assert_eq!(no_process["woke"], "process");
    assert!(told(&no_process).1.starts_with("There is no process 2147483647"));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    for text in
        [format!("{port}"), format!("localhost:{port}"), format!("http://127.0.0.1:{port}/x")]
    {
        let open = call(&cx, json!({"until_port": text})).await.unwrap();
        assert_eq!(open["woke"], "port", "{open}");
    }
}

#[tokio::test]
async fn what_stays_as_it_is_does_not_wake() {
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("flag"), "1").unwrap();
    let cx = context(&dir);
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    for (arguments, reason) in [
        (json!({"until_file": "flag", "file_state": "changed"}), "flag is unchanged"),
        (json!({"until_file": "flag", "file_state": "gone"}), "flag still exists"),
        (json!({"until_file": "none"}), "none is missing"),
        (json!({"until_process": "1"}), "process 1 still runs"),
        (
            json!({"until_port": format!("127.0.0.1:{port}"), "until_file": "none"}),
            &format!("none is missing; 127.0.0.1:{port}: connection refused"),
        ),
    ] {
        let mut arguments = arguments;
        arguments["seconds"] = json!(0.02);
        let answer = call(&cx, arguments).await.unwrap();
        assert_eq!(told(&answer), ("elapsed", reason));
    }
}

#[tokio::test]
async fn a_port_that_opens_wakes() {
    let dir = TempDir::new().unwrap();
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut listener = None;
    let arguments = json!({"until_port": address.to_string(), "until_file": "never"});
    let open = || listener = Some(TcpListener::bind(address).unwrap());
    let answer = waited(&dir, arguments, open).await;
    assert_eq!(told(&answer), ("port", format!("{address} accepts connections").as_str()));
}

#[tokio::test]
async fn a_process_that_ends_wakes_also_before_it_is_reaped() {
    let dir = TempDir::new().unwrap();
    let mut child = Command::new("sleep").arg("600").spawn().unwrap();
    let pid = child.id();
    let arguments = json!({"until_process": pid.to_string()});
    let answer = waited(&dir, arguments, || child.kill().unwrap()).await;
    assert_eq!(told(&answer), ("process", format!("process {pid} has ended").as_str()));
    child.wait().unwrap();
}

#[tokio::test]
async fn progress_says_how_far_it_is() {
    let dir = TempDir::new().unwrap();
    let (sender, begun) = tokio::sync::oneshot::channel();
    let mut cx = context(&dir);
    cx.progress = Some(first_report(sender));
    call(&cx, json!({"seconds": 0.02})).await.unwrap();
    let progress = begun.await.unwrap();
    assert_eq!(progress.message, "1 s left");
    assert!((0.0..=1.0).contains(&progress.fraction.unwrap()));
}

#[tokio::test]
async fn what_cannot_be_waited_for_is_refused() {
    let dir = TempDir::new().unwrap();
    let cx = context(&dir);
    let kind = async |arguments: Value| call(&cx, arguments).await.unwrap_err().kind();
    for arguments in [
        json!({}),
        json!({"seconds": 0}),
        json!({"seconds": -1}),
        json!({"seconds": 3600.5}),
        json!({"seconds": 1e300}),
        json!({"seconds": 1, "until": "2030-01-01T00:00:00Z"}),
        json!({"until": "whenever"}),
        json!({"minutes": 1}),
        json!({"until_port": "http"}),
        json!({"until_port": "host:0"}),
        json!({"until_port": "70000"}),
        json!({"until_process": ""}),
        json!({"until_process": "0"}),
        json!({"until_process": "99999999999"}),
        json!({"until_process": std::process::id().to_string()}),
        json!({"until_process": "1", "until_output": "x"}),
        json!({"until_output": "x"}),
        json!({"seconds": 1, "file_state": "gone"}),
        json!({"until_file": "x", "file_state": "ready"}),
    ] {
        assert_eq!(kind(arguments.clone()).await, ErrorKind::InvalidArguments, "{arguments}");
    }
    assert_eq!(kind(json!({"until": "9000-01-01T00:00:00Z"})).await, ErrorKind::Limit);
    assert_eq!(kind(json!({"until_process": "proc_0"})).await, ErrorKind::NotFound);
}

#[tokio::test]
async fn a_wait_beyond_the_deadline_is_refused_at_once() {
    let dir = TempDir::new().unwrap();
    let mut cx = context(&dir);
    cx.deadline = Some(Instant::now() + Duration::from_secs(10));
    let error = call(&cx, json!({"seconds": 600})).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
}

#[test]
fn what_is_watched_is_an_effect() {
    let at = WorkingDir::new("/srv", None);
    let effects = |arguments: Value| -> Vec<String> {
        let bound = erase(Sleep).bind(&arguments).unwrap();
        bound.effects(&at).iter().map(ToString::to_string).collect()
    };
    assert_eq!(effects(json!({"seconds": 1})), [""; 0]);
    assert_eq!(effects(json!({"until_file": "./a/../flag"})), ["file:read /srv/flag"]);
    assert_eq!(effects(json!({"until_process": "12"})), ["system:read process 12"]);
    assert_eq!(effects(json!({"until_process": "proc_1"})), ["process:manage proc_1"]);
    for own in [
        "80",
        ":80",
        "localhost:80",
        "0.0.0.0:80",
        "127.1.2.3:80",
        "[::1]:80",
        "http://a.localhost",
    ] {
        let effects = effects(json!({"until_port": own}));
        assert!(effects.len() == 1 && effects[0].starts_with("system:read "), "{effects:?}");
    }
    for (other, host) in [
        ("Example.com:80", "example.com:80"),
        ("https://example.com/a:b", "example.com:443"),
        ("10.0.0.1:22", "10.0.0.1:22"),
        ("[::ffff:127.0.0.1]:22", "[::ffff:127.0.0.1]:22"),
        ("2130706433:22", "2130706433:22"),
    ] {
        let effects = effects(json!({"until_port": other}));
        assert_eq!(effects, [format!("network:fetch {host}")]);
    }
}

#[test]
fn the_schema_bounds_the_seconds() {
    let schema = erase(Sleep).parameters();
    let seconds = &schema["properties"]["seconds"];
    assert_eq!(seconds["exclusiveMinimum"], json!(0));
    assert_eq!(seconds["maximum"], json!(3600));
}

#[tokio::test]
async fn a_leftover_on_another_host_is_not_looked_up_in_the_local_process_table() {
    let dir = TempDir::new().unwrap();
    let jobs = dir.path().join("jobs");
    let mut cx = context(&dir);
    let left = JobRecord {
        id: "proc_remote".to_owned(),
        pid: 0,
        started: 0,
        command: "sleep 60".to_owned(),
        cwd: dir.path().to_path_buf(),
        session: cx.session.id().to_owned(),
        owner_pid: u32::MAX,
        owner_started: 0,
        at: 0,
        detached: false,
        output: None,
        elsewhere: Some("ssh host".to_owned()),
    };
    JobRecords::open(jobs.join("running")).unwrap().record(&left).unwrap();
    cx.ports = Arc::new(Ports::new().with(Arc::new(JobRegistry::local(jobs))));
    let error = call(&cx, json!({"until_process": "proc_remote"})).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(error.message().contains("ssh host"), "{error}");
}
