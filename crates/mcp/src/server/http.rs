//! Serves any number of clients over HTTP, both protocol eras on one endpoint.

use std::collections::HashSet;
use std::convert::Infallible;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use hermes_core::CancellationToken;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{AUTHORIZATION, HOST, HeaderMap, HeaderValue, ORIGIN, WWW_AUTHENTICATE};
use hyper::http::request::Parts;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use parking_lot::{Mutex, MutexGuard};
use rmcp::ServerHandler;
use rmcp::transport::streamable_http_server::session::SessionManager as _;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::task::TaskTracker;

use super::connections::{ConnectionSlot, ConnectionTable, GuardedBody};
use super::request::{self, HttpReply, text_reply};
use super::sessions::ResumableSessions;
use super::{BearerToken, McpServer, batch, cors, message, reply_body};

/// Path of the MCP endpoint.
const ENDPOINT_PATH: &str = "/mcp";

/// Header in which clients of the older protocol name their session.
const SESSION_HEADER: &str = "mcp-session-id";

/// Maximum size of a request body.
const MAX_REQUEST_BYTES: usize = 64 << 20;

/// Maximum number of sessions remembered as allowing batches.
const MAX_BATCH_SESSIONS: usize = 10_000;

/// Maximum number of concurrent connections.
const MAX_CONNECTIONS: usize = 512;

/// How long a connection may take to send the head of its first request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a connection may take to send the head of another request. Longer,
/// because clients keep connections for their next call.
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum number of sessions.
const MAX_SESSIONS: usize = 256;

/// How long an idle session is kept.
const SESSION_IDLE_TIMEOUT: Duration = Duration::from_secs(8 * 60 * 60);

/// How long connections may take to close on shutdown.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);

/// How clients authenticate.
#[derive(Debug, Clone)]
pub enum HttpAuth {
    /// With this token.
    Token(BearerToken),
    /// Without authentication; for tests.
    Open,
}

/// Checks that a request must pass before it is handled.
#[derive(Debug, Clone)]
pub struct HttpAccessPolicy {
    /// How clients authenticate.
    pub auth: HttpAuth,
    /// Accepted host names besides those of this machine. Other values of
    /// `Host` are refused, against DNS rebinding.
    pub hosts: Vec<String>,
    /// Origins that may call the server, besides those of this machine.
    pub origins: Vec<String>,
}

impl HttpAccessPolicy {
    /// Accepts only local host names and origins.
    pub fn new(access: HttpAuth) -> Self {
        Self { auth: access, hosts: Vec::new(), origins: Vec::new() }
    }

    fn config(
        &self,
        address: Option<IpAddr>,
        stop: CancellationToken,
    ) -> StreamableHttpServerConfig {
        let own = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
        // A server that listens on all addresses must name its hosts.
        let served = address.filter(|ip| !ip.is_unspecified()).map(|ip| ip.to_string());
        let hosts = own.into_iter().chain(served).chain(self.hosts.iter().cloned());
        let pages = ["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"];
        let pages = pages.into_iter().map(str::to_owned).chain(self.origins.iter().cloned());
        StreamableHttpServerConfig::default()
            .with_allowed_hosts(hosts)
            .with_allowed_origins(pages)
            .enforce_origin_validation()
            .with_json_response(true)
            .with_max_request_body_bytes(MAX_REQUEST_BYTES)
            .with_cancellation_token(stop)
    }
}

/// Bounds on what clients can make the server hold.
#[derive(Debug, Clone, Copy)]
struct HttpLimits {
    connections: usize,
    sessions: usize,
    head_timeout: Duration,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self { connections: MAX_CONNECTIONS, sessions: MAX_SESSIONS, head_timeout: HEAD_TIMEOUT }
    }
}

/// Serves clients that connect to `listener` until `stop` is set. `make`
/// creates the handler of a client.
pub async fn serve_http<H, F>(
    server: &McpServer,
    listener: TcpListener,
    door: HttpAccessPolicy,
    make: F,
    stop: CancellationToken,
) -> io::Result<()>
where
    H: ServerHandler + Send + 'static,
    F: Fn() -> H + Send + Sync + 'static,
{
    serve_within(HttpLimits::default(), server, listener, door, make, stop).await
}

async fn serve_within<H, F>(
    limits: HttpLimits,
    server: &McpServer,
    listener: TcpListener,
    door: HttpAccessPolicy,
    make: F,
    stop: CancellationToken,
) -> io::Result<()>
where
    H: ServerHandler + Send + 'static,
    F: Fn() -> H + Send + Sync + 'static,
{
    let address = listener.local_addr().ok().map(|address| address.ip());
    let config = door.config(address, stop.clone());
    let sessions = Arc::new(ResumableSessions::new(SESSION_IDLE_TIMEOUT, limits.sessions));
    let service = StreamableHttpService::new(move || Ok(make()), Arc::clone(&sessions), config);
    let entrance = Arc::new(HttpFrontend {
        auth: door.auth,
        service,
        sessions,
        batch_sessions: Mutex::default(),
    });
    let _watching = server.spawn_watcher();
    // Requests are checked against the tool list, so build it first.
    let _ = server.shared.listing().await;
    let connections = TaskTracker::new();
    let table = ConnectionTable::new(limits.connections);
    loop {
        let Some(accepted) = stop.run_until_cancelled(listener.accept()).await else { break };
        let Ok((stream, _)) = accepted else {
            // Most likely out of file descriptors; wait for connections to end.
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        };
        let Some(slot) = stop.run_until_cancelled(table.admit()).await else { break };
        let entrance = Arc::clone(&entrance);
        let stop = stop.clone();
        connections.spawn(async move {
            tokio::select! {
                () = stop.cancelled() => {}
                () = slot.closed(limits.head_timeout) => {}
                () = entrance.serve_connection(stream, &slot) => {}
            }
        });
    }
    server.shared.clients_gone.cancel();
    server.shared.cancel_calls.cancel();
    connections.close();
    let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, connections.wait()).await;
    Ok(())
}

/// HTTP front end shared by all connections.
struct HttpFrontend<H> {
    auth: HttpAuth,
    service: StreamableHttpService<H, ResumableSessions>,
    sessions: Arc<ResumableSessions>,
    /// Sessions in which batches are allowed.
    batch_sessions: Mutex<HashSet<HeaderValue>>,
}

impl<H: ServerHandler + Send + 'static> HttpFrontend<H> {
    /// Handles the requests of one connection.
    async fn serve_connection(self: Arc<Self>, stream: TcpStream, slot: &ConnectionSlot) {
        // Nagle's algorithm would delay small chunks.
        let _ = stream.set_nodelay(true);
        let answer = |request| {
            let entrance = Arc::clone(&self);
            let busy = slot.begin_request();
            async move {
                let reply = entrance.handle(request).await;
                Ok::<Response<GuardedBody>, Infallible>(busy.attach(reply))
            }
        };
        let mut connection = http1::Builder::new();
        connection.timer(TokioTimer::new()).header_read_timeout(KEEP_ALIVE_TIMEOUT);
        // A broken connection is not an error of the server.
        let _ = connection.serve_connection(TokioIo::new(stream), service_fn(answer)).await;
    }

    /// Handles a request. Pages of allowed origins may read every reply,
    /// including errors.
    async fn handle(&self, request: Request<Incoming>) -> HttpReply {
        if let Some(refused) = self.target_refusal(&request).await {
            return refused;
        }
        let Some(origin) = cors::origin(request.headers()) else {
            return self.authenticate(request).await;
        };
        let refused = self.origin_refusal(request.headers()).await;
        if cors::is_preflight(request.method(), request.headers()) {
            return match refused {
                Some(refused) => refused,
                None => {
                    let mut reply = cors::preflight_reply(request.headers());
                    cors::allow_origin(&mut reply, origin);
                    reply
                }
            };
        }
        let mut reply = self.authenticate(request).await;
        if refused.is_none() {
            cors::allow_origin(&mut reply, origin);
        }
        reply
    }

    /// Returns the refusal for a request that names several hosts, or that
    /// names a disallowed one in its target. The service reads only the first
    /// `Host`, and not the target.
    async fn target_refusal(&self, request: &Request<Incoming>) -> Option<HttpReply> {
        let named = request.headers().get_all(HOST).iter().count();
        if named > 1 {
            let text = format!("The request has {named} Host headers; send one");
            return Some(text_reply(StatusCode::BAD_REQUEST, text));
        }
        let authority = request.uri().authority()?;
        let Ok(host) = HeaderValue::from_str(authority.as_str()) else {
            let text = "The host in the request target is invalid";
            return Some(text_reply(StatusCode::BAD_REQUEST, text));
        };
        self.origin_refusal(&HeaderMap::from_iter([(HOST, host)])).await
    }

    /// Returns the refusal for a disallowed `Host` or `Origin`. The service
    /// decides, since it checks these before the method.
    async fn origin_refusal(&self, headers: &HeaderMap) -> Option<HttpReply> {
        let mut probe = Request::new(Full::<Bytes>::default());
        *probe.method_mut() = Method::OPTIONS;
        for name in [HOST, ORIGIN] {
            if let Some(value) = headers.get(&name) {
                probe.headers_mut().insert(name, value.clone());
            }
        }
        let reply = self.service.handle(probe).await;
        (reply.status() != StatusCode::METHOD_NOT_ALLOWED).then_some(reply)
    }

    /// Checks the token and the path, and handles the request.
    async fn authenticate(&self, request: Request<Incoming>) -> HttpReply {
        if let HttpAuth::Token(token) = &self.auth {
            let shown = request.headers().get(AUTHORIZATION);
            if !shown.is_some_and(|shown| token.matches_header(shown.as_bytes())) {
                let mut refusal =
                    text_reply(StatusCode::UNAUTHORIZED, "A bearer token is required");
                let wanted = HeaderValue::from_static("Bearer realm=\"hermes\"");
                refusal.headers_mut().insert(WWW_AUTHENTICATE, wanted);
                return refusal;
            }
        }
        if request.uri().path() != ENDPOINT_PATH {
            return text_reply(StatusCode::NOT_FOUND, "The MCP endpoint is /mcp");
        }
        match *request.method() {
            Method::POST => self.handle_post(request).await,
            Method::DELETE => self.handle_delete(request).await,
            _ => self.forward(request).await,
        }
    }

    /// Handles a message or a batch.
    async fn handle_post(&self, request: Request<Incoming>) -> HttpReply {
        let (mut parts, body) = request.into_parts();
        if let Err(refused) = request::normalize_headers(&parts.method, &mut parts.headers) {
            return *refused;
        }
        let body = match request::read_body(&parts.headers, body, MAX_REQUEST_BYTES).await {
            Ok(body) => body,
            Err(refused) => return refused,
        };
        match batch::split_batch(&body) {
            Some(all) if self.may_batch(&parts.headers).await => {
                let heard = all.into_iter().map(|one| self.handle_message(parts.clone(), one));
                batch::join_replies(join_all(heard).await).await
            }
            _ => self.handle_message(parts, body).await,
        }
    }

    /// Whether the session's version allows batches. For an unknown session
    /// each message gets its own error.
    async fn may_batch(&self, headers: &HeaderMap) -> bool {
        let Some(named) = headers.get(SESSION_HEADER) else { return false };
        self.batch_sessions().contains(named) || !self.has_session(headers).await
    }

    fn batch_sessions(&self) -> MutexGuard<'_, HashSet<HeaderValue>> {
        self.batch_sessions.lock()
    }

    async fn handle_message(&self, parts: Parts, body: Bytes) -> HttpReply {
        let is_first = !parts.headers.contains_key(SESSION_HEADER);
        let reply = self.service.handle(Request::from_parts(parts, Full::new(body.clone()))).await;
        if let Some(begun) = reply.headers().get(SESSION_HEADER).filter(|_| is_first)
            && batch::is_batch_initialize(&body)
        {
            let mut batching = self.batch_sessions();
            // Forgetting sessions only disables batches for them.
            if batching.len() >= MAX_BATCH_SESSIONS {
                batching.clear();
            }
            batching.insert(begun.clone());
        }
        // The headers were checked before, so the body is at fault.
        match reply.status() {
            StatusCode::UNSUPPORTED_MEDIA_TYPE => request::reject_body(&body),
            StatusCode::OK if let Some(refusal) = message::reject_cursor(&body) => {
                // The request id stays in use until its response has been read.
                let _ = reply.into_body().collect().await;
                request::rejection_reply(&refusal, StatusCode::OK)
            }
            StatusCode::BAD_REQUEST => request::reject_initialize(&body).unwrap_or(reply),
            StatusCode::INTERNAL_SERVER_ERROR if is_first && self.sessions.is_full() => text_reply(
                StatusCode::SERVICE_UNAVAILABLE,
                "All sessions are in use. End one with DELETE, or try again later.",
            ),
            _ => reply_body::inline_if_quick(reply, reply_body::INLINE_REPLY_TIMEOUT).await,
        }
    }

    /// Ends a session.
    async fn handle_delete(&self, request: Request<Incoming>) -> HttpReply {
        let is_known = self.has_session(request.headers()).await;
        request.headers().get(SESSION_HEADER).map(|named| self.batch_sessions().remove(named));
        let mut reply = self.forward(request).await;
        if reply.status() == StatusCode::ACCEPTED {
            if !is_known {
                return text_reply(StatusCode::NOT_FOUND, "No such session");
            }
            // The session has ended, and some clients treat 202 as a failure.
            *reply.status_mut() = StatusCode::OK;
        }
        reply
    }

    async fn has_session(&self, headers: &HeaderMap) -> bool {
        let named = headers.get(SESSION_HEADER).and_then(|value| value.to_str().ok());
        match named {
            Some(named) => self.sessions.has_session(&named.into()).await.unwrap_or(false),
            None => false,
        }
    }

    /// Forwards a request without a body.
    async fn forward(&self, request: Request<Incoming>) -> HttpReply {
        let (mut parts, _) = request.into_parts();
        if let Err(refused) = request::normalize_headers(&parts.method, &mut parts.headers) {
            return *refused;
        }
        self.service.handle(Request::from_parts(parts, Full::<Bytes>::default())).await
    }
}

#[cfg(test)]
#[path = "http_tests.rs"]
mod tests;
