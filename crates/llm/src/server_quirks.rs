//! Parameters that a server refuses. What models take differs, also behind
//! the same address, and the server's own words say it best: what it names is
//! left out, renamed or made smaller, and that is remembered.

use std::collections::HashMap;

use parking_lot::{Mutex, MutexGuard};
use serde_json::{Map, Value};

use crate::endpoint::{ApiDialect, ModelEndpoint};
use crate::request::ModelRequest;

/// What requests may go without, by the keys that lead to it. The rest is
/// what is asked.
const OPTIONAL_PARAMETERS: &[&str] = &[
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
const PARAMETER_SYNONYMS: &[(&str, &str)] =
    &[("include", "encrypted content"), ("include", "reasoning.encrypted_content")];
/// Two names of the same, of which a server may know one.
const MAX_TOKENS_NAMES: [&str; 2] = ["max_tokens", "max_completion_tokens"];
/// How a server says that it does not take something.
const REFUSAL_PHRASES: &[&str] = &[
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
const LENGTH_PARAMETERS: &[&str] = &[
    "max_tokens",
    "max_completion_tokens",
    "max_output_tokens",
    "generationConfig.maxOutputTokens",
];
/// How a server says that it allows less of it.
const EXCESS_PHRASES: &[&str] =
    &["too large", "maximum", "at most", "less than or equal", "<=", "exceeds", "greater than"];
/// A number that is smaller is none of tokens.
const MIN_TOKEN_LIMIT: u64 = 256;

/// What is done to the requests to a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RequestAdaptation {
    Omit(&'static str),
    Rename(&'static str, &'static str),
    /// No more than so many.
    Cap(&'static str, u64),
    /// No pictures.
    OmitImages,
}

/// What servers refuse, by address and model.
#[derive(Debug, Default)]
pub(crate) struct ServerQuirks(Mutex<HashMap<(String, String), Vec<RequestAdaptation>>>);

impl ServerQuirks {
    /// Makes of a request what this server takes.
    pub(crate) fn apply(&self, endpoint: &ModelEndpoint, body: &mut Value) {
        let changes = self.lock().get(&quirk_key(endpoint, body)).cloned().unwrap_or_default();
        changes.iter().for_each(|change| change.apply(body));
    }

    /// Remembers what a refusal of this request says, and makes it so; whether
    /// it says something new.
    pub(crate) fn learn(&self, endpoint: &ModelEndpoint, said: &str, body: &mut Value) -> bool {
        let Some(change) = interpret_refusal(endpoint, said, body) else { return false };
        let mut places = self.lock();
        let known = places.entry(quirk_key(endpoint, body)).or_default();
        // A name that was refused is not gone back to.
        let change = match change {
            RequestAdaptation::Rename(from, to)
                if known.contains(&RequestAdaptation::Rename(to, from)) =>
            {
                known.retain(|known| *known != RequestAdaptation::Rename(to, from));
                known.push(RequestAdaptation::Omit(to));
                RequestAdaptation::Omit(from)
            }
            change => change,
        };
        change.apply(body);
        known.push(change);
        true
    }

    /// Whether a model takes no pictures.
    pub(crate) fn rejects_images(&self, endpoint: &ModelEndpoint, request: &ModelRequest) -> bool {
        let places = self.lock();
        let known = places.get(&model_quirk_key(endpoint, &request.model));
        known.is_some_and(|known| known.contains(&RequestAdaptation::OmitImages))
    }

    /// Remembers that it takes none; whether that is new.
    pub(crate) fn learn_rejects_images(
        &self,
        endpoint: &ModelEndpoint,
        request: &ModelRequest,
    ) -> bool {
        let mut places = self.lock();
        let known = places.entry(model_quirk_key(endpoint, &request.model)).or_default();
        let is_new = !known.contains(&RequestAdaptation::OmitImages);
        if is_new {
            known.push(RequestAdaptation::OmitImages);
        }
        is_new
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(String, String), Vec<RequestAdaptation>>> {
        self.0.lock()
    }
}

impl RequestAdaptation {
    fn apply(&self, body: &mut Value) {
        match *self {
            Self::Omit(path) => drop(remove_path(body, path)),
            Self::Cap(path, most) => {
                if let Some((holder, key)) = parent_object(body, path)
                    && holder.get(&key).and_then(Value::as_u64).is_some_and(|asked| asked > most)
                {
                    holder.insert(key, Value::from(most));
                }
            }
            // Pictures are taken out of what is asked, not of how it is written.
            Self::OmitImages => {}
            Self::Rename(from, to) => {
                if let Some(value) = remove_path(body, from)
                    && let Value::Object(body) = body
                {
                    body.insert(to.to_owned(), value);
                }
            }
        }
    }
}

fn quirk_key(endpoint: &ModelEndpoint, body: &Value) -> (String, String) {
    model_quirk_key(endpoint, body["model"].as_str().unwrap_or_default())
}

/// The same for a model by its name; the usual one if that is empty.
fn model_quirk_key(endpoint: &ModelEndpoint, model: &str) -> (String, String) {
    let model = if model.is_empty() { &endpoint.model } else { model };
    (format!("{}:{}", endpoint.dialect.name(), endpoint.base_url), model.to_owned())
}

fn parent_object<'a>(
    body: &'a mut Value,
    path: &str,
) -> Option<(&'a mut Map<String, Value>, String)> {
    match path.split_once('.') {
        None => Some((body.as_object_mut()?, path.to_owned())),
        Some((first, rest)) => parent_object(body.get_mut(first)?, rest),
    }
}

fn remove_path(body: &mut Value, path: &str) -> Option<Value> {
    let (holder, key) = parent_object(body, path)?;
    holder.remove(&key)
}

fn has_path(body: &Value, path: &str) -> bool {
    path.split('.').try_fold(body, |value, key| value.get(key)).is_some()
}

/// What is to be done about a refusal; none if it names nothing that the
/// request can go without, or what somebody has set on purpose.
fn interpret_refusal(
    endpoint: &ModelEndpoint,
    said: &str,
    body: &Value,
) -> Option<RequestAdaptation> {
    let json: Value = serde_json::from_str(said).unwrap_or_default();
    let error = json.get("error").filter(|error| error.is_object()).unwrap_or(&json);
    let words = error_message(error).unwrap_or(said).to_lowercase();
    let text = said.to_lowercase();
    let is_own = |path: &str| !endpoint.extra.contains_key(path.split('.').next().unwrap_or(path));
    let named = rejected_parameter(error);
    // What a conversation takes as a whole is another matter.
    if EXCESS_PHRASES.iter().any(|word| words.contains(word)) && !words.contains("context") {
        let is_meant = |path: &str| {
            let by_name = named.as_deref().is_some_and(|named| names_parameter(path, named));
            is_own(path) && (by_name || find_mention(&words, path).is_some())
        };
        let cap = LENGTH_PARAMETERS.iter().copied().find_map(|path| {
            let asked = path.split('.').try_fold(body, |value, key| value.get(key))?.as_u64()?;
            let most = is_meant(path).then(|| largest_below(&words, asked))??;
            Some(RequestAdaptation::Cap(path, most))
        });
        if cap.is_some() {
            return cap;
        }
    }
    if !REFUSAL_PHRASES.iter().any(|refusal| text.contains(refusal)) {
        return None;
    }
    let must_stay = |path: &str| endpoint.dialect == ApiDialect::Anthropic && path == "max_tokens";
    let may_go = |path: &&str| has_path(body, path) && is_own(path) && !must_stay(path);
    let spare = || OPTIONAL_PARAMETERS.iter().copied().filter(may_go);
    let path =
        spare().find(|path| named.as_deref().is_some_and(|named| names_parameter(path, named)));
    let path = path.or_else(|| {
        let place = |path: &str| {
            let also =
                PARAMETER_SYNONYMS.iter().filter(|(of, _)| *of == path).map(|(_, also)| *also);
            std::iter::once(path).chain(also).filter_map(|word| find_mention(&words, word)).min()
        };
        spare().filter_map(|path| Some((place(path)?, path))).min().map(|(_, path)| path)
    })?;
    let other = MAX_TOKENS_NAMES.iter().find(|name| **name != path).copied().unwrap_or_default();
    let is_named = MAX_TOKENS_NAMES.contains(&path) && endpoint.dialect == ApiDialect::Chat;
    if is_named && find_mention(&text, other).is_some() {
        return Some(RequestAdaptation::Rename(path, other));
    }
    Some(RequestAdaptation::Omit(path))
}

/// The largest number in a text that is smaller than this one.
fn largest_below(text: &str, bound: u64) -> Option<u64> {
    let numbers =
        text.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok());
    numbers.filter(|number| (MIN_TOKEN_LIMIT..bound).contains(number)).max()
}

/// What the server says in words.
fn error_message(error: &Value) -> Option<&str> {
    let text = |value: &'_ Value| value.as_str().is_some_and(|text| !text.is_empty());
    let own = ["message", "detail", "msg", "error"].iter().map(|key| &error[*key]);
    own.into_iter().find(|value| text(value)).and_then(Value::as_str)
}

/// The parameter that the server names as the one it does not take.
fn rejected_parameter(error: &Value) -> Option<String> {
    let listed = |value: &Value| {
        let steps: Vec<&str> = value["loc"].as_array()?.iter().filter_map(Value::as_str).collect();
        Some(steps.strip_prefix(&["body"]).unwrap_or(&steps).join("."))
    };
    let param = error["param"].as_str().map(str::to_owned);
    param.or_else(|| listed(&error["detail"][0])).filter(|name| !name.is_empty())
}

/// Whether a name means this parameter, or a part of it.
fn names_parameter(path: &str, named: &str) -> bool {
    let rest = named.strip_prefix(path);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// Where a parameter is named in a text, as a word of its own.
fn find_mention(text: &str, path: &str) -> Option<usize> {
    let name = path.rsplit('.').next().unwrap_or(path).to_lowercase();
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(&name).map(|(at, _)| at).find(|at| {
        let before = text[..*at].chars().next_back();
        let after = text[at + name.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

#[cfg(test)]
#[path = "server_quirks_tests.rs"]
mod tests;
