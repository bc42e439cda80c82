//! The network of a session: a namespace with only loopback, whose connections
//! to other hosts end at a proxy in this process.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, TcpListener, TcpStream, UdpSocket};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::fstat;
use rustix::net::{bind, connect, listen, sockopt};

use crate::netlink;
use crate::raw::network::NetworkHandles;

/// Maximum number of connections that wait to be accepted.
const LISTEN_BACKLOG: i32 = 1024;

/// The DNS port.
const DNS_PORT: u16 = 53;

/// A network namespace that children share, with the user namespace that owns
/// it. It lives as long as this value or a process in it.
#[derive(Debug)]
pub struct NetworkNamespace {
    handles: NetworkHandles,
    id: u64,
}

/// A listening socket in the namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListeningSocket {
    /// Where.
    pub address: SocketAddr,
    /// Inode by which processes hold the socket.
    pub inode: u64,
}

impl NetworkNamespace {
    /// Creates a namespace with loopback up.
    ///
    /// # Errors
    /// If the system refuses, for example without user namespaces.
    pub fn create() -> io::Result<Self> {
        let made = Self::from_handles(NetworkHandles::create()?)?;
        netlink::set_up_loopback(&made.netlink(libc::NETLINK_ROUTE)?)?;
        Ok(made)
    }

    /// Opens the namespace of a running process.
    ///
    /// # Errors
    /// If the process is gone, or belongs to another user.
    pub fn for_process(process: u32) -> io::Result<Self> {
        Self::from_handles(NetworkHandles::for_process(process)?)
    }

    fn from_handles(handles: NetworkHandles) -> io::Result<Self> {
        let id = fstat(&handles.network)?.st_ino;
        Ok(Self { handles, id })
    }

    /// Returns the kernel's id of the namespace: the inode of
    /// `/proc/PID/ns/net`.
    pub fn id(&self) -> u64 {
        self.id
    }

    pub(crate) fn handles(&self) -> &NetworkHandles {
        &self.handles
    }

    /// Makes the kernel redirect connections to other hosts to the proxy's
    /// port, and DNS queries to port 53.
    ///
    /// # Errors
    /// If the kernel lacks nftables or NAT redirection.
    pub fn redirect_to(&self, proxy: u16) -> io::Result<()> {
        netlink::redirect(&self.netlink(libc::NETLINK_NETFILTER)?, proxy, DNS_PORT)
    }

    /// Listens on a loopback port of the namespace; 0 picks a free port.
    ///
    /// # Errors
    /// If the port is taken.
    pub fn listen(&self, port: u16) -> io::Result<TcpListener> {
        let socket = self.handles.open_socket(libc::AF_INET, libc::SOCK_STREAM, 0)?;
        sockopt::set_socket_reuseaddr(&socket, true)?;
        bind(&socket, &loopback(port))?;
        listen(&socket, LISTEN_BACKLOG)?;
        Ok(socket.into())
    }

    /// Opens the sockets of a resolver: UDP and TCP on port 53.
    ///
    /// # Errors
    /// If the port is taken.
    pub fn resolver_sockets(&self) -> io::Result<(UdpSocket, TcpListener)> {
        let datagrams = self.handles.open_socket(libc::AF_INET, libc::SOCK_DGRAM, 0)?;
        bind(&datagrams, &loopback(DNS_PORT))?;
        Ok((datagrams.into(), self.listen(DNS_PORT)?))
    }

    /// Connects to a loopback port of the namespace, over IPv4 or else IPv6: a
    /// server that listens on `localhost` may have only one of them.
    ///
    /// # Errors
    /// If no server listens there.
    pub fn connect(&self, port: u16) -> io::Result<TcpStream> {
        let attempt = |domain, address: SocketAddr| {
            let socket = self.handles.open_socket(domain, libc::SOCK_STREAM, 0)?;
            connect(&socket, &address)?;
            Ok(TcpStream::from(socket))
        };
        attempt(libc::AF_INET, loopback(port).into()).or_else(|error: io::Error| {
            let address = (Ipv6Addr::LOCALHOST, port).into();
            attempt(libc::AF_INET6, address).map_err(|_: io::Error| error)
        })
    }

    /// Returns the processes in the namespace, as far as this user may see
    /// them.
    pub fn processes(&self) -> Vec<u32> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        numbers.filter(|process| self.has_process(*process)).collect()
    }

    /// Whether a process is in the namespace.
    pub fn has_process(&self, process: u32) -> bool {
        fs::metadata(proc_path(process).join("ns/net")).is_ok_and(|about| about.ino() == self.id)
    }

    /// Returns the listening sockets in the namespace, as seen by one of its
    /// processes.
    pub fn listening_sockets(&self, process: u32) -> Vec<ListeningSocket> {
        let tables = ["net/tcp", "net/tcp6"].map(|table| proc_path(process).join(table));
        let found = tables.iter().flat_map(|table| read_table(table));
        found
            .filter(|row| row.is_listening)
            .map(|row| ListeningSocket { address: row.local, inode: row.inode })
            .collect()
    }

    /// Returns the inode of the socket with this local address, as seen by one
    /// of the processes.
    pub fn socket_at(&self, process: u32, local: SocketAddr) -> Option<u64> {
        // A dual-stack socket has its address in the IPv6 table.
        let tables = ["net/tcp", "net/tcp6"].map(|table| proc_path(process).join(table));
        let own = |row: &TcpTableRow| row.local == local && !row.is_listening && row.inode != 0;
        tables.iter().flat_map(|table| read_table(table)).find(own).map(|row| row.inode)
    }

    fn netlink(&self, protocol: i32) -> io::Result<OwnedFd> {
        self.handles.open_socket(libc::AF_NETLINK, libc::SOCK_RAW, protocol)
    }
}

/// Returns the sockets that a process holds, as far as this user may see them.
pub fn process_sockets(process: u32) -> BTreeSet<u64> {
    sockets_in_proc_dir(&proc_path(process))
}

/// Returns the sockets of a process, given its `/proc` directory.
pub(crate) fn sockets_in_proc_dir(process: &Path) -> BTreeSet<u64> {
    let files = fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
    files.filter_map(|file| socket_inode(&fs::read_link(file.path()).ok()?)).collect()
}

/// Parses the number in `socket:[123]`.
fn socket_inode(target: &Path) -> Option<u64> {
    target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}

fn proc_path(process: u32) -> PathBuf {
    PathBuf::from(format!("/proc/{process}"))
}

fn loopback(port: u16) -> SocketAddrV4 {
    SocketAddrV4::new(Ipv4Addr::LOCALHOST, port)
}

/// Returns the loopback ports of this machine that have a listener.
pub fn host_ports() -> BTreeSet<u16> {
    let tables = ["/proc/self/net/tcp", "/proc/self/net/tcp6"];
    let rows = tables.iter().flat_map(|table| read_table(Path::new(table)));
    let open = rows.filter(|row| row.is_listening);
    let own = |row: &TcpTableRow| row.local.ip().is_loopback() || row.local.ip().is_unspecified();
    open.filter(own).map(|row| row.local.port()).collect()
}

/// A row of the kernel's table of TCP sockets.
#[derive(Debug, PartialEq, Eq)]
struct TcpTableRow {
    local: SocketAddr,
    is_listening: bool,
    inode: u64,
}

fn read_table(path: &Path) -> Vec<TcpTableRow> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().skip(1).filter_map(TcpTableRow::parse).collect()
}

impl TcpTableRow {
    /// Parses a row. The columns are: number, local, remote, state, queues,
    /// timer, retransmits, user, timeout, inode.
    fn parse(line: &str) -> Option<Self> {
        const LISTEN_STATE: &str = "0A";
        let mut columns = line.split_whitespace().skip(1);
        let local = parse_address(columns.next()?)?;
        let state = columns.nth(1)?;
        let inode = columns.nth(5)?.parse().ok()?;
        Some(Self { local, is_listening: state == LISTEN_STATE, inode })
    }
}

/// Parses an address in hexadecimal words of native byte order.
fn parse_address(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word = |at: usize| {
        let word = u32::from_str_radix(address.get(at * 8..at * 8 + 8)?, 16).ok()?;
        Some(word.to_ne_bytes())
    };
    match address.len() {
        8 => Some(SocketAddr::from((word(0)?, port))),
        32 => {
            let mut bytes = [0_u8; 16];
            for (at, part) in bytes.chunks_exact_mut(4).enumerate() {
                part.copy_from_slice(&word(at)?);
            }
            let address = std::net::Ipv6Addr::from(bytes);
            let address = address.to_ipv4_mapped().map_or(address.into(), std::net::IpAddr::from);
            Some(SocketAddr::new(address, port))
        }
        _ => None,
    }
}

#[cfg(test)]
#[path = "network_namespace_tests.rs"]
mod tests;
