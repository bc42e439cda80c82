//! Requests to an adapter and their answers.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use hermes_core::{ErrorKind, ToolError};
use hermes_exec::output::OutputStream;
use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::state::{DebuggeePhase, SharedDebugState};
use crate::stream::AdapterPipe;
use crate::wire::{MessageDecoder, encode};

/// Bytes that are read at a time.
const READ_CHUNK_BYTES: usize = 64 * 1024;

/// Why a request has no answer.
#[derive(Debug)]
pub(crate) enum DapError {
    /// The adapter says no, with this reason.
    Refused(String),
    /// It says nothing.
    TimedOut,
    /// It is not there any more.
    Disconnected,
}

impl DapError {
    /// The error for somebody who wanted this.
    pub(crate) fn into_tool_error(self, what: &str) -> ToolError {
        match self {
            Self::Refused(reason) => ToolError::conflict(format!("{what}: {reason}"))
                .with_hint("Look at where the program is with action 'stack'."),
            Self::TimedOut => {
                ToolError::new(ErrorKind::Timeout, format!("{what}: the debugger does not answer"))
                    .with_hint("End the session with action 'stop' and run the program again.")
            }
            Self::Disconnected => ToolError::conflict(format!("{what}: the program has ended"))
                .with_hint("Run it again with action 'restart'."),
        }
    }
}

type PendingRequests = HashMap<i64, oneshot::Sender<Result<Value, String>>>;

/// The line to an adapter.
#[derive(Debug)]
pub(crate) struct DapClient {
    writer: tokio::sync::Mutex<Option<AdapterPipe>>,
    pending: Mutex<PendingRequests>,
    next_seq: AtomicI64,
    state: Arc<SharedDebugState>,
}

impl DapClient {
    /// Speaks to an adapter by these streams; what it tells goes to `shared`.
    pub(crate) fn new(
        input: AdapterPipe,
        output: Vec<(OutputStream, AdapterPipe)>,
        shared: Arc<SharedDebugState>,
    ) -> Arc<Self> {
        let client = Arc::new(Self {
            writer: tokio::sync::Mutex::new(Some(input)),
            pending: Mutex::default(),
            next_seq: AtomicI64::new(1),
            state: shared,
        });
        for (source, stream) in output {
            match source {
                OutputStream::Stdout => {
                    // Whoever drops the client hangs up; the listener must not
                    // keep it.
                    tokio::spawn(read_messages(Arc::downgrade(&client), stream));
                }
                OutputStream::Stderr => {
                    tokio::spawn(read_stderr(Arc::clone(&client.state), stream));
                }
            }
        }
        client
    }

    /// Asks for something and waits for the answer.
    pub(crate) async fn request(
        &self,
        command: &str,
        arguments: Value,
        patience: Duration,
    ) -> Result<Value, DapError> {
        let answer = self.send_request(command, arguments).await?;
        match tokio::time::timeout(patience, answer).await {
            Ok(Ok(Ok(body))) => Ok(body),
            Ok(Ok(Err(reason))) => Err(DapError::Refused(reason)),
            Ok(Err(_)) => Err(DapError::Disconnected),
            Err(_) => Err(DapError::TimedOut),
        }
    }

    /// Asks for something; the answer comes when it comes.
    pub(crate) async fn send_request(
        &self,
        command: &str,
        arguments: Value,
    ) -> Result<oneshot::Receiver<Result<Value, String>>, DapError> {
        let seq = self.next_seq.fetch_add(1, Ordering::Relaxed);
        let (tell, told) = oneshot::channel();
        self.pending().insert(seq, tell);
        let request =
            json!({ "seq": seq, "type": "request", "command": command, "arguments": arguments });
        if self.state.lock().is_disconnected || !self.send(&request).await {
            self.pending().remove(&seq);
            return Err(DapError::Disconnected);
        }
        Ok(told)
    }

    /// Hangs up.
    pub(crate) async fn close(&self) {
        self.writer.lock().await.take();
    }

    async fn send(&self, message: &Value) -> bool {
        let to = self.writer.lock().await;
        match &*to {
            Some(stream) => stream.write_all(&encode(message)).await.is_ok(),
            None => false,
        }
    }

    async fn handle_message(&self, message: Value) {
        match message.get("type").and_then(Value::as_str) {
            Some("response") => self.complete_request(message),
            Some("event") => {
                let body = message.get("body").unwrap_or(&Value::Null);
                let name = message.get("event").and_then(Value::as_str).unwrap_or_default();
                self.state.update(|state| state.handle_event(name, body));
            }
            Some("request") => {
                // It wants a terminal, or another session. There is no
                // terminal here, and one program is one session.
                let reply = json!({
                    "seq": self.next_seq.fetch_add(1, Ordering::Relaxed),
                    "type": "response",
                    "request_seq": message.get("seq"),
                    "command": message.get("command"),
                    "success": false,
                    "message": "not possible here",
                });
                self.send(&reply).await;
            }
            _ => {}
        }
    }

    fn complete_request(&self, mut message: Value) {
        let seq = message.get("request_seq").and_then(Value::as_i64).unwrap_or_default();
        let Some(tell) = self.pending().remove(&seq) else { return };
        let is_well = message.get("success").and_then(Value::as_bool).unwrap_or(false);
        let body = message.get_mut("body").map(Value::take).unwrap_or_default();
        let _ = tell.send(if is_well { Ok(body) } else { Err(error_message(&message, &body)) });
    }

    fn pending(&self) -> MutexGuard<'_, PendingRequests> {
        self.pending.lock()
    }
}

/// Why it said no, in its own words.
fn error_message(message: &Value, body: &Value) -> String {
    const MAX_REASON_CHARS: usize = 1_000;
    let format = body.pointer("/error/format").and_then(Value::as_str);
    let said = message.get("message").and_then(Value::as_str);
    let text = format.filter(|text| !text.contains('{')).or(said).unwrap_or("refused");
    text.trim().chars().take(MAX_REASON_CHARS).collect()
}

/// Listens to messages until there are no more.
async fn read_messages(client: std::sync::Weak<DapClient>, stream: AdapterPipe) {
    let mut decoder = MessageDecoder::default();
    let mut buffer = vec![0; READ_CHUNK_BYTES];
    let mut trouble = None;
    while let Ok(read @ 1..) = stream.read(&mut buffer).await {
        decoder.feed(buffer.get(..read).unwrap_or_default());
        loop {
            match (decoder.next(), client.upgrade()) {
                (Ok(Some(message)), Some(client)) => client.handle_message(message).await,
                (Ok(Some(_)), None) => return,
                (Ok(None), _) => break,
                (Err(error), _) => {
                    trouble = Some(error);
                    break;
                }
            }
        }
        if trouble.is_some() {
            break;
        }
    }
    let Some(client) = client.upgrade() else { return };
    client.state.update(|state| {
        state.is_disconnected = true;
        state.phase = DebuggeePhase::Ended;
        if let Some(trouble) = trouble {
            state.append_stderr(trouble.as_bytes());
        }
    });
    client.pending().clear();
}

/// Hears what an adapter complains of.
async fn read_stderr(shared: Arc<SharedDebugState>, stream: AdapterPipe) {
    let mut buffer = vec![0; READ_CHUNK_BYTES];
    while let Ok(read @ 1..) = stream.read(&mut buffer).await {
        shared.lock().append_stderr(buffer.get(..read).unwrap_or_default());
    }
}

#[cfg(test)]
#[path = "client_tests.rs"]
mod tests;
