//! Who may register what, and what a removal takes with it.

use std::sync::Arc;

use hermes_core::{DynTool, ToolSpec};
use hermes_engine::toolsets::ToolIndex as _;
use hermes_engine::{Owner, Registry, RegistryError};
use hermes_testkit::probe::Probe;

fn tool(name: &str, toolset: &'static str) -> Arc<dyn DynTool> {
    Probe::new(name).with_spec(|s| ToolSpec { toolset: toolset.into(), ..s }).tool()
}

#[test]
fn a_name_has_one_owner() {
    let registry = Registry::new();
    let builtin = Owner::builtin();
    let plugin = Owner::named("plugin");
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
fn servers_may_refresh_but_not_shadow() {
    let registry = Registry::new();
    registry.register(tool("mcp__a__x", "mcp-a"), &Owner::named("a")).unwrap();
    registry.register(tool("mcp__a__x", "mcp-a"), &Owner::named("a")).expect("a refresh");
    registry.register(tool("terminal", "terminal"), &Owner::builtin()).unwrap();
    assert!(registry.register(tool("terminal", "mcp-a"), &Owner::named("a")).is_err());
}

#[test]
fn an_alias_cannot_take_anothers_name() {
    let registry = Registry::new();
    registry.register(tool("read", "file"), &Owner::builtin()).unwrap();
    let thief = Probe::new("steal").with_spec(|s| s.alias("read")).tool();
    assert!(registry.register(thief, &Owner::named("p")).is_err());
    let honest = Probe::new("other").with_spec(|s| s.alias("different")).tool();
    registry.register(honest, &Owner::named("p")).unwrap();
    assert_eq!(registry.snapshot().find("different").unwrap().name(), "other");
}

#[test]
fn reserved_and_impossible_names_are_refused() {
    let registry = Registry::new();
    for name in ["tool_search", "tool_describe", "tool_call"] {
        let refused = registry.register(tool(name, "x"), &Owner::named("p").allowed_to_override());
        assert!(matches!(refused, Err(RegistryError::Reserved(_))), "{name}");
    }
    let long = "x".repeat(65);
    for name in ["", "a b", "a:b", "é", long.as_str()] {
        let refused = registry.register(tool(name, "x"), &Owner::builtin());
        assert!(matches!(refused, Err(RegistryError::InvalidName(_))), "{name:?}");
    }
}

#[test]
fn only_the_owner_removes_and_the_last_tool_takes_the_toolset_along() {
    let registry = Registry::new();
    let owner = Owner::named("server");
    registry
        .edit(|edit| {
            edit.register(tool("mcp__s__a", "mcp-s"), &owner)?;
            edit.register(tool("mcp__s__b", "mcp-s"), &owner)?;
            edit.alias_toolset("s", "mcp-s");
            Ok::<_, RegistryError>(())
        })
        .unwrap();
    assert!(matches!(
        registry.deregister("mcp__s__a", &Owner::named("other")),
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
    let registry = Registry::new();
    let before = registry.snapshot();
    let failed = registry.edit(|edit| {
        edit.register(tool("good", "x"), &Owner::builtin())?;
        edit.register(tool("not good", "x"), &Owner::builtin())
    });
    assert!(failed.is_err());
    assert_eq!(registry.snapshot().generation(), before.generation());
    assert!(registry.snapshot().get("good").is_none());
    registry.register(tool("good", "x"), &Owner::builtin()).unwrap();
    assert!(registry.snapshot().generation() > before.generation());
    assert!(before.get("good").is_none(), "an old snapshot stays as it was");
}
