//! What a command has left running that holds none of its streams: a server
//! that was sent to the background and writes elsewhere, a program that has
//! made itself a session of its own.

use std::time::Duration;

use crate::tree::{Member, Root, Table};

/// How often those are looked at that cannot be waited for.
const ROUND: Duration = Duration::from_secs(1);

/// Words of commands that leave something behind. Whatever else does is found
/// when it is asked for, or when all ends.
const WORDS: [&str; 11] = [
    "setsid", "setpgid", "setpgrp", "nohup", "disown", "daemon", "coproc", "tmux", "screen",
    "set -m", "monitor",
];

/// Whether a command may leave something running, by its words. What only looks
/// like it costs one look at all processes.
pub(crate) fn are_likely(command: &str) -> bool {
    sends_away(command.as_bytes()) || WORDS.iter().any(|word| command.contains(word))
}

/// Whether there is a `&` that is no part of `&&`, `>&`, `<&` or `&>`.
fn sends_away(command: &[u8]) -> bool {
    let is_one_of = |at: Option<usize>, signs: &[u8]| {
        at.and_then(|at| command.get(at)).is_some_and(|sign| signs.contains(sign))
    };
    memchr::memchr_iter(b'&', command)
        .any(|at| !is_one_of(at.checked_sub(1), b"&<>|") && !is_one_of(Some(at + 1), b"&>"))
}

/// Whether something of a job of this machine still runs.
pub(crate) async fn are_there(root: &Root) -> bool {
    look(root).await.is_some_and(|left| !left.is_empty())
}

/// Waits until nothing of a job of this machine runs any more.
pub(crate) async fn gone(root: &Root) {
    loop {
        match look(root).await {
            Some(left) if left.is_empty() => return,
            Some(left) => {
                for member in &left {
                    end_of(member).await;
                }
            }
            None => tokio::time::sleep(ROUND).await,
        }
    }
}

/// Those of a job that still run; none if they cannot be seen for now.
async fn look(root: &Root) -> Option<Vec<Member>> {
    let root = root.clone();
    let look = move || {
        let table = Table::read_for(&root).ok()?;
        let found = table.members(&root);
        // Of those that come and go too fast, one may have been missed.
        (!found.is_empty() || table.is_settled()).then_some(found)
    };
    tokio::task::spawn_blocking(look).await.ok().flatten()
}

/// Waits for the end of a process that is no child of ours.
async fn end_of(member: &Member) {
    #[cfg(target_os = "linux")]
    if let Some(handle) = handle(member) {
        let _ = handle.readable().await;
        return;
    }
    while crate::tree::is_alive(member.pid, member.started) {
        tokio::time::sleep(ROUND).await;
    }
}

/// What tells of its end; none where the system has no such thing, or if it is
/// gone already.
#[cfg(target_os = "linux")]
fn handle(member: &Member) -> Option<tokio::io::unix::AsyncFd<std::os::fd::OwnedFd>> {
    use rustix::process::{Pid, PidfdFlags, pidfd_open};
    let pid = i32::try_from(member.pid).ok().and_then(Pid::from_raw)?;
    let handle = pidfd_open(pid, PidfdFlags::empty()).ok()?;
    // Opened first and looked at after: so the two are of one process.
    if !crate::tree::is_alive(member.pid, member.started) {
        return None;
    }
    crate::ready::watch(handle).ok()
}

#[cfg(test)]
#[path = "strays_tests.rs"]
mod tests;
