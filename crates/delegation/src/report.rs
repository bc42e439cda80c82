//! What a sub-agent's work has come to, as its parent is told.

use hermes_agent::{BudgetUsage, TurnEnd};
use hermes_core::{ErrorKind, ToolError};
use hermes_llm::{ModelError, ModelErrorKind};
use serde::Serialize;

use crate::progress_board::{ChangeKind, TracedCall};

/// How a sub-agent has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SubagentStatus {
    /// It has said that it is through.
    Completed,
    /// It had to end before that, and says how far it came.
    Partial,
    /// Its time was up.
    Timeout,
    /// It was stopped.
    Interrupted,
    /// It could not do it.
    Failed,
}

impl SubagentStatus {
    /// Its name.
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

/// A file that a sub-agent has changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct FileArtifact {
    pub(crate) path: String,
    pub(crate) change: ChangeKind,
}

/// Tokens sent and answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(crate) struct TokenCounts {
    pub(crate) input: u64,
    pub(crate) output: u64,
}

/// Why it ended, beyond its status.
#[derive(Debug, Clone)]
pub(crate) struct EndCause {
    pub(crate) status: SubagentStatus,
    /// The reason, for programs.
    pub(crate) exit_reason: &'static str,
    /// What went wrong, if something did.
    pub(crate) error: Option<ToolError>,
}

/// What a sub-agent's work has come to.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct SubagentReport {
    pub(crate) task_index: usize,
    pub(crate) goal: String,
    pub(crate) status: SubagentStatus,
    pub(crate) exit_reason: &'static str,
    /// What it said last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) summary: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) summary_truncated: bool,
    /// Whether it has read what strangers wrote, so that its summary is theirs
    /// in part.
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
    /// What it called last.
    pub(crate) tool_trace: Vec<TracedCall>,
    /// How much it called before that.
    #[serde(skip_serializing_if = "is_none")]
    pub(crate) tool_trace_omitted: u32,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) notes: Vec<String>,
    #[serde(skip)]
    pub(crate) kind: Option<ErrorKind>,
}

// Taken by reference, as serde hands it over.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_none(count: &u32) -> bool {
    *count == 0
}

impl EndCause {
    /// It was stopped.
    pub(crate) fn interrupted() -> Self {
        Self { status: SubagentStatus::Interrupted, exit_reason: "interrupted", error: None }
    }

    /// It could not do it.
    pub(crate) fn failed(error: ToolError) -> Self {
        Self { status: SubagentStatus::Failed, exit_reason: "error", error: Some(error) }
    }

    /// Its time was up.
    pub(crate) fn timed_out() -> Self {
        let error = ToolError::new(ErrorKind::Timeout, "Its time was up");
        Self { status: SubagentStatus::Timeout, exit_reason: "timeout", error: Some(error) }
    }

    /// By how its turn has ended.
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
            TurnEnd::Truncated => partial("cut_off", "Its last message is cut off".to_owned()),
            TurnEnd::Broken(why) => partial("broken", format!("Its last message broke off: {why}")),
            TurnEnd::Withheld => partial("withheld", "Its last message was held back".to_owned()),
            TurnEnd::EmptyAnswer => partial("silent", "It has answered nothing".to_owned()),
            TurnEnd::Budget(what) if what.ends_with("rounds") => {
                partial("max_iterations", format!("It has used up {what}"))
            }
            TurnEnd::Budget(what) => partial("budget", format!("It has used up {what}")),
            TurnEnd::Interrupted => Self::interrupted(),
            TurnEnd::Halted(why) => partial("halted", format!("It went in circles: {why}")),
            TurnEnd::UnknownTools => Self {
                exit_reason: "lost",
                ..Self::failed(ToolError::not_found(
                    "It asked again and again for tools that it does not have",
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

/// A fault of the model behind a sub-agent, as the parent is told of it. The
/// request was not the parent's, so nothing is wrong with its arguments.
fn model_error(fault: ModelError) -> ToolError {
    const MODEL_FAULT_HINT: &str = "The model of the sub-agent did not answer. Do the task yourself, or name \
                        another model; the same call would fail again.";
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

/// What all of them took together.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(crate) struct UsageTotal {
    pub(crate) api_calls: u32,
    pub(crate) tool_calls: u32,
    pub(crate) tokens: TokenCounts,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cost_usd: Option<f64>,
}

impl UsageTotal {
    /// Of these.
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

/// One word for several.
pub(crate) fn combined_status(reports: &[SubagentReport]) -> SubagentStatus {
    let all = |status| reports.iter().all(|report| report.status == status);
    if all(SubagentStatus::Completed) {
        return SubagentStatus::Completed;
    }
    let statuses = [SubagentStatus::Failed, SubagentStatus::Interrupted, SubagentStatus::Timeout];
    statuses.into_iter().find(|status| all(*status)).unwrap_or(SubagentStatus::Partial)
}
