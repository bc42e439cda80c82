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

/// With more sessions than this, the networks of those that do nothing are
/// closed; they are opened again when they are needed.
const MAX_IDLE_SESSIONS: usize = 64;

/// The rule by which a connection is recorded whose client did not wait.
const UNFINISHED_RULE: &str = "built-in: unfinished connections";

/// Refused connections that are remembered for the results of calls.
const MAX_REFUSALS: usize = 256;

/// The port of the proxy inside a namespace, unless it is taken: the same for
/// every program that serves a session, so that processes which outlive one
/// are served by the next.
const PROXY_PORT: u16 = 61080;

/// The networks of all sessions of this program.
#[derive(Default)]
pub struct NetworkTable {
    sessions: Mutex<HashMap<String, SessionSlot>>,
    /// Loopback ports that the user's own package registries listen on.
    registry_ports: Mutex<Option<Vec<u16>>>,
}

type RefusalLog = Arc<Mutex<VecDeque<RefusedConnection>>>;

#[derive(Default)]
struct SessionSlot {
    judge: CurrentJudge,
    refusals: RefusalLog,
    network: Option<Arc<SessionNetwork>>,
    /// A process of an earlier program that lives in the session's network.
    survivor: Option<u32>,
}

/// The network of one session.
pub struct SessionNetwork {
    space: Arc<NetworkNamespace>,
    /// None if there is no way out.
    proxy_port: Option<u16>,
    /// Why programs that ignore the proxy have no way out, if they have none.
    redirect_error: Option<String>,
    clients: Arc<ClientFinder>,
    refusals: RefusalLog,
    /// What serves it ends with it.
    tasks: Mutex<Vec<AbortOnDropHandle<()>>>,
    /// Those that are open on this machine, by the port of the session.
    published: Mutex<BTreeMap<u16, PublishedPort>>,
}

/// A connection that was not made.
#[derive(Debug, Clone)]
pub struct RefusedConnection {
    /// When.
    pub at: Instant,
    /// What was asked for.
    pub request: ConnectionRequest,
    /// Why it was not made.
    pub refusal: ConnectionRefusal,
}

impl NetworkTable {
    /// The network that the children of a confinement share; none if they use
    /// that of this machine, or the system has no namespaces.
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
        let space = match slot.survivor.take().and_then(foreign_space) {
            Some(space) => space,
            None => match NetworkNamespace::create() {
                Ok(space) => space,
                // Whoever prepares the sandbox says what the system lacks.
                Err(_) => return Ok(None),
            },
        };
        let network = Arc::new(SessionNetwork::open(space, slot, confinement, &ports)?);
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

    /// Has a session go on in the network of this process, which an earlier
    /// program has left running.
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
        space: NetworkNamespace,
        slot: &SessionSlot,
        confinement: &Confinement,
        ports: &[u16],
    ) -> io::Result<Self> {
        let space = Arc::new(space);
        let clients = Arc::new(ClientFinder::new(Arc::clone(&space), confinement));
        let mut network = Self {
            proxy_port: None,
            redirect_error: None,
            clients: Arc::clone(&clients),
            refusals: Arc::clone(&slot.refusals),
            tasks: Mutex::default(),
            published: Mutex::default(),
            space,
        };
        if confinement.network == NetworkMode::Isolated {
            network.start_proxy(slot.judge.clone(), ports)?;
        }
        Ok(network)
    }

    /// Opens the way out.
    fn start_proxy(&mut self, judge: CurrentJudge, ports: &[u16]) -> io::Result<()> {
        let listener = self.space.listen(PROXY_PORT).or_else(|_| self.space.listen(0))?;
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
        // A namespace that was left by an earlier program has its rules already,
        // and they name the usual port.
        let redirected = match self.space.redirect_to(port) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            other => other,
        };
        match redirected.and_then(|()| self.space.resolver_sockets()) {
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
            // A port that something in the session listens on is the session's.
            let Ok(listener) = self.space.listen(*port) else { continue };
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
    pub fn space(&self) -> &Arc<NetworkNamespace> {
        &self.space
    }

    /// Whether other hosts can be reached, through this program.
    pub fn has_egress(&self) -> bool {
        self.proxy_port.is_some()
    }

    /// Why programs that ignore the proxy have no way out, if they have none.
    pub fn redirect_error(&self) -> Option<&str> {
        self.redirect_error.as_deref()
    }

    /// A process of the session was started.
    pub(crate) fn note_process(&self, process: u32) {
        self.clients.note_process(process);
    }

    /// The variables by which programs find the proxy.
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

    /// The connections that were refused since then.
    pub fn refused_since(&self, since: Instant) -> Vec<RefusedConnection> {
        self.refusals.lock().iter().filter(|refused| refused.at >= since).cloned().collect()
    }

    /// Publishes a port of the session on a port of this machine's loopback,
    /// the same one if it is free; which one that is.
    ///
    /// # Errors
    /// If nothing listens on it, or no port is free.
    pub fn publish(&self, port: u16) -> io::Result<u16> {
        let mut published = self.published.lock();
        if let Some(known) = published.get(&port) {
            return Ok(known.host_port());
        }
        let opened = PublishedPort::open(&self.space, port, None)?;
        let host_port = opened.host_port();
        published.insert(port, opened);
        Ok(host_port)
    }

    /// What listens in the session.
    pub fn listening(&self) -> Vec<ListeningPort> {
        let own = self.proxy_port;
        let found = listening::listening_in(&self.space);
        let published = self.published.lock();
        let host_port = |port: &ListeningPort| published.get(&port.port).map(|it| it.host_port());
        found
            .into_iter()
            .filter(|port| Some(port.port) != own)
            .map(|port| ListeningPort { published: host_port(&port), ..port })
            .collect()
    }
}

/// Remembers what was refused, for the results of calls.
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
            // Before the client hears of it, and perhaps ends.
            self.remember_refusal(request, &verdict);
            verdict
        })
    }

    fn record(&self, record: ConnectionRecord) {
        // A client that left before there was a decision was not stopped.
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
            .field("space", &self.space.id())
            .field("proxy_port", &self.proxy_port)
            .finish_non_exhaustive()
    }
}

/// The network of a process, unless it is that of this program: what was started
/// there has no network of its own.
fn foreign_space(process: u32) -> Option<NetworkNamespace> {
    let space = NetworkNamespace::for_process(process).ok()?;
    (!space.has_process(std::process::id())).then_some(space)
}

/// Whether nobody uses a network: no sandbox, and no process that a session
/// has left running.
fn is_idle(network: &Arc<SessionNetwork>) -> bool {
    Arc::strong_count(network) == 1 && network.space.processes().is_empty()
}

fn tokio_listener(listener: TcpListener) -> io::Result<tokio::net::TcpListener> {
    listener.set_nonblocking(true)?;
    tokio::net::TcpListener::from_std(listener)
}

fn nonblocking_udp(socket: std::net::UdpSocket) -> io::Result<std::net::UdpSocket> {
    socket.set_nonblocking(true)?;
    Ok(socket)
}
