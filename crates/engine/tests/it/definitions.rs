//! What a model is told of the tools.

use std::sync::Arc;

use hermes_core::{Availability, ToolCall, ToolSpec};
use hermes_engine::toolsets::ToolSelection;
use hermes_engine::{DeferMode, DeferralSettings, Engine, ToolOwner};
use hermes_testkit::probe::{self, ProbeTool};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{built, engine};

const SHOWN: DeferralSettings =
    DeferralSettings { mode: DeferMode::Off, threshold_pct: 10, window: None };
const DEFERRED: DeferralSettings =
    DeferralSettings { mode: DeferMode::On, threshold_pct: 10, window: None };

fn named(
    name: &str,
    toolset: &'static str,
    description: &'static str,
) -> Arc<dyn hermes_core::DynTool> {
    ProbeTool::new(name)
        .with_spec(|s| ToolSpec { toolset: toolset.into(), description: description.into(), ..s })
        .into_tool()
}

fn only(toolsets: &[&str]) -> ToolSelection {
    ToolSelection {
        enabled: Some(toolsets.iter().map(|t| (*t).to_owned()).collect()),
        disabled: Vec::new(),
    }
}

fn names(json: &str) -> Vec<String> {
    let tools: Vec<Value> = serde_json::from_str(json).unwrap();
    tools.iter().map(|t| t["function"]["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn definitions_are_sorted_and_shared() {
    let (engine, _caller, _dir) =
        engine(vec![named("b", "set", "B"), named("a", "set", "A"), named("c", "other", "C")]);
    let first = engine.definitions(&only(&["set"]), SHOWN).await.unwrap();
    assert_eq!(names(&first.json), ["a", "b"]);
    let second = engine.definitions(&only(&["set"]), SHOWN).await.unwrap();
    assert!(Arc::ptr_eq(&first, &second), "asking again gives the same object");
    engine.registry().register(named("aa", "set", "AA"), &ToolOwner::builtin()).unwrap();
    let third = engine.definitions(&only(&["set"]), SHOWN).await.unwrap();
    assert_eq!(names(&third.json), ["a", "aa", "b"], "a change of the registry is seen");
}

#[tokio::test]
async fn a_tool_that_cannot_work_is_left_out_with_its_reason() {
    let broken = Arc::new(ProbeTool::new("broken"));
    broken.set_availability(Availability::missing("no engine", "install one"));
    let keyed =
        ProbeTool::new("keyed").with_spec(|s| s.requires_env("HERMES_TEST_KEY_THAT_NOBODY_SETS"));
    let (engine, mut caller, _dir) =
        engine(vec![broken, keyed.into_tool(), probe::echo().into_tool()]);
    let found = engine.definitions(&only(&["probe"]), SHOWN).await.unwrap();
    assert_eq!(names(&found.json), ["echo"]);
    let reasons: Vec<&str> =
        found.unavailable.iter().filter_map(|(_, state)| state.reason()).collect();
    assert!(reasons[0].contains("no engine"), "{reasons:?}");
    assert!(reasons[1].contains("HERMES_TEST_KEY_THAT_NOBODY_SETS"), "{reasons:?}");
    for scope in [None, Some(Arc::clone(&found.scope))] {
        caller.scope = scope;
        let called = engine.call(ToolCall::new("1", "broken", json!({})), &caller).await;
        let error: Value = serde_json::from_str(&called.content).unwrap();
        assert_eq!(
            (error["kind"].as_str(), error["hint"].as_str()),
            (Some("unavailable"), Some("install one"))
        );
    }
}

#[tokio::test]
async fn deferred_tools_are_found_described_and_called() {
    let tools = vec![
        named("read_file", "file", "Read a file."),
        named("weather_report", "outside", "Tell the weather of a city."),
        named("übersetzen", "outside", "x"),
    ];
    let tools: Vec<_> = tools.into_iter().filter(|t| t.spec().name.is_ascii()).collect();
    let (engine, mut caller, _dir) = engine(tools);
    let definitions = engine.definitions(&only(&["file", "outside"]), DEFERRED).await.unwrap();
    assert_eq!(
        names(&definitions.json),
        ["read_file", "tool_call", "tool_describe", "tool_search"]
    );
    assert_eq!(definitions.deferred.len(), 1);
    caller.scope = Some(Arc::clone(&definitions.scope));
    let found = engine
        .call(ToolCall::new("1", "tool_search", json!({ "query": "weather" })), &caller)
        .await;
    let found: Value = serde_json::from_str(&found.content).unwrap();
    assert_eq!(found["matches"][0]["name"], "weather_report");
    let described = engine
        .call(ToolCall::new("2", "tool_describe", json!({ "name": "weather_report" })), &caller)
        .await;
    assert!(described.content.contains("parameters"));
    let call = json!({ "name": "weather_report", "arguments": "{\"city\": \"Oslo\"}" });
    let called = engine.call(ToolCall::new("3", "tool_call", call), &caller).await;
    assert_eq!(called.name, "weather_report", "the result is the tool's own");
    assert_eq!(called.content, r#"{"city":"Oslo"}"#);
    let nested = json!({ "name": "tool_call", "arguments": { "name": "weather_report" } });
    assert!(!engine.call(ToolCall::new("4", "tool_call", nested), &caller).await.is_success());
}

#[tokio::test]
async fn a_session_calls_its_own_tools_only() {
    let (engine, mut caller, _dir) =
        engine(vec![named("mine", "set", "A"), named("other", "far", "B")]);
    let definitions = engine.definitions(&only(&["set"]), DEFERRED).await.unwrap();
    caller.scope = Some(Arc::clone(&definitions.scope));
    assert!(engine.call(ToolCall::new("1", "mine", json!({})), &caller).await.is_success());
    for call in [
        ToolCall::new("2", "other", json!({})),
        ToolCall::new("3", "tool_call", json!({ "name": "other", "arguments": {} })),
    ] {
        let result = engine.call(call, &caller).await;
        assert!(
            result.content.contains("not among the tools of this session"),
            "{}",
            result.content
        );
    }
    let described =
        engine.call(ToolCall::new("4", "tool_describe", json!({ "name": "other" })), &caller).await;
    assert!(!described.is_success());
}

#[tokio::test]
async fn deferring_is_decided_by_size() {
    let small = vec![named("read_file", "file", "Read."), named("extra", "outside", "E")];
    let (engine, _caller, _dir) = engine(small);
    let auto = |window| DeferralSettings { mode: DeferMode::Auto, threshold_pct: 10, window };
    let selection = only(&["file", "outside"]);
    assert!(engine.definitions(&selection, auto(None)).await.unwrap().deferred.is_empty());
    assert!(engine.definitions(&selection, auto(Some(200_000))).await.unwrap().deferred.is_empty());
    assert_eq!(engine.definitions(&selection, auto(Some(100))).await.unwrap().deferred.len(), 1);
}

#[tokio::test]
async fn built_in_definitions_stay_within_their_budget_and_the_rest_is_found() {
    let long: &'static str = Box::leak("Words that take room. ".repeat(100).into_boxed_str());
    let names: Vec<String> = (0..12).map(|at| format!("extra_{at}")).collect();
    let mut tools: Vec<_> = names.iter().map(|name| named(name, "file", long)).collect();
    tools.extend(["terminal", "read_file"].map(|name| named(name, "file", long)));
    let (engine, _caller, _dir) = engine(tools);
    for (mode, window) in [(DeferMode::Auto, None), (DeferMode::Auto, Some(200_000))] {
        let deferral = DeferralSettings { mode, threshold_pct: 10, window };
        let definitions = engine.definitions(&only(&["file"]), deferral).await.unwrap();
        assert!(definitions.json.len() / 4 <= 6_000, "{window:?}");
        let shown = self::names(&definitions.json);
        for everyday in ["terminal", "read_file", "tool_search"] {
            assert!(shown.iter().any(|name| name == everyday), "{shown:?}");
        }
        assert_eq!(definitions.scope.entries().len(), 14, "all can be called");
        assert_eq!(definitions.visible.len() - 3 + definitions.deferred.len(), 14);
        let other = named("mcp_tool", "mcp-x", long);
        engine.registry().register(other, &ToolOwner::named("x")).unwrap();
        let more = engine.definitions(&only(&["file", "mcp-x"]), deferral).await.unwrap();
        let shown = self::names(&more.json);
        assert!(shown.iter().any(|name| name == "mcp_tool"), "{shown:?}");
    }
    let all = engine.definitions(&only(&["file"]), SHOWN).await.unwrap();
    assert!(all.deferred.is_empty());
}

#[tokio::test]
async fn the_search_reads_any_script() {
    let tools = vec![
        named("t1", "s", "查询天气预报"),
        named("t2", "s", "Показать погоду в городе"),
        named("t3", "s", "Send electronic letters"),
        named("gitHubIssues", "s", "Nothing else"),
    ];
    let (engine, _caller, _dir) = engine(tools);
    let scope = engine.full_scope();
    let best = |query: &str| scope.index().search(query, 3).first().map(|e| e.name().to_owned());
    assert_eq!(best("天气").as_deref(), Some("t1"));
    assert_eq!(best("погоду").as_deref(), Some("t2"));
    assert_eq!(best("letter").as_deref(), Some("t3"));
    assert_eq!(best("github issue").as_deref(), Some("gitHubIssues"));
    assert_eq!(
        best("ectron").as_deref(),
        Some("t3"),
        "a part of a word, when nothing else matches"
    );
    assert_eq!(best("zzz"), None);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]
    #[test]
    fn equal_input_gives_equal_bytes(mut order in Just((0..20usize).collect::<Vec<_>>()).prop_shuffle(), cut in 1..20usize) {
        order.truncate(cut);
        let make = |order: &[usize]| {
            let tools = order.iter().map(|i| named(&format!("tool_{i}"), "set", "Same words.")).collect();
            built(Engine::builder().tools(tools))
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (one, two) = runtime.block_on(async {
            let (first, _, _a) = make(&order);
            let one = first.definitions(&only(&["set"]), SHOWN).await.unwrap().json.clone();
            order.reverse();
            let (second, _, _b) = make(&order);
            (one, second.definitions(&only(&["set"]), SHOWN).await.unwrap().json.clone())
        });
        prop_assert_eq!(&*one, &*two);
    }
}

#[tokio::test]
async fn a_small_window_is_not_filled_with_definitions() {
    let core = ["terminal", "read_file", "write_file", "patch", "search_files", "memory", "todo"];
    let words = "Words that take their room in the window of a model. ";
    let long: &'static str = Box::leak(words.repeat(16).into_boxed_str());
    let tools = core.iter().map(|name| named(name, "file", long)).collect();
    let (engine, _caller, _dir) = engine(tools);
    let of = async |mode, window| {
        let deferral = DeferralSettings { mode, threshold_pct: 10, window };
        engine.definitions(&only(&["file"]), deferral).await.unwrap()
    };
    for (window, all) in [(None, true), (Some(200_000), true), (Some(2_500), false)] {
        let definitions = of(DeferMode::Auto, window).await;
        assert_eq!(definitions.deferred.is_empty(), all, "{window:?}");
        if let Some(window) = window {
            assert!(definitions.json.len() as u64 / 4 <= window / 3, "{window}");
        }
        let names = names(&definitions.json);
        assert!(names.contains(&"terminal".to_owned()), "{names:?}");
        assert_eq!(names.contains(&"tool_search".to_owned()), !all, "{names:?}");
        assert_eq!(definitions.scope.entries().len(), core.len());
    }
    // Who says that nothing is deferred gets all of them.
    assert!(of(DeferMode::Off, Some(2_500)).await.deferred.is_empty());
}
