//! Messages on a pipe, a line each. What is no message is answered with what
//! is wrong with it, and the next line is read.

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

/// As much as is read at once.
const READ_CHUNK_BYTES: usize = 32 << 10;

/// Room for a line that is kept for the next one.
const MAX_KEPT_CAPACITY: usize = 1 << 20;

/// One client at the other end of two pipes.
pub(crate) struct LineTransport<R, W> {
    input: BufReader<R>,
    /// As much of the next line as has been read.
    line: Vec<u8>,
    limits: LineLimits,
    /// Whether the rest of a line is passed over that was too long.
    is_skipping: bool,
    output: Arc<LineWriter<W>>,
    /// Set when there is no more to be read.
    closed: CancellationToken,
    /// Whether the client has begun to speak the protocol.
    is_initialized: bool,
    /// Whether several messages may come in one line: in 2025-03-26, and in no
    /// other version.
    may_batch: bool,
    /// Those of a line that are still to be taken.
    batch: VecDeque<ClientJsonRpcMessage>,
    /// What the client waits for.
    pending: PendingReplies,
    /// When nobody waits for the last answers any more.
    drain_deadline: Option<Instant>,
}

/// What is put up with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LineLimits {
    /// The bytes of the longest message.
    pub(crate) max_message_bytes: usize,
    /// How long answers may take after the last message.
    pub(crate) drain_timeout: Duration,
}

/// Where answers go. Those that wait are written together.
struct LineWriter<W> {
    waiting: Lock<Vec<u8>>,
    pipe: Mutex<Option<W>>,
    /// Set when nobody reads any more.
    broken: CancellationToken,
}

/// What came of reading a line.
enum LineRead {
    Line,
    TooLong,
    Eof,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> LineTransport<R, W> {
    /// `closed` is set when there is no more to be read.
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

    /// Reads the next line into `line`. May be given up at any time and begun
    /// again: what was read is kept.
    async fn read_line(&mut self) -> LineRead {
        loop {
            let portion = match self.input.fill_buf().await {
                Ok(portion) if !portion.is_empty() => portion,
                // The last line may do without its end.
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

    /// The message of the line that was read, if there is one; of several, the
    /// first. What is to be said to the line at once.
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

    /// Those of a batch are answered together.
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

    /// What has to be said now that this message is taken.
    fn note_cancellation(&mut self, message: &ClientJsonRpcMessage) -> Option<String> {
        let ClientJsonRpcMessage::Notification(message) = message else { return None };
        let ClientNotification::CancelledNotification(given_up) = &message.notification else {
            return None;
        };
        self.pending.cancel(given_up.params.request_id.as_ref()?)
    }

    /// Waits until the client has got its answers, or for as long as it may
    /// take. Whoever answers is heard only while the client seems to be there.
    async fn wait_drained(&mut self) {
        let until =
            *self.drain_deadline.get_or_insert_with(|| Instant::now() + self.limits.drain_timeout);
        if !self.pending.is_empty() {
            // Given up as soon as something is sent, and then begun again.
            let broken = self.output.broken.clone();
            let _ = tokio::time::timeout_at(until, broken.cancelled()).await;
        }
    }

    /// Whether a message can be about something. Before the client has begun
    /// nothing is under way, so all but requests mean nothing.
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
                // It is written by whoever writes next: who reads may be given
                // up while it waits, and a message must not be lost with it.
                Some(message) => {
                    if said.is_some() || ended.is_some() {
                        let output = Arc::clone(&self.output);
                        tokio::spawn(async move { output.write().await });
                    }
                    return Some(message);
                }
                // A pipe that is broken has set its mark.
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

/// The id of a message that is to be answered.
pub(super) fn request_id(message: &ClientJsonRpcMessage) -> Option<&RequestId> {
    match message {
        ClientJsonRpcMessage::Request(message) => Some(&message.id),
        _ => None,
    }
}

/// The id of the request that a message answers.
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

    /// Adds a line to those that wait; nothing of one that cannot be written.
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

    /// Writes all that waits. Who finds nothing was served by another.
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
