//! The report that a sub-agent's parent gets.

use hermes_agent::{BudgetUsage, TurnEnd};
use hermes_core::{ErrorKind, ToolError};
use hermes_llm::{ModelError, ModelErrorKind};
use serde::Serialize;
use serde_json::Value;

use crate::progress_board::{ChangeKind, TracedCall};

/// How a sub-agent ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SubagentStatus {
    /// It finished its task.
    Completed,
    /// It had to stop early and reports how far it got.
    Partial,
    /// It reached its time limit.
    Timeout,
    /// It was cancelled.
    Interrupted,
    /// It failed.
    Failed,
}

impl SubagentStatus {
    /// The name on the wire.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Partial => "partial",
            Self::Timeout => "timeout",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
        }
    }
}

/// A file that a sub-agent changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct FileArtifact {
    pub(crate) path: String,
    pub(crate) change: ChangeKind,
}

/// Input and output tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(crate) struct TokenCounts {
    pub(crate) input: u64,
    pub(crate) output: u64,
}

/// Why a sub-agent ended.
#[derive(Debug, Clone)]
pub(crate) struct EndCause {
    pub(crate) status: SubagentStatus,
    /// Machine-readable reason.
    pub(crate) exit_reason: &'static str,
    /// The error, if any.
    pub(crate) error: Option<ToolError>,
}

/// Report of one sub-agent.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct SubagentReport {
    pub(crate) task_index: usize,
    pub(crate) goal: String,
    pub(crate) status: SubagentStatus,
    pub(crate) exit_reason: &'static str,
    /// Its last message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) summary: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) summary_truncated: bool,
    /// Its last message, if it had to match a schema; then there is no summary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) output: Option<Value>,
    /// Whether it read untrusted text, which its summary may repeat.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) untrusted: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) findings: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hint: Option<String>,
    pub(crate) artifacts: Vec<FileArtifact>,
    pub(crate) api_calls: u32,
    pub(crate) tool_calls: u32,
    pub(crate) tokens: TokenCounts,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cost_usd: Option<f64>,
    pub(crate) duration_seconds: f64,
    pub(crate) model: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) session_id: String,
    /// Its most recent calls.
    pub(crate) tool_trace: Vec<TracedCall>,
    /// Number of earlier calls.
    #[serde(skip_serializing_if = "is_none")]
    pub(crate) tool_trace_omitted: u32,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) notes: Vec<String>,
    #[serde(skip)]
    pub(crate) kind: Option<ErrorKind>,
}

// serde passes the value by reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_none(count: &u32) -> bool {
    *count == 0
}

impl EndCause {
    /// The sub-agent was cancelled.
    pub(crate) fn interrupted() -> Self {
        Self { status: SubagentStatus::Interrupted, exit_reason: "interrupted", error: None }
    }

    /// The sub-agent failed.
    pub(crate) fn failed(error: ToolError) -> Self {
        Self { status: SubagentStatus::Failed, exit_reason: "error", error: Some(error) }
    }

    /// The answer does not match the schema that was asked for.
    pub(crate) fn invalid_output(why: &str) -> Self {
        let error = ToolError::new(
            ErrorKind::Unavailable,
            format!("The answer of the sub-agent does not match `output_schema`: {why}"),
        )
        .with_hint("`summary` has the answer. Use it as it is, or ask for a simpler schema.");
        Self { exit_reason: "invalid_output", ..Self::failed(error) }
    }

    /// The sub-agent reached its time limit.
    pub(crate) fn timed_out() -> Self {
        let error = ToolError::new(ErrorKind::Timeout, "The sub-agent reached its time limit");
        Self { status: SubagentStatus::Timeout, exit_reason: "timeout", error: Some(error) }
    }

    /// Maps the end of the sub-agent's turn.
    pub(crate) fn from_end(end: TurnEnd) -> Self {
        let partial = |exit_reason, why: String| Self {
            status: SubagentStatus::Partial,
            exit_reason,
            error: Some(ToolError::limit(why)),
        };
        match end {
            TurnEnd::Done => {
                Self { status: SubagentStatus::Completed, exit_reason: "completed", error: None }
            }
            TurnEnd::Truncated => partial("cut_off", "The last message is truncated".to_owned()),
            TurnEnd::Broken(why) => {
                partial("broken", format!("The last message was interrupted: {why}"))
            }
            TurnEnd::Withheld => {
                partial("withheld", "The last message was withheld by the server".to_owned())
            }
            TurnEnd::EmptyAnswer => {
                partial("silent", "The model returned an empty answer".to_owned())
            }
            TurnEnd::Budget(what) if what.ends_with("rounds") => {
                partial("max_iterations", format!("The sub-agent has used up {what}"))
            }
            TurnEnd::Budget(what) => partial("budget", format!("The sub-agent has used up {what}")),
            TurnEnd::Interrupted => Self::interrupted(),
            TurnEnd::Halted(why) => {
                partial("halted", format!("The sub-agent was stopped for repeating calls: {why}"))
            }
            TurnEnd::UnknownTools => Self {
                exit_reason: "lost",
                ..Self::failed(ToolError::not_found(
                    "The sub-agent kept calling tools that it does not have",
                ))
            },
            TurnEnd::ModelError(fault) => {
                let silent = fault.kind == ModelErrorKind::Timeout;
                let cause = Self::failed(model_error(fault));
                if silent { Self { status: SubagentStatus::Timeout, ..cause } } else { cause }
            }
            TurnEnd::Journal(why) => Self::failed(ToolError::unavailable(why)),
        }
    }
}

/// Converts an error of the sub-agent's model. The parent did not write the
/// request, so the error must not blame its arguments.
fn model_error(fault: ModelError) -> ToolError {
    const MODEL_FAULT_HINT: &str = "The model of the sub-agent failed. Do the task yourself, \
                        or name another model; the same call would fail again.";
    let (is_passing, hint) = (fault.kind.is_transient(), fault.hint.clone());
    let error = ToolError::from(fault);
    let kind = match error.kind() {
        ErrorKind::InvalidArguments => ErrorKind::Unavailable,
        kind => kind,
    };
    let error = ToolError::new(kind, error.message());
    match hint {
        Some(hint) => error.with_hint(hint),
        None if is_passing => error,
        None => error.with_hint(MODEL_FAULT_HINT),
    }
}

/// Usage of several sub-agents.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(crate) struct UsageTotal {
    pub(crate) api_calls: u32,
    pub(crate) tool_calls: u32,
    pub(crate) tokens: TokenCounts,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cost_usd: Option<f64>,
}

impl UsageTotal {
    /// Sums the usage of `reports`.
    pub(crate) fn sum(reports: &[SubagentReport]) -> Self {
        let mut total = Self::default();
        for report in reports {
            total.api_calls += report.api_calls;
            total.tool_calls += report.tool_calls;
            total.tokens.input += report.tokens.input;
            total.tokens.output += report.tokens.output;
            if let Some(cost) = report.cost_usd {
                *total.cost_usd.get_or_insert_default() += cost;
            }
        }
        total
    }
}

impl From<BudgetUsage> for UsageTotal {
    fn from(spent: BudgetUsage) -> Self {
        let tokens = TokenCounts { input: spent.usage.input, output: spent.usage.output };
        Self {
            api_calls: spent.requests,
            tool_calls: spent.calls,
            tokens,
            cost_usd: spent.usage.cost,
        }
    }
}

/// Returns one status for several reports.
pub(crate) fn combined_status(reports: &[SubagentReport]) -> SubagentStatus {
    let all = |status| reports.iter().all(|report| report.status == status);
    if all(SubagentStatus::Completed) {
        return SubagentStatus::Completed;
    }
    let statuses = [SubagentStatus::Failed, SubagentStatus::Interrupted, SubagentStatus::Timeout];
    statuses.into_iter().find(|status| all(*status)).unwrap_or(SubagentStatus::Partial)
}
