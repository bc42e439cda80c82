//! Detection of processes that are blocked waiting for user input.

use super::process::ProcessStat;
use super::{JobProcess, JobRoot, ProcessTable};
use crate::backend::InputWait;

/// Whether a process is blocked reading its terminal, or reading the standard
/// input that its session was started with. Returns `false` if unknown.
///
/// A program that waits for keys with `poll` or similar counts if its terminal
/// is in non-canonical mode, which only programs that read keys set. A reader
/// in the middle of a pipeline does not count: it waits for another program.
pub fn is_waiting_for_input(pid: u32) -> bool {
    super::process::look(pid).is_some_and(|it| system::waiting(&it) != InputWait::NotWaiting)
}

/// Returns the first process of a job that waits for input.
pub fn waiting_process(root: &JobRoot) -> Option<JobProcess> {
    let table = ProcessTable::read_for(root).ok()?;
    let found = table.find(root);
    let is_waiting =
        |it: &&ProcessStat| it.is_alive() && system::waiting(it) != InputWait::NotWaiting;
    found.into_iter().find(is_waiting).map(super::table::to_job_process)
}

/// Returns what the processes of a job wait for.
pub fn input_wait(root: &JobRoot) -> InputWait {
    let Ok(table) = ProcessTable::read_for(root) else { return InputWait::NotWaiting };
    let found = table.find(root).into_iter().filter(|it| it.is_alive());
    found.map(system::waiting).max().unwrap_or(InputWait::NotWaiting)
}

#[cfg(not(target_os = "linux"))]
mod system {
    use crate::backend::InputWait;
    use crate::tree::process::ProcessStat;

    /// This platform does not report what a process is blocked on.
    pub(super) fn waiting(_process: &ProcessStat) -> InputWait {
        InputWait::NotWaiting
    }
}

#[cfg(target_os = "linux")]
mod system {
    use std::fs;
    use std::path::PathBuf;

    use rustix::fs::{Mode, OFlags, open};
    use rustix::termios::{LocalModes, tcgetattr};

    use crate::backend::InputWait;
    use crate::tree::process::ProcessStat;

    /// Threads beyond this number are not inspected.
    const MAX_THREADS: usize = 64;

    /// Numbers of the read and poll system calls. Each poll call comes with the
    /// index of its timeout argument: a number, or a pointer to one.
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
    /// Timeout arguments that mean no timeout: -1 or a null pointer.
    const ENDLESS_TIMEOUTS: [u64; 3] = [0, 0xffff_ffff, u64::MAX];

    pub(super) fn waiting(process: &ProcessStat) -> InputWait {
        // A blocked process is sleeping; skip all others.
        if process.state != b'S' {
            return InputWait::NotWaiting;
        }
        let pid = process.pid;
        if process.threads <= 1 {
            return thread_wait(process, &format!("/proc/{pid}"));
        }
        let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else {
            return InputWait::NotWaiting;
        };
        let threads = threads.flatten().take(MAX_THREADS);
        let waits = threads.map(|thread| thread_wait(process, &thread.path().to_string_lossy()));
        waits.max().unwrap_or(InputWait::NotWaiting)
    }

    fn thread_wait(process: &ProcessStat, dir: &str) -> InputWait {
        let typing = |is_so: bool| if is_so { InputWait::Blocked } else { InputWait::NotWaiting };
        let Ok(line) = fs::read_to_string(format!("{dir}/syscall")) else {
            return typing(is_in_terminal_read(process, dir));
        };
        let mut words = line.split_ascii_whitespace();
        let Some(call) = words.next().and_then(|word| word.parse::<u64>().ok()) else {
            return InputWait::NotWaiting;
        };
        let mut argument = |at: usize| {
            let word = words.nth(at).and_then(|word| word.strip_prefix("0x"));
            word.and_then(|word| u64::from_str_radix(word, 16).ok())
        };
        if call::READS.contains(&call) {
            return typing(argument(0).is_some_and(|number| is_user_input(process, number)));
        }
        let Some((_, at)) = call::POLLS.iter().find(|(known, _)| *known == call) else {
            return InputWait::NotWaiting;
        };
        if !is_reading_keys(process) {
            return InputWait::NotWaiting;
        }
        match argument(*at) {
            Some(limit) if !ENDLESS_TIMEOUTS.contains(&limit) => InputWait::Polling,
            _ => InputWait::Blocked,
        }
    }

    /// Without the system call number, only a kernel wait channel that is
    /// specific to terminal reads is proof.
    fn is_in_terminal_read(process: &ProcessStat, dir: &str) -> bool {
        let place = fs::read_to_string(format!("{dir}/wchan")).unwrap_or_default();
        matches!(place.trim(), "n_tty_read" | "tty_read") && is_terminal(&fd_target(process.pid, 0))
    }

    /// Whether the descriptor reads from a terminal or from the standard input
    /// that the job was started with.
    fn is_user_input(process: &ProcessStat, number: u64) -> bool {
        let read = fd_target(process.pid, number);
        if is_terminal(&read) {
            return true;
        }
        number == 0 && read.is_some() && read == fd_target(process.session, 0)
    }

    fn is_reading_keys(process: &ProcessStat) -> bool {
        if process.foreground != process.group || !is_terminal(&fd_target(process.pid, 0)) {
            return false;
        }
        let flags = OFlags::RDONLY | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let Ok(terminal) = open(format!("/proc/{}/fd/0", process.pid), flags, Mode::empty()) else {
            return false;
        };
        tcgetattr(&terminal).is_ok_and(|modes| !modes.local_modes.contains(LocalModes::ICANON))
    }

    fn fd_target(pid: u32, number: u64) -> Option<PathBuf> {
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
