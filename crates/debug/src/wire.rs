//! Debug Adapter Protocol framing: a `Content-Length` header and a JSON body.

use serde_json::Value;

/// Maximum size of a header, and of a body.
const MAX_HEADER_BYTES: usize = 4 * 1024;
const MAX_BODY_BYTES: usize = 64 * 1024 * 1024;

/// Encodes a message with its header.
pub(crate) fn encode(message: &Value) -> Vec<u8> {
    let body = message.to_string();
    format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// Incremental decoder of protocol messages.
#[derive(Debug, Default)]
pub(crate) struct MessageDecoder {
    bytes: Vec<u8>,
    /// Bytes of the buffer that were already decoded.
    consumed: usize,
}

impl MessageDecoder {
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.consumed);
        self.consumed = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns the next message, or `None` if it is incomplete. Skips bodies
    /// that are not JSON. Fails if the stream cannot be decoded any further.
    pub(crate) fn next(&mut self) -> Result<Option<Value>, String> {
        loop {
            let rest = self.bytes.get(self.consumed..).unwrap_or_default();
            let window = rest.get(..MAX_HEADER_BYTES.min(rest.len())).unwrap_or_default();
            let Some(end) = window.windows(4).position(|four| four == b"\r\n\r\n") else {
                return match window.len() < MAX_HEADER_BYTES {
                    true => Ok(None),
                    false => Err(protocol_error(window)),
                };
            };
            let header = window.get(..end).unwrap_or_default();
            let size = content_length(header).ok_or_else(|| protocol_error(header))?;
            let Some(body) = rest.get(end + 4..end + 4 + size) else { return Ok(None) };
            let message = hermes_core::surrogates::from_slice_lossy(body);
            self.consumed += end + 4 + size;
            if let Ok(message) = message {
                return Ok(Some(message));
            }
        }
    }
}

fn content_length(header: &[u8]) -> Option<usize> {
    let header = std::str::from_utf8(header).ok()?;
    let mut fields = header.lines().filter_map(|line| line.split_once(':'));
    let (_, value) = fields.find(|(name, _)| name.trim().eq_ignore_ascii_case("content-length"))?;
    value.trim().parse().ok().filter(|size| *size <= MAX_BODY_BYTES)
}

fn protocol_error(bytes: &[u8]) -> String {
    let text: String = String::from_utf8_lossy(bytes).chars().take(200).collect();
    format!("not a Debug Adapter Protocol message: {text:?}")
}

#[cfg(test)]
#[path = "wire_tests.rs"]
mod tests;
