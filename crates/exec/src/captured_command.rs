//! Short programs run to completion for their output.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use hermes_core::{ErrorKind, ToolError};
use tokio::io::unix::AsyncFd;

use crate::async_streams;
use crate::backend::{ExecBackend, ProcessControl, ProcessExit, SpawnedProcess};
use crate::command_spec::{CommandSpec, StdinSource};
use crate::output::OutputStream;

/// Bytes read at a time.
const READ_CHUNK_BYTES: usize = 64 * 1024;

/// Time between SIGTERM and SIGKILL.
const KILL_GRACE: Duration = Duration::from_millis(500);

/// A short program run to completion.
#[derive(Debug)]
pub struct CapturedCommand {
    /// The command; streams are best kept separate.
    pub spec: CommandSpec,
    /// Time limit.
    pub timeout: Duration,
    /// Output limit in bytes.
    pub max_output_bytes: usize,
}

/// The result of a captured command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaptureResult {
    /// How it ended.
    pub exit: ProcessExit,
    /// Its standard output.
    pub output: Vec<u8>,
    /// Its standard error.
    pub errors: String,
}

impl CaptureResult {
    /// Whether it exited with code 0.
    pub fn succeeded(&self) -> bool {
        self.exit == ProcessExit::Code(0)
    }
}

impl CapturedCommand {
    /// Runs it.
    ///
    /// # Errors
    /// If it cannot be started, exceeds its time limit or prints too much. It has ended
    /// in all these cases.
    pub async fn run(
        self,
        backend: &dyn ExecBackend,
        name: &str,
    ) -> Result<CaptureResult, ToolError> {
        let Self { mut spec, timeout, max_output_bytes } = self;
        let program = spec.program.display().to_string();
        let given = match &mut spec.input {
            StdinSource::Bytes(bytes) => std::mem::take(bytes),
            _ => Vec::new(),
        };
        let started = backend.start(name, spec).await?;
        let SpawnedProcess { output, input, control, .. } = started;
        let leash = AbandonOnDrop::new(&*control);
        let failed = |error: io::Error| {
            ToolError::io(format!("cannot read the output of {program}"), &error)
        };
        let output = output
            .into_iter()
            .map(|(source, fd)| Ok((source, async_streams::register_nonblocking(fd)?)));
        let output = output.collect::<io::Result<Vec<_>>>().map_err(failed)?;
        let input = input.map(async_streams::register_nonblocking).transpose().map_err(failed)?;
        let talk = async {
            let (_, read) =
                tokio::join!(write_input(input, &given), read_output(output, max_output_bytes));
            Ok::<_, io::Error>((read?, control.wait().await?))
        };
        let talked = tokio::time::timeout(timeout, talk).await;
        leash.disarm();
        match talked {
            Ok(Ok((StreamBuffers { output, errors }, exit))) => Ok(CaptureResult {
                exit,
                output,
                errors: String::from_utf8_lossy(&errors).into_owned(),
            }),
            Ok(Err(error)) => {
                control.terminate(KILL_GRACE).await;
                Err(failed(error))
            }
            Err(_) => {
                control.terminate(KILL_GRACE).await;
                let message = format!("{program} did not finish within {timeout:?}");
                Err(ToolError::new(ErrorKind::Timeout, message))
            }
        }
    }
}

/// Ends a program at once when the future that waits for it is dropped.
pub(crate) struct AbandonOnDrop<'a>(Option<&'a dyn ProcessControl>);

impl<'a> AbandonOnDrop<'a> {
    pub(crate) fn new(control: &'a dyn ProcessControl) -> Self {
        Self(Some(control))
    }

    pub(crate) fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for AbandonOnDrop<'_> {
    fn drop(&mut self) {
        if let Some(control) = self.0 {
            control.abandon();
        }
    }
}

async fn write_input(input: Option<AsyncFd<OwnedFd>>, bytes: &[u8]) {
    if let Some(fd) = input {
        // A program that does not read all its input is not an error.
        let _ = async_streams::write_all(&fd, bytes).await;
    }
}

#[derive(Default)]
struct StreamBuffers {
    output: Vec<u8>,
    errors: Vec<u8>,
}

async fn read_output(
    mut from: Vec<(OutputStream, AsyncFd<OwnedFd>)>,
    most: usize,
) -> io::Result<StreamBuffers> {
    let mut all = StreamBuffers::default();
    let mut buffer = vec![0; READ_CHUNK_BYTES];
    while !from.is_empty() {
        let (at, got) = async_streams::read_any(&from, &mut buffer).await;
        match got {
            Ok(got) if got > 0 => {
                let source = from.get(at).map_or(OutputStream::Stdout, |(source, _)| *source);
                let buffered =
                    if source == OutputStream::Stderr { &mut all.errors } else { &mut all.output };
                buffered.extend_from_slice(buffer.get(..got).unwrap_or_default());
                if buffered.len() > most {
                    return Err(io::Error::other(format!("it printed more than {most} bytes")));
                }
            }
            _ => drop(from.remove(at)),
        }
    }
    Ok(all)
}
