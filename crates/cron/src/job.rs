//! A job: a task, its schedule and its state. The file is shared with Hermes
//! Agent, so known fields have its names, and unknown fields are preserved.

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::schedule::JobSchedule;
use crate::{CronError, stamp};

/// Fields of a job that only Hermes Agent supports.
const UNSUPPORTED_FIELDS: [&str; 5] = ["script", "no_agent", "skills", "base_url", "provider"];

/// A scheduled task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CronJob {
    /// Twelve hexadecimal digits.
    pub id: String,
    /// The display name.
    #[serde(default, deserialize_with = "or_default")]
    pub name: String,
    /// The task.
    #[serde(default, deserialize_with = "or_default")]
    pub prompt: String,
    /// When it is due.
    pub schedule: JobSchedule,
    /// The schedule as text.
    #[serde(default, deserialize_with = "or_default")]
    pub schedule_display: String,
    /// How many times it runs.
    #[serde(default, deserialize_with = "or_default")]
    pub repeat: RepeatCount,
    /// Whether it is enabled.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// Its state.
    #[serde(default, deserialize_with = "or_default")]
    pub state: JobState,
    /// When it was paused.
    #[serde(default, with = "stamp::maybe")]
    pub paused_at: Option<Timestamp>,
    /// Why it is paused.
    #[serde(default)]
    pub paused_reason: Option<String>,
    /// When it was created.
    #[serde(default, with = "stamp::maybe")]
    pub created_at: Option<Timestamp>,
    /// When it is due next.
    #[serde(default, with = "stamp::maybe")]
    pub next_run_at: Option<Timestamp>,
    /// When its last run started.
    #[serde(default, with = "stamp::maybe")]
    pub last_run_at: Option<Timestamp>,
    /// The status of the last run: `ok` or `error`.
    #[serde(default)]
    pub last_status: Option<String>,
    /// The error of the last run.
    #[serde(default)]
    pub last_error: Option<String>,
    /// The delivery error of the last run.
    #[serde(default)]
    pub last_delivery_error: Option<String>,
    /// Where the answer is delivered besides its file: `local`, or
    /// comma-separated message targets.
    #[serde(default = "local")]
    pub deliver: String,
    /// The model, instead of the default.
    #[serde(default)]
    pub model: Option<String>,
    /// The toolsets, instead of the defaults.
    #[serde(default)]
    pub enabled_toolsets: Option<Vec<String>>,
    /// The working directory.
    #[serde(default)]
    pub workdir: Option<String>,
    /// Ids of the jobs whose last answer the task gets; its own id makes it
    /// remember its previous run.
    #[serde(default, deserialize_with = "one_or_many", skip_serializing_if = "Vec::is_empty")]
    pub context_from: Vec<String>,
    /// The permission profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Maximum number of model requests per run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u32>,
    /// Maximum cost of a run, in dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<f64>,
    /// Timeout of a run, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<u64>,
    /// What happens to missed runs.
    #[serde(default)]
    pub missed: MissedRunPolicy,
    /// Whether an interrupted run is retried.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub retry: bool,
    /// A run requested outside the schedule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<RequestedRun>,
    /// The process that runs it now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<JobLease>,
    /// Other fields of Hermes Agent.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// A run requested outside the schedule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestedRun {
    /// When it was requested.
    #[serde(with = "stamp")]
    pub at: Timestamp,
    /// The number of the attempt, from 1.
    pub attempt: u32,
}

/// The claim of a process on a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobLease {
    /// The run id.
    pub run: String,
    /// When it was due.
    #[serde(with = "stamp")]
    pub due: Timestamp,
    /// When it started.
    #[serde(with = "stamp")]
    pub started: Timestamp,
    /// When the lease expires unless it is renewed.
    #[serde(with = "stamp")]
    pub until: Timestamp,
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// Number of slots missed before it.
    #[serde(default)]
    pub missed: u32,
    /// The process id.
    pub pid: u32,
    /// The boot id of the machine.
    pub host: String,
}

/// How many times a job runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepeatCount {
    /// Maximum number of runs; none for unlimited.
    #[serde(default)]
    pub times: Option<u32>,
    /// Number of runs started so far.
    #[serde(default, deserialize_with = "or_default")]
    pub completed: u32,
}

/// The state of a job.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// Waiting for its next slot.
    #[default]
    Scheduled,
    /// Paused until it is resumed.
    Paused,
    /// Finished; it will not run again.
    Completed,
    /// Finished after its last run failed.
    Error,
}

impl JobState {
    /// The name of the state.
    pub fn name(self) -> &'static str {
        match self {
            Self::Scheduled => "scheduled",
            Self::Paused => "paused",
            Self::Completed => "completed",
            Self::Error => "error",
        }
    }
}

/// What happens to runs that were missed while no daemon was running.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MissedRunPolicy {
    /// Skip them.
    Skip,
    /// Replace them with one run.
    #[default]
    Once,
    /// Catch up on the last N, one after the other.
    All(u32),
}

impl MissedRunPolicy {
    /// Maximum number of runs to catch up on.
    pub const MAX_CATCH_UP: u32 = 100;

    /// Parses `skip`, `once`, `all` or `all:N`.
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
                "'{text}' is not a policy for missed runs: use skip, once, or all:N with N up \
                 to {}",
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

/// Where an answer is delivered besides its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeliveryTarget {
    /// Nowhere else.
    File,
    /// A message target.
    Message(String),
}

impl DeliveryTarget {
    /// Parses a comma-separated list, without duplicates.
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

/// A job to be created.
#[derive(Debug, Clone, Default)]
pub struct JobDraft {
    /// The task.
    pub prompt: String,
    /// The schedule as the user writes it.
    pub schedule: String,
    /// All other fields.
    pub change: JobChange,
}

/// Changes to a job. `None` leaves a field unchanged; an empty text clears an
/// optional field.
#[derive(Debug, Clone, Default)]
pub struct JobChange {
    /// The display name.
    pub name: Option<String>,
    /// The task.
    pub prompt: Option<String>,
    /// The schedule.
    pub schedule: Option<String>,
    /// The time zone of the schedule.
    pub tz: Option<String>,
    /// Maximum number of runs; 0 for unlimited.
    pub repeat: Option<u32>,
    /// Where the answer is delivered.
    pub deliver: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The toolsets.
    pub toolsets: Option<Vec<String>>,
    /// The working directory.
    pub workdir: Option<String>,
    /// Ids or names of the jobs whose last answer the task gets; `self` is the
    /// job.
    pub context_from: Option<Vec<String>>,
    /// The permission profile.
    pub profile: Option<String>,
    /// Maximum number of model requests per run.
    pub max_turns: Option<u32>,
    /// Maximum cost of a run, in dollars.
    pub budget: Option<f64>,
    /// Timeout of a run, in seconds.
    pub timeout_seconds: Option<u64>,
    /// What happens to missed runs.
    pub missed: Option<MissedRunPolicy>,
    /// Whether an interrupted run is retried.
    pub retry: Option<bool>,
}

impl CronJob {
    /// Returns a field in use that only Hermes Agent supports, if any.
    pub fn unsupported_field(&self) -> Option<&'static str> {
        UNSUPPORTED_FIELDS.into_iter().find(|key| match self.rest.get(*key) {
            None | Some(Value::Null | Value::Bool(false)) => false,
            Some(Value::String(text)) => !text.is_empty(),
            Some(Value::Array(items)) => !items.is_empty(),
            Some(_) => true,
        })
    }

    /// Returns where its answers are delivered.
    pub fn targets(&self) -> Vec<DeliveryTarget> {
        DeliveryTarget::parse_list(&self.deliver)
    }

    /// Whether it will not run again.
    pub(crate) fn is_finished(&self) -> bool {
        matches!(self.state, JobState::Completed | JobState::Error)
    }

    /// Whether it waits for its next slot.
    pub(crate) fn is_waiting(&self) -> bool {
        self.enabled && self.state == JobState::Scheduled
    }

    /// Marks the job as finished if nothing is left to run.
    pub(crate) fn finish_if_done(&mut self, failed: bool) {
        if self.next_run_at.is_none() && self.asked.is_none() && self.is_waiting() {
            self.enabled = false;
            self.state = if failed { JobState::Error } else { JobState::Completed };
        }
    }

    /// Whether it may run again.
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

/// Reads a text, a list of texts or null.
fn one_or_many<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Names {
        One(String),
        Many(Vec<String>),
    }
    Ok(match Option::<Names>::deserialize(from)? {
        None => Vec::new(),
        Some(Names::One(name)) => Some(name).filter(|name| !name.is_empty()).into_iter().collect(),
        Some(Names::Many(names)) => names,
    })
}

fn yes() -> bool {
    true
}

fn local() -> String {
    "local".into()
}
