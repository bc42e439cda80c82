//! The proxy: the only way from a session's namespace to other hosts. It speaks
//! HTTP and SOCKS5 on one port, and takes connections that the kernel
//! redirected; each is judged, made, relayed and recorded.

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

/// Looking for a client reads `/proc`, and a burst of connections is not to
/// occupy all threads with that.
const MAX_CLIENT_LOOKUPS: usize = 16;
/// A process can delay those who read its entry there.
const CLIENT_LOOKUP_TIMEOUT: Duration = Duration::from_secs(5);

/// Finds the process behind a connection.
pub trait ClientLookup: Send + Sync {
    /// The process whose socket is bound to `peer` and connected to `local`:
    /// the address that the client knows, which is the original destination of
    /// a redirected connection. Runs on a thread that may block.
    fn client(&self, peer: SocketAddr, local: SocketAddr) -> Option<ClientProcess>;
}

/// What a client may take of the proxy's time and memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProxyLimits {
    /// Connections of one listener at a time; further clients wait.
    pub max_connections: usize,
    /// The head of a request, and of a response.
    pub max_head_bytes: usize,
    /// From the start of a connection to the end of its request head.
    pub head_timeout: Duration,
    /// How long one side may be silent after the other closed.
    pub half_close_timeout: Duration,
    /// How long a client that was answered may go on sending.
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

/// What the proxy of a session works with.
#[derive(Clone)]
pub struct ProxyContext {
    /// Decides about each connection.
    pub judge: CurrentJudge,
    /// Finds the process behind a connection.
    pub clients: Arc<dyn ClientLookup>,
    /// The names that placeholder addresses stand for; shared with the stub.
    pub names: Arc<NameTable>,
    /// Makes the connections.
    pub dialer: Dialer,
    /// Finds where a redirected connection was going.
    pub redirects: Arc<dyn OriginalDestination>,
    /// What a client may take.
    pub limits: ProxyLimits,
}

impl ProxyContext {
    /// A context with the kernel's redirects and the default limits.
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
    /// A proxy that works with this context.
    pub fn new(context: ProxyContext) -> Self {
        let lookups = Arc::new(Semaphore::new(MAX_CLIENT_LOOKUPS));
        Self { context: Arc::new(context), lookups }
    }

    /// Serves the clients of a listener: HTTP, SOCKS5 and redirected
    /// connections. Runs until it is dropped; its connections end with it.
    pub async fn serve(&self, listener: TcpListener) {
        accept_each(listener, self.context.limits.max_connections, |stream, peer| {
            self.clone().serve_stream(stream, peer)
        })
        .await;
    }

    /// Connects the clients of a listener inside the namespace to a port of
    /// this machine's loopback, each after it was judged. Runs until it is
    /// dropped; its connections end with it.
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
            // It asked for nothing.
            _ => {}
        }
    }

    /// The search for the process begins at once, while it still runs.
    fn client(&self, stream: TcpStream, peer: SocketAddr, local: SocketAddr) -> ProxyClient {
        let clients = Arc::clone(&self.context.clients);
        let permit = Arc::clone(&self.lookups).acquire_owned();
        let search = async move {
            let permit = permit.await;
            let found = tokio::task::spawn_blocking(move || {
                // Held as long as the thread is busy, also after a timeout.
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

/// Serves a client that knows of no proxy: it can only be connected or cut off.
async fn serve_raw(mut client: ProxyClient, destination: NetworkDestination, kind: ConnectionKind) {
    let mut connection = client.connection(destination, kind).await;
    match connection.open(&client.context.dialer).await {
        Ok(destination) => client.relay(&mut connection, &[], destination).await,
        Err(_) => reset(&client.stream),
    }
}
