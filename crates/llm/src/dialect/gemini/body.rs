//! Request encoding for Google's Gemini API.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::super::{arguments_object, has_tools, sanitize_name, tool_functions};
use crate::endpoint::ModelEndpoint;
use crate::message::{ChatMessage, ContentPart, InlineImage, ToolCallAnswer};
use crate::opaque_blocks::opaque_pieces;
use crate::reply::ModelReply;
use crate::request::{ModelRequest, ToolChoice};
use crate::text_calls::with_text_calls;

/// Builds the request body.
pub(crate) fn request_body(endpoint: &ModelEndpoint, model: &str, request: &ModelRequest) -> Value {
    let messages = with_text_calls(&request.messages, request.text_tool_calls);
    let mut body = Map::new();
    let system: Vec<Value> = messages
        .iter()
        .filter_map(|message| match message {
            ChatMessage::System { text } => Some(json!({"text": text})),
            _ => None,
        })
        .collect();
    if !system.is_empty() {
        body.insert("systemInstruction".into(), json!({"parts": system}));
    }
    body.insert("contents".into(), Value::Array(contents(&messages, &endpoint.origin())));
    if has_tools(request) {
        tools(request, &mut body);
    }
    let mut generation = Map::new();
    if let Some(most) = request.max_tokens.or(endpoint.max_tokens) {
        generation.insert("maxOutputTokens".into(), json!(most));
    }
    if let Some(temperature) = request.temperature {
        generation.insert("temperature".into(), json!(temperature));
    }
    if let Some(effort) = &request.effort {
        generation.insert("thinkingConfig".into(), thinking(model, effort));
    }
    if let Some(schema) = &request.schema {
        generation.insert("responseMimeType".into(), json!("application/json"));
        generation.insert("responseJsonSchema".into(), schema.clone());
    }
    if !generation.is_empty() {
        body.insert("generationConfig".into(), Value::Object(generation));
    }
    Value::Object(body)
}

fn tools(request: &ModelRequest, body: &mut Map<String, Value>) {
    let declarations: Vec<Value> = tool_functions(request)
        .map(|tool| {
            let mut written = Map::new();
            for (from, to) in [
                ("name", "name"),
                ("description", "description"),
                ("parameters", "parametersJsonSchema"),
            ] {
                written.extend(tool.get(from).map(|value| (to.to_owned(), value.clone())));
            }
            Value::Object(written)
        })
        .collect();
    body.insert("tools".into(), json!([{"functionDeclarations": declarations}]));
    let choice = match &request.choice {
        ToolChoice::Auto => return,
        ToolChoice::None => json!({"mode": "NONE"}),
        ToolChoice::Required => json!({"mode": "ANY"}),
        ToolChoice::Tool(tool) => json!({"mode": "ANY", "allowedFunctionNames": [tool]}),
    };
    body.insert("toolConfig".into(), json!({"functionCallingConfig": choice}));
}

fn thinking(model: &str, effort: &str) -> Value {
    // Gemini 2 takes a token budget, later generations a level.
    if model.contains("gemini-2") {
        let budget = match effort {
            "minimal" | "low" => 2_048,
            "medium" => 8_192,
            _ => 24_576,
        };
        return json!({"thinkingBudget": budget, "includeThoughts": true});
    }
    json!({"thinkingLevel": effort, "includeThoughts": true})
}

fn contents(messages: &[ChatMessage], origin: &str) -> Vec<Value> {
    let mut written: Vec<(&str, Vec<Value>)> = Vec::new();
    // A result is matched to its call by the name that the model used, which
    // may differ from the tool's own.
    let mut asked: HashMap<&str, &str> = HashMap::new();
    for message in messages {
        let (role, parts) = match message {
            ChatMessage::System { .. } => continue,
            ChatMessage::User { content } => ("user", content.iter().map(content_part).collect()),
            ChatMessage::Tool(answer) => {
                let asked = asked.get(answer.call_id.as_str()).copied();
                ("user", tool_result(answer, asked.unwrap_or(&answer.name)))
            }
            ChatMessage::Assistant(reply) => {
                let calls = reply.calls.iter();
                asked.extend(calls.map(|call| (call.id.as_str(), call.name.as_str())));
                ("model", assistant_parts(reply, origin))
            }
        };
        match written.last_mut() {
            _ if parts.is_empty() => {}
            Some((last, known)) if *last == role => known.extend(parts),
            _ => written.push((role, parts)),
        }
    }
    written.into_iter().map(|(role, parts)| json!({"role": role, "parts": parts})).collect()
}

fn content_part(part: &ContentPart) -> Value {
    match part {
        ContentPart::Text { text } => json!({"text": text}),
        ContentPart::Image(image) => image_part(image),
    }
}

fn image_part(image: &InlineImage) -> Value {
    json!({"inlineData": {"mimeType": image.media_type, "data": image.data}})
}

fn tool_result(answer: &ToolCallAnswer, asked: &str) -> Vec<Value> {
    // Results are objects here; the key marks success or failure.
    let key = if answer.is_error { "error" } else { "output" };
    let result = json!({"functionResponse": {
        "name": sanitize_name(asked),
        "response": {key: answer.content},
    }});
    std::iter::once(result).chain(answer.images.iter().map(image_part)).collect()
}

fn assistant_parts(reply: &ModelReply, origin: &str) -> Vec<Value> {
    let signature = |of: &Value| {
        let piece = opaque_pieces(reply, origin).find(|piece| piece["it"]["of"] == *of)?;
        piece["it"].get("thoughtSignature").cloned()
    };
    let mut parts = Vec::new();
    if !reply.text.is_empty() {
        parts.push(with_signature(json!({"text": reply.text}), signature(&json!("text"))));
    }
    for (at, call) in reply.calls.iter().enumerate() {
        let call = json!({"functionCall": {
            "name": sanitize_name(&call.name),
            "args": arguments_object(&call.arguments),
        }});
        parts.push(with_signature(call, signature(&json!(at))));
    }
    parts
}

fn with_signature(mut part: Value, signature: Option<Value>) -> Value {
    if let Some(signature) = signature {
        part["thoughtSignature"] = signature;
    }
    part
}
