//! HTTP clients of the proxy: tunnels and plain requests.

use hermes_core::{ConnectionKind, NetworkDestination};
use tokio::io::AsyncWriteExt;
use tokio::time::timeout_at;

use super::client::ProxyClient;
use super::connection::{JudgedConnection, OpenError};
use super::exchange::HttpExchange;
use super::head::{HeadError, read_head};
use super::relay::reset;
use super::reply::{ProxyReply, ReplyStatus};
use super::request::{PlainRequest, ProxyRequest, RequestError};
use crate::destination::parse_destination;

const TUNNEL_OPEN_REPLY: &[u8] = b"HTTP/1.1 200 Connection established\r\n\r\n";

/// Serves one request.
pub(super) async fn serve(mut client: ProxyClient, first_byte: u8) {
    let mut head = Vec::new();
    let read = if first_byte.is_ascii_alphabetic() {
        read_request(&mut client, &mut head).await
    } else {
        // The head of a message in another protocol might never end.
        let text = "the request is neither HTTP nor SOCKS5".to_owned();
        Err(RequestError { status: ReplyStatus::BadRequest, text })
    };
    let (request, destination, head_bytes) = match read {
        Ok(read) => read,
        Err(RequestError { status, text }) => {
            client.record_unreadable(ConnectionKind::Http(String::new()), &text).await;
            let reply = ProxyReply::error(status, &text);
            return client.finish(&reply.to_bytes("")).await;
        }
    };
    let early = head.split_off(head_bytes);
    drop(head);
    let ProxyRequest { method, plain, .. } = request;
    match plain {
        None => serve_tunnel(client, destination, &early).await,
        Some(plain) => serve_plain(client, &method, &plain, destination, &early).await,
    }
}

async fn read_request(
    client: &mut ProxyClient,
    buffer: &mut Vec<u8>,
) -> Result<(ProxyRequest, NetworkDestination, usize), RequestError> {
    let limits = client.context.limits;
    let deadline = client.head_deadline();
    let reading = read_head(&mut client.stream, buffer, limits.max_head_bytes);
    let head_bytes = match timeout_at(deadline, reading).await {
        Ok(Ok(length)) => length,
        Ok(Err(error)) => {
            let status = match error {
                HeadError::TooLarge(_) => ReplyStatus::HeadTooLarge,
                HeadError::Closed | HeadError::Io(_) => ReplyStatus::BadRequest,
            };
            return Err(RequestError { status, text: error.to_string() });
        }
        Err(_) => {
            let text = format!("the request head took longer than {:?}", limits.head_timeout);
            return Err(RequestError { status: ReplyStatus::RequestTimeout, text });
        }
    };
    let request = ProxyRequest::parse(buffer.get(..head_bytes).unwrap_or_default())?;
    let destination = parse_destination(&request.host, request.port, &client.context.names)
        .ok_or_else(|| RequestError {
            status: ReplyStatus::BadRequest,
            text: format!("{:?} is not a valid host name", request.host),
        })?;
    Ok((request, destination, head_bytes))
}

async fn serve_tunnel(mut client: ProxyClient, destination: NetworkDestination, early: &[u8]) {
    let mut connection = client.connection(destination, ConnectionKind::Tunnel).await;
    let Some(opened) = client.open_unless_closed(&mut connection).await else { return };
    match opened {
        Ok(destination) => {
            if let Err(error) = client.stream.write_all(TUNNEL_OPEN_REPLY).await {
                return connection.fail(error);
            }
            client.relay(&mut connection, early, destination).await;
        }
        Err(error) => {
            let reply = open_reply(&connection, &error);
            drop(connection);
            client.finish(&reply.to_bytes("CONNECT")).await;
        }
    }
}

async fn serve_plain(
    mut client: ProxyClient,
    method: &str,
    request: &PlainRequest,
    destination: NetworkDestination,
    early: &[u8],
) {
    let kind = ConnectionKind::Http(method.to_owned());
    let mut connection = client.connection(destination, kind).await;
    // The client may have finished sending, so EOF does not mean it is gone.
    let reply = match connection.open(&client.context.dialer).await {
        Ok(stream) => {
            let head = request.origin_head(&connection.request().destination);
            let (limits, meter) = (client.context.limits, &connection.meter);
            let exchange = HttpExchange { method, head, body: request.body, early, meter, limits };
            match exchange.run(&mut client.stream, stream).await {
                Ok(()) => {
                    drop(connection);
                    return client.finish(&[]).await;
                }
                Err(error) => {
                    connection.fail(&error.text);
                    if error.is_answered {
                        return reset(&client.stream);
                    }
                    ProxyReply::error(error.status, &error.text)
                }
            }
        }
        Err(error) => open_reply(&connection, &error),
    };
    drop(connection);
    client.finish(&reply.to_bytes(method)).await;
}

fn open_reply(connection: &JudgedConnection, error: &OpenError) -> ProxyReply {
    match error {
        OpenError::Refused(refusal) => {
            ProxyReply::refused(&connection.request().destination, refusal)
        }
        OpenError::Failed(text) => ProxyReply::error(ReplyStatus::BadGateway, text),
    }
}
