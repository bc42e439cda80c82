//! Cuts a stream of lines into requests, each as soon as it is complete.

use crate::scan::{SCAN_DEPTH, Scanner, Step};
use crate::{Dialect, ProtocolError, Request, blocks, parse, syntax};

/// A piece of the stream that wants an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// A document, complete as far as brackets tell.
    Request {
        /// The line on which it begins, counted from 1.
        line: usize,
        /// Its text.
        text: String,
    },
    /// Something that cannot become one.
    Error {
        /// The line on which it begins, counted from 1.
        line: usize,
        /// What is wrong, with places counted in the stream.
        error: ProtocolError,
    },
}

impl Frame {
    /// The line on which it begins, counted from 1.
    pub fn line(&self) -> usize {
        match self {
            Self::Request { line, .. } | Self::Error { line, .. } => *line,
        }
    }

    /// Reads the request; places in errors are counted in the stream.
    pub fn parse(&self, wanted: Option<Dialect>) -> Result<Request, ProtocolError> {
        match self {
            Self::Request { line, text } => parse(text, wanted).map_err(|e| e.starting_at(*line)),
            Self::Error { error, .. } => Err(error.clone()),
        }
    }
}

#[derive(Debug)]
enum Mode {
    /// Between documents.
    Idle,
    /// Inside a document that spans lines.
    Json(Scanner),
    /// Inside prose, which may come to hold `<tool_call>` blocks.
    Text,
}

/// Cuts lines into frames. A document on one line is a frame at once, so that
/// a session can go on for as long as it likes; one that spans lines is a
/// frame with its last line; `<tool_call>` text is one when its blocks are
/// closed.
///
/// After a line that makes a document impossible the next one starts afresh.
/// Only a document cut off right where a line may end cannot be told from one
/// that goes on: it is reported when the next line does not fit, or at the
/// end. Likewise prose at the beginning of a stream, where a model's reply is
/// still possible, waits for the next request or the end.
#[derive(Debug)]
pub struct Framer {
    wanted: Option<Dialect>,
    limit: usize,
    mode: Mode,
    buffer: String,
    /// Where `buffer` begins.
    begin: usize,
    /// Whether a `<tool_call` stands in `buffer`.
    tagged: bool,
    line: usize,
    offset: usize,
    seen_json: bool,
    seen_blocks: bool,
    seen_any: bool,
    /// Whether lines are skipped that can only be the rest of a broken
    /// document; a fragment of it must not run.
    recovering: bool,
    /// How often `buffer` was searched in vain, and how long it was then.
    searched: (u32, usize),
}

impl Framer {
    /// The most bytes that one request may have.
    pub const MAX_BYTES: usize = 256 << 20;

    /// A framer for requests in the `wanted` dialect, or in any.
    pub fn new(wanted: Option<Dialect>) -> Self {
        Self::with_limit(wanted, Self::MAX_BYTES)
    }

    /// A framer that keeps at most `limit` bytes of one request.
    pub fn with_limit(wanted: Option<Dialect>, limit: usize) -> Self {
        Self {
            wanted,
            limit,
            mode: Mode::Idle,
            buffer: String::new(),
            begin: 1,
            tagged: false,
            line: 0,
            offset: 0,
            seen_json: false,
            seen_blocks: false,
            seen_any: false,
            recovering: false,
            searched: (0, 0),
        }
    }

    /// Takes the next line, with or without its line break.
    pub fn push_line(&mut self, line: &str) -> Vec<Frame> {
        self.line += 1;
        self.offset += line.len() + usize::from(!line.ends_with('\n'));
        let line = line.strip_suffix('\n').unwrap_or(line);
        let line = line.strip_suffix('\r').unwrap_or(line);
        let line =
            if self.line == 1 { line.strip_prefix('\u{feff}').unwrap_or(line) } else { line };
        let mut frames = Vec::new();
        self.take(line, &mut frames);
        frames
    }

    /// [`Self::push_line`] for bytes that should be UTF-8.
    pub fn push_bytes(&mut self, line: &[u8]) -> Vec<Frame> {
        let bad = match std::str::from_utf8(line) {
            Ok(text) => return self.push_line(text),
            Err(error) => self.offset + error.valid_up_to(),
        };
        self.line += 1;
        self.offset += line.len() + usize::from(!line.ends_with(b"\n"));
        self.seen_any = true;
        self.recovering = !matches!(self.mode, Mode::Idle);
        self.reset();
        let error = ProtocolError::NotUtf8 { offset: bad, line: self.line };
        vec![Frame::Error { line: self.line, error }]
    }

    /// Takes the end of the stream: what is left, if anything. A stream
    /// without anything in it is an error.
    pub fn finish(&mut self) -> Option<Frame> {
        let line = self.begin;
        let frame = match std::mem::replace(&mut self.mode, Mode::Idle) {
            Mode::Idle if self.seen_any => None,
            Mode::Idle => Some(Frame::Error { line: 1, error: ProtocolError::Empty }),
            Mode::Json(scanner) => Some(unfinished(line, &scanner)),
            Mode::Text if self.tagged => {
                Some(Frame::Request { line, text: std::mem::take(&mut self.buffer) })
            }
            Mode::Text if self.seen_blocks => None,
            Mode::Text => self.refuse_prose(),
        };
        self.reset();
        self.seen_any = true;
        frame
    }

    fn take(&mut self, line: &str, frames: &mut Vec<Frame>) {
        if self.buffer.len() + line.len() > self.limit {
            let begin = if self.buffer.is_empty() { self.line } else { self.begin };
            self.recovering = !matches!(self.mode, Mode::Idle);
            self.seen_any = true;
            self.reset();
            let error = ProtocolError::TooLarge { line: begin, limit: self.limit };
            frames.push(Frame::Error { line: begin, error });
            return;
        }
        match std::mem::replace(&mut self.mode, Mode::Idle) {
            Mode::Idle => self.begin(line, frames),
            Mode::Json(scanner) => self.go_on_with_json(scanner, line, frames),
            Mode::Text => self.go_on_with_text(line, frames),
        }
    }

    fn begin(&mut self, line: &str, frames: &mut Vec<Frame>) {
        if line.trim().is_empty() || (self.recovering && is_continuation(line)) {
            return;
        }
        self.recovering = false;
        self.seen_any = true;
        self.begin = self.line;
        if line.trim_start().starts_with(['{', '[']) {
            self.go_on_with_json(Scanner::new(), line, frames);
        } else if self.may_be_text(line) {
            self.go_on_with_text(line, frames);
        } else {
            let error = match self.wanted {
                Some(_) => parse(line, self.wanted).err(),
                None => syntax::check(line).err(),
            }
            .unwrap_or_else(|| unlike_a_request(line));
            frames.push(Frame::Error { line: self.line, error: error.starting_at(self.line) });
        }
    }

    fn go_on_with_json(&mut self, mut scanner: Scanner, line: &str, frames: &mut Vec<Frame>) {
        let step = match scanner.feed(line.as_bytes()) {
            Step::More => scanner.feed(b"\n"),
            other => other,
        };
        let first = self.buffer.is_empty();
        match step {
            Step::More => {
                self.append(line);
                self.mode = Mode::Json(scanner);
            }
            Step::Complete(_) => {
                self.append(line);
                self.seen_json = true;
                frames.push(Frame::Request { line: self.begin, text: self.take_buffer() });
            }
            _ if self.wanted == Some(Dialect::HermesText) => {
                self.tagged = blocks::has_tag(&self.buffer);
                self.go_on_with_text(line, frames);
            }
            Step::TooDeep(at) => {
                let (_, column) = syntax::position(line, at);
                let error = ProtocolError::TooDeep { limit: SCAN_DEPTH, line: self.line, column };
                frames.push(Frame::Error { line: self.begin, error });
                self.recovering = !first;
                self.reset();
            }
            Step::Broken if !first && line.starts_with(['{', '[']) => {
                frames.push(unfinished(self.begin, &scanner));
                self.reset();
                self.begin(line, frames);
            }
            Step::Broken => {
                self.append(line);
                let begin = self.begin;
                let text = self.take_buffer();
                let error = syntax::check(&text).err().unwrap_or_else(|| unlike_a_request(&text));
                frames.push(Frame::Error { line: begin, error: error.starting_at(begin) });
                self.recovering = !first;
            }
        }
    }

    fn go_on_with_text(&mut self, line: &str, frames: &mut Vec<Frame>) {
        if self.is_next_document(line) {
            if !self.seen_blocks {
                frames.extend(self.refuse_prose());
            }
            self.reset();
            self.begin(line, frames);
            return;
        }
        self.append(line);
        self.tagged |= blocks::has_tag(line);
        self.mode = Mode::Text;
        if blocks::may_settle(line) && self.is_settled() {
            self.seen_blocks = true;
            frames.push(Frame::Request { line: self.begin, text: self.take_buffer() });
        }
    }

    /// Whether prose without a block gives way to a document.
    fn is_next_document(&self, line: &str) -> bool {
        if self.buffer.is_empty()
            || self.wanted == Some(Dialect::HermesText)
            || !line.starts_with(['{', '['])
            || self.tagged
        {
            return false;
        }
        match Scanner::new().feed(line.as_bytes()) {
            Step::More => true,
            Step::Complete(end) => line.get(end..).is_some_and(|rest| rest.trim().is_empty()),
            Step::Broken | Step::TooDeep(_) => false,
        }
    }

    /// Once a session speaks JSON, text must be complete on its line: more
    /// lines would be requests that wait in vain.
    fn may_be_text(&self, line: &str) -> bool {
        match self.wanted {
            Some(Dialect::HermesText) => true,
            None => !self.seen_json || blocks::find(line).settled,
            Some(_) => false,
        }
    }

    /// Searching again with every line would be quadratic, so after some
    /// attempts the text must have doubled first.
    fn is_settled(&mut self) -> bool {
        const ATTEMPTS: u32 = 64;
        let (attempts, length) = self.searched;
        if attempts >= ATTEMPTS && self.buffer.len() < length.saturating_mul(2) {
            return false;
        }
        self.searched = (attempts + 1, self.buffer.len());
        blocks::find(&self.buffer).settled
    }

    fn refuse_prose(&self) -> Option<Frame> {
        let line = self.begin;
        let error = parse(&self.buffer, self.wanted).err()?.starting_at(line);
        Some(Frame::Error { line, error })
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
        self.mode = Mode::Idle;
        self.buffer = String::new();
        self.tagged = false;
        self.searched = (0, 0);
    }
}

fn unfinished(line: usize, scanner: &Scanner) -> Frame {
    Frame::Error { line, error: ProtocolError::Unfinished { line, missing: scanner.missing() } }
}

fn unlike_a_request(text: &str) -> ProtocolError {
    parse(text, None).err().unwrap_or(ProtocolError::Empty)
}

/// Whether a line can only be the middle or the end of a document.
fn is_continuation(line: &str) -> bool {
    line.starts_with([' ', '\t', '}', ']', '"'])
}

#[cfg(test)]
#[path = "framer_tests.rs"]
mod tests;
