//! Tasks, as they are asked for and as they are given.

use std::sync::Arc;

use hermes_agent::{AgentBudget, BudgetLimits};
use hermes_core::{JsonSchema, ToolError};
use hermes_engine::ToolScope;
use serde::Deserialize;
use serde_json::Value;

use crate::settings::DelegationSettings;

/// How many tasks one call may give.
const MAX_TASKS: usize = 100;
/// The most bytes of a goal and its context.
const MAX_TASK_BYTES: usize = 200_000;
/// Of what is left, this part stays for the parent, so that it can still
/// answer.
const PARENT_SHARE_DIVISOR: u32 = 10;

/// Whether a sub-agent works alone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SubagentRole {
    #[default]
    Leaf,
    Orchestrator,
}

/// A task of a batch.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TaskRequest {
    pub(crate) goal: String,
    #[serde(default)]
    pub(crate) context: Option<String>,
    #[serde(default)]
    pub(crate) toolsets: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) role: Option<SubagentRole>,
    #[serde(default)]
    pub(crate) max_iterations: Option<u32>,
}

/// A task that can be begun.
#[derive(Debug)]
pub(crate) struct PreparedTask {
    pub(crate) index: usize,
    pub(crate) goal: String,
    pub(crate) context: String,
    /// The definitions of its tools.
    pub(crate) tools: Arc<[Value]>,
    /// What it may call.
    pub(crate) scope: Arc<ToolScope>,
    /// What it may use.
    pub(crate) allowance: BudgetLimits,
    /// What its parent should know of it.
    pub(crate) notes: Vec<String>,
}

/// An error unless these are tasks that somebody could begin.
pub(crate) fn check_tasks(tasks: &[TaskRequest]) -> Result<(), ToolError> {
    if tasks.is_empty() {
        return Err(ToolError::invalid("There is no task: neither `goal` nor `tasks` is given"));
    }
    if tasks.len() > MAX_TASKS {
        let message = format!("{} tasks are more than the {MAX_TASKS} of one call", tasks.len());
        return Err(ToolError::limit(message));
    }
    for (at, task) in tasks.iter().enumerate() {
        if task.goal.trim().is_empty() {
            return Err(ToolError::invalid(format!("The goal of task {at} is empty")));
        }
        if task.goal.len() + task.context.as_deref().unwrap_or_default().len() > MAX_TASK_BYTES {
            let message = format!("Task {at} is longer than {MAX_TASK_BYTES} bytes");
            return Err(ToolError::limit(message)
                .with_hint("Write it to a file, and name the file in the context."));
        }
    }
    Ok(())
}

/// What there is nothing left of, in words. How often the parent has asked its
/// model is no matter here, and for answers without tools neither are calls.
pub(crate) fn exhausted_resource(budget: &AgentBudget, needs_calls: bool) -> Option<String> {
    let left = budget.remaining();
    if needs_calls && left.calls == Some(0) {
        return Some("its tool calls".to_owned());
    }
    if left.tokens == Some(0) {
        return Some("its tokens".to_owned());
    }
    if left.cost.is_some_and(|cost| cost <= 0.0) {
        return Some("its money".to_owned());
    }
    if left.time.is_some_and(|time| time.is_zero()) {
        return Some("its time".to_owned());
    }
    let of_no_matter =
        |what: &String| what.ends_with("rounds") || (!needs_calls && what.ends_with("tool calls"));
    budget.exhausted_reason().filter(|what| !of_no_matter(what))
}

/// What each of so many sub-agents may use: an equal part of what is left,
/// but for the part that the parent keeps. Time runs for all at once.
pub(crate) fn allowance_per_task(
    budget: Option<&AgentBudget>,
    tasks: usize,
    rounds: Option<u32>,
    settings: &DelegationSettings,
) -> BudgetLimits {
    let left = budget.map(AgentBudget::remaining).unwrap_or_default();
    let tasks = u32::try_from(tasks).unwrap_or(u32::MAX).max(1);
    let part =
        |whole: u64| ((whole - whole / u64::from(PARENT_SHARE_DIVISOR)) / u64::from(tasks)).max(1);
    let rest = left.time.map(|time| time - time / PARENT_SHARE_DIVISOR);
    BudgetLimits {
        rounds: Some(rounds.unwrap_or(u32::MAX).clamp(1, settings.max_rounds.max(1))),
        calls: left.calls.map(|calls| u32::try_from(part(calls.into())).unwrap_or(calls)),
        tokens: left.tokens.map(part),
        cost: left
            .cost
            .map(|cost| cost * (1.0 - 1.0 / f64::from(PARENT_SHARE_DIVISOR)) / f64::from(tasks)),
        time: settings.time_limit.into_iter().chain(rest).min(),
    }
}

#[cfg(test)]
#[path = "task_tests.rs"]
mod tests;
