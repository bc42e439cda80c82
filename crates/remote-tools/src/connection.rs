//! A running server and the connection to it, which multiplexes calls.

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use hermes_core::{Grants, ProgressCallback, ProgressUpdate, Scope, ToolError};
use hermes_exec::output::OutputStream;
use hermes_exec::{ProcessControl, SpawnedProcess};
use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::wire::{self, ClientMessage, RemoteCall, RemoteOutcome, ServerMessage};

/// Timeout for the greeting of the remote end.
const GREETING_TIMEOUT: Duration = Duration::from_secs(30);

/// Number of pings within the silence timeout.
const PINGS_PER_TIMEOUT: u32 = 6;

/// Grace period for the server to exit.
const CLOSE_GRACE: Duration = Duration::from_secs(2);

/// Maximum capacity of a pipe in bytes.
const PIPE_BYTES: usize = 1024 * 1024;

/// Bytes written at a time.
const WRITE_CHUNK_BYTES: usize = 64 * 1024;

/// Maximum size of a login banner before the greeting.
const MAX_BANNER_BYTES: usize = 256 * 1024;

/// Bytes of stderr that are kept.
const MAX_STDERR_BYTES: usize = 4096;

/// The result of starting the server.
pub(crate) enum LaunchResult {
    Running(Arc<ServerConnection>),
    /// The program is not installed.
    Missing,
}

/// The connection broke before the response arrived.
#[derive(Debug)]
pub(crate) struct ConnectionLost {
    /// Whether the call may have reached the server.
    pub(crate) may_have_run: bool,
    /// Whether the connection is open but the server does not respond.
    pub(crate) is_silent: bool,
}

/// A connection to a server.
pub(crate) struct ServerConnection {
    shared: Arc<ConnectionShared>,
    control: Box<dyn ProcessControl>,
    stderr_tail: Arc<Mutex<Vec<u8>>>,
}

impl fmt::Debug for ServerConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerConnection").field("control", &self.control).finish_non_exhaustive()
    }
}

/// State shared by both threads and all calls.
struct ConnectionShared {
    state: Mutex<ConnectionQueues>,
    next_id: AtomicU64,
    /// When data was last transferred in either direction.
    last_activity: Mutex<Instant>,
}

struct ConnectionQueues {
    /// `None` when broken or closed.
    out: Option<mpsc::Sender<(Option<u64>, Vec<u8>)>>,
    waiting: HashMap<u64, PendingCall>,
}

struct PendingCall {
    answer: oneshot::Sender<Result<RemoteOutcome, ConnectionLost>>,
    is_sent: bool,
    grants: Arc<Grants>,
    tool: Arc<str>,
    progress: Option<ProgressCallback>,
}

/// The caller's context, for messages that arrive before the response.
pub(crate) struct CallHandlers {
    pub(crate) grants: Arc<Grants>,
    pub(crate) tool: Arc<str>,
    pub(crate) progress: Option<ProgressCallback>,
}

impl ServerConnection {
    /// Connects to a started server and waits for its greeting.
    pub(crate) async fn connect(
        started: SpawnedProcess,
        place: &str,
    ) -> Result<LaunchResult, ToolError> {
        let SpawnedProcess { output, input, control, .. } = started;
        let failed = |error: io::Error| {
            ToolError::io(format!("{place}: cannot open the connection"), &error)
        };
        let (mut stdout, mut stderr) = (None, None);
        for (source, fd) in output {
            let file = blocking_file(fd).map_err(failed)?;
            let slot = if source == OutputStream::Stdout { &mut stdout } else { &mut stderr };
            *slot = Some(file);
        }
        let complaints: Arc<Mutex<Vec<u8>>> = Arc::default();
        if let Some(stderr) = stderr {
            let kept = Arc::clone(&complaints);
            thread::Builder::new()
                .name("hands-errors".to_owned())
                .spawn(move || collect_stderr(stderr, &kept))
                .map_err(failed)?;
        }
        let none = || failed(io::ErrorKind::NotConnected.into());
        let (stdout, input) = (stdout.ok_or_else(none)?, input.ok_or_else(none)?);
        let (out, frames) = mpsc::channel();
        let line = Arc::new(ConnectionShared {
            state: Mutex::new(ConnectionQueues { out: Some(out), waiting: HashMap::new() }),
            next_id: AtomicU64::new(0),
            last_activity: Mutex::new(Instant::now()),
        });
        let input = blocking_file(input).map_err(failed)?;
        let weak = Arc::downgrade(&line);
        thread::Builder::new()
            .name("hands-write".to_owned())
            .spawn(move || write_frames(input, &frames, &weak))
            .map_err(failed)?;
        let (greeted, greeting) = oneshot::channel();
        let weak = Arc::downgrade(&line);
        thread::Builder::new()
            .name("hands-read".to_owned())
            .spawn(move || {
                let mut stdout = BufReader::new(stdout);
                let said = read_greeting(&mut stdout);
                let runs = matches!(said, Ok(Some(())));
                let _ = greeted.send(said);
                if runs {
                    read_replies(ActivityStream(stdout, &weak), &weak);
                }
                if let Some(line) = weak.upgrade() {
                    line.fail_pending();
                }
            })
            .map_err(failed)?;
        let link = Self { shared: line, control, stderr_tail: complaints };
        match tokio::time::timeout(GREETING_TIMEOUT, greeting).await {
            Ok(Ok(Ok(Some(())))) => Ok(LaunchResult::Running(Arc::new(link))),
            Ok(Ok(Ok(None))) => {
                link.close().await;
                Ok(LaunchResult::Missing)
            }
            other => {
                link.close().await;
                let why = match other {
                    Ok(Ok(Err(error))) => error.to_string(),
                    _ => "no response".to_owned(),
                };
                Err(link.start_error(place, &why))
            }
        }
    }

    fn start_error(&self, place: &str, why: &str) -> ToolError {
        let said = self.last_stderr_line().map(|said| format!(": {said}")).unwrap_or_default();
        ToolError::unavailable(format!("The file tools cannot be started on {place}: {why}{said}"))
            .with_hint(
                "Use the `terminal` tool to find the cause; commands such as cat and sed work \
                 without the file tools.",
            )
    }

    /// Returns the last line that the server wrote to stderr.
    pub(crate) fn last_stderr_line(&self) -> Option<String> {
        let said = self.stderr_tail.lock();
        let said = String::from_utf8_lossy(&said);
        said.trim().lines().next_back().map(|line| line.trim().to_owned())
    }

    /// Whether the connection is open.
    pub(crate) fn is_open(&self) -> bool {
        self.shared.state.lock().out.is_some()
    }

    /// Sends a call. The response arrives through the receiver.
    pub(crate) fn send(
        &self,
        mut call: RemoteCall,
        asking: CallHandlers,
    ) -> Result<(u64, oneshot::Receiver<Result<RemoteOutcome, ConnectionLost>>), ToolError> {
        let id = self.shared.next_id.fetch_add(1, Ordering::Relaxed);
        call.id = id;
        let frame = wire::encode(&ClientMessage::Call(Box::new(call)))
            .map_err(|error| ToolError::limit(format!("The call cannot be sent: {error}")))?;
        let (answer, answered) = oneshot::channel();
        let CallHandlers { grants, tool, progress } = asking;
        let mut state = self.shared.state.lock();
        let waiting = PendingCall { answer, is_sent: false, grants, tool, progress };
        state.waiting.insert(id, waiting);
        let sent = state.out.as_ref().is_some_and(|out| out.send((Some(id), frame)).is_ok());
        if !sent && let Some(waiting) = state.waiting.remove(&id) {
            let _ =
                waiting.answer.send(Err(ConnectionLost { may_have_run: false, is_silent: false }));
        }
        Ok((id, answered))
    }

    /// Returns after the server has been silent for the limit despite pings.
    /// The connection is unusable then.
    pub(crate) async fn wait_for_silence(&self, limit: Duration) {
        let began = Instant::now();
        loop {
            tokio::time::sleep(limit / PINGS_PER_TIMEOUT).await;
            let moved = *self.shared.last_activity.lock();
            if moved.max(began).elapsed() >= limit {
                self.shared.fail_pending();
                return;
            }
            self.shared.send_request(&ClientMessage::Ping);
        }
    }

    /// Cancels a call.
    pub(crate) fn cancel(&self, id: u64) {
        self.shared.send_request(&ClientMessage::Cancel { id });
    }

    /// Shuts the server down, if it runs.
    pub(crate) async fn close(&self) {
        self.shared.state.lock().out = None;
        // The server exits when its connection closes.
        if tokio::time::timeout(CLOSE_GRACE, self.control.wait()).await.is_err() {
            self.control.terminate(CLOSE_GRACE).await;
        }
    }

    /// Cleans up after a server that has exited.
    pub(crate) async fn reap(&self) {
        self.control.terminate(Duration::ZERO).await;
        let _ = tokio::time::timeout(CLOSE_GRACE, self.control.wait()).await;
    }
}

impl Drop for ServerConnection {
    /// Abandons a server that was not closed, such as one whose caller stopped
    /// waiting.
    fn drop(&mut self) {
        self.control.abandon();
    }
}

impl ConnectionShared {
    fn send_request(&self, request: &ClientMessage) {
        let Ok(frame) = wire::encode(request) else { return };
        if let Some(out) = &self.state.lock().out {
            let _ = out.send((None, frame));
        }
    }

    /// Fails all pending calls: no more responses arrive.
    fn fail_pending(&self) {
        let waiting = {
            let mut state = self.state.lock();
            state.out = None;
            std::mem::take(&mut state.waiting)
        };
        for (_, call) in waiting {
            let _ = call
                .answer
                .send(Err(ConnectionLost { may_have_run: call.is_sent, is_silent: false }));
        }
    }

    fn handle_reply(&self, reply: ServerMessage) {
        match reply {
            ServerMessage::Hello { .. } | ServerMessage::Pong => {}
            ServerMessage::Answer { id, outcome } => {
                let waiting = self.state.lock().waiting.remove(&id);
                if let Some(waiting) = waiting {
                    let _ = waiting.answer.send(Ok(outcome));
                }
            }
            ServerMessage::Progress { id, fraction, message } => {
                let sink = self.state.lock().waiting.get(&id).and_then(|call| {
                    Some((Arc::clone(call.progress.as_ref()?), Arc::clone(&call.tool)))
                });
                if let Some((sink, tool)) = sink {
                    sink(&tool, &ProgressUpdate { fraction, message });
                }
            }
            ServerMessage::Question { id, question, scope, paths } => {
                let grants =
                    self.state.lock().waiting.get(&id).map(|call| Arc::clone(&call.grants));
                let scope = Scope::named(scope);
                let is_closed = |path: PathBuf| match &grants {
                    Some(grants) => grants.denies(&scope, &path),
                    // No caller waits for that call any more.
                    None => true,
                };
                let closed = paths.into_iter().map(PathBuf::from).map(is_closed).collect();
                self.send_request(&ClientMessage::Closed { question, closed });
            }
        }
    }
}

/// Returns the stream as a blocking file.
fn blocking_file(fd: OwnedFd) -> io::Result<File> {
    rustix::io::ioctl_fionbio(&fd, false)?;
    Ok(File::from(fd))
}

/// Waits for the greeting; `None` if the program is not installed.
fn read_greeting(stdout: &mut impl BufRead) -> io::Result<Option<()>> {
    let mut heard = 0;
    let mut text = Vec::new();
    loop {
        text.clear();
        let got = stdout.by_ref().take(MAX_BANNER_BYTES as u64).read_until(b'\n', &mut text)?;
        heard += got;
        if text.ends_with(wire::MISSING_LINE) {
            return Ok(None);
        }
        if text.ends_with(wire::GREETING_LINE) {
            break;
        }
        if got == 0 {
            return Err(io::Error::other("it exited immediately"));
        }
        if heard > MAX_BANNER_BYTES {
            return Err(io::Error::other("unexpected output"));
        }
    }
    match wire::receive(stdout)? {
        Some(ServerMessage::Hello { protocol: wire::PROTOCOL_VERSION, .. }) => Ok(Some(())),
        Some(ServerMessage::Hello { version, .. }) => Err(io::Error::other(format!(
            "version {version} is installed there, which uses a \
                different protocol"
        ))),
        _ => Err(io::Error::other("unexpected message")),
    }
}

fn read_replies(mut stdout: impl Read, line: &Weak<ConnectionShared>) {
    while let Ok(Some(reply)) = wire::receive(&mut stdout) {
        let Some(line) = line.upgrade() else { return };
        line.handle_reply(reply);
    }
}

/// A stream that records activity: a long message on a slow connection is a
/// sign of life.
struct ActivityStream<'a, S>(S, &'a Weak<ConnectionShared>);

impl<S> ActivityStream<'_, S> {
    fn record_activity(&self, moved: io::Result<usize>) -> io::Result<usize> {
        if let (Ok(1..), Some(line)) = (&moved, self.1.upgrade()) {
            *line.last_activity.lock() = Instant::now();
        }
        moved
    }
}

impl<S: Read> Read for ActivityStream<'_, S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let got = self.0.read(buffer);
        self.record_activity(got)
    }
}

impl<S: Write> Write for ActivityStream<'_, S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // A pipe accepts more only when it has room, so progress of a long
        // message is recorded.
        let sent = self.0.write(bytes.get(..WRITE_CHUNK_BYTES).unwrap_or(bytes));
        self.record_activity(sent)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

fn write_frames(
    mut input: File,
    frames: &mpsc::Receiver<(Option<u64>, Vec<u8>)>,
    weak: &Weak<ConnectionShared>,
) {
    while let Ok((id, frame)) = frames.recv() {
        let Some(line) = weak.upgrade() else { return };
        if let Some(id) = id {
            match line.state.lock().waiting.get_mut(&id) {
                Some(call) => call.is_sent = true,
                // Abandoned before it was sent.
                None => continue,
            }
        }
        // A write to a pipe proves nothing about the server, unless it exceeds
        // the pipe's capacity.
        let sent = match frame.len() > PIPE_BYTES {
            true => wire::send(&mut ActivityStream(&mut input, weak), &frame),
            false => wire::send(&mut input, &frame),
        };
        if sent.is_err() {
            line.fail_pending();
            return;
        }
    }
}

fn collect_stderr(mut stderr: impl Read, kept: &Mutex<Vec<u8>>) {
    let mut buffer = [0; 1024];
    while let Ok(got) = stderr.read(&mut buffer) {
        if got == 0 {
            return;
        }
        let mut kept = kept.lock();
        kept.extend_from_slice(buffer.get(..got).unwrap_or_default());
        let spare = kept.len().saturating_sub(MAX_STDERR_BYTES);
        kept.drain(..spare);
    }
}
