//! Tasks at set times: when they are due, who runs them, how they went.
//!
//! [`JobStore`] keeps them in a folder that processes share. A run is a
//! [`RunClaim`], which one process holds and no other can get; a [`CronDaemon`] holds
//! claims and runs a program for each. The time is always an argument, so that
//! nothing here depends on when it is asked.

mod calendar;
mod child_process;
mod claims;
mod daemon;
mod document;
mod error;
mod files;
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
