//! Stub for systems without a sandbox: preparing one always fails.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;

use hermes_core::{Confinement, OverlayMount};

use crate::{EnforcementReport, LaunchSpec, ProbeResult, SandboxError, SandboxSupport};

/// Reports that no mechanism is supported.
pub fn support() -> SandboxSupport {
    SandboxSupport {
        landlock: None,
        seccomp: false,
        user_namespaces: false,
        user_namespaces_error: None,
        bubblewrap: None,
    }
}

/// A prepared sandbox. It never confines anything on this system.
#[derive(Debug)]
pub struct Sandbox {
    enforcement: EnforcementReport,
}

impl Sandbox {
    /// Always fails: the mechanisms require Linux.
    pub fn prepare(
        _confinement: &Confinement,
        _space: Option<Arc<NetworkNamespace>>,
    ) -> Result<Self, SandboxError> {
        Err(SandboxError::Unsupported {
            what: "Linux",
            why: format!("this is {}", std::env::consts::OS),
            hint: "run on Linux, or allow unconfined children",
        })
    }

    /// Returns an unconfined sandbox. It cannot launch anything on this system.
    pub fn unconfined() -> Self {
        Self { enforcement: EnforcementReport::default() }
    }

    /// Returns the enforced mechanisms.
    pub fn enforcement(&self) -> &EnforcementReport {
        &self.enforcement
    }

    /// Always fails.
    pub fn spawn(&self, _command: &mut Command) -> io::Result<Child> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Does nothing.
    pub fn apply(&self, _command: &mut Command) {}

    /// Returns `None`: children have no private terminals.
    pub fn open_terminal(&self) -> Option<io::Result<OwnedFd>> {
        None
    }

    /// Does nothing.
    pub fn quarantine(&self) {}

    /// Always fails.
    pub fn launch(&self, _launch: &LaunchSpec) -> io::Result<LaunchedChild> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// A launched child. None exists on this system.
#[derive(Debug)]
pub struct LaunchedChild {
    never: Infallible,
}

impl LaunchedChild {
    /// Returns the process id.
    pub fn id(&self) -> u32 {
        match self.never {}
    }

    /// Waits for the child to exit.
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        match self.never {}
    }

    /// Returns the exit status, if the child has exited.
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        match self.never {}
    }

    /// Kills the child if it is still running.
    pub fn kill(&self) -> io::Result<()> {
        match self.never {}
    }
}

/// A handle on the child, as on Linux.
impl AsFd for LaunchedChild {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self.never {}
    }
}

/// Returns the error unchanged.
pub fn explain_spawn_error(error: io::Error) -> io::Error {
    error
}

/// Returns no results, as there is nothing to probe.
pub fn probe(_confinement: &Confinement, _scratch: &Path) -> Vec<ProbeResult> {
    Vec::new()
}

/// Always fails: no directory is private here.
pub fn private_dir() -> io::Result<PathBuf> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Always fails: no directory is private here.
pub fn create_private_dir(_path: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// A network namespace that children share. None exists on this system.
#[derive(Debug)]
pub struct NetworkNamespace {
    never: Infallible,
}

/// A listening socket in the namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListeningSocket {
    /// The local address.
    pub address: SocketAddr,
    /// Inode by which processes hold the socket.
    pub inode: u64,
}

impl NetworkNamespace {
    /// Always fails: namespaces require Linux.
    pub fn create() -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Always fails: namespaces require Linux.
    pub fn for_process(_process: u32) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Returns the kernel's id of the namespace.
    pub fn id(&self) -> u64 {
        match self.never {}
    }

    /// Redirects connections to other hosts to the proxy's port.
    pub fn redirect_to(&self, _proxy: u16) -> io::Result<()> {
        match self.never {}
    }

    /// Listens on a loopback port of the namespace.
    pub fn listen(&self, _port: u16) -> io::Result<TcpListener> {
        match self.never {}
    }

    /// Opens the sockets of a resolver.
    pub fn resolver_sockets(&self) -> io::Result<(UdpSocket, TcpListener)> {
        match self.never {}
    }

    /// Connects to a loopback port of the namespace.
    pub fn connect(&self, _port: u16) -> io::Result<TcpStream> {
        match self.never {}
    }

    /// Returns the processes in the namespace.
    pub fn processes(&self) -> Vec<u32> {
        match self.never {}
    }

    /// Whether a process is in the namespace.
    pub fn has_process(&self, _process: u32) -> bool {
        match self.never {}
    }

    /// Returns the listening sockets in the namespace.
    pub fn listening_sockets(&self, _process: u32) -> Vec<ListeningSocket> {
        match self.never {}
    }

    /// Returns the inode of the socket with this local address.
    pub fn socket_at(&self, _process: u32, _local: SocketAddr) -> Option<u64> {
        match self.never {}
    }
}

/// Returns an empty set: the loopback ports of this machine are unknown.
pub fn host_ports() -> BTreeSet<u16> {
    BTreeSet::new()
}

/// Returns an empty set: the sockets of a process are unknown.
pub fn process_sockets(_process: u32) -> BTreeSet<u64> {
    BTreeSet::new()
}

/// Always fails: overlays require Linux.
pub fn overlay_directory(_mount: &OverlayMount) -> io::Result<PathBuf> {
    Err(io::ErrorKind::Unsupported.into())
}
