//! Runs a desktop program to its end within a time limit.
//!
//! Some of them (`xclip`, `wl-copy`) leave a background process that serves the
//! copied content and keeps the output pipes open. So the run ends when the
//! started process exits, not at end of output: the output so far is taken and
//! our ends are closed.

use std::ffi::OsString;
use std::future::pending;
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream as Pipe;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use hermes_core::{ErrorKind, ToolContext, ToolError};
use tokio::net::UnixStream;

use super::DesktopEnv;

/// Time limit of a program. The owner of a selection may hang.
const RUN_TIMEOUT: Duration = Duration::from_secs(10);
/// Upper bound of the exit poll interval, which doubles from 1 ms.
const MAX_POLL_INTERVAL: Duration = Duration::from_millis(16);
/// Checks for exit after a kill, one millisecond apart.
const REAP_ATTEMPTS: u32 = 200;
/// Bytes read at a time.
const READ_CHUNK_BYTES: usize = 64 * 1024;
/// Maximum bytes of stderr kept.
const MAX_STDERR_BYTES: usize = 64 * 1024;
/// Maximum characters of stderr quoted in a message.
const MAX_QUOTED_CHARS: usize = 300;

/// A program to run.
#[derive(Debug)]
pub(crate) struct DesktopProgram<'a> {
    desktop: &'a DesktopEnv,
    name: &'static str,
    path: PathBuf,
    arguments: Vec<OsString>,
    variables: Vec<(&'static str, &'static str)>,
    input: Option<Vec<u8>>,
    max_output: Option<usize>,
}

/// How a program ended.
#[derive(Debug)]
pub(crate) struct ProgramResult {
    pub(crate) name: &'static str,
    pub(crate) success: bool,
    pub(crate) output: Vec<u8>,
    /// Its stderr, on one line.
    pub(crate) stderr_line: String,
}

impl<'a> DesktopProgram<'a> {
    /// Finds the program; fails if it is not installed.
    pub(crate) fn new(desktop: &'a DesktopEnv, name: &'static str) -> Result<Self, ToolError> {
        let path = desktop.find_program(name).ok_or_else(|| {
            ToolError::unavailable(format!("{name} is not installed"))
                .with_hint(format!("Install {name} and make sure that it is in PATH."))
        })?;
        Ok(Self {
            desktop,
            name,
            path,
            arguments: Vec::new(),
            variables: Vec::new(),
            input: None,
            max_output: None,
        })
    }

    /// Adds arguments. They are not passed through a shell.
    pub(crate) fn args<A: Into<OsString>>(mut self, more: impl IntoIterator<Item = A>) -> Self {
        self.arguments.extend(more.into_iter().map(Into::into));
        self
    }

    /// Sets an environment variable.
    pub(crate) fn env(mut self, name: &'static str, value: &'static str) -> Self {
        self.variables.push((name, value));
        self
    }

    /// Sets the exact bytes of stdin. The default is an empty stdin.
    pub(crate) fn input(mut self, bytes: Vec<u8>) -> Self {
        self.input = Some(bytes);
        self
    }

    /// Captures up to `most` bytes of stdout; more is an error. By default
    /// stdout is discarded.
    pub(crate) fn output(mut self, most: usize) -> Self {
        self.max_output = Some(most);
        self
    }

    /// Runs the program. Kills it if the call is cancelled or times out.
    pub(crate) async fn run(self, cx: &ToolContext) -> Result<ProgramResult, ToolError> {
        let name = self.name;
        let limit = cx.remaining().map_or(RUN_TIMEOUT, |left| left.min(RUN_TIMEOUT));
        let failed =
            move |error: io::Error| ToolError::unavailable(format!("cannot run {name}: {error}"));
        let mut running = self.start().map_err(failed)?;
        let ended = tokio::time::timeout(limit, cx.run_until_cancelled(running.finish())).await;
        let status = ended
            .map_err(|_| {
                let seconds = limit.as_secs_f64();
                ToolError::new(
                    ErrorKind::Timeout,
                    format!("{name} did not exit within {seconds:.1} s"),
                )
                .with_hint(
                    "The desktop, or the program that owns the selection, may be \
                        hanging.",
                )
            })??
            .map_err(failed)?;
        running.outcome(name, status)
    }

    fn start(self) -> io::Result<RunningProgram> {
        let mut command = Command::new(&self.path);
        command
            .args(&self.arguments)
            .env_clear()
            .envs(self.desktop.variables())
            .envs(self.variables)
            // A background process must not keep a directory busy, nor be
            // killed by a Ctrl-C meant for us.
            .current_dir("/")
            .process_group(0);
        let input = match self.input {
            Some(bytes) => {
                let (ours, theirs) = stdio_pair()?;
                command.stdin(theirs);
                Some((ours, bytes))
            }
            None => {
                command.stdin(Stdio::null());
                None
            }
        };
        let output = match self.max_output {
            Some(most) => {
                let (ours, theirs) = stdio_pair()?;
                command.stdout(theirs);
                PipeSink::new(ours, most)
            }
            None => {
                command.stdout(Stdio::null());
                PipeSink::default()
            }
        };
        let (ours, theirs) = stdio_pair()?;
        command.stderr(theirs);
        let child = command.spawn()?;
        Ok(RunningProgram {
            child: Some(child),
            input,
            output,
            stderr: PipeSink::new(ours, MAX_STDERR_BYTES),
        })
    }
}

/// A socket pair: our end, and stdio for the child. Unlike a pipe it needs no
/// thread to wait on.
fn stdio_pair() -> io::Result<(UnixStream, Stdio)> {
    let (ours, theirs) = Pipe::pair()?;
    ours.set_nonblocking(true)?;
    Ok((UnixStream::from_std(ours)?, Stdio::from(OwnedFd::from(theirs))))
}

/// A started program. It is killed and reaped on drop.
#[derive(Debug)]
struct RunningProgram {
    /// `Some` until drop.
    child: Option<Child>,
    input: Option<(UnixStream, Vec<u8>)>,
    output: PipeSink,
    stderr: PipeSink,
}

impl RunningProgram {
    /// Feeds stdin and reads the output until the program exits.
    async fn finish(&mut self) -> io::Result<ExitStatus> {
        let input = self.input.take();
        let talk = async {
            let feed = async {
                if let Some((stream, bytes)) = input {
                    feed(stream, &bytes).await;
                }
            };
            tokio::join!(feed, self.output.fill(), self.stderr.fill());
            pending::<()>().await;
        };
        tokio::select! {
            status = wait_for_exit(self.child.as_mut()) => status,
            () = talk => Err(io::Error::other("the program's pipes closed before it exited")),
        }
    }

    fn outcome(
        mut self,
        name: &'static str,
        status: ExitStatus,
    ) -> Result<ProgramResult, ToolError> {
        self.output.drain_ready();
        self.stderr.drain_ready();
        if self.output.overflowed() {
            return Err(ToolError::limit(format!(
                "{name} returned more than {} MiB",
                self.output.max_bytes / (1024 * 1024)
            )));
        }
        let words = String::from_utf8_lossy(&self.stderr.bytes);
        let words: Vec<&str> = words.split_whitespace().collect();
        let complaint = words.join(" ").chars().take(MAX_QUOTED_CHARS).collect();
        let output = std::mem::take(&mut self.output.bytes);
        Ok(ProgramResult { name, success: status.success(), output, stderr_line: complaint })
    }
}

impl Drop for RunningProgram {
    fn drop(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        // A no-op if the process has been reaped.
        let _ = child.kill();
        for _ in 0..REAP_ATTEMPTS {
            if !matches!(child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        // A process stuck in the kernel dies late and must not block us.
        std::thread::spawn(move || child.wait());
    }
}

async fn wait_for_exit(child: Option<&mut Child>) -> io::Result<ExitStatus> {
    let child = child.ok_or(io::ErrorKind::NotFound)?;
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(MAX_POLL_INTERVAL);
    }
}

/// Writes all bytes, unless the program stops reading.
async fn feed(stream: UnixStream, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        if stream.writable().await.is_err() {
            return;
        }
        match stream.try_write(bytes) {
            Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => return,
        }
    }
}

/// Duplicates the stream as a std one; it stays non-blocking.
fn to_std_stream(stream: &UnixStream) -> io::Result<Pipe> {
    stream.as_fd().try_clone_to_owned().map(Pipe::from)
}

/// Captured output, up to a limit.
#[derive(Debug, Default)]
struct PipeSink {
    stream: Option<UnixStream>,
    bytes: Vec<u8>,
    max_bytes: usize,
}

impl PipeSink {
    fn new(stream: UnixStream, most: usize) -> Self {
        Self { stream: Some(stream), bytes: Vec::new(), max_bytes: most }
    }

    /// Reads until end of output or the limit.
    async fn fill(&mut self) {
        let mut piece = vec![0; READ_CHUNK_BYTES];
        while let Some(stream) = &self.stream {
            if stream.readable().await.is_err() {
                return;
            }
            let read = stream.try_read(&mut piece);
            self.accept_chunk(&piece, read);
        }
    }

    /// Reads what is available without waiting. Bypasses the runtime, which may
    /// not have registered the readiness yet.
    fn drain_ready(&mut self) {
        let Some(Ok(mut stream)) = self.stream.as_ref().map(to_std_stream) else { return };
        let mut piece = vec![0; READ_CHUNK_BYTES];
        while self.stream.is_some() {
            let read = stream.read(&mut piece);
            if read.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock) {
                return;
            }
            self.accept_chunk(&piece, read);
        }
    }

    /// Appends a chunk. Closes the stream at the end or past the limit.
    fn accept_chunk(&mut self, piece: &[u8], read: io::Result<usize>) {
        use io::ErrorKind::{Interrupted, WouldBlock};
        match read {
            Ok(count) => {
                self.bytes.extend_from_slice(piece.get(..count).unwrap_or_default());
                if count == 0 || self.overflowed() {
                    self.stream = None;
                }
            }
            Err(error) if matches!(error.kind(), Interrupted | WouldBlock) => {}
            Err(_) => self.stream = None,
        }
    }

    fn overflowed(&self) -> bool {
        self.bytes.len() > self.max_bytes
    }
}

impl ProgramResult {
    /// Returns the result, or an error if the program failed.
    pub(crate) fn require_success(self) -> Result<Self, ToolError> {
        if self.success { Ok(self) } else { Err(self.failure()) }
    }

    /// The error for a failed program, with its stderr.
    pub(crate) fn failure(&self) -> ToolError {
        let said = if self.stderr_line.is_empty() { "no error message" } else { &self.stderr_line };
        ToolError::unavailable(format!("{} failed: {said}", self.name))
    }
}

#[cfg(test)]
#[path = "program_tests.rs"]
mod tests;
