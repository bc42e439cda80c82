//! Tokens of tolerant JSON text: whitespace, strings, numbers, words, keys.

use std::borrow::Cow;

use memchr::{memchr, memchr2, memmem};
use serde_json::{Number, Value};

use super::{MAX_LISTED_REPAIRS, RepairKind, TextRepair};

/// Offset at which parsing failed, and what was expected there.
#[derive(Debug)]
pub(super) struct SyntaxFault {
    pub(super) offset: usize,
    pub(super) expected: Cow<'static, str>,
    /// What was found, if it is not the character at the offset.
    pub(super) found: Option<String>,
}

impl SyntaxFault {
    pub(super) fn new(offset: usize, expected: impl Into<Cow<'static, str>>) -> Self {
        Self { offset, expected: expected.into(), found: None }
    }
}

/// Typographic quotes that text programs put in place of straight ones.
const DOUBLE_QUOTES: &[char] = &['“', '”', '„', '‟'];
const SINGLE_QUOTES: &[char] = &['‘', '’', '‚', '‛'];

/// A cursor over the text that records its repairs.
#[derive(Debug)]
pub(super) struct RepairLexer<'t> {
    pub(super) text: &'t str,
    pub(super) position: usize,
    pub(super) end: usize,
    pub(super) repairs: Vec<TextRepair>,
    pub(super) guessed: bool,
}

impl<'t> RepairLexer<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, position: 0, end: text.len(), repairs: Vec::new(), guessed: false }
    }

    pub(super) fn record_repair(&mut self, kind: RepairKind, offset: usize) {
        self.guessed |= kind.is_guess();
        if self.repairs.len() < MAX_LISTED_REPAIRS {
            self.repairs.push(TextRepair { kind, offset });
        }
    }

    pub(super) fn rest(&self) -> &'t str {
        self.text.get(self.position..self.end).unwrap_or_default()
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.rest().as_bytes().first().copied()
    }

    pub(super) fn syntax_fault(&self, expected: impl Into<Cow<'static, str>>) -> SyntaxFault {
        SyntaxFault::new(self.position, expected)
    }

    /// Skips whitespace, byte order marks and comments.
    pub(super) fn skip_blank(&mut self) {
        loop {
            let rest = self.rest();
            let blank = rest
                .find(|c: char| !c.is_whitespace() && !matches!(c, '\u{feff}' | '\u{200b}'))
                .unwrap_or(rest.len());
            self.position += blank;
            let rest = self.rest().as_bytes();
            let length = if rest.starts_with(b"//") {
                memchr(b'\n', rest).unwrap_or(rest.len())
            } else if rest.starts_with(b"/*") {
                memmem::find(rest, b"*/").map_or(rest.len(), |at| at + 2)
            } else if self.is_hash_comment() {
                memchr(b'\n', rest).unwrap_or(rest.len())
            } else {
                return;
            };
            self.record_repair(RepairKind::Comment, self.position);
            self.position += length;
        }
    }

    /// Whether a `#` comment starts here. `#fff` is none, and neither is what
    /// stands in place of a value.
    fn is_hash_comment(&self) -> bool {
        let Some(rest) = self.rest().strip_prefix('#') else { return false };
        let before = self.text.get(..self.position).unwrap_or_default();
        rest.starts_with([' ', '\t', '#', '\r', '\n']) && !before.trim_end().ends_with(':')
    }

    /// Whether a string with typographic quotes starts here.
    pub(super) fn at_typographic_quote(&self) -> bool {
        self.rest().starts_with(DOUBLE_QUOTES) || self.rest().starts_with(SINGLE_QUOTES)
    }

    /// Reads a string in typographic quotes; returns it and whether it was
    /// closed. A quote inside it could be its end or part of the text, so only
    /// one that a `,`, `:` or closer follows ends it, and any other is an error.
    pub(super) fn read_typographic_string(&mut self) -> Result<(String, bool), SyntaxFault> {
        let opened = self.position;
        let is_double = self.rest().starts_with(DOUBLE_QUOTES);
        let quotes = if is_double { DOUBLE_QUOTES } else { SINGLE_QUOTES };
        let is_quote = |c: char| quotes.contains(&c) || (is_double && c == '"');
        self.record_repair(RepairKind::TypographicQuotes, opened);
        self.position += self.rest().chars().next().map_or(0, char::len_utf8);
        let mut content = String::new();
        loop {
            let rest = self.rest();
            let stop = rest.find(|c| c == '\\' || is_quote(c)).unwrap_or(rest.len());
            content.push_str(&rest[..stop]);
            self.position += stop;
            let Some(next) = self.rest().chars().next() else {
                self.record_repair(RepairKind::UnterminatedString, opened);
                return Ok((content, false));
            };
            if next == '\\' {
                self.read_escape(&mut content);
                continue;
            }
            let after = self.rest()[next.len_utf8()..].trim_start();
            if !after.is_empty() && !after.starts_with([',', ':', '}', ']']) {
                return Err(
                    self.syntax_fault("one reading of the quotes (use straight double quotes)")
                );
            }
            self.position += next.len_utf8();
            return Ok((content, true));
        }
    }

    /// Reads a quoted string at the cursor; returns it and whether it was
    /// closed.
    pub(super) fn read_string(&mut self) -> (String, bool) {
        let opened = self.position;
        let quote = self.peek().unwrap_or(b'"');
        self.position += 1;
        if quote == b'\'' {
            self.record_repair(RepairKind::SingleQuotes, opened);
        }
        let mut content = String::new();
        let mut tidy = true;
        loop {
            let rest = self.rest();
            let stop = memchr2(quote, b'\\', rest.as_bytes()).unwrap_or(rest.len());
            let plain = &rest[..stop];
            tidy &= !plain.bytes().any(|byte| byte < 0x20);
            content.push_str(plain);
            self.position += stop;
            let closed = match self.peek() {
                Some(b'\\') => {
                    self.read_escape(&mut content);
                    continue;
                }
                Some(_) => true,
                None => false,
            };
            if !tidy {
                self.record_repair(RepairKind::ControlCharacter, opened);
            }
            if closed {
                self.position += 1;
            } else {
                self.record_repair(RepairKind::UnterminatedString, opened);
            }
            return (content, closed);
        }
    }

    /// Reads one escape, with the cursor at its backslash. Drops an escape
    /// truncated by the end of the text.
    fn read_escape(&mut self, content: &mut String) {
        let at = self.position;
        self.position += 1;
        let plain = match self.peek() {
            None => return,
            Some(b'u') => return self.read_unicode_escape(at, content),
            Some(byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'\'') => {
                self.record_repair(RepairKind::Escape, at);
                '\''
            }
            Some(_) => {
                // `\d`, `C:\dir`: keep the backslash as text.
                self.record_repair(RepairKind::Escape, at);
                content.push('\\');
                return;
            }
        };
        content.push(plain);
        self.position += 1;
    }

    fn read_unicode_escape(&mut self, at: usize, content: &mut String) {
        let digits = self.rest().get(1..5).and_then(parse_hex);
        let Some(unit) = digits else {
            if self.rest().len() < 5 && self.rest()[1..].bytes().all(|b| b.is_ascii_hexdigit()) {
                self.position = self.end;
                return;
            }
            self.record_repair(RepairKind::Escape, at);
            content.push('\\');
            return;
        };
        self.position += 5;
        let low =
            self.rest().strip_prefix("\\u").and_then(|rest| rest.get(..4)).and_then(parse_hex);
        let pair = low.and_then(|low| char::decode_utf16([unit, low]).next()?.ok());
        match (char::from_u32(u32::from(unit)), pair) {
            (Some(single), _) => content.push(single),
            (None, Some(both)) => {
                self.position += 6;
                content.push(both);
            }
            (None, None) => {
                self.record_repair(RepairKind::HalfCharacter, at);
                content.push(char::REPLACEMENT_CHARACTER);
            }
        }
    }

    /// Reads a number; `None` if the text ends inside it.
    pub(super) fn read_number(&mut self) -> Result<Option<Value>, SyntaxFault> {
        let start = self.position;
        let token =
            self.take_while(|c| c.is_ascii_digit() || matches!(c, '+' | '-' | '.' | 'e' | 'E'));
        if let Some(number) = parse_number(token) {
            return Ok(Some(number));
        }
        if self.position == self.end && !token.ends_with(|c: char| c.is_ascii_digit()) {
            return Ok(None);
        }
        if let Some(number) = parse_number(&respell_number(token)) {
            self.record_repair(RepairKind::Number, start);
            return Ok(Some(number));
        }
        Err(SyntaxFault::new(start, "a JSON number"))
    }

    /// Reads a bare word as a value; `None` if the text ends inside it.
    pub(super) fn read_literal(&mut self) -> Result<Option<Value>, SyntaxFault> {
        let start = self.position;
        let word = self.take_while(|c| c.is_alphanumeric() || c == '_');
        let lower = word.to_ascii_lowercase();
        let value = match lower.as_str() {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            "null" | "none" => Value::Null,
            "nan" | "inf" | "infinity" => {
                return Err(SyntaxFault::new(
                    start,
                    "a finite number (NaN and Infinity are not JSON)",
                ));
            }
            cut if self.position == self.end
                && !cut.is_empty()
                && ["true", "false", "null", "none"].iter().any(|full| full.starts_with(cut)) =>
            {
                return Ok(None);
            }
            _ => return self.read_bare_word(start).map(Some),
        };
        if !matches!(word, "true" | "false" | "null") {
            self.record_repair(RepairKind::Literal, start);
        }
        Ok(Some(value))
    }

    /// Reads one word without quotes as text, if nothing else stands beside it.
    fn read_bare_word(&mut self, start: usize) -> Result<Value, SyntaxFault> {
        self.position = start;
        let word = self.take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/'));
        let is_whole = self.rest().trim_start().starts_with([',', '}', ']']);
        if !is_whole || !word.starts_with(char::is_alphabetic) || word == "undefined" {
            return Err(SyntaxFault::new(start, "a value (text needs double quotes)"));
        }
        self.record_repair(RepairKind::BareWord, start);
        Ok(Value::from(word))
    }

    /// Reads the key of a member; `None` if the text ends inside it.
    pub(super) fn read_key(&mut self) -> Result<Option<String>, SyntaxFault> {
        if matches!(self.peek(), Some(b'"' | b'\'')) {
            let (key, closed) = self.read_string();
            return Ok(closed.then_some(key));
        }
        if self.at_typographic_quote() {
            let (key, closed) = self.read_typographic_string()?;
            return Ok(closed.then_some(key));
        }
        let start = self.position;
        let word = self.take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '$' | '-' | '.'));
        if word.is_empty() {
            return Err(SyntaxFault::new(start, "a key in double quotes or `}`"));
        }
        self.record_repair(RepairKind::BareKey, start);
        Ok(Some(word.to_owned()))
    }

    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let length = rest.find(|c| !wanted(c)).unwrap_or(rest.len());
        self.position += length;
        &rest[..length]
    }
}

fn parse_hex(digits: &str) -> Option<u16> {
    let hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    hex.then(|| u16::from_str_radix(digits, 16).ok()).flatten()
}

/// Parses a number with `serde_json`, so strict and tolerant parsing agree.
fn parse_number(token: &str) -> Option<Value> {
    token.parse::<Number>().ok().map(Value::Number)
}

/// Rewrites `+5`, `.5` and `5.` as JSON numbers.
fn respell_number(token: &str) -> String {
    let token = token.strip_prefix('+').unwrap_or(token);
    let (sign, digits) = match token.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", token),
    };
    let zero = if digits.starts_with('.') { "0" } else { "" };
    let mut respelled = format!("{sign}{zero}{digits}");
    if respelled.ends_with('.') {
        respelled.push('0');
    }
    respelled
}
