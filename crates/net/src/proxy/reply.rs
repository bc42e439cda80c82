//! Responses that the proxy itself sends to HTTP clients.

use hermes_core::{ConnectionRefusal, NetworkDestination};

/// Header with the reason of a refusal, for programs and for `curl -v`.
const REFUSED_HEADER: &str = "X-Hermes-Refused";
const MAX_REASON_CHARS: usize = 300;

/// Status of a response from the proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReplyStatus {
    BadRequest,
    Forbidden,
    RequestTimeout,
    HeadTooLarge,
    BadGateway,
}

impl ReplyStatus {
    fn line(self) -> &'static str {
        match self {
            Self::BadRequest => "400 Bad Request",
            Self::Forbidden => "403 Forbidden",
            Self::RequestTimeout => "408 Request Timeout",
            Self::HeadTooLarge => "431 Request Header Fields Too Large",
            Self::BadGateway => "502 Bad Gateway",
        }
    }
}

/// A response from the proxy itself.
#[derive(Debug)]
pub(super) struct ProxyReply {
    status: ReplyStatus,
    refused: Option<String>,
    text: String,
}

impl ProxyReply {
    /// Creates the response to an error of the client or the destination.
    pub(super) fn error(status: ReplyStatus, text: &str) -> Self {
        Self { status, refused: None, text: format!("hermes proxy: {text}\n") }
    }

    /// Creates the response to a connection that is not allowed.
    pub(super) fn refused(destination: &NetworkDestination, refusal: &ConnectionRefusal) -> Self {
        let ConnectionRefusal { reason, rule, allow, .. } = refusal;
        let text = format!(
            "hermes refused the connection to {destination}.\n\
             reason: {reason}\nrule: {rule}\nto allow it: {allow}\n"
        );
        let status = ReplyStatus::Forbidden;
        Self { status, refused: Some(header_value(reason)), text }
    }

    /// Returns the bytes of the response; a response to `HEAD` has no body.
    pub(super) fn to_bytes(&self, method: &str) -> Vec<u8> {
        let mut reply = format!("HTTP/1.1 {}\r\n", self.status.line());
        if let Some(reason) = &self.refused {
            reply += &format!("{REFUSED_HEADER}: {reason}\r\n");
        }
        reply += "Content-Type: text/plain; charset=utf-8\r\n";
        reply += &format!("Content-Length: {}\r\nConnection: close\r\n\r\n", self.text.len());
        if method != "HEAD" {
            reply += &self.text;
        }
        reply.into_bytes()
    }
}

/// Converts text to a valid header value: one line of ASCII, of bounded length.
fn header_value(text: &str) -> String {
    let visible = |char: char| if matches!(char, ' '..='~') { char } else { '?' };
    text.chars().take(MAX_REASON_CHARS).map(visible).collect()
}

#[cfg(test)]
#[path = "reply_tests.rs"]
mod tests;
