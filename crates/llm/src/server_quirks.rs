//! Adapts requests to parameters that a server rejects. Support differs per
//! model, even behind one URL, so the error message decides: the parameter it
//! names is omitted, renamed or capped, and the adaptation is remembered.

use std::collections::HashMap;

use parking_lot::{Mutex, MutexGuard};
use serde_json::{Map, Value};

use crate::endpoint::{ApiDialect, ModelEndpoint};
use crate::request::ModelRequest;

/// Parameters that may be omitted from a request, as dotted paths. The rest is
/// the conversation itself.
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
/// Other names that servers use for a parameter.
const PARAMETER_SYNONYMS: &[(&str, &str)] =
    &[("include", "encrypted content"), ("include", "reasoning.encrypted_content")];
/// Two names of the same parameter; a server may accept only one.
const MAX_TOKENS_NAMES: [&str; 2] = ["max_tokens", "max_completion_tokens"];
/// Phrases with which a server rejects a parameter.
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

/// Parameters that limit the length of a reply.
const LENGTH_PARAMETERS: &[&str] = &[
    "max_tokens",
    "max_completion_tokens",
    "max_output_tokens",
    "generationConfig.maxOutputTokens",
];
/// Phrases with which a server rejects a value as too large.
const EXCESS_PHRASES: &[&str] =
    &["too large", "maximum", "at most", "less than or equal", "<=", "exceeds", "greater than"];
/// Smaller numbers in an error message are not token limits.
const MIN_TOKEN_LIMIT: u64 = 256;

/// A change to the requests for one model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RequestAdaptation {
    Omit(&'static str),
    Rename(&'static str, &'static str),
    /// Limits the value.
    Cap(&'static str, u64),
    /// Removes images.
    OmitImages,
}

/// Known request adaptations, by endpoint and model.
#[derive(Debug, Default)]
pub(crate) struct ServerQuirks(Mutex<HashMap<(String, String), Vec<RequestAdaptation>>>);

impl ServerQuirks {
    /// Applies the known adaptations to a request.
    pub(crate) fn apply(&self, endpoint: &ModelEndpoint, body: &mut Value) {
        let changes = self.lock().get(&quirk_key(endpoint, body)).cloned().unwrap_or_default();
        changes.iter().for_each(|change| change.apply(body));
    }

    /// Learns an adaptation from the rejection of this request and applies it.
    /// Returns whether there was one.
    pub(crate) fn learn(&self, endpoint: &ModelEndpoint, said: &str, body: &mut Value) -> bool {
        let Some(change) = interpret_refusal(endpoint, said, body) else { return false };
        let mut places = self.lock();
        let known = places.entry(quirk_key(endpoint, body)).or_default();
        // Never go back to a name that was rejected.
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

    /// Whether a model rejects images.
    pub(crate) fn rejects_images(&self, endpoint: &ModelEndpoint, request: &ModelRequest) -> bool {
        let places = self.lock();
        let known = places.get(&model_quirk_key(endpoint, &request.model));
        known.is_some_and(|known| known.contains(&RequestAdaptation::OmitImages))
    }

    /// Remembers that a model rejects images. Returns whether that is new.
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
            // Images are removed from the messages, not from the request body.
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

/// Key of a model by name; an empty name means the endpoint's default model.
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

/// Returns the adaptation for a rejection. `None` if it names no optional
/// parameter, or one that the user configured.
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
    // A context length error is not about the reply length.
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

/// Returns the largest number in a text that is below `bound`.
fn largest_below(text: &str, bound: u64) -> Option<u64> {
    let numbers =
        text.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok());
    numbers.filter(|number| (MIN_TOKEN_LIMIT..bound).contains(number)).max()
}

/// Returns the server's error message.
fn error_message(error: &Value) -> Option<&str> {
    let text = |value: &'_ Value| value.as_str().is_some_and(|text| !text.is_empty());
    let own = ["message", "detail", "msg", "error"].iter().map(|key| &error[*key]);
    own.into_iter().find(|value| text(value)).and_then(Value::as_str)
}

/// Returns the parameter that the server reports as rejected.
fn rejected_parameter(error: &Value) -> Option<String> {
    let listed = |value: &Value| {
        let steps: Vec<&str> = value["loc"].as_array()?.iter().filter_map(Value::as_str).collect();
        Some(steps.strip_prefix(&["body"]).unwrap_or(&steps).join("."))
    };
    let param = error["param"].as_str().map(str::to_owned);
    param.or_else(|| listed(&error["detail"][0])).filter(|name| !name.is_empty())
}

/// Whether a name refers to this parameter or a part of it.
fn names_parameter(path: &str, named: &str) -> bool {
    let rest = named.strip_prefix(path);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// Returns the position of a parameter in a text, as a whole word.
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
