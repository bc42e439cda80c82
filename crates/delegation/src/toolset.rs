//! Selects the tools of a sub-agent: never more than its parent has.

use std::collections::HashSet;
use std::sync::Arc;

use hermes_core::ToolError;
use hermes_engine::toolsets::{ToolSelection, ToolsetKind, ToolsetSummary};
use hermes_engine::{DeferralSettings, Engine, RESERVED_TOOL_NAMES, ToolScope};
use serde_json::Value;

/// Selects tools for sub-agents.
#[derive(Debug)]
pub(crate) struct ToolSelector<'a> {
    pub(crate) engine: &'a Engine,
    /// Tools that the parent may call.
    pub(crate) parent_tools: HashSet<String>,
    /// Tools that no sub-agent gets.
    pub(crate) blocked: &'a [String],
    /// Context window of the sub-agents' model.
    pub(crate) window: Option<u64>,
}

/// The tools of a sub-agent.
pub(crate) struct SubagentTools {
    pub(crate) tools: Arc<[Value]>,
    pub(crate) scope: Arc<ToolScope>,
}

impl ToolSelector<'_> {
    /// Returns the tools of these toolsets that the parent has; without
    /// toolsets, all of the parent's.
    pub(crate) async fn select(
        &self,
        toolsets: Option<&[String]>,
        may_delegate: bool,
    ) -> Result<SubagentTools, ToolError> {
        for name in toolsets.unwrap_or_default() {
            self.require_leaf(name, may_delegate)?;
        }
        let selection =
            ToolSelection { enabled: toolsets.map(<[String]>::to_vec), disabled: Vec::new() };
        let deferral = DeferralSettings { window: self.window, ..DeferralSettings::default() };
        let definitions = self.engine.definitions(&selection, deferral).await;
        let definitions = definitions.map_err(|error| ToolError::invalid(error.to_string()))?;
        let allowed =
            |name: &str| self.parent_tools.contains(name) && self.is_allowed(name, may_delegate);
        let scope = definitions.scope.restrict(allowed);
        if scope.entries().is_empty() && toolsets.is_some_and(|names| !names.is_empty()) {
            let names = toolsets.unwrap_or_default().join(", ");
            return Err(ToolError::invalid(format!(
                "No tool of {names} can be given to a sub-agent: you do not have them, or they \
                 are blocked"
            ))
            .with_hint("Omit `toolsets` to give it all your tools."));
        }
        let is_deferred = definitions.deferred.iter().any(|name| allowed(name));
        let all: Vec<Value> = serde_json::from_str(&definitions.json).map_err(|error| {
            ToolError::internal(format!("Cannot parse the tool definitions: {error}"))
        })?;
        let shown = |tool: &Value| {
            let name = tool["function"]["name"].as_str().unwrap_or_default();
            if RESERVED_TOOL_NAMES.contains(&name) { is_deferred } else { allowed(name) }
        };
        let tools = all.into_iter().filter(shown).collect();
        Ok(SubagentTools { tools, scope: Arc::new(scope) })
    }

    /// Refuses toolsets that combine others: they are for a platform or a whole
    /// session, and give a sub-agent more than its task needs.
    fn require_leaf(&self, name: &str, may_delegate: bool) -> Result<(), ToolError> {
        let (catalog, snapshot) = (self.engine.toolsets(), self.engine.snapshot());
        // An unknown name is reported by the selection.
        let Ok(named) = catalog.summary(name, &*snapshot) else { return Ok(()) };
        if named.kind == ToolsetKind::Leaf {
            return Ok(());
        }
        let has_tools = |leaf: &ToolsetSummary| {
            leaf.kind == ToolsetKind::Leaf
                && leaf.tools.iter().any(|tool| {
                    named.tools.contains(tool)
                        && self.parent_tools.contains(tool)
                        && self.is_allowed(tool, may_delegate)
                })
        };
        let all = catalog.names(&*snapshot).into_iter();
        let all = all.filter_map(|name| catalog.summary(&name, &*snapshot).ok());
        let leaves: Vec<String> = all.filter(has_tools).map(|leaf| leaf.name).collect();
        let message = format!("A sub-agent cannot have the toolset {name}, which combines others");
        let hint = match leaves.is_empty() {
            true => "Omit `toolsets`.".to_owned(),
            false => format!("Name those that it needs: {}.", leaves.join(", ")),
        };
        Err(ToolError::invalid(message).with_hint(hint))
    }

    fn is_allowed(&self, name: &str, may_delegate: bool) -> bool {
        if name == crate::delegate_task::TOOL_NAME && may_delegate {
            return true;
        }
        !self.blocked.iter().any(|blocked| blocked == name)
    }
}
