//! Original destinations of connections that the kernel redirected to the
//! proxy.

use std::net::SocketAddr;

use tokio::net::TcpStream;

/// Finds the original destination of a redirected connection.
pub trait OriginalDestination: Send + Sync {
    /// Returns the address that the client connected to, if the system knows
    /// it. For a connection that was not redirected, that is the proxy's own
    /// address.
    fn original_destination(&self, stream: &TcpStream) -> Option<SocketAddr>;
}

/// Queries the kernel's connection tracking (`SO_ORIGINAL_DST`).
#[derive(Debug, Clone, Copy, Default)]
pub struct KernelRedirects;

impl OriginalDestination for KernelRedirects {
    #[cfg(target_os = "linux")]
    fn original_destination(&self, stream: &TcpStream) -> Option<SocketAddr> {
        use rustix::net::sockopt::{ip_original_dst, ipv6_original_dst};
        // A dual-stack socket carries IPv4 in mapped addresses, but the kernel
        // tracks it as IPv4.
        if stream.local_addr().ok()?.ip().to_canonical().is_ipv4() {
            ip_original_dst(stream).ok().map(SocketAddr::V4)
        } else {
            ipv6_original_dst(stream).ok().map(SocketAddr::V6)
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn original_destination(&self, _stream: &TcpStream) -> Option<SocketAddr> {
        None
    }
}

/// Returns the destination of a redirected connection; `None` for a client that
/// connected to the proxy itself.
pub(super) fn redirect_target(
    redirects: &dyn OriginalDestination,
    stream: &TcpStream,
    local: SocketAddr,
) -> Option<SocketAddr> {
    let plain = |address: SocketAddr| (address.ip().to_canonical(), address.port());
    let original = redirects.original_destination(stream)?;
    (plain(original) != plain(local)).then_some(original)
}
