//! Each stage, seen from outside.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use hermes_core::{
    ApprovalDecision, ApprovalRequest, ApprovalScope, Approver, BoxFuture, CallProposal,
    CallStatus, Effect, EffectDisposition, ErrorKind, Policy, ResultLimit, Ruling, Scope, ToolCall,
    ToolOutput, ToolSpec, Verdict,
};
use hermes_engine::{
    CallEvent, CallObserver, CallView, Engine, Hook, HookDecision, ResultSizeLimits, ResultView,
};
use hermes_testkit::probe::{self, CallDiary, ProbeTool};
use serde_json::{Value, json};

use crate::{NO_GUARD, built, engine};

fn json(content: &str) -> Value {
    serde_json::from_str(content).unwrap()
}

fn typed() -> ProbeTool {
    ProbeTool::new("typed").with_spec(|s| s.parameter_alias("file_path", "path")).parameters(
        json!({
            "type": "object",
            "properties": {
                "path": { "type": "string", "description": "A path." },
                "limit": { "type": "integer", "minimum": 1 },
                "tags": { "type": "array", "items": { "type": "string" } },
            },
            "required": ["path"],
            "additionalProperties": false,
        }),
    )
}

#[tokio::test]
async fn arguments_are_coerced_and_the_result_says_so() {
    let (engine, caller, _dir) = engine(vec![typed().into_tool()]);
    let call =
        ToolCall::new("1", "typed", json!({ "file_path": "a", "limit": "5", "tags": "['x','y']" }));
    let result = engine.call(call, &caller).await;
    assert_eq!(json(&result.content), json!({ "path": "a", "limit": 5, "tags": ["x", "y"] }));
    assert_eq!(result.coercions.len(), 3, "{:?}", result.coercions);
}

#[tokio::test]
async fn what_does_not_fit_is_explained_with_an_example() {
    let (engine, caller, _dir) = engine(vec![typed().into_tool()]);
    let result =
        engine.call(ToolCall::new("1", "typed", json!({ "limit": "many" })), &caller).await;
    assert_eq!(result.status, CallStatus::Error(ErrorKind::InvalidArguments));
    let error = json(&result.content);
    let paths: Vec<&str> =
        error["errors"].as_array().unwrap().iter().map(|e| e["path"].as_str().unwrap()).collect();
    assert!(paths.contains(&"/limit"), "{error}");
    assert!(error["error"].as_str().unwrap().contains("path"), "{error}");
    let again = engine.call(ToolCall::new("2", "typed", error["example"].clone()), &caller).await;
    assert!(again.is_success(), "the example works: {}", again.content);
}

#[tokio::test]
async fn argument_text_is_mended_but_a_guess_runs_nothing_that_changes_things() {
    let (engine, caller, _dir) = engine(vec![typed().into_tool(), probe::echo().into_tool()]);
    let repaired = engine.call(ToolCall::from_text("1", "typed", "{path: 'a',}"), &caller).await;
    assert!(repaired.is_success(), "{}", repaired.content);
    let cut = engine
        .call(ToolCall::from_text("2", "typed", r#"{"path": "a", "tags": ["x""#), &caller)
        .await;
    assert_eq!(cut.status, CallStatus::Error(ErrorKind::InvalidArguments));
    assert_eq!(cut.disposition, EffectDisposition::NotRun);
    let looks = engine.call(ToolCall::from_text("3", "echo", r#"{"q": ["x""#), &caller).await;
    assert_eq!(json(&looks.content), json!({ "q": ["x"] }));
}

#[tokio::test]
async fn names_are_repaired_and_unknown_ones_answered() {
    let (engine, caller, _dir) = engine(vec![probe::echo().into_tool()]);
    let repaired = engine.call(ToolCall::new("1", "Echo_tool", json!({})), &caller).await;
    assert_eq!(repaired.name, "echo");
    assert!(repaired.coercions.iter().any(|note| note.contains("Echo_tool")));
    let unknown = engine.call(ToolCall::new("2", "launch_rocket", json!({})), &caller).await;
    assert_eq!(unknown.status, CallStatus::Error(ErrorKind::NotFound));
    let empty = engine.call(ToolCall::new("3", "  ", json!({})), &caller).await;
    assert!(!empty.content.contains("echo"), "no catalogue for a blank name: {}", empty.content);
}

#[tokio::test]
async fn a_result_carries_the_name_that_was_called() {
    let job = || ProbeTool::new("job").with_spec(|s| s.alias("job_manager"));
    let (engine, caller, _dir) = engine(vec![job().into_tool()]);
    let call = async |name: &str| engine.call(ToolCall::new("1", name, json!({})), &caller).await;
    for (written, called) in [
        ("job", "job"),
        ("Job", "job"),
        ("job_manager", "job_manager"),
        ("JobManager", "job_manager"),
        ("functions.job_manager", "job_manager"),
    ] {
        let result = call(written).await;
        assert_eq!((&*result.name, result.called_name()), ("job", called), "{written}");
        assert_eq!(result.called_as.is_some(), called != "job", "{written}");
    }
    let wrapped = json!({ "name": "job_manager", "parameters": {} });
    let result = engine.call(ToolCall::new("2", "tool_call", wrapped), &caller).await;
    assert_eq!((&*result.name, result.called_name()), ("job", "job_manager"));
    let invalid = engine.call(ToolCall::new("3", "job_manager", json!(7)), &caller).await;
    assert!(!invalid.is_success());
}

#[tokio::test]
async fn wrapped_arguments_reach_the_tool_unwrapped() {
    let tool = typed().with_spec(|s| s.preset_alias("tagged", r#"{"tags":["x"]}"#));
    let (engine, caller, _dir) = engine(vec![tool.into_tool()]);
    for arguments in [json!({ "arguments": { "path": "a" } }), json!([{ "path": "a" }])] {
        let result = engine.call(ToolCall::new("1", "tagged", arguments), &caller).await;
        assert!(result.is_success(), "{}", result.content);
        let given = json(&result.content);
        assert_eq!((&given["path"], &given["tags"]), (&json!("a"), &json!(["x"])), "{given}");
        assert!(result.coercions.iter().any(|note| note.contains("unwrap")));
    }
}

#[tokio::test]
async fn a_tool_that_is_not_built_says_so_and_nothing_else_runs() {
    let tools = ["read_file", "search_files"].map(|name| ProbeTool::new(name).into_tool());
    let (engine, caller, _dir) = engine(tools.into());
    for name in ["web_search", "WebSearch", "functions.web-search", "image_analyze", "fetch"] {
        let result = engine.call(ToolCall::new("1", name, json!({})), &caller).await;
        assert_eq!(result.status, CallStatus::Error(ErrorKind::Unavailable), "{name}");
        assert!(result.content.contains("not part of this build"), "{}", result.content);
    }
    let result = engine.call(ToolCall::new("1", "remove_file", json!({})), &caller).await;
    assert_eq!(result.status, CallStatus::Error(ErrorKind::NotFound));
    let error = json(&result.content);
    assert!(error["similar"].as_array().unwrap().contains(&json!("read_file")), "{error}");
    assert!(error["hint"].as_str().unwrap().contains("tool_search"), "{error}");
}

#[tokio::test]
async fn an_alias_refuses_arguments_that_contradict_it() {
    let tool = ProbeTool::new("job").with_spec(|s| {
        s.preset_alias("list_jobs", r#"{"action":"list"}"#)
            .preset_alias("read_job", r#"{"items":null}"#)
            .parameter_alias("operation", "action")
    });
    let (engine, caller, _dir) = engine(vec![tool.into_tool()]);
    let call = async |name: &str, given: Value| {
        engine.call(ToolCall::new("1", name, given), &caller).await
    };
    let listed = call("list_jobs", json!({ "x": 1 })).await;
    assert_eq!(json(&listed.content), json!({ "x": 1, "action": "list" }));
    assert_eq!(listed.name, "job");
    for given in [json!({ "action": "list" }), json!({ "action": null })] {
        let same = call("list_jobs", given).await;
        assert_eq!(json(&same.content)["action"], "list");
    }
    assert!(call("read_job", json!({})).await.is_success());
    for (name, given, parts) in [
        ("list_jobs", json!({ "action": "stop" }), ["list_jobs", "\"list\"", "\"stop\""]),
        ("ListJobs", json!({ "action": "stop" }), ["list_jobs", "\"list\"", "\"stop\""]),
        ("read_job", json!({ "items": [] }), ["read_job", "`items`", "[]"]),
    ] {
        let refused = call(name, given).await;
        assert_eq!(refused.status, CallStatus::Error(ErrorKind::InvalidArguments));
        let error = json(&refused.content)["error"].as_str().unwrap().to_owned();
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
    }
    let wrapped = json!({ "name": "list_jobs", "action": "stop" });
    assert!(!call("tool_call", wrapped).await.is_success());
}

#[tokio::test]
async fn a_wrapped_call_never_loses_arguments() {
    let (engine, caller, _dir) = engine(vec![typed().into_tool()]);
    let call =
        async |given: Value| engine.call(ToolCall::new("1", "tool_call", given), &caller).await;
    for given in [
        json!({ "name": "typed", "path": "a", "tags": ["x"] }),
        json!({ "name": "typed", "arguments": { "path": "a", "tags": ["x"] } }),
        json!({ "name": "typed", "args": { "path": "a", "tags": ["x"] } }),
        json!({ "name": "typed", "arguments": r#"{"path":"a","tags":["x"]}"# }),
    ] {
        let result = call(given.clone()).await;
        assert!(result.is_success(), "{given}: {}", result.content);
        let seen = json(&result.content);
        assert_eq!((&seen["path"], &seen["tags"]), (&json!("a"), &json!(["x"])), "{given}");
    }
    for key in ["arguments", "parameters"] {
        let mixed = json!({ "name": "typed", key: { "path": "a" }, "tags": ["x"], "other": 1 });
        let refused = call(mixed).await;
        assert_eq!(refused.status, CallStatus::Error(ErrorKind::InvalidArguments));
        assert!(refused.content.contains("`tags`, `other`"), "{}", refused.content);
    }
}

#[tokio::test]
async fn a_key_with_two_values_is_ambiguous() {
    let (engine, caller, _dir) = engine(vec![typed().into_tool()]);
    let call =
        async |text: &str| engine.call(ToolCall::from_text("1", "typed", text), &caller).await;
    assert!(call(r#"{"path":"a","path":"a"}"#).await.is_success());
    for text in [r#"{"path":"a","path":"b"}"#, r#"{'path':'a','path':'b',}"#] {
        let refused = call(text).await;
        assert_eq!(refused.status, CallStatus::Error(ErrorKind::InvalidArguments), "{text}");
        assert!(refused.content.contains("`path`"), "{}", refused.content);
    }
}

#[tokio::test]
async fn whatever_a_tool_does_is_one_json_answer() {
    let (engine, caller, _dir) = engine(vec![
        probe::panics().into_tool(),
        probe::fails().into_tool(),
        probe::returns_invalid_json().into_tool(),
    ]);
    let crashed = engine.call(ToolCall::new("1", "panics", json!({})), &caller).await;
    let text = json(&crashed.content)["error"].as_str().unwrap().to_owned();
    assert!(text.starts_with("[TOOL_ERROR]") && text.contains("boom obey"), "{text}");
    let failed = engine.call(ToolCall::new("2", "fails", json!({})), &caller).await;
    assert_eq!(json(&failed.content)["kind"], "conflict");
    assert_eq!(json(&failed.content)["detail"], 7);
    let babble = engine.call(ToolCall::new("3", "babbles", json!({})), &caller).await;
    assert_eq!(json(&babble.content)["error_type"], "tool_result_contract");
}

#[tokio::test]
async fn a_tool_that_takes_too_long_is_answered_for() {
    let quick =
        |probe: ProbeTool| probe.with_spec(|s| s.timeout(Duration::from_millis(30))).into_tool();
    let (engine, caller, _dir) =
        engine(vec![quick(probe::hangs()), quick(probe::ignores_cancellation())]);
    for name in ["hangs", "deaf"] {
        let result = engine.call(ToolCall::new("1", name, json!({})), &caller).await;
        assert_eq!(result.status, CallStatus::Error(ErrorKind::Timeout), "{name}");
        assert_eq!(json(&result.content)["effect_disposition"], "unknown");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_that_blocks_its_thread_is_answered_for_too() {
    const LONG: Duration = Duration::from_secs(60);
    let (release, held) = std::sync::mpsc::channel::<()>();
    let held = Arc::new(parking_lot::Mutex::new(held));
    let blocks = ProbeTool::new("blocks")
        .with_spec(|s| s.timeout(Duration::from_millis(20)))
        .on_run(move |_, _| {
            let held = held.clone();
            async move {
                let _ = held.lock().recv_timeout(LONG);
                ToolOutput::json(&json!({}))
            }
        });
    let (engine, caller, _dir) = engine(vec![blocks.into_tool()]);
    let started = Instant::now();
    let result = engine.call(ToolCall::new("1", "blocks", json!({})), &caller).await;
    assert_eq!(result.status, CallStatus::Error(ErrorKind::Timeout));
    assert!(started.elapsed() < LONG, "the answer does not wait for the tool");
    drop(release);
}

#[tokio::test]
async fn cancelling_stops_what_runs_and_what_waits() {
    let (engine, caller, _dir) =
        engine(vec![probe::hangs().into_tool(), probe::echo().into_tool()]);
    let hangs = ToolCall::new("1", "hangs", json!({}));
    let (canceller, cancel) = (caller.clone(), caller.cancel.clone());
    let running = tokio::spawn(async move { engine.dispatch(vec![hangs], &canceller).await });
    tokio::time::sleep(Duration::from_millis(20)).await;
    cancel.cancel();
    let results = running.await.unwrap();
    assert_eq!(results[0].status, CallStatus::Error(ErrorKind::Cancelled));
}

#[tokio::test]
async fn a_call_that_was_stopped_is_cancelled_and_shows_what_it_had() {
    let begun = Arc::new(tokio::sync::Notify::new());
    let begins = Arc::clone(&begun);
    let stops = ProbeTool::new("stops").on_run(move |args, cx| {
        let begins = Arc::clone(&begins);
        async move {
            begins.notify_one();
            cx.cancel.cancelled().await;
            // Sooner or later than it is noticed that it was stopped.
            for _ in 0..args["pauses"].as_u64().unwrap() {
                tokio::task::yield_now().await;
            }
            let output = ToolOutput::json(&json!({ "output": "so far" }))?;
            Ok(output.with_stopped(args["stops"] == true))
        }
    });
    let keeper = Arc::new(Keeper::default());
    let diary = keeper.0.clone();
    let (engine, caller, _dir) =
        built(Engine::builder().tools(vec![stops.into_tool()]).observer(keeper));
    for (pauses, stops) in [(0, true), (1, true), (10, true), (0, false), (10, false)] {
        let call = ToolCall::new("1", "stops", json!({ "pauses": pauses, "stops": stops }));
        let mut caller = caller.clone();
        caller.cancel = caller.cancel.child_token();
        let stop = async {
            begun.notified().await;
            caller.cancel.cancel();
        };
        let (result, ()) = tokio::join!(engine.call(call, &caller), stop);
        // One that came to its end all the same is what it is.
        let how = match stops {
            true => (CallStatus::Error(ErrorKind::Cancelled), EffectDisposition::Unknown),
            false => (CallStatus::Success, EffectDisposition::Complete),
        };
        assert_eq!((result.status, result.disposition), how);
        assert_eq!(json(&result.content), json!({ "output": "so far" }));
    }
    let (stopped, ended) = ("1 stops cancelled", "1 stops success");
    assert_eq!(diary.lines(), [stopped, stopped, stopped, ended, ended]);
}

struct Rule(fn(&CallProposal<'_>) -> Verdict);
impl Policy for Rule {
    fn judge(&self, proposal: &CallProposal<'_>) -> Ruling {
        Ruling::for_effects((self.0)(proposal), proposal.effects)
    }
}

fn ask(_: &CallProposal<'_>) -> Verdict {
    Verdict::Ask { reason: "it writes".into(), rule: "file:write".into() }
}

struct Answers(ApprovalDecision);
impl Approver for Answers {
    fn ask(&self, _: ApprovalRequest) -> BoxFuture<'_, ApprovalDecision> {
        Box::pin(async { self.0.clone() })
    }
}

#[tokio::test]
async fn the_policy_sees_effects_and_its_word_is_kept() {
    fn no_writes(proposal: &CallProposal<'_>) -> Verdict {
        if proposal.effects.iter().any(|e| e.scope == Scope::FILE_WRITE) {
            return Verdict::Deny { reason: "no writing here".into(), rule: "r1".into() };
        }
        Verdict::Allow
    }
    let diary = CallDiary::default();
    let tools = probe::read_and_write_probes(&diary).map(ProbeTool::into_tool).to_vec();
    let (engine, caller, _dir) =
        built(Engine::builder().tools(tools).policy(Arc::new(Rule(no_writes))));
    let denied = engine.call(ToolCall::new("1", "change", json!({ "path": "a" })), &caller).await;
    assert_eq!(denied.status, CallStatus::Error(ErrorKind::Denied));
    assert_eq!(json(&denied.content)["rule"], "r1");
    let allowed = engine.call(ToolCall::new("2", "look", json!({ "path": "a" })), &caller).await;
    assert!(allowed.is_success());
    assert_eq!(diary.lines(), ["+look a", "-look a"]);
}

#[tokio::test]
async fn what_must_be_asked_is_asked_or_not_done() {
    let diary = CallDiary::default();
    let tools = probe::read_and_write_probes(&diary).map(ProbeTool::into_tool).to_vec();
    let (engine, mut caller, _dir) =
        built(Engine::builder().tools(tools).policy(Arc::new(Rule(ask))));
    let call = || ToolCall::new("1", "change", json!({ "path": "a" }));
    let nobody = engine.call(call(), &caller).await;
    assert_eq!(nobody.status, CallStatus::Error(ErrorKind::ApprovalRequired));
    caller.approver = Some(Arc::new(Answers(ApprovalDecision::Refused(Some("not today".into())))));
    let refused = engine.call(call(), &caller).await;
    assert_eq!(json(&refused.content)["error"], "not today");
    assert!(diary.lines().is_empty());
    caller.approver = Some(Arc::new(Answers(ApprovalDecision::Approved(ApprovalScope::Once))));
    assert!(engine.call(call(), &caller).await.is_success());
    assert_eq!(diary.lines().len(), 2);
}

struct Meddler {
    diary: CallDiary,
    pre: fn(CallView<'_>) -> HookDecision,
}
impl Hook for Meddler {
    fn name(&self) -> &str {
        "meddler"
    }
    fn pre_tool_call<'a>(&'a self, call: CallView<'a>) -> BoxFuture<'a, HookDecision> {
        Box::pin(async move { (self.pre)(call) })
    }
    fn post_tool_call<'a>(&'a self, result: ResultView<'a>) -> BoxFuture<'a, ()> {
        Box::pin(
            async move { self.diary.write(format!("{} {:?}", result.call.tool, result.status)) },
        )
    }
    fn transform_tool_result<'a>(
        &'a self,
        result: ResultView<'a>,
    ) -> BoxFuture<'a, Option<String>> {
        let text = result.content.contains("swap").then(|| r#"{"swapped":true}"#.to_owned());
        let text =
            if result.content.contains("spoil") { Some("not json".to_owned()) } else { text };
        Box::pin(async move { text })
    }
}

#[tokio::test]
async fn hooks_block_rewrite_watch_and_replace() {
    fn pre(call: CallView<'_>) -> HookDecision {
        match call.arguments.get("path").and_then(Value::as_str) {
            Some("blocked") => HookDecision::Block("the hook says no".into()),
            Some("rewritten") => HookDecision::Rewrite(json!({ "path": "new", "limit": "3" })),
            Some("bad") => HookDecision::Rewrite(json!({ "limit": 3 })),
            Some("asked") => HookDecision::Ask("the hook wants to know".into()),
            _ => HookDecision::Continue,
        }
    }
    let diary = CallDiary::default();
    let hook = Arc::new(Meddler { diary: diary.clone(), pre });
    let (engine, caller, _dir) =
        built(Engine::builder().tools(vec![typed().into_tool()]).hook(hook));
    let call = |path: &str| ToolCall::new("1", "typed", json!({ "path": path }));
    let blocked = engine.call(call("blocked"), &caller).await;
    assert_eq!(blocked.status, CallStatus::Error(ErrorKind::Denied));
    let rewritten = engine.call(call("rewritten"), &caller).await;
    assert_eq!(
        json(&rewritten.content),
        json!({ "path": "new", "limit": 3 }),
        "rewritten is coerced again"
    );
    let bad = engine.call(call("bad"), &caller).await;
    assert_eq!(
        bad.status,
        CallStatus::Error(ErrorKind::InvalidArguments),
        "rewritten is validated again"
    );
    let asked = engine.call(call("asked"), &caller).await;
    assert_eq!(asked.status, CallStatus::Error(ErrorKind::ApprovalRequired));
    let swapped = engine.call(call("swap"), &caller).await;
    assert_eq!(json(&swapped.content), json!({ "swapped": true }));
    let spoiled = engine.call(call("spoil"), &caller).await;
    assert_eq!(json(&spoiled.content)["path"], "spoil", "a result stays JSON");
    assert_eq!(diary.lines().len(), 6, "every call is shown: {:?}", diary.lines());
}

#[tokio::test]
async fn large_results_go_to_a_file_and_their_ends_stay() {
    let (engine, caller, _dir) = built(
        Engine::builder()
            .tools(vec![probe::returns_text().into_tool()])
            .limits(ResultSizeLimits { per_result: 8_000, per_batch: 16_000 }),
    );
    let result =
        engine.call(ToolCall::new("../../x", "talks", json!({ "chars": 50_000 })), &caller).await;
    let path = result.spill_path.clone().expect("spilled");
    assert!(path.starts_with(caller.cwd.join("spill")), "{}", path.display());
    assert_eq!(
        std::fs::read_to_string(&path).unwrap().len(),
        50_000,
        "the text itself, line by line"
    );
    let content = json(&result.content);
    assert_eq!(content["kept"], true, "small fields stay");
    assert_eq!(content["spilled"]["field"], "text");
    assert!(result.content.len() < 4_000);
    let small = engine.call(ToolCall::new("2", "talks", json!({ "chars": 5_000 })), &caller).await;
    assert!(small.spill_path.is_none());
}

#[tokio::test]
async fn a_result_that_cannot_be_saved_is_still_answered() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("file"), "in the way").unwrap();
    let engine = Engine::builder()
        .tools(vec![probe::returns_text().into_tool()])
        .spill_to(dir.path().join("file/below"))
        .limits(ResultSizeLimits { per_result: 8_000, per_batch: 16_000 })
        .build()
        .unwrap();
    let caller = hermes_engine::Caller::new(dir.path());
    let result =
        engine.call(ToolCall::new("1", "talks", json!({ "chars": 50_000 })), &caller).await;
    assert!(result.is_success() && result.spill_path.is_none());
    assert!(
        json(&result.content)["spilled"]["hint"].as_str().unwrap().contains("could not be saved")
    );
}

#[tokio::test]
async fn a_tool_that_bounds_itself_is_not_spilled() {
    let pinned = probe::returns_text().with_spec(|s| s.result_limit(ResultLimit::Unbounded));
    let (engine, caller, _dir) = built(
        Engine::builder()
            .tools(vec![pinned.into_tool()])
            .limits(ResultSizeLimits { per_result: 8_000, per_batch: 100_000 }),
    );
    let result =
        engine.call(ToolCall::new("1", "talks", json!({ "chars": 50_000 })), &caller).await;
    assert!(result.spill_path.is_none());
}

#[tokio::test]
async fn going_in_circles_is_noticed() {
    let (engine, caller, _dir) =
        engine(vec![probe::fails().into_tool(), probe::echo().into_tool()]);
    let mut warned = Vec::new();
    for _ in 0..3 {
        let result = engine.call(ToolCall::new("1", "fails", json!({ "x": 1 })), &caller).await;
        warned.push(json(&result.content).get("_warning").is_some());
    }
    assert_eq!(warned, [false, true, true]);
    for (query, warns) in [("a b", false), ("A  B", false), ("a b", true)] {
        let result = engine.call(ToolCall::new("1", "echo", json!({ "q": query })), &caller).await;
        assert_eq!(json(&result.content).get("_warning").is_some(), warns, "{query}");
    }
    engine.new_turn(&caller);
    let fresh = engine.call(ToolCall::new("1", "echo", json!({ "q": "a b" })), &caller).await;
    assert!(json(&fresh.content).get("_warning").is_none());
}

#[tokio::test]
async fn a_loop_can_be_stopped() {
    let guard = hermes_engine::LoopGuardSettings {
        warn: None,
        stop: Some(hermes_engine::LoopGuardSettings::STOP_THRESHOLDS),
    };
    let (engine, caller, _dir) =
        built(Engine::builder().tools(vec![probe::fails().into_tool()]).guard(guard));
    let mut kinds = Vec::new();
    for _ in 0..6 {
        let result = engine.call(ToolCall::new("1", "fails", json!({})), &caller).await;
        kinds.push(json(&result.content)["kind"].as_str().unwrap().to_owned());
    }
    assert_eq!(kinds.iter().filter(|k| *k == "conflict").count(), 5);
    assert_eq!(kinds[5], "denied");
}

#[derive(Default)]
struct Keeper(CallDiary);
impl CallObserver for Keeper {
    fn on_event(&self, event: &CallEvent<'_>) {
        let CallEvent::Recorded(record) = event else { return };
        self.0.write(format!("{} {} {}", record.call, record.tool, record.status));
    }
}

#[tokio::test]
async fn every_call_is_recorded_once() {
    let keeper = Arc::new(Keeper::default());
    let diary = keeper.0.clone();
    let (engine, caller, _dir) = built(
        Engine::builder()
            .tools(vec![probe::echo().into_tool(), probe::panics().into_tool()])
            .observer(keeper)
            .guard(NO_GUARD),
    );
    let calls = ["echo", "panics", "nothing_like_it", ""].iter().enumerate();
    let calls = calls.map(|(i, name)| ToolCall::new(i.to_string(), *name, json!({}))).collect();
    engine.dispatch(calls, &caller).await;
    let mut lines = diary.lines();
    lines.sort();
    assert_eq!(
        lines,
        ["0 echo success", "1 panics internal", "2 nothing_like_it not_found", "3  not_found"]
    );
}

#[tokio::test]
async fn a_tool_is_set_up_once_and_taken_down_once() {
    let tool = Arc::new(ProbeTool::new("once"));
    let (engine, caller, _dir) = engine(vec![tool.clone()]);
    assert_eq!(tool.setups.load(Ordering::SeqCst), 0, "not before it is needed");
    let calls = (0..20).map(|i| ToolCall::new(i.to_string(), "once", json!({}))).collect();
    engine.dispatch(calls, &caller).await;
    assert_eq!(tool.setups.load(Ordering::SeqCst), 1);
    engine.remove("once", &hermes_engine::ToolOwner::builtin()).await.unwrap();
    assert_eq!(tool.teardowns.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn tools_call_tools_through_the_same_stages_but_not_for_ever() {
    let again = ProbeTool::new("again").on_run(|args, cx| async move {
        let host = cx.engine.clone().unwrap();
        let inner = host.call(ToolCall::new("inner", "again", args)).await;
        Ok(ToolOutput::unchecked(inner.content))
    });
    let (engine, caller, _dir) = engine(vec![again.into_tool()]);
    let result = engine.call(ToolCall::new("1", "again", json!({})), &caller).await;
    assert_eq!(json(&result.content)["kind"], "limit");
}

#[tokio::test]
async fn a_running_call_does_not_see_a_change_of_the_registry() {
    let slow = ProbeTool::new("slow").on_run(|_, _| async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        ToolOutput::json(&json!({ "version": 1 }))
    });
    let (engine, caller, _dir) = engine(vec![slow.into_tool()]);
    let running = {
        let (engine, caller) = (engine.clone(), caller.clone());
        tokio::spawn(
            async move { engine.call(ToolCall::new("1", "slow", json!({})), &caller).await },
        )
    };
    tokio::time::sleep(Duration::from_millis(10)).await;
    let removed = engine.remove("slow", &hermes_engine::ToolOwner::builtin()).await.unwrap();
    assert!(removed);
    assert_eq!(json(&running.await.unwrap().content)["version"], 1);
    let gone = engine.call(ToolCall::new("2", "slow", json!({})), &caller).await;
    assert_eq!(gone.status, CallStatus::Error(ErrorKind::NotFound));
}

#[tokio::test]
async fn effects_that_panic_are_answered_for() {
    let bad = ProbeTool::new("bad").declare_effects(|_, _| panic!("in effects"));
    let fine = ProbeTool::new("fine")
        .declare_effects(|_, _| vec![Effect::any(Scope::FILE_READ)])
        .with_spec(ToolSpec::read_only);
    let (engine, caller, _dir) = engine(vec![bad.into_tool(), fine.into_tool()]);
    let result = engine.call(ToolCall::new("1", "bad", json!({})), &caller).await;
    assert_eq!(result.status, CallStatus::Error(ErrorKind::Internal));
    assert!(engine.call(ToolCall::new("2", "fine", json!({})), &caller).await.is_success());
}

struct Panicky(bool);
impl Hook for Panicky {
    fn name(&self) -> &str {
        "panicky"
    }
    fn pre_tool_call<'a>(&'a self, _: CallView<'a>) -> BoxFuture<'a, HookDecision> {
        assert!(!self.0, "before");
        Box::pin(async { HookDecision::Continue })
    }
    fn post_tool_call<'a>(&'a self, _: ResultView<'a>) -> BoxFuture<'a, ()> {
        panic!("after")
    }
}

#[tokio::test]
async fn outsiders_who_panic_do_not_take_the_batch_with_them() {
    for before in [true, false] {
        let tools = vec![probe::echo().into_tool()];
        let hook = Arc::new(Panicky(before));
        let (engine, caller, _dir) = built(Engine::builder().tools(tools).hook(hook));
        let calls = (0..3).map(|i| ToolCall::new(i.to_string(), "echo", json!({}))).collect();
        let results = engine.dispatch(calls, &caller).await;
        assert_eq!(results.len(), 3);
        assert!(results.iter().all(|r| r.status == CallStatus::Error(ErrorKind::Internal)));
    }
}

#[tokio::test]
async fn nothing_begins_after_the_batchs_time() {
    let diary = CallDiary::default();
    let (engine, mut caller, _dir) =
        engine(probe::read_and_write_probes(&diary).map(ProbeTool::into_tool).to_vec());
    caller.deadline = Some(Instant::now());
    let calls = ["a", "a"].map(|path| ToolCall::new("1", "change", json!({ "path": path })));
    let results = engine.dispatch(calls.to_vec(), &caller).await;
    assert!(results.iter().all(|r| r.status == CallStatus::Error(ErrorKind::Timeout)));
    assert!(results.iter().all(|r| r.disposition == EffectDisposition::NotRun));
    assert!(diary.lines().is_empty());
}

#[tokio::test]
async fn a_large_error_is_bounded_like_anything_else() {
    let shouts = ProbeTool::new("shouts").on_run(|_, _| async {
        Err(hermes_core::ToolError::conflict("no").with("list", vec!["x".repeat(1_000); 500]))
    });
    let (engine, caller, _dir) = built(
        Engine::builder()
            .tools(vec![shouts.into_tool()])
            .limits(ResultSizeLimits { per_result: 8_000, per_batch: 16_000 }),
    );
    let result = engine.call(ToolCall::new("1", "shouts", json!({})), &caller).await;
    assert!(!result.is_success());
    assert!(
        result.content.len() < 8_000 && result.spill_path.is_some(),
        "{}",
        result.content.len()
    );
}

#[tokio::test]
async fn what_follows_a_change_of_folder_happens_there() {
    let moves = ProbeTool::new("moves")
        .declare_effects(|_, _| vec![Effect::any(Scope::TERMINAL_EXECUTE)])
        .on_run(|args, cx| async move {
            let to = cx.working_dir.resolve(args["to"].as_str().unwrap());
            cx.session.update("cwd", |cwd: &mut Option<std::path::PathBuf>| *cwd = Some(to))?;
            ToolOutput::json(&json!({}))
        });
    let tells = ProbeTool::new("tells")
        .declare_effects(|_, at| vec![Effect::path(Scope::FILE_READ, at.resolve("x"))])
        .on_run(|_, cx| async move { ToolOutput::json(&json!({ "at": cx.working_dir.cwd() })) });
    let (engine, caller, dir) = engine(vec![moves.into_tool(), tells.into_tool()]);
    std::fs::create_dir(dir.path().join("sub")).unwrap();
    let calls = vec![
        ToolCall::new("1", "moves", json!({ "to": "sub" })),
        ToolCall::new("2", "tells", json!({})),
    ];
    let results = engine.dispatch(calls, &caller).await;
    assert_eq!(json(&results[1].content)["at"], json!(dir.path().join("sub")));
}

#[tokio::test]
async fn calls_that_a_tool_makes_end_with_it() {
    let outer = ProbeTool::new("outer").with_spec(|s| s.timeout(Duration::from_millis(30))).on_run(
        |_, cx| async move {
            let host = cx.engine.clone().unwrap();
            let inner = host.call_all(vec![ToolCall::new("inner", "hangs", json!({}))]).await;
            Ok(ToolOutput::unchecked(inner[0].content.clone()))
        },
    );
    let (engine, caller, _dir) = engine(vec![outer.into_tool(), probe::hangs().into_tool()]);
    let result = engine.call(ToolCall::new("1", "outer", json!({})), &caller).await;
    let kind = json(&result.content)["kind"].as_str().unwrap().to_owned();
    assert!(["timeout", "cancelled"].contains(&kind.as_str()), "{}", result.content);
}
