//! Ports of sessions that are published on this machine's loopback.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use hermes_net::publish_port;
use hermes_sandbox::NetworkNamespace;
use tokio_util::task::AbortOnDropHandle;

use super::{runtime, tokio_listener};

/// Prefix of a mark's link in `/proc/PID/fd`.
const MARK_PREFIX: &str = "/memfd:hermes-port:";

/// A port of a session published on this machine's loopback; closed on drop.
#[derive(Debug)]
pub struct PublishedPort {
    host_port: u16,
    _forwarding: AbortOnDropHandle<()>,
    _mark: Option<OwnedFd>,
}

impl PublishedPort {
    /// Publishes a port of a session's network on this machine's loopback: on
    /// `host_port`, or by default on the same number if that is free.
    ///
    /// # Errors
    /// If nothing listens on the port, or `host_port` cannot be bound.
    pub fn open(
        namespace: &Arc<NetworkNamespace>,
        port: u16,
        host_port: Option<u16>,
    ) -> io::Result<Self> {
        namespace.connect(port)?;
        let bind = |number| TcpListener::bind((Ipv4Addr::LOCALHOST, number));
        let listener = match host_port {
            Some(number) => bind(number)?,
            None => bind(port).or_else(|_| bind(0))?,
        };
        let host_port = listener.local_addr()?.port();
        let runtime = runtime::handle()?;
        let _inside = runtime.enter();
        let listener = tokio_listener(listener)?;
        let mark = mark(namespace.id(), port, host_port);
        let namespace = Arc::clone(namespace);
        let connect = move || {
            let namespace = Arc::clone(&namespace);
            // Connecting blocks while the server's backlog is full.
            let connecting = tokio::task::spawn_blocking(move || namespace.connect(port));
            async move {
                let stream = connecting.await.map_err(io::Error::other)??;
                stream.set_nonblocking(true)?;
                tokio::net::TcpStream::from_std(stream)
            }
        };
        let task = runtime.spawn(publish_port(listener, connect));
        Ok(Self { host_port, _forwarding: AbortOnDropHandle::new(task), _mark: mark })
    }

    /// The port of this machine's loopback.
    pub fn host_port(&self) -> u16 {
        self.host_port
    }
}

/// Creates a memfd whose name shows other processes of this user what is
/// published. It disappears with this process, however that ends.
#[cfg(target_os = "linux")]
fn mark(namespace: u64, port: u16, host_port: u16) -> Option<OwnedFd> {
    let name = format!("hermes-port:{namespace}:{port}:{host_port}");
    rustix::fs::memfd_create(name, rustix::fs::MemfdFlags::CLOEXEC).ok()
}

#[cfg(not(target_os = "linux"))]
fn mark(_namespace: u64, _port: u16, _host_port: u16) -> Option<OwnedFd> {
    None
}

/// Returns the ports published by processes of this user, by namespace and
/// port.
pub(super) fn published_ports() -> BTreeMap<(u64, u16), u16> {
    let about_us = fs::metadata("/proc/self").ok();
    let own_network = network_id(Path::new("/proc/self"));
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes = entries.map(|entry| entry.path()).filter(|process| {
        // Ignore marks of processes inside a session's network.
        let is_own =
            fs::metadata(process).ok().map(|it| it.uid()) == about_us.as_ref().map(|it| it.uid());
        is_own && own_network.is_some() && network_id(process) == own_network
    });
    let files =
        processes.flat_map(|process| fs::read_dir(process.join("fd")).into_iter().flatten());
    let links = files.flatten().filter_map(|file| fs::read_link(file.path()).ok());
    links.filter_map(|link| parse_mark(link.to_str()?)).collect()
}

fn network_id(process: &Path) -> Option<u64> {
    fs::metadata(process.join("ns/net")).ok().map(|about| about.ino())
}

/// Parses a link such as `/memfd:hermes-port:4026532281:5173:5173 (deleted)`.
fn parse_mark(link: &str) -> Option<((u64, u16), u16)> {
    let mut numbers = link.strip_prefix(MARK_PREFIX)?.split([':', ' ']);
    let namespace = numbers.next()?.parse().ok()?;
    let port = numbers.next()?.parse().ok()?;
    Some(((namespace, port), numbers.next()?.parse().ok()?))
}
