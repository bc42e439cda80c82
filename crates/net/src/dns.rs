//! The DNS server of a session. It answers every name with a placeholder
//! address and never forwards a query, so no data leaks in names.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use hickory_proto::op::{Edns, Message, MessageType, OpCode, Query, ResponseCode};
use hickory_proto::rr::rdata::{A, PTR};
use hickory_proto::rr::{DNSClass, Name, RData, Record, RecordType};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::time::timeout;

use crate::accept::{RETRY_DELAY, accept_each};
use crate::address::parse_address;
use crate::destination::is_host_name;
use crate::names::{NameTable, is_placeholder};

/// Short, so clients do not keep an address longer than the table does.
const ANSWER_TTL_SECONDS: u32 = 1;
/// Queries are small; a longer datagram is truncated and thus malformed.
const MAX_DATAGRAM_BYTES: usize = 4096;
const MAX_TCP_CLIENTS: usize = 64;
const TCP_IDLE_TIMEOUT: Duration = Duration::from_secs(15);
/// Fits the MTU of every network (DNS flag day 2020).
const EDNS_PAYLOAD_BYTES: u16 = 1232;

const LOCALHOST_NAME: &str = "localhost";

/// Answers the DNS queries of a session.
#[derive(Debug, Clone)]
pub struct DnsStub {
    names: Arc<NameTable>,
}

impl DnsStub {
    /// Creates a stub that adds names to this table.
    pub fn new(names: Arc<NameTable>) -> Self {
        Self { names }
    }

    /// Answers datagrams. Runs until it is dropped.
    pub async fn serve_udp(&self, socket: UdpSocket) {
        let mut buffer = [0; MAX_DATAGRAM_BYTES];
        loop {
            let Ok((length, peer)) = socket.recv_from(&mut buffer).await else {
                tokio::time::sleep(RETRY_DELAY).await;
                continue;
            };
            if let Some(answer) = self.answer(buffer.get(..length).unwrap_or_default()) {
                let _ = socket.send_to(&answer, peer).await;
            }
        }
    }

    /// Answers queries over TCP. Runs until it is dropped.
    pub async fn serve_tcp(&self, listener: TcpListener) {
        accept_each(listener, MAX_TCP_CLIENTS, |stream, _| {
            let stub = self.clone();
            async move { stub.serve_stream(stream).await }
        })
        .await;
    }

    async fn serve_stream(self, mut stream: TcpStream) {
        while let Ok(Some(())) = timeout(TCP_IDLE_TIMEOUT, self.answer_next(&mut stream)).await {}
    }

    /// Answers the next query; returns none at the end of the connection.
    async fn answer_next(&self, stream: &mut TcpStream) -> Option<()> {
        let mut query = vec![0; usize::from(stream.read_u16().await.ok()?)];
        stream.read_exact(&mut query).await.ok()?;
        let answer = self.answer(&query)?;
        let mut framed = u16::try_from(answer.len()).ok()?.to_be_bytes().to_vec();
        framed.extend_from_slice(&answer);
        stream.write_all(&framed).await.ok()
    }

    /// Returns the response to a query; none if the message is not a query.
    pub(crate) fn answer(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        match Message::from_vec(bytes) {
            Ok(query) => self.respond(&query)?.to_vec().ok(),
            Err(_) => malformed_reply(bytes)?.to_vec().ok(),
        }
    }

    fn respond(&self, message: &Message) -> Option<Message> {
        let head = &message.metadata;
        if head.message_type != MessageType::Query {
            return None;
        }
        let mut response = Message::response(head.id, head.op_code);
        response.metadata.recursion_desired = head.recursion_desired;
        response.metadata.recursion_available = true;
        if message.edns.is_some() {
            let mut edns = Edns::new();
            edns.set_max_payload(EDNS_PAYLOAD_BYTES);
            response.set_edns(edns);
        }
        response.metadata.response_code = match message.queries.as_slice() {
            _ if head.op_code != OpCode::Query => ResponseCode::NotImp,
            [query] => {
                response.add_query(query.clone());
                match self.records(query) {
                    Ok(record) => {
                        response.add_answers(record);
                        ResponseCode::NoError
                    }
                    Err(code) => code,
                }
            }
            _ => ResponseCode::FormErr,
        };
        Some(response)
    }

    fn records(&self, query: &Query) -> Result<Option<Record>, ResponseCode> {
        if query.query_class != DNSClass::IN {
            return Err(ResponseCode::Refused);
        }
        let data = match query.query_type {
            RecordType::PTR => self.name_of(&query.name).ok_or(ResponseCode::NXDomain)?,
            kind => {
                let name = host_name(&query.name).ok_or(ResponseCode::NXDomain)?;
                // Only names that are looked up for a connection take a slot in
                // the table.
                if !matches!(kind, RecordType::A | RecordType::ANY) {
                    return Ok(None);
                }
                RData::A(A(self.address_of(&name)))
            }
        };
        Ok(Some(Record::from_rdata(query.name.clone(), ANSWER_TTL_SECONDS, data)))
    }

    fn address_of(&self, name: &str) -> Ipv4Addr {
        if name.rsplit('.').next() == Some(LOCALHOST_NAME) {
            return Ipv4Addr::LOCALHOST;
        }
        self.names.address(name)
    }

    /// Resolves a reverse lookup to the name of a placeholder.
    fn name_of(&self, reverse: &Name) -> Option<RData> {
        let address = reverse_address(reverse)?;
        let name = match address {
            address if address.is_loopback() => LOCALHOST_NAME.to_owned(),
            address if is_placeholder(address) => self.names.name(address)?,
            _ => return None,
        };
        // As bytes: parsing text is stricter than what queries may contain.
        let labels = name.split('.').map(str::as_bytes);
        Some(RData::PTR(PTR(Name::from_labels(labels).ok()?)))
    }
}

/// Returns the response to a malformed query, if its header is readable.
fn malformed_reply(bytes: &[u8]) -> Option<Message> {
    const RESPONSE_BIT: u8 = 0x80;
    const HEADER_BYTES: usize = 12;
    let header = bytes.get(..HEADER_BYTES)?;
    let id = u16::from_be_bytes([header[0], header[1]]);
    let is_query = header[2] & RESPONSE_BIT == 0;
    is_query.then(|| Message::error_msg(id, OpCode::Query, ResponseCode::FormErr))
}

/// Returns the text of a name, if a host can have it.
fn host_name(name: &Name) -> Option<String> {
    // A dot inside a label does not separate labels.
    let label_text = |label| str::from_utf8(label).ok().filter(|text| !text.contains('.'));
    let labels: Option<Vec<&str>> = name.iter().map(label_text).collect();
    let text = labels?.join(".").to_ascii_lowercase();
    let is_name = is_host_name(&text) && parse_address(&text).is_none();
    is_name.then_some(text)
}

/// Parses the address from a name such as `4.3.18.198.in-addr.arpa`.
fn reverse_address(name: &Name) -> Option<IpAddr> {
    let text = host_name(name)?;
    let octets = text.strip_suffix(".in-addr.arpa")?;
    let address: Ipv4Addr = octets.parse().ok()?;
    let [a, b, c, d] = address.octets();
    Some(IpAddr::V4(Ipv4Addr::new(d, c, b, a)))
}

#[cfg(test)]
#[path = "dns_tests.rs"]
mod tests;
