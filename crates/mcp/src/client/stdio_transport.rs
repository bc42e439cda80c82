//! MCP messages over a child process's standard streams, one per line.
//!
//! Input is untrusted: a line may be garbage or endless. An unreadable message
//! that names the request it answers fails that request at once instead of
//! leaving it to time out.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{
    ClientJsonRpcMessage, ErrorCode, ErrorData, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
    ServerResult,
};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep_until};

use super::probe;
use super::stderr_tail::StderrTail;

/// Maximum size of one message.
pub(crate) const MAX_MESSAGE_BYTES: usize = 16 * 1024 * 1024;

/// Marks errors for responses that were too long.
pub(crate) const TOO_LONG_MARKER: &str = "hermes.too_long";

/// Marks errors for responses that could not be parsed.
pub(crate) const UNREADABLE_MARKER: &str = "hermes.unreadable";

/// Bytes inspected at either end of a discarded line.
const SCAN_WINDOW_BYTES: usize = 512;

/// A client transport over a pair of streams.
pub(crate) struct StdioTransport<R, W> {
    reader: BufReader<R>,
    line: Vec<u8>,
    /// Messages from a batch that arrived on one line, as in 2025-03-26.
    queue: VecDeque<ServerJsonRpcMessage>,
    /// Tail of a line that is being discarded, and whether the id of its
    /// request was found at its start.
    discarding: Option<(Vec<u8>, bool)>,
    writer: Arc<Mutex<Option<W>>>,
    stderr_tail: Arc<StderrTail>,
    probe_timeout: Duration,
    /// The pending probe for the newer protocol, and its deadline.
    probe: Option<(RequestId, Instant)>,
    /// A probe that timed out; a response that still arrives is late.
    abandoned_probe: Option<RequestId>,
    /// Set when a late response was positive.
    late_discover: Arc<AtomicBool>,
}

impl<R, W> std::fmt::Debug for StdioTransport<R, W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StdioTransport").field("line", &self.line.len()).finish_non_exhaustive()
    }
}

/// Outcome of reading a piece of a line.
enum LineEvent {
    Line,
    Partial,
    /// A line that was too long, with the id of the request it answers.
    Dropped(Option<RequestId>),
    Eof,
}

impl<R: AsyncRead + Unpin, W> StdioTransport<R, W> {
    pub(crate) fn new(read: R, write: W, tail: Arc<StderrTail>, timeout: Duration) -> Self {
        Self {
            reader: BufReader::with_capacity(64 * 1024, read),
            line: Vec::new(),
            queue: VecDeque::new(),
            discarding: None,
            writer: Arc::new(Mutex::new(Some(write))),
            stderr_tail: tail,
            probe_timeout: timeout,
            probe: None,
            abandoned_probe: None,
            late_discover: Arc::default(),
        }
    }

    /// Set when the server confirms the newer protocol only after it was
    /// initialized with the older one.
    pub(crate) fn late_discover(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.late_discover)
    }

    /// Reads the next piece. Cancel safe: no input is lost if this is dropped.
    async fn read_piece(&mut self) -> LineEvent {
        let found = self.reader.fill_buf().await.unwrap_or_default();
        if found.is_empty() {
            return self.end_input();
        }
        let end = found.iter().position(|byte| *byte == b'\n');
        let piece = &found[..end.unwrap_or(found.len())];
        let taken = end.map_or(found.len(), |at| at + 1);
        let outcome = if let Some((tail, is_reported)) = &mut self.discarding {
            tail.extend_from_slice(&piece[piece.len().saturating_sub(SCAN_WINDOW_BYTES)..]);
            let over = tail.len().saturating_sub(SCAN_WINDOW_BYTES);
            tail.drain(..over);
            match end {
                None => LineEvent::Partial,
                Some(_) if *is_reported => {
                    self.discarding = None;
                    LineEvent::Partial
                }
                Some(_) => {
                    let id = find_request_id(tail, LineSide::End);
                    self.discarding = None;
                    LineEvent::Dropped(id)
                }
            }
        } else if self.line.len() + piece.len() > MAX_MESSAGE_BYTES {
            let id = find_request_id(
                &self.line[..self.line.len().min(SCAN_WINDOW_BYTES)],
                LineSide::Start,
            );
            self.line = Vec::new();
            if end.is_none() {
                self.discarding = Some((Vec::new(), id.is_some()));
            }
            match (id, end) {
                (None, None) => LineEvent::Partial,
                (id, _) => LineEvent::Dropped(id),
            }
        } else {
            self.line.extend_from_slice(piece);
            if end.is_some() { LineEvent::Line } else { LineEvent::Partial }
        };
        self.reader.consume(taken);
        outcome
    }

    /// Ends the last line, which may lack a newline.
    fn end_input(&mut self) -> LineEvent {
        match self.discarding.take() {
            Some((tail, false)) => LineEvent::Dropped(find_request_id(&tail, LineSide::End)),
            _ if self.line.is_empty() => LineEvent::Eof,
            _ => LineEvent::Line,
        }
    }

    /// Queues the message on the line, or each message of a batch.
    fn parse_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        let text = line.trim_ascii();
        match serde_json::from_slice::<Vec<&RawValue>>(text) {
            Ok(all) => all.into_iter().for_each(|one| self.parse_message(one.get().as_bytes())),
            Err(_) => self.parse_message(text),
        }
    }

    fn parse_message(&mut self, text: &[u8]) {
        if text.is_empty() {
            return;
        }
        let message = match parse_server_message(text) {
            Ok(message) => Some(message),
            Err(error) => {
                let answered = unreadable_response(text, &error);
                if answered.is_none() {
                    self.stderr_tail.push(b"[not a message] ");
                    self.stderr_tail.push(&text[..text.len().min(200)]);
                    self.stderr_tail.push(b"\n");
                }
                answered
            }
        };
        self.queue.extend(message);
    }

    /// Returns the message, unless it is the late response to an abandoned
    /// probe.
    fn filter_late_probe(&mut self, message: ServerJsonRpcMessage) -> Option<ServerJsonRpcMessage> {
        let id = match &message {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            _ => None,
        };
        let Some(id) = id else { return Some(message) };
        if self.probe.as_ref().is_some_and(|probe| probe.0 == *id) {
            self.probe = None;
            return Some(probe::normalize_response(message));
        }
        if self.abandoned_probe.as_ref() != Some(id) {
            return Some(message);
        }
        let is_yes = matches!(
            &message,
            JsonRpcMessage::Response(it) if matches!(it.result, ServerResult::DiscoverResult(_))
        );
        self.late_discover.fetch_or(is_yes, Ordering::Relaxed);
        None
    }
}

impl<R, W> Transport<RoleClient> for StdioTransport<R, W>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        if let ClientJsonRpcMessage::Request(request) = &item
            && probe::is_probe(&item)
        {
            self.probe = Some((request.id.clone(), Instant::now() + self.probe_timeout));
        }
        let write = Arc::clone(&self.writer);
        let line = serde_json::to_vec(&item);
        async move {
            let mut line = line.map_err(io::Error::other)?;
            line.push(b'\n');
            let mut write = write.lock().await;
            let Some(write) = write.as_mut() else {
                return Err(io::Error::new(
                    io::ErrorKind::NotConnected,
                    "the connection is closed",
                ));
            };
            write.write_all(&line).await?;
            write.flush().await
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            while let Some(message) = self.queue.pop_front() {
                if let Some(message) = self.filter_late_probe(message) {
                    return Some(message);
                }
            }
            let read = match self.probe.clone() {
                None => self.read_piece().await,
                Some((id, until)) => tokio::select! {
                    read = self.read_piece() => read,
                    () = sleep_until(until) => {
                        self.probe = None;
                        self.abandoned_probe = Some(id.clone());
                        return Some(error_response(id, ErrorCode::METHOD_NOT_FOUND, "no answer", UNREADABLE_MARKER));
                    }
                },
            };
            match read {
                LineEvent::Eof => return None,
                LineEvent::Partial => {}
                LineEvent::Line => self.parse_line(),
                LineEvent::Dropped(Some(id)) => {
                    let text = format!("the response exceeds {} MiB", MAX_MESSAGE_BYTES >> 20);
                    self.queue.push_back(error_response(
                        id,
                        ErrorCode::INTERNAL_ERROR,
                        text,
                        TOO_LONG_MARKER,
                    ));
                }
                LineEvent::Dropped(None) => {
                    self.stderr_tail.push(b"[message too long, discarded]\n")
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        drop(self.writer.lock().await.take());
        Ok(())
    }
}

/// Parses a message. Invalid UTF-8 and lone surrogates do not lose the rest.
pub(crate) fn parse_server_message(text: &[u8]) -> Result<ServerJsonRpcMessage, serde_json::Error> {
    let read = serde_json::from_slice(text).or_else(|error| {
        let lossy = String::from_utf8_lossy(text);
        let repaired = hermes_core::surrogates::replace_lone_surrogates(&lossy);
        match (&lossy, repaired) {
            (_, Some(repaired)) => serde_json::from_str(&repaired).map_err(|_| error),
            (std::borrow::Cow::Owned(lossy), None) => {
                serde_json::from_str(lossy).map_err(|_| error)
            }
            (std::borrow::Cow::Borrowed(_), None) => Err(error),
        }
    });
    read.or_else(|error| parse_truncated_list(text).ok_or(error))
}

/// Parses a tool list in which one tool is nested too deeply, without that
/// tool. Other responses are never shortened.
fn parse_truncated_list(text: &[u8]) -> Option<ServerJsonRpcMessage> {
    let message = serde_json::from_slice(&super::nesting::truncate_nested(text)).ok()?;
    let is_list = matches!(
        &message,
        JsonRpcMessage::Response(it) if matches!(it.result, ServerResult::ListToolsResult(_))
    );
    is_list.then_some(message)
}

fn error_response(
    id: RequestId,
    code: ErrorCode,
    text: impl Into<String>,
    mark: &str,
) -> ServerJsonRpcMessage {
    let error = ErrorData::new(code, text.into(), Some(json!({ mark: true })));
    ServerJsonRpcMessage::error(error, Some(id))
}

/// Returns an error response for the request that an unreadable message
/// answers.
fn unreadable_response(line: &[u8], error: &serde_json::Error) -> Option<ServerJsonRpcMessage> {
    let id: RequestId = match serde_json::from_slice::<Value>(line) {
        Ok(value) if value.get("result").is_none() && value.get("error").is_none() => return None,
        Ok(value) => serde_json::from_value(value.get("id")?.clone()).ok()?,
        Err(_) => guess_request_id(line)?,
    };
    let text = format!("cannot parse the response: {error}");
    Some(error_response(id, ErrorCode::INTERNAL_ERROR, text, UNREADABLE_MARKER))
}

/// Guesses the id of the request that an unparsable line answers: nested too
/// deeply, truncated, or not text.
fn guess_request_id(line: &[u8]) -> Option<RequestId> {
    let beginning = &line[..line.len().min(SCAN_WINDOW_BYTES)];
    let end = &line[line.len().saturating_sub(SCAN_WINDOW_BYTES)..];
    let text = String::from_utf8_lossy(beginning);
    let has = |key: &str| text.contains(key);
    if !text.starts_with('{') || has("\"method\"") || !(has("\"result\"") || has("\"error\"")) {
        return None;
    }
    find_request_id(beginning, LineSide::Start).or_else(|| find_request_id(end, LineSide::End))
}

/// The end of a line that a piece was taken from.
#[derive(Clone, Copy, PartialEq)]
enum LineSide {
    Start,
    End,
}

/// Finds the id of the answered request in a piece of a message.
fn find_request_id(piece: &[u8], side: LineSide) -> Option<RequestId> {
    let text = String::from_utf8_lossy(piece);
    let key = match side {
        // An id after the start of the result may belong to the result.
        LineSide::Start => text
            .find("\"id\"")
            .filter(|at| text.find("\"result\"").is_none_or(|result| *at < result))?,
        LineSide::End => text.rfind("\"id\"")?,
    };
    let rest = text[key + 4..].trim_start().strip_prefix(':')?.trim_start();
    let length = match rest.strip_prefix('"') {
        Some(inner) => inner.find('"')? + 2,
        None => rest.find(|c: char| !c.is_ascii_digit() && c != '-')?,
    };
    if side == LineSide::End && rest[length..].trim_end() != "}" {
        return None;
    }
    serde_json::from_str(&rest[..length]).ok()
}

#[cfg(test)]
#[path = "stdio_transport_tests.rs"]
mod tests;
