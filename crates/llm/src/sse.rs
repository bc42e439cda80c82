//! Incremental parser for server-sent events.

/// Maximum size of one event of a model.
pub const MAX_EVENT_BYTES: usize = 64 * 1024 * 1024;

/// One event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SseEvent {
    /// The event name; `None` means `message`.
    pub name: Option<String>,
    /// The payload.
    pub data: String,
}

/// An event exceeds the maximum size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event exceeds {0} bytes")]
pub struct SseOverflow(pub usize);

/// Parses events from the chunks of a response body.
#[derive(Debug, Default)]
pub struct SseParser {
    max_event_bytes: usize,
    /// Received bytes without a complete line.
    rest: Vec<u8>,
    /// How many bytes of `rest` are known to hold no line end.
    seen: usize,
    /// The last chunk ended with a carriage return; its line feed may follow.
    after_return: bool,
    begun: bool,
    event: SseEvent,
    has_data: bool,
}

impl SseParser {
    /// Creates a parser that rejects events of more than `max_event_bytes`.
    pub fn new(max_event_bytes: usize) -> Self {
        Self { max_event_bytes, ..Self::default() }
    }

    /// Consumes a chunk and returns the events that it completes.
    pub fn feed(&mut self, piece: &[u8]) -> Result<Vec<SseEvent>, SseOverflow> {
        self.rest.extend_from_slice(piece);
        if self.rest.len() + self.event.data.len() > self.max_event_bytes {
            return Err(SseOverflow(self.max_event_bytes));
        }
        let mut events = Vec::new();
        let rest = std::mem::take(&mut self.rest);
        let mut start = 0;
        let mut at = self.seen;
        while let Some(offset) = rest[at..].iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            let end = at + offset;
            // The line feed of a CRLF whose CR was already handled.
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

    /// Returns the pending event at the end of the body. Some servers omit the
    /// final empty line.
    pub fn finish(&mut self) -> Option<SseEvent> {
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
