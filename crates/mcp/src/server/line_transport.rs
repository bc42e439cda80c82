//! Newline-delimited messages on a pipe. An invalid line is answered with an
//! error, and reading continues with the next line.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use hermes_core::CancellationToken;
use parking_lot::Mutex as Lock;
use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, GetMeta as _, ProtocolVersion,
    RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::message::{self, MessageRejection};
use super::pending::{PendingReplies, ReplyRoute};

/// Size of the read buffer.
const READ_CHUNK_BYTES: usize = 32 << 10;

/// Capacity of the line buffer that is kept between lines.
const MAX_KEPT_CAPACITY: usize = 1 << 20;

/// Server transport over a pair of pipes.
pub(crate) struct LineTransport<R, W> {
    input: BufReader<R>,
    /// The part of the next line that has been read.
    line: Vec<u8>,
    limits: LineLimits,
    /// Whether the rest of an overlong line is being skipped.
    is_skipping: bool,
    output: Arc<LineWriter<W>>,
    /// Set at the end of the input.
    closed: CancellationToken,
    /// Whether the client has initialized the protocol.
    is_initialized: bool,
    /// Whether a line may be a batch, which only 2025-03-26 allows.
    may_batch: bool,
    /// Messages of a batch that are not yet delivered.
    batch: VecDeque<ClientJsonRpcMessage>,
    /// Requests without a response.
    pending: PendingReplies,
    /// When to stop waiting for the last responses.
    drain_deadline: Option<Instant>,
}

/// Limits of a line transport.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LineLimits {
    /// Maximum size of a message.
    pub(crate) max_message_bytes: usize,
    /// How long to wait for responses after the end of the input.
    pub(crate) drain_timeout: Duration,
}

/// Writes responses. Those that are queued are written together.
struct LineWriter<W> {
    waiting: Lock<Vec<u8>>,
    pipe: Mutex<Option<W>>,
    /// Set when the pipe is broken.
    broken: CancellationToken,
}

/// Outcome of reading a line.
enum LineRead {
    Line,
    TooLong,
    Eof,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> LineTransport<R, W> {
    /// Creates a transport that sets `closed` at the end of the input.
    pub(crate) fn new(input: R, output: W, bounds: LineLimits, closed: CancellationToken) -> Self {
        let output = LineWriter {
            waiting: Lock::default(),
            pipe: Mutex::new(Some(output)),
            broken: CancellationToken::new(),
        };
        Self {
            input: BufReader::with_capacity(READ_CHUNK_BYTES, input),
            line: Vec::new(),
            limits: bounds,
            is_skipping: false,
            output: Arc::new(output),
            closed,
            is_initialized: false,
            may_batch: false,
            batch: VecDeque::new(),
            pending: PendingReplies::default(),
            drain_deadline: None,
        }
    }

    /// Reads the next line into `line`. Cancel safe: what was read is kept.
    async fn read_line(&mut self) -> LineRead {
        loop {
            let portion = match self.input.fill_buf().await {
                Ok(portion) if !portion.is_empty() => portion,
                // The last line may lack its newline.
                _ if !self.line.is_empty() => return LineRead::Line,
                _ => return LineRead::Eof,
            };
            let end = portion.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(portion.len(), |at| at + 1);
            let fits = self.line.len().saturating_add(taken) <= self.limits.max_message_bytes;
            let skipped = self.is_skipping;
            if fits && !skipped {
                self.line.extend_from_slice(portion.get(..taken).unwrap_or_default());
            } else {
                self.line.clear();
                self.is_skipping = end.is_none();
            }
            self.input.consume(taken);
            match (end, fits) {
                _ if skipped => {}
                (_, false) => return LineRead::TooLong,
                (Some(_), true) => return LineRead::Line,
                (None, true) => {}
            }
        }
    }

    /// Parses the line. Returns its message, or the first of a batch, and the
    /// text to send back at once.
    fn parse_line(&mut self) -> (Option<ClientJsonRpcMessage>, Option<String>) {
        let line = self.line.trim_ascii();
        let all = if self.may_batch { message::parse_batch(line) } else { None };
        let taken = match all {
            Some(all) => self.accept_batch(all),
            None if line.is_empty() => (None, None),
            None => match message::parse_message(line) {
                Ok(message) => self.accept_message(message),
                Err(refusal) => (None, Some(refusal.to_json())),
            },
        };
        self.line.clear();
        if self.line.capacity() > MAX_KEPT_CAPACITY {
            self.line = Vec::new();
        }
        taken
    }

    fn accept_message(
        &mut self,
        message: Option<ClientJsonRpcMessage>,
    ) -> (Option<ClientJsonRpcMessage>, Option<String>) {
        let Some(message) = message.filter(|message| self.is_expected(message)) else {
            return (None, None);
        };
        if !self.is_initialized
            && let Some(refusal) = message::reject_initialize(&message)
        {
            return (None, Some(refusal.to_json()));
        }
        match request_id(&message) {
            Some(id) if !self.pending.add(id) => {
                (None, Some(MessageRejection::duplicate_id(id).to_json()))
            }
            _ => (Some(message), None),
        }
    }

    /// Accepts the messages of a batch, whose responses are sent together.
    fn accept_batch(
        &mut self,
        all: Vec<Result<Option<ClientJsonRpcMessage>, MessageRejection>>,
    ) -> (Option<ClientJsonRpcMessage>, Option<String>) {
        let batch = self.pending.begin_batch();
        for one in all {
            let refusal = match one {
                Ok(None) => continue,
                Ok(Some(message)) => match request_id(&message) {
                    Some(id) if !self.pending.add_to_batch(batch, id) => {
                        MessageRejection::duplicate_id(id)
                    }
                    _ => {
                        self.batch.push_back(message);
                        continue;
                    }
                },
                Err(refusal) => refusal,
            };
            self.pending.add_reply(batch, refusal.to_json());
        }
        (self.batch.pop_front(), self.pending.take_if_complete(batch))
    }

    /// Records a cancellation. Returns the batch response that it completes.
    fn note_cancellation(&mut self, message: &ClientJsonRpcMessage) -> Option<String> {
        let ClientJsonRpcMessage::Notification(message) = message else { return None };
        let ClientNotification::CancelledNotification(given_up) = &message.notification else {
            return None;
        };
        self.pending.cancel(given_up.params.request_id.as_ref()?)
    }

    /// Waits until all responses are written or the deadline passes. The
    /// service stops sending responses once `receive` has returned.
    async fn wait_drained(&mut self) {
        let until =
            *self.drain_deadline.get_or_insert_with(|| Instant::now() + self.limits.drain_timeout);
        if !self.pending.is_empty() {
            // Dropped whenever something is sent, and then called again.
            let broken = self.output.broken.clone();
            let _ = tokio::time::timeout_at(until, broken.cancelled()).await;
        }
    }

    /// Whether a message is meaningful. Before initialization nothing is
    /// pending, so only requests are.
    fn is_expected(&mut self, message: &ClientJsonRpcMessage) -> bool {
        if self.is_initialized {
            return true;
        }
        let ClientJsonRpcMessage::Request(message) = message else { return false };
        self.is_initialized = match &message.request {
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

impl<R, W> Transport<RoleServer> for LineTransport<R, W>
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
        let place = match response_id(&message) {
            Some(id) => self.pending.complete(id, || serde_json::to_string(&message).ok()),
            None => ReplyRoute::Immediate,
        };
        let written = match place {
            ReplyRoute::Immediate => output.add(|line| serde_json::to_writer(line, &message)),
            ReplyRoute::Held => Ok(()),
            ReplyRoute::BatchComplete(text) => output.add_text(&text),
        };
        async move {
            written?;
            output.write().await
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        let broken = self.output.broken.clone();
        loop {
            let (message, said) = match self.batch.pop_front() {
                Some(message) => (Some(message), None),
                None => {
                    let read = tokio::select! {
                        biased;
                        () = broken.cancelled() => LineRead::Eof,
                        read = self.read_line() => read,
                    };
                    match read {
                        LineRead::Line => self.parse_line(),
                        LineRead::TooLong => (
                            None,
                            Some(
                                MessageRejection::too_long(self.limits.max_message_bytes).to_json(),
                            ),
                        ),
                        LineRead::Eof => {
                            self.closed.cancel();
                            self.wait_drained().await;
                            return None;
                        }
                    }
                }
            };
            let ended = message.as_ref().and_then(|message| self.note_cancellation(message));
            for said in said.iter().chain(&ended) {
                let _ = self.output.add_text(said);
            }
            match message {
                // Written in another task: `receive` may be dropped while it
                // waits, which must not lose the message.
                Some(message) => {
                    if said.is_some() || ended.is_some() {
                        let output = Arc::clone(&self.output);
                        tokio::spawn(async move { output.write().await });
                    }
                    return Some(message);
                }
                // A failed write sets `broken`.
                None if said.is_some() => {
                    let _ = self.output.write().await;
                }
                None => {}
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        drop(self.output.pipe.lock().await.take());
        Ok(())
    }
}

/// Returns the id of a message that expects a response.
pub(super) fn request_id(message: &ClientJsonRpcMessage) -> Option<&RequestId> {
    match message {
        ClientJsonRpcMessage::Request(message) => Some(&message.id),
        _ => None,
    }
}

/// Returns the id of the request that a message answers.
pub(super) fn response_id(message: &ServerJsonRpcMessage) -> Option<&RequestId> {
    match message {
        ServerJsonRpcMessage::Response(message) => Some(&message.id),
        ServerJsonRpcMessage::Error(message) => message.id.as_ref(),
        _ => None,
    }
}

impl<W: AsyncWrite + Unpin> LineWriter<W> {
    fn add_text(&self, text: &str) -> io::Result<()> {
        self.add(|line| {
            line.extend_from_slice(text.as_bytes());
            Ok(())
        })
    }

    /// Queues a line; a line that cannot be serialized leaves no trace.
    fn add(
        &self,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), serde_json::Error>,
    ) -> io::Result<()> {
        let mut waiting = self.waiting.lock();
        let before = waiting.len();
        if let Err(error) = write(&mut waiting) {
            waiting.truncate(before);
            return Err(error.into());
        }
        waiting.push(b'\n');
        Ok(())
    }

    /// Writes all queued lines. If there are none, another caller wrote them.
    async fn write(&self) -> io::Result<()> {
        let mut pipe = self.pipe.lock().await;
        let Some(pipe) = pipe.as_mut() else { return Err(io::ErrorKind::NotConnected.into()) };
        let lines = std::mem::take(&mut *self.waiting.lock());
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
#[path = "line_transport_tests.rs"]
mod tests;
