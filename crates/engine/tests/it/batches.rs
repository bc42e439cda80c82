//! Batches: one answer each, in order, whatever happens; side by side where
//! calls cannot meet.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use hermes_core::{
    ApprovalDecision, ApprovalRequest, ApprovalScope, Approver, BoxFuture, CallArguments,
    CallProposal, CallStatus, ErrorKind, Policy, Ruling, ToolCall, ToolSpec, Verdict,
};
use hermes_engine::{Engine, ResultSizeLimits};
use hermes_testkit::probe::{self, CallDiary, ProbeTool};
use proptest::prelude::*;
use serde_json::json;

use crate::{NO_GUARD, built, engine};

/// Tools of every kind, good and bad.
fn zoo() -> Vec<std::sync::Arc<dyn hermes_core::DynTool>> {
    let [look, change] = probe::read_and_write_probes(&CallDiary::default());
    let quick = |p: ProbeTool| p.with_spec(|s| s.timeout(Duration::from_millis(5)));
    [
        probe::echo(),
        probe::panics(),
        probe::fails(),
        probe::returns_invalid_json(),
        quick(probe::hangs()),
        look,
        change,
    ]
    .map(ProbeTool::into_tool)
    .to_vec()
}

fn any_call() -> impl Strategy<Value = ToolCall> {
    let name = prop::sample::select(vec![
        "echo",
        "panics",
        "fails",
        "babbles",
        "hangs",
        "look",
        "change",
        "",
        "Echo",
        "nope",
        "tool_call",
        "tool_search",
    ]);
    let arguments = prop::sample::select(vec![
        CallArguments::Json(json!({})),
        CallArguments::Json(json!({ "path": "a", "query": "x", "name": "echo" })),
        CallArguments::Json(json!({ "path": "b" })),
        CallArguments::Json(json!([1, 2])),
        CallArguments::Json(json!(null)),
        CallArguments::Json(json!("text")),
        CallArguments::Text(r#"{"path": "a"}"#.into()),
        CallArguments::Text("{\"cut".into()),
        CallArguments::Text("no json at all".into()),
    ]);
    let id = prop::sample::select(vec!["1", "2", "same", "", "ünï", "../../etc"]);
    (id, name, arguments).prop_map(|(id, name, arguments)| ToolCall {
        id: id.into(),
        name: name.into(),
        arguments,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]
    #[test]
    fn every_call_gets_one_answer_in_order(calls in prop::collection::vec(any_call(), 0..12), cancel in any::<bool>()) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(async {
            let (engine, caller, _dir) = built(Engine::builder().tools(zoo()).guard(NO_GUARD));
            if cancel {
                let token = caller.cancel.clone();
                tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_millis(2)).await;
                    token.cancel();
                });
            }
            let ids: Vec<String> = calls.iter().map(|c| c.id.clone()).collect();
            let results = engine.dispatch(calls, &caller).await;
            let answered: Vec<String> = results.iter().map(|r| r.tool_call_id.clone()).collect();
            assert_eq!(answered, ids);
            for result in &results {
                let value: serde_json::Value = serde_json::from_str(&result.content).expect("JSON");
                assert_eq!(result.is_success(), value.get("kind").is_none(), "{}", result.content);
            }
        });
    }
}

/// Asks until it is told that it need not.
#[derive(Default)]
struct AsksOnce(AtomicBool);

impl Policy for AsksOnce {
    fn judge(&self, proposal: &CallProposal<'_>) -> Ruling {
        let verdict = match self.0.load(Ordering::SeqCst) {
            true => Verdict::Allow,
            false => Verdict::Ask { reason: "it writes".into(), rule: "file:write".into() },
        };
        Ruling::for_effects(verdict, proposal.effects)
    }

    fn remember_approval(&self, _: &CallProposal<'_>, _: ApprovalScope) -> Result<(), String> {
        self.0.store(true, Ordering::SeqCst);
        Ok(())
    }
}

/// A person who takes a moment to agree, and counts the questions.
#[derive(Default)]
struct Agrees(AtomicUsize);

impl Approver for Agrees {
    fn ask(&self, _: ApprovalRequest) -> BoxFuture<'_, ApprovalDecision> {
        Box::pin(async {
            tokio::time::sleep(Duration::from_millis(5)).await;
            self.0.fetch_add(1, Ordering::SeqCst);
            ApprovalDecision::Approved(ApprovalScope::Session)
        })
    }
}

#[tokio::test]
async fn calls_that_run_side_by_side_ask_once_where_one_answer_is_for_all() {
    let [_, change] = probe::read_and_write_probes(&CallDiary::default());
    let tools = vec![change.with_spec(ToolSpec::unordered).into_tool()];
    let builder = Engine::builder().tools(tools).policy(Arc::new(AsksOnce::default()));
    let (engine, mut caller, _dir) = built(builder.guard(NO_GUARD));
    let person = Arc::new(Agrees::default());
    caller.approver = Some(Arc::clone(&person) as Arc<dyn Approver>);
    let calls = (0..8).map(|i: u32| ToolCall::new(i.to_string(), "change", json!({"path": "a"})));
    let results = engine.dispatch(calls.collect(), &caller).await;
    assert!(results.iter().all(|result| result.is_success()), "{results:?}");
    assert_eq!(person.0.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn calls_that_touch_the_same_thing_keep_their_order() {
    let diary = CallDiary::default();
    let (engine, caller, _dir) =
        engine(probe::read_and_write_probes(&diary).map(ProbeTool::into_tool).to_vec());
    let calls = [("change", "a"), ("look", "a"), ("change", "./x/../a"), ("look", "a")];
    let calls = calls
        .iter()
        .enumerate()
        .map(|(i, (tool, path))| ToolCall::new(i.to_string(), *tool, json!({ "path": path })));
    engine.dispatch(calls.collect(), &caller).await;
    assert_eq!(
        diary.lines(),
        [
            "+change a",
            "-change a",
            "+look a",
            "-look a",
            "+change ./x/../a",
            "-change ./x/../a",
            "+look a",
            "-look a"
        ]
    );
}

/// A result may refer to an earlier one, never to a later one.
#[tokio::test]
async fn reads_of_one_file_answer_in_call_order() {
    let diary = CallDiary::default();
    let [look, _] = probe::read_and_write_probes(&diary);
    let (engine, caller, dir) = engine(vec![look.with_spec(ToolSpec::in_call_order).into_tool()]);
    std::fs::write(dir.path().join("a"), "").unwrap();
    std::os::unix::fs::symlink("a", dir.path().join("link")).unwrap();
    let calls =
        ["a", "b", "./a", "link"].map(|path| ToolCall::new(path, "look", json!({ "path": path })));
    engine.dispatch(calls.to_vec(), &caller).await;
    let lines = diary.lines();
    let of_a: Vec<&str> =
        lines.iter().map(String::as_str).filter(|line| !line.ends_with(" b")).collect();
    assert_eq!(of_a, ["+look a", "-look a", "+look ./a", "-look ./a", "+look link", "-look link"]);
    let at = |line: &str| lines.iter().position(|own| own == line);
    assert!(at("+look b") < at("-look a"), "another file is read beside them: {lines:?}");
}

#[tokio::test]
async fn calls_that_cannot_meet_run_side_by_side() {
    let diary = CallDiary::default();
    let (engine, caller, _dir) =
        engine(probe::read_and_write_probes(&diary).map(ProbeTool::into_tool).to_vec());
    let calls = ["a", "b", "c"].map(|path| ToolCall::new(path, "change", json!({ "path": path })));
    engine.dispatch(calls.to_vec(), &caller).await;
    let lines = diary.lines();
    assert!(lines[..3].iter().all(|l| l.starts_with('+')), "all began before any ended: {lines:?}");
}

#[tokio::test]
async fn one_file_by_two_names_is_one_file() {
    let diary = CallDiary::default();
    let (engine, caller, dir) =
        engine(probe::read_and_write_probes(&diary).map(ProbeTool::into_tool).to_vec());
    std::fs::create_dir(dir.path().join("real")).unwrap();
    std::os::unix::fs::symlink(dir.path().join("real"), dir.path().join("link")).unwrap();
    let calls =
        ["real/new", "link/new"].map(|path| ToolCall::new(path, "change", json!({ "path": path })));
    engine.dispatch(calls.to_vec(), &caller).await;
    assert_eq!(
        diary.lines(),
        ["+change real/new", "-change real/new", "+change link/new", "-change link/new"]
    );
}

#[tokio::test]
async fn ten_thousand_calls_are_ten_thousand_answers() {
    let (engine, caller, _dir) = built(Engine::builder().tools(zoo()).guard(NO_GUARD));
    let calls =
        (0..10_000).map(|i| ToolCall::new(i.to_string(), "echo", json!({ "i": i }))).collect();
    let results = engine.dispatch(calls, &caller).await;
    assert_eq!(results.len(), 10_000);
    assert!(
        results
            .iter()
            .enumerate()
            .all(|(i, r)| r.tool_call_id == i.to_string() && r.content == format!("{{\"i\":{i}}}"))
    );
}

#[tokio::test]
async fn an_argument_of_megabytes_comes_through() {
    let (engine, caller, _dir) = engine(vec![
        probe::echo()
            .with_spec(|s| s.result_limit(hermes_core::ResultLimit::Unbounded))
            .into_tool(),
    ]);
    let text = "x".repeat(8 << 20);
    let arguments = format!("{{\"text\":\"{text}\"}}");
    let length = arguments.len();
    let results = engine.dispatch(vec![ToolCall::from_text("1", "echo", arguments)], &caller).await;
    assert!(results[0].is_success());
    assert!(results[0].spill_path.is_some() || results[0].content.len() == length);
}

#[tokio::test]
async fn a_batch_keeps_within_its_budget() {
    let (engine, caller, _dir) = built(
        Engine::builder()
            .tools(vec![probe::returns_text().into_tool()])
            .limits(ResultSizeLimits { per_result: 50_000, per_batch: 60_000 }),
    );
    let sizes = [30_000, 45_000, 20_000, 100];
    let calls = sizes
        .iter()
        .enumerate()
        .map(|(i, n)| ToolCall::new(i.to_string(), "talks", json!({ "chars": n })));
    let results = engine.dispatch(calls.collect(), &caller).await;
    let spilled: Vec<bool> = results.iter().map(|r| r.spill_path.is_some()).collect();
    assert_eq!(
        spilled,
        [false, true, false, false],
        "the largest goes first, and no more than needed"
    );
}

#[tokio::test]
async fn equal_ids_are_answered_each() {
    let (engine, caller, _dir) = engine(vec![probe::echo().into_tool()]);
    let calls = (0..3).map(|i| ToolCall::new("same", "echo", json!({ "i": i }))).collect();
    let results = engine.dispatch(calls, &caller).await;
    let contents: Vec<&str> = results.iter().map(|r| r.content.as_str()).collect();
    assert_eq!(contents, [r#"{"i":0}"#, r#"{"i":1}"#, r#"{"i":2}"#]);
}

#[tokio::test]
async fn what_has_not_begun_when_the_batch_is_cancelled_never_begins() {
    let diary = CallDiary::default();
    let [_, change] = probe::read_and_write_probes(&diary);
    let hangs = probe::hangs().declare_effects(|_, at| {
        vec![probe::path_effect(hermes_core::Scope::FILE_WRITE, at.resolve("a").to_str().unwrap())]
    });
    let (engine, caller, _dir) = engine(vec![change.into_tool(), hangs.into_tool()]);
    let token = caller.cancel.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(20)).await;
        token.cancel();
    });
    let calls = vec![
        ToolCall::new("1", "hangs", json!({ "path": "a" })),
        ToolCall::new("2", "change", json!({ "path": "a" })),
    ];
    let results = engine.dispatch(calls, &caller).await;
    let mut dispositions = HashMap::new();
    for result in &results {
        assert_eq!(result.status, CallStatus::Error(ErrorKind::Cancelled));
        dispositions.insert(result.tool_call_id.as_str(), result.disposition.name());
    }
    assert_eq!(dispositions["1"], "unknown");
    assert_eq!(dispositions["2"], "none");
    assert!(diary.lines().is_empty());
}
