//! Signals to a process that is surely the one that is meant.

use rustix::io::Errno;
use rustix::process::{Pid, Signal, getpgrp, kill_process_group};

/// Sends a signal to the process of that id and start time.
pub(super) fn send_signal(pid: u32, started: u64, signal: Signal) -> Result<(), Errno> {
    let target = checked(pid)?;
    by_system(target, pid, started, signal)
}

/// Sends a signal to a whole group in one step, which no fork can outrun. The
/// caller knows that nobody else is in it.
pub(super) fn send_group_signal(group: u32, signal: Signal) -> Result<(), Errno> {
    let target = checked(group)?;
    if target == getpgrp() {
        return Err(Errno::PERM);
    }
    kill_process_group(target, signal)
}

fn checked(pid: u32) -> Result<Pid, Errno> {
    if pid <= 1 || pid == std::process::id() {
        return Err(Errno::PERM);
    }
    i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(Errno::SRCH)
}

/// The handle is opened first and the start time read after, so that the two
/// are of one process even if the id changes hands in between.
#[cfg(target_os = "linux")]
fn by_system(target: Pid, pid: u32, started: u64, signal: Signal) -> Result<(), Errno> {
    use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};
    match pidfd_open(target, PidfdFlags::empty()) {
        Ok(handle) => {
            same(pid, started)?;
            pidfd_send_signal(&handle, signal)
        }
        // Old kernels have no handles, and descriptors may have run out.
        Err(Errno::NOSYS | Errno::MFILE | Errno::NFILE) => directly(target, pid, started, signal),
        Err(error) => Err(error),
    }
}

#[cfg(not(target_os = "linux"))]
fn by_system(target: Pid, pid: u32, started: u64, signal: Signal) -> Result<(), Errno> {
    directly(target, pid, started, signal)
}

fn directly(target: Pid, pid: u32, started: u64, signal: Signal) -> Result<(), Errno> {
    same(pid, started)?;
    rustix::process::kill_process(target, signal)
}

fn same(pid: u32, started: u64) -> Result<(), Errno> {
    if super::start_time(pid) == Some(started) { Ok(()) } else { Err(Errno::SRCH) }
}
