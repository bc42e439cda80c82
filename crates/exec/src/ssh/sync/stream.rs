//! Large things through the ssh program, a piece at a time.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use hermes_core::ToolError;
use tokio::io::unix::AsyncFd;

use super::super::connection::{Connection, order};
use super::super::trouble;
use crate::backend::{Backend as _, Started};
use crate::elsewhere::Carriage;
use crate::errand::Done;
use crate::output::Source;
use crate::ready;

const CHUNK: usize = 256 * 1024;
/// Nothing moved for so long: it never will.
const STALLED: Duration = Duration::from_secs(60);
/// Bytes of answers and complaints that are kept.
const WORDS: usize = 1024 * 1024;
/// How long a program that is ended has to go by itself.
const GRACE: Duration = Duration::from_millis(500);

/// Runs a script there that reads a file.
pub(super) async fn upload(
    connection: &Connection,
    socket: Option<&Path>,
    script: &str,
    file: File,
) -> Result<Done, ToolError> {
    let mut answer = Vec::new();
    let mut keep = |bytes: &[u8]| {
        answer.extend_from_slice(bytes);
        if answer.len() > WORDS { Err(io::ErrorKind::InvalidData.into()) } else { Ok(()) }
    };
    let mut done = travel(connection, socket, script, Some(file), &mut keep).await?;
    done.output = answer;
    Ok(done)
}

/// Runs a script there and keeps what it writes in a file; more than `most`
/// bytes are an error.
pub(super) async fn download(
    connection: &Connection,
    socket: Option<&Path>,
    script: &str,
    most: u64,
) -> Result<(Done, File), ToolError> {
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
    let done = travel(connection, socket, script, None, &mut keep).await?;
    Ok((done, file))
}

/// Where what is read goes.
type Keep<'a> = &'a mut (dyn FnMut(&[u8]) -> io::Result<()> + Send);

async fn travel(
    connection: &Connection,
    socket: Option<&Path>,
    script: &str,
    sent: Option<File>,
    keep: Keep<'_>,
) -> Result<Done, ToolError> {
    let carrier = connection.carrier(socket, script, Carriage { terminal: false });
    let started = connection.local.start("ssh-files", order(carrier)).await;
    let started = started.map_err(|error| connection.unstarted(error))?;
    let Started { output, input, control, .. } = started;
    let failed = |error: io::Error| {
        ToolError::io(format!("ssh: files to or from {}", connection.host()), &error)
    };
    let input = input.map(ready::stream).transpose().map_err(failed)?;
    let output = output.into_iter().map(|(source, fd)| Ok((source, ready::stream(fd)?)));
    let output = output.collect::<io::Result<Vec<_>>>().map_err(failed)?;
    let (_, heard) = tokio::join!(send(input, sent), hear(output, keep));
    let errors = match heard {
        Ok(errors) => errors,
        Err(error) => {
            control.end(GRACE).await;
            return Err(failed(error));
        }
    };
    let exit = match tokio::time::timeout(STALLED, control.ended()).await {
        Ok(exit) => exit.map_err(failed)?,
        Err(_) => {
            control.end(GRACE).await;
            return Err(failed(io::ErrorKind::TimedOut.into()));
        }
    };
    match trouble::of_a_trip(&connection.settings, exit, &errors, false) {
        Some(error) => Err(error),
        None => Ok(Done { exit, output: Vec::new(), errors }),
    }
}

async fn send(input: Option<AsyncFd<OwnedFd>>, file: Option<File>) {
    let (Some(input), Some(mut file)) = (input, file) else { return };
    let mut buffer = vec![0; CHUNK];
    while let Ok(read @ 1..) = file.read(&mut buffer) {
        let piece = buffer.get(..read).unwrap_or_default();
        // Whoever does not read to the end says why by its own end.
        match tokio::time::timeout(STALLED, ready::write(&input, piece)).await {
            Ok(Ok(())) => {}
            _ => return,
        }
    }
}

async fn hear(mut from: Vec<(Source, AsyncFd<OwnedFd>)>, keep: Keep<'_>) -> io::Result<String> {
    let mut errors = Vec::new();
    let mut buffer = vec![0; CHUNK];
    while !from.is_empty() {
        let (at, read) = ready::read(&from, &mut buffer).await;
        let Ok(read @ 1..) = read else {
            from.remove(at);
            continue;
        };
        let piece = buffer.get(..read).unwrap_or_default();
        let is_error = from.get(at).is_some_and(|(source, _)| *source == Source::Stderr);
        if is_error && errors.len() < WORDS {
            errors.extend_from_slice(piece);
        } else if !is_error {
            keep(piece)?;
        }
    }
    Ok(String::from_utf8_lossy(&errors).into_owned())
}
