//! A model at a server, asked over HTTP.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use futures_util::StreamExt as _;
use hermes_core::BoxFuture;
use reqwest::{Method, Response, Url};
use serde_json::Value;

use crate::classify::classify;
use crate::dialect::{self, Heard, Pieces};
use crate::endpoint::{Dialect, Endpoint, Key, Prices};
use crate::fault::{Fault, FaultKind};
use crate::find::window;
use crate::halves;
use crate::http::{Http, Trouble, broken, place, read, silent};
use crate::message::Message;
use crate::model::{Model, Stream};
use crate::reply::{Event, Finish};
use crate::request::Request;
use crate::sse;

/// Of an answer that is not streamed, so much is read.
const WHOLE: usize = 64 * 1024 * 1024;

/// The longest answer, in bytes: many times what any model writes.
const LONGEST: usize = 16 * 1024 * 1024;

/// How long a server may be silent before its answer begins, and in it.
const FIRST: Duration = Duration::from_secs(600);
const WITHIN: Duration = Duration::from_secs(180);
/// The same for one on this machine, which may have no more than a processor.
const FIRST_HERE: Duration = Duration::from_secs(1_800);
/// How long a server may take for a question beside the conversation.
const ASIDE: Duration = Duration::from_secs(2);
const BLIND: &str = "The model takes no pictures; it is told where there are some.";

/// A model at a server, asked with one key.
#[derive(Debug)]
pub struct Server {
    http: Arc<Http>,
    endpoint: Arc<Endpoint>,
    key: Option<Key>,
    /// Zero means that it is not known.
    window: AtomicU64,
    is_window_guessed: AtomicBool,
}

impl Server {
    /// A model at a server. The key is one of the endpoint's.
    pub fn new(http: Arc<Http>, endpoint: Arc<Endpoint>, key: Option<Key>) -> Self {
        let window = AtomicU64::new(endpoint.window.unwrap_or_default());
        let is_window_guessed = AtomicBool::new(endpoint.is_window_guessed);
        Self { http, endpoint, key, window, is_window_guessed }
    }

    /// Where it is.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// A model that has answered is in memory, and its server knows how long a
    /// conversation may be. Once is enough.
    async fn learn_window(&self) {
        if !self.is_window_guessed.swap(false, Ordering::Relaxed) {
            return;
        }
        let told = window::learn_late(&self.http, &self.endpoint, ASIDE).await;
        if let Some(tokens) = told.filter(|tokens| *tokens > 0) {
            self.window.store(tokens, Ordering::Relaxed);
        }
    }

    /// How long the server may be silent before an answer, and in it.
    fn patience(&self, request: &Request) -> (Duration, Duration) {
        match request.patience.or(self.endpoint.patience) {
            Some(patience) => (patience, patience),
            // A small machine reads a long conversation slowly.
            None if self.endpoint.is_here() => (FIRST_HERE, WITHIN),
            None => (FIRST, WITHIN),
        }
    }

    async fn begin(&self, request: &Request) -> Result<Stream, Fault> {
        let learnt = &self.http.learnt;
        let shown = request.messages.iter().any(Message::has_images);
        let unseen = || {
            let messages = request.messages.iter().cloned().map(Message::without_images);
            Request { messages: messages.collect(), ..request.clone() }
        };
        let (path, mut body) = match shown && learnt.is_blind(&self.endpoint, request) {
            true => dialect::write(&self.endpoint, &unseen()),
            false => dialect::write(&self.endpoint, request),
        };
        learnt.apply(&self.endpoint, &mut body);
        let mut url = self.endpoint.url(&path)?;
        if self.endpoint.dialect == Dialect::Gemini {
            url.set_query(Some("alt=sse"));
        }
        let headers = self.endpoint.headers(self.key.as_ref())?;
        let (first, patience) = self.patience(request);
        let mut queue = VecDeque::new();
        // Each refusal takes something out of the request, so it comes to an end.
        let answer = loop {
            let (url, headers) = (url.clone(), headers.clone());
            let bytes = body.to_string().into_bytes();
            match self.http.send(Method::POST, url, headers, Some(bytes), first).await {
                Ok(answer) => break answer,
                Err(Trouble::Fault(fault)) => return Err(fault),
                Err(Trouble::Failed(failed)) => {
                    let status = failed.status.as_u16();
                    if matches!(status, 400 | 422)
                        && learnt.learn(&self.endpoint, &failed.body, &mut body)
                    {
                        continue;
                    }
                    let mut fault = classify(Some(status), Some(&failed.headers), &failed.body);
                    let is_blind = shown && fault.kind == FaultKind::NoImages;
                    if is_blind && learnt.learn_blind(&self.endpoint, request) {
                        body = dialect::write(&self.endpoint, &unseen()).1;
                        learnt.apply(&self.endpoint, &mut body);
                        queue.push_back(Ok(Event::Warning(BLIND)));
                        continue;
                    }
                    if fault.kind == FaultKind::Malformed {
                        let malformed = Ok(Event::Finish(Finish::Malformed));
                        return Ok(futures_util::stream::iter([malformed]).boxed());
                    }
                    self.key.iter().for_each(|key| key.scrub(&mut fault.message));
                    return Err(fault);
                }
            }
        };
        if kind_is(&answer, "text/html") {
            return Err(no_answer(&url));
        }
        self.learn_window().await;
        let mut listening = Listening {
            url,
            key: self.key.clone(),
            first,
            patience,
            prices: self.endpoint.prices,
            pieces: dialect::reader(&self.endpoint, request),
            answer: None,
            reader: sse::Reader::default(),
            held: None,
            queue,
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
    /// How long it may be silent before it begins, and then.
    first: Duration,
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
            let patience = if self.spoken { self.patience } else { self.first };
            let answer = self.answer.as_mut()?;
            match tokio::time::timeout(patience, answer.chunk()).await {
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
                Err(_) => self.fail(silent(&self.url, patience)),
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
                // What speaks the language was damaged on its way.
                let kind = if self.spoken { FaultKind::Network } else { FaultKind::Protocol };
                self.fail(Fault::new(kind, message));
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
            Err(fault) if fault.kind == FaultKind::Malformed => {
                self.push(Event::Finish(Finish::Malformed));
                self.answer = None;
            }
            Err(fault) => self.fail(fault),
        }
    }

    /// An answer that came as a whole, not in pieces.
    async fn take_whole(&mut self, answer: Response) -> Result<(), Fault> {
        let bytes = tokio::time::timeout(self.first, read(answer, WHOLE)).await;
        let bytes = bytes
            .map_err(|_| silent(&self.url, self.first))?
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
