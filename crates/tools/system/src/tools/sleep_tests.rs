#![allow(clippy::unwrap_used)]

use std::fs;

use std::sync::{Arc, Mutex};

use hermes_core::{ErrorKind, Progress, ProgressSink, erase};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;

async fn call(cx: &ToolContext, arguments: Value) -> Result<Value, ToolError> {
    let bound = erase(Sleep).bind(&arguments)?;
    let output = bound.run(cx.clone()).await?;
    Ok(serde_json::from_str(output.content()).unwrap())
}

fn context(folder: &TempDir) -> ToolContext {
    ToolContext::bare(folder.path())
}

#[tokio::test]
async fn a_wait_ends_by_itself() {
    let folder = TempDir::new().unwrap();
    let answer = call(&context(&folder), json!({"seconds": 0.02})).await.unwrap();
    assert_eq!(answer["woke"], "elapsed");
    assert!(answer["slept_seconds"].as_f64().unwrap() >= 0.02);
    assert!(answer.get("reason").is_none());
}

#[tokio::test]
async fn a_time_that_has_passed_wakes_at_once() {
    let folder = TempDir::new().unwrap();
    let answer = call(&context(&folder), json!({"until": "2001-01-01T00:00:00Z"})).await.unwrap();
    assert_eq!(answer["woke"], "elapsed");
}

#[tokio::test]
async fn a_time_to_come_is_waited_for() {
    let folder = TempDir::new().unwrap();
    let at = Timestamp::now() + Duration::from_millis(40);
    let answer = call(&context(&folder), json!({"until": at.to_string()})).await.unwrap();
    assert_eq!(answer["woke"], "elapsed");
    assert!(Timestamp::now() >= at);
}

#[tokio::test]
async fn a_cancelled_wait_ends_now() {
    let folder = TempDir::new().unwrap();
    for arguments in [json!({"seconds": 3600}), json!({"until_file": "never"})] {
        let cx = context(&folder);
        let cancel = cx.cancel.clone();
        let wait = tokio::spawn(async move { call(&cx, arguments).await });
        tokio::time::sleep(Duration::from_millis(10)).await;
        cancel.cancel();
        let error = wait.await.unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled);
    }
}

/// Passes the first progress report on as an event.
struct Bell(Mutex<Option<tokio::sync::oneshot::Sender<Progress>>>);

impl ProgressSink for Bell {
    fn report(&self, _tool: &str, progress: &Progress) {
        if let Some(sender) = self.0.lock().unwrap().take() {
            let _ = sender.send(progress.clone());
        }
    }
}

/// Starts a wait for `path`, and makes the change once it has begun.
async fn watched(folder: &TempDir, path: &str, change: impl FnOnce(&Path)) -> Value {
    let (sender, begun) = tokio::sync::oneshot::channel();
    let mut cx = context(folder);
    cx.progress = Some(Arc::new(Bell(Mutex::new(Some(sender)))));
    let arguments = json!({"until_file": path});
    let wait = tokio::spawn(async move { call(&cx, arguments).await.unwrap() });
    begun.await.unwrap();
    change(&folder.path().join(path));
    wait.await.unwrap()
}

#[tokio::test]
async fn a_file_that_appears_changes_or_goes_wakes() {
    let folder = TempDir::new().unwrap();
    let appeared = watched(&folder, "flag", |path| fs::write(path, "1").unwrap()).await;
    assert_eq!((&appeared["woke"], &appeared["reason"]), (&json!("file"), &json!("appeared")));
    let changed = watched(&folder, "flag", |path| fs::write(path, "22").unwrap()).await;
    assert_eq!((&changed["woke"], &changed["reason"]), (&json!("file"), &json!("changed")));
    let removed = watched(&folder, "flag", |path| fs::remove_file(path).unwrap()).await;
    assert_eq!((&removed["woke"], &removed["reason"]), (&json!("file"), &json!("removed")));
}

#[tokio::test]
async fn a_file_that_stays_as_it_is_does_not_wake() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("flag"), "1").unwrap();
    let cx = context(&folder);
    let there = call(&cx, json!({"until_file": "flag", "seconds": 0.02})).await.unwrap();
    assert_eq!((&there["woke"], &there["reason"]), (&json!("elapsed"), &json!("unchanged")));
    let missing = call(&cx, json!({"until_file": "none", "seconds": 0.02})).await.unwrap();
    assert_eq!((&missing["woke"], &missing["reason"]), (&json!("elapsed"), &json!("missing")));
}

#[tokio::test]
async fn progress_says_how_far_it_is() {
    let folder = TempDir::new().unwrap();
    let (sender, begun) = tokio::sync::oneshot::channel();
    let mut cx = context(&folder);
    cx.progress = Some(Arc::new(Bell(Mutex::new(Some(sender)))));
    call(&cx, json!({"seconds": 0.02})).await.unwrap();
    let progress = begun.await.unwrap();
    assert_eq!(progress.message, "1 s left");
    assert!((0.0..=1.0).contains(&progress.fraction.unwrap()));
}

#[tokio::test]
async fn what_cannot_be_waited_for_is_refused() {
    let folder = TempDir::new().unwrap();
    let cx = context(&folder);
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
    ] {
        assert_eq!(kind(arguments.clone()).await, ErrorKind::InvalidArguments, "{arguments}");
    }
    assert_eq!(kind(json!({"until": "9000-01-01T00:00:00Z"})).await, ErrorKind::Limit);
}

#[tokio::test]
async fn a_wait_beyond_the_deadline_is_refused_at_once() {
    let folder = TempDir::new().unwrap();
    let mut cx = context(&folder);
    cx.deadline = Some(Instant::now() + Duration::from_secs(10));
    let error = call(&cx, json!({"seconds": 600})).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
}

#[test]
fn only_the_watched_file_is_an_effect() {
    let at = Workplace::new("/srv", None);
    let effects = |arguments: Value| erase(Sleep).bind(&arguments).unwrap().effects(&at);
    assert_eq!(effects(json!({"seconds": 1})), []);
    let file = Effect::path(Scope::FILE_READ, "/srv/flag");
    assert_eq!(effects(json!({"until_file": "./a/../flag"})), [file]);
}

#[test]
fn the_schema_bounds_the_seconds() {
    let schema = erase(Sleep).parameters();
    let seconds = &schema["properties"]["seconds"];
    assert_eq!(seconds["exclusiveMinimum"], json!(0));
    assert_eq!(seconds["maximum"], json!(3600));
}
