//! SOCKS5 clients of the proxy (RFC 1928): `CONNECT` without authentication.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};

use hermes_core::{ConnectionKind, NetworkDestination};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout_at;

use super::client::ProxyClient;
use super::connection::OpenError;
use crate::destination::parse_destination;
use crate::names::NameTable;

/// The first byte of every SOCKS5 client.
pub(super) const SOCKS_VERSION: u8 = 5;

const NO_AUTHENTICATION: u8 = 0;
const NO_ACCEPTABLE_METHOD: u8 = 0xff;
const COMMAND_CONNECT: u8 = 1;
const ADDRESS_V4: u8 = 1;
const ADDRESS_NAME: u8 = 3;
const ADDRESS_V6: u8 = 4;

/// Outcome of a request, as encoded on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SocksReply {
    Succeeded = 0,
    GeneralFailure = 1,
    NotAllowed = 2,
    HostUnreachable = 4,
    CommandNotSupported = 7,
    AddressTypeNotSupported = 8,
}

impl SocksReply {
    /// Returns the reply, with a bound address that no client uses.
    fn to_bytes(self) -> [u8; 10] {
        [SOCKS_VERSION, self as u8, 0, ADDRESS_V4, 0, 0, 0, 0, 0, 0]
    }
}

/// Why a request could not be parsed.
#[derive(Debug)]
struct SocksError {
    text: String,
    answer: Vec<u8>,
}

impl SocksError {
    fn new(text: impl Into<String>, reply: SocksReply) -> Self {
        Self { text: text.into(), answer: reply.to_bytes().to_vec() }
    }
}

impl From<io::Error> for SocksError {
    fn from(error: io::Error) -> Self {
        Self { text: error.to_string(), answer: Vec::new() }
    }
}

/// Serves one request.
pub(super) async fn serve(mut client: ProxyClient) {
    let deadline = client.head_deadline();
    let names = client.context.names.clone();
    let reading = read_request(&mut client.stream, &names);
    let read = timeout_at(deadline, reading).await.unwrap_or_else(|_| {
        let text = "the request was not complete before the timeout".to_owned();
        Err(SocksError { text, answer: Vec::new() })
    });
    let destination = match read {
        Ok(destination) => destination,
        Err(SocksError { text, answer }) => {
            client.record_unreadable(ConnectionKind::Socks, &text).await;
            return client.finish(&answer).await;
        }
    };
    let mut connection = client.connection(destination, ConnectionKind::Socks).await;
    let Some(opened) = client.open_unless_closed(&mut connection).await else { return };
    let reply = match opened {
        Ok(destination) => {
            let succeeded = SocksReply::Succeeded.to_bytes();
            if let Err(error) = client.stream.write_all(&succeeded).await {
                return connection.fail(error);
            }
            return client.relay(&mut connection, &[], destination).await;
        }
        Err(OpenError::Refused(_)) => SocksReply::NotAllowed,
        Err(OpenError::Failed(_)) => SocksReply::HostUnreachable,
    };
    drop(connection);
    client.finish(&reply.to_bytes()).await;
}

async fn read_request(
    client: &mut (impl AsyncRead + AsyncWrite + Unpin),
    names: &NameTable,
) -> Result<NetworkDestination, SocksError> {
    let [_version, methods] = read_bytes(client).await?;
    let mut offered = vec![0; usize::from(methods)];
    client.read_exact(&mut offered).await?;
    if !offered.contains(&NO_AUTHENTICATION) {
        let text = "the client requires authentication".to_owned();
        return Err(SocksError { text, answer: vec![SOCKS_VERSION, NO_ACCEPTABLE_METHOD] });
    }
    client.write_all(&[SOCKS_VERSION, NO_AUTHENTICATION]).await?;

    let [version, command, _reserved, kind] = read_bytes(client).await?;
    if version != SOCKS_VERSION {
        return Err(SocksError::new(
            "the SOCKS version changed between greeting and request",
            SocksReply::GeneralFailure,
        ));
    }
    if command != COMMAND_CONNECT {
        let text = format!("command {command} is not supported; use CONNECT");
        return Err(SocksError::new(text, SocksReply::CommandNotSupported));
    }
    let host = match kind {
        ADDRESS_V4 => Ipv4Addr::from(read_bytes::<4>(client).await?).to_string(),
        ADDRESS_V6 => Ipv6Addr::from(read_bytes::<16>(client).await?).to_string(),
        ADDRESS_NAME => {
            let mut name = vec![0; usize::from(client.read_u8().await?)];
            client.read_exact(&mut name).await?;
            String::from_utf8_lossy(&name).into_owned()
        }
        kind => {
            let text = format!("address type {kind} is not supported");
            return Err(SocksError::new(text, SocksReply::AddressTypeNotSupported));
        }
    };
    let port = client.read_u16().await?;
    parse_destination(&host, port, names).ok_or_else(|| {
        let text = format!("{host:?} port {port} is not a valid destination");
        SocksError::new(text, SocksReply::GeneralFailure)
    })
}

async fn read_bytes<const N: usize>(client: &mut (impl AsyncRead + Unpin)) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    client.read_exact(&mut bytes).await?;
    Ok(bytes)
}

#[cfg(test)]
#[path = "socks_tests.rs"]
mod tests;
