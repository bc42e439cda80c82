//! Requested and prepared tasks.

use std::sync::Arc;

use hermes_agent::{AgentBudget, BudgetLimits};
use hermes_core::{JsonSchema, ToolError};
use hermes_engine::ToolScope;
use serde::Deserialize;
use serde_json::Value;

use crate::output_schema::OutputSchema;
use crate::settings::DelegationSettings;

/// Maximum tasks per call.
const MAX_TASKS: usize = 100;
/// Maximum size of a goal and its context.
const MAX_TASK_BYTES: usize = 200_000;
/// The parent keeps 1/N of its remaining budget, so it can still answer.
const PARENT_SHARE_DIVISOR: u32 = 10;

// Whether it may delegate. The parameters say so, and doc comments are sent to
// the model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SubagentRole {
    #[default]
    Leaf,
    Orchestrator,
}

// A task of a batch.
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

/// A task ready to run.
#[derive(Debug)]
pub(crate) struct PreparedTask {
    pub(crate) index: usize,
    pub(crate) goal: String,
    pub(crate) context: String,
    /// Definitions of its tools.
    pub(crate) tools: Arc<[Value]>,
    /// Tools it may call.
    pub(crate) scope: Arc<ToolScope>,
    /// Its budget.
    pub(crate) allowance: BudgetLimits,
    /// What its answer must be.
    pub(crate) output: Option<Arc<OutputSchema>>,
    /// Notes for the parent.
    pub(crate) notes: Vec<String>,
}

/// Fails unless the tasks are valid.
pub(crate) fn check_tasks(tasks: &[TaskRequest]) -> Result<(), ToolError> {
    if tasks.is_empty() {
        return Err(ToolError::invalid("Either `goal` or `tasks` is required"));
    }
    if tasks.len() > MAX_TASKS {
        let message = format!("{} tasks exceed the limit of {MAX_TASKS} per call", tasks.len());
        return Err(ToolError::limit(message));
    }
    for (at, task) in tasks.iter().enumerate() {
        if task.goal.trim().is_empty() {
            return Err(ToolError::invalid(format!("`goal` of task {at} is empty")));
        }
        if task.goal.len() + task.context.as_deref().unwrap_or_default().len() > MAX_TASK_BYTES {
            let message = format!("Task {at} exceeds {MAX_TASK_BYTES} bytes");
            return Err(ToolError::limit(message)
                .with_hint("Write the details to a file and name the file in `context`."));
        }
    }
    Ok(())
}

/// Names the exhausted part of the budget. Model requests and tool calls count
/// only for an agent; a single answer needs neither.
pub(crate) fn exhausted_resource(budget: &AgentBudget, for_agent: bool) -> Option<String> {
    let left = budget.remaining();
    if for_agent && left.rounds == Some(0) {
        return Some("its model calls".to_owned());
    }
    if for_agent && left.calls == Some(0) {
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
        |what: &String| !for_agent && (what.ends_with("rounds") || what.ends_with("tool calls"));
    budget.exhausted_reason().filter(|what| !of_no_matter(what))
}

/// Splits the remaining budget evenly among the tasks, after the parent's
/// share. Time is not divided: the tasks run concurrently.
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
    // The parent needs at least one request to answer.
    let shared_rounds = left.rounds.map(|rounds| {
        let kept = (rounds / PARENT_SHARE_DIVISOR).max(1);
        rounds.saturating_sub(kept) / tasks
    });
    let most = settings.max_rounds.min(shared_rounds.unwrap_or(u32::MAX)).max(1);
    BudgetLimits {
        rounds: Some(rounds.unwrap_or(u32::MAX).clamp(1, most)),
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
