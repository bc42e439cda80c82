//! All processes of a job, and how they are ended.
//!
//! A job is the head of its own session and carries [`MARK`] in its
//! environment. Its processes are found by that session, by ancestry, and, if
//! they left both, by the mark; those that have cleared their environment
//! besides, by the stamp that was put on the first of them
//! ([`hermes_sandbox::SyncFileStamp`]). A process is known by its id *and* its start
//! time, since ids are given out again.

mod input;
#[cfg(target_os = "linux")]
mod proc;
mod process;
#[cfg(any(test, not(target_os = "linux")))]
mod ps;
mod signals;
mod stopper;
mod table;
mod termination;

use std::collections::HashSet;

pub use input::{input_wait, is_waiting_for_input, waiting_process};
pub use rustix::process::Signal;
pub use table::ProcessTable;
pub use termination::{
    JobTermination, SurvivalReason, SurvivingProcess, TerminationReport, TerminationStep, terminate,
};

/// The variable that tells a process, and all that it starts, which job it
/// belongs to.
pub const JOB_VARIABLE: &str = hermes_sandbox::JOB_VARIABLE;

/// The first process of a job.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct JobRoot {
    /// Its id, which is also the id of its session.
    pub pid: u32,
    /// When it started, in the system's own count.
    pub started: u64,
    /// The job's id, as it stands in [`MARK`]. With an empty one nothing is
    /// looked up by mark.
    pub job: String,
}

impl JobRoot {
    /// The root of a job that was just started. `None` if the process is gone
    /// already and has been waited for.
    pub fn for_pid(pid: u32, job: impl Into<String>) -> Option<Self> {
        Some(Self { pid, started: start_time(pid)?, job: job.into() })
    }
}

/// One process of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobProcess {
    /// Its id.
    pub pid: u32,
    /// When it started.
    pub started: u64,
    /// Its command line, or its name in brackets where that cannot be read.
    pub command: String,
}

/// What the processes of a job take, all together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JobUsage {
    /// How many there are.
    pub processes: usize,
    /// Processor time in clock ticks, with that of children that were waited
    /// for. A job whose count stands still is idle.
    pub ticks: u64,
    /// Bytes of memory. What two of them share counts twice.
    pub memory_bytes: u64,
}

/// The value of [`MARK`] for a job that is started by a process whose own
/// value is `outer`: a job within a job belongs to both.
pub fn nested_mark(outer: Option<&str>, job: &str) -> String {
    match outer {
        Some(outer) if !outer.is_empty() => format!("{outer}/{job}"),
        _ => job.to_owned(),
    }
}

/// The process that started a process.
pub(crate) fn parent_pid(pid: u32) -> Option<u32> {
    process::look(pid).map(|process| process.parent).filter(|parent| *parent > 1)
}

/// When a process started; `None` if there is no such process.
pub fn start_time(pid: u32) -> Option<u64> {
    process::look(pid).map(|found| found.started)
}

/// Whether that very process still runs. One that has ended and was not yet
/// waited for does not.
pub fn is_alive(pid: u32, started: u64) -> bool {
    process::look(pid).is_some_and(|found| found.started == started && found.is_alive())
}

/// Whether somebody is in this group: its first process may be gone. A number
/// that is free may be a stranger's by now.
pub(crate) fn has_group(group: u32) -> bool {
    let group = i32::try_from(group).ok().and_then(rustix::process::Pid::from_raw);
    // One that may not be signalled is there as well.
    group.is_some_and(|group| {
        rustix::process::test_kill_process_group(group) != Err(rustix::io::Errno::SRCH)
    })
}

/// The processes of a job that still run; none where the system does not say.
pub fn members(root: &JobRoot) -> Vec<JobProcess> {
    ProcessTable::read_for(root).map(|table| table.members(root)).unwrap_or_default()
}

/// Sends a signal to every process of a job, and says to how many.
pub fn signal(root: &JobRoot, signal: Signal) -> usize {
    let Ok(table) = ProcessTable::read_for(root) else { return 0 };
    let found = table.find(root);
    found
        .iter()
        .filter(|it| it.is_alive() && signals::send_signal(it.pid, it.started, signal).is_ok())
        .count()
}

/// What the processes of a job take at this moment.
pub fn usage(root: &JobRoot) -> JobUsage {
    ProcessTable::read_for(root).map(|table| table.usage(root)).unwrap_or_default()
}

/// Whether this process is itself part of a job, in which case it must not
/// offer to end it.
pub(crate) fn contains_self(table: &ProcessTable, root: &JobRoot) -> bool {
    let ours: HashSet<u32> = table.protected();
    table.find_all(root).iter().any(|it| ours.contains(&it.pid))
}

#[cfg(test)]
#[path = "fixture_tests.rs"]
pub(crate) mod fixture;

#[cfg(test)]
#[path = "members_tests.rs"]
mod members_tests;
