//! The parts of a multi-line value that are secret on their own. Tools put a
//! line number or marker before each line, which hides the value as a whole.

use std::collections::BTreeSet;

use crate::common_values::is_common_value;
use crate::fragments::is_mixed;
use crate::ordinary_text::ordinary_letters;
use crate::patterns::is_placeholder;
use crate::secret_names::is_secret_name;

/// Shorter lines of a private key reveal nothing.
const MIN_KEY_LINE_CHARS: usize = 8;

/// Minimum length of other lines to be searched for as a whole.
const MIN_LINE_CHARS: usize = 20;

/// Minimum length of a random word.
const MIN_WORD_CHARS: usize = 16;

/// Letters and digits in a row that a random word has.
const MIN_RUN_CHARS: usize = 12;

/// Minimum length of a value whose name marks it as secret.
const MIN_NAMED_CHARS: usize = 8;

/// Returns the lines of a private key, also with line breaks written as `\n`;
/// long lines without blanks; lines of plain words, as in a recovery phrase;
/// and, of configuration lines, only the values, since the rest is the same in
/// every such file.
pub(crate) fn identifying_parts(value: &str) -> BTreeSet<&str> {
    let is_key = value.contains("-----BEGIN ");
    let is_text = !is_key && !value.contains([':', '=', '{', '<', '#']);
    let has_lines = value.contains('\n');
    let mut parts = BTreeSet::new();
    for line in value.split('\n').flat_map(|line| line.split("\\n")).map(str::trim) {
        let is_telling = if is_key { is_key_line(line) } else { is_long_word(line) };
        if is_telling || (has_lines && is_text && line.len() >= MIN_LINE_CHARS) {
            parts.insert(line);
        } else if has_lines {
            parts.extend(named_value(line));
        }
        if has_lines {
            parts.extend(line.split(ends_word).map(strip_word).filter(|word| is_random_word(word)));
        }
    }
    if !has_lines {
        parts.extend(url_secrets(value));
    }
    parts.retain(|part| part.len() < value.len() && !is_common_value(part));
    parts
}

fn is_key_line(line: &str) -> bool {
    let in_key = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=');
    line.len() >= MIN_KEY_LINE_CHARS && line.chars().all(in_key)
}

fn is_long_word(line: &str) -> bool {
    line.len() >= MIN_LINE_CHARS
        && !line.contains(char::is_whitespace)
        && line.contains(|c: char| c.is_ascii_digit())
        && line.contains(|c: char| c.is_ascii_alphabetic())
}

/// Returns the value that a line assigns to the name of a secret: `"password":
/// "…",`.
fn named_value(line: &str) -> Option<&str> {
    let (name, value) = line.split_once([':', '='])?;
    let name = name.trim().trim_start_matches("export ").trim_start_matches("- ");
    let value = value.trim().trim_end_matches(',');
    let quoted = value.strip_prefix(['"', '\'']).and_then(|rest| rest.strip_suffix(['"', '\'']));
    let value = quoted.unwrap_or(value);
    let is_reported = value.len() >= MIN_NAMED_CHARS
        && !value.contains("-----")
        && !value.contains("://")
        && !is_placeholder(value);
    (is_reported && is_secret_name(name.trim_matches(['"', '\'']))).then_some(value)
}

/// Returns the secret parts of a URL: the password, a key in its place, the
/// last path segment, and the query values.
fn url_secrets(value: &str) -> Vec<&str> {
    let Some((_, rest)) = value.split_once("://") else { return Vec::new() };
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let mut parts = Vec::new();
    if let Some((user, _)) = authority.rsplit_once('@') {
        match user.split_once(':') {
            Some((name, password)) => {
                parts.extend((password.len() >= MIN_NAMED_CHARS).then_some(password));
                parts.push(name);
            }
            None => parts.push(user),
        }
        parts.retain(|part| is_random_word(part) || user.ends_with(&format!(":{part}")));
    }
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let last = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let values = query.split(['&', '#']).filter_map(|pair| pair.split_once('='));
    let others = values.map(|(_, value)| value).chain([last]);
    parts.extend(others.filter(|part| is_random_word(part)));
    parts
}

fn ends_word(c: char) -> bool {
    c.is_whitespace() || matches!(c, '"' | '\'' | '`' | ',' | ';' | '<' | '>')
}

/// Strips the name before a word and the brackets around it.
fn strip_word(word: &str) -> &str {
    let is_name = |name: &str| !name.is_empty() && name.chars().all(is_name_letter);
    let word = match word.split_once(['=', ':']) {
        Some((name, value)) if is_name(name) && !value.trim_matches('=').is_empty() => value,
        _ => word,
    };
    word.trim_matches(['(', ')', '[', ']', '{', '}', ':'])
}

fn is_name_letter(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')
}

fn is_random_word(word: &str) -> bool {
    let in_run = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/');
    let is_random = |run: &str| {
        let strange = ordinary_letters(run.as_bytes()).into_iter().filter(|is| !is).count();
        run.len() >= MIN_RUN_CHARS && is_mixed(run.as_bytes()) && strange >= 4
    };
    word.len() >= MIN_WORD_CHARS
        && !word.contains("://")
        && !word.contains('@')
        && !word.starts_with(['/', '.', '~'])
        && word.split(|c| !in_run(c)).any(is_random)
}

#[cfg(test)]
#[path = "secret_parts_tests.rs"]
mod tests;
