//! Messages on a pipe, a line each. What is no message is answered with what
//! is wrong with it, and the next line is read.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex as Lock, PoisonError};
use std::time::Duration;

use hermes_core::CancellationToken;
use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, GetMeta as _, ProtocolVersion,
    RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::message::{self, Refusal};
use super::open::{Open, Place};

/// As much as is read at once.
const PORTION: usize = 32 << 10;

/// Room for a line that is kept for the next one.
const KEPT: usize = 1 << 20;

/// One client at the other end of two pipes.
pub(crate) struct Lines<R, W> {
    input: BufReader<R>,
    /// As much of the next line as has been read.
    line: Vec<u8>,
    bounds: Bounds,
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
    batch: VecDeque<ClientJsonRpcMessage>,
    /// What the client waits for.
    open: Open,
    /// When nobody waits for the last answers any more.
    until: Option<Instant>,
}

/// What is put up with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// The bytes of the longest message.
    pub(crate) longest: usize,
    /// How long answers may take after the last message.
    pub(crate) patience: Duration,
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
    /// `closed` is set when there is no more to be read.
    pub(crate) fn new(input: R, output: W, bounds: Bounds, closed: CancellationToken) -> Self {
        let output = Output {
            waiting: Lock::default(),
            pipe: Mutex::new(Some(output)),
            broken: CancellationToken::new(),
        };
        Self {
            input: BufReader::with_capacity(PORTION, input),
            line: Vec::new(),
            bounds,
            skips: false,
            output: Arc::new(output),
            closed,
            has_begun: false,
            may_batch: false,
            batch: VecDeque::new(),
            open: Open::default(),
            until: None,
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
            let fits = self.line.len().saturating_add(taken) <= self.bounds.longest;
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

    /// The message of the line that was read, if there is one; of several, the
    /// first. What is to be said to the line at once.
    fn take_message(&mut self) -> (Option<ClientJsonRpcMessage>, Option<String>) {
        let line = self.line.trim_ascii();
        let all = if self.may_batch { message::read_batch(line) } else { None };
        let taken = match all {
            Some(all) => self.take_batch(all),
            None if line.is_empty() => (None, None),
            None => match message::read(line) {
                Ok(message) => self.take_one(message),
                Err(refusal) => (None, Some(refusal.to_json())),
            },
        };
        self.line.clear();
        if self.line.capacity() > KEPT {
            self.line = Vec::new();
        }
        taken
    }

    fn take_one(
        &mut self,
        message: Option<ClientJsonRpcMessage>,
    ) -> (Option<ClientJsonRpcMessage>, Option<String>) {
        let Some(message) = message.filter(|message| self.is_apt(message)) else {
            return (None, None);
        };
        if !self.has_begun
            && let Some(refusal) = message::refuse_greeting(&message)
        {
            return (None, Some(refusal.to_json()));
        }
        match id_of(&message) {
            Some(id) if !self.open.begin(id) => (None, Some(Refusal::taken(id).to_json())),
            _ => (Some(message), None),
        }
    }

    /// Those of a batch are answered together.
    fn take_batch(
        &mut self,
        all: Vec<Result<Option<ClientJsonRpcMessage>, Refusal>>,
    ) -> (Option<ClientJsonRpcMessage>, Option<String>) {
        let batch = self.open.begin_batch();
        for one in all {
            let refusal = match one {
                Ok(None) => continue,
                Ok(Some(message)) => match id_of(&message) {
                    Some(id) if !self.open.begin_in(batch, id) => Refusal::taken(id),
                    _ => {
                        self.batch.push_back(message);
                        continue;
                    }
                },
                Err(refusal) => refusal,
            };
            self.open.say_in(batch, refusal.to_json());
        }
        (self.batch.pop_front(), self.open.finish(batch))
    }

    /// What has to be said now that this message is taken.
    fn note(&mut self, message: &ClientJsonRpcMessage) -> Option<String> {
        let ClientJsonRpcMessage::Notification(message) = message else { return None };
        let ClientNotification::CancelledNotification(given_up) = &message.notification else {
            return None;
        };
        self.open.give_up(given_up.params.request_id.as_ref()?)
    }

    /// Waits until the client has got its answers, or for as long as it may
    /// take. Whoever answers is heard only while the client seems to be there.
    async fn rest(&mut self) {
        let until = *self.until.get_or_insert_with(|| Instant::now() + self.bounds.patience);
        if !self.open.is_empty() {
            // Given up as soon as something is sent, and then begun again.
            let broken = self.output.broken.clone();
            let _ = tokio::time::timeout_at(until, broken.cancelled()).await;
        }
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
        let place = match answered(&message) {
            Some(id) => self.open.answer(id, || serde_json::to_string(&message).ok()),
            None => Place::Alone,
        };
        let written = match place {
            Place::Alone => output.add(|line| serde_json::to_writer(line, &message)),
            Place::Kept => Ok(()),
            Place::Together(text) => output.add_text(&text),
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
                        () = broken.cancelled() => Read::End,
                        read = self.read_line() => read,
                    };
                    match read {
                        Read::Line => self.take_message(),
                        Read::TooLong => {
                            (None, Some(Refusal::too_long(self.bounds.longest).to_json()))
                        }
                        Read::End => {
                            self.closed.cancel();
                            self.rest().await;
                            return None;
                        }
                    }
                }
            };
            let ended = message.as_ref().and_then(|message| self.note(message));
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
pub(super) fn id_of(message: &ClientJsonRpcMessage) -> Option<&RequestId> {
    match message {
        ClientJsonRpcMessage::Request(message) => Some(&message.id),
        _ => None,
    }
}

/// The id of the request that a message answers.
pub(super) fn answered(message: &ServerJsonRpcMessage) -> Option<&RequestId> {
    match message {
        ServerJsonRpcMessage::Response(message) => Some(&message.id),
        ServerJsonRpcMessage::Error(message) => message.id.as_ref(),
        _ => None,
    }
}

impl<W: AsyncWrite + Unpin> Output<W> {
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
