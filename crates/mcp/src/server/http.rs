//! Any number of clients over HTTP, both eras of the protocol at one address.

use std::collections::HashSet;
use std::convert::Infallible;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use hermes_core::CancellationToken;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{AUTHORIZATION, HOST, HeaderMap, HeaderValue, ORIGIN, WWW_AUTHENTICATE};
use hyper::http::request::Parts;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::ServerHandler;
use rmcp::transport::streamable_http_server::session::SessionManager as _;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

use super::request::{self, Reply, brief};
use super::sessions::Sessions;
use super::{Server, Token, batch, cors, message, reply};

/// Where the server answers.
const PATH: &str = "/mcp";

/// Where clients of the older protocol name their session.
const SESSION: &str = "mcp-session-id";

/// The largest request.
const LARGEST: usize = 64 << 20;

/// Sessions of which it is remembered that messages may come together.
const BATCHING: usize = 10_000;

/// Connections at a time.
const CONNECTIONS: usize = 512;

/// How long a connection may take to say what it wants.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long a session is kept of which nothing is heard.
const IDLE: Duration = Duration::from_secs(8 * 60 * 60);

/// How long connections may take to end when the server goes.
const LINGER: Duration = Duration::from_secs(2);

/// Who is let in.
#[derive(Debug, Clone)]
pub enum Access {
    /// Whoever shows this token.
    Token(Token),
    /// Anybody who can reach the address; for tests.
    Open,
}

/// What is looked at before a request is answered.
#[derive(Debug, Clone)]
pub struct Door {
    /// Who is let in.
    pub access: Access,
    /// Names by which the server may be called, besides those of this machine
    /// itself. A page of another name that leads here is turned away.
    pub hosts: Vec<String>,
    /// Pages that may call the server, besides those of this machine itself.
    pub origins: Vec<String>,
}

impl Door {
    /// Only for clients on this machine, and only with that token.
    pub fn new(access: Access) -> Self {
        Self { access, hosts: Vec::new(), origins: Vec::new() }
    }

    fn config(
        &self,
        address: Option<IpAddr>,
        stop: CancellationToken,
    ) -> StreamableHttpServerConfig {
        let own = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
        // Whoever serves all addresses must say by which name.
        let served = address.filter(|ip| !ip.is_unspecified()).map(|ip| ip.to_string());
        let hosts = own.into_iter().chain(served).chain(self.hosts.iter().cloned());
        let pages = ["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"];
        let pages = pages.into_iter().map(str::to_owned).chain(self.origins.iter().cloned());
        StreamableHttpServerConfig::default()
            .with_allowed_hosts(hosts)
            .with_allowed_origins(pages)
            .enforce_origin_validation()
            .with_json_response(true)
            .with_max_request_body_bytes(LARGEST)
            .with_cancellation_token(stop)
    }
}

/// Serves whoever connects to `listener`, until `stop` is set. `make` makes
/// what answers a client.
pub async fn serve_http<H, F>(
    server: &Server,
    listener: TcpListener,
    door: Door,
    make: F,
    stop: CancellationToken,
) -> io::Result<()>
where
    H: ServerHandler + Send + 'static,
    F: Fn() -> H + Send + Sync + 'static,
{
    let address = listener.local_addr().ok().map(|address| address.ip());
    let config = door.config(address, stop.clone());
    let sessions = Arc::new(Sessions::new(IDLE));
    let service = StreamableHttpService::new(move || Ok(make()), Arc::clone(&sessions), config);
    let entrance =
        Arc::new(Entrance { access: door.access, service, sessions, batching: Mutex::default() });
    let _watching = server.watch();
    // The lists that requests are checked against must be there before them.
    let _ = server.shared.listing().await;
    let connections = TaskTracker::new();
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Some(Ok(place)) = stop.run_until_cancelled(Arc::clone(&room).acquire_owned()).await
        else {
            break;
        };
        let Some(accepted) = stop.run_until_cancelled(listener.accept()).await else { break };
        let Ok((stream, _)) = accepted else {
            // Out of file descriptors, most likely; others end meanwhile.
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        };
        let entrance = Arc::clone(&entrance);
        let stop = stop.clone();
        connections.spawn(async move {
            stop.run_until_cancelled(entrance.attend(stream)).await;
            drop(place);
        });
    }
    server.shared.deserted.cancel();
    server.shared.calls.cancel();
    connections.close();
    let _ = tokio::time::timeout(LINGER, connections.wait()).await;
    Ok(())
}

/// The way in, for every connection.
struct Entrance<H> {
    access: Access,
    service: StreamableHttpService<H, Sessions>,
    sessions: Arc<Sessions>,
    /// The sessions in which several messages may come as one.
    batching: Mutex<HashSet<HeaderValue>>,
}

impl<H: ServerHandler + Send + 'static> Entrance<H> {
    /// Answers the requests of one connection.
    async fn attend(self: Arc<Self>, stream: TcpStream) {
        // Small answers in pieces would otherwise wait for one another.
        let _ = stream.set_nodelay(true);
        let answer = |request| {
            let entrance = Arc::clone(&self);
            async move { Ok::<_, Infallible>(entrance.answer(request).await) }
        };
        let mut connection = http1::Builder::new();
        connection.timer(TokioTimer::new()).header_read_timeout(PATIENCE);
        // A connection that breaks is the client's affair.
        let _ = connection.serve_connection(TokioIo::new(stream), service_fn(answer)).await;
    }

    /// Answers a request. A page that may call the server may read the answer,
    /// whatever it is.
    async fn answer(&self, request: Request<Incoming>) -> Reply {
        let Some(origin) = cors::origin(request.headers()) else {
            return self.admit(request).await;
        };
        let refused = self.turns_away(request.headers()).await;
        if cors::is_preflight(request.method(), request.headers()) {
            return match refused {
                Some(refused) => refused,
                None => {
                    let mut reply = cors::may_ask(request.headers());
                    cors::open(&mut reply, origin);
                    reply
                }
            };
        }
        let mut reply = self.admit(request).await;
        if refused.is_none() {
            cors::open(&mut reply, origin);
        }
        reply
    }

    /// What is said to a page that may not call the server, or to one that
    /// calls it by another name. That is for the service to judge, which looks
    /// at it before it looks at the method.
    async fn turns_away(&self, headers: &HeaderMap) -> Option<Reply> {
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

    /// Answers who shows what is to be shown.
    async fn admit(&self, request: Request<Incoming>) -> Reply {
        if let Access::Token(token) = &self.access {
            let shown = request.headers().get(AUTHORIZATION);
            if !shown.is_some_and(|shown| token.is_shown(shown.as_bytes())) {
                let mut refusal = brief(StatusCode::UNAUTHORIZED, "A bearer token is needed");
                let wanted = HeaderValue::from_static("Bearer realm=\"hermes\"");
                refusal.headers_mut().insert(WWW_AUTHENTICATE, wanted);
                return refusal;
            }
        }
        if request.uri().path() != PATH {
            return brief(StatusCode::NOT_FOUND, "The server is at /mcp");
        }
        match *request.method() {
            Method::POST => self.hear(request).await,
            Method::DELETE => self.dismiss(request).await,
            _ => self.pass_on(request).await,
        }
    }

    /// Messages of a client, mostly one.
    async fn hear(&self, request: Request<Incoming>) -> Reply {
        let (mut parts, body) = request.into_parts();
        if let Err(refused) = request::fit(&parts.method, &mut parts.headers) {
            return *refused;
        }
        let body = match request::gather(&parts.headers, body, LARGEST).await {
            Ok(body) => body,
            Err(refused) => return refused,
        };
        match batch::split(&body) {
            Some(all) if self.may_batch(&parts.headers).await => {
                let heard = all.into_iter().map(|one| self.hear_one(parts.clone(), one));
                batch::join(join_all(heard).await).await
            }
            _ => self.hear_one(parts, body).await,
        }
    }

    /// Whether a session has the version in which messages come together. One
    /// that there is not is told so for each of them.
    async fn may_batch(&self, headers: &HeaderMap) -> bool {
        let Some(named) = headers.get(SESSION) else { return false };
        self.batching().contains(named) || !self.knows_session(headers).await
    }

    fn batching(&self) -> MutexGuard<'_, HashSet<HeaderValue>> {
        self.batching.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn hear_one(&self, parts: Parts, body: Bytes) -> Reply {
        let is_first = !parts.headers.contains_key(SESSION);
        let reply = self.service.handle(Request::from_parts(parts, Full::new(body.clone()))).await;
        if let Some(begun) = reply.headers().get(SESSION).filter(|_| is_first)
            && batch::is_greeting(&body)
        {
            let mut batching = self.batching();
            // Sessions that have run out are not missed for this.
            if batching.len() >= BATCHING {
                batching.clear();
            }
            batching.insert(begun.clone());
        }
        // The headers were in order, so it is the body that is not understood.
        match reply.status() {
            StatusCode::UNSUPPORTED_MEDIA_TYPE => request::refuse(&body),
            StatusCode::OK if let Some(refusal) = message::refuse_cursor(&body) => {
                // Until what it would have said is there, its id is taken.
                let _ = reply.into_body().collect().await;
                request::told(&refusal, StatusCode::OK)
            }
            StatusCode::BAD_REQUEST => request::refuse_greeting(&body).unwrap_or(reply),
            _ => reply::settle(reply, reply::MOMENT).await,
        }
    }

    /// The end of a session.
    async fn dismiss(&self, request: Request<Incoming>) -> Reply {
        let is_known = self.knows_session(request.headers()).await;
        request.headers().get(SESSION).map(|named| self.batching().remove(named));
        let mut reply = self.pass_on(request).await;
        if reply.status() == StatusCode::ACCEPTED {
            if !is_known {
                return brief(StatusCode::NOT_FOUND, "There is no such session");
            }
            // It has ended, and some clients take "accepted" for a failure.
            *reply.status_mut() = StatusCode::OK;
        }
        reply
    }

    async fn knows_session(&self, headers: &HeaderMap) -> bool {
        let named = headers.get(SESSION).and_then(|value| value.to_str().ok());
        match named {
            Some(named) => self.sessions.has_session(&named.into()).await.unwrap_or(false),
            None => false,
        }
    }

    /// A request that brings nothing along.
    async fn pass_on(&self, request: Request<Incoming>) -> Reply {
        let (mut parts, _) = request.into_parts();
        if let Err(refused) = request::fit(&parts.method, &mut parts.headers) {
            return *refused;
        }
        self.service.handle(Request::from_parts(parts, Full::<Bytes>::default())).await
    }
}
