//! Values that a command assigns to names of secrets: `APP_TOKEN=…`,
//! `--password …`, `"api_key": "…"`.
//!
//! Only for stored commands: in source code the same syntax too often means
//! something else.

use std::ops::Range;

use super::plausibility::is_random;
use crate::secret_names::is_secret_name;

/// A longer run is not a name.
const MAX_NAME_CHARS: usize = 64;

/// A shorter value may occur elsewhere by chance.
const MIN_SOUGHT_CHARS: usize = 8;

/// Values also searched for elsewhere in the command.
const MAX_SOUGHT_VALUES: usize = 16;

/// Words after which a quoted argument is one assignment: `-e "PW=a b"`.
const ASSIGNMENT_COMMANDS: &[&str] =
    &["-e", "--env", "-x", "declare", "env", "export", "local", "readonly"];

/// Values that are never secrets, whatever the name.
const SETTING_WORDS: &[&str] = &["true", "false", "yes", "no", "on", "off", "none", "null", "auto"];

/// Returns the ranges of such values in a command, from left to right.
pub(crate) fn assigned_values(text: &str) -> Vec<Range<usize>> {
    let mut reader =
        AssignmentReader { text, bytes: text.as_bytes(), quote: None, found: Vec::new() };
    let mut at = 0;
    while at < text.len() {
        at = reader.read_at(at);
    }
    let mut found = reader.found;
    let shown: Vec<String> = found
        .iter()
        .filter_map(|range| text.get(range.clone()))
        .filter(|value| value.len() >= MIN_SOUGHT_CHARS)
        .take(MAX_SOUGHT_VALUES)
        .map(str::to_owned)
        .collect();
    for value in shown {
        found.extend(text.match_indices(&value).map(|(at, _)| at..at + value.len()));
    }
    found.sort_unstable_by_key(|range| (range.start, range.end));
    let mut merged: Vec<Range<usize>> = Vec::with_capacity(found.len());
    for range in found {
        match merged.last_mut() {
            Some(last) if range.start < last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

struct AssignmentReader<'a> {
    text: &'a str,
    bytes: &'a [u8],
    /// The enclosing quote, and where it began.
    quote: Option<(u8, usize)>,
    found: Vec<Range<usize>>,
}

impl AssignmentReader<'_> {
    fn byte(&self, at: usize) -> Option<u8> {
        self.bytes.get(at).copied()
    }

    /// Reads one element at `at`. Returns where to continue.
    fn read_at(&mut self, at: usize) -> usize {
        let Some(byte) = self.byte(at) else { return at + 1 };
        match (byte, self.quote) {
            (b'\\', quote) if quote.is_none_or(|(quote, _)| quote == b'"') => at + 2,
            (b'"' | b'\'', None) => {
                self.quote = Some((byte, at));
                at + 1
            }
            (_, Some((quote, _))) if byte == quote => {
                self.quote = None;
                at + 1
            }
            _ if in_name(byte) => self.read_name(at),
            _ => at + 1,
        }
    }

    /// Reads a name, and its value if the name is that of a secret.
    fn read_name(&mut self, start: usize) -> usize {
        let end = self.run_end(start, in_name);
        let written = self.text.get(start..end).unwrap_or_default();
        let is_option = written.starts_with('-');
        let name = written.trim_start_matches('-');
        if name.is_empty() || name.len() > MAX_NAME_CHARS || !is_secret_name(name) {
            return end;
        }
        let Some((value, is_pair)) = self.value_start(end, is_option) else { return end };
        let whole = !is_pair && self.is_quoted_assignment(start);
        let stop = self.mask_value(value, name, whole);
        stop.max(end)
    }

    /// Returns where the value of a name begins, and whether it is part of data
    /// such as `name: value`.
    fn value_start(&self, end: usize, is_option: bool) -> Option<(usize, bool)> {
        match (self.byte(end), self.byte(end + 1)) {
            (Some(b'='), _) => return Some((end + 1, false)),
            (Some(b'+'), Some(b'=')) => return Some((end + 2, false)),
            (Some(b' ' | b'\t'), _) if is_option => {
                let value = self.run_end(end, is_blank);
                return (self.byte(value) != Some(b'-')).then_some((value, false));
            }
            _ => {}
        }
        let escape = usize::from(self.byte(end) == Some(b'\\'));
        let quoted = matches!(self.byte(end + escape), Some(b'"' | b'\''));
        let colon = if quoted { end + escape + 1 } else { end };
        let colon = self.run_end(colon, is_blank);
        // A quoted key inside quotes of the other kind.
        let inside = self
            .quote
            .is_some_and(|(quote, _)| !quoted || escape == 1 || self.byte(end) != Some(quote));
        (inside && self.byte(colon) == Some(b':'))
            .then(|| (self.run_end(colon + 1, is_blank), true))
    }

    /// Whether the quotes contain only the assignment: `-e "PW=a b"`.
    fn is_quoted_assignment(&self, start: usize) -> bool {
        let Some((_, open)) = self.quote.filter(|(_, open)| open + 1 == start) else {
            return false;
        };
        let before = self.text.get(..open).unwrap_or_default().trim_end();
        let from = before.len().saturating_sub(16);
        let last = before.bytes().rev().take(before.len() - from);
        let length = last.take_while(|byte| in_name(*byte)).count();
        before.get(before.len() - length..).is_some_and(|word| ASSIGNMENT_COMMANDS.contains(&word))
    }

    /// Records the literal parts of the value at `start`. Returns where it
    /// ends.
    fn mask_value(&mut self, start: usize, name: &str, whole: bool) -> usize {
        let outer = self.quote.map(|(quote, _)| quote);
        let mut inner: Option<u8> = None;
        // Inside `$'…'`, a backslash escapes.
        let mut escapes = false;
        let mut pieces: Vec<Range<usize>> = Vec::new();
        let mut piece = start;
        let mut at = start;
        while let Some(byte) = self.byte(at) {
            let literal = inner == Some(b'\'') || outer == Some(b'\'');
            match byte {
                _ if inner == Some(byte) || inner.is_none() && is_quote(byte) => {
                    if outer == Some(byte) {
                        break;
                    }
                    pieces.push(piece..at);
                    escapes = inner.is_none()
                        && at.checked_sub(1).and_then(|last| self.byte(last)) == Some(b'$');
                    inner = if inner.is_some() { None } else { Some(byte) };
                    at += 1;
                    piece = at;
                }
                _ if outer == Some(byte) => break,
                b'\\' if !literal || escapes || outer.is_some() => {
                    let is_quoted = self.byte(at + 1).is_some_and(|next| next == b'"');
                    if is_quoted && outer == Some(b'"') {
                        // `\"` in a string is a quote of the nested text.
                        pieces.push(piece..at);
                        inner = None;
                        at += 2;
                        piece = at;
                        if pieces.iter().any(|piece| !piece.is_empty()) {
                            break;
                        }
                    } else {
                        at += 2;
                    }
                }
                // Command substitutions stay visible.
                b'`' if !literal => break,
                b'$' if !literal && self.byte(at + 1) == Some(b'(') => break,
                b'$' if !literal => {
                    pieces.push(piece..at);
                    at = self.variable_end(at + 1);
                    piece = at;
                }
                b'\n' if inner.is_none() && !whole => break,
                _ if inner.is_none() && !whole && ends_word(byte, outer.is_some()) => break,
                _ => at += 1,
            }
        }
        let at = at.min(self.bytes.len());
        pieces.push(piece.min(at)..at);
        let kept = |piece: &Range<usize>| {
            let value = self.text.get(piece.clone()).unwrap_or_default();
            !value.is_empty() && !is_setting(name, value)
        };
        let secret: Vec<_> = pieces.into_iter().filter(kept).collect();
        self.found.extend(secret);
        at
    }

    /// Returns the end of a variable's name.
    fn variable_end(&self, at: usize) -> usize {
        match self.byte(at) {
            Some(b'{') => {
                let end = self.run_end(at, |byte| byte != b'}' && byte != b'\n');
                end + usize::from(self.byte(end) == Some(b'}'))
            }
            // `$'…'` is a quoted string.
            Some(b'\'' | b'"') => at,
            _ => self.run_end(at, |byte| byte.is_ascii_alphanumeric() || byte == b'_'),
        }
    }

    fn run_end(&self, at: usize, in_run: impl Fn(u8) -> bool) -> usize {
        let rest = self.bytes.get(at..).unwrap_or_default();
        at + rest.iter().take_while(|byte| in_run(**byte)).count()
    }
}

fn in_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

fn is_quote(byte: u8) -> bool {
    byte == b'"' || byte == b'\''
}

/// Whether a word ends here; in data, also at value separators.
fn ends_word(byte: u8, quoted: bool) -> bool {
    byte.is_ascii_whitespace() || b";&|<>()".contains(&byte) || quoted && b",}".contains(&byte)
}

/// Whether a value is a setting or a path rather than a secret.
fn is_setting(name: &str, value: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let is_word = ["pass", "pw", "otp", "pin"].iter().any(|word| lower.contains(word));
    let is_number = value.len() <= 6 && value.bytes().all(|byte| byte.is_ascii_digit());
    let is_label = value.starts_with('[') && value.ends_with(']');
    let is_path = ["./", "../", "~/"].iter().any(|start| value.starts_with(start))
        || value.starts_with('/') && !is_random(value, 30);
    value.starts_with("secret://")
        || is_label
        || is_path
        || is_number && !is_word
        || SETTING_WORDS.iter().any(|setting| setting.eq_ignore_ascii_case(value))
}

#[cfg(test)]
#[path = "assignments_tests.rs"]
mod tests;
