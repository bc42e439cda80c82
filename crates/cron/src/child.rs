//! A program in a process group of its own, watched until nothing of it is
//! left.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use serde_json::Value;

/// The longest line of output that is read; longer ones are passed over.
const LINE: usize = 32 * 1024 * 1024;

/// How much of the messages is kept.
const TAIL: usize = 8 * 1024;

/// How often the program is looked at.
const STEP: Duration = Duration::from_millis(20);

/// How long to wait for output when the program is gone.
const DRAIN: Duration = Duration::from_secs(1);

/// What the program reads.
#[derive(Debug)]
pub(crate) enum Input {
    File(File),
    Text(String),
}

/// How long it may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) time: Duration,
    /// Between asking it to end and ending it.
    pub(crate) grace: Duration,
}

/// Why it is over.
#[derive(Debug)]
pub(crate) enum Over {
    Exited(ExitStatus),
    TimedOut,
    /// It was to be stopped; why.
    Stopped(&'static str),
}

/// What came of it.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) over: Over,
    /// The last line of its output that is a JSON object.
    pub(crate) last: Option<Value>,
    /// The end of its messages.
    pub(crate) messages: String,
}

/// Runs a program to its end. `halt` is asked again and again, and says why it
/// is to be stopped.
pub(crate) fn attend(
    mut command: Command,
    input: Input,
    limits: Limits,
    halt: &mut dyn FnMut() -> Option<&'static str>,
) -> io::Result<Ended> {
    let (stdin, text) = match input {
        Input::File(file) => (Stdio::from(file), None),
        Input::Text(text) => (Stdio::piped(), Some(text)),
    };
    command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn()?;
    // The command still has the handle that it gave away.
    drop(command);
    if let (Some(text), Some(mut stdin)) = (text, child.stdin.take()) {
        std::thread::spawn(move || stdin.write_all(text.as_bytes()));
    }
    let (lines, said) = mpsc::channel();
    let (tail, messages) = mpsc::channel();
    if let Some(stdout) = child.stdout.take() {
        std::thread::spawn(move || read_lines(stdout, &lines));
    }
    if let Some(stderr) = child.stderr.take() {
        std::thread::spawn(move || tail.send(read_tail(stderr)));
    }
    let mut last = None;
    let over = watch(&mut child, limits, &said, &mut last, halt)?;
    let end = Instant::now() + DRAIN;
    while let Ok(value) = said.recv_timeout(end.saturating_duration_since(Instant::now())) {
        last = Some(value);
    }
    let messages = messages.recv_timeout(DRAIN).unwrap_or_default();
    Ok(Ended { over, last, messages })
}

fn watch(
    child: &mut Child,
    limits: Limits,
    said: &Receiver<Value>,
    last: &mut Option<Value>,
    halt: &mut dyn FnMut() -> Option<&'static str>,
) -> io::Result<Over> {
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let group = group.ok_or_else(|| io::Error::other("the program has no process id"))?;
    let end = Instant::now() + limits.time;
    let mut ended_for = None;
    let mut asked_at = None;
    loop {
        if is_gone(group)? {
            // What the program has left behind ends with it. It is not reaped
            // yet, so its number cannot be that of another group.
            let _ = kill_process_group(group, Signal::KILL);
            let status = child.wait()?;
            return Ok(ended_for.unwrap_or(Over::Exited(status)));
        }
        if ended_for.is_none() {
            ended_for = match halt() {
                Some(why) => Some(Over::Stopped(why)),
                None if Instant::now() >= end => Some(Over::TimedOut),
                None => None,
            };
            if ended_for.is_some() {
                asked_at = Some(Instant::now());
                let _ = kill_process_group(group, Signal::TERM);
            }
        } else if asked_at.is_some_and(|at: Instant| at.elapsed() >= limits.grace) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        match said.recv_timeout(STEP) {
            Ok(value) => *last = Some(value),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => std::thread::sleep(STEP),
        }
    }
}

/// Whether the program has ended, without reaping it.
fn is_gone(pid: Pid) -> io::Result<bool> {
    let how = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    Ok(waitid(WaitId::Pid(pid), how)?.is_some())
}

/// Sends on what is a JSON object.
fn read_lines(from: impl Read, to: &Sender<Value>) {
    let mut from = BufReader::new(from);
    let mut line = Vec::new();
    loop {
        line.clear();
        let room = u64::try_from(LINE).unwrap_or(u64::MAX);
        match from.by_ref().take(room).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            // The rest of it is read as lines of their own, which are no JSON.
            Ok(_) => {}
        }
        if let Ok(value @ Value::Object(_)) = serde_json::from_slice::<Value>(&line)
            && to.send(value).is_err()
        {
            return;
        }
    }
}

/// The last bytes of what there is to read.
fn read_tail(mut from: impl Read) -> String {
    let mut kept: Vec<u8> = Vec::new();
    let mut piece = [0; 4096];
    while let Ok(count @ 1..) = from.read(&mut piece) {
        kept.extend_from_slice(piece.get(..count).unwrap_or_default());
        let over = kept.len().saturating_sub(2 * TAIL);
        if over > 0 {
            kept.drain(..over);
        }
    }
    let from = kept.len().saturating_sub(TAIL);
    String::from_utf8_lossy(kept.get(from..).unwrap_or_default()).into_owned()
}
