//! Finds listening sockets in the networks of sessions.

use std::net::IpAddr;

use hermes_sandbox::{NetworkNamespace, process_sockets};
use schemars::JsonSchema;
use serde::Serialize;

use super::{client, foreign_namespace, published};
use crate::tree::ProcessTable;

/// A port that a process of a session listens on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ListeningPort {
    /// The port.
    pub port: u16,
    /// The address.
    pub address: IpAddr,
    /// The process, if it could be found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// Its program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// Its job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// The loopback port of this machine that it is published on, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published: Option<u16>,
}

/// Returns the ports that processes of a namespace listen on, excluding those
/// of this process.
pub(super) fn listening_in(namespace: &NetworkNamespace) -> Vec<ListeningPort> {
    let processes = namespace.processes();
    let Some(first) = processes.first() else { return Vec::new() };
    let mut found = Vec::new();
    for socket in namespace.listening_sockets(*first) {
        let holds = |process: &&u32| process_sockets(**process).contains(&socket.inode);
        let Some(process) = processes.iter().find(holds).copied() else { continue };
        let program = client::executable(process);
        found.push(ListeningPort {
            port: socket.address.port(),
            address: socket.address.ip(),
            pid: Some(process),
            program: program.map(|path| client::short_name(&path)),
            job: client::process_job(process),
            published: None,
        });
    }
    found.sort_by_key(|port| (port.port, port.address));
    found.dedup();
    found
}

/// Returns the ports that processes of all sessions of this user listen on,
/// whichever hermes process started them.
pub fn listening_on_host() -> Vec<ListeningPort> {
    let published = published::published_ports();
    let mut found = Vec::new();
    for namespace in session_namespaces() {
        found.extend(listening_in(&namespace).into_iter().map(|port| ListeningPort {
            published: published.get(&(namespace.id(), port.port)).copied(),
            ..port
        }));
    }
    found.sort_by_key(|port| port.port);
    found
}

/// Returns the ports in the network of a process, if that is a session's
/// network.
pub fn process_listening_ports(process: u32) -> Vec<ListeningPort> {
    foreign_namespace(process).map(|namespace| listening_in(&namespace)).unwrap_or_default()
}

/// Returns the session networks in which a process listens on this port, with
/// the match.
pub fn namespaces_with_port(port: u16) -> Vec<(NetworkNamespace, ListeningPort)> {
    let found = session_namespaces().into_iter().filter_map(|namespace| {
        let listening = listening_in(&namespace).into_iter().find(|it| it.port == port)?;
        Some((namespace, listening))
    });
    found.collect()
}

/// Returns the networks of all sessions, found by processes with the mark of a
/// job.
fn session_namespaces() -> Vec<NetworkNamespace> {
    let mut namespaces: Vec<NetworkNamespace> = Vec::new();
    let Ok(table) = ProcessTable::read() else { return namespaces };
    for process in table.marked_pids() {
        if !namespaces.iter().any(|namespace| namespace.has_process(process)) {
            namespaces.extend(foreign_namespace(process));
        }
    }
    namespaces
}
