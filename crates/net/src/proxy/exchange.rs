//! Forwards one plain HTTP request and its response, with their bodies.

use httparse::{EMPTY_HEADER, ParserConfig, Response};
use tokio::io::BufReader;
use tokio::io::{
    AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt,
};
use tokio::net::TcpStream;

use super::ProxyLimits;
use super::body::{BodyError, BodyFraming, copy_body};
use super::head::read_head;
use super::headers::{MAX_HEADERS, MessageLength, end_to_end_headers, write_header};
use super::relay::{ByteMeter, COPY_BUFFER_BYTES, MeteredStream};
use super::reply::ReplyStatus;

/// Why an exchange failed.
#[derive(Debug)]
pub(super) struct ExchangeError {
    /// Status to reply with, unless a response has started.
    pub(super) status: ReplyStatus,
    pub(super) text: String,
    /// Whether the client has received part of a response.
    pub(super) is_answered: bool,
}

/// A request to forward.
#[derive(Debug)]
pub(super) struct HttpExchange<'a> {
    pub(super) method: &'a str,
    /// The request head for the destination.
    pub(super) head: Vec<u8>,
    pub(super) body: BodyFraming,
    /// Bytes read from the client after the head.
    pub(super) early: &'a [u8],
    pub(super) meter: &'a ByteMeter,
    pub(super) limits: ProxyLimits,
}

impl HttpExchange<'_> {
    /// Sends the request and receives the response concurrently, since either
    /// may be long, and a response may start before its request is complete.
    /// Ends with the response.
    pub(super) async fn run(
        &self,
        client: &mut TcpStream,
        mut destination: TcpStream,
    ) -> Result<(), ExchangeError> {
        let (client_reader, mut client_writer) = client.split();
        let mut client_reader =
            BufReader::with_capacity(COPY_BUFFER_BYTES, self.early.chain(client_reader));
        let (reader, writer) = destination.split();
        let mut reader = MeteredStream::new(reader, self.meter);
        let mut writer = MeteredStream::new(writer, self.meter);
        let mut is_answered = false;
        let ended = tokio::select! {
            error = self.send(&mut client_reader, &mut writer) => {
                Err((ReplyStatus::BadRequest, error.to_string()))
            }
            received = self.receive(&mut reader, &mut client_writer, &mut is_answered) => {
                received.map_err(|text| (ReplyStatus::BadGateway, text))
            }
            error = self.meter.stalled(self.limits.half_close_timeout) => {
                Err((ReplyStatus::BadGateway, error.to_string()))
            }
        };
        ended.map_err(|(status, text)| ExchangeError { status, text, is_answered })
    }

    /// Sends the request; completes only when the client is at fault.
    async fn send(
        &self,
        client: &mut (impl AsyncBufRead + Unpin),
        destination: &mut (impl AsyncWrite + Unpin),
    ) -> BodyError {
        if destination.write_all(&self.head).await.is_ok() {
            match copy_body(client, destination, self.body).await {
                // If the destination stopped reading, its response says why.
                Ok(()) | Err(BodyError::Write(_)) => {}
                Err(error) => return error,
            }
        }
        // Data after the request would bypass the judge, and is left unread.
        if client.fill_buf().await.is_ok_and(|rest| rest.is_empty()) {
            self.meter.set_half_closed();
        }
        std::future::pending().await
    }

    async fn receive(
        &self,
        destination: &mut (impl AsyncRead + Unpin),
        client: &mut (impl AsyncWrite + Unpin),
        is_answered: &mut bool,
    ) -> Result<(), String> {
        let mut buffer = Vec::new();
        let framing = loop {
            let length = read_head(destination, &mut buffer, self.limits.max_head_bytes)
                .await
                .map_err(|error| format!("the destination sent no response: {error}"))?;
            let rest = buffer.split_off(length);
            let response = ResponseHead::parse(&buffer, self.method)
                .map_err(|problem| format!("the response is malformed: {problem}"))?;
            buffer = rest;
            *is_answered = true;
            client.write_all(&response.head).await.map_err(|error| error.to_string())?;
            if let Some(framing) = response.body {
                break framing;
            }
            // After a complete interim response, the client still expects the
            // final one.
            *is_answered = false;
        };
        let rest = buffer.as_slice().chain(destination);
        let mut reader = BufReader::with_capacity(COPY_BUFFER_BYTES, rest);
        copy_body(&mut reader, client, framing).await.map_err(|error| error.to_string())
    }
}

/// A rewritten response head for the client.
#[derive(Debug, PartialEq, Eq)]
struct ResponseHead {
    head: Vec<u8>,
    /// None for an interim response, which is followed by another one.
    body: Option<BodyFraming>,
}

impl ResponseHead {
    /// Parses the response to a request with this method.
    fn parse(head: &[u8], method: &str) -> Result<Self, String> {
        let mut headers = [EMPTY_HEADER; MAX_HEADERS];
        let mut response = Response::new(&mut headers);
        let mut config = ParserConfig::default();
        config.allow_spaces_after_header_name_in_responses(true);
        config.ignore_invalid_headers_in_responses(true);
        match config.parse_response(&mut response, head) {
            Ok(httparse::Status::Complete(length)) if length == head.len() => {}
            Ok(_) => return Err("the head is incomplete".to_owned()),
            Err(error) => return Err(error.to_string()),
        }
        let code = response.code.unwrap_or_default();
        let length = MessageLength::from_headers(response.headers)?;
        let body = match code {
            // The proxy forwards no upgrade requests.
            101 => return Err("it switches to another protocol".to_owned()),
            100..=199 => None,
            204 | 304 => Some(BodyFraming::Length(0)),
            _ if method == "HEAD" => Some(BodyFraming::Length(0)),
            _ => Some(length.framing(BodyFraming::UntilClose)),
        };
        let (version, reason) = (response.version.unwrap_or_default(), response.reason);
        let line = format!("HTTP/1.{version} {code} {}\r\n", reason.unwrap_or_default());
        let mut out = line.into_bytes();
        for header in end_to_end_headers(response.headers) {
            write_header(&mut out, header.name, header.value);
        }
        if body.is_some() {
            length.write(&mut out);
            write_header(&mut out, "Connection", b"close");
        }
        out.extend_from_slice(b"\r\n");
        Ok(Self { head: out, body })
    }
}

#[cfg(test)]
#[path = "exchange_tests.rs"]
mod tests;
