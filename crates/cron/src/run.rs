//! A run of a job and its result.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::stamp;

/// The status of a finished run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// The task succeeded.
    Ok,
    /// The task failed.
    Failed,
    /// The run timed out.
    TimedOut,
    /// The run was cancelled.
    Cancelled,
    /// The process that ran it is gone; its progress is unknown.
    Interrupted,
    /// Not started: its slot had passed.
    Skipped,
    /// Not started: its prompt was rejected.
    Refused,
}

impl RunStatus {
    /// The name of the status.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Failed => "failed",
            Self::TimedOut => "timed_out",
            Self::Cancelled => "cancelled",
            Self::Interrupted => "interrupted",
            Self::Skipped => "skipped",
            Self::Refused => "refused",
        }
    }
}

/// A finished run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobRun {
    /// The run id.
    pub id: String,
    /// The job id.
    pub job: String,
    /// When it was due.
    #[serde(with = "stamp")]
    pub due: Timestamp,
    /// When it started.
    #[serde(with = "stamp")]
    pub started: Timestamp,
    /// When it ended.
    #[serde(with = "stamp")]
    pub ended: Timestamp,
    /// The status.
    pub status: RunStatus,
    /// The number of the attempt, from 1.
    #[serde(default = "first")]
    pub attempt: u32,
    /// Number of slots missed before it; at most 100 are counted.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub missed: u32,
    /// The session of the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The file with the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// The error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The deliveries of the answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub delivered: Vec<AnswerDelivery>,
    /// Token usage and cost.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub usage: Value,
}

impl JobRun {
    /// Maximum number of missed slots counted.
    pub const MAX_MISSED: u32 = 100;
}

/// A delivery of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerDelivery {
    /// The message target.
    pub target: String,
    /// Why the delivery failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The result of a run, as its executor reports it.
#[derive(Debug, Clone)]
pub struct RunEnding {
    /// The status.
    pub status: RunStatus,
    /// The session of the conversation.
    pub session: Option<String>,
    /// The file with the answer.
    pub output: Option<String>,
    /// The error.
    pub error: Option<String>,
    /// The deliveries of the answer.
    pub delivered: Vec<AnswerDelivery>,
    /// Token usage and cost.
    pub usage: Value,
}

impl RunEnding {
    /// Returns a result with only a status.
    pub fn new(status: RunStatus) -> Self {
        Self {
            status,
            session: None,
            output: None,
            error: None,
            delivered: Vec::new(),
            usage: Value::Null,
        }
    }
}

fn first() -> u32 {
    1
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}
