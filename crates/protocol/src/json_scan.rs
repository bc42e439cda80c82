//! Scans JSON structure byte by byte: where a document ends, where it becomes
//! invalid, and what it still needs.

use memchr::{memchr2, memchr3};

use crate::syntax;

/// Maximum nesting of a parsed value.
pub(crate) const MAX_VALUE_DEPTH: usize = 128;

/// Maximum nesting that the scanner follows.
pub(crate) const MAX_SCAN_DEPTH: usize = 100_000;

/// The state of a document so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScanStatus {
    /// Valid but incomplete.
    More,
    /// Complete; the offset just past its end.
    Complete(usize),
    /// Invalid, whatever follows.
    Broken,
    /// Nested beyond [`MAX_SCAN_DEPTH`].
    TooDeep(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ScanState {
    /// A value must follow.
    Value,
    /// A value or `]`.
    FirstValue,
    /// A key must follow.
    Key,
    /// A key or `}`.
    FirstKey,
    Colon,
    /// `,` or the closing bracket.
    After,
    /// Inside a number or a literal.
    Scalar,
    Text {
        key: bool,
    },
    Escape {
        key: bool,
    },
    Done,
}

/// Scans one document that begins with a bracket. Literals and numbers are not
/// checked: the parser of the complete document does that.
#[derive(Debug)]
pub(crate) struct JsonScanner {
    /// The closing brackets still expected.
    expected_closers: Vec<u8>,
    state: ScanState,
}

impl JsonScanner {
    pub(crate) fn new() -> Self {
        Self { expected_closers: Vec::new(), state: ScanState::Value }
    }

    /// Continues with the next piece of the text.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> ScanStatus {
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            match self.state {
                ScanState::Text { key } => {
                    let rest = bytes.get(at..).unwrap_or_default();
                    let Some(skip) = memchr3(b'"', b'\\', b'\n', rest) else {
                        return ScanStatus::More;
                    };
                    at += skip;
                    match bytes.get(at) {
                        Some(b'"') if key => self.state = ScanState::Colon,
                        Some(b'"') => self.state = ScanState::After,
                        Some(b'\\') => self.state = ScanState::Escape { key },
                        _ => return ScanStatus::Broken,
                    }
                }
                ScanState::Escape { key } => self.state = ScanState::Text { key },
                ScanState::Scalar if is_scalar(byte) => {}
                _ if byte.is_ascii_whitespace() => {
                    if self.state == ScanState::Scalar {
                        self.state = ScanState::After;
                    }
                }
                _ => {
                    if !self.token(byte) {
                        return ScanStatus::Broken;
                    }
                }
            }
            at += 1;
            if self.state == ScanState::Done {
                return ScanStatus::Complete(at);
            }
            if self.expected_closers.len() > MAX_SCAN_DEPTH {
                return ScanStatus::TooDeep(at);
            }
        }
        ScanStatus::More
    }

    /// Returns the text that would close the document here.
    pub(crate) fn missing_suffix(&self) -> String {
        const MAX_SHOWN_CLOSERS: usize = 16;
        let mut text = String::new();
        if matches!(self.state, ScanState::Text { .. } | ScanState::Escape { .. }) {
            text.push('"');
        }
        text.extend(
            self.expected_closers
                .iter()
                .rev()
                .take(MAX_SHOWN_CLOSERS)
                .map(|&byte| char::from(byte)),
        );
        if self.expected_closers.len() > MAX_SHOWN_CLOSERS {
            text.push('…');
        }
        text
    }

    fn token(&mut self, byte: u8) -> bool {
        use ScanState::{After, Colon, Done, FirstKey, FirstValue, Key, Scalar, Text, Value};
        let value_due = matches!(self.state, Value | FirstValue);
        let over = matches!(self.state, After | Scalar);
        self.state = match byte {
            b'{' if value_due => {
                self.expected_closers.push(b'}');
                FirstKey
            }
            b'[' if value_due => {
                self.expected_closers.push(b']');
                FirstValue
            }
            b'}' | b']' => {
                let empty = if byte == b'}' { FirstKey } else { FirstValue };
                if !(over || self.state == empty) || self.expected_closers.pop() != Some(byte) {
                    return false;
                }
                if self.expected_closers.is_empty() { Done } else { After }
            }
            b'"' if value_due && !self.expected_closers.is_empty() => Text { key: false },
            b'"' if matches!(self.state, Key | FirstKey) => Text { key: true },
            b':' if self.state == Colon => Value,
            b',' if over => match self.expected_closers.last() {
                Some(b'}') => Key,
                _ => Value,
            },
            _ if value_due && is_scalar(byte) && !self.expected_closers.is_empty() => Scalar,
            _ => return false,
        };
        true
    }
}

fn is_scalar(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.' | b'_')
}

/// Returns the line and column where a valid document first nests deeper than
/// `limit`.
pub(crate) fn find_too_deep(text: &str, limit: usize) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    let mut depth = 0usize;
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => at = string_end(bytes, at + 1)?,
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > limit {
            return Some(syntax::position(text, at));
        }
        at += 1;
    }
    None
}

/// Returns the closing quote of a string whose content begins at `at`.
fn string_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes.get(at) == Some(&b'"') {
            return Some(at);
        }
        at += 2;
    }
}

#[cfg(test)]
#[path = "json_scan_tests.rs"]
mod tests;
