//! Sending of signals without hitting a process that reused the id.

use rustix::io::Errno;
use rustix::process::{Pid, Signal, getpgrp, kill_process_group};

/// Sends a signal to the process with that id and start time.
pub(super) fn send_signal(pid: u32, started: u64, signal: Signal) -> Result<(), Errno> {
    let target = checked(pid)?;
    by_system(target, pid, started, signal)
}

/// Sends a signal to a whole process group atomically, so no fork can escape
/// it. The caller ensures that the group contains no other processes.
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

/// Opens the pidfd before it reads the start time, so both refer to the same
/// process even if the id is reused in between.
#[cfg(target_os = "linux")]
fn by_system(target: Pid, pid: u32, started: u64, signal: Signal) -> Result<(), Errno> {
    use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};
    match pidfd_open(target, PidfdFlags::empty()) {
        Ok(handle) => {
            same(pid, started)?;
            pidfd_send_signal(&handle, signal)
        }
        // Old kernels lack pidfds, and descriptors may have run out.
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
