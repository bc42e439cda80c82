//! Small programs that are run to the end for what they print.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use hermes_core::{ErrorKind, ToolError};
use tokio::io::unix::AsyncFd;

use crate::backend::{Backend, Control, Exit, Started};
use crate::order::{Input, Order};
use crate::output::Source;
use crate::ready;

/// Bytes that are read at a time.
const CHUNK: usize = 64 * 1024;

/// How long a program that is ended has to go by itself.
const GRACE: Duration = Duration::from_millis(500);

/// A small program that is run to its end.
#[derive(Debug)]
pub struct Errand {
    /// What is run; its output is best taken apart.
    pub order: Order,
    /// How long it may take.
    pub limit: Duration,
    /// How many bytes it may print.
    pub most: usize,
}

/// What an errand has brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    /// How it ended.
    pub exit: Exit,
    /// What it printed.
    pub output: Vec<u8>,
    /// What it complained of.
    pub errors: String,
}

impl Done {
    /// Whether it ended well.
    pub fn is_well(&self) -> bool {
        self.exit == Exit::Code(0)
    }
}

impl Errand {
    /// Runs it.
    ///
    /// # Errors
    /// If it cannot be started, takes too long or prints too much; it has
    /// ended then, too.
    pub async fn run(self, backend: &dyn Backend, name: &str) -> Result<Done, ToolError> {
        let Self { mut order, limit, most } = self;
        let program = order.program.display().to_string();
        let given = match &mut order.input {
            Input::Given(bytes) => std::mem::take(bytes),
            _ => Vec::new(),
        };
        let started = backend.start(name, order).await?;
        let Started { output, input, control, .. } = started;
        let leash = Leash::on(&*control);
        let failed = |error: io::Error| ToolError::io(format!("{program} cannot be heard"), &error);
        let output = output.into_iter().map(|(source, fd)| Ok((source, ready::stream(fd)?)));
        let output = output.collect::<io::Result<Vec<_>>>().map_err(failed)?;
        let input = input.map(ready::stream).transpose().map_err(failed)?;
        let talk = async {
            let (_, read) = tokio::join!(send(input, &given), read(output, most));
            Ok::<_, io::Error>((read?, control.ended().await?))
        };
        let talked = tokio::time::timeout(limit, talk).await;
        leash.let_go();
        match talked {
            Ok(Ok((Read { output, errors }, exit))) => {
                Ok(Done { exit, output, errors: String::from_utf8_lossy(&errors).into_owned() })
            }
            Ok(Err(error)) => {
                control.end(GRACE).await;
                Err(failed(error))
            }
            Err(_) => {
                control.end(GRACE).await;
                let message = format!("{program} took longer than {limit:?}");
                Err(ToolError::new(ErrorKind::Timeout, message))
            }
        }
    }
}

/// Ends a program at once if whoever waits for it goes away.
pub(crate) struct Leash<'a>(Option<&'a dyn Control>);

impl<'a> Leash<'a> {
    pub(crate) fn on(control: &'a dyn Control) -> Self {
        Self(Some(control))
    }

    pub(crate) fn let_go(mut self) {
        self.0 = None;
    }
}

impl Drop for Leash<'_> {
    fn drop(&mut self) {
        if let Some(control) = self.0 {
            control.abandon();
        }
    }
}

async fn send(input: Option<AsyncFd<OwnedFd>>, bytes: &[u8]) {
    if let Some(fd) = input {
        // One that does not read to the end is no failure.
        let _ = ready::write(&fd, bytes).await;
    }
}

#[derive(Default)]
struct Read {
    output: Vec<u8>,
    errors: Vec<u8>,
}

async fn read(mut from: Vec<(Source, AsyncFd<OwnedFd>)>, most: usize) -> io::Result<Read> {
    let mut all = Read::default();
    let mut buffer = vec![0; CHUNK];
    while !from.is_empty() {
        let (at, got) = ready::read(&from, &mut buffer).await;
        match got {
            Ok(got) if got > 0 => {
                let source = from.get(at).map_or(Source::Stdout, |(source, _)| *source);
                let kept = if source == Source::Stderr { &mut all.errors } else { &mut all.output };
                kept.extend_from_slice(buffer.get(..got).unwrap_or_default());
                if kept.len() > most {
                    return Err(io::Error::other(format!("it prints more than {most} bytes")));
                }
            }
            _ => drop(from.remove(at)),
        }
    }
    Ok(all)
}
