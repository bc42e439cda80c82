//! Parses requests from HTTP clients of the proxy.

use httparse::{EMPTY_HEADER, Request};

use super::body::BodyFraming;
use super::headers::{MAX_HEADERS, MessageLength, end_to_end_headers, write_header};
use super::reply::ReplyStatus;
use crate::destination::split_authority;
use hermes_core::NetworkDestination;

const HTTP_SCHEME: &str = "http://";
const HTTP_PORT: u16 = 80;
/// Limit on methods, which are recorded; the longest registered one has 17.
const MAX_METHOD_CHARS: usize = 32;

/// A request head that cannot be served.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RequestError {
    pub(super) status: ReplyStatus,
    pub(super) text: String,
}

impl RequestError {
    fn malformed(text: impl Into<String>) -> Self {
        Self { status: ReplyStatus::BadRequest, text: text.into() }
    }
}

/// A request to the proxy.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ProxyRequest {
    pub(super) method: String,
    pub(super) host: String,
    pub(super) port: u16,
    /// `None` for a tunnel.
    pub(super) plain: Option<PlainRequest>,
}

/// A plain HTTP request to forward.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PlainRequest {
    pub(super) body: BodyFraming,
    /// The request line, without its line ending.
    line: String,
    /// All other headers, in the form that is forwarded.
    headers: Vec<u8>,
}

impl ProxyRequest {
    /// Parses a complete head.
    pub(super) fn parse(head: &[u8]) -> Result<Self, RequestError> {
        let mut headers = [EMPTY_HEADER; MAX_HEADERS];
        let mut request = Request::new(&mut headers);
        match request.parse(head) {
            Ok(httparse::Status::Complete(length)) if length == head.len() => {}
            Ok(_) => return Err(RequestError::malformed("the request head is malformed")),
            Err(httparse::Error::TooManyHeaders) => {
                let text = format!("the request has more than {MAX_HEADERS} headers");
                return Err(RequestError { status: ReplyStatus::HeadTooLarge, text });
            }
            Err(error) => {
                let text = format!("the request head is malformed: {error}");
                return Err(RequestError::malformed(text));
            }
        }
        let (method, target) =
            (request.method.unwrap_or_default(), request.path.unwrap_or_default());
        if method.len() > MAX_METHOD_CHARS {
            return Err(RequestError::malformed("the request method is too long"));
        }
        if method == "CONNECT" {
            let (host, port) = split_authority(target, None).ok_or_else(|| {
                RequestError::malformed("CONNECT requires a target of the form host:port")
            })?;
            let (method, host) = (method.to_owned(), host.to_owned());
            return Ok(Self { method, host, port, plain: None });
        }
        Self::parse_plain(method, target, &request)
    }

    fn parse_plain(
        method: &str,
        target: &str,
        request: &Request<'_, '_>,
    ) -> Result<Self, RequestError> {
        let (host, port, path) = split_target(method, target)?;
        let length =
            MessageLength::from_headers(request.headers).map_err(RequestError::malformed)?;
        let version = request.version.unwrap_or_default();
        if length.is_chunked && (length.content_length.is_some() || version == 0) {
            let text = "Transfer-Encoding contradicts Content-Length or HTTP/1.0";
            return Err(RequestError::malformed(text));
        }
        let mut headers = Vec::new();
        for header in end_to_end_headers(request.headers) {
            if !header.name.eq_ignore_ascii_case("host") {
                write_header(&mut headers, header.name, header.value);
            }
        }
        length.write(&mut headers);
        let line = format!("{method} {path} HTTP/1.{version}");
        let body = length.framing(BodyFraming::Length(0));
        let plain = Some(PlainRequest { body, line, headers });
        Ok(Self { method: method.to_owned(), host: host.to_owned(), port, plain })
    }
}

impl PlainRequest {
    /// Returns the head for the destination. `Host` is the judged destination,
    /// whatever the client sent. Each connection carries one request, since
    /// each request is judged.
    pub(super) fn origin_head(&self, destination: &NetworkDestination) -> Vec<u8> {
        let mut head = format!("{}\r\n", self.line).into_bytes();
        let host = destination.to_string();
        let default_port = format!(":{HTTP_PORT}");
        let host = host.strip_suffix(&default_port).unwrap_or(&host);
        write_header(&mut head, "Host", host.as_bytes());
        head.extend_from_slice(&self.headers);
        write_header(&mut head, "Connection", b"close");
        head.extend_from_slice(b"\r\n");
        head
    }
}

/// Splits an absolute `http` URI into host, port and origin-form.
fn split_target<'t>(method: &str, target: &'t str) -> Result<(&'t str, u16, String), RequestError> {
    let malformed = || {
        let text = "a request to this proxy requires an absolute target such as \
                    http://example.com/; use CONNECT for other schemes";
        RequestError::malformed(text)
    };
    let (scheme, rest) = target.split_at_checked(HTTP_SCHEME.len()).ok_or_else(malformed)?;
    if !scheme.eq_ignore_ascii_case(HTTP_SCHEME) {
        return Err(malformed());
    }
    let rest = rest.split('#').next().unwrap_or(rest);
    let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let (host, port) = split_authority(authority, Some(HTTP_PORT))
        .ok_or_else(|| RequestError::malformed("the request target has no valid host and port"))?;
    let path = match path {
        "" if method == "OPTIONS" => "*".to_owned(),
        path if path.starts_with('/') => path.to_owned(),
        query => format!("/{query}"),
    };
    Ok((host, port, path))
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
