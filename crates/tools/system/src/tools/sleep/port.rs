//! Polls a port until it accepts connections.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::{Duration, Instant};

use hermes_core::{Effect, Resource, Scope, ToolContext, ToolError};
use tokio::net::TcpStream;

use super::{WakeCause, WakeEvent};

/// Timeout of one connection attempt.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// Minimum time between attempts on another host.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);
/// Suffixes of names that resolve only on a local network.
const LOCAL_SUFFIXES: &[&str] =
    &[".local", ".internal", ".lan", ".home.arpa", ".intranet", ".corp"];

/// A host and a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PortAddress {
    host: String,
    port: u16,
}

impl PortAddress {
    /// Parses `8080`, `:8080`, `host:8080`, `[::1]:8080`, and URLs.
    pub(super) fn parse(text: &str) -> Result<Self, ToolError> {
        let wrong = || {
            ToolError::invalid(format!("'until_port' is not a valid address: {text}"))
                .with_hint("Write host:port, [IPv6 address]:port, or the port alone.")
        };
        let (scheme, rest) = match text.trim().split_once("://") {
            Some((scheme, rest)) => (scheme, rest.split(['/', '?', '#']).next().unwrap_or(rest)),
            None => ("", text.trim()),
        };
        let usual = match scheme.to_ascii_lowercase().as_str() {
            "http" | "ws" => Some(80),
            "https" | "wss" => Some(443),
            _ => None,
        };
        let (host, port) = if let Some(inside) = rest.strip_prefix('[') {
            let (host, port) = inside.split_once(']').ok_or_else(wrong)?;
            host.parse::<Ipv6Addr>().map_err(|_| wrong())?;
            (
                host,
                if port.is_empty() {
                    None
                } else {
                    Some(port.strip_prefix(':').ok_or_else(wrong)?)
                },
            )
        } else if let Some((host, port)) = rest.rsplit_once(':') {
            (host, Some(port))
        } else if usual.is_some() {
            (rest, None)
        } else {
            ("", Some(rest))
        };
        let port = match port {
            Some(port) => port.parse::<u16>().ok(),
            None => usual,
        };
        let port = port.filter(|port| *port > 0).ok_or_else(wrong)?;
        let host = if host.is_empty() { "localhost" } else { host }.to_ascii_lowercase();
        let is_host = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_');
        if !rest.starts_with('[') && !host.chars().all(is_host) {
            return Err(wrong());
        }
        Ok(Self { host, port })
    }

    /// Returns `system:read` for a port of this machine, `network:fetch` for
    /// any other.
    pub(super) fn effect(&self) -> Effect {
        if self.local_addresses().is_empty() {
            Effect { scope: Scope::NETWORK_FETCH, resource: Resource::Host(self.text()) }
        } else {
            Effect::name(Scope::SYSTEM_READ, self.text())
        }
    }

    fn text(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }

    /// Returns the loopback addresses of the host if it is this machine. Does
    /// not resolve names.
    fn local_addresses(&self) -> Vec<IpAddr> {
        let both = || vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
        match self.host.parse::<IpAddr>() {
            Ok(address) if address.is_unspecified() => both(),
            Ok(address) if address.is_loopback() => vec![address],
            Err(_) if self.host == "localhost" || self.host.ends_with(".localhost") => both(),
            _ => Vec::new(),
        }
    }
}

#[derive(Debug)]
pub(super) struct PortWatch {
    address: PortAddress,
    local_addresses: Vec<IpAddr>,
    tried: Option<Instant>,
    /// Why the last attempt failed.
    failure: String,
}

impl PortWatch {
    pub(super) fn start(text: &str, cx: &ToolContext) -> Result<Self, ToolError> {
        let address = PortAddress::parse(text)?;
        let effect = address.effect();
        cx.check_grant(&effect.scope, &effect.resource)?;
        let own = address.local_addresses();
        Ok(Self { address, local_addresses: own, tried: None, failure: "not tried yet".to_owned() })
    }

    pub(super) async fn poll(
        &mut self,
        left: Duration,
        cx: &ToolContext,
    ) -> Result<Option<WakeEvent>, ToolError> {
        let is_early = self.tried.is_some_and(|at| at.elapsed() < RETRY_INTERVAL);
        if self.local_addresses.is_empty() && is_early && !left.is_zero() {
            return Ok(None);
        }
        self.tried = Some(Instant::now());
        // The last attempt starts with no time left.
        let most = left.clamp(Duration::from_millis(100), CONNECT_TIMEOUT);
        let tried = cx.run_until_cancelled(tokio::time::timeout(most, self.connect())).await?;
        match tried {
            Ok(outcome) => match outcome? {
                Ok(()) => {
                    let reason = format!("{} accepts connections", self.address.text());
                    return Ok(Some(WakeEvent::new(WakeCause::Port, reason)));
                }
                Err(error) => self.failure = describe_error(&error),
            },
            Err(_) => "no answer".clone_into(&mut self.failure),
        }
        Ok(None)
    }

    /// Tries to connect. An outer error is permanent, and a retry is pointless.
    async fn connect(&self) -> Result<io::Result<()>, ToolError> {
        let port = self.address.port;
        let places: Vec<SocketAddr> = if !self.local_addresses.is_empty() {
            self.local_addresses.iter().map(|address| SocketAddr::new(*address, port)).collect()
        } else if let Ok(address) = self.address.host.parse::<IpAddr>() {
            vec![SocketAddr::new(address, port)]
        } else {
            match tokio::net::lookup_host((self.address.host.as_str(), port)).await {
                Ok(found) => found.collect(),
                Err(error) => return Ok(Err(error)),
            }
        };
        let is_name =
            self.local_addresses.is_empty() && self.address.host.parse::<IpAddr>().is_err();
        let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
        for place in places {
            if is_name && !is_allowed_target(&self.address.host, place.ip()) {
                return Err(ToolError::denied(format!(
                    "{} resolves to {}, which is not a public address",
                    self.address.host,
                    place.ip()
                ))
                .with_hint("Give the IP address instead; the profile then rules on it."));
            }
            match TcpStream::connect(place).await {
                Ok(_) => return Ok(Ok(())),
                Err(error) => last = error,
            }
        }
        Ok(Err(last))
    }

    pub(super) fn status_text(&self) -> String {
        format!("{}: {}", self.address.text(), self.failure)
    }
}

fn describe_error(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => "connection refused".to_owned(),
        io::ErrorKind::HostUnreachable => "host unreachable".to_owned(),
        io::ErrorKind::NetworkUnreachable => "network unreachable".to_owned(),
        _ => error.to_string(),
    }
}

/// Whether a name may resolve to this address. The permission covers the name,
/// so a public name must not resolve to this machine or a private network, and
/// no name to a cloud metadata service.
fn is_allowed_target(name: &str, address: IpAddr) -> bool {
    let address = match address {
        IpAddr::V6(v6) => embedded_ipv4(v6).map_or(address, IpAddr::V4),
        IpAddr::V4(_) => address,
    };
    let name = name.trim_end_matches('.');
    let is_local_name = !name.contains('.') || LOCAL_SUFFIXES.iter().any(|end| name.ends_with(end));
    match address {
        IpAddr::V4(v4) => {
            let [a, b, ..] = v4.octets();
            let is_shared = a == 100 && (64..128).contains(&b);
            let is_near = v4.is_private() || v4.is_loopback() || is_shared || a == 0 || a >= 224;
            let is_metadata = v4.is_link_local() || v4 == Ipv4Addr::new(100, 100, 100, 200);
            !is_metadata && (is_local_name || !is_near)
        }
        IpAddr::V6(v6) => {
            let is_metadata = v6.segments() == [0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x0254];
            !is_metadata && (is_local_name || v6.segments()[0] & 0xe000 == 0x2000)
        }
    }
}

/// Returns the IPv4 address embedded in an IPv6 address: mapped, 6to4, NAT64.
fn embedded_ipv4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let join = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match address.segments() {
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            Some(join(high, low))
        }
        [0x2002, high, low, ..] => Some(join(high, low)),
        _ => None,
    }
}

#[cfg(test)]
#[path = "port_tests.rs"]
mod tests;
