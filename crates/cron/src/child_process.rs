//! A child process in its own process group, supervised until the whole group
//! is gone.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use serde_json::Value;

/// Maximum length of an output line; longer lines are ignored.
const MAX_LINE_BYTES: usize = 32 * 1024 * 1024;

/// How much of stderr is kept.
const STDERR_TAIL_BYTES: usize = 8 * 1024;

/// How often the child process is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// How long to wait for remaining output after the child process has exited.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// Stdin of the child process.
#[derive(Debug)]
pub(crate) enum ChildInput {
    File(File),
    Text(String),
}

/// Time limits of a child process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProcessLimits {
    pub(crate) time: Duration,
    /// Time between SIGTERM and SIGKILL.
    pub(crate) grace: Duration,
}

/// How a child process ended.
#[derive(Debug)]
pub(crate) enum ChildEnd {
    Exited(ExitStatus),
    TimedOut,
    /// It was stopped for this reason.
    Stopped(&'static str),
}

/// The outcome of a child process.
#[derive(Debug)]
pub(crate) struct ChildOutcome {
    pub(crate) end: ChildEnd,
    /// The last line of stdout that is a JSON object.
    pub(crate) last: Option<Value>,
    /// The end of stderr.
    pub(crate) messages: String,
}

/// Runs a child process to its end. `halt` is polled and returns a reason to
/// stop it.
pub(crate) fn run_child(
    mut command: Command,
    input: ChildInput,
    limits: ProcessLimits,
    halt: &mut dyn FnMut() -> Option<&'static str>,
) -> io::Result<ChildOutcome> {
    let (stdin, text) = match input {
        ChildInput::File(file) => (Stdio::from(file), None),
        ChildInput::Text(text) => (Stdio::piped(), Some(text)),
    };
    command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn()?;
    // The command still holds the handle that it passed on.
    drop(command);
    if let (Some(text), Some(mut stdin)) = (text, child.stdin.take()) {
        std::thread::spawn(move || stdin.write_all(text.as_bytes()));
    }
    let (lines, said) = mpsc::channel();
    let (tail, messages) = mpsc::channel();
    if let Some(stdout) = child.stdout.take() {
        std::thread::spawn(move || read_lines(stdout, MAX_LINE_BYTES, &lines));
    }
    if let Some(stderr) = child.stderr.take() {
        std::thread::spawn(move || tail.send(read_tail(stderr)));
    }
    let mut last = None;
    let over = supervise(&mut child, limits, &said, &mut last, halt)?;
    let end = Instant::now() + DRAIN_TIMEOUT;
    while let Ok(value) = said.recv_timeout(end.saturating_duration_since(Instant::now())) {
        last = Some(value);
    }
    let messages = messages.recv_timeout(DRAIN_TIMEOUT).unwrap_or_default();
    Ok(ChildOutcome { end: over, last, messages })
}

fn supervise(
    child: &mut Child,
    limits: ProcessLimits,
    said: &Receiver<Value>,
    last: &mut Option<Value>,
    halt: &mut dyn FnMut() -> Option<&'static str>,
) -> io::Result<ChildEnd> {
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let group = group.ok_or_else(|| io::Error::other("the child process has no process id"))?;
    let end = Instant::now() + limits.time;
    let mut ended_for = None;
    let mut asked_at = None;
    loop {
        if has_exited(group)? {
            // Kill what the child process left behind. It is not reaped yet, so
            // its id cannot belong to another group.
            let _ = kill_process_group(group, Signal::KILL);
            let status = child.wait()?;
            return Ok(ended_for.unwrap_or(ChildEnd::Exited(status)));
        }
        if ended_for.is_none() {
            ended_for = match halt() {
                Some(why) => Some(ChildEnd::Stopped(why)),
                None if Instant::now() >= end => Some(ChildEnd::TimedOut),
                None => None,
            };
            if ended_for.is_some() {
                asked_at = Some(Instant::now());
                let _ = kill_process_group(group, Signal::TERM);
            }
        } else if asked_at.is_some_and(|at: Instant| at.elapsed() >= limits.grace) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        match said.recv_timeout(POLL_INTERVAL) {
            Ok(value) => *last = Some(value),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => std::thread::sleep(POLL_INTERVAL),
        }
    }
}

/// Whether the child process has exited, without reaping it.
fn has_exited(pid: Pid) -> io::Result<bool> {
    let how = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    Ok(waitid(WaitId::Pid(pid), how)?.is_some())
}

/// Sends each line that is a JSON object, and ignores longer ones.
fn read_lines(from: impl Read, max_bytes: usize, to: &Sender<Value>) {
    let mut from = BufReader::new(from);
    let mut line = Vec::new();
    let mut is_too_long = false;
    loop {
        line.clear();
        let room = u64::try_from(max_bytes).unwrap_or(u64::MAX);
        match from.by_ref().take(room).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        // A piece of a longer line may look like an object.
        let was_too_long = is_too_long;
        is_too_long = line.len() >= max_bytes && !line.ends_with(b"\n");
        if was_too_long || is_too_long {
            continue;
        }
        if let Ok(value @ Value::Object(_)) = serde_json::from_slice::<Value>(&line)
            && to.send(value).is_err()
        {
            return;
        }
    }
}

/// Returns the last bytes of a stream.
fn read_tail(mut from: impl Read) -> String {
    let mut kept: Vec<u8> = Vec::new();
    let mut piece = [0; 4096];
    while let Ok(count @ 1..) = from.read(&mut piece) {
        kept.extend_from_slice(piece.get(..count).unwrap_or_default());
        let over = kept.len().saturating_sub(2 * STDERR_TAIL_BYTES);
        if over > 0 {
            kept.drain(..over);
        }
    }
    let from = kept.len().saturating_sub(STDERR_TAIL_BYTES);
    String::from_utf8_lossy(kept.get(from..).unwrap_or_default()).into_owned()
}

#[cfg(test)]
#[path = "child_process_tests.rs"]
mod tests;
