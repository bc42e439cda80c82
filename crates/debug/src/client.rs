//! Requests to an adapter and their answers.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hermes_core::{ErrorKind, ToolError};
use hermes_exec::output::OutputStream;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::state::{Phase, Shared};
use crate::stream::Stream;
use crate::wire::{Decoder, encode};

/// Bytes that are read at a time.
const CHUNK: usize = 64 * 1024;

/// Why a request has no answer.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The adapter says no, with this reason.
    Refused(String),
    /// It says nothing.
    Silent,
    /// It is not there any more.
    Gone,
}

impl Fault {
    /// The error for somebody who wanted this.
    pub(crate) fn into_error(self, what: &str) -> ToolError {
        match self {
            Self::Refused(reason) => ToolError::conflict(format!("{what}: {reason}"))
                .with_hint("Look at where the program is with action 'stack'."),
            Self::Silent => {
                ToolError::new(ErrorKind::Timeout, format!("{what}: the debugger does not answer"))
                    .with_hint("End the session with action 'stop' and run the program again.")
            }
            Self::Gone => ToolError::conflict(format!("{what}: the program has ended"))
                .with_hint("Run it again with action 'restart'."),
        }
    }
}

type Waiting = HashMap<i64, oneshot::Sender<Result<Value, String>>>;

/// The line to an adapter.
#[derive(Debug)]
pub(crate) struct Client {
    to: tokio::sync::Mutex<Option<Stream>>,
    waiting: Mutex<Waiting>,
    next: AtomicI64,
    shared: Arc<Shared>,
}

impl Client {
    /// Speaks to an adapter by these streams; what it tells goes to `shared`.
    pub(crate) fn new(
        input: Stream,
        output: Vec<(OutputStream, Stream)>,
        shared: Arc<Shared>,
    ) -> Arc<Self> {
        let client = Arc::new(Self {
            to: tokio::sync::Mutex::new(Some(input)),
            waiting: Mutex::default(),
            next: AtomicI64::new(1),
            shared,
        });
        for (source, stream) in output {
            match source {
                OutputStream::Stdout => {
                    // Whoever drops the client hangs up; the listener must not
                    // keep it.
                    tokio::spawn(listen(Arc::downgrade(&client), stream));
                }
                OutputStream::Stderr => {
                    tokio::spawn(hear(Arc::clone(&client.shared), stream));
                }
            }
        }
        client
    }

    /// Asks for something and waits for the answer.
    pub(crate) async fn ask(
        &self,
        command: &str,
        arguments: Value,
        patience: Duration,
    ) -> Result<Value, Fault> {
        let answer = self.begin(command, arguments).await?;
        match tokio::time::timeout(patience, answer).await {
            Ok(Ok(Ok(body))) => Ok(body),
            Ok(Ok(Err(reason))) => Err(Fault::Refused(reason)),
            Ok(Err(_)) => Err(Fault::Gone),
            Err(_) => Err(Fault::Silent),
        }
    }

    /// Asks for something; the answer comes when it comes.
    pub(crate) async fn begin(
        &self,
        command: &str,
        arguments: Value,
    ) -> Result<oneshot::Receiver<Result<Value, String>>, Fault> {
        let seq = self.next.fetch_add(1, Ordering::Relaxed);
        let (tell, told) = oneshot::channel();
        self.waiting().insert(seq, tell);
        let request =
            json!({ "seq": seq, "type": "request", "command": command, "arguments": arguments });
        if self.shared.look().is_gone || !self.send(&request).await {
            self.waiting().remove(&seq);
            return Err(Fault::Gone);
        }
        Ok(told)
    }

    /// Hangs up.
    pub(crate) async fn close(&self) {
        self.to.lock().await.take();
    }

    async fn send(&self, message: &Value) -> bool {
        let to = self.to.lock().await;
        match &*to {
            Some(stream) => stream.write(&encode(message)).await.is_ok(),
            None => false,
        }
    }

    async fn take(&self, message: Value) {
        match message.get("type").and_then(Value::as_str) {
            Some("response") => self.answered(message),
            Some("event") => {
                let body = message.get("body").unwrap_or(&Value::Null);
                let name = message.get("event").and_then(Value::as_str).unwrap_or_default();
                self.shared.change(|state| state.take(name, body));
            }
            Some("request") => {
                // It wants a terminal, or another session. There is no
                // terminal here, and one program is one session.
                let reply = json!({
                    "seq": self.next.fetch_add(1, Ordering::Relaxed),
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

    fn answered(&self, mut message: Value) {
        let seq = message.get("request_seq").and_then(Value::as_i64).unwrap_or_default();
        let Some(tell) = self.waiting().remove(&seq) else { return };
        let is_well = message.get("success").and_then(Value::as_bool).unwrap_or(false);
        let body = message.get_mut("body").map(Value::take).unwrap_or_default();
        let _ = tell.send(if is_well { Ok(body) } else { Err(reason(&message, &body)) });
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why it said no, in its own words.
fn reason(message: &Value, body: &Value) -> String {
    const MOST: usize = 1_000;
    let format = body.pointer("/error/format").and_then(Value::as_str);
    let said = message.get("message").and_then(Value::as_str);
    let text = format.filter(|text| !text.contains('{')).or(said).unwrap_or("refused");
    text.trim().chars().take(MOST).collect()
}

/// Listens to messages until there are no more.
async fn listen(client: std::sync::Weak<Client>, stream: Stream) {
    let mut decoder = Decoder::default();
    let mut buffer = vec![0; CHUNK];
    let mut trouble = None;
    while let Ok(read @ 1..) = stream.read(&mut buffer).await {
        decoder.feed(buffer.get(..read).unwrap_or_default());
        loop {
            match (decoder.next(), client.upgrade()) {
                (Ok(Some(message)), Some(client)) => client.take(message).await,
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
    client.shared.change(|state| {
        state.is_gone = true;
        state.phase = Phase::Ended;
        if let Some(trouble) = trouble {
            state.complain(trouble.as_bytes());
        }
    });
    client.waiting().clear();
}

/// Hears what an adapter complains of.
async fn hear(shared: Arc<Shared>, stream: Stream) {
    let mut buffer = vec![0; CHUNK];
    while let Ok(read @ 1..) = stream.read(&mut buffer).await {
        shared.look().complain(buffer.get(..read).unwrap_or_default());
    }
}

#[cfg(test)]
#[path = "client_tests.rs"]
mod tests;
