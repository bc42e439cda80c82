#![allow(clippy::unwrap_used)]

use std::sync::atomic::AtomicUsize;

use hermes_core::{BoxFuture, CallStatus, ToolMatch};
use serde_json::json;
use tokio::sync::Barrier;

use super::*;
use crate::callable_tools::ToolParameter;

/// Answers every call with its arguments, and counts how they come.
struct Echo {
    batches: Mutex<Vec<usize>>,
    alone: AtomicUsize,
    meet: Option<Barrier>,
    hold: Semaphore,
}

impl Echo {
    fn new(meet: Option<usize>, holds: bool) -> Arc<Self> {
        Arc::new(Self {
            batches: Mutex::default(),
            alone: AtomicUsize::new(0),
            meet: meet.map(Barrier::new),
            hold: Semaphore::new(if holds { 0 } else { 1_000 }),
        })
    }
}

fn echoed(call: &ToolCall) -> ToolResult {
    let mut result = cancelled_result(&call.id, &call.name);
    result.status = CallStatus::Success;
    result.content = match &call.arguments {
        hermes_core::CallArguments::Json(value) => value.to_string(),
        hermes_core::CallArguments::Text(text) => text.clone(),
    };
    result
}

impl EngineHandle for Echo {
    fn search_tools(&self, _query: &str, _limit: Option<usize>) -> (Vec<ToolMatch>, usize) {
        (Vec::new(), 0)
    }

    fn describe_tool(&self, _name: &str) -> Option<Value> {
        None
    }

    fn similar_names(&self, _name: &str) -> Vec<String> {
        Vec::new()
    }

    fn tool_names(&self) -> Vec<String> {
        Vec::new()
    }

    fn call(&self, call: ToolCall) -> BoxFuture<'_, ToolResult> {
        Box::pin(async move {
            self.alone.fetch_add(1, Ordering::SeqCst);
            if let Some(meet) = &self.meet {
                meet.wait().await;
            }
            let _held = self.hold.acquire().await.unwrap();
            echoed(&call)
        })
    }

    fn call_all(&self, calls: Vec<ToolCall>) -> BoxFuture<'_, Vec<ToolResult>> {
        self.batches.lock().push(calls.len());
        Box::pin(async move { calls.iter().map(echoed).collect() })
    }
}

fn desk(host: Arc<Echo>, most: u64) -> Arc<RpcDispatcher> {
    let tool = |name: &str| CallableTool {
        name: name.into(),
        description: String::new(),
        parameters: vec![ToolParameter {
            name: "command".into(),
            schema: json!({}),
            is_required: true,
        }],
        accepts_extra: false,
    };
    let tools = ["read_file", "terminal", "write_file"].map(tool).to_vec();
    Arc::new(RpcDispatcher::new(Some(host), "outer".into(), Arc::new(tools), most).unwrap())
}

async fn ask(desk: &Arc<RpcDispatcher>, tool: &str, args: Value) -> Value {
    let request = json!({ "id": 7, "token": desk.token.as_str(), "tool": tool, "args": args });
    let answer = desk.handle_request(request.to_string().into_bytes()).await;
    serde_json::from_str(&answer.text).unwrap()
}

#[tokio::test]
async fn a_call_is_made_and_answered_by_its_number() {
    let desk = desk(Echo::new(None, false), 9);
    let answer = ask(&desk, "read_file", json!({ "path": "a" })).await;
    assert_eq!(answer, json!({ "id": 7, "ok": true, "result": { "path": "a" } }));
    assert_eq!((desk.calls_made(), desk.is_busy()), (1, false));
}

#[tokio::test]
async fn a_stranger_is_refused_and_not_heard_again() {
    let desk = desk(Echo::new(None, false), 9);
    for token in ["", "0", &"0".repeat(64)] {
        let request = json!({ "id": 1, "token": token, "tool": "read_file", "args": {} });
        let answer = desk.handle_request(request.to_string().into_bytes()).await;
        assert!(answer.hang_up && answer.text.contains("\"denied\""), "{answer:?}");
    }
    assert!(desk.handle_request(b"{".to_vec()).await.hang_up);
    assert_eq!((desk.calls_made(), desk.forged_requests()), (0, 3));
}

#[tokio::test]
async fn what_is_not_offered_is_refused_with_what_is() {
    let desk = desk(Echo::new(None, false), 9);
    let answer = ask(&desk, "memory", json!({})).await;
    assert_eq!(answer["error"]["kind"], "denied");
    assert_eq!(answer["error"]["hint"], "Scripts may call: read_file, terminal, write_file.");
    let answer = ask(&desk, "terminal", json!({ "command": "x", "run_in_background": true })).await;
    assert_eq!(answer["error"]["kind"], "invalid_arguments");
    assert_eq!(desk.calls_made(), 0);
}

#[tokio::test]
async fn too_many_calls_are_refused_one_by_one() {
    let desk = desk(Echo::new(None, false), 2);
    let mut well = Vec::new();
    for _ in 0..4 {
        well.push(ask(&desk, "read_file", json!({})).await["ok"] == true);
    }
    assert_eq!(well, [true, true, false, false]);
    assert_eq!((desk.calls_made(), desk.calls_over_limit()), (2, 2));
}

#[tokio::test]
async fn calls_that_only_read_are_made_together() {
    let desk = desk(Echo::new(Some(3), false), 9);
    let calls = (0..3).map(|at| ask(&desk, "read_file", json!({ "at": at })));
    // They meet inside, or this never ends.
    let answers = futures_util::future::join_all(calls).await;
    assert!(answers.iter().all(|answer| answer["ok"] == true));
}

#[tokio::test]
async fn calls_that_change_something_wait_and_are_planned_together() {
    let host = Echo::new(None, true);
    let desk = desk(Arc::clone(&host), 9);
    let calls = (0..4).map(|at| ask(&desk, "write_file", json!({ "at": at })));
    let all = futures_util::future::join_all(calls);
    let free = async {
        while host.alone.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
        host.hold.add_permits(1);
    };
    let (answers, ()) = tokio::join!(all, free);
    for (at, answer) in answers.iter().enumerate() {
        assert_eq!(answer["result"]["at"], at);
    }
    assert_eq!(host.alone.load(Ordering::SeqCst), 1);
    assert_eq!(*host.batches.lock(), [3]);
    assert!(!desk.write_queue().is_busy);
}

#[tokio::test]
async fn one_who_leaves_in_the_middle_does_not_keep_the_others_waiting() {
    let host = Echo::new(None, true);
    let desk = desk(Arc::clone(&host), 9);
    let leaving = tokio::spawn({
        let desk = Arc::clone(&desk);
        async move { ask(&desk, "write_file", json!({})).await }
    });
    while host.alone.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    let staying = tokio::spawn({
        let desk = Arc::clone(&desk);
        async move { ask(&desk, "write_file", json!({ "at": 1 })).await }
    });
    while desk.write_queue().waiting.is_empty() {
        tokio::task::yield_now().await;
    }
    leaving.abort();
    assert_eq!(staying.await.unwrap()["result"]["at"], 1);
    desk.wait_idle().await;
}

#[test]
fn what_was_put_aside_or_labelled_is_whole_again() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("text");
    std::fs::write(&file, "the whole text").unwrap();
    let mut result = cancelled_result("1", "read_file");
    result.spill_path = Some(file.clone());
    result.content = json!({ "a": { "text": "the … text" }, "n": 1, "truncated": true,
        "spilled": { "field": "a/text" } })
    .to_string();
    assert_eq!(full_content(result.clone()), r#"{"a":{"text":"the whole text"},"n":1}"#);
    std::fs::write(&file, "[1,\n2]").unwrap();
    result.content = json!({ "truncated": true, "head": "[1", "spilled": {} }).to_string();
    assert_eq!(full_content(result.clone()), "[1,2]");
    result.spill_path = None;
    result.untrusted = true;
    let text = hermes_threats::label("web_search", r#"{"found":[]}"#).text;
    result.content = json!({ "untrusted": true, "content": text }).to_string();
    assert_eq!(full_content(result.clone()), r#"{"found":[]}"#);
    result.content = json!({ "untrusted": true, "content": { "found": 1 } }).to_string();
    assert_eq!(full_content(result), r#"{"found":1}"#);
}

#[tokio::test]
async fn a_script_gets_the_whole_of_what_the_model_has_seen() {
    let tool = CallableTool {
        name: "read_file".into(),
        description: String::new(),
        parameters: vec![ToolParameter {
            name: "fresh".into(),
            schema: json!({}),
            is_required: false,
        }],
        accepts_extra: false,
    };
    let host = Echo::new(None, false);
    let desk =
        Arc::new(RpcDispatcher::new(Some(host), "outer".into(), Arc::new(vec![tool]), 9).unwrap());
    let answer = ask(&desk, "read_file", json!({ "path": "a" })).await;
    assert_eq!(answer["result"], json!({ "path": "a", "fresh": true }));
    // That is the default, which the functions for scripts send along.
    let answer = ask(&desk, "read_file", json!({ "fresh": false })).await;
    assert_eq!(answer["result"], json!({ "fresh": true }));
}
