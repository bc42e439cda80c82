//! Short-lived helper processes that create namespaces step by step, for this
//! process to open.

use std::io::{self, PipeReader, PipeWriter, Read};
use std::os::fd::{AsRawFd, RawFd};

use parking_lot::Mutex;

use super::child::errno;

/// Two helpers at once would inherit each other's pipe ends.
pub(super) static FORK_LOCK: Mutex<()> = Mutex::new(());

/// The pipe ends of a helper process.
#[derive(Debug, Clone, Copy)]
pub(super) struct HelperPipes {
    pub(super) report: RawFd,
    pub(super) wait: RawFd,
    pub(super) go: RawFd,
}

/// A short-lived process that creates namespaces step by step, for this process
/// to open.
#[derive(Debug)]
pub(super) struct HelperProcess {
    process: i32,
    reports: PipeReader,
    go: PipeWriter,
}

impl HelperProcess {
    /// Forks. `work` makes only system calls and never returns.
    pub(super) fn fork(work: impl FnOnce(HelperPipes)) -> io::Result<Self> {
        let (reports, report) = io::pipe()?;
        let (wait, go) = io::pipe()?;
        let ends =
            HelperPipes { report: report.as_raw_fd(), wait: wait.as_raw_fd(), go: go.as_raw_fd() };
        // SAFETY: the new process makes only system calls and never returns
        // here.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                work(ends);
                // SAFETY: exits the process immediately.
                unsafe { libc::_exit(1) }
            }
            process => Ok(Self { process, reports, go }),
        }
    }

    /// Drives the process through its steps and reaps it.
    pub(super) fn drive<T, E>(
        mut self,
        steer: impl FnOnce(i32, &mut PipeReader, &mut PipeWriter) -> Result<T, E>,
    ) -> Result<T, E> {
        let made = steer(self.process, &mut self.reports, &mut self.go);
        let Self { process, go, .. } = self;
        drop(go);
        // SAFETY: the process is a child of this one that no other thread waits
        // for.
        unsafe {
            if made.is_err() {
                libc::kill(process, libc::SIGKILL);
            }
            while libc::waitpid(process, std::ptr::null_mut(), 0) < 0
                && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
            {}
        }
        made
    }
}

pub(super) fn next_report(reports: &mut PipeReader) -> io::Result<(i32, i32)> {
    let mut bytes = [0_u8; 8];
    reports.read_exact(&mut bytes)?;
    let [a, b, c, d, e, f, g, h] = bytes;
    Ok((i32::from_ne_bytes([a, b, c, d]), i32::from_ne_bytes([e, f, g, h])))
}

pub(super) fn send_report(report: RawFd, stage: i32, error: i32) {
    let words = [stage, error];
    // SAFETY: two words are read from a live array; a pipe writes eight bytes
    // atomically.
    unsafe { libc::write(report, words.as_ptr().cast(), size_of_val(&words)) };
}

/// Waits for a byte of the parent, and exits if the parent is gone.
pub(super) fn wait_for_byte(wait: RawFd) {
    let mut byte = 0_u8;
    // SAFETY: one byte is written to a live variable.
    unsafe {
        loop {
            match libc::read(wait, (&raw mut byte).cast(), 1) {
                1 => return,
                -1 if errno() == libc::EINTR => {}
                _ => libc::_exit(1),
            }
        }
    }
}
