//! A server that runs, and the line to it: calls go out, answers come back,
//! many at a time.

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use hermes_core::{Grants, ProgressUpdate, ProgressSink, Scope, ToolError};
use hermes_exec::output::OutputStream;
use hermes_exec::{ProcessControl, SpawnedProcess};
use tokio::sync::oneshot;

use crate::wire::{self, Call, Outcome, Reply, Request};

/// How long the other end has to say its first word.
const FIRST: Duration = Duration::from_secs(30);

/// Within the time that the other end may be silent it is asked so often
/// whether somebody is there.
const ROUNDS: u32 = 6;

/// How long one that is told to go may take.
const GRACE: Duration = Duration::from_secs(2);

/// Bytes that a pipe may hold.
const ROOM: usize = 1024 * 1024;

/// Bytes that are sent at a time.
const PIECE: usize = 64 * 1024;

/// A host may greet first, but not for ever.
const CHATTER: usize = 256 * 1024;

/// What is remembered of its complaints.
const COMPLAINTS: usize = 4096;

/// What came of starting it.
pub(crate) enum Begun {
    Runs(Arc<Link>),
    /// It is not there.
    Missing,
}

/// The line broke before the answer came.
#[derive(Debug)]
pub(crate) struct Lost {
    /// Whether the call may have got there.
    pub(crate) begun: bool,
    /// Whether it is still there, and nobody answers.
    pub(crate) silent: bool,
}

/// A line to a server.
pub(crate) struct Link {
    line: Arc<Line>,
    control: Box<dyn ProcessControl>,
    complaints: Arc<Mutex<Vec<u8>>>,
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link").field("control", &self.control).finish_non_exhaustive()
    }
}

/// What both threads and all calls share.
struct Line {
    state: Mutex<State>,
    next: AtomicU64,
    /// When something last went either way.
    moved: Mutex<Instant>,
}

struct State {
    /// None when it is broken or closed.
    out: Option<mpsc::Sender<(Option<u64>, Vec<u8>)>>,
    waiting: HashMap<u64, Waiting>,
}

struct Waiting {
    answer: oneshot::Sender<Result<Outcome, Lost>>,
    begun: bool,
    grants: Arc<Grants>,
    tool: Arc<str>,
    progress: Option<Arc<dyn ProgressSink>>,
}

/// Who makes a call, for what comes back before the answer.
pub(crate) struct Asking {
    pub(crate) grants: Arc<Grants>,
    pub(crate) tool: Arc<str>,
    pub(crate) progress: Option<Arc<dyn ProgressSink>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Link {
    /// Listens to a server that has been started, until it has greeted.
    pub(crate) async fn begin(started: SpawnedProcess, place: &str) -> Result<Begun, ToolError> {
        let SpawnedProcess { output, input, control, .. } = started;
        let failed = |error: io::Error| ToolError::io(format!("{place} cannot be heard"), &error);
        let (mut stdout, mut stderr) = (None, None);
        for (source, fd) in output {
            let file = blocking(fd).map_err(failed)?;
            let slot = if source == OutputStream::Stdout { &mut stdout } else { &mut stderr };
            *slot = Some(file);
        }
        let complaints: Arc<Mutex<Vec<u8>>> = Arc::default();
        if let Some(stderr) = stderr {
            let kept = Arc::clone(&complaints);
            thread::Builder::new()
                .name("hands-errors".to_owned())
                .spawn(move || listen(stderr, &kept))
                .map_err(failed)?;
        }
        let none = || failed(io::ErrorKind::NotConnected.into());
        let (stdout, input) = (stdout.ok_or_else(none)?, input.ok_or_else(none)?);
        let (out, frames) = mpsc::channel();
        let line = Arc::new(Line {
            state: Mutex::new(State { out: Some(out), waiting: HashMap::new() }),
            next: AtomicU64::new(0),
            moved: Mutex::new(Instant::now()),
        });
        let input = blocking(input).map_err(failed)?;
        let weak = Arc::downgrade(&line);
        thread::Builder::new()
            .name("hands-write".to_owned())
            .spawn(move || write(input, &frames, &weak))
            .map_err(failed)?;
        let (greeted, greeting) = oneshot::channel();
        let weak = Arc::downgrade(&line);
        thread::Builder::new()
            .name("hands-read".to_owned())
            .spawn(move || {
                let mut stdout = BufReader::new(stdout);
                let said = greet(&mut stdout);
                let runs = matches!(said, Ok(Some(())));
                let _ = greeted.send(said);
                if runs {
                    read(Noticed(stdout, &weak), &weak);
                }
                if let Some(line) = weak.upgrade() {
                    line.break_off();
                }
            })
            .map_err(failed)?;
        let link = Self { line, control, complaints };
        match tokio::time::timeout(FIRST, greeting).await {
            Ok(Ok(Ok(Some(())))) => Ok(Begun::Runs(Arc::new(link))),
            Ok(Ok(Ok(None))) => {
                link.close().await;
                Ok(Begun::Missing)
            }
            other => {
                link.close().await;
                let why = match other {
                    Ok(Ok(Err(error))) => error.to_string(),
                    _ => "no answer came".to_owned(),
                };
                Err(link.silent(place, &why))
            }
        }
    }

    fn silent(&self, place: &str, why: &str) -> ToolError {
        let said = self.last_words().map(|said| format!(": {said}")).unwrap_or_default();
        ToolError::unavailable(format!("The file tools cannot be started in {place}: {why}{said}"))
            .with_hint(
                "The `terminal` tool shows what is wrong there; commands such as cat and sed do \
                 without the file tools.",
            )
    }

    /// What it last complained of.
    pub(crate) fn last_words(&self) -> Option<String> {
        let said = lock(&self.complaints);
        let said = String::from_utf8_lossy(&said);
        said.trim().lines().next_back().map(|line| line.trim().to_owned())
    }

    /// Whether it can still be spoken to.
    pub(crate) fn is_open(&self) -> bool {
        lock(&self.line.state).out.is_some()
    }

    /// Sends a call. The answer comes by itself.
    pub(crate) fn send(
        &self,
        mut call: Call,
        asking: Asking,
    ) -> Result<(u64, oneshot::Receiver<Result<Outcome, Lost>>), ToolError> {
        let id = self.line.next.fetch_add(1, Ordering::Relaxed);
        call.id = id;
        let frame = wire::encode(&Request::Call(Box::new(call)))
            .map_err(|error| ToolError::limit(format!("The call cannot be sent: {error}")))?;
        let (answer, answered) = oneshot::channel();
        let Asking { grants, tool, progress } = asking;
        let mut state = lock(&self.line.state);
        let waiting = Waiting { answer, begun: false, grants, tool, progress };
        state.waiting.insert(id, waiting);
        let sent = state.out.as_ref().is_some_and(|out| out.send((Some(id), frame)).is_ok());
        if !sent && let Some(waiting) = state.waiting.remove(&id) {
            let _ = waiting.answer.send(Err(Lost { begun: false, silent: false }));
        }
        Ok((id, answered))
    }

    /// Comes back when there was no sign of life for long, though one was
    /// asked for. The line is of no more use then.
    pub(crate) async fn fallen_silent(&self, limit: Duration) {
        let began = Instant::now();
        loop {
            tokio::time::sleep(limit / ROUNDS).await;
            let moved = *lock(&self.line.moved);
            if moved.max(began).elapsed() >= limit {
                self.line.break_off();
                return;
            }
            self.line.say(&Request::Ping);
        }
    }

    /// Has a call stopped.
    pub(crate) fn cancel(&self, id: u64) {
        self.line.say(&Request::Cancel { id });
    }

    /// Ends the server, if it runs.
    pub(crate) async fn close(&self) {
        lock(&self.line.state).out = None;
        // Without a line it goes by itself.
        if tokio::time::timeout(GRACE, self.control.wait()).await.is_err() {
            self.control.terminate(GRACE).await;
        }
    }

    /// Clears away what is left of one that is gone.
    pub(crate) async fn bury(&self) {
        self.control.terminate(Duration::ZERO).await;
        let _ = tokio::time::timeout(GRACE, self.control.wait()).await;
    }
}

impl Drop for Link {
    /// One that was not closed, such as one that nobody waited for until it
    /// was open.
    fn drop(&mut self) {
        self.control.abandon();
    }
}

impl Line {
    fn say(&self, request: &Request) {
        let Ok(frame) = wire::encode(request) else { return };
        if let Some(out) = &lock(&self.state).out {
            let _ = out.send((None, frame));
        }
    }

    /// Nothing comes any more.
    fn break_off(&self) {
        let waiting = {
            let mut state = lock(&self.state);
            state.out = None;
            std::mem::take(&mut state.waiting)
        };
        for (_, call) in waiting {
            let _ = call.answer.send(Err(Lost { begun: call.begun, silent: false }));
        }
    }

    fn take(&self, reply: Reply) {
        match reply {
            Reply::Hello { .. } | Reply::Pong => {}
            Reply::Answer { id, outcome } => {
                let waiting = lock(&self.state).waiting.remove(&id);
                if let Some(waiting) = waiting {
                    let _ = waiting.answer.send(Ok(outcome));
                }
            }
            Reply::Progress { id, fraction, message } => {
                let sink = lock(&self.state).waiting.get(&id).and_then(|call| {
                    Some((Arc::clone(call.progress.as_ref()?), Arc::clone(&call.tool)))
                });
                if let Some((sink, tool)) = sink {
                    sink.report(&tool, &ProgressUpdate { fraction, message });
                }
            }
            Reply::Question { id, question, scope, paths } => {
                let grants =
                    lock(&self.state).waiting.get(&id).map(|call| Arc::clone(&call.grants));
                let scope = Scope::named(scope);
                let is_closed = |path: PathBuf| match &grants {
                    Some(grants) => grants.denies(&scope, &path),
                    // Nobody waits for that call any more.
                    None => true,
                };
                let closed = paths.into_iter().map(PathBuf::from).map(is_closed).collect();
                self.say(&Request::Closed { question, closed });
            }
        }
    }
}

/// The stream as a file that waits.
fn blocking(fd: OwnedFd) -> io::Result<File> {
    rustix::io::ioctl_fionbio(&fd, false)?;
    Ok(File::from(fd))
}

/// Waits for the greeting; none if the program is not there.
fn greet(stdout: &mut impl BufRead) -> io::Result<Option<()>> {
    let mut heard = 0;
    let mut text = Vec::new();
    loop {
        text.clear();
        let got = stdout.by_ref().take(CHATTER as u64).read_until(b'\n', &mut text)?;
        heard += got;
        if text.ends_with(wire::MISSING) {
            return Ok(None);
        }
        if text.ends_with(wire::GREETING) {
            break;
        }
        if got == 0 {
            return Err(io::Error::other("it ended at once"));
        }
        if heard > CHATTER {
            return Err(io::Error::other("something else answers"));
        }
    }
    match wire::receive(stdout)? {
        Some(Reply::Hello { protocol: wire::PROTOCOL, .. }) => Ok(Some(())),
        Some(Reply::Hello { version, .. }) => {
            Err(io::Error::other(format!("version {version} is there, which speaks otherwise")))
        }
        _ => Err(io::Error::other("something else answers")),
    }
}

fn read(mut stdout: impl Read, line: &Weak<Line>) {
    while let Ok(Some(reply)) = wire::receive(&mut stdout) {
        let Some(line) = line.upgrade() else { return };
        line.take(reply);
    }
}

/// A stream whose movements are noticed: a long message on a slow line is a
/// sign of life.
struct Noticed<'a, S>(S, &'a Weak<Line>);

impl<S> Noticed<'_, S> {
    fn note(&self, moved: io::Result<usize>) -> io::Result<usize> {
        if let (Ok(1..), Some(line)) = (&moved, self.1.upgrade()) {
            *lock(&line.moved) = Instant::now();
        }
        moved
    }
}

impl<S: Read> Read for Noticed<'_, S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let got = self.0.read(buffer);
        self.note(got)
    }
}

impl<S: Write> Write for Noticed<'_, S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // A pipe takes more only when there is room, so that a long one is
        // noticed on its way.
        let sent = self.0.write(bytes.get(..PIECE).unwrap_or(bytes));
        self.note(sent)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

fn write(mut input: File, frames: &mpsc::Receiver<(Option<u64>, Vec<u8>)>, weak: &Weak<Line>) {
    while let Ok((id, frame)) = frames.recv() {
        let Some(line) = weak.upgrade() else { return };
        if let Some(id) = id {
            match lock(&line.state).waiting.get_mut(&id) {
                Some(call) => call.begun = true,
                // Given up before it was sent.
                None => continue,
            }
        }
        // That a pipe takes something says nothing of the other end, unless
        // there is more than it holds.
        let sent = match frame.len() > ROOM {
            true => wire::send(&mut Noticed(&mut input, weak), &frame),
            false => wire::send(&mut input, &frame),
        };
        if sent.is_err() {
            line.break_off();
            return;
        }
    }
}

fn listen(mut stderr: impl Read, kept: &Mutex<Vec<u8>>) {
    let mut buffer = [0; 1024];
    while let Ok(got) = stderr.read(&mut buffer) {
        if got == 0 {
            return;
        }
        let mut kept = lock(kept);
        kept.extend_from_slice(buffer.get(..got).unwrap_or_default());
        let spare = kept.len().saturating_sub(COMPLAINTS);
        kept.drain(..spare);
    }
}
