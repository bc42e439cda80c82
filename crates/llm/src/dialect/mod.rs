//! The languages of servers: how a request is written, how pieces of an
//! answer are read. Each has the same files.

pub(crate) mod anthropic;
pub(crate) mod chat;
pub(crate) mod gemini;
pub(crate) mod responses;

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde_json::{Map, Value, json};

use crate::endpoint::{ApiDialect, ModelEndpoint};
use crate::message::InlineImage;
use crate::model_error::ModelError;
use crate::reply::ReplyEvent;
use crate::request::ModelRequest;

/// Whether more is to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DecodeStatus {
    /// Yes.
    Continue,
    /// The server has said that this was all.
    Complete,
}

/// Reads the pieces of one answer.
pub(crate) trait StreamDecoder: Send {
    /// Reads a piece.
    fn decode(
        &mut self,
        data: &Value,
        events: &mut Vec<ReplyEvent>,
    ) -> Result<DecodeStatus, ModelError>;
}

/// The path and the body of a request.
pub(crate) fn build_request(endpoint: &ModelEndpoint, request: &ModelRequest) -> (String, Value) {
    let model = requested_model(endpoint, request);
    let (path, mut body) = match endpoint.dialect {
        ApiDialect::Chat => {
            ("chat/completions".to_owned(), chat::request_body(endpoint, model, request))
        }
        ApiDialect::Responses => {
            ("responses".to_owned(), responses::request_body(endpoint, model, request))
        }
        ApiDialect::Anthropic => {
            ("messages".to_owned(), anthropic::request_body(endpoint, model, request))
        }
        ApiDialect::Gemini => {
            let model = model.strip_prefix("models/").unwrap_or(model);
            (
                format!("models/{model}:streamGenerateContent"),
                gemini::request_body(endpoint, model, request),
            )
        }
    };
    if let Value::Object(body) = &mut body {
        body.extend(endpoint.extra.iter().map(|(name, value)| (name.clone(), value.clone())));
    }
    (path, body)
}

fn requested_model<'a>(endpoint: &'a ModelEndpoint, request: &'a ModelRequest) -> &'a str {
    if request.model.is_empty() { &endpoint.model } else { &request.model }
}

/// A reader for an answer to it.
pub(crate) fn decoder_for(
    endpoint: &ModelEndpoint,
    request: &ModelRequest,
) -> Box<dyn StreamDecoder> {
    match endpoint.dialect {
        ApiDialect::Chat => {
            Box::new(chat::ChatDecoder::new(endpoint.origin(), requested_model(endpoint, request)))
        }
        ApiDialect::Responses => Box::new(responses::ResponsesDecoder::new(endpoint.origin())),
        ApiDialect::Anthropic => {
            Box::new(anthropic::AnthropicDecoder::new(endpoint.origin(), request.schema.is_some()))
        }
        ApiDialect::Gemini => Box::new(gemini::GeminiDecoder::new(endpoint.origin())),
    }
}

/// The function of a tool: name, description, parameters.
fn tool_functions(request: &ModelRequest) -> impl Iterator<Item = &Value> {
    let tools: &[Value] = if request.text_tool_calls { &[] } else { &request.tools };
    tools.iter().map(|tool| tool.get("function").unwrap_or(tool))
}

fn has_tools(request: &ModelRequest) -> bool {
    !request.text_tool_calls && !request.tools.is_empty()
}

/// A name as servers take it. Models make up others, and a server that refuses
/// one in the history refuses the whole conversation.
fn sanitize_name(name: &str) -> String {
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
fn sanitize_id(id: &str) -> String {
    let fit = sanitize_name(id);
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
fn arguments_object(text: &str) -> Map<String, Value> {
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
    if is_object.is_ok() {
        text.to_owned()
    } else {
        Value::Object(arguments_object(text)).to_string()
    }
}

/// Whether a model of OpenAI thinks, by its name: `gpt-5`, `o3`, and what comes
/// after them.
fn is_reasoning_model(model: &str) -> bool {
    let name = bare_model_name(model);
    let number = |rest: &str| rest.chars().next().and_then(|digit| digit.to_digit(10));
    let gpt = name.strip_prefix("gpt-").and_then(number);
    gpt.is_some_and(|number| number >= 5) || name.strip_prefix('o').and_then(number).is_some()
}

/// Whether a model of OpenAI does not think, by its name.
fn is_non_reasoning_model(model: &str) -> bool {
    let name = bare_model_name(model);
    ["gpt-3", "gpt-4", "chatgpt-4"].iter().any(|start| name.starts_with(start))
}

/// A name without who made it, as in `openai/gpt-5`.
fn bare_model_name(model: &str) -> &str {
    model.rsplit('/').next().unwrap_or(model)
}

fn data_url(image: &InlineImage) -> String {
    format!("data:{};base64,{}", image.media_type, image.data)
}

/// Whether a schema is as strict as OpenAI's strict mode wants it: every
/// object closed, every property required.
fn is_strict_schema(schema: &Value) -> bool {
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
fn token_count(value: &Value) -> u64 {
    value.as_u64().unwrap_or_default()
}

/// The server tells of an error in the middle of its answer.
fn stream_error(data: &Value) -> ModelError {
    crate::classify::classify(None, None, &data.to_string())
}
