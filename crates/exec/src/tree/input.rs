//! Whether a process has stopped to read what somebody should type.

use super::{Member, Root, Table};

/// Whether a process is blocked reading its terminal, or reading the standard
/// input that its session was started with. `false` when it cannot be known.
///
/// A program that waits for keys with `poll` or the like counts if its
/// terminal hands over every key at once, which only those set that mean to
/// read it. A reader in the middle of a pipeline does not count: it waits for
/// another program.
pub fn is_waiting_for_input(pid: u32) -> bool {
    super::process::look(pid).is_some_and(|it| system::is_waiting(&it))
}

/// The first process of a job that waits for input.
pub fn waiting(root: &Root) -> Option<Member> {
    let table = Table::read_for(root).ok()?;
    let found = table.find(root);
    let found = found.into_iter().find(|it| it.is_alive() && system::is_waiting(it))?;
    Some(super::table::describe(found))
}

#[cfg(not(target_os = "linux"))]
mod system {
    use crate::tree::process::Process;

    /// Nothing here tells what a process is blocked in.
    pub(super) fn is_waiting(_process: &Process) -> bool {
        false
    }
}

#[cfg(target_os = "linux")]
mod system {
    use std::fs;
    use std::path::PathBuf;

    use rustix::fs::{Mode, OFlags, open};
    use rustix::termios::{LocalModes, tcgetattr};

    use crate::tree::process::Process;

    /// More threads than this are not looked at.
    const MOST_THREADS: usize = 64;

    #[cfg(target_arch = "x86_64")]
    mod call {
        pub(super) const READS: &[u64] = &[0, 19];
        pub(super) const POLLS: &[u64] = &[7, 23, 232, 270, 271, 281, 441];
    }
    #[cfg(any(target_arch = "aarch64", target_arch = "riscv64"))]
    mod call {
        pub(super) const READS: &[u64] = &[63, 65];
        pub(super) const POLLS: &[u64] = &[22, 72, 73, 441];
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")))]
    mod call {
        pub(super) const READS: &[u64] = &[];
        pub(super) const POLLS: &[u64] = &[];
    }

    pub(super) fn is_waiting(process: &Process) -> bool {
        // A blocked process sleeps; the rest need not be looked at.
        if process.state != b'S' {
            return false;
        }
        let pid = process.pid;
        if process.threads <= 1 {
            return is_thread_waiting(process, &format!("/proc/{pid}"));
        }
        let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return false };
        threads
            .flatten()
            .take(MOST_THREADS)
            .any(|thread| is_thread_waiting(process, &thread.path().to_string_lossy()))
    }

    fn is_thread_waiting(process: &Process, folder: &str) -> bool {
        let Ok(line) = fs::read_to_string(format!("{folder}/syscall")) else {
            return is_in_terminal_read(process, folder);
        };
        let mut words = line.split_ascii_whitespace();
        let Some(call) = words.next().and_then(|word| word.parse::<u64>().ok()) else {
            return false;
        };
        if call::READS.contains(&call) {
            let word = words.next().and_then(|word| word.strip_prefix("0x"));
            let Some(number) = word.and_then(|word| u64::from_str_radix(word, 16).ok()) else {
                return false;
            };
            return is_for_people(process, number);
        }
        call::POLLS.contains(&call) && is_taking_keys(process)
    }

    /// Without the call itself, only a place in the kernel that is nothing
    /// but reading a terminal is proof.
    fn is_in_terminal_read(process: &Process, folder: &str) -> bool {
        let place = fs::read_to_string(format!("{folder}/wchan")).unwrap_or_default();
        matches!(place.trim(), "n_tty_read" | "tty_read") && is_terminal(&target(process.pid, 0))
    }

    /// Whether what is read there comes from a person, or from whoever
    /// started the job.
    fn is_for_people(process: &Process, number: u64) -> bool {
        let read = target(process.pid, number);
        if is_terminal(&read) {
            return true;
        }
        number == 0 && read.is_some() && read == target(process.session, 0)
    }

    fn is_taking_keys(process: &Process) -> bool {
        if process.foreground != process.group || !is_terminal(&target(process.pid, 0)) {
            return false;
        }
        let flags = OFlags::RDONLY | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let Ok(terminal) = open(format!("/proc/{}/fd/0", process.pid), flags, Mode::empty()) else {
            return false;
        };
        tcgetattr(&terminal).is_ok_and(|modes| !modes.local_modes.contains(LocalModes::ICANON))
    }

    fn target(pid: u32, number: u64) -> Option<PathBuf> {
        fs::read_link(format!("/proc/{pid}/fd/{number}")).ok()
    }

    fn is_terminal(target: &Option<PathBuf>) -> bool {
        let Some(name) = target.as_ref().and_then(|path| path.to_str()) else { return false };
        name.starts_with("/dev/pts/") || name.starts_with("/dev/tty") || name == "/dev/console"
    }
}

#[cfg(test)]
#[path = "input_tests.rs"]
mod tests;
