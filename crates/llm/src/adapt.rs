//! Parameters that a server refuses. What models take differs, also behind
//! the same address, and the server's own words say it best: what it names is
//! left out or renamed, and that is remembered.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value};

use crate::endpoint::{Dialect, Endpoint};

/// What requests may go without, by the keys that lead to it. The rest is
/// what is asked.
const SPARE: &[&str] = &[
    "max_tokens",
    "max_completion_tokens",
    "max_output_tokens",
    "temperature",
    "stream_options",
    "include",
    "reasoning.summary",
    "reasoning",
    "reasoning_effort",
    "thinking",
    "output_config",
    "store",
    "usage",
    "tool_choice",
    "generationConfig.thinkingConfig",
    "generationConfig.temperature",
    "generationConfig.maxOutputTokens",
];
/// Other words that servers have for it.
const ALSO: &[(&str, &str)] =
    &[("include", "encrypted content"), ("include", "reasoning.encrypted_content")];
/// Two names of the same, of which a server may know one.
const NAMES: [&str; 2] = ["max_tokens", "max_completion_tokens"];
/// How a server says that it does not take something.
const REFUSALS: &[&str] = &[
    "unsupported",
    "not supported",
    "not support",
    "unrecognized",
    "unrecognised",
    "unknown",
    "unexpected",
    "not permitted",
    "not allowed",
    "not available",
    "deprecated",
    "extra inputs",
    "extra fields",
    "cannot find field",
];

/// What is done to the requests to a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    LeaveOut(&'static str),
    Rename(&'static str, &'static str),
}

/// What servers refuse, by address and model.
#[derive(Debug, Default)]
pub(crate) struct Learnt(Mutex<HashMap<(String, String), Vec<Change>>>);

impl Learnt {
    /// Makes of a request what this server takes.
    pub(crate) fn apply(&self, endpoint: &Endpoint, body: &mut Value) {
        let changes = self.lock().get(&place(endpoint, body)).cloned().unwrap_or_default();
        changes.iter().for_each(|change| change.apply(body));
    }

    /// Remembers what a refusal of this request says, and makes it so; whether
    /// it says something new.
    pub(crate) fn learn(&self, endpoint: &Endpoint, said: &str, body: &mut Value) -> bool {
        let Some(change) = refused(endpoint, said, body) else { return false };
        let mut places = self.lock();
        let known = places.entry(place(endpoint, body)).or_default();
        // A name that was refused is not gone back to.
        let change = match change {
            Change::Rename(from, to) if known.contains(&Change::Rename(to, from)) => {
                known.retain(|known| *known != Change::Rename(to, from));
                known.push(Change::LeaveOut(to));
                Change::LeaveOut(from)
            }
            change => change,
        };
        change.apply(body);
        known.push(change);
        true
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(String, String), Vec<Change>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Change {
    fn apply(&self, body: &mut Value) {
        match *self {
            Self::LeaveOut(path) => drop(take(body, path)),
            Self::Rename(from, to) => {
                if let Some(value) = take(body, from)
                    && let Value::Object(body) = body
                {
                    body.insert(to.to_owned(), value);
                }
            }
        }
    }
}

fn place(endpoint: &Endpoint, body: &Value) -> (String, String) {
    let model = body["model"].as_str().unwrap_or(&endpoint.model);
    (format!("{}:{}", endpoint.dialect.name(), endpoint.base_url), model.to_owned())
}

fn holder<'a>(body: &'a mut Value, path: &str) -> Option<(&'a mut Map<String, Value>, String)> {
    match path.split_once('.') {
        None => Some((body.as_object_mut()?, path.to_owned())),
        Some((first, rest)) => holder(body.get_mut(first)?, rest),
    }
}

fn take(body: &mut Value, path: &str) -> Option<Value> {
    let (holder, key) = holder(body, path)?;
    holder.remove(&key)
}

fn has(body: &Value, path: &str) -> bool {
    path.split('.').try_fold(body, |value, key| value.get(key)).is_some()
}

/// What is to be done about a refusal; none if it names nothing that the
/// request can go without, or what somebody has set on purpose.
fn refused(endpoint: &Endpoint, said: &str, body: &Value) -> Option<Change> {
    let json: Value = serde_json::from_str(said).unwrap_or_default();
    let error = json.get("error").filter(|error| error.is_object()).unwrap_or(&json);
    let words = words(error).unwrap_or(said).to_lowercase();
    let text = said.to_lowercase();
    if !REFUSALS.iter().any(|refusal| text.contains(refusal)) {
        return None;
    }
    let is_own = |path: &str| !endpoint.extra.contains_key(path.split('.').next().unwrap_or(path));
    let must_stay = |path: &str| endpoint.dialect == Dialect::Anthropic && path == "max_tokens";
    let may_go = |path: &&str| has(body, path) && is_own(path) && !must_stay(path);
    let spare = || SPARE.iter().copied().filter(may_go);
    let named = named(error);
    let path = spare().find(|path| named.as_deref().is_some_and(|named| is_same(path, named)));
    let path = path.or_else(|| {
        let place = |path: &str| {
            let also = ALSO.iter().filter(|(of, _)| *of == path).map(|(_, also)| *also);
            std::iter::once(path).chain(also).filter_map(|word| mention(&words, word)).min()
        };
        spare().filter_map(|path| Some((place(path)?, path))).min().map(|(_, path)| path)
    })?;
    let other = NAMES.iter().find(|name| **name != path).copied().unwrap_or_default();
    let is_named = NAMES.contains(&path) && endpoint.dialect == Dialect::Chat;
    if is_named && mention(&text, other).is_some() {
        return Some(Change::Rename(path, other));
    }
    Some(Change::LeaveOut(path))
}

/// What the server says in words.
fn words(error: &Value) -> Option<&str> {
    let text = |value: &'_ Value| value.as_str().is_some_and(|text| !text.is_empty());
    let own = ["message", "detail", "msg", "error"].iter().map(|key| &error[*key]);
    own.into_iter().find(|value| text(value)).and_then(Value::as_str)
}

/// The parameter that the server names as the one it does not take.
fn named(error: &Value) -> Option<String> {
    let listed = |value: &Value| {
        let steps: Vec<&str> = value["loc"].as_array()?.iter().filter_map(Value::as_str).collect();
        Some(steps.strip_prefix(&["body"]).unwrap_or(&steps).join("."))
    };
    let param = error["param"].as_str().map(str::to_owned);
    param.or_else(|| listed(&error["detail"][0])).filter(|name| !name.is_empty())
}

/// Whether a name means this parameter, or a part of it.
fn is_same(path: &str, named: &str) -> bool {
    let rest = named.strip_prefix(path);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// Where a parameter is named in a text, as a word of its own.
fn mention(text: &str, path: &str) -> Option<usize> {
    let name = path.rsplit('.').next().unwrap_or(path).to_lowercase();
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(&name).map(|(at, _)| at).find(|at| {
        let before = text[..*at].chars().next_back();
        let after = text[at + name.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

#[cfg(test)]
#[path = "adapt_tests.rs"]
mod tests;
