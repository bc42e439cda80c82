//! Messages on a pipe, a line each. What is no message is answered with what
//! is wrong with it, and the next line is read.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex as Lock, PoisonError};

use hermes_core::CancellationToken;
use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, GetMeta as _, ProtocolVersion, ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::Mutex;

use super::message::{self, Refusal};

/// As much as is read at once.
const PORTION: usize = 32 << 10;

/// Room for a line that is kept for the next one.
const KEPT: usize = 1 << 20;

/// One client at the other end of two pipes.
pub(crate) struct Lines<R, W> {
    input: BufReader<R>,
    /// As much of the next line as has been read.
    line: Vec<u8>,
    longest: usize,
    /// Whether the rest of a line is passed over that was too long.
    skips: bool,
    output: Arc<Output<W>>,
    /// Set when there is no more to be read.
    closed: CancellationToken,
    /// Whether the client has begun to speak the protocol.
    has_begun: bool,
    /// Whether several messages may come in one line: in 2025-03-26, and in no
    /// other version.
    may_batch: bool,
    /// Those of a line that are still to be taken.
    batch: VecDeque<Result<Option<ClientJsonRpcMessage>, Refusal>>,
}

/// Where answers go. Those that wait are written together.
struct Output<W> {
    waiting: Lock<Vec<u8>>,
    pipe: Mutex<Option<W>>,
    /// Set when nobody reads any more.
    broken: CancellationToken,
}

/// What came of reading a line.
enum Read {
    Line,
    TooLong,
    End,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> Lines<R, W> {
    /// Messages have at most `longest` bytes; `closed` is set at the end.
    pub(crate) fn new(input: R, output: W, longest: usize, closed: CancellationToken) -> Self {
        let output = Output {
            waiting: Lock::default(),
            pipe: Mutex::new(Some(output)),
            broken: CancellationToken::new(),
        };
        Self {
            input: BufReader::with_capacity(PORTION, input),
            line: Vec::new(),
            longest,
            skips: false,
            output: Arc::new(output),
            closed,
            has_begun: false,
            may_batch: false,
            batch: VecDeque::new(),
        }
    }

    /// Reads the next line into `line`. May be given up at any time and begun
    /// again: what was read is kept.
    async fn read_line(&mut self) -> Read {
        loop {
            let portion = match self.input.fill_buf().await {
                Ok(portion) if !portion.is_empty() => portion,
                // The last line may do without its end.
                _ if !self.line.is_empty() => return Read::Line,
                _ => return Read::End,
            };
            let end = portion.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(portion.len(), |at| at + 1);
            let fits = self.line.len().saturating_add(taken) <= self.longest;
            let skipped = self.skips;
            if fits && !skipped {
                self.line.extend_from_slice(portion.get(..taken).unwrap_or_default());
            } else {
                self.line.clear();
                self.skips = end.is_none();
            }
            self.input.consume(taken);
            match (end, fits) {
                _ if skipped => {}
                (_, false) => return Read::TooLong,
                (Some(_), true) => return Read::Line,
                (None, true) => {}
            }
        }
    }

    /// The message of the line that was read, if there is one. Of several, the
    /// others wait.
    fn take_message(&mut self) -> Result<Option<ClientJsonRpcMessage>, Refusal> {
        let line = self.line.trim_ascii();
        let all = if self.may_batch { message::read_batch(line) } else { None };
        let read = match all {
            Some(all) => {
                self.batch.extend(all);
                self.batch.pop_front().unwrap_or(Ok(None))
            }
            None if line.is_empty() => Ok(None),
            None => message::read(line),
        };
        self.line.clear();
        if self.line.capacity() > KEPT {
            self.line = Vec::new();
        }
        read
    }

    /// Whether a message can be about something. Before the client has begun
    /// nothing is under way, so all but requests mean nothing.
    fn is_apt(&mut self, message: &ClientJsonRpcMessage) -> bool {
        if self.has_begun {
            return true;
        }
        let ClientJsonRpcMessage::Request(message) = message else { return false };
        self.has_begun = match &message.request {
            ClientRequest::InitializeRequest(request) => {
                self.may_batch = request.params.protocol_version == ProtocolVersion::V_2025_03_26;
                true
            }
            ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) => false,
            request => {
                let meta = request.get_meta();
                let version = meta.protocol_version();
                version.is_some_and(|it| ProtocolVersion::KNOWN_VERSIONS.contains(&it))
                    && meta.missing_required_keys(&ProtocolVersion::V_2026_07_28).is_empty()
            }
        };
        true
    }
}

impl<R, W> Transport<RoleServer> for Lines<R, W>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let output = Arc::clone(&self.output);
        let written = output.add(|line| serde_json::to_writer(line, &message));
        async move {
            written?;
            output.write().await
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        let broken = self.output.broken.clone();
        loop {
            let read = match self.batch.pop_front() {
                Some(read) => read,
                None => {
                    let read = tokio::select! {
                        biased;
                        () = broken.cancelled() => Read::End,
                        read = self.read_line() => read,
                    };
                    match read {
                        Read::Line => self.take_message(),
                        Read::TooLong => Err(Refusal::too_long(self.longest)),
                        Read::End => {
                            self.closed.cancel();
                            return None;
                        }
                    }
                }
            };
            match read {
                Ok(Some(message)) if self.is_apt(&message) => return Some(message),
                Ok(_) => {}
                Err(refusal) => {
                    let said = refusal.to_json();
                    let _ = self.output.add(|line| {
                        line.extend_from_slice(said.as_bytes());
                        Ok(())
                    });
                    // A pipe that is broken has set its mark.
                    let _ = self.output.write().await;
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        drop(self.output.pipe.lock().await.take());
        Ok(())
    }
}

impl<W: AsyncWrite + Unpin> Output<W> {
    /// Adds a line to those that wait; nothing of one that cannot be written.
    fn add(
        &self,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), serde_json::Error>,
    ) -> io::Result<()> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let before = waiting.len();
        if let Err(error) = write(&mut waiting) {
            waiting.truncate(before);
            return Err(error.into());
        }
        waiting.push(b'\n');
        Ok(())
    }

    /// Writes all that waits. Who finds nothing was served by another.
    async fn write(&self) -> io::Result<()> {
        let mut pipe = self.pipe.lock().await;
        let Some(pipe) = pipe.as_mut() else { return Err(io::ErrorKind::NotConnected.into()) };
        let lines =
            std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner));
        if lines.is_empty() {
            return Ok(());
        }
        let written = match pipe.write_all(&lines).await {
            Ok(()) => pipe.flush().await,
            Err(error) => Err(error),
        };
        if written.is_err() {
            self.broken.cancel();
        }
        written
    }
}

#[cfg(test)]
#[path = "lines_tests.rs"]
mod tests;
