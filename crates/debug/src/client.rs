//! A Debug Adapter Protocol client.

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

/// Size of the read buffer.
const READ_CHUNK_BYTES: usize = 64 * 1024;

/// Why a request failed.
#[derive(Debug)]
pub(crate) enum DapError {
    /// The adapter refused it for this reason.
    Refused(String),
    /// The adapter did not respond in time.
    TimedOut,
    /// The adapter is gone.
    Disconnected,
}

impl DapError {
    /// Converts to a tool error; `what` says what failed.
    pub(crate) fn into_tool_error(self, what: &str) -> ToolError {
        match self {
            Self::Refused(reason) => ToolError::conflict(format!("{what}: {reason}"))
                .with_hint("Check where the program is with action 'stack'."),
            Self::TimedOut => {
                ToolError::new(ErrorKind::Timeout, format!("{what}: the debugger does not respond"))
                    .with_hint("End the session with action 'stop' and run the program again.")
            }
            Self::Disconnected => ToolError::conflict(format!("{what}: the program has ended"))
                .with_hint("Run it again with action 'restart'."),
        }
    }
}

type PendingRequests = HashMap<i64, oneshot::Sender<Result<Value, String>>>;

/// A connection to an adapter.
#[derive(Debug)]
pub(crate) struct DapClient {
    writer: tokio::sync::Mutex<Option<AdapterPipe>>,
    pending: Mutex<PendingRequests>,
    next_seq: AtomicI64,
    state: Arc<SharedDebugState>,
}

impl DapClient {
    /// Connects to an adapter over these streams; events update `shared`.
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
                    // Dropping the client closes the connection, so the reader
                    // holds only a weak reference.
                    tokio::spawn(read_messages(Arc::downgrade(&client), stream));
                }
                OutputStream::Stderr => {
                    tokio::spawn(read_stderr(Arc::clone(&client.state), stream));
                }
            }
        }
        client
    }

    /// Sends a request and waits for the response.
    pub(crate) async fn request(
        &self,
        command: &str,
        arguments: Value,
        timeout: Duration,
    ) -> Result<Value, DapError> {
        let answer = self.send_request(command, arguments).await?;
        match tokio::time::timeout(timeout, answer).await {
            Ok(Ok(Ok(body))) => Ok(body),
            Ok(Ok(Err(reason))) => Err(DapError::Refused(reason)),
            Ok(Err(_)) => Err(DapError::Disconnected),
            Err(_) => Err(DapError::TimedOut),
        }
    }

    /// Sends a request and returns a receiver for the response.
    pub(crate) async fn send_request(
        &self,
        command: &str,
        arguments: Value,
    ) -> Result<oneshot::Receiver<Result<Value, String>>, DapError> {
        let seq = self.next_seq.fetch_add(1, Ordering::Relaxed);
        let (tell, shown) = oneshot::channel();
        self.pending().insert(seq, tell);
        let request =
            json!({ "seq": seq, "type": "request", "command": command, "arguments": arguments });
        if self.state.lock().is_disconnected || !self.send(&request).await {
            self.pending().remove(&seq);
            return Err(DapError::Disconnected);
        }
        Ok(shown)
    }

    /// Closes the connection.
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
                // The adapter requests a terminal or another session. Neither
                // is supported: one program is one session.
                let reply = json!({
                    "seq": self.next_seq.fetch_add(1, Ordering::Relaxed),
                    "type": "response",
                    "request_seq": message.get("seq"),
                    "command": message.get("command"),
                    "success": false,
                    "message": "not supported",
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

/// Returns the adapter's reason for a refusal.
fn error_message(message: &Value, body: &Value) -> String {
    const MAX_REASON_CHARS: usize = 1_000;
    let format = body.pointer("/error/format").and_then(Value::as_str);
    let said = message.get("message").and_then(Value::as_str);
    let text = format.filter(|text| !text.contains('{')).or(said).unwrap_or("refused");
    text.trim().chars().take(MAX_REASON_CHARS).collect()
}

/// Handles messages until the stream ends.
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

/// Collects the stderr of an adapter.
async fn read_stderr(shared: Arc<SharedDebugState>, stream: AdapterPipe) {
    let mut buffer = vec![0; READ_CHUNK_BYTES];
    while let Ok(read @ 1..) = stream.read(&mut buffer).await {
        shared.lock().append_stderr(buffer.get(..read).unwrap_or_default());
    }
}

#[cfg(test)]
#[path = "client_tests.rs"]
mod tests;
