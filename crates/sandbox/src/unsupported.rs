//! Systems without a sandbox: nothing can be prepared, so nothing runs.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;

use hermes_core::{Confinement, OverlayMount};

use crate::{Held, Launch, Probe, SandboxError, Support};

/// What this system can hold: nothing.
pub fn support() -> Support {
    Support {
        landlock: None,
        seccomp: false,
        user_namespaces: false,
        user_namespaces_error: None,
        bubblewrap: None,
    }
}

/// A prepared sandbox. There is none on this system.
#[derive(Debug)]
pub struct Sandbox {
    held: Held,
}

impl Sandbox {
    /// Always fails: the mechanisms are those of Linux.
    pub fn prepare(
        _confinement: &Confinement,
        _space: Option<Arc<NetworkSpace>>,
    ) -> Result<Self, SandboxError> {
        Err(SandboxError::Unsupported {
            what: "Linux",
            why: format!("this is {}", std::env::consts::OS),
            hint: "run it on Linux, or allow unconfined children",
        })
    }

    /// No sandbox. Nothing can be launched by it here.
    pub fn open() -> Self {
        Self { held: Held::default() }
    }

    /// Which mechanisms hold.
    pub fn held(&self) -> &Held {
        &self.held
    }

    /// Never reached, as there is no sandbox to call it on.
    pub fn spawn(&self, _command: &mut Command) -> io::Result<Child> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Never reached, as there is no sandbox to call it on.
    pub fn apply(&self, _command: &mut Command) {}

    /// Children have no terminals of their own here.
    pub fn terminal(&self) -> Option<io::Result<crate::Stream>> {
        None
    }

    /// Nothing was made, as nothing was launched.
    pub fn tidy(&self) {}

    /// Never reached, as there is no sandbox to call it on.
    pub fn launch(&self, _launch: &Launch) -> io::Result<Launched> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// A child that was launched. There is none on this system.
#[derive(Debug)]
pub struct Launched {
    never: Infallible,
}

impl Launched {
    /// Its process id.
    pub fn id(&self) -> u32 {
        match self.never {}
    }

    /// Waits for its end.
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        match self.never {}
    }

    /// Its status, if it has ended.
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        match self.never {}
    }

    /// Ends it, if it has not ended yet.
    pub fn kill(&self) -> io::Result<()> {
        match self.never {}
    }
}

/// The error as it is.
pub fn explain(error: io::Error) -> io::Error {
    error
}

/// Nothing to try without a sandbox.
pub fn probe(_confinement: &Confinement, _scratch: &Path) -> Vec<Probe> {
    Vec::new()
}

/// Nothing covers a folder here.
pub fn den() -> io::Result<PathBuf> {
    Err(io::ErrorKind::Unsupported.into())
}

/// A network namespace that children share. There is none on this system.
#[derive(Debug)]
pub struct NetworkSpace {
    never: Infallible,
}

/// A socket that waits for connections in a namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListeningSocket {
    /// Where.
    pub address: SocketAddr,
    /// The number by which processes hold it.
    pub inode: u64,
}

impl NetworkSpace {
    /// Always fails: namespaces are those of Linux.
    pub fn create() -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Always fails: namespaces are those of Linux.
    pub fn of_process(_process: u32) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// What the kernel calls the namespace.
    pub fn id(&self) -> u64 {
        match self.never {}
    }

    /// Redirects connections to other hosts to the proxy's port.
    pub fn redirect_to(&self, _proxy: u16) -> io::Result<()> {
        match self.never {}
    }

    /// Listens on a port of the namespace's loopback.
    pub fn listen(&self, _port: u16) -> io::Result<TcpListener> {
        match self.never {}
    }

    /// Opens the sockets of a resolver.
    pub fn resolver_sockets(&self) -> io::Result<(UdpSocket, TcpListener)> {
        match self.never {}
    }

    /// Connects to a port of the namespace's loopback.
    pub fn connect(&self, _port: u16) -> io::Result<TcpStream> {
        match self.never {}
    }

    /// The processes in the namespace.
    pub fn processes(&self) -> Vec<u32> {
        match self.never {}
    }

    /// Whether a process is in the namespace.
    pub fn has_process(&self, _process: u32) -> bool {
        match self.never {}
    }

    /// What listens in the namespace.
    pub fn listening(&self, _process: u32) -> Vec<ListeningSocket> {
        match self.never {}
    }

    /// The socket with this local address.
    pub fn socket_at(&self, _process: u32, _local: SocketAddr) -> Option<u64> {
        match self.never {}
    }
}

/// The loopback ports of this machine that something listens on; not known here.
pub fn host_ports() -> BTreeSet<u16> {
    BTreeSet::new()
}

/// No socket of a process is known here.
pub fn sockets_of(_process: u32) -> BTreeSet<u64> {
    BTreeSet::new()
}

/// Always fails: overlays are those of Linux.
pub fn overlay_directory(_mount: &OverlayMount) -> io::Result<PathBuf> {
    Err(io::ErrorKind::Unsupported.into())
}
