//! The tolerant parser: one pass, with a stack of open brackets instead of
//! recursion.

use hermes_core::text::excerpt;
use memchr::{memchr, memmem};
use serde_json::{Map, Value};

use super::lexer::{RepairLexer, SyntaxFault};
use super::unique_keys::insert_unique;
use super::{ParsedArguments, RepairKind};
use crate::depth::MAX_DEPTH;

/// Parses one JSON value. Around it only whitespace, fences, surplus closers
/// and clear prose are allowed.
pub(super) fn parse_tolerant(text: &str) -> Result<ParsedArguments, SyntaxFault> {
    let mut parser =
        TolerantParser { lexer: RepairLexer::new(text), stack: Vec::new(), root: None };
    parser.skip_lead_in();
    while parser.root.is_none() {
        parser.lexer.skip_blank();
        match parser.lexer.peek() {
            Some(byte) => parser.step(byte)?,
            None => parser.close_all()?,
        }
    }
    let value = parser.root.take().unwrap_or_default();
    parser.check_trailing_text(&value)?;
    Ok(ParsedArguments { value, repairs: parser.lexer.repairs, is_guess: parser.lexer.guessed })
}

struct TolerantParser<'t> {
    lexer: RepairLexer<'t>,
    stack: Vec<BracketFrame>,
    root: Option<Value>,
}

/// An open bracket.
struct BracketFrame {
    content: BracketContent,
    /// Whether an item was just read, so a comma or the closer must follow.
    after_item: bool,
    /// Offset of the last comma, until an item follows it.
    comma: Option<usize>,
}

enum BracketContent {
    Array(Vec<Value>),
    Object {
        map: Map<String, Value>,
        /// The key whose value is being read.
        key: Option<String>,
    },
}

impl BracketFrame {
    fn new(content: BracketContent) -> Self {
        Self { content, after_item: false, comma: None }
    }

    fn closer(&self) -> u8 {
        match self.content {
            BracketContent::Array(_) => b']',
            BracketContent::Object { .. } => b'}',
        }
    }
}

impl TolerantParser<'_> {
    /// Skips to the start of the JSON: past a fence, or past prose that cannot
    /// be mistaken for it.
    fn skip_lead_in(&mut self) {
        self.lexer.skip_blank();
        let start = self.lexer.position;
        if let Some(body) = self.lexer.rest().strip_prefix("```") {
            self.lexer.record_repair(RepairKind::Fence, start);
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
            self.lexer.record_repair(RepairKind::Prose, self.lexer.position);
            self.lexer.position += at;
        }
    }

    /// Checks what follows the value.
    fn check_trailing_text(&mut self, value: &Value) -> Result<(), SyntaxFault> {
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
            return Err(self.lexer.syntax_fault("the end of the text"));
        };
        self.lexer.record_repair(kind, self.lexer.position);
        Ok(())
    }

    fn step(&mut self, byte: u8) -> Result<(), SyntaxFault> {
        let Some(frame) = self.stack.last_mut() else {
            return self.read_value(byte);
        };
        let closer = frame.closer();
        match byte {
            b',' => {
                let at = self.lexer.position;
                if !frame.after_item {
                    self.lexer.record_repair(RepairKind::ExtraComma, at);
                }
                frame.after_item = false;
                frame.comma = Some(at);
                self.lexer.position += 1;
                Ok(())
            }
            b'}' | b']' if byte == closer => {
                if let Some(at) = frame.comma.filter(|_| !frame.after_item) {
                    self.lexer.record_repair(RepairKind::ExtraComma, at);
                }
                self.lexer.position += 1;
                self.close()
            }
            b'}' | b']' => self.close_mismatched(byte),
            _ => {
                if frame.after_item {
                    if !starts_item(byte, closer) {
                        let expected = if closer == b'}' { "`,` or `}`" } else { "`,` or `]`" };
                        return Err(self.lexer.syntax_fault(expected));
                    }
                    self.lexer.record_repair(RepairKind::MissingComma, self.lexer.position);
                }
                if closer == b'}' { self.read_member() } else { self.read_value(byte) }
            }
        }
    }

    /// Handles a closer that does not match the innermost bracket: it closes an
    /// outer one, or is surplus.
    fn close_mismatched(&mut self, byte: u8) -> Result<(), SyntaxFault> {
        let at = self.lexer.position;
        if !self.stack.iter().any(|frame| frame.closer() == byte) {
            self.lexer.record_repair(RepairKind::SurplusCloser, at);
            self.lexer.guessed = true;
            self.lexer.position += 1;
            return Ok(());
        }
        while self.stack.last().is_some_and(|frame| frame.closer() != byte) {
            self.lexer.record_repair(RepairKind::MissingCloser, at);
            self.close()?;
        }
        Ok(())
    }

    /// Reads a key, its colon and the start of its value. Drops a key without a
    /// value.
    fn read_member(&mut self) -> Result<(), SyntaxFault> {
        let start = self.lexer.position;
        let key = self.lexer.read_key()?;
        self.lexer.skip_blank();
        if self.lexer.peek() == Some(b':') {
            self.lexer.position += 1;
            self.lexer.skip_blank();
        } else if !matches!(self.lexer.peek(), None | Some(b'}' | b',')) {
            return Err(self.lexer.syntax_fault("`:` after the key"));
        }
        match (self.lexer.peek(), key) {
            (None | Some(b'}' | b','), _) | (_, None) => {
                self.lexer.record_repair(RepairKind::MissingValue, start);
                self.finish_item();
                Ok(())
            }
            (Some(byte), Some(name)) => {
                if let Some(BracketContent::Object { key, .. }) = self.top_bracket() {
                    *key = Some(name);
                }
                self.read_value(byte)
            }
        }
    }

    /// Reads a scalar, or opens a container.
    fn read_value(&mut self, byte: u8) -> Result<(), SyntaxFault> {
        let start = self.lexer.position;
        let value = match byte {
            b'{' | b'[' => {
                if self.stack.len() == MAX_DEPTH {
                    return Err(SyntaxFault::too_deep(start));
                }
                self.lexer.position += 1;
                self.stack.push(BracketFrame::new(if byte == b'[' {
                    BracketContent::Array(Vec::new())
                } else {
                    BracketContent::Object { map: Map::new(), key: None }
                }));
                return Ok(());
            }
            b'"' | b'\'' => Some(Value::String(self.lexer.read_string().0)),
            b'0'..=b'9' | b'-' | b'+' | b'.' => self.lexer.read_number()?,
            _ if self.lexer.at_typographic_quote() && !self.stack.is_empty() => {
                Some(Value::String(self.lexer.read_typographic_string()?.0))
            }
            _ => self.lexer.read_literal()?,
        };
        match value {
            Some(value) => self.add_value(value)?,
            None if self.stack.is_empty() => {
                return Err(self.lexer.syntax_fault("a complete value"));
            }
            None => {
                self.lexer.record_repair(RepairKind::MissingValue, start);
                if let Some(BracketContent::Object { key, .. }) = self.top_bracket() {
                    *key = None;
                }
                self.finish_item();
            }
        }
        Ok(())
    }

    fn top_bracket(&mut self) -> Option<&mut BracketContent> {
        self.stack.last_mut().map(|frame| &mut frame.content)
    }

    /// Marks the current item as done, with or without a value.
    fn finish_item(&mut self) {
        if let Some(frame) = self.stack.last_mut() {
            frame.after_item = true;
            frame.comma = None;
        }
    }

    fn add_value(&mut self, value: Value) -> Result<(), SyntaxFault> {
        match self.top_bracket() {
            None => self.root = Some(value),
            Some(BracketContent::Array(items)) => items.push(value),
            Some(BracketContent::Object { map, key }) => {
                let inserted = insert_unique(map, key.take().unwrap_or_default(), value);
                if let Err(key) = inserted {
                    return Err(SyntaxFault {
                        found: Some(format!(
                            "different values for the key `{}`",
                            excerpt(&key, 64)
                        )),
                        ..SyntaxFault::new(self.lexer.position, "one value for each key")
                    });
                }
            }
        }
        self.finish_item();
        Ok(())
    }

    fn close(&mut self) -> Result<(), SyntaxFault> {
        let Some(frame) = self.stack.pop() else { return Ok(()) };
        self.add_value(match frame.content {
            BracketContent::Array(items) => Value::Array(items),
            BracketContent::Object { map, .. } => Value::Object(map),
        })
    }

    /// Closes all open brackets at the end of the text, innermost first.
    fn close_all(&mut self) -> Result<(), SyntaxFault> {
        if self.stack.is_empty() {
            return Err(self.lexer.syntax_fault("a JSON value"));
        }
        while !self.stack.is_empty() {
            self.lexer.record_repair(RepairKind::MissingCloser, self.lexer.position);
            self.close()?;
        }
        Ok(())
    }
}

/// Whether this byte can only start the next item, so a comma is missing.
fn starts_item(byte: u8, closer: u8) -> bool {
    match byte {
        b'"' | b'\'' => true,
        b'{' | b'[' | b'0'..=b'9' | b'-' => closer == b']',
        _ => false,
    }
}

/// Whether text next to the JSON is clearly not part of it.
fn is_prose(text: &str) -> bool {
    !text.contains(['{', '}', '[', ']', '"']) && !text.starts_with([',', ':'])
}
