//! Large things through the ssh program, a piece at a time.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use hermes_core::ToolError;
use tokio::io::unix::AsyncFd;

use super::super::client::{SshClient, command_spec};
use super::super::diagnosis;
use crate::async_streams;
use crate::backend::{ExecBackend as _, SpawnedProcess};
use crate::captured_command::CaptureResult;
use crate::output::OutputStream;
use crate::remote::TransportIo;

const READ_CHUNK_BYTES: usize = 256 * 1024;
/// Nothing moved for so long: it never will.
const STALL_TIMEOUT: Duration = Duration::from_secs(60);
/// Bytes of answers and complaints that are kept.
const MAX_REPLY_BYTES: usize = 1024 * 1024;
/// How long a program that is ended has to go by itself.
const KILL_GRACE: Duration = Duration::from_millis(500);

/// Runs a script there that reads a file.
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
    let mut done = run_streaming(connection, socket, script, Some(file), &mut keep).await?;
    done.output = answer;
    Ok(done)
}

/// Runs a script there and keeps what it writes in a file; more than `most`
/// bytes are an error.
pub(super) async fn download(
    connection: &SshClient,
    socket: Option<&Path>,
    script: &str,
    most: u64,
) -> Result<(CaptureResult, File), ToolError> {
    let failed = |error| ToolError::io("What is fetched cannot be kept", &error);
    let mut file = tempfile::tempfile().map_err(failed)?;
    let mut length = 0;
    let mut keep = |bytes: &[u8]| {
        length += bytes.len() as u64;
        if length > most {
            return Err(io::Error::other(format!("there are more than {most} bytes")));
        }
        file.write_all(bytes)
    };
    let done = run_streaming(connection, socket, script, None, &mut keep).await?;
    Ok((done, file))
}

/// Where what is read goes.
type ChunkSink<'a> = &'a mut (dyn FnMut(&[u8]) -> io::Result<()> + Send);

async fn run_streaming(
    connection: &SshClient,
    socket: Option<&Path>,
    script: &str,
    sent: Option<File>,
    keep: ChunkSink<'_>,
) -> Result<CaptureResult, ToolError> {
    let carrier = connection.transport_process(socket, script, TransportIo { terminal: false });
    let started = connection.local.start("ssh-files", command_spec(carrier)).await;
    let started = started.map_err(|error| connection.explain_start_error(error))?;
    let SpawnedProcess { output, input, control, .. } = started;
    let failed = |error: io::Error| {
        ToolError::io(format!("ssh: files to or from {}", connection.host()), &error)
    };
    let input = input.map(async_streams::register_nonblocking).transpose().map_err(failed)?;
    let output = output
        .into_iter()
        .map(|(source, fd)| Ok((source, async_streams::register_nonblocking(fd)?)));
    let output = output.collect::<io::Result<Vec<_>>>().map_err(failed)?;
    let (_, heard) = tokio::join!(write_input(input, sent), read_output(output, keep));
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

async fn write_input(input: Option<AsyncFd<OwnedFd>>, file: Option<File>) {
    let (Some(input), Some(mut file)) = (input, file) else { return };
    let mut buffer = vec![0; READ_CHUNK_BYTES];
    while let Ok(read @ 1..) = file.read(&mut buffer) {
        let piece = buffer.get(..read).unwrap_or_default();
        // Whoever does not read to the end says why by its own end.
        match tokio::time::timeout(STALL_TIMEOUT, async_streams::write_all(&input, piece)).await {
            Ok(Ok(())) => {}
            _ => return,
        }
    }
}

async fn read_output(
    mut from: Vec<(OutputStream, AsyncFd<OwnedFd>)>,
    keep: ChunkSink<'_>,
) -> io::Result<String> {
    let mut errors = Vec::new();
    let mut buffer = vec![0; READ_CHUNK_BYTES];
    while !from.is_empty() {
        let (at, read) = async_streams::read_any(&from, &mut buffer).await;
        let Ok(read @ 1..) = read else {
            from.remove(at);
            continue;
        };
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
