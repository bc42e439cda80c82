//! Values that no operator joins to their name: `--token …`, `ENV TOKEN …`, an
//! attribute or entry called `value`, the lines of a block in YAML.

use super::named_values::{ValueStyle, is_named_secret, is_password_name};
use super::special_tokens::line_prefix_length;
use super::{SecretKind, TriggerExaminer};

/// The longest space between a name and what follows.
const MAX_SPACE_CHARS: usize = 64;

/// The longest part of a block that is read, and of the line of its name.
const MAX_BLOCK_CHARS: usize = 1024;
const MAX_LINE_CHARS: usize = 256;

/// Words before a name and, without an operator, its value.
const SETTING_COMMANDS: &[&str] = &["ENV", "setenv", "-x", "-gx", "-Ux"];

impl TriggerExaminer<'_> {
    /// Whether the name at `begin` is an option of a command.
    pub(super) fn is_option(&self, begin: usize) -> bool {
        let starts = |byte: u8| byte.is_ascii_whitespace() || b"\"'`[(,|:=".contains(&byte);
        self.bytes.get(begin) == Some(&b'-') && self.byte_before(begin).is_none_or(starts)
    }

    /// Matches the value after a name without an operator.
    pub(super) fn match_nearby(
        &self,
        begin: usize,
        name_end: usize,
        name: &str,
    ) -> Option<(usize, usize, SecretKind)> {
        let (from, to, style) = self
            .option_argument(begin, name_end, name)
            .or_else(|| self.setting_argument(begin, name_end))
            .or_else(|| self.value_entry(begin, name_end, name))?;
        is_named_secret(name, self.text.get(from..to)?, style).then_some((
            from,
            to,
            SecretKind::Named,
        ))
    }

    /// Reads `--token VALUE`, `"--token", "VALUE"`, and the same as entries of a
    /// list in YAML.
    fn option_argument(
        &self,
        begin: usize,
        name_end: usize,
        name: &str,
    ) -> Option<(usize, usize, ValueStyle)> {
        if !self.is_option(begin) {
            return None;
        }
        // A description may follow instead: `--password string`.
        let style =
            if is_password_name(name) { ValueStyle::Quoted } else { ValueStyle::Environment };
        let quote_end = self.skip_quote(name_end);
        let value = if quote_end > name_end {
            let comma = self.skip_space(quote_end);
            let value = self.skip_space(comma + 1);
            let is_listed = self.bytes.get(comma) == Some(&b',') && self.skip_quote(value) > value;
            is_listed.then_some(value)?
        } else if self.bytes.get(name_end) == Some(&b'\n') {
            let entry = self.skip_separators(name_end)?;
            self.bytes.get(entry..)?.starts_with(b"- ").then_some(entry + 2)?
        } else {
            let value = self.skip_blanks(name_end)?;
            (value > name_end && self.bytes.get(value) != Some(&b'-')).then_some(value)?
        };
        self.read_value(value, true, true).map(|(from, to, _)| (from, to, style))
    }

    /// Reads `ENV TOKEN VALUE`.
    fn setting_argument(
        &self,
        begin: usize,
        name_end: usize,
    ) -> Option<(usize, usize, ValueStyle)> {
        let before = self.bytes.get(begin.saturating_sub(16)..begin)?;
        let is_set = SETTING_COMMANDS.iter().any(|command| {
            before.trim_ascii_end().ends_with(command.as_bytes()) && before.ends_with(b" ")
        });
        let value = self.skip_blanks(name_end)?;
        if !is_set || value == name_end {
            return None;
        }
        let (from, to, _) = self.read_value(value, true, true)?;
        Some((from, to, ValueStyle::Environment))
    }

    /// Reads `name: TOKEN` and `value: VALUE` on the next line, `name="token"
    /// value="VALUE"`, and `"name": "TOKEN", "value": "VALUE"`.
    fn value_entry(
        &self,
        begin: usize,
        name_end: usize,
        name: &str,
    ) -> Option<(usize, usize, ValueStyle)> {
        let before = self.bytes.get(begin.saturating_sub(8)..begin)?;
        let opening = before.trim_ascii_end();
        let opening = opening.strip_suffix(b"\"").or(opening.strip_suffix(b"'")).unwrap_or(opening);
        let opening = opening.strip_suffix(b"\\").unwrap_or(opening).trim_ascii_end();
        if !matches!(opening.last(), Some(b':' | b'=')) {
            return None;
        }
        let key = self.skip_quote(self.skip_separators(self.skip_quote(name_end))?);
        let length = [&b"value"[..], b"Value"]
            .iter()
            .find(|word| self.bytes.get(key..).is_some_and(|rest| rest.starts_with(word)))?
            .len();
        let operator = self.skip_blanks(self.skip_quote(key + length))?;
        if !matches!(self.bytes.get(operator), Some(b':' | b'=')) {
            return None;
        }
        let value = self.skip_blanks(operator + 1)?;
        let is_env = name.bytes().all(|byte| !byte.is_ascii_lowercase());
        self.read_value(value, is_env, is_env)
    }

    /// Returns the position after a comma, blanks, and at most one line end
    /// with the number of the next line.
    fn skip_separators(&self, at: usize) -> Option<usize> {
        let rest = self.bytes.get(at..)?;
        let rest = rest.get(..MAX_SPACE_CHARS).unwrap_or(rest);
        let is_separator = |byte: &&u8| matches!(byte, b' ' | b'\t' | b'\r' | b',');
        let length = rest.iter().take_while(is_separator).count();
        if rest.get(length) != Some(&b'\n') {
            return (length > 0).then_some(at + length);
        }
        let line = at + length + 1;
        let prefix = line_prefix_length(self.bytes.get(line..)?);
        self.skip_blanks(line + prefix)
    }

    /// Matches the lines of `password: |`, where the sign is at `sign`.
    pub(super) fn match_block(
        &self,
        begin: usize,
        sign: usize,
        name: &str,
    ) -> Option<(usize, usize, SecretKind)> {
        let header = self.bytes.get(sign..)?.iter().take(8);
        let in_header = |byte: &&u8| byte.is_ascii_digit() || b"|>+- \t\r".contains(byte);
        let header_end = sign + header.take_while(in_header).count();
        if self.bytes.get(header_end) != Some(&b'\n') {
            return None;
        }
        let head = self.bytes.get(begin.saturating_sub(MAX_LINE_CHARS)..begin)?;
        let indent = indent_of(head.rsplit(|byte| *byte == b'\n').next()?);
        let mut limit = self.text.len().min(header_end + MAX_BLOCK_CHARS);
        while !self.text.is_char_boundary(limit) {
            limit -= 1;
        }
        let mut at = header_end + 1;
        let mut block: Option<(usize, usize)> = None;
        let mut is_secret = false;
        for line in self.text.get(at..limit)?.split_inclusive('\n') {
            let prefix = line_prefix_length(line.as_bytes());
            let content = line.get(prefix..)?;
            let is_blank = content.trim().is_empty();
            if !is_blank && indent_of(line.as_bytes()) <= indent {
                break;
            }
            if !is_blank {
                let from = at + line.len() - content.trim_start().len();
                let to = at + line.trim_end().len();
                block = Some((block.map_or(from, |(from, _)| from), to));
                is_secret |= is_named_secret(name, content.trim(), ValueStyle::Bare);
            }
            at += line.len();
        }
        let (from, to) = block.filter(|_| is_secret)?;
        Some((from, to, SecretKind::Named))
    }
}

/// Returns the blanks before a line, after its number.
fn indent_of(line: &[u8]) -> usize {
    let content = line.get(line_prefix_length(line)..).unwrap_or_default();
    content.iter().take_while(|byte| **byte == b' ').count()
}
