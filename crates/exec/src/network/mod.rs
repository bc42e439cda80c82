//! The networks of sessions: each has a namespace with loopback, and a proxy
//! that judges every connection to another host.

mod client;
mod listening;
mod published;
pub mod registries;
mod runtime;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Instant;

use hermes_core::{
    BoxFuture, Confinement, ConnectionJudge, ConnectionRecord, ConnectionRefusal,
    ConnectionRequest, ConnectionVerdict, NetworkMode, SessionNetworks,
};
use hermes_net::{CurrentJudge, DnsStub, NameTable, ProxyContext, ProxyServer};
use hermes_sandbox::NetworkNamespace;
use parking_lot::Mutex;
use tokio_util::task::AbortOnDropHandle;

use self::client::ClientFinder;
pub use self::listening::{
    ListeningPort, listening_on_host, namespaces_with_port, process_listening_ports,
};
pub use self::published::PublishedPort;

/// Above this number of sessions, idle networks are closed; they are reopened
/// on demand.
const MAX_IDLE_SESSIONS: usize = 64;

/// The rule recorded for a connection whose client did not wait.
const UNFINISHED_RULE: &str = "built-in: unfinished connections";

/// Refused connections to keep for the results of calls.
const MAX_REFUSALS: usize = 256;

/// The preferred proxy port inside a namespace. All processes that serve a
/// session use the same one, so a child process that outlives one is served by
/// the next.
const PROXY_PORT: u16 = 61080;

/// The networks of all sessions of this process.
#[derive(Default)]
pub struct NetworkTable {
    sessions: Mutex<HashMap<String, SessionSlot>>,
    /// Loopback ports of the user's own package registries.
    registry_ports: Mutex<Option<Vec<u16>>>,
}

type RefusalLog = Arc<Mutex<VecDeque<RefusedConnection>>>;

#[derive(Default)]
struct SessionSlot {
    judge: CurrentJudge,
    refusals: RefusalLog,
    network: Option<Arc<SessionNetwork>>,
    /// A process left by an earlier hermes in the session's network.
    survivor: Option<u32>,
}

/// The network of one session.
pub struct SessionNetwork {
    namespace: Arc<NetworkNamespace>,
    /// `None` if there is no egress.
    proxy_port: Option<u16>,
    /// Why programs that ignore the proxy have no egress, if they have none.
    redirect_error: Option<String>,
    clients: Arc<ClientFinder>,
    refusals: RefusalLog,
    /// The tasks that serve the network; aborted on drop.
    tasks: Mutex<Vec<AbortOnDropHandle<()>>>,
    /// Ports published on this machine, by the port of the session.
    published: Mutex<BTreeMap<u16, PublishedPort>>,
}

/// A connection that was refused.
#[derive(Debug, Clone)]
pub struct RefusedConnection {
    /// When.
    pub at: Instant,
    /// The requested connection.
    pub request: ConnectionRequest,
    /// Why it was refused.
    pub refusal: ConnectionRefusal,
}

impl NetworkTable {
    /// Returns the network that the children of a confinement share, or `None`
    /// if they use the host network or the system has no namespaces.
    ///
    /// # Errors
    /// If it cannot be set up although the system has namespaces.
    pub fn open_for(&self, confinement: &Confinement) -> io::Result<Option<Arc<SessionNetwork>>> {
        if confinement.network == NetworkMode::Host || confinement.bubblewrap {
            return Ok(None);
        }
        let ports = self.forwarded_ports(confinement);
        let mut sessions = self.sessions.lock();
        let slot = sessions.entry(confinement.session.clone()).or_default();
        if let Some(network) = &slot.network {
            network.clients.add_writable_places(confinement);
            return Ok(Some(Arc::clone(network)));
        }
        let namespace = match slot.survivor.take().and_then(foreign_namespace) {
            Some(namespace) => namespace,
            None => match NetworkNamespace::create() {
                Ok(namespace) => namespace,
                // Preparing the sandbox reports what the system lacks.
                Err(_) => return Ok(None),
            },
        };
        let network = Arc::new(SessionNetwork::open(namespace, slot, confinement, &ports)?);
        slot.network = Some(Arc::clone(&network));
        if sessions.len() > MAX_IDLE_SESSIONS {
            sessions.retain(|_, slot| slot.network.as_ref().is_none_or(|it| !is_idle(it)));
        }
        Ok(Some(network))
    }

    /// The network of a session, if one was opened.
    pub fn get(&self, session: &str) -> Option<Arc<SessionNetwork>> {
        self.sessions.lock().get(session)?.network.clone()
    }

    /// Makes a session reuse the network of this process, which an earlier
    /// hermes left running.
    pub fn rejoin(&self, session: &str, process: u32) {
        let mut sessions = self.sessions.lock();
        let slot = sessions.entry(session.to_owned()).or_default();
        if slot.network.is_none() {
            slot.survivor = Some(process);
        }
    }

    fn forwarded_ports(&self, confinement: &Confinement) -> Vec<u16> {
        if confinement.network != NetworkMode::Isolated {
            return Vec::new();
        }
        let mut known = self.registry_ports.lock();
        let own = known.get_or_insert_with(registries::loopback_ports);
        let mut ports: Vec<u16> =
            confinement.host_ports.iter().chain(own.iter()).copied().collect();
        ports.sort_unstable();
        ports.dedup();
        ports
    }
}

impl SessionNetworks for NetworkTable {
    fn set_judge(&self, session: &str, judge: Arc<dyn ConnectionJudge>) {
        let mut sessions = self.sessions.lock();
        let slot = sessions.entry(session.to_owned()).or_default();
        let refusals = Arc::clone(&slot.refusals);
        slot.judge.set(Arc::new(RefusalRecorder { judge, refusals }));
    }
}

impl SessionNetwork {
    fn open(
        namespace: NetworkNamespace,
        slot: &SessionSlot,
        confinement: &Confinement,
        ports: &[u16],
    ) -> io::Result<Self> {
        let namespace = Arc::new(namespace);
        let clients = Arc::new(ClientFinder::new(Arc::clone(&namespace), confinement));
        let mut network = Self {
            proxy_port: None,
            redirect_error: None,
            clients: Arc::clone(&clients),
            refusals: Arc::clone(&slot.refusals),
            tasks: Mutex::default(),
            published: Mutex::default(),
            namespace,
        };
        if confinement.network == NetworkMode::Isolated {
            network.start_proxy(slot.judge.clone(), ports)?;
        }
        Ok(network)
    }

    /// Starts the proxy.
    fn start_proxy(&mut self, judge: CurrentJudge, ports: &[u16]) -> io::Result<()> {
        let listener = self.namespace.listen(PROXY_PORT).or_else(|_| self.namespace.listen(0))?;
        let port = listener.local_addr()?.port();
        self.proxy_port = Some(port);
        let names = Arc::new(NameTable::new());
        let context = ProxyContext::new(judge, self.clients.clone(), Arc::clone(&names));
        let server = ProxyServer::new(context);
        let runtime = runtime::handle()?;
        let _inside = runtime.enter();
        let mut tasks = Vec::new();
        let mut start = |task: BoxFuture<'static, ()>| {
            tasks.push(AbortOnDropHandle::new(runtime.spawn(task)));
        };
        // A namespace left by an earlier process already has its rules, and
        // they name the preferred port.
        let redirected = match self.namespace.redirect_to(port) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            other => other,
        };
        match redirected.and_then(|()| self.namespace.resolver_sockets()) {
            Ok((datagrams, connections)) => {
                let datagrams = tokio::net::UdpSocket::from_std(nonblocking_udp(datagrams)?)?;
                let connections = tokio_listener(connections)?;
                let stub = DnsStub::new(names);
                let again = stub.clone();
                start(Box::pin(async move { stub.serve_udp(datagrams).await }));
                start(Box::pin(async move { again.serve_tcp(connections).await }));
            }
            Err(error) => self.redirect_error = Some(error.to_string()),
        }
        for port in ports {
            // If a process of the session already listens on the port, it keeps
            // it.
            let Ok(listener) = self.namespace.listen(*port) else { continue };
            let (server, listener) = (server.clone(), tokio_listener(listener)?);
            let target = SocketAddr::from((Ipv4Addr::LOCALHOST, *port));
            start(Box::pin(async move { server.forward_port(listener, target).await }));
        }
        let listener = tokio_listener(listener)?;
        start(Box::pin(async move { server.serve(listener).await }));
        *self.tasks.lock() = tasks;
        Ok(())
    }

    /// The namespace.
    pub fn namespace(&self) -> &Arc<NetworkNamespace> {
        &self.namespace
    }

    /// Whether other hosts can be reached through the proxy of this process.
    pub fn has_egress(&self) -> bool {
        self.proxy_port.is_some()
    }

    /// Returns why programs that ignore the proxy have no egress, if they have
    /// none.
    pub fn redirect_error(&self) -> Option<&str> {
        self.redirect_error.as_deref()
    }

    /// Notes that a process of the session was started.
    pub(crate) fn note_process(&self, process: u32) {
        self.clients.note_process(process);
    }

    /// Returns the environment variables that point programs to the proxy.
    pub fn variables(&self) -> Vec<(OsString, OsString)> {
        let Some(port) = self.proxy_port else { return Vec::new() };
        let proxy = format!("http://127.0.0.1:{port}");
        let own = "localhost,127.0.0.1,::1";
        let mut variables = Vec::new();
        for (name, value) in [
            ("HTTP_PROXY", &*proxy),
            ("HTTPS_PROXY", &proxy),
            ("ALL_PROXY", &proxy),
            ("NO_PROXY", own),
        ] {
            variables.push((name.into(), value.into()));
            variables.push((name.to_lowercase().into(), value.into()));
        }
        if self.redirect_error.is_some() {
            let command = format!("ssh -o ProxyCommand='nc -X 5 -x 127.0.0.1:{port} %h %p'");
            variables.push(("GIT_SSH_COMMAND".into(), command.into()));
        }
        variables
    }

    /// Returns the connections refused since this time.
    pub fn refused_since(&self, since: Instant) -> Vec<RefusedConnection> {
        self.refusals.lock().iter().filter(|refused| refused.at >= since).cloned().collect()
    }

    /// Publishes a port of the session on this machine's loopback, under the
    /// same number if that is free; returns the published port.
    ///
    /// # Errors
    /// If nothing listens on the port, or no port is free.
    pub fn publish(&self, port: u16) -> io::Result<u16> {
        let mut published = self.published.lock();
        if let Some(known) = published.get(&port) {
            return Ok(known.host_port());
        }
        let opened = PublishedPort::open(&self.namespace, port, None)?;
        let host_port = opened.host_port();
        published.insert(port, opened);
        Ok(host_port)
    }

    /// Returns the ports that processes of the session listen on.
    pub fn listening(&self) -> Vec<ListeningPort> {
        let own = self.proxy_port;
        let found = listening::listening_in(&self.namespace);
        let published = self.published.lock();
        let host_port = |port: &ListeningPort| published.get(&port.port).map(|it| it.host_port());
        found
            .into_iter()
            .filter(|port| Some(port.port) != own)
            .map(|port| ListeningPort { published: host_port(&port), ..port })
            .collect()
    }
}

/// Records refusals for the results of calls.
struct RefusalRecorder {
    judge: Arc<dyn ConnectionJudge>,
    refusals: RefusalLog,
}

impl RefusalRecorder {
    fn remember_refusal(&self, request: &ConnectionRequest, verdict: &ConnectionVerdict) {
        let ConnectionVerdict::Refuse(refusal) = verdict else { return };
        let mut refusals = self.refusals.lock();
        if let Some(known) = refusals.iter_mut().find(|known| known.request == *request) {
            known.at = Instant::now();
            return;
        }
        if refusals.len() >= MAX_REFUSALS {
            refusals.pop_front();
        }
        let (request, refusal) = (request.clone(), refusal.clone());
        refusals.push_back(RefusedConnection { at: Instant::now(), request, refusal });
    }
}

impl ConnectionJudge for RefusalRecorder {
    fn judge<'a>(&'a self, request: &'a ConnectionRequest) -> BoxFuture<'a, ConnectionVerdict> {
        Box::pin(async move {
            let verdict = self.judge.judge(request).await;
            // Record it before the client sees the refusal and possibly exits.
            self.remember_refusal(request, &verdict);
            verdict
        })
    }

    fn record(&self, record: ConnectionRecord) {
        // A client that left before the decision was not blocked.
        let has_left = matches!(&record.verdict, ConnectionVerdict::Refuse(refusal) if refusal.rule == UNFINISHED_RULE);
        if !has_left {
            self.remember_refusal(&record.request, &record.verdict);
        }
        self.judge.record(record);
    }
}

impl fmt::Debug for NetworkTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NetworkTable({})", self.sessions.lock().len())
    }
}

impl fmt::Debug for SessionNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionNetwork")
            .field("namespace", &self.namespace.id())
            .field("proxy_port", &self.proxy_port)
            .finish_non_exhaustive()
    }
}

/// Returns the network namespace of a process, unless it is that of this
/// process: then it has no network of a session.
fn foreign_namespace(process: u32) -> Option<NetworkNamespace> {
    let namespace = NetworkNamespace::for_process(process).ok()?;
    (!namespace.has_process(std::process::id())).then_some(namespace)
}

/// Whether a network is unused: no sandbox holds it, and no process runs in it.
fn is_idle(network: &Arc<SessionNetwork>) -> bool {
    Arc::strong_count(network) == 1 && network.namespace.processes().is_empty()
}

fn tokio_listener(listener: TcpListener) -> io::Result<tokio::net::TcpListener> {
    listener.set_nonblocking(true)?;
    tokio::net::TcpListener::from_std(listener)
}

fn nonblocking_udp(socket: std::net::UdpSocket) -> io::Result<std::net::UdpSocket> {
    socket.set_nonblocking(true)?;
    Ok(socket)
}
