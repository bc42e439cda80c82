//! Splits a stream of lines into requests, each as soon as it is complete.

use std::collections::VecDeque;

use crate::call::ARGUMENT_KEYS;
use crate::json_node::{self, KnownFields};
use crate::json_scan::{JsonScanner, MAX_SCAN_DEPTH, ScanStatus};
use crate::{CallDialect, CallRequest, ProtocolError, blocks, parse, syntax};

/// A part of the stream that requires a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestFrame {
    /// A document whose brackets are balanced.
    Request {
        /// Its first line, from 1.
        line: usize,
        /// Its text.
        text: String,
    },
    /// Text that cannot become a request.
    Error {
        /// Its first line, from 1.
        line: usize,
        /// The error, with positions relative to the stream.
        error: ProtocolError,
    },
}

impl RequestFrame {
    /// Returns its first line, from 1.
    pub fn line(&self) -> usize {
        match self {
            Self::Request { line, .. } | Self::Error { line, .. } => *line,
        }
    }

    /// Parses the request; positions in errors are relative to the stream.
    pub fn parse(&self, wanted: Option<CallDialect>) -> Result<CallRequest, ProtocolError> {
        match self {
            Self::Request { line, text } => parse(text, wanted).map_err(|e| e.starting_at(*line)),
            Self::Error { error, .. } => Err(error.clone()),
        }
    }
}

#[derive(Debug)]
enum FramerMode {
    /// Between documents.
    Idle,
    /// Inside a document that spans lines.
    Json(JsonScanner),
    /// Inside prose, which may still contain `<tool_call>` blocks.
    Text,
}

/// Splits lines into frames. A document on one line is a frame at once, so a
/// session can run indefinitely; one that spans lines is a frame with its last
/// line; `<tool_call>` text is one when its blocks are closed.
///
/// After a line that makes a document invalid, the next line starts over. Only
/// a document truncated where a line may end is indistinguishable from one that
/// continues: it is reported when the next line does not fit, or at the end.
/// The requests that it swallowed meanwhile then get their own frames:
/// unindented lines that are each a whole request. There are none if its first
/// line ends in an opening bracket, as in pretty-printed documents: what
/// follows is more likely a part of it, and no part of a broken document may
/// run. A line truncated before the arguments of a call is reported with the
/// next line already, if that is an unindented request.
///
/// Likewise, prose at the beginning of a stream, where a model's reply is still
/// possible, waits for the next request or the end.
#[derive(Debug)]
pub struct RequestFramer {
    wanted: Option<CallDialect>,
    limit: usize,
    mode: FramerMode,
    buffer: String,
    /// The first line of `buffer`.
    first_line: usize,
    /// Whether `buffer` contains `<tool_call`.
    has_call_tag: bool,
    line: usize,
    offset: usize,
    seen_json: bool,
    seen_blocks: bool,
    seen_any: bool,
    /// Whether to skip lines that can only be the rest of a broken document; a
    /// fragment of it must not run.
    recovering: bool,
    /// How often `buffer` was searched without success, and its length at the
    /// last search.
    failed_searches: (u32, usize),
    /// Frames produced at the end of the stream and not yet returned.
    pending_frames: VecDeque<RequestFrame>,
}

impl RequestFramer {
    /// Maximum size of one request in bytes.
    pub const MAX_REQUEST_BYTES: usize = 256 << 20;

    /// Creates a framer for requests in the `wanted` dialect, or in any.
    pub fn new(wanted: Option<CallDialect>) -> Self {
        Self::with_limit(wanted, Self::MAX_REQUEST_BYTES)
    }

    /// Creates a framer that buffers at most `limit` bytes of one request.
    pub fn with_limit(wanted: Option<CallDialect>, limit: usize) -> Self {
        Self {
            wanted,
            limit,
            mode: FramerMode::Idle,
            buffer: String::new(),
            first_line: 1,
            has_call_tag: false,
            line: 0,
            offset: 0,
            seen_json: false,
            seen_blocks: false,
            seen_any: false,
            recovering: false,
            failed_searches: (0, 0),
            pending_frames: VecDeque::new(),
        }
    }

    /// Adds the next line, with or without its line break.
    pub fn push_line(&mut self, line: &str) -> Vec<RequestFrame> {
        self.line += 1;
        self.offset += line.len() + usize::from(!line.ends_with('\n'));
        let line = line.strip_suffix('\n').unwrap_or(line);
        let line = line.strip_suffix('\r').unwrap_or(line);
        let line =
            if self.line == 1 { line.strip_prefix('\u{feff}').unwrap_or(line) } else { line };
        let mut frames = Vec::new();
        self.take_line(line, &mut frames);
        frames
    }

    /// [`Self::push_line`] for bytes that may not be UTF-8.
    pub fn push_bytes(&mut self, line: &[u8]) -> Vec<RequestFrame> {
        let bad = match std::str::from_utf8(line) {
            Ok(text) => return self.push_line(text),
            Err(error) => self.offset + error.valid_up_to(),
        };
        self.line += 1;
        self.offset += line.len() + usize::from(!line.ends_with(b"\n"));
        self.seen_any = true;
        self.recovering = !matches!(self.mode, FramerMode::Idle);
        let error = ProtocolError::NotUtf8 { offset: bad, line: self.line };
        let own = RequestFrame::Error { line: self.line, error: error.clone() };
        let mut frames = Vec::new();
        match std::mem::replace(&mut self.mode, FramerMode::Idle) {
            FramerMode::Json(scanner) if line.starts_with(b"{") || line.starts_with(b"[") => {
                self.abandon_document(unfinished_frame(self.first_line, &scanner), &mut frames);
                frames.push(own);
            }
            FramerMode::Json(_) => self.abandon_document(
                RequestFrame::Error { line: self.first_line, error },
                &mut frames,
            ),
            FramerMode::Idle | FramerMode::Text => {
                self.reset();
                frames.push(own);
            }
        }
        frames
    }

    /// Ends the stream and returns the next remaining frame. Call it until it
    /// returns `None`. An empty stream is an error.
    pub fn finish(&mut self) -> Option<RequestFrame> {
        let line = self.first_line;
        match std::mem::replace(&mut self.mode, FramerMode::Idle) {
            FramerMode::Idle if self.seen_any => {}
            FramerMode::Idle => {
                self.pending_frames
                    .push_back(RequestFrame::Error { line: 1, error: ProtocolError::Empty });
            }
            FramerMode::Json(scanner) => {
                let mut frames = Vec::new();
                self.abandon_document(unfinished_frame(line, &scanner), &mut frames);
                self.pending_frames.extend(frames);
            }
            FramerMode::Text if self.has_call_tag => {
                let text = std::mem::take(&mut self.buffer);
                self.pending_frames.push_back(RequestFrame::Request { line, text });
            }
            FramerMode::Text if self.seen_blocks => {}
            FramerMode::Text => self.pending_frames.extend(self.refuse_prose()),
        }
        self.reset();
        self.seen_any = true;
        self.pending_frames.pop_front()
    }

    fn take_line(&mut self, line: &str, frames: &mut Vec<RequestFrame>) {
        if self.buffer.len() + line.len() > self.limit {
            let begin = if self.buffer.is_empty() { self.line } else { self.first_line };
            self.recovering = !matches!(self.mode, FramerMode::Idle);
            self.seen_any = true;
            let error = ProtocolError::TooLarge { line: begin, limit: self.limit };
            let error = RequestFrame::Error { line: begin, error };
            if matches!(self.mode, FramerMode::Json(_)) {
                let may_follow = !is_opener(&self.buffer) && line.len() <= self.limit;
                self.abandon_document(error, frames);
                if may_follow && self.is_request(line) {
                    self.begin_document(line, frames);
                }
            } else {
                self.reset();
                frames.push(error);
            }
            return;
        }
        match std::mem::replace(&mut self.mode, FramerMode::Idle) {
            FramerMode::Idle => self.begin_document(line, frames),
            FramerMode::Json(scanner) if self.is_next_request(line) => {
                self.abandon_document(unfinished_frame(self.first_line, &scanner), frames);
                self.begin_document(line, frames);
            }
            FramerMode::Json(scanner) => self.continue_json(scanner, line, frames),
            FramerMode::Text => self.continue_text(line, frames),
        }
    }

    fn begin_document(&mut self, line: &str, frames: &mut Vec<RequestFrame>) {
        if line.trim().is_empty() || (self.recovering && is_continuation(line)) {
            return;
        }
        self.recovering = false;
        self.seen_any = true;
        self.first_line = self.line;
        if line.trim_start().starts_with(['{', '[']) {
            self.continue_json(JsonScanner::new(), line, frames);
        } else if self.may_be_text(line) {
            self.continue_text(line, frames);
        } else {
            let error = match self.wanted {
                Some(_) => parse(line, self.wanted).err(),
                None => syntax::check_json(line).err(),
            }
            .unwrap_or_else(|| not_a_request_error(line));
            frames
                .push(RequestFrame::Error { line: self.line, error: error.starting_at(self.line) });
        }
    }

    fn continue_json(
        &mut self,
        mut scanner: JsonScanner,
        line: &str,
        frames: &mut Vec<RequestFrame>,
    ) {
        let step = match scanner.feed(line.as_bytes()) {
            ScanStatus::More => scanner.feed(b"\n"),
            other => other,
        };
        let first = self.buffer.is_empty();
        match step {
            ScanStatus::More => {
                self.append(line);
                self.mode = FramerMode::Json(scanner);
            }
            ScanStatus::Complete(_) => {
                self.append(line);
                self.seen_json = true;
                frames.push(RequestFrame::Request {
                    line: self.first_line,
                    text: self.take_buffer(),
                });
            }
            _ if self.wanted == Some(CallDialect::HermesText) => {
                self.has_call_tag = blocks::has_call_tag(&self.buffer);
                self.continue_text(line, frames);
            }
            ScanStatus::TooDeep(at) => {
                let (_, column) = syntax::position(line, at);
                let error =
                    ProtocolError::TooDeep { limit: MAX_SCAN_DEPTH, line: self.line, column };
                self.append(line);
                self.abandon_document(RequestFrame::Error { line: self.first_line, error }, frames);
                self.recovering = !first;
            }
            ScanStatus::Broken if !first && line.starts_with(['{', '[']) => {
                self.abandon_document(unfinished_frame(self.first_line, &scanner), frames);
                self.begin_document(line, frames);
            }
            ScanStatus::Broken => {
                self.append(line);
                let line = self.first_line;
                let error = syntax::check_json(&self.buffer)
                    .err()
                    .unwrap_or_else(|| not_a_request_error(&self.buffer))
                    .starting_at(line);
                self.abandon_document(RequestFrame::Error { line, error }, frames);
                self.recovering = !first;
            }
        }
    }

    /// Reports the document in `buffer`, then the requests that it swallowed.
    /// Each line is examined separately and only here, so nothing is read a
    /// third time.
    fn abandon_document(&mut self, error: RequestFrame, frames: &mut Vec<RequestFrame>) {
        frames.push(error);
        let begin = self.first_line;
        let text = self.take_buffer();
        if is_opener(&text) {
            return;
        }
        for (down, line) in text.split('\n').enumerate().skip(1) {
            if self.is_request(line) {
                self.seen_json = true;
                frames.push(RequestFrame::Request { line: begin + down, text: line.to_owned() });
            }
        }
    }

    /// Whether a line swallowed by a broken document is a separate request. An
    /// empty list would be one too, but is more likely a value.
    fn is_request(&self, line: &str) -> bool {
        is_document(line)
            && match parse(line, self.wanted) {
                Ok(request) => line.starts_with('{') || !request.calls.is_empty(),
                Err(error) => matches!(error, ProtocolError::WrongDialect { .. }),
            }
    }

    /// Whether the second line of a document is rather the next request. A call
    /// may be in a list or in a member such as `function`, and a name is a
    /// common argument; but a whole call as the arguments of another, after a
    /// line break without indentation, is very unlikely.
    fn is_next_request(&self, line: &str) -> bool {
        const WRAPPER_KEYS: [&str; 3] = ["function", "tool_calls", "choices"];
        let is_whole = |fields: KnownFields<'_>| {
            fields.first(&ARGUMENT_KEYS).or_else(|| fields.first(&WRAPPER_KEYS)).is_some()
        };
        self.line == self.first_line + 1
            && self.wanted != Some(CallDialect::HermesText)
            && line.starts_with('{')
            && ends_before_arguments(&self.buffer)
            && json_node::fields(line).is_ok_and(is_whole)
            && self.is_request(line)
    }

    fn continue_text(&mut self, line: &str, frames: &mut Vec<RequestFrame>) {
        if self.is_next_document(line) {
            if !self.seen_blocks {
                frames.extend(self.refuse_prose());
            }
            self.reset();
            self.begin_document(line, frames);
            return;
        }
        self.append(line);
        self.has_call_tag |= blocks::has_call_tag(line);
        self.mode = FramerMode::Text;
        if blocks::may_settle(line) && self.is_settled() {
            self.seen_blocks = true;
            frames.push(RequestFrame::Request { line: self.first_line, text: self.take_buffer() });
        }
    }

    /// Whether a document begins here and ends prose without a block.
    fn is_next_document(&self, line: &str) -> bool {
        if self.buffer.is_empty()
            || self.wanted == Some(CallDialect::HermesText)
            || !line.starts_with(['{', '['])
            || self.has_call_tag
        {
            return false;
        }
        match JsonScanner::new().feed(line.as_bytes()) {
            ScanStatus::More => true,
            ScanStatus::Complete(end) => line.get(end..).is_some_and(|rest| rest.trim().is_empty()),
            ScanStatus::Broken | ScanStatus::TooDeep(_) => false,
        }
    }

    /// Whether a line may be text. Once a session uses JSON, text must be
    /// complete on its line: waiting for more would swallow the following
    /// requests.
    fn may_be_text(&self, line: &str) -> bool {
        match self.wanted {
            Some(CallDialect::HermesText) => true,
            None => !self.seen_json || blocks::find_blocks(line).is_settled,
            Some(_) => false,
        }
    }

    /// Whether the text is complete. Searching again with every line would be
    /// quadratic, so after some attempts the text must have doubled first.
    fn is_settled(&mut self) -> bool {
        const MAX_EARLY_SEARCHES: u32 = 64;
        let (attempts, length) = self.failed_searches;
        if attempts >= MAX_EARLY_SEARCHES && self.buffer.len() < length.saturating_mul(2) {
            return false;
        }
        self.failed_searches = (attempts + 1, self.buffer.len());
        blocks::find_blocks(&self.buffer).is_settled
    }

    fn refuse_prose(&self) -> Option<RequestFrame> {
        let line = self.first_line;
        let error = parse(&self.buffer, self.wanted).err()?.starting_at(line);
        Some(RequestFrame::Error { line, error })
    }

    fn append(&mut self, line: &str) {
        if !self.buffer.is_empty() {
            self.buffer.push('\n');
        }
        self.buffer.push_str(line);
    }

    fn take_buffer(&mut self) -> String {
        let text = std::mem::take(&mut self.buffer);
        self.reset();
        text
    }

    fn reset(&mut self) {
        self.mode = FramerMode::Idle;
        self.buffer = String::new();
        self.has_call_tag = false;
        self.failed_searches = (0, 0);
    }
}

fn unfinished_frame(line: usize, scanner: &JsonScanner) -> RequestFrame {
    RequestFrame::Error {
        line,
        error: ProtocolError::Unfinished { line, missing: scanner.missing_suffix() },
    }
}

fn not_a_request_error(text: &str) -> ProtocolError {
    parse(text, None).err().unwrap_or(ProtocolError::Empty)
}

/// Whether a line is a whole, unindented document.
fn is_document(line: &str) -> bool {
    line.starts_with(['{', '['])
        && matches!(JsonScanner::new().feed(line.as_bytes()), ScanStatus::Complete(end)
            if line.get(end..).is_some_and(|rest| rest.trim().is_empty()))
}

/// Whether a text begins like a pretty-printed document: its first line ends
/// in an opening bracket.
fn is_opener(text: &str) -> bool {
    let first = text.split('\n').next().unwrap_or_default();
    first.trim_end().ends_with(['{', '['])
}

/// Whether a document ends right before the arguments of a call.
fn ends_before_arguments(text: &str) -> bool {
    let key = text.trim_end().strip_suffix(':').map(str::trim_end);
    let Some(key) = key.and_then(|key| key.strip_suffix('"')) else { return false };
    key.rsplit('"').next().is_some_and(|name| ARGUMENT_KEYS.contains(&name))
}

/// Whether a line can only be the middle or the end of a document.
fn is_continuation(line: &str) -> bool {
    line.starts_with([' ', '\t', '}', ']', '"'])
}

#[cfg(test)]
#[path = "framer_tests.rs"]
mod tests;
