//! Header handling for HTTP messages that pass through the proxy.

use httparse::Header;

use super::body::BodyFraming;

/// Hop-by-hop headers (RFC 9110, 7.6.1). `Content-Length` and
/// `Transfer-Encoding` are regenerated from the parsed values so the other side
/// cannot parse them differently.
const HOP_BY_HOP_HEADERS: &[&str] = &[
    "connection",
    "content-length",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];
const PROXY_HEADER_PREFIX: &str = "proxy-";

/// Maximum number of headers in a message; more is malformed.
pub(super) const MAX_HEADERS: usize = 128;

/// How the headers of a message delimit its body.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct MessageLength {
    /// `Content-Length`.
    pub(super) content_length: Option<u64>,
    /// `Transfer-Encoding: chunked`.
    pub(super) is_chunked: bool,
}

impl MessageLength {
    /// Parses the headers strictly. Anything that two parsers could read
    /// differently is an error.
    pub(super) fn from_headers(headers: &[Header<'_>]) -> Result<Self, &'static str> {
        let mut length = Self::default();
        for value in values(headers, "content-length") {
            let text = str::from_utf8(value).unwrap_or_default();
            // `parse` would accept a sign.
            let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            let number = is_number.then(|| text.parse().ok()).flatten();
            if number.is_none() || length.content_length.is_some() {
                return Err("Content-Length must be a single number");
            }
            length.content_length = number;
        }
        for value in values(headers, "transfer-encoding") {
            if length.is_chunked || !value.eq_ignore_ascii_case(b"chunked") {
                return Err("Transfer-Encoding must be `chunked`");
            }
            length.is_chunked = true;
        }
        Ok(length)
    }

    /// Returns the framing of the body; `otherwise` if no header delimits it.
    pub(super) fn framing(self, otherwise: BodyFraming) -> BodyFraming {
        match self.content_length {
            _ if self.is_chunked => BodyFraming::Chunked,
            Some(length) => BodyFraming::Length(length),
            None => otherwise,
        }
    }

    pub(super) fn write(self, out: &mut Vec<u8>) {
        if self.is_chunked {
            write_header(out, "Transfer-Encoding", b"chunked");
        } else if let Some(length) = self.content_length {
            write_header(out, "Content-Length", length.to_string().as_bytes());
        }
    }
}

/// Returns the end-to-end headers.
pub(super) fn end_to_end_headers<'h>(
    headers: &'h [Header<'h>],
) -> impl Iterator<Item = &'h Header<'h>> + 'h {
    headers.iter().filter(|header| {
        let name = header.name.to_ascii_lowercase();
        !(HOP_BY_HOP_HEADERS.contains(&name.as_str())
            || name.starts_with(PROXY_HEADER_PREFIX)
            || is_named_in_connection(headers, &name))
    })
}

pub(super) fn write_header(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}

fn is_named_in_connection(headers: &[Header<'_>], name: &str) -> bool {
    values(headers, "connection").any(|value| {
        value
            .split(|byte| *byte == b',')
            .any(|option| option.trim_ascii().eq_ignore_ascii_case(name.as_bytes()))
    })
}

fn values<'h>(headers: &'h [Header<'h>], name: &'h str) -> impl Iterator<Item = &'h [u8]> + 'h {
    headers
        .iter()
        .filter(move |header| header.name.eq_ignore_ascii_case(name))
        .map(|header| header.value)
}

#[cfg(test)]
#[path = "headers_tests.rs"]
mod tests;
