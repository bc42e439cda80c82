//! Dials connections from this machine on behalf of child processes. Each
//! address is checked right before it is dialled, so a name cannot lead to an
//! address that was not judged.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use hermes_core::{BoxFuture, ConnectionRefusal, NetworkDestination};
use thiserror::Error;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};

use crate::address::{AddressReach, address_reach, parse_address};
use crate::refusal;

const LOOKUP_TIMEOUT: Duration = Duration::from_secs(10);
/// For all addresses of a host together.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Each lookup blocks a thread, for long if the name server is slow.
const MAX_LOOKUPS: usize = 64;

/// Maximum number of addresses tried per host.
const MAX_ADDRESSES: usize = 16;

/// Why a destination was not reached.
#[derive(Debug, Error)]
pub enum DialError {
    /// The host has no address, or none could be found.
    #[error("cannot look up {host}: {source}")]
    Lookup {
        /// The host.
        host: String,
        /// The system error.
        source: io::Error,
    },
    /// The last address tried did not accept the connection.
    #[error("cannot connect to {destination} at {address}: {source}")]
    Connect {
        /// The destination.
        destination: NetworkDestination,
        /// The address that was dialled.
        address: IpAddr,
        /// The system error.
        source: io::Error,
    },
    /// An address of the host must not be dialled, and no other accepted.
    #[error("{destination} is at {address}, which is refused: {}", refusal.reason)]
    Refused {
        /// The destination.
        destination: NetworkDestination,
        /// The address that was refused.
        address: IpAddr,
        /// Why.
        refusal: ConnectionRefusal,
    },
}

/// Decides about non-public addresses.
pub trait AddressCheck: Send + Sync {
    /// Decides about a loopback or private address right before it is dialled.
    fn check(&self, address: IpAddr) -> BoxFuture<'_, Result<(), ConnectionRefusal>>;
}

/// An established connection.
#[derive(Debug)]
pub struct DialedStream {
    /// The connection.
    pub stream: TcpStream,
    /// The peer's address.
    pub address: IpAddr,
}

/// Looks up names on this machine and connects to their addresses.
#[derive(Debug, Clone)]
pub struct Dialer {
    lookups: Arc<Semaphore>,
}

impl Default for Dialer {
    fn default() -> Self {
        Self { lookups: Arc::new(Semaphore::new(MAX_LOOKUPS)) }
    }
}

impl Dialer {
    /// Creates a dialer; clones share its limit on lookups.
    pub fn new() -> Self {
        Self::default()
    }

    /// Connects to the first address of a destination that accepts. The caller
    /// has judged the name.
    ///
    /// Public addresses are dialled; metadata addresses never are; for any
    /// other, `check` decides. After its first refusal it is not called again,
    /// and only public addresses are tried.
    pub async fn connect(
        &self,
        destination: &NetworkDestination,
        check: &dyn AddressCheck,
    ) -> Result<DialedStream, DialError> {
        let addresses = self.addresses(destination).await?;
        let mut refused = None;
        let mut failed = None;
        let mut remaining = CONNECT_TIMEOUT;
        for (index, address) in addresses.iter().enumerate() {
            let reach = address_reach(address.ip());
            if reach != AddressReach::Public {
                if refused.is_some() {
                    continue;
                }
                let checked = match reach {
                    AddressReach::Metadata => Err(refusal::metadata(&address.ip().to_string())),
                    _ => check.check(address.ip()).await,
                };
                if let Err(refusal) = checked {
                    refused = Some((address.ip(), refusal));
                    continue;
                }
            }
            // Leave time for the other addresses if this one times out.
            let share = remaining / u32::try_from(addresses.len() - index).unwrap_or(u32::MAX);
            let started = Instant::now();
            match connect_within(*address, share).await {
                Ok(stream) => return Ok(DialedStream { stream, address: address.ip() }),
                Err(source) => failed = Some((address.ip(), source)),
            }
            remaining = remaining.saturating_sub(started.elapsed());
        }
        Err(match (refused, failed) {
            (Some((address, refusal)), _) => {
                DialError::Refused { destination: destination.clone(), address, refusal }
            }
            (None, Some((address, source))) => {
                DialError::Connect { destination: destination.clone(), address, source }
            }
            (None, None) => lookup_error(destination, io::Error::other("the host has no address")),
        })
    }

    async fn addresses(
        &self,
        destination: &NetworkDestination,
    ) -> Result<Vec<SocketAddr>, DialError> {
        if let Some(address) = parse_address(&destination.host) {
            return Ok(vec![SocketAddr::new(address, destination.port)]);
        }
        let lookup = self.lookup(destination.host.clone(), destination.port);
        let found = match timeout(LOOKUP_TIMEOUT, lookup).await {
            Ok(found) => found,
            Err(_) => Err(timed_out(LOOKUP_TIMEOUT)),
        };
        found.map_err(|source| lookup_error(destination, source))
    }

    /// Looks up a host. The permit moves to the blocking thread, which keeps
    /// running after a timeout and must still count.
    async fn lookup(&self, host: String, port: u16) -> io::Result<Vec<SocketAddr>> {
        let permit = Arc::clone(&self.lookups).acquire_owned().await.map_err(io::Error::other)?;
        let lookup = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            let mut addresses: Vec<SocketAddr> = Vec::new();
            for address in (host.as_str(), port).to_socket_addrs()?.take(MAX_ADDRESSES) {
                if !addresses.contains(&address) {
                    addresses.push(address);
                }
            }
            Ok(addresses)
        });
        lookup.await.map_err(io::Error::other)?
    }
}

async fn connect_within(address: SocketAddr, limit: Duration) -> io::Result<TcpStream> {
    let stream = match timeout(limit, TcpStream::connect(address)).await {
        Ok(connected) => connected?,
        Err(_) => return Err(timed_out(limit)),
    };
    stream.set_nodelay(true)?;
    // Without keepalive, a peer that lost power would hold the connection open.
    #[cfg(unix)]
    rustix::net::sockopt::set_socket_keepalive(&stream, true)?;
    Ok(stream)
}

fn lookup_error(destination: &NetworkDestination, source: io::Error) -> DialError {
    DialError::Lookup { host: destination.host.clone(), source }
}

fn timed_out(limit: Duration) -> io::Error {
    let text = format!("timed out after {:.1} s", limit.as_secs_f64());
    io::Error::new(io::ErrorKind::TimedOut, text)
}

#[cfg(test)]
#[path = "dialer_tests.rs"]
mod tests;
