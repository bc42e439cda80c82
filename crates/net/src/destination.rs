//! Validates and normalizes the destination that a client requests.

use std::net::IpAddr;

use hermes_core::NetworkDestination;

use crate::address::parse_address;
use crate::names::{NameTable, is_placeholder};

/// Maximum length of a DNS host name, without the final dot.
pub(crate) const MAX_NAME_CHARS: usize = 253;
const MAX_LABEL_CHARS: usize = 63;

/// Resolves a client's destination: addresses are normalized, and a placeholder
/// becomes the name it stands for. Returns none if the host is invalid.
///
/// A placeholder without a name stays an address; the connection to it is
/// refused.
pub(crate) fn parse_destination(
    host: &str,
    port: u16,
    names: &NameTable,
) -> Option<NetworkDestination> {
    let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    if port == 0 {
        return None;
    }
    let Some(address) = parse_address(&host) else {
        return is_host_name(&host).then(|| NetworkDestination::new(&host, port));
    };
    Some(match placeholder_name(address, names) {
        Some(name) => NetworkDestination::new(&name, port),
        None => NetworkDestination::new(&address.to_string(), port),
    })
}

fn placeholder_name(address: IpAddr, names: &NameTable) -> Option<String> {
    if is_placeholder(address) { names.name(address) } else { None }
}

/// Splits `host:port`; an IPv6 address is in brackets.
pub(crate) fn split_authority(text: &str, default_port: Option<u16>) -> Option<(&str, u16)> {
    let (host, rest) = match text.strip_prefix('[') {
        Some(inner) => {
            let (host, rest) = inner.split_once(']')?;
            host.parse::<std::net::Ipv6Addr>().ok()?;
            (host, rest)
        }
        None => text.split_at(text.find(':').unwrap_or(text.len())),
    };
    let port = match rest.strip_prefix(':') {
        // `parse` would accept a sign.
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => digits.parse().ok()?,
        None if rest.is_empty() => default_port?,
        _ => return None,
    };
    (!host.is_empty() && port != 0).then_some((host, port))
}

/// Whether a host can have this name: letters, digits, `-` and `_` in labels,
/// as in DNS.
pub(crate) fn is_host_name(name: &str) -> bool {
    let is_label = |label: &str| {
        (1..=MAX_LABEL_CHARS).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    };
    name.len() <= MAX_NAME_CHARS && name.split('.').all(is_label)
}

#[cfg(test)]
#[path = "destination_tests.rs"]
mod tests;
