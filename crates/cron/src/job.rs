//! A job: a task, when it is due, and how it stands. The file is shared with
//! Hermes Agent, so fields that it knows have its names, and those that are not
//! known here are kept.

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::schedule::JobSchedule;
use crate::{CronError, stamp};

/// What of a job only Hermes Agent can do.
const UNSUPPORTED_FIELDS: [&str; 6] =
    ["script", "no_agent", "skills", "context_from", "base_url", "provider"];

/// A task at set times.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CronJob {
    /// Twelve hexadecimal digits.
    pub id: String,
    /// What people call it.
    #[serde(default, deserialize_with = "or_default")]
    pub name: String,
    /// The task.
    #[serde(default, deserialize_with = "or_default")]
    pub prompt: String,
    /// When it is due.
    pub schedule: JobSchedule,
    /// The same in words.
    #[serde(default, deserialize_with = "or_default")]
    pub schedule_display: String,
    /// How often it runs.
    #[serde(default, deserialize_with = "or_default")]
    pub repeat: RepeatCount,
    /// Whether it runs at all.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// How it stands.
    #[serde(default, deserialize_with = "or_default")]
    pub state: JobState,
    /// Since when it is paused.
    #[serde(default, with = "stamp::maybe")]
    pub paused_at: Option<Timestamp>,
    /// Why it is paused.
    #[serde(default)]
    pub paused_reason: Option<String>,
    /// Since when it exists.
    #[serde(default, with = "stamp::maybe")]
    pub created_at: Option<Timestamp>,
    /// When it is due next.
    #[serde(default, with = "stamp::maybe")]
    pub next_run_at: Option<Timestamp>,
    /// When its last run began.
    #[serde(default, with = "stamp::maybe")]
    pub last_run_at: Option<Timestamp>,
    /// How that ended: `ok` or `error`.
    #[serde(default)]
    pub last_status: Option<String>,
    /// What went wrong with it.
    #[serde(default)]
    pub last_error: Option<String>,
    /// Why its answer did not reach everybody.
    #[serde(default)]
    pub last_delivery_error: Option<String>,
    /// Where the answer goes besides its file: `local`, or names of message
    /// targets with commas in between.
    #[serde(default = "local")]
    pub deliver: String,
    /// The model, instead of the usual one.
    #[serde(default)]
    pub model: Option<String>,
    /// The toolsets, instead of the usual ones.
    #[serde(default)]
    pub enabled_toolsets: Option<Vec<String>>,
    /// The folder to work in.
    #[serde(default)]
    pub workdir: Option<String>,
    /// The permission profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// How often the model is asked at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u32>,
    /// What a run may cost, in dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<f64>,
    /// How long a run may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<u64>,
    /// What becomes of runs whose time has passed.
    #[serde(default)]
    pub missed: MissedRunPolicy,
    /// Whether a run that was interrupted is begun again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub retry: bool,
    /// A run that somebody has asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<RequestedRun>,
    /// Who runs it now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<JobLease>,
    /// What Hermes Agent keeps besides.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// A run outside of the schedule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestedRun {
    /// Since when it is asked for.
    #[serde(with = "stamp")]
    pub at: Timestamp,
    /// The how-manieth attempt it is.
    pub attempt: u32,
}

/// Who runs a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobLease {
    /// The run.
    pub run: String,
    /// When it was due.
    #[serde(with = "stamp")]
    pub due: Timestamp,
    /// When it began.
    #[serde(with = "stamp")]
    pub started: Timestamp,
    /// Until when nobody else may think that it is over.
    #[serde(with = "stamp")]
    pub until: Timestamp,
    /// The how-manieth attempt it is.
    pub attempt: u32,
    /// How many slots before it have passed.
    #[serde(default)]
    pub missed: u32,
    /// The process.
    pub pid: u32,
    /// The machine, since it was last started.
    pub host: String,
}

/// How often a job runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepeatCount {
    /// So many times; without end if nothing is said.
    #[serde(default)]
    pub times: Option<u32>,
    /// So many times it has been begun.
    #[serde(default, deserialize_with = "or_default")]
    pub completed: u32,
}

/// How a job stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// It waits for its time.
    #[default]
    Scheduled,
    /// It waits until somebody lets it go on.
    Paused,
    /// It will not run again.
    Completed,
    /// It will not run again, and its last run went wrong.
    Error,
}

impl JobState {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Scheduled => "scheduled",
            Self::Paused => "paused",
            Self::Completed => "completed",
            Self::Error => "error",
        }
    }
}

/// What becomes of runs whose time has passed while nobody was there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MissedRunPolicy {
    /// None of them is made up for.
    Skip,
    /// One run stands for all.
    #[default]
    Once,
    /// The last so many are made up for, one after the other.
    All(u32),
}

impl MissedRunPolicy {
    /// The most runs that are made up for.
    pub const MAX_CATCH_UP: u32 = 100;

    /// Reads `skip`, `once`, `all` or `all:N`.
    pub fn parse(text: &str) -> Result<Self, CronError> {
        let text = text.trim().to_lowercase();
        match text.as_str() {
            "skip" => return Ok(Self::Skip),
            "once" => return Ok(Self::Once),
            "all" => return Ok(Self::All(Self::MAX_CATCH_UP)),
            _ => {}
        }
        let number = text.strip_prefix("all:").and_then(|n| n.trim().parse().ok());
        match number {
            Some(number @ 1..=Self::MAX_CATCH_UP) => Ok(Self::All(number)),
            _ => Err(CronError::Invalid(format!(
                "'{text}' is no rule for missed runs: skip, once, or all:N with N up to {}",
                Self::MAX_CATCH_UP
            ))),
        }
    }
}

impl std::fmt::Display for MissedRunPolicy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Skip => write!(f, "skip"),
            Self::Once => write!(f, "once"),
            Self::All(number) => write!(f, "all:{number}"),
        }
    }
}

/// Where an answer goes besides its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeliveryTarget {
    /// Nowhere else.
    File,
    /// To a message target.
    Message(String),
}

impl DeliveryTarget {
    /// Reads a list with commas, each target once.
    pub fn parse_list(text: &str) -> Vec<Self> {
        let mut targets = Vec::new();
        for name in text.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            let target = match name {
                "local" | "file" | "session" => Self::File,
                name => {
                    let bare = name.strip_prefix("send_message:");
                    let bare = bare.or_else(|| name.strip_prefix("message:")).unwrap_or(name);
                    Self::Message(bare.trim().to_owned())
                }
            };
            if !targets.contains(&target) {
                targets.push(target);
            }
        }
        targets
    }
}

/// A job to be.
#[derive(Debug, Clone, Default)]
pub struct JobDraft {
    /// The task.
    pub prompt: String,
    /// When it is due, as people write it.
    pub schedule: String,
    /// Everything else.
    pub change: JobChange,
}

/// What is to be changed of a job. Nothing is changed where nothing is said; an
/// empty text takes away what need not be there.
#[derive(Debug, Clone, Default)]
pub struct JobChange {
    /// What people call it.
    pub name: Option<String>,
    /// The task.
    pub prompt: Option<String>,
    /// When it is due.
    pub schedule: Option<String>,
    /// The time zone of the schedule.
    pub tz: Option<String>,
    /// How often it runs; 0 for without end.
    pub repeat: Option<u32>,
    /// Where the answer goes.
    pub deliver: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The toolsets.
    pub toolsets: Option<Vec<String>>,
    /// The folder to work in.
    pub workdir: Option<String>,
    /// The permission profile.
    pub profile: Option<String>,
    /// How often the model is asked at most.
    pub max_turns: Option<u32>,
    /// What a run may cost, in dollars.
    pub budget: Option<f64>,
    /// How long a run may take, in seconds.
    pub timeout_seconds: Option<u64>,
    /// What becomes of missed runs.
    pub missed: Option<MissedRunPolicy>,
    /// Whether a run that was interrupted is begun again.
    pub retry: Option<bool>,
}

impl CronJob {
    /// What of it only Hermes Agent can do, if anything.
    pub fn unsupported_field(&self) -> Option<&'static str> {
        UNSUPPORTED_FIELDS.into_iter().find(|key| match self.rest.get(*key) {
            None | Some(Value::Null | Value::Bool(false)) => false,
            Some(Value::String(text)) => !text.is_empty(),
            Some(Value::Array(items)) => !items.is_empty(),
            Some(_) => true,
        })
    }

    /// Where its answers go.
    pub fn targets(&self) -> Vec<DeliveryTarget> {
        DeliveryTarget::parse_list(&self.deliver)
    }

    /// Whether it will not run again.
    pub(crate) fn is_finished(&self) -> bool {
        matches!(self.state, JobState::Completed | JobState::Error)
    }

    /// Whether it waits for its time.
    pub(crate) fn is_waiting(&self) -> bool {
        self.enabled && self.state == JobState::Scheduled
    }

    /// Puts an end to it if there is nothing left to run.
    pub(crate) fn finish_if_done(&mut self, failed: bool) {
        if self.next_run_at.is_none() && self.asked.is_none() && self.is_waiting() {
            self.enabled = false;
            self.state = if failed { JobState::Error } else { JobState::Completed };
        }
    }

    /// Whether it may run once more.
    pub(crate) fn has_runs_left(&self) -> bool {
        self.repeat.times.is_none_or(|times| self.repeat.completed < times)
    }
}

fn or_default<'de, D, T>(from: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::<T>::deserialize(from)?.unwrap_or_default())
}

fn yes() -> bool {
    true
}

fn local() -> String {
    "local".into()
}
