//! The tolerant parser: one pass, and a stack of open brackets instead of recursion.

use memchr::{memchr, memmem};
use serde_json::{Map, Value};

use super::lexer::{Fault, Lexer};
use super::{Parsed, RepairKind};
use crate::depth::MAX_DEPTH;

/// Reads one JSON value and nothing else but blanks, fences, surplus closers and clear prose.
pub(super) fn parse(text: &str) -> Result<Parsed, Fault> {
    let mut parser = Parser { lexer: Lexer::new(text), stack: Vec::new(), root: None };
    parser.lead_in();
    while parser.root.is_none() {
        parser.lexer.skip_blank();
        match parser.lexer.peek() {
            Some(byte) => parser.step(byte)?,
            None => parser.complete()?,
        }
    }
    let value = parser.root.take().unwrap_or_default();
    parser.lead_out(&value)?;
    Ok(Parsed { value, repairs: parser.lexer.repairs, guessed: parser.lexer.guessed })
}

struct Parser<'t> {
    lexer: Lexer<'t>,
    stack: Vec<Frame>,
    root: Option<Value>,
}

/// A bracket that is still open.
struct Frame {
    content: Content,
    /// An item was just read, so a comma or the closer is due.
    after_item: bool,
    /// The last comma, as long as no item followed it.
    comma: Option<usize>,
}

enum Content {
    Array(Vec<Value>),
    Object {
        map: Map<String, Value>,
        /// The key whose value is being read.
        key: Option<String>,
    },
}

impl Frame {
    fn new(content: Content) -> Self {
        Self { content, after_item: false, comma: None }
    }

    fn closer(&self) -> u8 {
        match self.content {
            Content::Array(_) => b']',
            Content::Object { .. } => b'}',
        }
    }
}

impl Parser<'_> {
    /// Goes to the start of the JSON: past a fence, or past prose that cannot be mistaken for it.
    fn lead_in(&mut self) {
        self.lexer.skip_blank();
        let start = self.lexer.position;
        if let Some(body) = self.lexer.rest().strip_prefix("```") {
            self.lexer.repair(RepairKind::Fence, start);
            let body = body.trim_start_matches('`');
            let tag = body.find(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '-' | '+'));
            self.lexer.position = self.lexer.end - body.len() + tag.unwrap_or(body.len());
            let closing = memmem::rfind(self.lexer.rest().as_bytes(), b"```");
            if let Some(at) = closing.filter(|at| is_prose(&self.lexer.rest()[*at..])) {
                self.lexer.end = self.lexer.position + at;
            }
            self.lexer.skip_blank();
        }
        let rest = self.lexer.rest();
        if rest.starts_with(['{', '[', '"', '\'']) {
            return;
        }
        if let Some(at) = memchr(b'{', rest.as_bytes()).filter(|at| is_prose(&rest[..*at])) {
            self.lexer.repair(RepairKind::Prose, self.lexer.position);
            self.lexer.position += at;
        }
    }

    /// Judges what follows the value.
    fn lead_out(&mut self, value: &Value) -> Result<(), Fault> {
        self.lexer.skip_blank();
        let rest = self.lexer.rest();
        if rest.is_empty() {
            return Ok(());
        }
        let only_closers = |c: char| c.is_whitespace() || matches!(c, '}' | ']' | ',' | ';' | '`');
        let kind = if rest.chars().all(only_closers) {
            RepairKind::SurplusCloser
        } else if (value.is_object() || value.is_array()) && is_prose(rest) {
            RepairKind::Prose
        } else {
            return Err(self.lexer.fault("the end of the text"));
        };
        self.lexer.repair(kind, self.lexer.position);
        Ok(())
    }

    fn step(&mut self, byte: u8) -> Result<(), Fault> {
        let Some(frame) = self.stack.last_mut() else {
            return self.value(byte);
        };
        let closer = frame.closer();
        match byte {
            b',' => {
                let at = self.lexer.position;
                if !frame.after_item {
                    self.lexer.repair(RepairKind::ExtraComma, at);
                }
                frame.after_item = false;
                frame.comma = Some(at);
                self.lexer.position += 1;
                Ok(())
            }
            b'}' | b']' if byte == closer => {
                if let Some(at) = frame.comma.filter(|_| !frame.after_item) {
                    self.lexer.repair(RepairKind::ExtraComma, at);
                }
                self.lexer.position += 1;
                self.close();
                Ok(())
            }
            b'}' | b']' => {
                self.foreign_closer(byte);
                Ok(())
            }
            _ => {
                if frame.after_item {
                    if !starts_item(byte, closer) {
                        let expected = if closer == b'}' { "`,` or `}`" } else { "`,` or `]`" };
                        return Err(self.lexer.fault(expected));
                    }
                    self.lexer.repair(RepairKind::MissingComma, self.lexer.position);
                }
                if closer == b'}' { self.member() } else { self.value(byte) }
            }
        }
    }

    /// A closer that does not fit the innermost bracket: it ends an outer one, or is surplus.
    fn foreign_closer(&mut self, byte: u8) {
        let at = self.lexer.position;
        if !self.stack.iter().any(|frame| frame.closer() == byte) {
            self.lexer.repair(RepairKind::SurplusCloser, at);
            self.lexer.guessed = true;
            self.lexer.position += 1;
            return;
        }
        while self.stack.last().is_some_and(|frame| frame.closer() != byte) {
            self.lexer.repair(RepairKind::MissingCloser, at);
            self.close();
        }
    }

    /// A key, its colon and the start of its value. A key without a value is left out.
    fn member(&mut self) -> Result<(), Fault> {
        let start = self.lexer.position;
        let key = self.lexer.key()?;
        self.lexer.skip_blank();
        if self.lexer.peek() == Some(b':') {
            self.lexer.position += 1;
            self.lexer.skip_blank();
        } else if !matches!(self.lexer.peek(), None | Some(b'}' | b',')) {
            return Err(self.lexer.fault("`:` after the key"));
        }
        match (self.lexer.peek(), key) {
            (None | Some(b'}' | b','), _) | (_, None) => {
                self.lexer.repair(RepairKind::MissingValue, start);
                self.settle();
                Ok(())
            }
            (Some(byte), Some(name)) => {
                if let Some(Content::Object { key, .. }) = self.top() {
                    *key = Some(name);
                }
                self.value(byte)
            }
        }
    }

    /// A scalar, or the opening of a container.
    fn value(&mut self, byte: u8) -> Result<(), Fault> {
        let start = self.lexer.position;
        let value = match byte {
            b'{' | b'[' => {
                if self.stack.len() == MAX_DEPTH {
                    return Err(Fault::too_deep(start));
                }
                self.lexer.position += 1;
                self.stack.push(Frame::new(if byte == b'[' {
                    Content::Array(Vec::new())
                } else {
                    Content::Object { map: Map::new(), key: None }
                }));
                return Ok(());
            }
            b'"' | b'\'' => Some(Value::String(self.lexer.string().0)),
            b'0'..=b'9' | b'-' | b'+' | b'.' => self.lexer.number()?,
            _ => self.lexer.literal()?,
        };
        match value {
            Some(value) => self.place(value),
            None if self.stack.is_empty() => return Err(self.lexer.fault("a complete value")),
            None => {
                self.lexer.repair(RepairKind::MissingValue, start);
                if let Some(Content::Object { key, .. }) = self.top() {
                    *key = None;
                }
                self.settle();
            }
        }
        Ok(())
    }

    fn top(&mut self) -> Option<&mut Content> {
        self.stack.last_mut().map(|frame| &mut frame.content)
    }

    /// Marks the current item as done, whether or not it left a value.
    fn settle(&mut self) {
        if let Some(frame) = self.stack.last_mut() {
            frame.after_item = true;
            frame.comma = None;
        }
    }

    fn place(&mut self, value: Value) {
        match self.top() {
            None => self.root = Some(value),
            Some(Content::Array(items)) => items.push(value),
            Some(Content::Object { map, key }) => {
                map.insert(key.take().unwrap_or_default(), value);
            }
        }
        self.settle();
    }

    fn close(&mut self) {
        let Some(frame) = self.stack.pop() else { return };
        self.place(match frame.content {
            Content::Array(items) => Value::Array(items),
            Content::Object { map, .. } => Value::Object(map),
        });
    }

    /// The text is over: closes what is open, innermost first.
    fn complete(&mut self) -> Result<(), Fault> {
        if self.stack.is_empty() {
            return Err(self.lexer.fault("a JSON value"));
        }
        while !self.stack.is_empty() {
            self.lexer.repair(RepairKind::MissingCloser, self.lexer.position);
            self.close();
        }
        Ok(())
    }
}

/// Whether this can only be the start of the next item, so that a comma was forgotten.
fn starts_item(byte: u8, closer: u8) -> bool {
    match byte {
        b'"' | b'\'' => true,
        b'{' | b'[' | b'0'..=b'9' | b'-' => closer == b']',
        _ => false,
    }
}

/// Whether a text beside the JSON is clearly no part of it.
fn is_prose(text: &str) -> bool {
    !text.contains(['{', '}', '[', ']', '"']) && !text.starts_with([',', ':'])
}
