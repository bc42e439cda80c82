//! Classifies hosts: public, on this machine, on a private network, or a cloud
//! metadata service.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Class of a host or address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressReach {
    /// On the public internet.
    Public,
    /// On this machine.
    Loopback,
    /// On a private network, or a special-purpose address.
    Private,
    /// A cloud metadata service, which hands out the machine's credentials.
    Metadata,
}

/// Names of metadata services.
const METADATA_NAMES: &[&str] = &["metadata.google.internal", "metadata.goog", "instance-data"];

/// Names of this machine in the `/etc/hosts` of common distributions.
const LOOPBACK_NAMES: &[&str] =
    &["localhost", "localhost4", "localhost6", "ip6-localhost", "ip6-loopback"];

/// Suffixes of names that only resolve on a local network: reserved domains,
/// those of clusters, and the defaults of common routers.
const LOCAL_SUFFIXES: &[&str] = &[
    ".local",
    ".internal",
    ".lan",
    ".home.arpa",
    ".home",
    ".intranet",
    ".private",
    ".corp",
    ".test",
    ".localdomain",
    ".localdomain4",
    ".localdomain6",
    ".svc",
    ".fritz.box",
    ".speedport.ip",
];

/// Classifies a host by its name or address as written. Performs no lookup:
/// code that connects must check the resolved address with [`address_reach`].
pub fn host_reach(host: &str) -> AddressReach {
    let host = strip_host(host);
    let bare = host.as_str();
    if let Some(address) = parse_address(bare) {
        return address_reach(address);
    }
    if METADATA_NAMES.contains(&bare) {
        return AddressReach::Metadata;
    }
    let own = match bare.split_once('.') {
        Some((name, domain)) if domain.starts_with("localdomain") => name,
        _ => bare,
    };
    if LOOPBACK_NAMES.contains(&own) || bare.ends_with(".localhost") {
        return AddressReach::Loopback;
    }
    let ends = |end: &&str| bare.ends_with(*end) || end.strip_prefix('.') == Some(bare);
    let is_local = !bare.contains('.') || LOCAL_SUFFIXES.iter().any(ends);
    if is_local { AddressReach::Private } else { AddressReach::Public }
}

/// Classifies an address. An IPv6 address with an embedded IPv4 address has the
/// class of that one.
pub fn address_reach(address: IpAddr) -> AddressReach {
    match address {
        IpAddr::V4(address) => reach_v4(address),
        IpAddr::V6(address) => reach_v6(address),
    }
}

/// Normalizes a host: no port, no final dot, lower case, IPv4 addresses as four
/// decimals.
pub fn canonical_host(host: &str) -> String {
    let host = strip_host(host);
    let address = parse_v4(&host).or_else(|| embedded_v4(host.parse().ok()?));
    address.map_or(host, |address| address.to_string())
}

/// Strips user, port, brackets and zone from a host.
fn strip_host(host: &str) -> String {
    let host = host.trim().to_ascii_lowercase();
    let host = host.rsplit_once('@').map_or(host.as_str(), |(_, host)| host);
    let host = match (host.strip_prefix('['), host.split_once(':')) {
        (Some(inner), _) => inner.split(']').next().unwrap_or(inner),
        (None, Some((name, port))) if !port.contains(':') => name,
        _ => host,
    };
    host.split('%').next().unwrap_or(host).trim_end_matches('.').to_owned()
}

fn reach_v4(address: Ipv4Addr) -> AddressReach {
    let [a, b, c, _] = address.octets();
    if address.is_loopback() || address.is_unspecified() {
        return AddressReach::Loopback;
    }
    if address.is_link_local() || address == Ipv4Addr::new(100, 100, 100, 200) {
        return AddressReach::Metadata;
    }
    let shared = a == 100 && (64..128).contains(&b);
    let protocol = a == 192 && b == 0 && c == 0;
    let benchmark = a == 198 && (b == 18 || b == 19);
    let special = a == 0 || a >= 240 || shared || protocol || benchmark;
    if address.is_private()
        || address.is_multicast()
        || address.is_broadcast()
        || address.is_documentation()
        || special
    {
        return AddressReach::Private;
    }
    AddressReach::Public
}

fn reach_v6(address: Ipv6Addr) -> AddressReach {
    if let Some(inner) = embedded_v4(address) {
        return reach_v4(inner);
    }
    let segments = address.segments();
    if address.is_loopback() || address.is_unspecified() {
        return AddressReach::Loopback;
    }
    if segments == [0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x0254] {
        return AddressReach::Metadata;
    }
    let local = segments[0] & 0xfe00 == 0xfc00 || segments[0] & 0xffc0 == 0xfe80;
    let documentation = segments[0] == 0x2001 && segments[1] == 0x0db8;
    if local || documentation || address.is_multicast() || segments[0] & 0xe000 != 0x2000 {
        return AddressReach::Private;
    }
    AddressReach::Public
}

/// Returns the embedded IPv4 address: mapped, compatible, 6to4 or NAT64.
fn embedded_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let s = address.segments();
    let join = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match s {
        [0, 0, 0, 0, 0, 0xffff, high, low] => Some(join(high, low)),
        [0, 0, 0, 0, 0, 0, high, low] if high != 0 => Some(join(high, low)),
        [0x2002, high, low, ..] => Some(join(high, low)),
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => Some(join(high, low)),
        _ => None,
    }
}

/// Parses an address in any form that `getaddrinfo` or a URL parser accepts. An
/// IPv4 address mapped into IPv6 is returned as IPv4.
pub(crate) fn parse_address(text: &str) -> Option<IpAddr> {
    let address = parse_v4(text).map(IpAddr::V4).or_else(|| text.parse().ok())?;
    Some(address.to_canonical())
}

/// Parses an IPv4 address in any form that URL parsers accept: one to four
/// numbers, each decimal, octal or hexadecimal.
fn parse_v4(text: &str) -> Option<Ipv4Addr> {
    let parts: Vec<u64> = text.split('.').map(parse_number).collect::<Option<_>>()?;
    let (last, head) = parts.split_last()?;
    if head.len() > 3 || head.iter().any(|part| *part > 255) {
        return None;
    }
    let room = 8 * (4 - head.len());
    if *last >= 1u64 << room {
        return None;
    }
    let head = head.iter().enumerate().map(|(i, part)| part << (24 - 8 * i)).sum::<u64>();
    u32::try_from(head + last).ok().map(Ipv4Addr::from)
}

fn parse_number(text: &str) -> Option<u64> {
    if text.is_empty() || text.len() > 20 {
        return None;
    }
    if let Some(hex) = text.strip_prefix("0x") {
        return if hex.is_empty() { Some(0) } else { u64::from_str_radix(hex, 16).ok() };
    }
    match text.strip_prefix('0') {
        Some("") => Some(0),
        Some(octal) => u64::from_str_radix(octal, 8).ok(),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
#[path = "address_tests.rs"]
mod tests;
