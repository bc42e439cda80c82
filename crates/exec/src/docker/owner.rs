//! The owner of a container: a process on this machine, which may have exited.

use crate::job_records;
use crate::tree;

/// Returns an identifier of this process that is unique across machines and
/// restarts.
pub(super) fn current_owner() -> String {
    let (pid, started) = job_records::current_process();
    format!("{}.{pid}.{started}", pid_namespace())
}

/// Whether an owner is known to have exited.
pub(super) fn is_gone(owner: &str) -> bool {
    let mut parts = owner.rsplitn(3, '.');
    let (started, pid, place) = (parts.next(), parts.next(), parts.next());
    let number = |text: Option<&str>| text.and_then(|text| text.parse::<u64>().ok());
    match (number(pid), number(started)) {
        (Some(pid), Some(started)) if place == Some(&pid_namespace()) => {
            !tree::is_alive(u32::try_from(pid).unwrap_or_default(), started)
        }
        // Processes of another machine or container are not visible.
        _ => false,
    }
}

/// Whether an owner is another process that is known to be alive.
pub(super) fn is_other_live(owner: &str) -> bool {
    let is_near = owner.rsplitn(3, '.').nth(2) == Some(&pid_namespace());
    owner != current_owner() && is_near && !is_gone(owner)
}

/// The namespace in which process ids are valid.
fn pid_namespace() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let names = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    let names: String = names.to_string_lossy().chars().filter(char::is_ascii_digit).collect();
    format!("{}-{names}", boot.trim())
}
