//! Parses argument text as JSON and repairs common mistakes of models.
//!
//! Strict JSON is parsed unchanged. Anything else goes through one pass of a
//! tolerant parser with its own stack of open brackets, so missing closers are
//! added in the right order. Every repair is reported.
//! [`ParsedArguments::is_guess`] distinguishes sloppy text from text that may
//! be truncated: a tool that changes something should not run on a guess.
//!
//! Numbers are those of `serde_json`: integers are exact within `i64` and
//! `u64`; a longer run of digits becomes the nearest `f64`, in strict and
//! tolerant parsing. `NaN` and `Infinity` are errors. Nesting is limited to
//! [`MAX_DEPTH`] levels in both.

mod lexer;
mod parser;
mod unique_keys;

use std::fmt;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::depth::MAX_DEPTH;
use crate::excerpt;
use hermes_core::text::excerpt;
use lexer::SyntaxFault;
use unique_keys::UniqueKeys;

/// Maximum number of repairs listed per text; further repairs are made but not
/// listed.
const MAX_LISTED_REPAIRS: usize = 64;

/// Maximum number of JSON string encodings around an object.
const MAX_ENCODINGS: usize = 4;

/// The value of an argument text, and how it was obtained.
#[derive(Debug, Clone, PartialEq)]
pub struct ParsedArguments {
    /// The arguments. Usually an object; any other unambiguous value is kept.
    pub value: Value,
    /// Repairs in order; empty for strict JSON. At most 64 are listed.
    pub repairs: Vec<TextRepair>,
    /// Whether content was added or dropped: the text may be truncated.
    pub is_guess: bool,
}

/// One repair, with its position in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct TextRepair {
    /// Kind of the repair.
    pub kind: RepairKind,
    /// Byte offset in the text, or in the inner text after [`RepairKind::DoubleEncoding`].
    pub offset: usize,
}

impl fmt::Display for TextRepair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (byte {})", self.kind.describe(), self.offset)
    }
}

/// Defines the repairs that the parser can make: name, whether it is a guess,
/// description.
macro_rules! repair_kinds {
    ($($kind:ident, $guess:literal, $text:literal;)*) => {
        /// Kind of a repair to an argument text.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
        #[serde(rename_all = "snake_case")]
        pub enum RepairKind {
            $(#[doc = $text] $kind,)*
        }

        impl RepairKind {
            /// Describes the repair in words.
            pub fn describe(self) -> &'static str {
                match self { $(Self::$kind => $text,)* }
            }

            /// Whether the repair added or dropped content.
            pub fn is_guess(self) -> bool {
                match self { $(Self::$kind => $guess,)* }
            }
        }
    };
}

repair_kinds! {
    Empty, false, "empty text read as no arguments";
    Fence, false, "markdown fence removed";
    Prose, false, "text around the JSON ignored";
    Comment, false, "comment ignored";
    ExtraComma, false, "surplus comma ignored";
    SingleQuotes, false, "single quotes read as double quotes";
    TypographicQuotes, false, "typographic quotes read as double quotes";
    BareKey, false, "quotes added to a key";
    Literal, false, "literal respelled";
    Number, false, "number respelled";
    ControlCharacter, false, "raw control character in a string accepted";
    Escape, false, "unknown escape kept as text";
    DoubleEncoding, false, "JSON inside a JSON string decoded";
    SurplusCloser, false, "surplus closing bracket ignored";
    HalfCharacter, true, "lone surrogate replaced by U+FFFD";
    MissingComma, true, "missing comma assumed";
    MissingCloser, true, "missing closing bracket added";
    UnterminatedString, true, "unterminated string closed";
    MissingValue, true, "item without a value dropped";
    BareWord, true, "quotes added to a value";
}

/// Text that is not JSON and has no unambiguous reading as JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: expected {expected}, found {found} near `{excerpt}`")]
pub struct RepairError {
    /// Byte offset of the error.
    pub offset: usize,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What was expected there.
    pub expected: String,
    /// What was found there.
    pub found: String,
    /// The text around the error.
    pub excerpt: String,
}

/// Parses the arguments of a tool call.
///
/// An empty text, `null` and Python's `None` mean no arguments: `{}`.
///
/// # Errors
/// If the text has no unambiguous reading, with the position and what was
/// expected there.
pub fn parse_arguments(text: &str) -> Result<ParsedArguments, RepairError> {
    let mut parsed = if text.trim().is_empty() {
        ParsedArguments::without_repairs(Value::Null)
    } else {
        parse_value(text)?
    };
    if let Value::String(inner) = &parsed.value
        && let Some(object) = decode_object(inner, MAX_ENCODINGS)
    {
        parsed.unwrap_into(object);
    }
    if parsed.value.is_null() {
        parsed.value = Value::Object(Map::new());
        parsed.record_repair(RepairKind::Empty, 0);
    }
    Ok(parsed)
}

/// Parses any JSON value, strictly if possible.
pub(crate) fn parse_value(text: &str) -> Result<ParsedArguments, RepairError> {
    match serde_json::from_str(text) {
        Ok(UniqueKeys(value)) => Ok(ParsedArguments::without_repairs(value)),
        // The tolerant parser also locates a key with different values.
        Err(_) => parser::parse_tolerant(text)
            .or_else(|fault| decode_escaped(text).ok_or_else(|| fault.into_error(text))),
    }
}

/// Parses strict JSON; `None` for anything else, and for a key with different
/// values.
pub(crate) fn parse_strict(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok().map(|UniqueKeys(value)| value)
}

/// Decodes an object that was escaped as a whole, but not quoted:
/// `{\"a\": 1}`.
fn decode_escaped(text: &str) -> Option<ParsedArguments> {
    let text = text.trim();
    if !text.strip_prefix('{')?.trim_start().starts_with("\\\"") {
        return None;
    }
    // Line breaks between the members may be real ones.
    let quoted =
        format!("\"{}\"", text.replace('\n', "\\n").replace('\r', "\\r").replace('\t', "\\t"));
    let inner: String = serde_json::from_str(&quoted).ok()?;
    let mut parsed = ParsedArguments::without_repairs(parse_strict(&inner)?);
    parsed.record_repair(RepairKind::DoubleEncoding, 0);
    Some(parsed)
}

/// Decodes an object from a string that contains JSON text, possibly encoded
/// several times.
fn decode_object(text: &str, encodings: usize) -> Option<ParsedArguments> {
    if encodings == 0 || !text.trim_start().starts_with(['{', '"']) {
        return None;
    }
    let mut parsed = parse_value(text).ok()?;
    match &parsed.value {
        Value::Object(_) => Some(parsed),
        Value::String(inner) => {
            let object = decode_object(inner, encodings - 1)?;
            parsed.unwrap_into(object);
            Some(parsed)
        }
        _ => None,
    }
}

impl ParsedArguments {
    fn without_repairs(value: Value) -> Self {
        Self { value, repairs: Vec::new(), is_guess: false }
    }

    /// Replaces a string with the object decoded from it.
    fn unwrap_into(&mut self, object: Self) {
        self.record_repair(RepairKind::DoubleEncoding, 0);
        self.repairs.extend(object.repairs);
        self.repairs.truncate(MAX_LISTED_REPAIRS);
        self.is_guess |= object.is_guess;
        self.value = object.value;
    }

    fn record_repair(&mut self, kind: RepairKind, offset: usize) {
        if self.repairs.len() < MAX_LISTED_REPAIRS {
            self.repairs.push(TextRepair { kind, offset });
        }
    }
}

impl SyntaxFault {
    fn into_error(self, text: &str) -> RepairError {
        let mut offset = self.offset.min(text.len());
        while !text.is_char_boundary(offset) {
            offset -= 1;
        }
        let (before, after) = text.split_at(offset);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let nearby = before.char_indices().rev().nth(19).map_or(0, |(at, _)| at);
        RepairError {
            offset,
            line: memchr::memchr_iter(b'\n', before.as_bytes()).count() + 1,
            column: before[line_start..].chars().count() + 1,
            expected: self.expected.into_owned(),
            found: self.found.unwrap_or_else(|| match after.chars().next() {
                Some(c) => format!("{c:?}"),
                None => "the end of the text".to_owned(),
            }),
            excerpt: excerpt(&text[nearby..], excerpt::DEFAULT_EXCERPT_CHARS / 2).into_owned(),
        }
    }

    fn too_deep(offset: usize) -> Self {
        Self::new(offset, format!("at most {MAX_DEPTH} levels of nesting"))
    }
}

#[cfg(test)]
#[path = "repair_tests.rs"]
mod tests;
