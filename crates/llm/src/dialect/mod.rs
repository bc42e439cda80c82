//! The languages of servers: how a request is written, how pieces of an
//! answer are read. Each has the same files.

pub(crate) mod anthropic;
pub(crate) mod chat;
pub(crate) mod gemini;
pub(crate) mod responses;

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde_json::{Map, Value, json};

use crate::endpoint::{Dialect, Endpoint};
use crate::fault::Fault;
use crate::message::Image;
use crate::reply::Event;
use crate::request::Request;

/// Whether more is to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Heard {
    /// Yes.
    More,
    /// The server has said that this was all.
    All,
}

/// Reads the pieces of one answer.
pub(crate) trait Pieces: Send {
    /// Reads a piece.
    fn take(&mut self, data: &Value, events: &mut Vec<Event>) -> Result<Heard, Fault>;
}

/// The path and the body of a request.
pub(crate) fn write(endpoint: &Endpoint, request: &Request) -> (String, Value) {
    let model = model(endpoint, request);
    let (path, mut body) = match endpoint.dialect {
        Dialect::Chat => ("chat/completions".to_owned(), chat::body(endpoint, model, request)),
        Dialect::Responses => ("responses".to_owned(), responses::body(endpoint, model, request)),
        Dialect::Anthropic => ("messages".to_owned(), anthropic::body(endpoint, model, request)),
        Dialect::Gemini => {
            let model = model.strip_prefix("models/").unwrap_or(model);
            (
                format!("models/{model}:streamGenerateContent"),
                gemini::body(endpoint, model, request),
            )
        }
    };
    if let Value::Object(body) = &mut body {
        body.extend(endpoint.extra.iter().map(|(name, value)| (name.clone(), value.clone())));
    }
    (path, body)
}

fn model<'a>(endpoint: &'a Endpoint, request: &'a Request) -> &'a str {
    if request.model.is_empty() { &endpoint.model } else { &request.model }
}

/// A reader for an answer to it.
pub(crate) fn reader(endpoint: &Endpoint, request: &Request) -> Box<dyn Pieces> {
    match endpoint.dialect {
        Dialect::Chat => Box::new(chat::Reader::new(endpoint.origin(), model(endpoint, request))),
        Dialect::Responses => Box::new(responses::Reader::new(endpoint.origin())),
        Dialect::Anthropic => {
            Box::new(anthropic::Reader::new(endpoint.origin(), request.schema.is_some()))
        }
        Dialect::Gemini => Box::new(gemini::Reader::new(endpoint.origin())),
    }
}

/// The function of a tool: name, description, parameters.
fn functions(request: &Request) -> impl Iterator<Item = &Value> {
    let tools: &[Value] = if request.speaks_calls { &[] } else { &request.tools };
    tools.iter().map(|tool| tool.get("function").unwrap_or(tool))
}

fn has_tools(request: &Request) -> bool {
    !request.speaks_calls && !request.tools.is_empty()
}

/// A name as servers take it. Models make up others, and a server that refuses
/// one in the history refuses the whole conversation.
fn name(name: &str) -> String {
    let mut fit: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' })
        .take(64)
        .collect();
    if fit.is_empty() {
        fit.push_str("unknown");
    }
    fit
}

/// An id as servers take it, and the same one for the same id.
fn id(id: &str) -> String {
    let fit = name(id);
    if fit == id {
        return fit;
    }
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    let start: String = fit.chars().take(40).collect();
    format!("{start}_{:016x}", hasher.finish())
}

/// The arguments of an earlier call as an object. What a model wrote wrongly is
/// kept as text, because servers refuse conversations with it.
fn arguments(text: &str) -> Map<String, Value> {
    if text.trim().is_empty() {
        return Map::new();
    }
    serde_json::from_str(text)
        .unwrap_or_else(|_| Map::from_iter([("arguments".to_owned(), Value::from(text))]))
}

/// The same as text: as the model wrote it, if that is an object.
fn arguments_text(text: &str) -> String {
    let is_object = serde_json::from_str::<
        std::collections::HashMap<String, &serde_json::value::RawValue>,
    >(text);
    if is_object.is_ok() { text.to_owned() } else { Value::Object(arguments(text)).to_string() }
}

/// Whether a model of OpenAI thinks, by its name: `gpt-5`, `o3`, and what comes
/// after them.
fn is_reasoner(model: &str) -> bool {
    let name = own_name(model);
    let number = |rest: &str| rest.chars().next().and_then(|digit| digit.to_digit(10));
    let gpt = name.strip_prefix("gpt-").and_then(number);
    gpt.is_some_and(|number| number >= 5) || name.strip_prefix('o').and_then(number).is_some()
}

/// Whether a model of OpenAI does not think, by its name.
fn is_plain(model: &str) -> bool {
    let name = own_name(model);
    ["gpt-3", "gpt-4", "chatgpt-4"].iter().any(|start| name.starts_with(start))
}

/// A name without who made it, as in `openai/gpt-5`.
fn own_name(model: &str) -> &str {
    model.rsplit('/').next().unwrap_or(model)
}

fn data_url(image: &Image) -> String {
    format!("data:{};base64,{}", image.media_type, image.data)
}

/// Whether a schema is as strict as OpenAI's strict mode wants it: every
/// object closed, every property required.
fn is_strict(schema: &Value) -> bool {
    let mut open = vec![schema];
    while let Some(schema) = open.pop() {
        let Value::Object(map) = schema else {
            if let Value::Array(items) = schema {
                open.extend(items);
            }
            continue;
        };
        if let Some(Value::Object(properties)) = map.get("properties") {
            let required = map.get("required").and_then(Value::as_array);
            let is_required = |name: &String| {
                required.is_some_and(|required| required.iter().any(|one| one == name.as_str()))
            };
            let is_closed = map.get("additionalProperties") == Some(&json!(false));
            if !is_closed || !properties.keys().all(is_required) {
                return false;
            }
        } else if map.get("type") == Some(&json!("object")) {
            return false;
        }
        open.extend(map.values());
    }
    true
}

/// A number of tokens.
fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or_default()
}

/// The server tells of an error in the middle of its answer.
fn error(data: &Value) -> Fault {
    crate::classify::classify(None, None, &data.to_string())
}
