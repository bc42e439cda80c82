//! Requests to GitHub's API with the user's own token. They are the usual way to
//! read issues or releases from a job, and send the token only where it belongs.

use std::borrow::Cow;

/// The address that may receive the token.
const API_ADDRESS: &str = "https://api.github.com";

/// Variables with a token of GitHub.
const TOKEN_VARIABLES: &[&str] = &["GITHUB_TOKEN", "GH_TOKEN", "GITHUB_PAT", "GITHUB_API_TOKEN"];

/// Options of curl with a value that sends nothing elsewhere.
const VALUE_OPTIONS: &[&str] = &[
    "-H",
    "--header",
    "-X",
    "--request",
    "-o",
    "--output",
    "-m",
    "--max-time",
    "--connect-timeout",
    "--retry",
    "-w",
    "--write-out",
    "-d",
    "--data",
    "--data-raw",
    "--json",
    "-A",
    "--user-agent",
];

/// Options of curl without a value.
const PLAIN_OPTIONS: &[&str] = &[
    "--silent",
    "--show-error",
    "--fail",
    "--include",
    "--head",
    "--compressed",
    "--location",
    "--get",
    "-G",
];

/// Replaces the variable in the `Authorization` header of such requests, so that
/// a scan does not take them for a theft. Other requests stay as they are.
pub(crate) fn hide_github_tokens(prompt: &str) -> Cow<'_, str> {
    if !prompt.contains(API_ADDRESS) {
        return Cow::Borrowed(prompt);
    }
    // A command may continue on the next line.
    let joined = prompt.replace("\\\r\n", " ").replace("\\\n", " ");
    let mut clean = String::with_capacity(joined.len());
    let mut rest = joined.as_str();
    while let Some(at) = rest.find("curl ") {
        let (before, command) = rest.split_at(at);
        clean.push_str(before);
        let length = command_length(command);
        let (command, after) = command.split_at(length);
        match is_github_request(command) {
            true => {
                clean.push_str(&TOKEN_VARIABLES.iter().fold(command.to_owned(), |text, name| {
                    text.replace(&format!("${{{name}}}"), "TOKEN")
                        .replace(&format!("${name}"), "TOKEN")
                }))
            }
            false => clean.push_str(command),
        }
        rest = after;
    }
    clean.push_str(rest);
    Cow::Owned(clean)
}

/// Returns the length of the command at the start of the text. Quoted text is
/// part of it.
fn command_length(text: &str) -> usize {
    let mut quote = None;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (_, '\n') => return at,
            (Some(open), _) => quote = Some(open).filter(|open| *open != c),
            (None, '"' | '\'') => quote = Some(c),
            (None, '|' | ';' | '&' | '`' | '<' | '>') => return at,
            _ => {}
        }
    }
    text.len()
}

/// Whether a command sends a token of GitHub to GitHub's API, and nothing
/// anywhere else.
fn is_github_request(command: &str) -> bool {
    let mut words = split_words(command).into_iter().skip(1);
    let mut has_address = false;
    while let Some(word) = words.next() {
        if VALUE_OPTIONS.contains(&word.as_str()) {
            let Some(value) = words.next() else { return false };
            if !is_plain_value(&value) {
                return false;
            }
        } else if word.starts_with('-') {
            let is_cluster = word.len() > 1 && word.chars().skip(1).all(|c| "sSfiIL".contains(c));
            if !is_cluster && !PLAIN_OPTIONS.contains(&word.as_str()) {
                return false;
            }
        } else if word.contains("://") {
            if !is_api_address(&word) {
                return false;
            }
            has_address = true;
        } else if !is_prose(&word) {
            return false;
        }
    }
    has_address
}

/// Whether a value has no variable, except the token in an `Authorization`
/// header, and names no file.
fn is_plain_value(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let Some(header) = lower.strip_prefix("authorization:") else {
        return !value.contains(['$', '`']) && !value.starts_with('@');
    };
    let Some((scheme, token)) = header.trim().split_once(' ') else { return false };
    let name = token.trim().trim_start_matches('$').trim_matches(['{', '}']);
    matches!(scheme, "token" | "bearer")
        && token.trim().starts_with('$')
        && TOKEN_VARIABLES.iter().any(|known| known.eq_ignore_ascii_case(name))
}

fn is_api_address(word: &str) -> bool {
    let word = word.trim_end_matches(['.', ',', ')', ':']);
    word.strip_prefix(API_ADDRESS).is_some_and(|path| {
        (path.is_empty() || path.starts_with(['/', '?'])) && !path.contains(['$', '`'])
    })
}

/// Whether a word belongs to the sentence around the command. Curl would take a
/// host for another address.
fn is_prose(word: &str) -> bool {
    let word = word.trim_end_matches(['.', ',', ':', '!', '?', ')']);
    word.chars().all(|c| c.is_alphabetic() || c == '-' || c == '\'')
}

/// Splits a command at blanks, outside of quotes.
fn split_words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in command.chars() {
        match (quote, c) {
            (Some(open), _) if open == c => quote = None,
            (Some(_), _) => word.get_or_insert_default().push(c),
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, _) if c.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
#[path = "github_requests_tests.rs"]
mod tests;
