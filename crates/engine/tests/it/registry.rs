//! Who may register what, and what a removal takes with it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use hermes_core::{
    Availability, BoundCall, BoxFuture, CallStatus, DynTool, ErrorKind, ToolCall, ToolError,
    ToolOutput, ToolSpec,
};
use hermes_engine::toolsets::ToolIndex as _;
use hermes_engine::{
    BRIDGE_TOOLSET, Engine, RESERVED_TOOL_NAMES, RegistryError, ToolOwner, ToolRegistry,
};
use hermes_testkit::probe::{CallDiary, ProbeTool};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::{built, engine};

fn tool(name: &str, toolset: &'static str) -> Arc<dyn DynTool> {
    ProbeTool::new(name).with_spec(|s| ToolSpec { toolset: toolset.into(), ..s }).into_tool()
}

#[test]
fn a_name_has_one_owner() {
    let registry = ToolRegistry::new();
    let builtin = ToolOwner::builtin();
    let plugin = ToolOwner::named("plugin");
    registry.register(tool("read", "file"), &builtin).unwrap();
    registry.register(tool("read", "file"), &builtin).expect("its own toolset may replace it");
    let refused = registry.register(tool("read", "plugin"), &plugin).unwrap_err();
    assert!(matches!(refused, RegistryError::Taken { .. }), "{refused}");
    assert!(refused.to_string().contains("'file'"), "{refused}");
    registry
        .register(tool("read", "plugin"), &plugin.allowed_to_override())
        .expect("the operator allowed it");
    assert_eq!(registry.snapshot().get("read").unwrap().toolset(), "plugin");
}

#[test]
fn an_owner_is_more_than_its_id() {
    let (engine, ..) = engine(vec![tool("read", "file")]);
    let registry = engine.registry();
    for id in ["engine", "builtin"] {
        let mask = ToolOwner::named(id);
        assert_eq!(mask.id(), id);
        let refused = registry.register(tool("tool_search", "x"), &mask);
        assert!(matches!(refused, Err(RegistryError::Reserved(_))), "{id}");
        let refused = registry.register(tool("read", "file"), &mask);
        assert!(matches!(refused, Err(RegistryError::Taken { .. })), "{id}");
        let refused = registry.deregister("read", &mask);
        assert!(matches!(refused, Err(RegistryError::NotOwner { .. })), "{id}");
    }
    assert_ne!(ToolOwner::named("builtin"), ToolOwner::builtin());
    assert_ne!(ToolOwner::named("a"), ToolOwner::named("b"));
    assert_eq!(ToolOwner::named("a"), ToolOwner::named("a").allowed_to_override());
}

#[test]
fn a_toolset_may_be_extended_but_its_tools_not_replaced() {
    let registry = ToolRegistry::new();
    let plugin = ToolOwner::named("plugin");
    registry.register(tool("terminal", "terminal"), &ToolOwner::builtin()).unwrap();
    let refused = registry.register(tool("terminal", "terminal"), &plugin).unwrap_err();
    assert!(matches!(refused, RegistryError::Taken { .. }), "{refused}");
    registry.register(tool("terminal_pretty", "terminal"), &plugin).expect("a new name");
    assert_eq!(registry.snapshot().tools_in("terminal"), ["terminal", "terminal_pretty"]);
    registry.register(tool("terminal_pretty", "looks"), &plugin).expect("its own, moved");
    assert_eq!(registry.snapshot().tools_in("terminal"), ["terminal"]);
    assert_eq!(registry.snapshot().tools_in("looks"), ["terminal_pretty"]);
}

#[test]
fn two_tools_of_one_name_in_one_change_are_a_clash() {
    let twice = vec![tool("read", "file"), tool("read", "web")];
    let refused = Engine::builder().tools(twice).build().unwrap_err();
    assert!(matches!(refused, RegistryError::Taken { .. }), "{refused}");
}

#[test]
fn the_bridge_is_the_engines_alone() {
    let (engine, ..) = engine(Vec::new());
    let registry = engine.registry();
    for owner in
        [ToolOwner::builtin(), ToolOwner::named("p"), ToolOwner::named("p").allowed_to_override()]
    {
        let refused = registry.register(tool("harmless", BRIDGE_TOOLSET), &owner);
        assert!(matches!(refused, Err(RegistryError::Reserved(_))), "{owner:?}");
        for (alias, toolset) in [("b", BRIDGE_TOOLSET), (BRIDGE_TOOLSET, "x")] {
            let refused = registry.edit(|edit| edit.alias_toolset(alias, toolset, &owner));
            assert!(matches!(refused, Err(RegistryError::Reserved(_))), "{owner:?} {alias}");
        }
        for name in RESERVED_TOOL_NAMES {
            let refused = registry.deregister(name, &owner);
            assert!(matches!(refused, Err(RegistryError::Reserved(_))), "{owner:?} {name}");
        }
    }
    assert_eq!(registry.snapshot().tools_in(BRIDGE_TOOLSET).len(), RESERVED_TOOL_NAMES.len());
}

#[test]
fn servers_may_refresh_but_not_shadow() {
    let registry = ToolRegistry::new();
    registry.register(tool("mcp__a__x", "mcp-a"), &ToolOwner::named("a")).unwrap();
    registry.register(tool("mcp__a__x", "mcp-a"), &ToolOwner::named("a")).expect("a refresh");
    registry.register(tool("terminal", "terminal"), &ToolOwner::builtin()).unwrap();
    assert!(registry.register(tool("terminal", "mcp-a"), &ToolOwner::named("a")).is_err());
    let other = registry.register(tool("mcp__a__x", "mcp-b"), &ToolOwner::named("b"));
    assert!(matches!(other, Err(RegistryError::Taken { .. })), "another server's");
}

#[test]
fn a_refresh_of_its_only_tool_keeps_a_toolsets_other_names() {
    let registry = ToolRegistry::new();
    let server = ToolOwner::named("a");
    registry.register(tool("mcp__a__x", "mcp-a"), &server).unwrap();
    registry.edit(|edit| edit.alias_toolset("a", "mcp-a", &server)).unwrap();
    registry.register(tool("mcp__a__x", "mcp-a"), &server).unwrap();
    assert_eq!(registry.snapshot().alias("a").as_deref(), Some("mcp-a"));
}

#[test]
fn a_toolsets_other_names_belong_to_who_gave_them() {
    let registry = ToolRegistry::new();
    let (a, b) = (ToolOwner::named("a"), ToolOwner::named("b"));
    registry.register(tool("terminal", "terminal"), &ToolOwner::builtin()).unwrap();
    registry.register(tool("mcp__a__x", "mcp-a"), &a).unwrap();
    let alias = |alias: &str, toolset: &str, owner: &ToolOwner| {
        registry.edit(|edit| edit.alias_toolset(alias, toolset, owner))
    };
    let taken = Some("taken");
    let outcome = |answer: Result<(), RegistryError>| match answer {
        Ok(()) => None,
        Err(RegistryError::Taken { .. }) => taken,
        Err(other) => panic!("{other}"),
    };
    assert_eq!(outcome(alias("terminal", "mcp-a", &a)), taken, "a toolset's own name");
    assert_eq!(outcome(alias("s", "mcp-a", &a)), None);
    assert_eq!(outcome(alias("s", "mcp-a", &a)), None, "again by the same");
    assert_eq!(outcome(alias("s", "mcp-b", &b)), taken, "another's");
    assert_eq!(registry.snapshot().alias("s").as_deref(), Some("mcp-a"));
    assert_eq!(outcome(alias("s", "mcp-b", &b.allowed_to_override())), None);
    assert_eq!(registry.snapshot().alias("s").as_deref(), Some("mcp-b"));
}

#[test]
fn an_alias_cannot_take_anothers_name() {
    let registry = ToolRegistry::new();
    registry.register(tool("read", "file"), &ToolOwner::builtin()).unwrap();
    let thief = ProbeTool::new("steal").with_spec(|s| s.alias("read")).into_tool();
    assert!(registry.register(thief, &ToolOwner::named("p")).is_err());
    let honest = ProbeTool::new("other").with_spec(|s| s.alias("different")).into_tool();
    registry.register(honest, &ToolOwner::named("p")).unwrap();
    assert_eq!(registry.snapshot().find("different").unwrap().name(), "other");
}

fn aliased(name: &str, alias: &'static str) -> Arc<dyn DynTool> {
    ProbeTool::new(name).with_spec(|s| s.preset_alias(alias, r#"{"mode":"fixed"}"#)).into_tool()
}

#[test]
fn names_and_aliases_clash_in_whatever_order_they_come() {
    let owner = ToolOwner::named("p");
    type Pair = fn() -> [Arc<dyn DynTool>; 2];
    let pairs: [Pair; 2] = [
        || [tool("one", "probe"), aliased("two", "one")],
        || [aliased("one", "both"), aliased("two", "both")],
    ];
    for pair in pairs {
        for first in [0, 1] {
            let registry = ToolRegistry::new();
            registry.register(pair()[first].clone(), &owner).unwrap();
            registry.register(pair()[first].clone(), &owner).expect("the same tool again");
            assert!(registry.register(pair()[1 - first].clone(), &owner).is_err());
            assert_eq!(registry.snapshot().len(), 1);
        }
    }
}

#[test]
fn an_alias_is_neither_its_own_tools_name_nor_given_twice() {
    let registry = ToolRegistry::new();
    let owner = ToolOwner::named("p").allowed_to_override();
    let refused = registry.register(aliased("same", "same"), &owner).unwrap_err();
    assert!(matches!(refused, RegistryError::AliasTaken { .. }), "{refused}");
    let twice = ProbeTool::new("t").with_spec(|s| s.alias("a").preset_alias("a", "{}")).into_tool();
    let refused = registry.register(twice, &owner).unwrap_err();
    assert!(matches!(refused, RegistryError::AliasTwice(_)), "{refused}");
    registry.register(tool("read", "file"), &ToolOwner::builtin()).unwrap();
    let refused = registry.register(aliased("steal", "read"), &owner).unwrap_err();
    assert!(matches!(refused, RegistryError::AliasTaken { .. }), "not even with an override");
}

#[tokio::test]
async fn an_override_takes_an_alias_as_its_name_and_leaves_the_preset_behind() {
    let (engine, caller, _dir) = built(
        Engine::builder()
            .tools(vec![aliased("old", "short")])
            .tools_from(ToolOwner::named("p").allowed_to_override(), vec![tool("short", "p")]),
    );
    let result = engine.call(ToolCall::new("1", "short", json!({ "a": 1 })), &caller).await;
    assert_eq!(serde_json::from_str::<Value>(&result.content).unwrap(), json!({ "a": 1 }));
    let snapshot = engine.snapshot();
    assert_eq!(snapshot.find("short").unwrap().name(), "short");
    let names = snapshot.callable_names().filter(|name| *name == "short").count();
    assert_eq!(names, 1, "the alias is gone");
    engine.remove("short", &ToolOwner::named("p")).await.unwrap();
    assert!(engine.snapshot().find("short").is_none(), "and does not come back");
}

#[test]
fn what_was_replaced_or_removed_is_handed_over_once() {
    let registry = ToolRegistry::new();
    let owner = ToolOwner::builtin();
    registry.register(tool("a", "x"), &owner).unwrap();
    registry.register(tool("b", "x"), &owner).unwrap();
    assert!(registry.take_retired().is_empty());
    let old = registry.snapshot().get("a").unwrap().clone();
    registry.register(tool("a", "x"), &owner).unwrap();
    let removed = registry.deregister("b", &owner).unwrap().unwrap();
    let retired = registry.take_retired();
    assert_eq!(retired.len(), 2);
    assert!(Arc::ptr_eq(&retired[0], &old) && Arc::ptr_eq(&retired[1], &removed));
    assert!(registry.take_retired().is_empty());
    let failed = registry.edit(|edit| {
        edit.deregister("a", &owner)?;
        edit.register(tool("not good", "x"), &owner)
    });
    assert!(failed.is_err());
    assert!(registry.take_retired().is_empty(), "what did not happen retires nobody");
}

#[test]
fn reserved_and_impossible_names_are_refused() {
    let registry = ToolRegistry::new();
    for name in ["tool_search", "tool_describe", "tool_call"] {
        let refused =
            registry.register(tool(name, "x"), &ToolOwner::named("p").allowed_to_override());
        assert!(matches!(refused, Err(RegistryError::Reserved(_))), "{name}");
    }
    let long = "x".repeat(65);
    for name in ["", "a b", "a:b", "é", long.as_str()] {
        let refused = registry.register(tool(name, "x"), &ToolOwner::builtin());
        assert!(matches!(refused, Err(RegistryError::InvalidName(_))), "{name:?}");
    }
}

#[test]
fn only_the_owner_removes_and_the_last_tool_takes_the_toolset_along() {
    let registry = ToolRegistry::new();
    let owner = ToolOwner::named("server");
    registry
        .edit(|edit| {
            edit.register(tool("mcp__s__a", "mcp-s"), &owner)?;
            edit.register(tool("mcp__s__b", "mcp-s"), &owner)?;
            edit.alias_toolset("s", "mcp-s", &owner)
        })
        .unwrap();
    assert!(matches!(
        registry.deregister("mcp__s__a", &ToolOwner::named("other")),
        Err(RegistryError::NotOwner { .. })
    ));
    registry.deregister("mcp__s__a", &owner).unwrap();
    assert_eq!(registry.snapshot().alias("s").as_deref(), Some("mcp-s"));
    registry.deregister("mcp__s__b", &owner).unwrap();
    assert_eq!(registry.snapshot().alias("s"), None);
    assert!(registry.snapshot().toolset_names().is_empty());
    assert!(registry.deregister("mcp__s__b", &owner).unwrap().is_none(), "unknown is no error");
}

#[test]
fn a_change_is_seen_whole_or_not_at_all() {
    let registry = ToolRegistry::new();
    let before = registry.snapshot();
    let failed = registry.edit(|edit| {
        edit.register(tool("good", "x"), &ToolOwner::builtin())?;
        edit.register(tool("not good", "x"), &ToolOwner::builtin())
    });
    assert!(failed.is_err());
    assert_eq!(registry.snapshot().generation(), before.generation());
    assert!(registry.snapshot().get("good").is_none());
    registry.register(tool("good", "x"), &ToolOwner::builtin()).unwrap();
    assert!(registry.snapshot().generation() > before.generation());
    assert!(before.get("good").is_none(), "an old snapshot stays as it was");
}

type Step<T> = Box<dyn Fn() -> BoxFuture<'static, T> + Send + Sync>;

/// A tool with a will of its own when it is set up and taken down.
struct Willful {
    probe: Arc<ProbeTool>,
    setup: Step<Result<(), ToolError>>,
    teardown: Step<()>,
}

impl Willful {
    fn new(name: &str) -> Self {
        Self {
            probe: Arc::new(ProbeTool::new(name)),
            setup: Box::new(|| Box::pin(async { Ok(()) })),
            teardown: Box::new(|| Box::pin(async {})),
        }
    }
}

impl DynTool for Willful {
    fn spec(&self) -> &ToolSpec {
        self.probe.spec()
    }

    fn parameters(&self) -> Value {
        DynTool::parameters(&*self.probe)
    }

    fn bind(self: Arc<Self>, arguments: &Value) -> Result<Box<dyn BoundCall>, ToolError> {
        Arc::clone(&self.probe).bind(arguments)
    }

    fn check(&self) -> BoxFuture<'_, Availability> {
        self.probe.check()
    }

    fn setup(&self) -> BoxFuture<'_, Result<(), ToolError>> {
        (self.setup)()
    }

    fn teardown(&self) -> BoxFuture<'_, ()> {
        self.probe.teardowns.fetch_add(1, Ordering::SeqCst);
        (self.teardown)()
    }
}

#[tokio::test]
async fn a_tool_is_taken_down_once_however_often_it_is_retired() {
    let probe = Arc::new(ProbeTool::new("once"));
    let (engine, caller, _dir) = engine(vec![probe.clone()]);
    let entry = engine.snapshot().get("once").unwrap().clone();
    assert!(engine.call(ToolCall::new("1", "once", json!({})), &caller).await.is_success());
    tokio::join!(entry.retire(), entry.retire());
    entry.retire().await;
    assert_eq!(probe.teardowns.load(Ordering::SeqCst), 1);
    let late = engine.call(ToolCall::new("2", "once", json!({})), &caller).await;
    assert_eq!(late.status, CallStatus::Error(ErrorKind::Unavailable), "it is gone");
}

#[tokio::test]
async fn a_tool_that_was_never_used_is_neither_taken_down_nor_set_up_later() {
    let probe = Arc::new(ProbeTool::new("idle"));
    let (engine, caller, _dir) = engine(vec![probe.clone()]);
    engine.snapshot().get("idle").unwrap().retire().await;
    let late = engine.call(ToolCall::new("1", "idle", json!({})), &caller).await;
    assert_eq!(late.status, CallStatus::Error(ErrorKind::Unavailable));
    assert!(late.content.contains("idle was removed"), "{}", late.content);
    assert_eq!(probe.setups.load(Ordering::SeqCst), 0);
    assert_eq!(probe.teardowns.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_call_in_flight_ends_before_its_tool_is_taken_down() {
    let (diary, begun, go_on) =
        (CallDiary::default(), Arc::new(Notify::new()), Arc::new(Notify::new()));
    let mut willful = Willful::new("slow");
    willful.probe = Arc::new(ProbeTool::new("slow").on_run({
        let (diary, begun, go_on) = (diary.clone(), begun.clone(), go_on.clone());
        move |_, _| {
            let (diary, begun, go_on) = (diary.clone(), begun.clone(), go_on.clone());
            async move {
                begun.notify_one();
                go_on.notified().await;
                diary.write("ran");
                ToolOutput::json(&json!({}))
            }
        }
    }));
    willful.teardown = Box::new({
        let diary = diary.clone();
        move || {
            let diary = diary.clone();
            Box::pin(async move { diary.write("taken down") })
        }
    });
    let (engine, caller, _dir) = engine(vec![Arc::new(willful)]);
    let entry = engine.snapshot().get("slow").unwrap().clone();
    let call = engine.call(ToolCall::new("1", "slow", json!({})), &caller);
    let retire = async {
        begun.notified().await;
        tokio::join!(entry.retire(), async { go_on.notify_one() });
    };
    let (result, ()) = tokio::join!(call, retire);
    assert!(result.is_success(), "{}", result.content);
    assert_eq!(diary.lines(), ["ran", "taken down"]);
}

#[tokio::test]
async fn a_tool_that_panics_or_hangs_at_its_end_harms_nobody() {
    let mut panics = Willful::new("panics");
    panics.teardown = Box::new(|| panic!("at the end"));
    let mut hangs = Willful::new("hangs");
    hangs.teardown = Box::new(|| Box::pin(std::future::pending()));
    let (panics, hangs) = (Arc::new(panics), Arc::new(hangs));
    let (engine, caller, _dir) = engine(vec![panics.clone(), hangs.clone()]);
    for (name, probe) in [("panics", &panics.probe), ("hangs", &hangs.probe)] {
        assert!(engine.call(ToolCall::new("1", name, json!({})), &caller).await.is_success());
        engine.snapshot().get(name).unwrap().retire().await;
        assert_eq!(probe.teardowns.load(Ordering::SeqCst), 1, "{name}");
    }
}

#[tokio::test]
async fn a_set_up_that_ends_after_the_tool_is_gone_is_undone() {
    let (begun, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let mut willful = Willful::new("late");
    willful.setup = Box::new({
        let (begun, go_on) = (begun.clone(), go_on.clone());
        move || {
            let (begun, go_on) = (begun.clone(), go_on.clone());
            Box::pin(async move {
                begun.notify_one();
                go_on.notified().await;
                Ok(())
            })
        }
    });
    let willful = Arc::new(willful);
    let (engine, caller, _dir) = engine(vec![willful.clone()]);
    let entry = engine.snapshot().get("late").unwrap().clone();
    let call = engine.call(ToolCall::new("1", "late", json!({})), &caller);
    let retire = async {
        begun.notified().await;
        entry.retire().await;
        assert_eq!(willful.probe.teardowns.load(Ordering::SeqCst), 0, "nothing to take down");
        go_on.notify_one();
    };
    let (result, ()) = tokio::join!(call, retire);
    assert_eq!(result.status, CallStatus::Error(ErrorKind::Unavailable));
    assert_eq!(willful.probe.teardowns.load(Ordering::SeqCst), 1);
}
