//! Streams large data through the ssh program.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use hermes_core::ToolError;
use parking_lot::Mutex;
use tokio::io::unix::AsyncFd;
use tokio::time::Instant;

use super::super::client::{SshClient, command_spec};
use super::super::diagnosis;
use crate::async_streams;
use crate::backend::{ExecBackend as _, SpawnedProcess};
use crate::captured_command::CaptureResult;
use crate::output::OutputStream;
use crate::remote::TransportIo;

const READ_CHUNK_BYTES: usize = 256 * 1024;
/// Timeout without progress while data is transferred.
const STALL_TIMEOUT: Duration = Duration::from_secs(60);
/// Timeout without progress of an upload: the host puts the files into place
/// without output.
const APPLY_TIMEOUT: Duration = Duration::from_secs(15 * 60);
/// Maximum bytes of replies and of stderr that are kept.
const MAX_REPLY_BYTES: usize = 1024 * 1024;
/// Time to exit after SIGTERM.
const KILL_GRACE: Duration = Duration::from_millis(500);

/// Runs a remote script with a file as stdin.
pub(super) async fn upload(
    connection: &SshClient,
    socket: Option<&Path>,
    script: &str,
    file: File,
) -> Result<CaptureResult, ToolError> {
    let mut answer = Vec::new();
    let mut keep = |bytes: &[u8]| {
        answer.extend_from_slice(bytes);
        if answer.len() > MAX_REPLY_BYTES { Err(io::ErrorKind::InvalidData.into()) } else { Ok(()) }
    };
    let run = StreamingRun { script, sent: Some(file), stall_timeout: APPLY_TIMEOUT };
    let mut done = run_streaming(connection, socket, run, &mut keep).await?;
    done.output = answer;
    Ok(done)
}

/// Runs a remote script and saves its stdout to a file; fails beyond `most`
/// bytes.
pub(super) async fn download(
    connection: &SshClient,
    socket: Option<&Path>,
    script: &str,
    most: u64,
) -> Result<(CaptureResult, File), ToolError> {
    let failed = |error| ToolError::io("Cannot create a temporary file for the download", &error);
    let mut file = tempfile::tempfile().map_err(failed)?;
    let mut length = 0;
    let mut keep = |bytes: &[u8]| {
        length += bytes.len() as u64;
        if length > most {
            return Err(io::Error::other(format!("the data exceeds {most} bytes")));
        }
        file.write_all(bytes)
    };
    let run = StreamingRun { script, sent: None, stall_timeout: STALL_TIMEOUT };
    let done = run_streaming(connection, socket, run, &mut keep).await?;
    Ok((done, file))
}

/// Receiver of output chunks.
type ChunkSink<'a> = &'a mut (dyn FnMut(&[u8]) -> io::Result<()> + Send);

/// A remote script and its transfer.
struct StreamingRun<'a> {
    script: &'a str,
    /// Its stdin.
    sent: Option<File>,
    stall_timeout: Duration,
}

/// When data was last sent or received.
struct TransferProgress(Mutex<Instant>);

impl TransferProgress {
    fn new() -> Self {
        Self(Mutex::new(Instant::now()))
    }

    fn record(&self) {
        *self.0.lock() = Instant::now();
    }

    /// Waits until there was no progress for this long.
    async fn wait_for_stall(&self, timeout: Duration) -> io::Error {
        loop {
            let deadline = *self.0.lock() + timeout;
            if Instant::now() >= deadline {
                let why = format!("no data for {} seconds", timeout.as_secs());
                return io::Error::new(io::ErrorKind::TimedOut, why);
            }
            tokio::time::sleep_until(deadline).await;
        }
    }
}

async fn run_streaming(
    connection: &SshClient,
    socket: Option<&Path>,
    run: StreamingRun<'_>,
    keep: ChunkSink<'_>,
) -> Result<CaptureResult, ToolError> {
    let StreamingRun { script, sent, stall_timeout } = run;
    let carrier = connection.transport_process(socket, script, TransportIo { terminal: false });
    let started = connection.local.start("ssh-files", command_spec(carrier)).await;
    let started = started.map_err(|error| connection.explain_start_error(error))?;
    let SpawnedProcess { output, input, control, .. } = started;
    let failed = |error: io::Error| {
        ToolError::io(format!("ssh: file transfer with {}", connection.host()), &error)
    };
    let input = input.map(async_streams::register_nonblocking).transpose().map_err(failed)?;
    let output = output
        .into_iter()
        .map(|(source, fd)| Ok((source, async_streams::register_nonblocking(fd)?)));
    let output = output.collect::<io::Result<Vec<_>>>().map_err(failed)?;
    let heard = transfer((input, sent), (output, keep), stall_timeout).await;
    let errors = match heard {
        Ok(errors) => errors,
        Err(error) => {
            control.terminate(KILL_GRACE).await;
            return Err(failed(error));
        }
    };
    let exit = match tokio::time::timeout(STALL_TIMEOUT, control.wait()).await {
        Ok(exit) => exit.map_err(failed)?,
        Err(_) => {
            control.terminate(KILL_GRACE).await;
            return Err(failed(io::ErrorKind::TimedOut.into()));
        }
    };
    match diagnosis::session_error(&connection.settings, exit, &errors, false) {
        Some(error) => Err(error),
        None => Ok(CaptureResult { exit, output: Vec::new(), errors }),
    }
}

type OutputStreams = Vec<(OutputStream, AsyncFd<OwnedFd>)>;

/// Sends the input and receives the output; returns stderr.
async fn transfer(
    (input, sent): (Option<AsyncFd<OwnedFd>>, Option<File>),
    (output, keep): (OutputStreams, ChunkSink<'_>),
    stall_timeout: Duration,
) -> io::Result<String> {
    let progress = TransferProgress::new();
    let both = async {
        tokio::join!(write_input(input, sent, &progress), read_output(output, keep, &progress)).1
    };
    tokio::select! {
        heard = both => heard,
        stalled = progress.wait_for_stall(stall_timeout) => Err(stalled),
    }
}

async fn write_input(
    input: Option<AsyncFd<OwnedFd>>,
    file: Option<File>,
    progress: &TransferProgress,
) {
    let (Some(input), Some(mut file)) = (input, file) else { return };
    let mut buffer = vec![0; READ_CHUNK_BYTES];
    while let Ok(read @ 1..) = file.read(&mut buffer) {
        let piece = buffer.get(..read).unwrap_or_default();
        // A process that stops reading explains it by its exit.
        match tokio::time::timeout(STALL_TIMEOUT, async_streams::write_all(&input, piece)).await {
            Ok(Ok(())) => progress.record(),
            _ => return,
        }
    }
}

async fn read_output(
    mut from: OutputStreams,
    keep: ChunkSink<'_>,
    progress: &TransferProgress,
) -> io::Result<String> {
    let mut errors = Vec::new();
    let mut buffer = vec![0; READ_CHUNK_BYTES];
    while !from.is_empty() {
        let (at, read) = async_streams::read_any(&from, &mut buffer).await;
        let Ok(read @ 1..) = read else {
            from.remove(at);
            continue;
        };
        progress.record();
        let piece = buffer.get(..read).unwrap_or_default();
        let is_error = from.get(at).is_some_and(|(source, _)| *source == OutputStream::Stderr);
        if is_error && errors.len() < MAX_REPLY_BYTES {
            errors.extend_from_slice(piece);
        } else if !is_error {
            keep(piece)?;
        }
    }
    Ok(String::from_utf8_lossy(&errors).into_owned())
}

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;
