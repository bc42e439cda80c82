//! The processes of a job, and their termination.
//!
//! A job is the leader of its own session and carries [`JOB_VARIABLE`] in its
//! environment. Its processes are found by that session, by ancestry, and, if
//! they left both, by that variable. Processes that also cleared their
//! environment are found by the tag that was set on the first process
//! ([`hermes_sandbox::ProcessTag`]). A process is identified by its id *and*
//! its start time, since ids are reused.

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

/// The variable that identifies the job of a process and is inherited by its
/// children.
pub const JOB_VARIABLE: &str = hermes_sandbox::JOB_VARIABLE;

/// The first process of a job.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct JobRoot {
    /// Its process id, which is also its session id.
    pub pid: u32,
    /// Its start time, in the system's own unit.
    pub started: u64,
    /// The job's id, as it appears in [`JOB_VARIABLE`]. If empty, no process is
    /// looked up by mark.
    pub job: String,
}

impl JobRoot {
    /// Returns the root of a job that was just started. `None` if the process
    /// has already exited and been reaped.
    pub fn for_pid(pid: u32, job: impl Into<String>) -> Option<Self> {
        Some(Self { pid, started: start_time(pid)?, job: job.into() })
    }
}

/// One process of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobProcess {
    /// Its id.
    pub pid: u32,
    /// Its start time.
    pub started: u64,
    /// Its command line, or its name in brackets if that cannot be read.
    pub command: String,
}

/// Total resource usage of a job's processes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JobUsage {
    /// Number of processes.
    pub processes: usize,
    /// Processor time in clock ticks, including reaped children. A job whose
    /// count does not change is idle.
    pub ticks: u64,
    /// Bytes of memory. Memory shared by two processes counts twice.
    pub memory_bytes: u64,
}

/// Returns the value of [`JOB_VARIABLE`] for a job started by a process whose
/// own value is `outer`: a nested job belongs to both.
pub fn nested_mark(outer: Option<&str>, job: &str) -> String {
    match outer {
        Some(outer) if !outer.is_empty() => format!("{outer}/{job}"),
        _ => job.to_owned(),
    }
}

/// Returns the parent of a process.
pub(crate) fn parent_pid(pid: u32) -> Option<u32> {
    process::look(pid).map(|process| process.parent).filter(|parent| *parent > 1)
}

/// Returns the start time of a process; `None` if there is no such process.
pub fn start_time(pid: u32) -> Option<u64> {
    process::look(pid).map(|found| found.started)
}

/// Whether exactly that process still runs. A zombie does not count.
pub fn is_alive(pid: u32, started: u64) -> bool {
    process::look(pid).is_some_and(|found| found.started == started && found.is_alive())
}

/// Whether the process group has any member; its leader may have exited. A free
/// group id may since have been reused by another process.
pub(crate) fn has_group(group: u32) -> bool {
    let group = i32::try_from(group).ok().and_then(rustix::process::Pid::from_raw);
    // A group that may not be signalled exists as well.
    group.is_some_and(|group| {
        rustix::process::test_kill_process_group(group) != Err(rustix::io::Errno::SRCH)
    })
}

/// Returns the running processes of a job; empty if the system does not list
/// them.
pub fn members(root: &JobRoot) -> Vec<JobProcess> {
    ProcessTable::read_for(root).map(|table| table.members(root)).unwrap_or_default()
}

/// Sends a signal to every process of a job, and returns how many received it.
pub fn signal(root: &JobRoot, signal: Signal) -> usize {
    let Ok(table) = ProcessTable::read_for(root) else { return 0 };
    let found = table.find(root);
    found
        .iter()
        .filter(|it| it.is_alive() && signals::send_signal(it.pid, it.started, signal).is_ok())
        .count()
}

/// Returns the current resource usage of a job's processes.
pub fn usage(root: &JobRoot) -> JobUsage {
    ProcessTable::read_for(root).map(|table| table.usage(root)).unwrap_or_default()
}

/// Whether this process is itself part of a job, in which case it must not
/// offer to terminate it.
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
