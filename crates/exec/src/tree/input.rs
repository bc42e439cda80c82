//! Whether a process has stopped to read what somebody should type.

use super::process::Process;
use super::{Member, Root, Table};
use crate::backend::Waiting;

/// Whether a process is blocked reading its terminal, or reading the standard
/// input that its session was started with. `false` when it cannot be known.
///
/// A program that waits for keys with `poll` or the like counts if its
/// terminal hands over every key at once, which only those set that mean to
/// read it. A reader in the middle of a pipeline does not count: it waits for
/// another program.
pub fn is_waiting_for_input(pid: u32) -> bool {
    super::process::look(pid).is_some_and(|it| system::waiting(&it) != Waiting::Nothing)
}

/// The first process of a job that waits for input.
pub fn waiting(root: &Root) -> Option<Member> {
    let table = Table::read_for(root).ok()?;
    let found = table.find(root);
    let is_waiting = |it: &&Process| it.is_alive() && system::waiting(it) != Waiting::Nothing;
    found.into_iter().find(is_waiting).map(super::table::describe)
}

/// What the processes of a job wait for.
pub fn waiting_for(root: &Root) -> Waiting {
    let Ok(table) = Table::read_for(root) else { return Waiting::Nothing };
    let found = table.find(root).into_iter().filter(|it| it.is_alive());
    found.map(system::waiting).max().unwrap_or(Waiting::Nothing)
}

#[cfg(not(target_os = "linux"))]
mod system {
    use crate::backend::Waiting;
    use crate::tree::process::Process;

    /// Nothing here tells what a process is blocked in.
    pub(super) fn waiting(_process: &Process) -> Waiting {
        Waiting::Nothing
    }
}

#[cfg(target_os = "linux")]
mod system {
    use std::fs;
    use std::path::PathBuf;

    use rustix::fs::{Mode, OFlags, open};
    use rustix::termios::{LocalModes, tcgetattr};

    use crate::backend::Waiting;
    use crate::tree::process::Process;

    /// More threads than this are not looked at.
    const MOST_THREADS: usize = 64;

    /// Calls that wait for one of several, and which of their arguments says
    /// for how long: a number, or the place of one.
    #[cfg(target_arch = "x86_64")]
    mod call {
        pub(super) const READS: &[u64] = &[0, 19];
        pub(super) const POLLS: &[(u64, usize)] =
            &[(7, 2), (23, 4), (232, 3), (270, 4), (271, 2), (281, 3), (441, 3)];
    }
    #[cfg(any(target_arch = "aarch64", target_arch = "riscv64"))]
    mod call {
        pub(super) const READS: &[u64] = &[63, 65];
        pub(super) const POLLS: &[(u64, usize)] = &[(22, 3), (72, 4), (73, 2), (441, 3)];
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")))]
    mod call {
        pub(super) const READS: &[u64] = &[];
        pub(super) const POLLS: &[(u64, usize)] = &[];
    }
    /// That say: without end. A number of -1, or no place.
    const ENDLESS: [u64; 3] = [0, 0xffff_ffff, u64::MAX];

    pub(super) fn waiting(process: &Process) -> Waiting {
        // A blocked process sleeps; the rest need not be looked at.
        if process.state != b'S' {
            return Waiting::Nothing;
        }
        let pid = process.pid;
        if process.threads <= 1 {
            return of_thread(process, &format!("/proc/{pid}"));
        }
        let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else {
            return Waiting::Nothing;
        };
        let threads = threads.flatten().take(MOST_THREADS);
        let waits = threads.map(|thread| of_thread(process, &thread.path().to_string_lossy()));
        waits.max().unwrap_or(Waiting::Nothing)
    }

    fn of_thread(process: &Process, folder: &str) -> Waiting {
        let typing = |is_so: bool| if is_so { Waiting::Typing } else { Waiting::Nothing };
        let Ok(line) = fs::read_to_string(format!("{folder}/syscall")) else {
            return typing(is_in_terminal_read(process, folder));
        };
        let mut words = line.split_ascii_whitespace();
        let Some(call) = words.next().and_then(|word| word.parse::<u64>().ok()) else {
            return Waiting::Nothing;
        };
        let mut argument = |at: usize| {
            let word = words.nth(at).and_then(|word| word.strip_prefix("0x"));
            word.and_then(|word| u64::from_str_radix(word, 16).ok())
        };
        if call::READS.contains(&call) {
            return typing(argument(0).is_some_and(|number| is_for_people(process, number)));
        }
        let Some((_, at)) = call::POLLS.iter().find(|(known, _)| *known == call) else {
            return Waiting::Nothing;
        };
        if !is_taking_keys(process) {
            return Waiting::Nothing;
        }
        match argument(*at) {
            Some(limit) if !ENDLESS.contains(&limit) => Waiting::Glance,
            _ => Waiting::Typing,
        }
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
