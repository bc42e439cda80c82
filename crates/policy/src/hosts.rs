//! Which hosts are nobody's business but this machine's or this network's.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Where a host is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Anywhere in the world.
    Public,
    /// This machine.
    Loopback,
    /// This network.
    Private,
    /// The service that hands out a cloud machine's credentials.
    Metadata,
}

/// Names of metadata services.
const METADATA_NAMES: &[&str] = &["metadata.google.internal", "metadata.goog", "instance-data"];

/// Names of this machine, as `/etc/hosts` has them here and there.
const OWN_NAMES: &[&str] =
    &["localhost", "localhost4", "localhost6", "ip6-localhost", "ip6-loopback"];

/// Endings of names that only a local network knows: such as no registry hands
/// out, those of clusters, and those that routers give.
const LOCAL_ENDINGS: &[&str] = &[
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

/// Where a host is, by its name or address as written. Nothing is looked up;
/// whoever connects checks the address again.
pub fn reach(host: &str) -> Reach {
    let host = bare(host);
    let bare = host.as_str();
    if let Some(address) = parse_v4(bare) {
        return reach_v4(address);
    }
    if let Ok(address) = bare.parse::<IpAddr>() {
        return match address {
            IpAddr::V4(address) => reach_v4(address),
            IpAddr::V6(address) => reach_v6(address),
        };
    }
    if METADATA_NAMES.contains(&bare) {
        return Reach::Metadata;
    }
    let own = match bare.split_once('.') {
        Some((name, domain)) if domain.starts_with("localdomain") => name,
        _ => bare,
    };
    if OWN_NAMES.contains(&own) || bare.ends_with(".localhost") {
        return Reach::Loopback;
    }
    let ends = |end: &&str| bare.ends_with(*end) || end.strip_prefix('.') == Some(bare);
    let is_local = !bare.contains('.') || LOCAL_ENDINGS.iter().any(ends);
    if is_local { Reach::Private } else { Reach::Public }
}

/// One spelling for every way to write a host: no port, no final dot, small
/// letters, numbers as four decimals.
pub(crate) fn canonical(host: &str) -> String {
    let host = bare(host);
    let address = parse_v4(&host).or_else(|| embedded(host.parse().ok()?));
    address.map_or(host, |address| address.to_string())
}

/// The host itself: without a user, a port, brackets and a zone.
fn bare(host: &str) -> String {
    let host = host.trim().to_ascii_lowercase();
    let host = host.rsplit_once('@').map_or(host.as_str(), |(_, host)| host);
    let host = match (host.strip_prefix('['), host.split_once(':')) {
        (Some(inner), _) => inner.split(']').next().unwrap_or(inner),
        (None, Some((name, port))) if !port.contains(':') => name,
        _ => host,
    };
    host.split('%').next().unwrap_or(host).trim_end_matches('.').to_owned()
}

fn reach_v4(address: Ipv4Addr) -> Reach {
    let [a, b, c, _] = address.octets();
    if address.is_loopback() || address.is_unspecified() {
        return Reach::Loopback;
    }
    if address.is_link_local() || address == Ipv4Addr::new(100, 100, 100, 200) {
        return Reach::Metadata;
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
        return Reach::Private;
    }
    Reach::Public
}

fn reach_v6(address: Ipv6Addr) -> Reach {
    if let Some(inner) = embedded(address) {
        return reach_v4(inner);
    }
    let segments = address.segments();
    if address.is_loopback() || address.is_unspecified() {
        return Reach::Loopback;
    }
    if segments == [0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x0254] {
        return Reach::Metadata;
    }
    let local = segments[0] & 0xfe00 == 0xfc00 || segments[0] & 0xffc0 == 0xfe80;
    let documentation = segments[0] == 0x2001 && segments[1] == 0x0db8;
    if local || documentation || address.is_multicast() || segments[0] & 0xe000 != 0x2000 {
        return Reach::Private;
    }
    Reach::Public
}

/// The IPv4 address inside: mapped, compatible, 6to4, NAT64.
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
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

/// An IPv4 address in any of the ways that URL parsers read: one to four
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
#[path = "hosts_tests.rs"]
mod tests;
