//! A shell variable with its attributes and value, as `declare -p` prints it.

use serde::{Deserialize, Serialize};

use super::bytes::ShellBytes;
use super::quote::{quote, unquote};

/// The kernel limits one environment string to 128 KiB. Values close to that
/// are declared in the script instead.
const MAX_EXPORT_BYTES: usize = 100_000;

/// A variable, an array or a nameref.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ShellVariable {
    /// The attribute letters of `declare`: `x` exported, `a` array, …
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) marks: String,
    pub(super) value: VariableValue,
}

/// The keys and values of an array.
pub(super) type ShellArrayItems = Vec<(ShellBytes, ShellBytes)>;

/// Value of a variable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum VariableValue {
    /// Declared but never set.
    Unset,
    One(ShellBytes),
    /// An indexed or associative array.
    Many(ShellArrayItems),
}

impl ShellVariable {
    pub(super) fn is_exported(&self) -> bool {
        self.marks.contains('x')
    }

    /// Returns the value that a child process finds in its environment.
    pub(super) fn exported_value(&self) -> Option<&[u8]> {
        match &self.value {
            VariableValue::One(value)
                if self.is_exported() && value.0.len() <= MAX_EXPORT_BYTES =>
            {
                Some(&value.0)
            }
            _ => None,
        }
    }

    /// Whether the environment alone can represent the variable.
    pub(super) fn is_plain_export(&self) -> bool {
        self.marks == "x" && self.exported_value().is_some()
    }

    /// Returns its approximate size.
    pub(super) fn byte_size(&self) -> usize {
        32 + match &self.value {
            VariableValue::Unset => 0,
            VariableValue::One(value) => value.0.len(),
            VariableValue::Many(items) => {
                items.iter().map(|(key, value)| 16 + key.0.len() + value.0.len()).sum()
            }
        }
    }

    /// Returns the declaration that recreates it.
    pub(super) fn declaration(&self, name: &str) -> String {
        let marks = if self.marks.is_empty() { "-" } else { &self.marks };
        match &self.value {
            VariableValue::Unset => format!("declare -{marks} {name}"),
            VariableValue::One(value) => format!("declare -{marks} {name}={}", quote(&value.0)),
            VariableValue::Many(items) => {
                let items: Vec<_> = items
                    .iter()
                    .map(|(key, value)| format!("[{}]={}", self.quote_key(&key.0), quote(&value.0)))
                    .collect();
                format!("declare -{marks} {name}=({})", items.join(" "))
            }
        }
    }

    fn quote_key(&self, key: &[u8]) -> String {
        match std::str::from_utf8(key) {
            Ok(index) if index.bytes().all(|digit| digit.is_ascii_digit()) => index.to_owned(),
            _ => quote(key),
        }
    }

    /// Parses one declaration at the start of a line. Returns the name, the
    /// variable and the text after its line.
    pub(super) fn parse(line: &[u8]) -> Option<(String, Self, &[u8])> {
        let rest = line.strip_prefix(b"declare -")?;
        let space = memchr::memchr(b' ', rest)?;
        let marks = std::str::from_utf8(rest.get(..space)?).ok()?.replace('-', "");
        if !marks.bytes().all(|mark| mark.is_ascii_alphabetic()) {
            return None;
        }
        let rest = rest.get(space + 1..)?;
        let end = rest.iter().position(|letter| matches!(letter, b'=' | b'\n'))?;
        let name =
            std::str::from_utf8(rest.get(..end)?).ok().filter(|name| is_variable_name(name))?;
        let (value, rest) = match rest.get(end..)? {
            [b'=', b'(', rest @ ..] => {
                let (items, rest) = read_items(rest)?;
                (VariableValue::Many(items), rest)
            }
            [b'=', rest @ ..] => {
                let (word, rest) = unquote(rest, b"\n")?;
                // Before bash 4.4 an array is printed as one quoted word.
                match word.strip_prefix(b"(") {
                    Some(items) if marks.contains(['a', 'A']) => {
                        (VariableValue::Many(read_items(items)?.0), rest)
                    }
                    _ => (VariableValue::One(ShellBytes(word)), rest),
                }
            }
            rest => (VariableValue::Unset, rest),
        };
        let rest = rest.strip_prefix(b"\n")?;
        Some((name.to_owned(), Self { marks, value }, rest))
    }
}

/// Parses `[key]=value …)` and returns the items and the rest.
fn read_items(mut text: &[u8]) -> Option<(ShellArrayItems, &[u8])> {
    let mut items = Vec::new();
    loop {
        text = text.trim_ascii_start();
        match text {
            [b')', rest @ ..] => return Some((items, rest)),
            [b'[', rest @ ..] => {
                let (key, rest) = unquote(rest, b"]")?;
                let (value, rest) = unquote(rest.strip_prefix(b"]=")?, b" )")?;
                items.push((ShellBytes(key), ShellBytes(value)));
                text = rest;
            }
            _ => return None,
        }
    }
}

/// Whether bash accepts it as a variable name.
pub(super) fn is_variable_name(name: &str) -> bool {
    let mut letters = name.bytes();
    letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == b'_')
}
