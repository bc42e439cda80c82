//! Scheduled jobs: when they are due, how they run, and their results.
//!
//! [`JobStore`] keeps the jobs in a directory that processes share. A
//! [`RunClaim`] is a run that only one process can hold; a [`CronDaemon`]
//! claims runs and starts a child process for each. The current time is always
//! an argument, which keeps the logic deterministic.

mod calendar;
mod child_process;
mod claims;
mod daemon;
mod document;
mod error;
mod files;
mod github_requests;
mod history;
mod job;
mod job_store;
mod output;
mod run;
mod schedule;
mod span;
mod stamp;

pub use claims::RunClaim;
pub use daemon::{
    CronDaemon, CronEvent, DaemonSettings, RunCommands, StopCondition, SystemClock, WakeSignal,
    WallClock,
};
pub use error::CronError;
pub use jiff::Timestamp;
pub use job::{
    CronJob, DeliveryTarget, JobChange, JobDraft, JobState, MissedRunPolicy, RepeatCount,
};
pub use job_store::JobStore;
pub use run::{AnswerDelivery, JobRun, RunEnding, RunStatus};
pub use schedule::JobSchedule;
