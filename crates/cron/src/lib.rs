//! Tasks at set times: when they are due, who runs them, how they went.
//!
//! [`Jobs`] keeps them in a folder that processes share. A run is a
//! [`Claim`], which one process holds and no other can get; a [`Daemon`] holds
//! claims and runs a program for each. The time is always an argument, so that
//! nothing here depends on when it is asked.

mod calendar;
mod child;
mod claims;
mod daemon;
mod document;
mod error;
mod files;
mod history;
mod job;
mod jobs;
mod output;
mod run;
mod schedule;
mod span;
mod stamp;

pub use claims::Claim;
pub use daemon::{Bell, Clock, Daemon, Event, Orders, Settings, SystemClock, Until};
pub use error::CronError;
pub use jiff::Timestamp;
pub use job::{Change, Draft, Job, Missed, Repeat, State, Target};
pub use jobs::Jobs;
pub use run::{Delivery, Ending, Run, Status};
pub use schedule::Schedule;
