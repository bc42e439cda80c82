//! The network of child processes: how they reach it, and who judges each of
//! their connections.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::BoxFuture;

/// How child processes reach the network.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum NetworkMode {
    /// The session's own namespace with loopback; no way out.
    Off,
    /// The session's own namespace with loopback; every connection to another
    /// host passes a proxy that judges it.
    #[default]
    Isolated,
    /// The network of this machine, unjudged.
    Host,
}

impl NetworkMode {
    /// The word for it in settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Isolated => "isolated",
            Self::Host => "host",
        }
    }
}

/// A host and port that a client wants to reach.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct NetworkDestination {
    /// A name or an address, without brackets, in lower case.
    pub host: String,
    /// The TCP port.
    pub port: u16,
}

impl NetworkDestination {
    /// A destination; the host in lower case, without brackets or a final dot.
    pub fn new(host: &str, port: u16) -> Self {
        let host = host.trim_start_matches('[').trim_end_matches(']').trim_end_matches('.');
        Self { host: host.to_ascii_lowercase(), port }
    }
}

impl fmt::Display for NetworkDestination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

/// The process that opened a connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ClientProcess {
    /// Its process id, as this process sees it.
    pub pid: u32,
    /// The file that it runs, as the kernel says.
    pub executable: PathBuf,
    /// Its command line, which the process can change by itself.
    pub arguments: Vec<String>,
    /// Whether all of its code comes from files that no child can write.
    pub is_installed: bool,
    /// Whether it runs code that it has made by itself, as interpreters do.
    pub has_generated_code: bool,
    /// The job that it belongs to, if that is known.
    pub job: Option<String>,
    /// The command lines of the installed programs that started it, nearest
    /// first; the first word is the file that each runs.
    pub callers: Vec<Vec<String>>,
}

impl ClientProcess {
    /// The name of the program.
    pub fn name(&self) -> &str {
        self.executable.file_name().and_then(|name| name.to_str()).unwrap_or("unknown")
    }
}

/// How a connection reached the proxy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ConnectionKind {
    /// An HTTP `CONNECT` tunnel.
    Tunnel,
    /// A plain HTTP request with this method.
    Http(String),
    /// SOCKS5.
    Socks,
    /// A client that knows of no proxy; the kernel redirected it.
    Redirected,
    /// A port of this machine's loopback that is forwarded into the session.
    HostPort,
}

/// A connection that waits for a decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ConnectionRequest {
    /// Where to.
    pub destination: NetworkDestination,
    /// The address that would be dialled; none before the name was looked up.
    pub address: Option<IpAddr>,
    /// Who wants it, if that could be found out.
    pub client: Option<ClientProcess>,
    /// How it came.
    pub kind: ConnectionKind,
}

/// What becomes of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConnectionVerdict {
    /// It is made.
    Allow,
    /// It is not made.
    Refuse(ConnectionRefusal),
}

/// Why a connection was not made, in the words of the rules.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ConnectionRefusal {
    /// Why, in a sentence.
    pub reason: String,
    /// The rule that says so.
    pub rule: String,
    /// The exact way to allow it.
    pub allow: String,
    /// Whether somebody could have agreed, but nobody was there to ask.
    pub is_approvable: bool,
}

/// A connection that is over, for the record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionRecord {
    /// What was asked for.
    pub request: ConnectionRequest,
    /// Whether it was allowed, and if not, why.
    pub verdict: ConnectionVerdict,
    /// What went wrong after it was allowed.
    pub error: Option<String>,
    /// Bytes from the client.
    pub sent: u64,
    /// Bytes to the client.
    pub received: u64,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
}

/// Decides about the connections of child processes, and keeps the record.
pub trait ConnectionJudge: Send + Sync {
    /// Decides about a connection. Asked with the name alone first, and with
    /// the address once that turns out not to be a public one.
    fn judge<'a>(&'a self, request: &'a ConnectionRequest) -> BoxFuture<'a, ConnectionVerdict>;

    /// Records a connection that is over, or was refused.
    fn record(&self, record: ConnectionRecord);
}

/// The networks of the sessions of this program.
pub trait SessionNetworks: Send + Sync {
    /// Has this judge decide about the connections of a session from now on.
    fn set_judge(&self, session: &str, judge: std::sync::Arc<dyn ConnectionJudge>);
}
