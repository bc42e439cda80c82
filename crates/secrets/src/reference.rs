//! `secret://NAME`: the placeholder for a secret in the arguments of a call,
//! until it is used.
//!
//! The name is the longest run of name characters. Where such a character
//! follows, the name is put in braces: `secret://{NAME}.example.com`.

use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::Value;

use crate::Secret;

const SECRET_SCHEME: &str = "secret://";

/// Maximum length of a secret's name.
pub(crate) const MAX_NAME_CHARS: usize = 128;

/// A placeholder in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretReference {
    /// The name of the secret.
    pub name: String,
    /// Its byte range.
    pub range: Range<usize>,
}

/// Placeholders whose secret does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", describe(.names))]
pub struct MissingSecretsError {
    /// The names, in order of occurrence.
    pub names: Vec<String>,
}

fn describe(names: &[String]) -> String {
    let list = |form: fn(&String) -> String, between: &str| {
        names.iter().map(form).collect::<Vec<_>>().join(between)
    };
    let what = if names.len() == 1 { "No secret named" } else { "No secrets named" };
    let quoted = list(|name| format!("'{name}'"), ", ");
    let commands = list(|name| format!("`hermes secrets set {name}`"), ", ");
    format!("{what} {quoted}. Set with {commands}.")
}

/// Whether this is a valid secret name: a letter or `_` first, then letters,
/// digits, `_`, `.` and `-`; at most 128 characters.
pub fn is_valid_name(name: &str) -> bool {
    name.len() <= MAX_NAME_CHARS && begins_name(name) && name.bytes().all(in_name)
}

fn begins_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}

fn in_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-')
}

/// Finds the placeholders in a text, from left to right.
pub fn find(text: &str) -> Vec<SecretReference> {
    let mut found: Vec<SecretReference> = Vec::new();
    for start in memchr::memmem::find_iter(text.as_bytes(), SECRET_SCHEME) {
        if found.last().is_some_and(|last| start < last.range.end) {
            continue;
        }
        let after = start + SECRET_SCHEME.len();
        let rest = text.get(after..).unwrap_or_default();
        let (open, inner) = match rest.strip_prefix('{') {
            Some(inner) => (1, inner),
            None => (0, rest),
        };
        let length = inner.bytes().take_while(|byte| in_name(*byte)).count();
        let name = inner.get(..length).unwrap_or_default();
        let closed = open == 0 || inner.as_bytes().get(length) == Some(&b'}');
        if begins_name(name) && closed {
            let end = after + 2 * open + length;
            found.push(SecretReference { name: name.to_owned(), range: start..end });
        }
    }
    found
}

/// Returns the names that the strings of a value refer to, each once, in order
/// of occurrence. Ignores object keys.
pub fn referenced_names(value: &Value) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    // An explicit stack, since values may be nested too deeply for recursion.
    let mut stack = vec![value];
    while let Some(value) = stack.pop() {
        match value {
            Value::String(text) => {
                for reference in find(text) {
                    if seen.insert(reference.name.clone()) {
                        names.push(reference.name);
                    }
                }
            }
            Value::Array(items) => stack.extend(items.iter().rev()),
            Value::Object(fields) => stack.extend(fields.values().rev()),
            _ => {}
        }
    }
    names
}

/// Replaces placeholders with their secrets, and returns the names used.
///
/// If a secret is missing, nothing is replaced. Inserted values are never
/// searched for placeholders.
pub fn resolve(
    value: &mut Value,
    lookup: &dyn Fn(&str) -> Option<Secret>,
) -> Result<Vec<String>, MissingSecretsError> {
    let names = referenced_names(value);
    let mut secrets = BTreeMap::new();
    let mut missing = Vec::new();
    for name in &names {
        match lookup(name) {
            Some(secret) => _ = secrets.insert(name.as_str(), secret),
            None => missing.push(name.clone()),
        }
    }
    if !missing.is_empty() {
        return Err(MissingSecretsError { names: missing });
    }
    if names.is_empty() {
        return Ok(names);
    }
    let mut stack = vec![value];
    while let Some(value) = stack.pop() {
        match value {
            Value::String(text) => {
                if let Some(resolved) = fill(text, &secrets) {
                    *text = resolved;
                }
            }
            Value::Array(items) => stack.extend(items),
            Value::Object(fields) => stack.extend(fields.values_mut()),
            _ => {}
        }
    }
    Ok(names)
}

/// Returns the text with its placeholders replaced; `None` if it has none.
fn fill(text: &str, secrets: &BTreeMap<&str, Secret>) -> Option<String> {
    let references = find(text);
    if references.is_empty() {
        return None;
    }
    let mut filled = String::with_capacity(text.len());
    let mut copied = 0;
    for reference in references {
        let Some(secret) = secrets.get(reference.name.as_str()) else { continue };
        filled.push_str(text.get(copied..reference.range.start)?);
        filled.push_str(secret.expose());
        copied = reference.range.end;
    }
    filled.push_str(text.get(copied..)?);
    Some(filled)
}

#[cfg(test)]
#[path = "reference_tests.rs"]
mod tests;
