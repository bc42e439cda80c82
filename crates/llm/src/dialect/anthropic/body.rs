//! Request encoding for Anthropic's Messages API.

use serde_json::{Map, Value, json};

use super::super::{arguments_object, has_tools, sanitize_id, sanitize_name, tool_functions};
use super::ANSWER_TOOL_NAME;
use crate::endpoint::ModelEndpoint;
use crate::message::{ChatMessage, ContentPart, InlineImage, ToolCallAnswer};
use crate::opaque_blocks::{ReplyBlock, reply_blocks};
use crate::reply::ModelReply;
use crate::request::{ModelRequest, ToolChoice};
use crate::text_calls::with_text_calls;

/// Builds the request body.
pub(crate) fn request_body(endpoint: &ModelEndpoint, model: &str, request: &ModelRequest) -> Value {
    let messages = with_text_calls(&request.messages, request.text_tool_calls);
    let mut body = Map::new();
    body.insert("model".into(), json!(model));
    let most =
        request.max_tokens.or(endpoint.max_tokens).unwrap_or_else(|| default_max_tokens(model));
    body.insert("max_tokens".into(), json!(most));
    let system: Vec<&str> = messages
        .iter()
        .filter_map(|message| match message {
            ChatMessage::System { text } if !text.is_empty() => Some(text.as_str()),
            _ => None,
        })
        .collect();
    if !system.is_empty() {
        body.insert(
            "system".into(),
            json!([with_cache_control(json!({"type": "text", "text": system.join("\n\n")}))]),
        );
    }
    tools(request, &mut body);
    body.insert("messages".into(), Value::Array(conversation(&messages, &endpoint.origin())));
    let is_forced = body
        .get("tool_choice")
        .is_some_and(|choice| choice["type"] == "any" || choice["type"] == "tool");
    let effort = request.effort.as_deref().filter(|_| !is_forced);
    match effort {
        Some(effort) => set_thinking(model, effort, most, &mut body),
        // With thinking enabled, the server rejects a temperature.
        None => drop(request.temperature.map(|it| body.insert("temperature".into(), json!(it)))),
    }
    body.insert("stream".into(), json!(true));
    Value::Object(body)
}

fn tools(request: &ModelRequest, body: &mut Map<String, Value>) {
    let mut tools: Vec<Value> = tool_functions(request)
        .map(|tool| {
            let mut written = Map::new();
            written.insert("name".into(), tool["name"].clone());
            if let Some(description) = tool.get("description") {
                written.insert("description".into(), description.clone());
            }
            let schema = tool.get("parameters").filter(|schema| schema.is_object());
            let schema = schema.cloned().unwrap_or_else(|| json!({"type": "object"}));
            written.insert("input_schema".into(), schema);
            Value::Object(written)
        })
        .collect();
    // A reply that must match a schema is requested as a tool call, which every
    // model supports.
    if let Some(schema) = &request.schema {
        tools.push(json!({
            "name": ANSWER_TOOL_NAME,
            "description": "Returns the answer.",
            "input_schema": schema,
        }));
    }
    let Some(last) = tools.pop() else { return };
    tools.push(with_cache_control(last));
    body.insert("tools".into(), Value::Array(tools));
    let choice = match &request.choice {
        _ if request.schema.is_some() && !has_tools(request) => {
            json!({"type": "tool", "name": ANSWER_TOOL_NAME})
        }
        ToolChoice::None if request.schema.is_some() => {
            json!({"type": "tool", "name": ANSWER_TOOL_NAME})
        }
        ToolChoice::Auto if request.schema.is_some() => json!({"type": "any"}),
        ToolChoice::Auto => return,
        ToolChoice::None => json!({"type": "none"}),
        ToolChoice::Required => json!({"type": "any"}),
        ToolChoice::Tool(tool) => json!({"type": "tool", "name": tool}),
    };
    body.insert("tool_choice".into(), choice);
}

/// Converts the messages to alternating user and assistant turns.
fn conversation(messages: &[ChatMessage], origin: &str) -> Vec<Value> {
    let mut written: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in messages {
        let (role, content) = match message {
            ChatMessage::System { .. } => continue,
            ChatMessage::User { content } => {
                ("user", content.iter().filter_map(content_block).collect())
            }
            ChatMessage::Tool(answer) => ("user", vec![tool_result(answer)]),
            ChatMessage::Assistant(reply) => ("assistant", assistant_content(reply, origin)),
        };
        match written.last_mut() {
            _ if content.is_empty() => {}
            Some((last, known)) if *last == role => known.extend(content),
            _ => written.push((role, content)),
        }
    }
    // Caches up to the end of this request and the end of the previous one.
    let users = written.iter_mut().rev().filter(|(role, _)| *role == "user");
    for (_, content) in users.take(2) {
        if let Some(last) = content.pop() {
            content.push(with_cache_control(last));
        }
    }
    written.into_iter().map(|(role, content)| json!({"role": role, "content": content})).collect()
}

/// Converts a content part; none for empty text, which the server rejects.
fn content_block(part: &ContentPart) -> Option<Value> {
    match part {
        ContentPart::Text { text } if text.is_empty() => None,
        ContentPart::Text { text } => Some(json!({"type": "text", "text": text})),
        ContentPart::Image(image) => Some(image_block(image)),
    }
}

fn image_block(image: &InlineImage) -> Value {
    let source = json!({"type": "base64", "media_type": image.media_type, "data": image.data});
    json!({"type": "image", "source": source})
}

fn tool_result(answer: &ToolCallAnswer) -> Value {
    let content = if answer.images.is_empty() {
        json!(answer.content)
    } else {
        let text = ContentPart::Text { text: answer.content.clone() };
        content_block(&text).into_iter().chain(answer.images.iter().map(image_block)).collect()
    };
    let mut result = json!({
        "type": "tool_result",
        "tool_use_id": sanitize_id(&answer.call_id),
        "content": content,
    });
    if answer.is_error {
        result["is_error"] = json!(true);
    }
    result
}

fn assistant_content(reply: &ModelReply, origin: &str) -> Vec<Value> {
    let block = |block: ReplyBlock<'_>| match block {
        ReplyBlock::Opaque(piece) => Some(piece.clone()),
        ReplyBlock::Text(text) if text.trim().is_empty() => None,
        ReplyBlock::Text(text) => Some(json!({"type": "text", "text": text})),
        ReplyBlock::Call(_, call) => Some(json!({
            "type": "tool_use",
            "id": sanitize_id(&call.id),
            "name": sanitize_name(&call.name),
            "input": arguments_object(&call.arguments),
        })),
    };
    let content: Vec<Value> = reply_blocks(reply, origin).into_iter().filter_map(block).collect();
    // Thinking alone is not a valid message.
    let is_answer =
        content.iter().any(|block| block["type"] == "text" || block["type"] == "tool_use");
    if is_answer { content } else { Vec::new() }
}

fn with_cache_control(mut block: Value) -> Value {
    block["cache_control"] = json!({"type": "ephemeral"});
    block
}

fn set_thinking(model: &str, effort: &str, most: u64, body: &mut Map<String, Value>) {
    if model_version(model) >= Some((4, 6)) {
        body.insert("thinking".into(), json!({"type": "adaptive"}));
        body.insert("output_config".into(), json!({"effort": effort}));
        return;
    }
    let budget: u64 = match effort {
        "minimal" | "low" => 2_048,
        "medium" => 8_192,
        _ => 24_576,
    };
    // Leaves room for the reply. The server rejects budgets below 1,024.
    let budget = budget.min(most / 2);
    if budget >= 1_024 {
        body.insert("thinking".into(), json!({"type": "enabled", "budget_tokens": budget}));
    }
}

/// Parses the version in a model's name: `claude-opus-4-6`,
/// `claude-3-5-sonnet-20241022`.
fn model_version(model: &str) -> Option<(u32, u32)> {
    let model = model.rsplit('/').next()?;
    let mut numbers = model
        .strip_prefix("claude-")?
        .split(['-', '.'])
        .map(|part| part.parse::<u32>().ok().filter(|_| part.len() <= 2));
    let major = numbers.by_ref().find_map(|number| number)?;
    Some((major, numbers.next().flatten().unwrap_or(0)))
}

/// Returns the default output limit of a model, which the API requires.
fn default_max_tokens(model: &str) -> u64 {
    match model_version(model) {
        Some((3, 0) | (0..=2, _)) => 4_096,
        Some((3, 5)) => 8_192,
        Some(_) => 32_000,
        None => 8_192,
    }
}

#[cfg(test)]
#[path = "body_tests.rs"]
mod tests;
