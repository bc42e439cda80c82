//! What listens in the network of a session.

use std::net::IpAddr;

use hermes_sandbox::{NetworkSpace, sockets_of};
use serde::Serialize;

use super::client;

/// A port that a process of a session listens on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ListeningPort {
    /// The port.
    pub port: u16,
    /// The address.
    pub address: IpAddr,
    /// The process, if it could be found.
    pub pid: Option<u32>,
    /// Its program.
    pub program: Option<String>,
    /// Its job.
    pub job: Option<String>,
    /// The port of this machine's loopback that leads to it, if there is one.
    pub published: Option<u16>,
}

/// What processes of a namespace listen on; what this program listens on there
/// is not among it.
pub(super) fn in_space(space: &NetworkSpace) -> Vec<ListeningPort> {
    let processes = space.processes();
    let Some(first) = processes.first() else { return Vec::new() };
    let mut found = Vec::new();
    for socket in space.listening(*first) {
        let holds = |process: &&u32| sockets_of(**process).contains(&socket.inode);
        let Some(process) = processes.iter().find(holds).copied() else { continue };
        let program = client::executable(process);
        found.push(ListeningPort {
            port: socket.address.port(),
            address: socket.address.ip(),
            pid: Some(process),
            program: program.map(|path| client::short_name(&path)),
            job: client::job(process),
            published: None,
        });
    }
    found.sort_by_key(|port| (port.port, port.address));
    found.dedup();
    found
}
