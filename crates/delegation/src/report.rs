//! What a sub-agent's work has come to, as its parent is told.

use hermes_agent::{TurnEnd, BudgetUsage};
use hermes_core::{ErrorKind, ToolError};
use hermes_llm::{ModelError, ModelErrorKind};
use serde::Serialize;

use crate::board::{Change, Step};

/// How a sub-agent has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Status {
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

impl Status {
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
pub(crate) struct Artifact {
    pub(crate) path: String,
    pub(crate) change: Change,
}

/// Tokens sent and answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Tokens {
    pub(crate) input: u64,
    pub(crate) output: u64,
}

/// Why it ended, beyond its status.
#[derive(Debug, Clone)]
pub(crate) struct Cause {
    pub(crate) status: Status,
    /// The reason, for programs.
    pub(crate) exit_reason: &'static str,
    /// What went wrong, if something did.
    pub(crate) error: Option<ToolError>,
}

/// What a sub-agent's work has come to.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Report {
    pub(crate) task_index: usize,
    pub(crate) goal: String,
    pub(crate) status: Status,
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
    pub(crate) artifacts: Vec<Artifact>,
    pub(crate) api_calls: u32,
    pub(crate) tool_calls: u32,
    pub(crate) tokens: Tokens,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cost_usd: Option<f64>,
    pub(crate) duration_seconds: f64,
    pub(crate) model: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) session_id: String,
    /// What it called last.
    pub(crate) tool_trace: Vec<Step>,
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

impl Cause {
    /// It was stopped.
    pub(crate) fn interrupted() -> Self {
        Self { status: Status::Interrupted, exit_reason: "interrupted", error: None }
    }

    /// It could not do it.
    pub(crate) fn failed(error: ToolError) -> Self {
        Self { status: Status::Failed, exit_reason: "error", error: Some(error) }
    }

    /// Its time was up.
    pub(crate) fn late() -> Self {
        let error = ToolError::new(ErrorKind::Timeout, "Its time was up");
        Self { status: Status::Timeout, exit_reason: "timeout", error: Some(error) }
    }

    /// By how its turn has ended.
    pub(crate) fn of(end: TurnEnd) -> Self {
        let partial = |exit_reason, why: String| Self {
            status: Status::Partial,
            exit_reason,
            error: Some(ToolError::limit(why)),
        };
        match end {
            TurnEnd::Done => Self { status: Status::Completed, exit_reason: "completed", error: None },
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
                let cause = Self::failed(of_model(fault));
                if silent { Self { status: Status::Timeout, ..cause } } else { cause }
            }
            TurnEnd::Journal(why) => Self::failed(ToolError::unavailable(why)),
        }
    }
}

/// A fault of the model behind a sub-agent, as the parent is told of it. The
/// request was not the parent's, so nothing is wrong with its arguments.
fn of_model(fault: ModelError) -> ToolError {
    const HINT: &str = "The model of the sub-agent did not answer. Do the task yourself, or name \
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
        None => error.with_hint(HINT),
    }
}

/// What all of them took together.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(crate) struct Total {
    pub(crate) api_calls: u32,
    pub(crate) tool_calls: u32,
    pub(crate) tokens: Tokens,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cost_usd: Option<f64>,
}

impl Total {
    /// Of these.
    pub(crate) fn of(reports: &[Report]) -> Self {
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

impl From<BudgetUsage> for Total {
    fn from(spent: BudgetUsage) -> Self {
        let tokens = Tokens { input: spent.usage.input, output: spent.usage.output };
        Self { api_calls: spent.requests, tool_calls: spent.calls, tokens, cost_usd: spent.usage.cost }
    }
}

/// One word for several.
pub(crate) fn status_of(reports: &[Report]) -> Status {
    let all = |status| reports.iter().all(|report| report.status == status);
    if all(Status::Completed) {
        return Status::Completed;
    }
    let statuses = [Status::Failed, Status::Interrupted, Status::Timeout];
    statuses.into_iter().find(|status| all(*status)).unwrap_or(Status::Partial)
}
