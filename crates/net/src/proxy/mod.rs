//! The proxy: the only way from a session's namespace to other hosts. It speaks
//! HTTP and SOCKS5 on one port and accepts connections that the kernel
//! redirected. It judges, opens, relays and records each connection.

mod body;
mod client;
mod connection;
mod exchange;
mod head;
mod headers;
mod http;
mod redirect;
mod relay;
mod reply;
mod request;
mod socks;

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hermes_core::{ClientProcess, ConnectionKind, NetworkDestination};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{timeout, timeout_at};

use self::client::ProxyClient;
pub use self::redirect::{KernelRedirects, OriginalDestination};
pub(crate) use self::relay::{ByteMeter, relay, reset};
use crate::accept::accept_each;
use crate::destination::parse_destination;
use crate::dialer::Dialer;
use crate::judge::CurrentJudge;
use crate::names::NameTable;

/// Limits concurrent client lookups. A lookup reads `/proc`, and a burst of
/// connections must not occupy all blocking threads.
const MAX_CLIENT_LOOKUPS: usize = 16;
/// Bounds a client lookup; a process can delay reads of its `/proc` entry.
const CLIENT_LOOKUP_TIMEOUT: Duration = Duration::from_secs(5);

/// Finds the process behind a connection.
pub trait ClientLookup: Send + Sync {
    /// Returns the process whose socket is bound to `peer` and connected to
    /// `local`. `local` is the address that the client knows; for a redirected
    /// connection, the original destination. Runs on a thread that may block.
    fn client(&self, peer: SocketAddr, local: SocketAddr) -> Option<ClientProcess>;
}

/// Limits on the time and memory that clients use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProxyLimits {
    /// Concurrent connections per listener; further clients wait.
    pub max_connections: usize,
    /// Size of a request head or response head.
    pub max_head_bytes: usize,
    /// From the start of a connection to the end of its request head.
    pub head_timeout: Duration,
    /// How long one side may stay silent after the other closed.
    pub half_close_timeout: Duration,
    /// How long a client may keep sending after it got its response.
    pub drain_timeout: Duration,
}

impl Default for ProxyLimits {
    fn default() -> Self {
        Self {
            max_connections: 1024,
            max_head_bytes: 64 * 1024,
            head_timeout: Duration::from_secs(15),
            half_close_timeout: Duration::from_secs(300),
            drain_timeout: Duration::from_secs(2),
        }
    }
}

/// Dependencies and limits of a session's proxy.
#[derive(Clone)]
pub struct ProxyContext {
    /// Judges each connection.
    pub judge: CurrentJudge,
    /// Finds the process behind a connection.
    pub clients: Arc<dyn ClientLookup>,
    /// Names behind placeholder addresses; shared with the DNS stub.
    pub names: Arc<NameTable>,
    /// Opens the outgoing connections.
    pub dialer: Dialer,
    /// Finds where a redirected connection was going.
    pub redirects: Arc<dyn OriginalDestination>,
    /// Limits on clients.
    pub limits: ProxyLimits,
}

impl ProxyContext {
    /// Creates a context with the kernel's redirects and the default limits.
    pub fn new(judge: CurrentJudge, clients: Arc<dyn ClientLookup>, names: Arc<NameTable>) -> Self {
        let redirects = Arc::new(KernelRedirects);
        let limits = ProxyLimits::default();
        Self { judge, clients, names, dialer: Dialer::new(), redirects, limits }
    }
}

impl fmt::Debug for ProxyContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProxyContext")
            .field("judge", &self.judge)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// The proxy of one session.
#[derive(Debug, Clone)]
pub struct ProxyServer {
    context: Arc<ProxyContext>,
    lookups: Arc<Semaphore>,
}

impl ProxyServer {
    /// Creates a proxy with this context.
    pub fn new(context: ProxyContext) -> Self {
        let lookups = Arc::new(Semaphore::new(MAX_CLIENT_LOOKUPS));
        Self { context: Arc::new(context), lookups }
    }

    /// Serves the clients of a listener: HTTP, SOCKS5 and redirected
    /// connections. Runs until dropped, which also closes its connections.
    pub async fn serve(&self, listener: TcpListener) {
        accept_each(listener, self.context.limits.max_connections, |stream, peer| {
            self.clone().serve_stream(stream, peer)
        })
        .await;
    }

    /// Forwards the clients of a listener inside the namespace to a loopback
    /// port of this machine, after judging each. Runs until dropped, which also
    /// closes its connections.
    pub async fn forward_port(&self, listener: TcpListener, target: SocketAddr) {
        accept_each(listener, self.context.limits.max_connections, |stream, peer| {
            let server = self.clone();
            async move {
                let Ok(local) = stream.local_addr() else { return };
                let client = server.client(stream, peer, local);
                let destination = NetworkDestination::new(&target.ip().to_string(), target.port());
                serve_raw(client, destination, ConnectionKind::HostPort).await;
            }
        })
        .await;
    }

    async fn serve_stream(self, stream: TcpStream, peer: SocketAddr) {
        let Ok(local) = stream.local_addr() else { return };
        let original = redirect::redirect_target(&*self.context.redirects, &stream, local);
        let client = self.client(stream, peer, original.unwrap_or(local));
        if let Some(original) = original {
            let names = &self.context.names;
            let host = original.ip().to_string();
            if let Some(destination) = parse_destination(&host, original.port(), names) {
                serve_raw(client, destination, ConnectionKind::Redirected).await;
            }
            return;
        }
        let mut first = [0];
        match timeout_at(client.head_deadline(), client.stream.peek(&mut first)).await {
            Ok(Ok(1..)) if first == [socks::SOCKS_VERSION] => socks::serve(client).await,
            Ok(Ok(1..)) => http::serve(client, first[0]).await,
            // The client sent no request.
            _ => {}
        }
    }

    /// Starts the process lookup immediately, while the process still runs.
    fn client(&self, stream: TcpStream, peer: SocketAddr, local: SocketAddr) -> ProxyClient {
        let clients = Arc::clone(&self.context.clients);
        let permit = Arc::clone(&self.lookups).acquire_owned();
        let search = async move {
            let permit = permit.await;
            let found = tokio::task::spawn_blocking(move || {
                // Held while the thread is busy, even after a timeout.
                let _permit = permit;
                clients.client(peer, local)
            });
            found.await.ok().flatten()
        };
        let search = timeout(CLIENT_LOOKUP_TIMEOUT, search);
        let lookup = tokio::spawn(async move { search.await.ok().flatten() });
        ProxyClient::new(Arc::clone(&self.context), stream, lookup)
    }
}

/// Serves a client that is unaware of the proxy: it is either connected or
/// reset.
async fn serve_raw(mut client: ProxyClient, destination: NetworkDestination, kind: ConnectionKind) {
    let mut connection = client.connection(destination, kind).await;
    match connection.open(&client.context.dialer).await {
        Ok(destination) => client.relay(&mut connection, &[], destination).await,
        Err(_) => reset(&client.stream),
    }
}
