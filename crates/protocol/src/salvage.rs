//! Salvages a call that is not valid JSON: its end, its name, and the text of
//! its arguments, which the pipeline then repairs or refuses.

use memchr::memchr2;
use serde_json::{Map, Value};

use hermes_core::CallArguments;

use crate::call::{self, CallDraft};

/// Bytes that may be scanned without success, so a hostile text takes linear
/// time.
#[derive(Debug)]
pub(crate) struct ScanBudget(usize);

impl ScanBudget {
    pub(crate) fn for_text(text: &str) -> Self {
        Self(text.len().saturating_mul(8).saturating_add(1024))
    }
}

/// Where a bracketed value ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BracketSpan {
    /// Complete; the offset just past its last bracket.
    Whole(usize),
    /// A closing tag occurs where JSON should continue.
    Tag(usize),
    /// Not even close to JSON.
    Broken,
    /// Incomplete.
    Open,
}

/// Matches brackets and strings, with either quote, and checks nothing else.
pub(crate) fn bracket_span(text: &str, from: usize, budget: &mut ScanBudget) -> BracketSpan {
    if budget.0 == 0 {
        return BracketSpan::Broken;
    }
    let bytes = text.as_bytes();
    let mut at = from;
    let mut depth = 0usize;
    let end = loop {
        match bytes.get(at) {
            None => break BracketSpan::Open,
            Some(b'{' | b'[') => depth += 1,
            Some(b'}' | b']') => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    break BracketSpan::Whole(at + 1);
                }
            }
            Some(b'"' | b'\'') => {
                let Some(close) = string_end(bytes, at) else {
                    at = bytes.len();
                    break BracketSpan::Open;
                };
                at = close;
                let next = skip_space(bytes, close + 1);
                if !matches!(bytes.get(next), None | Some(b',' | b':' | b'}' | b']' | b'<')) {
                    break BracketSpan::Broken;
                }
            }
            Some(b'<') => {
                let closes = bytes.get(at..).is_some_and(|rest| rest.starts_with(b"</tool_call>"));
                break if closes { BracketSpan::Tag(at) } else { BracketSpan::Broken };
            }
            Some(_) => {}
        }
        at += 1;
    };
    budget.0 = budget.0.saturating_sub(at - from);
    end
}

/// Returns the text after the opening line of a code fence, if it begins with
/// one.
pub(crate) fn unfence_start(text: &str) -> &str {
    let Some(fenced) = text.strip_prefix("```") else { return text };
    fenced.trim_start_matches(|c: char| c.is_ascii_alphanumeric()).trim_start()
}

/// Returns the text inside a code fence, if it is in one.
pub(crate) fn unfence(text: &str) -> &str {
    let inner = unfence_start(text);
    if inner.len() == text.len() {
        return text;
    }
    inner.trim_end().strip_suffix("```").unwrap_or(inner).trim_end()
}

/// Reads a call from text that was meant to be a JSON object.
pub(crate) fn salvage_call(body: &str) -> CallDraft {
    let mut name = None;
    let mut arguments = None;
    let mut budget = ScanBudget::for_text(body);
    let mut members = MemberScanner::new(body);
    while let Some((key, begin)) = members.next_key() {
        let rest = body.get(begin..).unwrap_or_default();
        let end = members.value_end(begin, &mut budget);
        let value = end.and_then(|end| body.get(begin..end));
        if call::NAME_KEYS.contains(&key) {
            name = value.and_then(unquote).or(name);
        } else if call::ARGUMENT_KEYS.contains(&key) {
            arguments =
                Some(value.map_or_else(|| truncated_arguments(rest, &mut name), plain_text));
        }
        let Some(end) = end else { break };
        members.at = end;
    }
    match (name, arguments) {
        (Some(name), Some(arguments)) => CallDraft::from_text(name, arguments),
        (name, _) => CallDraft::from_text(name.unwrap_or_default(), body),
    }
}

/// Reads `<function=NAME><parameter=KEY>value</parameter>…</function>`. A
/// truncated one, or one whose values contain such tags, stays text: the intent
/// cannot be guessed.
pub(crate) fn read_function(body: &str) -> Option<CallDraft> {
    let (name, inner) = body.strip_prefix("<function=")?.split_once('>')?;
    let name = name.trim().trim_matches(['"', '\'']);
    let Some((inner, _)) = inner.rsplit_once("</function>") else {
        return Some(CallDraft::from_text(name, body));
    };
    let mut arguments = Map::new();
    let mut rest = inner;
    while !rest.trim().is_empty() {
        let parameter = rest.trim_start().strip_prefix("<parameter=");
        let parts = parameter.and_then(|text| text.split_once("</parameter>"));
        let Some((Some((key, value)), after)) =
            parts.map(|(parameter, after)| (parameter.split_once('>'), after))
        else {
            return Some(CallDraft::from_text(name, body));
        };
        let value = value.strip_prefix('\n').unwrap_or(value);
        let value = value.strip_suffix('\n').unwrap_or(value);
        arguments.insert(key.trim().trim_matches(['"', '\'']).to_owned(), value.into());
        rest = after;
    }
    Some(CallDraft {
        id: None,
        name: name.to_owned(),
        arguments: CallArguments::Json(Value::Object(arguments)),
    })
}

/// Iterates over the members of the outermost object, as far as they can be
/// separated.
struct MemberScanner<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> MemberScanner<'t> {
    fn new(text: &'t str) -> Self {
        Self { text, at: text.find('{').map_or(text.len(), |brace| brace + 1) }
    }

    /// Returns the next key, and where its value begins.
    fn next_key(&mut self) -> Option<(&'t str, usize)> {
        let bytes = self.text.as_bytes();
        let mut at = skip_space(bytes, self.at);
        if bytes.get(at) == Some(&b',') {
            at = skip_space(bytes, at + 1);
        }
        let (begin, end, after) = match bytes.get(at)? {
            b'"' | b'\'' => {
                let close = string_end(bytes, at)?;
                (at + 1, close, close + 1)
            }
            byte if is_word(*byte) => {
                let length = bytes.get(at..)?.iter().take_while(|byte| is_word(**byte)).count();
                (at, at + length, at + length)
            }
            _ => return None,
        };
        let colon = skip_space(bytes, after);
        if bytes.get(colon) != Some(&b':') {
            return None;
        }
        Some((self.text.get(begin..end)?, skip_space(bytes, colon + 1)))
    }

    /// Returns the offset just past a value, if its end can be determined.
    fn value_end(&self, begin: usize, budget: &mut ScanBudget) -> Option<usize> {
        let bytes = self.text.as_bytes();
        match bytes.get(begin)? {
            b'{' | b'[' => match bracket_span(self.text, begin, budget) {
                BracketSpan::Whole(end) => Some(end),
                _ => None,
            },
            b'"' | b'\'' => {
                let end = string_end(bytes, begin)? + 1;
                let next = bytes.get(skip_space(bytes, end));
                matches!(next, None | Some(b',' | b'}')).then_some(end)
            }
            _ => {
                let length = memchr2(b',', b'}', bytes.get(begin..)?)?;
                Some(begin + length)
            }
        }
    }
}

/// Returns the arguments when their end is unknown: the rest of the text,
/// without what clearly does not belong to them.
fn truncated_arguments(rest: &str, name: &mut Option<String>) -> String {
    if name.is_none()
        && let Some((before, last)) = split_last_name(rest)
    {
        *name = Some(last);
        return before.to_owned();
    }
    let rest = rest.trim_end();
    let own = if bracket_balance(rest) < 0 { rest.strip_suffix('}') } else { None };
    own.unwrap_or(rest).to_owned()
}

/// Counts opening minus closing brackets, including those in strings.
fn bracket_balance(text: &str) -> i64 {
    text.bytes().fold(0, |sum, byte| match byte {
        b'{' | b'[' => sum + 1,
        b'}' | b']' => sum - 1,
        _ => sum,
    })
}

/// Splits off `…, "name": "NAME"}` at the very end.
fn split_last_name(rest: &str) -> Option<(&str, String)> {
    let body = rest.trim_end().strip_suffix('}')?.trim_end();
    let quote = body.chars().next_back().filter(|c| matches!(c, '"' | '\''))?;
    let (head, last) = body.strip_suffix(quote)?.rsplit_once(quote)?;
    let head = head.trim_end().strip_suffix(':')?.trim_end();
    let head = ["\"name\"", "'name'", "name"].iter().find_map(|key| head.strip_suffix(key))?;
    Some((head.trim_end().strip_suffix(',')?.trim_end(), last.to_owned()))
}

/// Returns the content if the value is a string, or the raw value.
fn plain_text(value: &str) -> String {
    if value.starts_with('"') {
        return serde_json::from_str(value).unwrap_or_else(|_| value.to_owned());
    }
    value.trim_end().to_owned()
}

fn unquote(value: &str) -> Option<String> {
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let inner = value.strip_prefix(quote)?.strip_suffix(quote)?;
    Some(serde_json::from_str(value).unwrap_or_else(|_| inner.to_owned()))
}

/// Returns the quote that closes the one at `open`.
fn string_end(bytes: &[u8], open: usize) -> Option<usize> {
    let quote = *bytes.get(open)?;
    let mut at = open + 1;
    loop {
        at += memchr2(quote, b'\\', bytes.get(at..)?)?;
        if bytes.get(at) == Some(&quote) {
            return Some(at);
        }
        at += 2;
    }
}

fn skip_space(bytes: &[u8], from: usize) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    from + rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count()
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

#[cfg(test)]
#[path = "salvage_tests.rs"]
mod tests;
