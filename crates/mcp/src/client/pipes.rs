//! Messages through a program's standard streams, one line each.
//!
//! What comes is not to be trusted: a line may be garbage, or endless. A
//! message that cannot be read, but says which request it answers, fails that
//! request at once instead of leaving it to wait.

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
use super::tail::Tail;

/// The longest message.
pub(crate) const LONGEST: usize = 16 * 1024 * 1024;

/// What tells an answer that was too long from other errors.
pub(crate) const TOO_LONG: &str = "hermes.too_long";

/// What tells an answer that could not be read from other errors.
pub(crate) const UNREADABLE: &str = "hermes.unreadable";

/// As much of a line that is thrown away is looked at, at either end.
const LOOKED_AT: usize = 512;

/// A connection through two streams.
pub(crate) struct Pipes<R, W> {
    read: BufReader<R>,
    line: Vec<u8>,
    /// Messages that have come in one line with others, as in 2025-03-26.
    waiting: VecDeque<ServerJsonRpcMessage>,
    /// The end of a line that is being thrown away, and whether its request
    /// was found at its beginning.
    dropping: Option<(Vec<u8>, bool)>,
    write: Arc<Mutex<Option<W>>>,
    tail: Arc<Tail>,
    patience: Duration,
    /// The question whether the server speaks the newer protocol, and how long
    /// it may go without an answer.
    probe: Option<(RequestId, Instant)>,
    /// Such a question that was given up: an answer that still comes is late.
    given_up: Option<RequestId>,
    /// Set when one came, and it was yes.
    late_yes: Arc<AtomicBool>,
}

impl<R, W> std::fmt::Debug for Pipes<R, W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pipes").field("line", &self.line.len()).finish_non_exhaustive()
    }
}

/// What a piece of a line has led to.
enum Read {
    Line,
    More,
    /// A line that was too long, and the request that it answers.
    Dropped(Option<RequestId>),
    End,
}

impl<R: AsyncRead + Unpin, W> Pipes<R, W> {
    pub(crate) fn new(read: R, write: W, tail: Arc<Tail>, patience: Duration) -> Self {
        Self {
            read: BufReader::with_capacity(64 * 1024, read),
            line: Vec::new(),
            waiting: VecDeque::new(),
            dropping: None,
            write: Arc::new(Mutex::new(Some(write))),
            tail,
            patience,
            probe: None,
            given_up: None,
            late_yes: Arc::default(),
        }
    }

    /// Set when the server says that it speaks the newer protocol, but so late
    /// that it was greeted in the older way.
    pub(crate) fn late_yes(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.late_yes)
    }

    /// Reads on. Nothing is lost if this is dropped while it waits.
    async fn read_on(&mut self) -> Read {
        let Ok(found) = self.read.fill_buf().await else { return Read::End };
        if found.is_empty() {
            return Read::End;
        }
        let end = found.iter().position(|byte| *byte == b'\n');
        let piece = &found[..end.unwrap_or(found.len())];
        let taken = end.map_or(found.len(), |at| at + 1);
        let outcome = if let Some((tail, is_told)) = &mut self.dropping {
            tail.extend_from_slice(&piece[piece.len().saturating_sub(LOOKED_AT)..]);
            let over = tail.len().saturating_sub(LOOKED_AT);
            tail.drain(..over);
            match end {
                None => Read::More,
                Some(_) if *is_told => {
                    self.dropping = None;
                    Read::More
                }
                Some(_) => {
                    let id = id_in(tail, Side::End);
                    self.dropping = None;
                    Read::Dropped(id)
                }
            }
        } else if self.line.len() + piece.len() > LONGEST {
            let id = id_in(&self.line[..self.line.len().min(LOOKED_AT)], Side::Beginning);
            self.line = Vec::new();
            if end.is_none() {
                self.dropping = Some((Vec::new(), id.is_some()));
            }
            match (id, end) {
                (None, None) => Read::More,
                (id, _) => Read::Dropped(id),
            }
        } else {
            self.line.extend_from_slice(piece);
            if end.is_some() { Read::Line } else { Read::More }
        };
        self.read.consume(taken);
        outcome
    }

    /// Takes the message that the line holds, or several.
    fn take_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        let text = line.trim_ascii();
        match serde_json::from_slice::<Vec<&RawValue>>(text) {
            Ok(all) => all.into_iter().for_each(|one| self.take_message(one.get().as_bytes())),
            Err(_) => self.take_message(text),
        }
    }

    fn take_message(&mut self, text: &[u8]) {
        if text.is_empty() {
            return;
        }
        let message = match read_message(text) {
            Ok(message) => Some(message),
            Err(error) => {
                let answered = unreadable(text, &error);
                if answered.is_none() {
                    self.tail.push(b"[not a message] ");
                    self.tail.push(&text[..text.len().min(200)]);
                    self.tail.push(b"\n");
                }
                answered
            }
        };
        self.waiting.extend(message);
    }

    /// A message, unless it is the late answer to a question that was given up.
    fn sort_out(&mut self, message: ServerJsonRpcMessage) -> Option<ServerJsonRpcMessage> {
        let id = match &message {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            _ => None,
        };
        let Some(id) = id else { return Some(message) };
        if self.probe.as_ref().is_some_and(|probe| probe.0 == *id) {
            self.probe = None;
            return Some(probe::answer(message));
        }
        if self.given_up.as_ref() != Some(id) {
            return Some(message);
        }
        let is_yes = matches!(
            &message,
            JsonRpcMessage::Response(it) if matches!(it.result, ServerResult::DiscoverResult(_))
        );
        self.late_yes.fetch_or(is_yes, Ordering::Relaxed);
        None
    }
}

impl<R, W> Transport<RoleClient> for Pipes<R, W>
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
            self.probe = Some((request.id.clone(), Instant::now() + self.patience));
        }
        let write = Arc::clone(&self.write);
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
            while let Some(message) = self.waiting.pop_front() {
                if let Some(message) = self.sort_out(message) {
                    return Some(message);
                }
            }
            let read = match self.probe.clone() {
                None => self.read_on().await,
                Some((id, until)) => tokio::select! {
                    read = self.read_on() => read,
                    () = sleep_until(until) => {
                        self.probe = None;
                        self.given_up = Some(id.clone());
                        return Some(failed(id, ErrorCode::METHOD_NOT_FOUND, "no answer", UNREADABLE));
                    }
                },
            };
            match read {
                Read::End => return None,
                Read::More => {}
                Read::Line => self.take_line(),
                Read::Dropped(Some(id)) => {
                    let text = format!("the answer is longer than {} MiB", LONGEST >> 20);
                    self.waiting.push_back(failed(id, ErrorCode::INTERNAL_ERROR, text, TOO_LONG));
                }
                Read::Dropped(None) => self.tail.push(b"[a message that was too long]\n"),
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        drop(self.write.lock().await.take());
        Ok(())
    }
}

/// Reads a message. Half a character, or what is none, does not lose the rest.
pub(crate) fn read_message(text: &[u8]) -> Result<ServerJsonRpcMessage, serde_json::Error> {
    let read = serde_json::from_slice(text).or_else(|error| {
        let lossy = String::from_utf8_lossy(text);
        let mended = hermes_llm::whole_characters(&lossy);
        match (&lossy, mended) {
            (_, Some(mended)) => serde_json::from_str(&mended).map_err(|_| error),
            (std::borrow::Cow::Owned(lossy), None) => {
                serde_json::from_str(lossy).map_err(|_| error)
            }
            (std::borrow::Cow::Borrowed(_), None) => Err(error),
        }
    });
    read.or_else(|error| read_deep_list(text).ok_or(error))
}

/// A list of tools of which one is nested too deep: the others can be had. An
/// answer is told as it is, or not at all.
fn read_deep_list(text: &[u8]) -> Option<ServerJsonRpcMessage> {
    let message = serde_json::from_slice(&super::deep::cut(text)).ok()?;
    let is_list = matches!(
        &message,
        JsonRpcMessage::Response(it) if matches!(it.result, ServerResult::ListToolsResult(_))
    );
    is_list.then_some(message)
}

fn failed(
    id: RequestId,
    code: ErrorCode,
    text: impl Into<String>,
    mark: &str,
) -> ServerJsonRpcMessage {
    let error = ErrorData::new(code, text.into(), Some(json!({ mark: true })));
    ServerJsonRpcMessage::error(error, Some(id))
}

/// The failure of the request that a message answers which cannot be read.
fn unreadable(line: &[u8], error: &serde_json::Error) -> Option<ServerJsonRpcMessage> {
    let id: RequestId = match serde_json::from_slice::<Value>(line) {
        Ok(value) if value.get("result").is_none() && value.get("error").is_none() => return None,
        Ok(value) => serde_json::from_value(value.get("id")?.clone()).ok()?,
        Err(_) => glimpsed(line)?,
    };
    let text = format!("the answer cannot be read: {error}");
    Some(failed(id, ErrorCode::INTERNAL_ERROR, text, UNREADABLE))
}

/// The id of the request that a line seems to answer which is no JSON to us:
/// nested too deep, broken off, or not even text.
fn glimpsed(line: &[u8]) -> Option<RequestId> {
    let beginning = &line[..line.len().min(LOOKED_AT)];
    let end = &line[line.len().saturating_sub(LOOKED_AT)..];
    let text = String::from_utf8_lossy(beginning);
    let has = |key: &str| text.contains(key);
    if !text.starts_with('{') || has("\"method\"") || !(has("\"result\"") || has("\"error\"")) {
        return None;
    }
    id_in(beginning, Side::Beginning).or_else(|| id_in(end, Side::End))
}

/// At which end of a line a piece of it was.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    Beginning,
    End,
}

/// The id of the request that a message answers, from a piece of it.
fn id_in(piece: &[u8], side: Side) -> Option<RequestId> {
    let text = String::from_utf8_lossy(piece);
    let key = match side {
        // After the result begins, it may be somebody else's.
        Side::Beginning => text
            .find("\"id\"")
            .filter(|at| text.find("\"result\"").is_none_or(|result| *at < result))?,
        Side::End => text.rfind("\"id\"")?,
    };
    let rest = text[key + 4..].trim_start().strip_prefix(':')?.trim_start();
    let length = match rest.strip_prefix('"') {
        Some(inner) => inner.find('"')? + 2,
        None => rest.find(|c: char| !c.is_ascii_digit() && c != '-')?,
    };
    if side == Side::End && rest[length..].trim_end() != "}" {
        return None;
    }
    serde_json::from_str(&rest[..length]).ok()
}

#[cfg(test)]
#[path = "pipes_tests.rs"]
mod tests;
