//! A model on a server, accessed over HTTP.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use futures_util::StreamExt as _;
use hermes_core::BoxFuture;
use hermes_core::surrogates;
use reqwest::{Method, Response, Url};
use serde_json::Value;

use crate::classify::classify;
use crate::dialect::{self, DecodeStatus, StreamDecoder};
use crate::discovery::window;
use crate::endpoint::{ApiDialect, ApiKey, ModelEndpoint, TokenPrices};
use crate::http::{
    HttpClients, SendError, connection_error, host_and_port, read_bounded, timeout_error,
};
use crate::message::ChatMessage;
use crate::model::{LanguageModel, ReplyStream};
use crate::model_error::{ModelError, ModelErrorKind};
use crate::reply::{FinishReason, ReplyEvent};
use crate::request::ModelRequest;
use crate::sse;

/// Maximum number of bytes read of a response that is not streamed.
const MAX_WHOLE_BODY_BYTES: usize = 64 * 1024 * 1024;

/// Maximum size of a reply in bytes, many times what any model writes.
const MAX_REPLY_BYTES: usize = 16 * 1024 * 1024;

/// How long a server may be silent before and during a reply.
const FIRST_BYTE_TIMEOUT: Duration = Duration::from_secs(600);
const STREAM_IDLE_TIMEOUT: Duration = Duration::from_secs(180);
/// The same for a server on this machine, which may run on a CPU only.
const LOCAL_FIRST_BYTE_TIMEOUT: Duration = Duration::from_secs(1_800);
/// Timeout for querying the context window.
const WINDOW_QUERY_TIMEOUT: Duration = Duration::from_secs(2);
const NO_IMAGES_WARNING: &str = "The model does not accept images; placeholders replace them.";

/// A model on a server, accessed with one key.
#[derive(Debug)]
pub struct HttpModel {
    http: Arc<HttpClients>,
    endpoint: Arc<ModelEndpoint>,
    key: Option<ApiKey>,
    /// Zero if unknown.
    window: AtomicU64,
    is_window_guessed: AtomicBool,
}

impl HttpModel {
    /// Creates a model. The key is one of the endpoint's.
    pub fn new(http: Arc<HttpClients>, endpoint: Arc<ModelEndpoint>, key: Option<ApiKey>) -> Self {
        let window = AtomicU64::new(endpoint.window.unwrap_or_default());
        let is_window_guessed = AtomicBool::new(endpoint.is_window_guessed);
        Self { http, endpoint, key, window, is_window_guessed }
    }

    /// Returns the endpoint.
    pub fn endpoint(&self) -> &ModelEndpoint {
        &self.endpoint
    }

    /// Queries the exact context window, once: after the first reply the model
    /// is loaded and the server knows it.
    async fn learn_window(&self) {
        if !self.is_window_guessed.swap(false, Ordering::Relaxed) {
            return;
        }
        let shown =
            window::detect_loaded_window(&self.http, &self.endpoint, WINDOW_QUERY_TIMEOUT).await;
        if let Some(tokens) = shown.filter(|tokens| *tokens > 0) {
            self.window.store(tokens, Ordering::Relaxed);
        }
    }

    /// Returns how long the server may be silent before and during a reply.
    fn silence_timeouts(&self, request: &ModelRequest) -> (Duration, Duration) {
        match request.idle_timeout.or(self.endpoint.idle_timeout) {
            Some(timeout) => (timeout, timeout),
            // A small machine processes a long prompt slowly.
            None if self.endpoint.is_local() => (LOCAL_FIRST_BYTE_TIMEOUT, STREAM_IDLE_TIMEOUT),
            None => (FIRST_BYTE_TIMEOUT, STREAM_IDLE_TIMEOUT),
        }
    }

    async fn start_reply(&self, request: &ModelRequest) -> Result<ReplyStream, ModelError> {
        let learnt = &self.http.quirks;
        let shown = request.messages.iter().any(ChatMessage::has_images);
        let unseen = || {
            let messages = request.messages.iter().cloned().map(ChatMessage::without_images);
            ModelRequest { messages: messages.collect(), ..request.clone() }
        };
        let (path, mut body) = match shown && learnt.rejects_images(&self.endpoint, request) {
            true => dialect::build_request(&self.endpoint, &unseen()),
            false => dialect::build_request(&self.endpoint, request),
        };
        learnt.apply(&self.endpoint, &mut body);
        let mut url = self.endpoint.url(&path)?;
        if self.endpoint.dialect == ApiDialect::Gemini {
            url.set_query(Some("alt=sse"));
        }
        let headers = self.endpoint.headers(self.key.as_ref())?;
        let (first, timeout) = self.silence_timeouts(request);
        let mut queue = VecDeque::new();
        // Terminates, since each rejection removes something from the request.
        let answer = loop {
            let (url, headers) = (url.clone(), headers.clone());
            let bytes = body.to_string().into_bytes();
            match self.http.send(Method::POST, url, headers, Some(bytes), first).await {
                Ok(answer) => break answer,
                Err(SendError::Model(fault)) => return Err(fault),
                Err(SendError::Status(failed)) => {
                    let status = failed.status.as_u16();
                    if matches!(status, 400 | 422)
                        && learnt.learn(&self.endpoint, &failed.body, &mut body)
                    {
                        continue;
                    }
                    let mut fault = classify(Some(status), Some(&failed.headers), &failed.body);
                    let is_blind = shown && fault.kind == ModelErrorKind::NoImages;
                    if is_blind && learnt.learn_rejects_images(&self.endpoint, request) {
                        body = dialect::build_request(&self.endpoint, &unseen()).1;
                        learnt.apply(&self.endpoint, &mut body);
                        queue.push_back(Ok(ReplyEvent::Warning(NO_IMAGES_WARNING)));
                        continue;
                    }
                    if fault.kind == ModelErrorKind::Malformed {
                        let malformed = Ok(ReplyEvent::Finish(FinishReason::Malformed));
                        return Ok(futures_util::stream::iter([malformed]).boxed());
                    }
                    self.key.iter().for_each(|key| key.redact(&mut fault.message));
                    return Err(fault);
                }
            }
        };
        if has_content_type(&answer, "text/html") {
            return Err(not_a_model_error(&url));
        }
        self.learn_window().await;
        let mut listening = StreamingResponse {
            url,
            key: self.key.clone(),
            first_timeout: first,
            idle_timeout: timeout,
            prices: self.endpoint.prices,
            decoder: dialect::decoder_for(&self.endpoint, request),
            response: None,
            sse: sse::SseParser::new(sse::MAX_EVENT_BYTES),
            held_data: None,
            queue,
            has_finish: false,
            has_content: false,
            reply_bytes: 0,
        };
        if has_content_type(&answer, "application/json") {
            listening.read_whole(answer).await?;
        } else {
            listening.response = Some(answer);
        }
        Ok(futures_util::stream::unfold(listening, StreamingResponse::next).boxed())
    }
}

impl LanguageModel for HttpModel {
    fn name(&self) -> &str {
        &self.endpoint.model
    }

    fn window(&self) -> Option<u64> {
        Some(self.window.load(Ordering::Relaxed)).filter(|tokens| *tokens > 0)
    }

    fn ask<'a>(
        &'a self,
        request: &'a ModelRequest,
    ) -> BoxFuture<'a, Result<ReplyStream, ModelError>> {
        Box::pin(self.start_reply(request))
    }
}

/// Returns the number of bytes that an event adds to a reply.
fn event_bytes(event: &ReplyEvent) -> usize {
    match event {
        ReplyEvent::Text(text) | ReplyEvent::Thought(text) | ReplyEvent::Arguments { text, .. } => {
            text.len()
        }
        ReplyEvent::Call { name, .. } => name.len() + 64,
        ReplyEvent::Opaque(value) => value.to_string().len(),
        _ => 0,
    }
}

fn has_content_type(answer: &Response, wanted: &str) -> bool {
    let kind = answer.headers().get("content-type").and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.starts_with(wanted))
}

/// Parses JSON, replacing lone surrogates.
fn parse_json_lenient(text: &str) -> Option<Value> {
    let whole = serde_json::from_str(text);
    whole
        .or_else(|error| match surrogates::replace_lone_surrogates(text) {
            Some(repaired) => serde_json::from_str(&repaired),
            None => Err(error),
        })
        .ok()
}

fn not_a_model_error(url: &Url) -> ModelError {
    let message = format!("{}: the response is not a model response", host_and_port(url));
    ModelError::new(ModelErrorKind::Protocol, message)
        .with_hint("check `model.base_url`; for most servers it ends in /v1")
}

/// A response being received.
struct StreamingResponse {
    url: Url,
    key: Option<ApiKey>,
    /// How long it may be silent before and during the reply.
    first_timeout: Duration,
    idle_timeout: Duration,
    prices: Option<TokenPrices>,
    decoder: Box<dyn StreamDecoder>,
    /// None once the stream has ended.
    response: Option<Response>,
    sse: sse::SseParser,
    /// Data that ends with a high surrogate, held until the low one arrives.
    held_data: Option<String>,
    queue: VecDeque<Result<ReplyEvent, ModelError>>,
    /// Whether the server has sent a finish reason.
    has_finish: bool,
    /// Whether any content has arrived.
    has_content: bool,
    /// Size of the reply so far.
    reply_bytes: usize,
}

impl StreamingResponse {
    async fn next(mut self) -> Option<(Result<ReplyEvent, ModelError>, Self)> {
        loop {
            if let Some(event) = self.queue.pop_front() {
                return Some((event, self));
            }
            let timeout = if self.has_content { self.idle_timeout } else { self.first_timeout };
            let answer = self.response.as_mut()?;
            match tokio::time::timeout(timeout, answer.chunk()).await {
                Ok(Ok(Some(piece))) => match self.sse.feed(&piece) {
                    Ok(sent) => self.push_sse_events(sent),
                    Err(fault) => {
                        self.fail(ModelError::new(ModelErrorKind::Protocol, fault.to_string()))
                    }
                },
                Ok(Ok(None)) => {
                    let last = self.sse.finish();
                    self.push_sse_events(last);
                    self.flush_held();
                    if self.response.take().is_some() && !self.has_finish {
                        let message = format!(
                            "{} ended the reply before it was complete",
                            host_and_port(&self.url)
                        );
                        self.fail(ModelError::new(ModelErrorKind::Network, message));
                    }
                }
                // The reply is already complete.
                Ok(Err(_)) | Err(_) if self.has_finish => self.response = None,
                Ok(Err(error)) => self.fail(connection_error(&self.url, &error)),
                Err(_) => self.fail(timeout_error(&self.url, timeout)),
            }
        }
    }

    fn push_sse_events(&mut self, sent: impl IntoIterator<Item = sse::SseEvent>) {
        for event in sent {
            if self.response.is_none() {
                return;
            }
            let data = event.data.trim();
            if data.is_empty() {
                continue;
            }
            if data == "[DONE]" {
                self.flush_held();
                if !self.has_finish {
                    self.push_event(ReplyEvent::Finish(FinishReason::Stop));
                }
                self.response = None;
                return;
            }
            let mut data = data.to_owned();
            if let Some(held) = self.held_data.take() {
                let (before, after) = surrogates::join_split_pair(&held, &data);
                self.push_data(&before);
                data = after;
            }
            if surrogates::ends_with_high(&data) {
                self.held_data = Some(data);
            } else {
                self.push_data(&data);
            }
        }
    }

    /// Processes held data once nothing more can complete it.
    fn flush_held(&mut self) {
        if let Some(held) = self.held_data.take() {
            self.push_data(&held);
        }
    }

    fn push_data(&mut self, data: &str) {
        match parse_json_lenient(data) {
            Some(data) => self.push_json(&data),
            None => {
                let start: String = data.chars().take(120).collect();
                let message = format!("{} sent invalid JSON: {start}", host_and_port(&self.url));
                // A server that has sent valid content speaks the protocol: the
                // data was corrupted.
                let kind = if self.has_content {
                    ModelErrorKind::Network
                } else {
                    ModelErrorKind::Protocol
                };
                self.fail(ModelError::new(kind, message));
            }
        }
    }

    fn push_json(&mut self, data: &Value) {
        let mut events = Vec::new();
        let heard = self.decoder.decode(data, &mut events);
        for event in events {
            self.push_event(event);
        }
        match heard {
            Ok(DecodeStatus::Continue) => {}
            Ok(DecodeStatus::Complete) => self.response = None,
            Err(fault) if fault.kind == ModelErrorKind::Malformed => {
                self.push_event(ReplyEvent::Finish(FinishReason::Malformed));
                self.response = None;
            }
            Err(fault) => self.fail(fault),
        }
    }

    /// Reads a response that is not streamed.
    async fn read_whole(&mut self, answer: Response) -> Result<(), ModelError> {
        let bytes =
            tokio::time::timeout(self.first_timeout, read_bounded(answer, MAX_WHOLE_BODY_BYTES))
                .await;
        let bytes = bytes
            .map_err(|_| timeout_error(&self.url, self.first_timeout))?
            .map_err(|error| connection_error(&self.url, &error))?;
        let data = parse_json_lenient(&String::from_utf8_lossy(&bytes)).ok_or_else(|| {
            ModelError::new(
                ModelErrorKind::Protocol,
                format!("{} sent invalid JSON", host_and_port(&self.url)),
            )
        })?;
        // Some servers wrap the chunks in a list.
        match data {
            Value::Array(pieces) => pieces.iter().for_each(|piece| self.push_json(piece)),
            whole => self.push_json(&whole),
        }
        if let Some(at) = self.queue.iter().position(Result::is_err)
            && let Some(Err(fault)) = self.queue.remove(at)
        {
            return Err(fault);
        }
        if !self.has_finish {
            return Err(not_a_model_error(&self.url));
        }
        Ok(())
    }

    fn push_event(&mut self, mut event: ReplyEvent) {
        self.reply_bytes += event_bytes(&event);
        if self.reply_bytes > MAX_REPLY_BYTES {
            if self.response.is_some() || !self.has_finish {
                let most = MAX_REPLY_BYTES >> 20;
                let message =
                    format!("The reply of {} exceeds {most} MiB", host_and_port(&self.url));
                self.has_finish = true;
                self.fail(ModelError::new(ModelErrorKind::Protocol, message));
            }
            return;
        }
        match &mut event {
            ReplyEvent::Finish(_) => self.has_finish = true,
            ReplyEvent::Text(_) | ReplyEvent::Thought(_) | ReplyEvent::Call { .. } => {
                self.has_content = true
            }
            ReplyEvent::Usage(usage) => {
                usage.cost = usage.cost.or(self.prices.map(|prices| prices.cost(usage)));
            }
            _ => {}
        }
        self.queue.push_back(Ok(event));
    }

    fn fail(&mut self, mut fault: ModelError) {
        fault.is_mid_reply = self.has_content;
        self.key.iter().for_each(|key| key.redact(&mut fault.message));
        self.queue.push_back(Err(fault));
        self.response = None;
    }
}
