//! A model at a server, asked over HTTP.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::StreamExt as _;
use hermes_core::BoxFuture;
use reqwest::{Method, Response, Url};
use serde_json::Value;

use crate::classify::classify;
use crate::dialect::{self, Heard, Pieces};
use crate::endpoint::{Dialect, Endpoint, Key, Prices};
use crate::fault::{Fault, FaultKind};
use crate::halves;
use crate::http::{Http, Trouble, broken, place, read, silent};
use crate::model::{Model, Stream};
use crate::reply::{Event, Finish};
use crate::request::Request;
use crate::sse;

/// Of an answer that is not streamed, so much is read.
const WHOLE: usize = 64 * 1024 * 1024;

/// The longest answer, in bytes: many times what any model writes.
const LONGEST: usize = 16 * 1024 * 1024;

/// A model at a server, asked with one key.
#[derive(Debug)]
pub struct Server {
    http: Arc<Http>,
    endpoint: Arc<Endpoint>,
    key: Option<Key>,
    /// Zero means that it is not known.
    window: AtomicU64,
}

impl Server {
    /// A model at a server. The key is one of the endpoint's.
    pub fn new(http: Arc<Http>, endpoint: Arc<Endpoint>, key: Option<Key>) -> Self {
        let window = AtomicU64::new(endpoint.window.unwrap_or_default());
        Self { http, endpoint, key, window }
    }

    /// Where it is.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// It has turned out how long a conversation may be.
    pub fn set_window(&self, tokens: u64) {
        self.window.store(tokens, Ordering::Relaxed);
    }

    async fn begin(&self, request: &Request) -> Result<Stream, Fault> {
        let (path, mut body) = dialect::write(&self.endpoint, request);
        self.http.learnt.apply(&self.endpoint, &mut body);
        let mut url = self.endpoint.url(&path)?;
        if self.endpoint.dialect == Dialect::Gemini {
            url.set_query(Some("alt=sse"));
        }
        let headers = self.endpoint.headers(self.key.as_ref())?;
        let patience = request.patience;
        // Each refusal takes something out of the request, so it comes to an end.
        let answer = loop {
            let (url, headers) = (url.clone(), headers.clone());
            let bytes = body.to_string().into_bytes();
            match self.http.send(Method::POST, url, headers, Some(bytes), patience).await {
                Ok(answer) => break answer,
                Err(Trouble::Fault(fault)) => return Err(fault),
                Err(Trouble::Failed(failed)) => {
                    let status = failed.status.as_u16();
                    if matches!(status, 400 | 422)
                        && self.http.learnt.learn(&self.endpoint, &failed.body, &mut body)
                    {
                        continue;
                    }
                    let mut fault = classify(Some(status), Some(&failed.headers), &failed.body);
                    self.key.iter().for_each(|key| key.scrub(&mut fault.message));
                    return Err(fault);
                }
            }
        };
        if kind_is(&answer, "text/html") {
            return Err(no_answer(&url));
        }
        let mut listening = Listening {
            url,
            key: self.key.clone(),
            patience,
            prices: self.endpoint.prices,
            pieces: dialect::reader(&self.endpoint, request),
            answer: None,
            reader: sse::Reader::default(),
            held: None,
            queue: VecDeque::new(),
            finished: false,
            spoken: false,
            length: 0,
        };
        if kind_is(&answer, "application/json") {
            listening.take_whole(answer).await?;
        } else {
            listening.answer = Some(answer);
        }
        Ok(futures_util::stream::unfold(listening, Listening::next).boxed())
    }
}

impl Model for Server {
    fn name(&self) -> &str {
        &self.endpoint.model
    }

    fn window(&self) -> Option<u64> {
        Some(self.window.load(Ordering::Relaxed)).filter(|tokens| *tokens > 0)
    }

    fn ask<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Result<Stream, Fault>> {
        Box::pin(self.begin(request))
    }
}

/// How much a piece adds to an answer.
fn length(event: &Event) -> usize {
    match event {
        Event::Text(text) | Event::Thought(text) | Event::Arguments { text, .. } => text.len(),
        Event::Call { name, .. } => name.len() + 64,
        Event::Opaque(value) => value.to_string().len(),
        _ => 0,
    }
}

fn kind_is(answer: &Response, wanted: &str) -> bool {
    let kind = answer.headers().get("content-type").and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.starts_with(wanted))
}

/// A document, with what is half a character in it replaced.
fn parsed(text: &str) -> Option<Value> {
    let whole = serde_json::from_str(text);
    whole
        .or_else(|error| match halves::mended(text) {
            Some(mended) => serde_json::from_str(&mended),
            None => Err(error),
        })
        .ok()
}

fn no_answer(url: &Url) -> Fault {
    let message = format!("{} answered what is no answer of a model", place(url));
    Fault::new(FaultKind::Protocol, message)
        .with_hint("check `model.base_url`; for most servers it ends in /v1")
}

/// An answer on its way.
struct Listening {
    url: Url,
    key: Option<Key>,
    patience: Duration,
    prices: Option<Prices>,
    pieces: Box<dyn Pieces>,
    /// None once nothing more comes.
    answer: Option<Response>,
    reader: sse::Reader,
    /// A piece that ends with half a character, until the other half is there.
    held: Option<String>,
    queue: VecDeque<Result<Event, Fault>>,
    /// Whether the server said why it stopped.
    finished: bool,
    /// Whether something of the answer came.
    spoken: bool,
    /// How long it is by now.
    length: usize,
}

impl Listening {
    async fn next(mut self) -> Option<(Result<Event, Fault>, Self)> {
        loop {
            if let Some(event) = self.queue.pop_front() {
                return Some((event, self));
            }
            let answer = self.answer.as_mut()?;
            match tokio::time::timeout(self.patience, answer.chunk()).await {
                Ok(Ok(Some(piece))) => match self.reader.take(&piece) {
                    Ok(sent) => self.take(sent),
                    Err(fault) => self.fail(fault),
                },
                Ok(Ok(None)) => {
                    let last = self.reader.end();
                    self.take(last);
                    self.release();
                    if self.answer.take().is_some() && !self.finished {
                        let message =
                            format!("{} stopped in the middle of its answer", place(&self.url));
                        self.fail(Fault::new(FaultKind::Network, message));
                    }
                }
                // What counts was there already.
                Ok(Err(_)) | Err(_) if self.finished => self.answer = None,
                Ok(Err(error)) => self.fail(broken(&self.url, &error)),
                Err(_) => self.fail(silent(&self.url, self.patience)),
            }
        }
    }

    fn take(&mut self, sent: impl IntoIterator<Item = sse::Sent>) {
        for event in sent {
            if self.answer.is_none() {
                return;
            }
            let data = event.data.trim();
            if data.is_empty() {
                continue;
            }
            if data == "[DONE]" {
                self.release();
                if !self.finished {
                    self.push(Event::Finish(Finish::Stop));
                }
                self.answer = None;
                return;
            }
            let mut data = data.to_owned();
            if let Some(held) = self.held.take() {
                let (before, after) = halves::join(&held, &data);
                self.take_text(&before);
                data = after;
            }
            if halves::is_open(&data) {
                self.held = Some(data);
            } else {
                self.take_text(&data);
            }
        }
    }

    /// Nothing more comes that could complete what is held.
    fn release(&mut self) {
        if let Some(held) = self.held.take() {
            self.take_text(&held);
        }
    }

    fn take_text(&mut self, data: &str) {
        match parsed(data) {
            Some(data) => self.take_piece(&data),
            None => {
                let start: String = data.chars().take(120).collect();
                let message = format!("{} sent what is no JSON: {start}", place(&self.url));
                self.fail(Fault::new(FaultKind::Protocol, message));
            }
        }
    }

    fn take_piece(&mut self, data: &Value) {
        let mut events = Vec::new();
        let heard = self.pieces.take(data, &mut events);
        for event in events {
            self.push(event);
        }
        match heard {
            Ok(Heard::More) => {}
            Ok(Heard::All) => self.answer = None,
            Err(fault) => self.fail(fault),
        }
    }

    /// An answer that came as a whole, not in pieces.
    async fn take_whole(&mut self, answer: Response) -> Result<(), Fault> {
        let bytes = tokio::time::timeout(self.patience, read(answer, WHOLE)).await;
        let bytes = bytes
            .map_err(|_| silent(&self.url, self.patience))?
            .map_err(|error| broken(&self.url, &error))?;
        let data = parsed(&String::from_utf8_lossy(&bytes)).ok_or_else(|| {
            Fault::new(FaultKind::Protocol, format!("{} sent what is no JSON", place(&self.url)))
        })?;
        // Some wrap the pieces of an answer in a list.
        match data {
            Value::Array(pieces) => pieces.iter().for_each(|piece| self.take_piece(piece)),
            whole => self.take_piece(&whole),
        }
        if let Some(at) = self.queue.iter().position(Result::is_err)
            && let Some(Err(fault)) = self.queue.remove(at)
        {
            return Err(fault);
        }
        if !self.finished {
            return Err(no_answer(&self.url));
        }
        Ok(())
    }

    fn push(&mut self, mut event: Event) {
        self.length += length(&event);
        if self.length > LONGEST {
            if self.answer.is_some() || !self.finished {
                let most = LONGEST >> 20;
                let message =
                    format!("The answer of {} is longer than {most} MiB", place(&self.url));
                self.finished = true;
                self.fail(Fault::new(FaultKind::Protocol, message));
            }
            return;
        }
        match &mut event {
            Event::Finish(_) => self.finished = true,
            Event::Text(_) | Event::Thought(_) | Event::Call { .. } => self.spoken = true,
            Event::Usage(usage) => {
                usage.cost = usage.cost.or(self.prices.map(|prices| prices.cost(usage)));
            }
            _ => {}
        }
        self.queue.push_back(Ok(event));
    }

    fn fail(&mut self, mut fault: Fault) {
        fault.is_late = self.spoken;
        self.key.iter().for_each(|key| key.scrub(&mut fault.message));
        self.queue.push_back(Err(fault));
        self.answer = None;
    }
}
