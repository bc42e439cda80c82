//! Request encoding for the Chat Completions API.

use serde_json::{Map, Value, json};

use super::super::{
    arguments_text, data_url, has_tools, is_reasoning_model, is_strict_schema, sanitize_id,
    sanitize_name, tool_functions,
};
use crate::endpoint::ModelEndpoint;
use crate::message::{ChatMessage, ContentPart, ToolCallAnswer};
use crate::opaque_blocks::opaque_pieces;
use crate::reply::ModelReply;
use crate::request::{ModelRequest, ToolChoice};
use crate::text_calls::with_text_calls;

/// Builds the request body.
pub(crate) fn request_body(endpoint: &ModelEndpoint, model: &str, request: &ModelRequest) -> Value {
    // A proxy in front of it has another address.
    let is_router = endpoint.is_host("openrouter.ai") || endpoint.provider == "openrouter";
    let is_openai = endpoint.is_host("api.openai.com") || endpoint.is_host("openai.azure.com");
    let marks = is_router && model.contains("claude");
    let mut body = Map::new();
    body.insert("model".into(), json!(model));
    body.insert("messages".into(), messages(endpoint, model, request, marks));
    if has_tools(request) {
        let tools =
            tool_functions(request).map(|tool| json!({"type": "function", "function": tool}));
        body.insert("tools".into(), tools.collect());
        match &request.choice {
            ToolChoice::Auto => {}
            ToolChoice::None => drop(body.insert("tool_choice".into(), json!("none"))),
            ToolChoice::Required => drop(body.insert("tool_choice".into(), json!("required"))),
            ToolChoice::Tool(tool) => {
                let choice = json!({"type": "function", "function": {"name": tool}});
                body.insert("tool_choice".into(), choice);
            }
        }
    }
    if let Some(most) = request.max_tokens.or(endpoint.max_tokens) {
        // Newer OpenAI models reject the old name; other servers do not know
        // the new one.
        let is_newer = is_openai || is_reasoning_model(model);
        let key = if is_newer { "max_completion_tokens" } else { "max_tokens" };
        body.insert(key.into(), json!(most));
    }
    if let Some(temperature) = request.temperature {
        body.insert("temperature".into(), json!(temperature));
    }
    if let Some(effort) = &request.effort {
        if is_router {
            body.insert("reasoning".into(), json!({"effort": effort}));
        } else {
            body.insert("reasoning_effort".into(), json!(effort));
        }
    }
    if let Some(schema) = &request.schema {
        let format = json!({
            "type": "json_schema",
            "json_schema": {"name": "answer", "strict": is_strict_schema(schema), "schema": schema},
        });
        body.insert("response_format".into(), format);
    }
    body.insert("stream".into(), json!(true));
    body.insert("stream_options".into(), json!({"include_usage": true}));
    if is_router {
        body.insert("usage".into(), json!({"include": true}));
    }
    Value::Object(body)
}

fn messages(endpoint: &ModelEndpoint, model: &str, request: &ModelRequest, marks: bool) -> Value {
    let origin = endpoint.origin();
    let messages = with_text_calls(&request.messages, request.text_tool_calls);
    let mut written = Vec::with_capacity(messages.len());
    let mut images: Vec<Value> = Vec::new();
    for message in messages.iter() {
        // Tool messages cannot carry images, so the images follow the last
        // result in a row.
        if !matches!(message, ChatMessage::Tool(_)) && !images.is_empty() {
            written.push(json!({"role": "user", "content": std::mem::take(&mut images)}));
        }
        match message {
            ChatMessage::System { text } => {
                written.push(json!({"role": "system", "content": text_content(text, marks)}));
            }
            ChatMessage::User { content } => {
                written.push(json!({"role": "user", "content": user_content(content, marks)}));
            }
            ChatMessage::Assistant(reply) => written.push(assistant(reply, &origin, model)),
            ChatMessage::Tool(answer) => {
                written.push(json!({
                    "role": "tool",
                    "tool_call_id": sanitize_id(&answer.call_id),
                    "content": text_content(&answer.content, marks),
                }));
                images.extend(result_images(answer));
            }
        }
    }
    if !images.is_empty() {
        written.push(json!({"role": "user", "content": images}));
    }
    if marks {
        set_cache_marks(&mut written);
    }
    Value::Array(written)
}

fn text_content(text: &str, as_parts: bool) -> Value {
    if as_parts { json!([{"type": "text", "text": text}]) } else { json!(text) }
}

fn user_content(content: &[ContentPart], as_parts: bool) -> Value {
    let texts = content.iter().map(|part| match part {
        ContentPart::Text { text } => Some(text.as_str()),
        ContentPart::Image(_) => None,
    });
    // Servers of simple models accept only plain text.
    if let (Some(texts), false) = (texts.collect::<Option<Vec<_>>>(), as_parts) {
        return json!(texts.join("\n\n"));
    }
    let part = |part: &ContentPart| match part {
        ContentPart::Text { text } => json!({"type": "text", "text": text}),
        ContentPart::Image(image) => {
            json!({"type": "image_url", "image_url": {"url": data_url(image)}})
        }
    };
    content.iter().map(part).collect()
}

fn result_images(answer: &ToolCallAnswer) -> Vec<Value> {
    if answer.images.is_empty() {
        return Vec::new();
    }
    let text = format!("[From the result of {}:]", answer.name);
    let images = answer
        .images
        .iter()
        .map(|image| json!({"type": "image_url", "image_url": {"url": data_url(image)}}));
    std::iter::once(json!({"type": "text", "text": text})).chain(images).collect()
}

fn assistant(reply: &ModelReply, origin: &str, model: &str) -> Value {
    let mut message = Map::new();
    message.insert("role".into(), json!("assistant"));
    // Some servers reject a message with neither; others reject `null` beside
    // calls.
    message.insert("content".into(), json!(reply.text));
    if !reply.calls.is_empty() {
        let calls = reply.calls.iter().map(|call| {
            json!({
                "id": sanitize_id(&call.id),
                "type": "function",
                "function": {"name": sanitize_name(&call.name), "arguments": arguments_text(&call.arguments)},
            })
        });
        message.insert("tool_calls".into(), calls.collect());
    }
    for piece in opaque_pieces(reply, origin).map(|piece| &piece["it"]) {
        if let Some(details) = piece.get("reasoning_details") {
            message.insert("reasoning_details".into(), details.clone());
        } else if let Some(field) = piece["field"].as_str().filter(|_| !reply.calls.is_empty())
            && piece["model"].as_str().is_none_or(|its| its == model)
        {
            // Plain-text reasoning is sent back only between tool calls, and
            // only to the model that wrote it.
            let thought = reply.reasoning.as_ref().map_or("", |reasoning| &reasoning.text);
            message.insert(field.to_owned(), json!(thought));
        }
    }
    Value::Object(message)
}

/// Sets cache breakpoints on the system prompt and the last two user or tool
/// messages.
fn set_cache_marks(messages: &mut [Value]) {
    let system = messages.iter().position(|message| message["role"] == "system");
    let others = messages.iter().enumerate().rev();
    let others =
        others.filter(|(_, message)| message["role"] == "user" || message["role"] == "tool");
    let places: Vec<usize> = others.map(|(at, _)| at).take(2).chain(system).collect();
    for at in places {
        let last = messages[at]["content"].as_array_mut().and_then(|parts| parts.last_mut());
        if let Some(Value::Object(part)) = last {
            part.insert("cache_control".into(), json!({"type": "ephemeral"}));
        }
    }
}

#[cfg(test)]
#[path = "body_tests.rs"]
mod tests;
