//! Cuts a stream of lines into requests, each as soon as it is complete.

use std::collections::VecDeque;

use crate::call::ARGUMENTS;
use crate::node::{self, Fields};
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
/// end. The requests that it took in meanwhile get their own frames then:
/// lines, not indented, each a whole request. There are none if its first
/// line ends in an opening bracket, as those of pretty-printed documents do:
/// what follows is more likely a part of it, and no part of a broken document
/// may run. A line cut off before the arguments of a call is reported with
/// the next line already, if that is a request that is not indented.
///
/// Likewise prose at the beginning of a stream, where a model's reply is
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
    /// What the end of the stream gave and nobody has taken yet.
    last: VecDeque<Frame>,
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
            last: VecDeque::new(),
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
        let error = ProtocolError::NotUtf8 { offset: bad, line: self.line };
        let own = Frame::Error { line: self.line, error: error.clone() };
        let mut frames = Vec::new();
        match std::mem::replace(&mut self.mode, Mode::Idle) {
            Mode::Json(scanner) if line.starts_with(b"{") || line.starts_with(b"[") => {
                self.give_up(unfinished(self.begin, &scanner), &mut frames);
                frames.push(own);
            }
            Mode::Json(_) => self.give_up(Frame::Error { line: self.begin, error }, &mut frames),
            Mode::Idle | Mode::Text => {
                self.reset();
                frames.push(own);
            }
        }
        frames
    }

    /// Takes the end of the stream: the next frame of what is left. There may
    /// be several, so it is called until it gives none. A stream without
    /// anything in it is an error.
    pub fn finish(&mut self) -> Option<Frame> {
        let line = self.begin;
        match std::mem::replace(&mut self.mode, Mode::Idle) {
            Mode::Idle if self.seen_any => {}
            Mode::Idle => {
                self.last.push_back(Frame::Error { line: 1, error: ProtocolError::Empty });
            }
            Mode::Json(scanner) => {
                let mut frames = Vec::new();
                self.give_up(unfinished(line, &scanner), &mut frames);
                self.last.extend(frames);
            }
            Mode::Text if self.tagged => {
                let text = std::mem::take(&mut self.buffer);
                self.last.push_back(Frame::Request { line, text });
            }
            Mode::Text if self.seen_blocks => {}
            Mode::Text => self.last.extend(self.refuse_prose()),
        }
        self.reset();
        self.seen_any = true;
        self.last.pop_front()
    }

    fn take(&mut self, line: &str, frames: &mut Vec<Frame>) {
        if self.buffer.len() + line.len() > self.limit {
            let begin = if self.buffer.is_empty() { self.line } else { self.begin };
            self.recovering = !matches!(self.mode, Mode::Idle);
            self.seen_any = true;
            let error = ProtocolError::TooLarge { line: begin, limit: self.limit };
            let error = Frame::Error { line: begin, error };
            if matches!(self.mode, Mode::Json(_)) {
                let may_follow = !is_opener(&self.buffer) && line.len() <= self.limit;
                self.give_up(error, frames);
                if may_follow && self.is_request(line) {
                    self.begin(line, frames);
                }
            } else {
                self.reset();
                frames.push(error);
            }
            return;
        }
        match std::mem::replace(&mut self.mode, Mode::Idle) {
            Mode::Idle => self.begin(line, frames),
            Mode::Json(scanner) if self.is_next_request(line) => {
                self.give_up(unfinished(self.begin, &scanner), frames);
                self.begin(line, frames);
            }
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
                self.append(line);
                self.give_up(Frame::Error { line: self.begin, error }, frames);
                self.recovering = !first;
            }
            Step::Broken if !first && line.starts_with(['{', '[']) => {
                self.give_up(unfinished(self.begin, &scanner), frames);
                self.begin(line, frames);
            }
            Step::Broken => {
                self.append(line);
                let line = self.begin;
                let error = syntax::check(&self.buffer)
                    .err()
                    .unwrap_or_else(|| unlike_a_request(&self.buffer))
                    .starting_at(line);
                self.give_up(Frame::Error { line, error }, frames);
                self.recovering = !first;
            }
        }
    }

    /// Reports the document in `buffer`, then the requests that it took in.
    /// Every line is looked at by itself and only here, so that nothing is
    /// read a third time.
    fn give_up(&mut self, error: Frame, frames: &mut Vec<Frame>) {
        frames.push(error);
        let begin = self.begin;
        let text = self.take_buffer();
        if is_opener(&text) {
            return;
        }
        for (down, line) in text.split('\n').enumerate().skip(1) {
            if self.is_request(line) {
                self.seen_json = true;
                frames.push(Frame::Request { line: begin + down, text: line.to_owned() });
            }
        }
    }

    /// Whether a line that a broken document took in is a request of its own.
    /// An empty list would be one too, but is more likely a value.
    fn is_request(&self, line: &str) -> bool {
        is_document(line)
            && match parse(line, self.wanted) {
                Ok(request) => line.starts_with('{') || !request.calls.is_empty(),
                Err(error) => matches!(error, ProtocolError::WrongDialect { .. }),
            }
    }

    /// Whether the second line of a document is rather the next request. A
    /// call may stand in a list or in a member such as `function`, and a name
    /// is a common argument; but hardly anyone passes a whole call as the
    /// arguments of another and then breaks the line without indenting.
    fn is_next_request(&self, line: &str) -> bool {
        const WRAPPERS: [&str; 3] = ["function", "tool_calls", "choices"];
        let is_whole = |fields: Fields<'_>| {
            fields.first(&ARGUMENTS).or_else(|| fields.first(&WRAPPERS)).is_some()
        };
        self.line == self.begin + 1
            && self.wanted != Some(Dialect::HermesText)
            && line.starts_with('{')
            && awaits_arguments(&self.buffer)
            && node::fields(line).is_ok_and(is_whole)
            && self.is_request(line)
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

/// Whether a line is a whole document, not indented.
fn is_document(line: &str) -> bool {
    line.starts_with(['{', '['])
        && matches!(Scanner::new().feed(line.as_bytes()), Step::Complete(end)
            if line.get(end..).is_some_and(|rest| rest.trim().is_empty()))
}

/// Whether a text begins like a pretty-printed document: its first line ends
/// in an opening bracket.
fn is_opener(text: &str) -> bool {
    let first = text.split('\n').next().unwrap_or_default();
    first.trim_end().ends_with(['{', '['])
}

/// Whether a document stops right before the arguments of a call.
fn awaits_arguments(text: &str) -> bool {
    let key = text.trim_end().strip_suffix(':').map(str::trim_end);
    let Some(key) = key.and_then(|key| key.strip_suffix('"')) else { return false };
    key.rsplit('"').next().is_some_and(|name| ARGUMENTS.contains(&name))
}

/// Whether a line can only be the middle or the end of a document.
fn is_continuation(line: &str) -> bool {
    line.starts_with([' ', '\t', '}', ']', '"'])
}

#[cfg(test)]
#[path = "framer_tests.rs"]
mod tests;
