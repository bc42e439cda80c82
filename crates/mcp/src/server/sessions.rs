//! Sessions of the older protocol over HTTP. Adds to those of the library: a
//! request with the id of a pending one is refused, a response that its client
//! could not read is kept for a while, and their number is bounded: a new
//! session replaces the one that has been idle for longest.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use futures_util::{Stream, StreamExt as _, future, stream};
use parking_lot::Mutex;
use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ClientNotification, RequestId, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError,
};
use rmcp::transport::streamable_http_server::session::{
    ServerSseMessage, SessionId, SessionManager,
};

use super::line_transport::{request_id, response_id};
use super::message::MessageRejection;
use super::reply_body::INLINE_REPLY_TIMEOUT;

type LocalTransport = <LocalSessionManager as SessionManager>::Transport;

/// Why a session cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HttpSessionError {
    /// As many sessions as allowed are in use.
    #[error("all {0} sessions are in use")]
    Full(usize),
    #[error(transparent)]
    Local(#[from] LocalSessionManagerError),
}

/// Limits of the reply cache: number of replies, their total size, and how long
/// they are kept.
const MAX_CACHED_REPLIES: usize = 64;
const MAX_CACHED_BYTES: usize = 8 << 20;
const CACHED_REPLY_TTL: Duration = Duration::from_secs(5 * 60);

/// The session manager.
#[derive(Debug)]
pub(crate) struct ResumableSessions {
    local: LocalSessionManager,
    max_sessions: usize,
    requests: Mutex<HashMap<SessionId, Arc<SessionRequests>>>,
    replies: Arc<Mutex<ReplyCache>>,
    /// Counts messages, to order sessions by their last use.
    clock: AtomicU64,
}

/// Pending requests of a session.
#[derive(Debug)]
struct SessionRequests {
    session: SessionId,
    /// The count of messages when it was last used.
    last_used: AtomicU64,
    /// Shared by the open streams of the session.
    streams: Arc<()>,
    open: Mutex<HashMap<RequestId, Arc<OpenRequest>>>,
    replies: Arc<Mutex<ReplyCache>>,
}

/// A pending request.
#[derive(Debug)]
struct OpenRequest {
    began: Instant,
    /// The event stream that carries its response.
    stream: OnceLock<String>,
    /// Whether a message came before the response.
    has_events: AtomicBool,
}

/// Responses that may not have reached their clients.
#[derive(Debug, Default)]
struct ReplyCache {
    kept: VecDeque<CachedReply>,
    size: usize,
}

#[derive(Debug)]
struct CachedReply {
    session: SessionId,
    stream: String,
    answer: Arc<ServerJsonRpcMessage>,
    size: usize,
    since: Instant,
}

impl ResumableSessions {
    /// Creates a manager of at most `max_sessions`, which closes sessions idle
    /// for this long.
    pub(crate) fn new(idle: Duration, max_sessions: usize) -> Self {
        let mut local = LocalSessionManager::default();
        local.session_config.keep_alive = Some(idle);
        Self {
            local,
            max_sessions,
            requests: Mutex::default(),
            replies: Arc::default(),
            clock: AtomicU64::new(0),
        }
    }

    /// Whether a new session has to replace another one.
    pub(crate) fn is_full(&self) -> bool {
        self.requests.lock().len() >= self.max_sessions
    }

    /// Returns the requests of a session that is being used.
    fn session_requests(&self, session: &SessionId) -> Option<Arc<SessionRequests>> {
        let book = self.requests.lock().get(session).cloned()?;
        book.last_used.store(self.tick(), Ordering::Relaxed);
        Some(book)
    }

    fn tick(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::Relaxed)
    }

    /// Adds a session. If there are too many, returns the one to close: the one
    /// that has been idle for longest, or the new one if none is idle.
    fn insert(&self, book: Arc<SessionRequests>) -> Result<Option<SessionId>, HttpSessionError> {
        let mut sessions = self.requests.lock();
        let mut replaced = None;
        if sessions.len() >= self.max_sessions {
            let idle = sessions.values().filter(|session| session.is_idle());
            let oldest = idle.min_by_key(|session| session.last_used.load(Ordering::Relaxed));
            let oldest = oldest.map(|oldest| oldest.session.clone());
            let oldest = oldest.ok_or(HttpSessionError::Full(self.max_sessions))?;
            sessions.remove(&oldest);
            replaced = Some(oldest);
        }
        sessions.insert(book.session.clone(), book);
        Ok(replaced)
    }
}

impl SessionManager for ResumableSessions {
    type Error = HttpSessionError;
    type Transport = RecordingTransport;

    async fn create_session(&self) -> Result<(SessionId, RecordingTransport), HttpSessionError> {
        let (session, pipe) = self.local.create_session().await?;
        let book = Arc::new(SessionRequests {
            session: session.clone(),
            last_used: AtomicU64::new(self.tick()),
            streams: Arc::default(),
            open: Mutex::default(),
            replies: Arc::clone(&self.replies),
        });
        match self.insert(Arc::clone(&book)) {
            Ok(None) => {}
            // A failure to close it leaves nothing to undo.
            Ok(Some(oldest)) => drop(self.close_session(&oldest).await),
            Err(full) => {
                self.local.close_session(&session).await?;
                return Err(full);
            }
        }
        Ok((session, RecordingTransport { pipe, requests: book }))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, HttpSessionError> {
        let _in_use = self.session_requests(id).map(|book| Arc::clone(&book.streams));
        Ok(self.local.initialize_session(id, message).await?)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, HttpSessionError> {
        Ok(self.local.has_session(id).await?)
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), HttpSessionError> {
        self.requests.lock().remove(id);
        self.replies.lock().remove_session(id);
        Ok(self.local.close_session(id).await?)
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, HttpSessionError>
    {
        let request = request_id(&message).cloned();
        let asked = Arc::new(OpenRequest::new());
        let book = self.session_requests(id);
        if let (Some(book), Some(request)) = (&book, &request)
            && !book.add(request, &asked)
        {
            let refusal = MessageRejection::duplicate_id(request).to_message();
            let refusal = ServerSseMessage::from_message(refusal);
            return Ok(stream::once(future::ready(refusal)).left_stream());
        }
        match self.local.create_stream(id, message).await {
            Ok(events) => Ok(events.inspect(move |event| asked.observe(event)).right_stream()),
            Err(fault) => {
                if let (Some(book), Some(request)) = (&book, &request) {
                    book.open.lock().remove(request);
                }
                Err(fault.into())
            }
        }
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), HttpSessionError> {
        let book = self.session_requests(id);
        if let ClientJsonRpcMessage::Notification(message) = &message
            && let ClientNotification::CancelledNotification(given_up) = &message.notification
            && let (Some(book), Some(request)) = (book, &given_up.params.request_id)
        {
            book.open.lock().remove(request);
        }
        Ok(self.local.accept_message(id, message).await?)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, HttpSessionError>
    {
        let in_use = self.session_requests(id).map(|book| Arc::clone(&book.streams));
        let events = self.local.create_standalone_stream(id).await?;
        Ok(hold_while_open(events, in_use))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, HttpSessionError>
    {
        // The library drops a stream together with its response.
        if let Some((index, stream)) = parse_event_id(&last_event_id)
            && let Some(answer) = self.replies.lock().find(id, stream)
        {
            let mut event = ServerSseMessage::default();
            event.event_id = Some(format!("{}/{stream}", index.saturating_add(1)));
            event.message = Some(answer);
            return Ok(stream::once(future::ready(event)).left_stream());
        }
        let in_use = self.session_requests(id).map(|book| Arc::clone(&book.streams));
        let events = self.local.resume(id, last_event_id).await?;
        Ok(hold_while_open(events, in_use).right_stream())
    }
}

/// Marks a session as in use while the client reads this stream.
fn hold_while_open(
    events: impl Stream<Item = ServerSseMessage> + Send + Sync + 'static,
    in_use: Option<Arc<()>>,
) -> impl Stream<Item = ServerSseMessage> + Send + Sync + 'static {
    events.inspect(move |_| drop(in_use.clone()))
}

impl SessionRequests {
    /// Whether no request is pending and no stream is open.
    fn is_idle(&self) -> bool {
        Arc::strong_count(&self.streams) == 1 && self.open.lock().is_empty()
    }

    /// Adds a request. Returns false if its id is pending already.
    fn add(&self, request: &RequestId, asked: &Arc<OpenRequest>) -> bool {
        let mut open = self.open.lock();
        if open.contains_key(request) {
            return false;
        }
        open.insert(request.clone(), Arc::clone(asked));
        true
    }

    /// Records an outgoing message. A response completes its request, and is
    /// cached if its client may resume the stream.
    fn record_reply(&self, message: &ServerJsonRpcMessage) {
        let Some(request) = response_id(message) else { return };
        let asked = self.open.lock().remove(request);
        if let Some(stream) = asked.as_ref().and_then(|asked| asked.resumable_stream()) {
            self.replies.lock().insert(&self.session, stream, message);
        }
    }
}

impl OpenRequest {
    fn new() -> Self {
        let (stream, has_begun) = (OnceLock::new(), AtomicBool::new(false));
        Self { began: Instant::now(), stream, has_events: has_begun }
    }

    /// Records an event that is sent on the stream.
    fn observe(&self, event: &ServerSseMessage) {
        if let Some((_, stream)) = event.event_id.as_deref().and_then(parse_event_id) {
            self.stream.get_or_init(|| stream.to_owned());
        }
        if event.message.is_some() {
            self.has_events.store(true, Ordering::Relaxed);
        }
    }

    /// Returns the stream, if the client can know it. A quick response is not
    /// streamed, and arrives or is lost as a whole.
    fn resumable_stream(&self) -> Option<&str> {
        let is_stream = self.has_events.load(Ordering::Relaxed)
            || self.began.elapsed() >= INLINE_REPLY_TIMEOUT / 2;
        self.stream.get().map(String::as_str).filter(|_| is_stream)
    }
}

impl ReplyCache {
    fn insert(&mut self, session: &SessionId, stream: &str, answer: &ServerJsonRpcMessage) {
        let mut size = ByteCounter(0);
        if serde_json::to_writer(&mut size, answer).is_err() || size.0 > MAX_CACHED_BYTES {
            return;
        }
        self.size += size.0;
        self.kept.push_back(CachedReply {
            session: session.clone(),
            stream: stream.to_owned(),
            answer: Arc::new(answer.clone()),
            size: size.0,
            since: Instant::now(),
        });
        while self.kept.len() > MAX_CACHED_REPLIES
            || self.size > MAX_CACHED_BYTES
            || self.kept.front().is_some_and(|oldest| oldest.since.elapsed() >= CACHED_REPLY_TTL)
        {
            let Some(oldest) = self.kept.pop_front() else { break };
            self.size -= oldest.size;
        }
    }

    fn find(&self, session: &SessionId, stream: &str) -> Option<Arc<ServerJsonRpcMessage>> {
        let is_it = |kept: &&CachedReply| kept.session == *session && kept.stream == stream;
        self.kept.iter().find(is_it).map(|kept| Arc::clone(&kept.answer))
    }

    fn remove_session(&mut self, session: &SessionId) {
        self.kept.retain(|kept| kept.session != *session);
        self.size = self.kept.iter().map(|kept| kept.size).sum();
    }
}

/// Parses an event id into the event's number and its request stream, if it has
/// one.
fn parse_event_id(event: &str) -> Option<(usize, &str)> {
    let (index, stream) = event.split_once('/')?;
    Some((index.parse().ok()?, stream))
}

/// Counts the bytes written to it.
struct ByteCounter(usize);

impl io::Write for ByteCounter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A session transport that records responses.
pub(crate) struct RecordingTransport {
    pipe: LocalTransport,
    requests: Arc<SessionRequests>,
}

impl Transport<RoleServer> for RecordingTransport {
    type Error = <LocalTransport as Transport<RoleServer>>::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.requests.record_reply(&message);
        self.pipe.send(message)
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        self.pipe.receive().await
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.pipe.close().await
    }
}

#[cfg(test)]
#[path = "sessions_tests.rs"]
mod tests;
