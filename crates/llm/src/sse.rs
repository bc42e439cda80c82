//! Server-sent events: bytes in, events out, whatever the pieces they come in.

use crate::model_error::{ModelError, ModelErrorKind};

/// No event of an honest server is longer.
const MAX_EVENT_BYTES: usize = 64 * 1024 * 1024;

/// One event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SseEvent {
    /// Its name; none means `message`.
    pub(crate) name: Option<String>,
    /// What it says.
    pub(crate) data: String,
}

/// Reads events from pieces of a body.
#[derive(Debug, Default)]
pub(crate) struct SseParser {
    /// What came and is no whole line yet.
    rest: Vec<u8>,
    /// How much of it holds no line end.
    seen: usize,
    /// The last piece ended with a carriage return, whose line feed may follow.
    after_return: bool,
    begun: bool,
    event: SseEvent,
    has_data: bool,
}

impl SseParser {
    /// Takes a piece, and gives the events that it completes.
    pub(crate) fn feed(&mut self, piece: &[u8]) -> Result<Vec<SseEvent>, ModelError> {
        self.rest.extend_from_slice(piece);
        if self.rest.len() + self.event.data.len() > MAX_EVENT_BYTES {
            return Err(ModelError::new(
                ModelErrorKind::Protocol,
                "the server sent an event without end",
            ));
        }
        let mut events = Vec::new();
        let rest = std::mem::take(&mut self.rest);
        let mut start = 0;
        let mut at = self.seen;
        while let Some(offset) = rest[at..].iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            let end = at + offset;
            // The second half of a line end that is already known.
            let is_second = rest[end] == b'\n' && self.after_return && end == start;
            self.after_return = rest[end] == b'\r';
            if !is_second {
                events.extend(self.parse_line(&rest[start..end]));
            }
            start = end + 1;
            at = start;
        }
        if start < rest.len() {
            self.after_return = false;
        }
        self.rest = rest[start..].to_vec();
        self.seen = self.rest.len();
        Ok(events)
    }

    /// What is there when the body ends. Servers forget the empty line at the end.
    pub(crate) fn finish(&mut self) -> Option<SseEvent> {
        let last = std::mem::take(&mut self.rest);
        self.seen = 0;
        let whole = if last.is_empty() { None } else { self.parse_line(&last) };
        whole.or_else(|| self.parse_line(b""))
    }

    fn parse_line(&mut self, line: &[u8]) -> Option<SseEvent> {
        let line = String::from_utf8_lossy(line);
        let line = if self.begun { &*line } else { line.trim_start_matches('\u{feff}') };
        self.begun = true;
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            return std::mem::take(&mut self.has_data).then_some(event);
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => self.event.name = Some(value.to_owned()),
            "data" => {
                if self.has_data {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
                self.has_data = true;
            }
            _ => {}
        }
        None
    }
}

#[cfg(test)]
#[path = "sse_tests.rs"]
mod tests;
