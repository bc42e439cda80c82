//! Netlink messages that set up the network of a session: loopback, a default
//! route onto it, and the redirection of connections to a proxy.

use std::io;
use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;

use rustix::net::{RecvFlags, SendFlags, recv, send};

const NLMSG_ERROR: u16 = 2;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_ACK: u16 = 4;
const NLM_F_EXCL: u16 = 0x200;
const NLM_F_CREATE: u16 = 0x400;
const NLM_F_APPEND: u16 = 0x800;

const RTM_NEWLINK: u16 = 16;
const RTM_NEWROUTE: u16 = 24;
const LOOPBACK_INDEX: u32 = 1;
const IFF_UP: u32 = 1;
const RTA_OIF: u16 = 4;
const RTA_PREFSRC: u16 = 7;

const NFNL_MSG_BATCH_BEGIN: u16 = 0x10;
const NFNL_MSG_BATCH_END: u16 = 0x11;
const NFNL_SUBSYS_NFTABLES: u16 = 10;
const NFT_MSG_NEWTABLE: u16 = 0;
const NFT_MSG_NEWCHAIN: u16 = 3;
const NFT_MSG_NEWRULE: u16 = 6;
const NLA_F_NESTED: u16 = 0x8000;

/// Name of our nftables table.
const NFT_TABLE: &str = "hermes";
const NFT_CHAIN: &str = "output";

/// A transport protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TransportProtocol {
    Tcp,
    Udp,
}

impl TransportProtocol {
    fn number(self) -> u8 {
        match self {
            Self::Tcp => 6,
            Self::Udp => 17,
        }
    }
}

/// Brings loopback up and routes everything to it, so a connection to any host
/// can be made and redirected.
pub(crate) fn set_up_loopback(socket: &OwnedFd) -> io::Result<()> {
    let mut link = NetlinkMessage::new(RTM_NEWLINK, 0);
    // Family, padding and type; then index, flags and change mask.
    link.bytes(&[0; 4]);
    for word in [LOOPBACK_INDEX, IFF_UP, IFF_UP] {
        link.bytes(&word.to_ne_bytes());
    }
    exchange(socket, &link.finish(1), &[1])?;
    let mut route = NetlinkMessage::new(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL);
    let (main_table, set_by_hand, link_scope, unicast) = (254, 4, 253, 1);
    let family = libc::AF_INET as u8;
    route.bytes(&[family, 0, 0, 0, main_table, set_by_hand, link_scope, unicast, 0, 0, 0, 0]);
    route.attribute(RTA_OIF, &LOOPBACK_INDEX.to_ne_bytes());
    route.attribute(RTA_PREFSRC, &Ipv4Addr::LOCALHOST.octets());
    exchange(socket, &route.finish(2), &[2])
}

/// Makes the kernel redirect every TCP connection to another host to the proxy,
/// and DNS queries to the resolver.
pub(crate) fn redirect(socket: &OwnedFd, proxy: u16, resolver: u16) -> io::Result<()> {
    let rules = [
        rule_message(&[
            match_transport(TransportProtocol::Udp),
            match_destination_port(53),
            redirect_to(resolver),
        ]),
        rule_message(&[
            match_transport(TransportProtocol::Tcp),
            match_not_loopback(),
            match_destination_port(53),
            redirect_to(resolver),
        ]),
        rule_message(&[
            match_transport(TransportProtocol::Tcp),
            match_not_loopback(),
            redirect_to(proxy),
        ]),
    ];
    let mut batch = Vec::new();
    let mut number = 0;
    let mut add = |message: NetlinkMessage| {
        number += 1;
        batch.extend(message.finish(number));
        number
    };
    add(batch_message(NFNL_MSG_BATCH_BEGIN));
    let mut acknowledged = vec![add(table_message()), add(chain_message())];
    acknowledged.extend(rules.into_iter().map(&mut add));
    add(batch_message(NFNL_MSG_BATCH_END));
    exchange(socket, &batch, &acknowledged)
}

fn batch_message(kind: u16) -> NetlinkMessage {
    let mut message = NetlinkMessage { bytes: Vec::new(), kind, flags: NLM_F_REQUEST };
    message.bytes(&[0, 0]);
    message.bytes(&NFNL_SUBSYS_NFTABLES.to_be_bytes());
    message
}

fn netfilter_message(kind: u16, flags: u16) -> NetlinkMessage {
    let mut message = NetlinkMessage::new((NFNL_SUBSYS_NFTABLES << 8) | kind, flags);
    // The family, the version, and an unused resource id.
    message.bytes(&[libc::AF_INET as u8, 0, 0, 0]);
    message
}

fn table_message() -> NetlinkMessage {
    let mut message = netfilter_message(NFT_MSG_NEWTABLE, NLM_F_CREATE);
    message.attribute(1, &string_attribute(NFT_TABLE));
    message
}

fn chain_message() -> NetlinkMessage {
    const LOCAL_OUT: u32 = 3;
    const DESTINATION_NAT: i32 = -100;
    const VERDICT_ACCEPT: u32 = 1;
    let hook = nested_attribute(
        4,
        &[u32_attribute(1, LOCAL_OUT), u32_attribute(2, DESTINATION_NAT as u32)],
    );
    let mut message = netfilter_message(NFT_MSG_NEWCHAIN, NLM_F_CREATE);
    message.attribute(1, &string_attribute(NFT_TABLE));
    message.attribute(3, &string_attribute(NFT_CHAIN));
    message.bytes(&hook);
    message.bytes(&u32_attribute(5, VERDICT_ACCEPT));
    message.attribute(7, &string_attribute("nat"));
    message
}

fn rule_message(expressions: &[Vec<u8>]) -> NetlinkMessage {
    let mut message = netfilter_message(NFT_MSG_NEWRULE, NLM_F_CREATE | NLM_F_APPEND);
    message.attribute(1, &string_attribute(NFT_TABLE));
    message.attribute(2, &string_attribute(NFT_CHAIN));
    message.bytes(&nested_attribute(4, expressions));
    message
}

/// Register that every expression reads into.
const NFT_REGISTER: u32 = 1;
const CMP_EQUAL: u32 = 0;
const CMP_NOT_EQUAL: u32 = 1;
const NETWORK_HEADER: u32 = 1;
const TRANSPORT_HEADER: u32 = 2;

fn match_transport(protocol: TransportProtocol) -> Vec<u8> {
    const LAYER_4_PROTOCOL: u32 = 16;
    let load =
        expression("meta", &[u32_attribute(1, NFT_REGISTER), u32_attribute(2, LAYER_4_PROTOCOL)]);
    [load, compare(CMP_EQUAL, &[protocol.number()])].concat()
}

fn match_destination_port(port: u16) -> Vec<u8> {
    [load(TRANSPORT_HEADER, 2, 2), compare(CMP_EQUAL, &port.to_be_bytes())].concat()
}

/// Matches destinations other than loopback, by the first byte of the address.
fn match_not_loopback() -> Vec<u8> {
    [load(NETWORK_HEADER, 16, 1), compare(CMP_NOT_EQUAL, &[127])].concat()
}

fn redirect_to(port: u16) -> Vec<u8> {
    const PORT_SPECIFIED_FLAG: u32 = 2;
    let value = nested_attribute(2, &[attribute(1, &port.to_be_bytes())]);
    let load = expression("immediate", &[u32_attribute(1, NFT_REGISTER), value]);
    let redirect = expression(
        "redir",
        &[u32_attribute(1, NFT_REGISTER), u32_attribute(3, PORT_SPECIFIED_FLAG)],
    );
    [load, redirect].concat()
}

fn load(header: u32, offset: u32, length: u32) -> Vec<u8> {
    let fields = [
        u32_attribute(1, NFT_REGISTER),
        u32_attribute(2, header),
        u32_attribute(3, offset),
        u32_attribute(4, length),
    ];
    expression("payload", &fields)
}

fn compare(operation: u32, value: &[u8]) -> Vec<u8> {
    let value = nested_attribute(3, &[attribute(1, value)]);
    expression("cmp", &[u32_attribute(1, NFT_REGISTER), u32_attribute(2, operation), value])
}

fn expression(name: &str, fields: &[Vec<u8>]) -> Vec<u8> {
    nested_attribute(1, &[attribute(1, &string_attribute(name)), nested_attribute(2, fields)])
}

fn string_attribute(text: &str) -> Vec<u8> {
    [text.as_bytes(), &[0]].concat()
}

fn u32_attribute(kind: u16, value: u32) -> Vec<u8> {
    attribute(kind, &value.to_be_bytes())
}

fn nested_attribute(kind: u16, parts: &[Vec<u8>]) -> Vec<u8> {
    attribute(kind | NLA_F_NESTED, &parts.concat())
}

/// Encodes an attribute, padded to four bytes.
fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let length = u16::try_from(value.len() + 4).unwrap_or(u16::MAX);
    let mut bytes = [length.to_ne_bytes(), kind.to_ne_bytes()].concat();
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// A message without its header.
#[derive(Debug)]
struct NetlinkMessage {
    bytes: Vec<u8>,
    kind: u16,
    flags: u16,
}

impl NetlinkMessage {
    fn new(kind: u16, flags: u16) -> Self {
        Self { bytes: Vec::new(), kind, flags: flags | NLM_F_REQUEST | NLM_F_ACK }
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
    }

    fn attribute(&mut self, kind: u16, value: &[u8]) {
        self.bytes.extend(attribute(kind, value));
    }

    fn finish(self, number: u32) -> Vec<u8> {
        const HEADER_BYTES: usize = 16;
        let length = u32::try_from(HEADER_BYTES + self.bytes.len()).unwrap_or(u32::MAX);
        let mut message = length.to_ne_bytes().to_vec();
        message.extend(self.kind.to_ne_bytes());
        message.extend(self.flags.to_ne_bytes());
        message.extend(number.to_ne_bytes());
        message.extend([0; 4]);
        message.extend(self.bytes);
        message
    }
}

/// Sends messages and waits until each sequence number is acknowledged.
fn exchange(socket: &OwnedFd, messages: &[u8], numbers: &[u32]) -> io::Result<()> {
    send(socket, messages, SendFlags::empty())?;
    let mut waiting: Vec<u32> = numbers.to_vec();
    let mut room = vec![0_u8; 16 << 10];
    while !waiting.is_empty() {
        let (length, _) = recv(socket, &mut room[..], RecvFlags::empty())?;
        let mut rest = room.get(..length).unwrap_or_default();
        while let Some((kind, number, body, after)) = split_message(rest) {
            rest = after;
            if kind != NLMSG_ERROR {
                continue;
            }
            let code = body.first_chunk().copied().map_or(0, i32::from_ne_bytes);
            if code != 0 {
                return Err(io::Error::from_raw_os_error(-code));
            }
            waiting.retain(|waited| *waited != number);
        }
    }
    Ok(())
}

/// Returns the kind, sequence number and body of the first message, and the
/// rest.
fn split_message(bytes: &[u8]) -> Option<(u16, u32, &[u8], &[u8])> {
    let length = usize::try_from(u32::from_ne_bytes(*bytes.first_chunk()?)).ok()?;
    let message = bytes.get(..length)?;
    let kind = u16::from_ne_bytes(*message.get(4..)?.first_chunk()?);
    let number = u32::from_ne_bytes(*message.get(8..)?.first_chunk()?);
    let rest = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    Some((kind, number, message.get(16..)?, rest))
}
