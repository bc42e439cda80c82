//! Parameters that a server refuses. What models take differs, also behind
//! the same address, and the server's own words say it best: what it names is
//! left out, renamed or made smaller, and that is remembered.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value};

use crate::endpoint::{Dialect, Endpoint};
use crate::request::Request;

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

/// What bounds the length of an answer.
const ROOM: &[&str] = &[
    "max_tokens",
    "max_completion_tokens",
    "max_output_tokens",
    "generationConfig.maxOutputTokens",
];
/// How a server says that it allows less of it.
const TOO_MUCH: &[&str] =
    &["too large", "maximum", "at most", "less than or equal", "<=", "exceeds", "greater than"];
/// A number that is smaller is none of tokens.
const LEAST_ROOM: u64 = 256;

/// What is done to the requests to a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    LeaveOut(&'static str),
    Rename(&'static str, &'static str),
    /// No more than so many.
    Cap(&'static str, u64),
    /// No pictures.
    Blind,
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

    /// Whether a model takes no pictures.
    pub(crate) fn is_blind(&self, endpoint: &Endpoint, request: &Request) -> bool {
        let places = self.lock();
        let known = places.get(&place_of(endpoint, &request.model));
        known.is_some_and(|known| known.contains(&Change::Blind))
    }

    /// Remembers that it takes none; whether that is new.
    pub(crate) fn learn_blind(&self, endpoint: &Endpoint, request: &Request) -> bool {
        let mut places = self.lock();
        let known = places.entry(place_of(endpoint, &request.model)).or_default();
        let is_new = !known.contains(&Change::Blind);
        if is_new {
            known.push(Change::Blind);
        }
        is_new
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(String, String), Vec<Change>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Change {
    fn apply(&self, body: &mut Value) {
        match *self {
            Self::LeaveOut(path) => drop(take(body, path)),
            Self::Cap(path, most) => {
                if let Some((holder, key)) = holder(body, path)
                    && holder.get(&key).and_then(Value::as_u64).is_some_and(|asked| asked > most)
                {
                    holder.insert(key, Value::from(most));
                }
            }
            // Pictures are taken out of what is asked, not of how it is written.
            Self::Blind => {}
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
    place_of(endpoint, body["model"].as_str().unwrap_or_default())
}

/// The same for a model by its name; the usual one if that is empty.
fn place_of(endpoint: &Endpoint, model: &str) -> (String, String) {
    let model = if model.is_empty() { &endpoint.model } else { model };
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
    let is_own = |path: &str| !endpoint.extra.contains_key(path.split('.').next().unwrap_or(path));
    let named = named(error);
    // What a conversation takes as a whole is another matter.
    if TOO_MUCH.iter().any(|word| words.contains(word)) && !words.contains("context") {
        let is_meant = |path: &str| {
            let by_name = named.as_deref().is_some_and(|named| is_same(path, named));
            is_own(path) && (by_name || mention(&words, path).is_some())
        };
        let cap = ROOM.iter().copied().find_map(|path| {
            let asked = path.split('.').try_fold(body, |value, key| value.get(key))?.as_u64()?;
            let most = is_meant(path).then(|| largest_below(&words, asked))??;
            Some(Change::Cap(path, most))
        });
        if cap.is_some() {
            return cap;
        }
    }
    if !REFUSALS.iter().any(|refusal| text.contains(refusal)) {
        return None;
    }
    let must_stay = |path: &str| endpoint.dialect == Dialect::Anthropic && path == "max_tokens";
    let may_go = |path: &&str| has(body, path) && is_own(path) && !must_stay(path);
    let spare = || SPARE.iter().copied().filter(may_go);
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

/// The largest number in a text that is smaller than this one.
fn largest_below(text: &str, bound: u64) -> Option<u64> {
    let numbers =
        text.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok());
    numbers.filter(|number| (LEAST_ROOM..bound).contains(number)).max()
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
