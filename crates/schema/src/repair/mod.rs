//! From argument text to JSON, mending what models commonly get wrong.
//!
//! Strict JSON is taken as it stands. Anything else goes through one pass of a tolerant parser that
//! keeps its own stack of open brackets, so missing closers are completed in the right order.
//! Every mend is reported, and [`ParsedArguments::guessed`] tells apart a text that was merely sloppy from
//! one that may have been cut off: a tool that changes something should not run on a guess.
//!
//! Numbers are those of `serde_json`: integers are exact within `i64` and `u64`; a longer run of
//! digits becomes the nearest `f64`, in strict and in tolerant parsing alike. `NaN` and `Infinity`
//! are errors. Nesting is limited to [`MAX_DEPTH`] levels either way.

mod lexer;
mod parser;

use std::fmt;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::depth::MAX_DEPTH;
use crate::excerpt;
use hermes_core::text::excerpt;
use lexer::SyntaxFault;

/// Mends listed per text; what comes after is mended all the same.
const MAX_LISTED_REPAIRS: usize = 64;

/// How often a JSON string may wrap the object that was meant.
const MAX_ENCODINGS: usize = 4;

/// The value of an argument text, and how it was come by.
#[derive(Debug, Clone, PartialEq)]
pub struct ParsedArguments {
    /// The arguments. Usually an object; a text that plainly says something else keeps its value.
    pub value: Value,
    /// What was mended, in order; empty for strict JSON. At most 64 are listed.
    pub repairs: Vec<TextRepair>,
    /// Content was completed or left out: the text may have been cut off.
    pub is_guess: bool,
}

/// One mend: what, and where in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct TextRepair {
    /// What was mended.
    pub kind: RepairKind,
    /// Byte offset in the text, or in the inner text after [`RepairKind::DoubleEncoding`].
    pub offset: usize,
}

impl fmt::Display for TextRepair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (byte {})", self.kind.describe(), self.offset)
    }
}

/// The mends that the parser knows: name, whether it is a guess, description.
macro_rules! repair_kinds {
    ($($kind:ident, $guess:literal, $text:literal;)*) => {
        /// What can be mended in an argument text.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
        #[serde(rename_all = "snake_case")]
        pub enum RepairKind {
            $(#[doc = $text] $kind,)*
        }

        impl RepairKind {
            /// What was done, for people.
            pub fn describe(self) -> &'static str {
                match self { $(Self::$kind => $text,)* }
            }

            /// Whether content had to be completed or left out.
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
    BareKey, false, "quotes added to a key";
    Literal, false, "literal respelled";
    Number, false, "number respelled";
    ControlCharacter, false, "raw control character in a string accepted";
    Escape, false, "unknown escape kept as text";
    DoubleEncoding, false, "JSON inside a JSON string decoded";
    SurplusCloser, false, "surplus closing bracket ignored";
    HalfCharacter, true, "half of a character replaced by U+FFFD";
    MissingComma, true, "missing comma assumed";
    MissingCloser, true, "missing closing bracket added";
    UnterminatedString, true, "unterminated string closed";
    MissingValue, true, "item without a value left out";
}

/// Text that is no JSON and cannot be read as JSON in one clear way.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: expected {expected}, found {found} near `{excerpt}`")]
pub struct RepairError {
    /// Byte offset of the trouble.
    pub offset: usize,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What would have been right here.
    pub expected: String,
    /// What stands there.
    pub found: String,
    /// The text around the trouble.
    pub excerpt: String,
}

/// Reads the arguments of a tool call.
///
/// Nothing at all (an empty text, `null`, Python's `None`) means no arguments: `{}`.
///
/// # Errors
/// When the text cannot be read in one clear way, with the place and what was expected there.
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

/// Reads any JSON value, strictly if possible.
pub(crate) fn parse_value(text: &str) -> Result<ParsedArguments, RepairError> {
    match serde_json::from_str(text) {
        Ok(value) => Ok(ParsedArguments::without_repairs(value)),
        Err(_) => parser::parse_tolerant(text).map_err(|fault| fault.into_error(text)),
    }
}

/// The object that a string holds as JSON text, possibly encoded several times over.
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

    /// Replaces a string by the object that it turned out to hold.
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
            found: after
                .chars()
                .next()
                .map_or_else(|| "the end of the text".to_owned(), |c| format!("{c:?}")),
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
