//! A run of a job: how it went.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::stamp;

/// How a run has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// The task was done.
    Ok,
    /// It was not.
    Failed,
    /// There was no time left for it.
    TimedOut,
    /// Somebody stopped it.
    Cancelled,
    /// Whoever ran it is gone, and nobody knows how far it came.
    Interrupted,
    /// It was not begun, since its time had passed.
    Skipped,
    /// It was not begun, since its prompt is not what a prompt should be.
    Refused,
}

impl RunStatus {
    /// Its name.
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

/// A run that is over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobRun {
    /// Its id.
    pub id: String,
    /// The job's id.
    pub job: String,
    /// When it was due.
    #[serde(with = "stamp")]
    pub due: Timestamp,
    /// When it began.
    #[serde(with = "stamp")]
    pub started: Timestamp,
    /// When it was over.
    #[serde(with = "stamp")]
    pub ended: Timestamp,
    /// How it ended.
    pub status: RunStatus,
    /// The how-manieth attempt it was.
    #[serde(default = "first")]
    pub attempt: u32,
    /// How many slots before it had passed without a run; at most 100 are
    /// counted.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub missed: u32,
    /// The conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The file with the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// To whom the answer was sent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub delivered: Vec<AnswerDelivery>,
    /// What it took.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub usage: Value,
}

impl JobRun {
    /// As many slots that have passed are counted.
    pub const MAX_MISSED: u32 = 100;
}

/// The answer of a run, sent to somebody.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerDelivery {
    /// To whom.
    pub target: String,
    /// Why it did not get there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// What whoever has run a job knows at its end.
#[derive(Debug, Clone)]
pub struct RunEnding {
    /// How it ended.
    pub status: RunStatus,
    /// The conversation.
    pub session: Option<String>,
    /// The file with the answer.
    pub output: Option<String>,
    /// What went wrong.
    pub error: Option<String>,
    /// To whom the answer was sent.
    pub delivered: Vec<AnswerDelivery>,
    /// What it took.
    pub usage: Value,
}

impl RunEnding {
    /// Nothing but the status.
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
