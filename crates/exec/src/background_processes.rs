//! Processes that a command left running and that hold none of its streams: a
//! background server that writes elsewhere, or a program in its own session.

use std::time::Duration;

use crate::tree::{JobProcess, JobRoot, ProcessTable};

/// Poll interval for processes that cannot be waited for.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Words of commands that leave processes behind. Other leftovers are found on request
/// or at shutdown.
const BACKGROUNDING_WORDS: [&str; 11] = [
    "setsid", "setpgid", "setpgrp", "nohup", "disown", "daemon", "coproc", "tmux", "screen",
    "set -m", "monitor",
];

/// Whether a command may leave processes running, judged by its words. A false positive
/// costs one scan of the process table.
pub(crate) fn may_leave_processes(command: &str) -> bool {
    has_background_operator(command.as_bytes())
        || BACKGROUNDING_WORDS.iter().any(|word| command.contains(word))
}

/// Whether the command contains a `&` that is not part of `&&`, `>&`, `<&` or
/// `&>`.
fn has_background_operator(command: &[u8]) -> bool {
    let is_one_of = |at: Option<usize>, signs: &[u8]| {
        at.and_then(|at| command.get(at)).is_some_and(|sign| signs.contains(sign))
    };
    memchr::memchr_iter(b'&', command)
        .any(|at| !is_one_of(at.checked_sub(1), b"&<>|") && !is_one_of(Some(at + 1), b"&>"))
}

/// Whether a process of a local job still runs.
pub(crate) async fn any_running(root: &JobRoot) -> bool {
    running_processes(root).await.is_some_and(|left| !left.is_empty())
}

/// Waits until no process of a local job runs any more.
pub(crate) async fn wait_until_gone(root: &JobRoot) {
    loop {
        match running_processes(root).await {
            Some(left) if left.is_empty() => return,
            Some(left) => {
                for member in &left {
                    wait_for_exit(member).await;
                }
            }
            None => tokio::time::sleep(POLL_INTERVAL).await,
        }
    }
}

/// The running processes of a job; `None` if the process table is incomplete.
async fn running_processes(root: &JobRoot) -> Option<Vec<JobProcess>> {
    let root = root.clone();
    let look = move || {
        let table = ProcessTable::read_for(&root).ok()?;
        let found = table.members(&root);
        // Very short-lived processes may be missing from the table.
        (!found.is_empty() || table.is_complete()).then_some(found)
    };
    tokio::task::spawn_blocking(look).await.ok().flatten()
}

/// Waits for the end of a process that is not our child.
async fn wait_for_exit(member: &JobProcess) {
    #[cfg(target_os = "linux")]
    if let Some(handle) = exit_handle(member) {
        let _ = handle.readable().await;
        return;
    }
    while crate::tree::is_alive(member.pid, member.started) {
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

/// A pidfd for the process; `None` if the system has none, or the process is gone.
#[cfg(target_os = "linux")]
fn exit_handle(member: &JobProcess) -> Option<tokio::io::unix::AsyncFd<std::os::fd::OwnedFd>> {
    use rustix::process::{Pid, PidfdFlags, pidfd_open};
    let pid = i32::try_from(member.pid).ok().and_then(Pid::from_raw)?;
    let handle = pidfd_open(pid, PidfdFlags::empty()).ok()?;
    // Opened before the check, so both refer to the same process.
    if !crate::tree::is_alive(member.pid, member.started) {
        return None;
    }
    crate::async_streams::register(handle).ok()
}

#[cfg(test)]
#[path = "background_processes_tests.rs"]
mod tests;
