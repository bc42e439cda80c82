//! The network of child processes: how they reach it, and who judges each
//! connection.

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
    /// The session's own namespace with loopback; no outbound connections.
    Off,
    /// The session's own namespace with loopback; every connection to another
    /// host passes a proxy that judges it.
    #[default]
    Isolated,
    /// The host's network, without a judge.
    Host,
}

impl NetworkMode {
    /// The value in the configuration.
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
    /// Returns a destination with the host in lower case, without brackets or a
    /// trailing dot.
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
    /// The file that it executes, according to the kernel.
    pub executable: PathBuf,
    /// Its command line, which the process can change.
    pub arguments: Vec<String>,
    /// Whether all of its code comes from files that no child process can
    /// write.
    pub is_installed: bool,
    /// Whether it runs code that it generated, as interpreters do.
    pub has_generated_code: bool,
    /// The job that it belongs to, if known.
    pub job: Option<String>,
    /// The command lines of the installed programs that started it, nearest
    /// first. The first word of each is the executable.
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
    /// A connection of a client that uses no proxy, redirected by the kernel.
    Redirected,
    /// A loopback port of the host that is forwarded into the session.
    HostPort,
}

/// A connection that awaits a verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ConnectionRequest {
    /// The destination host and port.
    pub destination: NetworkDestination,
    /// The address to connect to; none before the name is resolved.
    pub address: Option<IpAddr>,
    /// The client process, if it could be determined.
    pub client: Option<ClientProcess>,
    /// How the connection reached the proxy.
    pub kind: ConnectionKind,
}

/// The verdict on a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConnectionVerdict {
    /// The connection is allowed.
    Allow,
    /// The connection is refused.
    Refuse(ConnectionRefusal),
}

/// Why a connection was refused, for the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ConnectionRefusal {
    /// The reason, as a sentence.
    pub reason: String,
    /// The rule that refused it.
    pub rule: String,
    /// The exact command or setting that allows it.
    pub allow: String,
    /// Whether a user could have approved it, but no approver was available.
    pub is_approvable: bool,
}

/// A finished connection, for the audit log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionRecord {
    /// The request.
    pub request: ConnectionRequest,
    /// Whether it was allowed, and if not, why.
    pub verdict: ConnectionVerdict,
    /// The error after the connection was allowed.
    pub error: Option<String>,
    /// Bytes from the client.
    pub sent: u64,
    /// Bytes to the client.
    pub received: u64,
    /// Duration in milliseconds.
    pub duration_ms: u64,
}

/// Judges and records the connections of child processes.
pub trait ConnectionJudge: Send + Sync {
    /// Judges a connection. Called with the name alone first, and again with
    /// the address if it is not public.
    fn judge<'a>(&'a self, request: &'a ConnectionRequest) -> BoxFuture<'a, ConnectionVerdict>;

    /// Records a connection that was closed or refused.
    fn record(&self, record: ConnectionRecord);
}

/// The networks of the sessions of this process.
pub trait SessionNetworks: Send + Sync {
    /// Sets the judge of a session's future connections.
    fn set_judge(&self, session: &str, judge: std::sync::Arc<dyn ConnectionJudge>);
}
