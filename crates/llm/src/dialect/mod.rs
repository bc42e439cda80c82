//! API dialects: request encoding and reply decoding, one module per dialect.

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

/// Whether more data is expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DecodeStatus {
    /// Yes.
    Continue,
    /// The server has ended the reply.
    Complete,
}

/// Decoder of one streamed reply.
pub(crate) trait StreamDecoder: Send {
    /// Decodes one chunk and appends its events.
    fn decode(
        &mut self,
        data: &Value,
        events: &mut Vec<ReplyEvent>,
    ) -> Result<DecodeStatus, ModelError>;
}

/// Returns the path and the body of a request.
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

/// Returns a decoder for the reply to `request`.
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

/// Iterates over the tools' functions: name, description, parameters.
fn tool_functions(request: &ModelRequest) -> impl Iterator<Item = &Value> {
    let tools: &[Value] = if request.text_tool_calls { &[] } else { &request.tools };
    tools.iter().map(|tool| tool.get("function").unwrap_or(tool))
}

fn has_tools(request: &ModelRequest) -> bool {
    !request.text_tool_calls && !request.tools.is_empty()
}

/// Replaces characters that servers do not accept in a name. Models invent
/// names, and a server that rejects one in the history rejects the whole
/// conversation.
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

/// Converts an id to a form that servers accept, always the same for one id.
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

/// Parses the arguments of an earlier call as an object. Invalid ones are
/// wrapped as text, because servers reject conversations that contain them.
fn arguments_object(text: &str) -> Map<String, Value> {
    if text.trim().is_empty() {
        return Map::new();
    }
    serde_json::from_str(text)
        .unwrap_or_else(|_| Map::from_iter([("arguments".to_owned(), Value::from(text))]))
}

/// Returns the arguments as text: unchanged if they are an object.
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

/// Whether the name is that of an OpenAI reasoning model: `gpt-5`, `o3` and
/// later.
fn is_reasoning_model(model: &str) -> bool {
    let name = bare_model_name(model);
    let number = |rest: &str| rest.chars().next().and_then(|digit| digit.to_digit(10));
    let gpt = name.strip_prefix("gpt-").and_then(number);
    gpt.is_some_and(|number| number >= 5) || name.strip_prefix('o').and_then(number).is_some()
}

/// Whether the name is that of an OpenAI model without reasoning.
fn is_non_reasoning_model(model: &str) -> bool {
    let name = bare_model_name(model);
    ["gpt-3", "gpt-4", "chatgpt-4"].iter().any(|start| name.starts_with(start))
}

/// Strips the vendor from a name such as `openai/gpt-5`.
fn bare_model_name(model: &str) -> &str {
    model.rsplit('/').next().unwrap_or(model)
}

fn data_url(image: &InlineImage) -> String {
    format!("data:{};base64,{}", image.media_type, image.data)
}

/// Whether a schema satisfies OpenAI's strict mode: every object closed, every
/// property required.
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

/// Reads a token count; 0 if absent.
fn token_count(value: &Value) -> u64 {
    value.as_u64().unwrap_or_default()
}

/// Converts an error that the server reports in the middle of a reply.
fn stream_error(data: &Value) -> ModelError {
    crate::classify::classify(None, None, &data.to_string())
}
