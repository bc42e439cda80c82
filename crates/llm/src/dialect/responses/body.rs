//! Request encoding for OpenAI's Responses API.

use serde_json::{Map, Value, json};

use super::super::{
    arguments_text, data_url, has_tools, is_non_reasoning_model, is_strict_schema, sanitize_id,
    sanitize_name, tool_functions,
};
use crate::endpoint::ModelEndpoint;
use crate::message::{ChatMessage, ContentPart, ToolCallAnswer};
use crate::opaque_blocks::{ReplyBlock, reply_blocks};
use crate::request::{ModelRequest, ToolChoice};
use crate::text_calls::with_text_calls;

/// Builds the request body.
pub(crate) fn request_body(endpoint: &ModelEndpoint, model: &str, request: &ModelRequest) -> Value {
    let mut body = Map::new();
    body.insert("model".into(), json!(model));
    // System messages come first, where prompt caches match them.
    let messages = with_text_calls(&request.messages, request.text_tool_calls);
    let system: Vec<&str> = messages
        .iter()
        .filter_map(|message| match message {
            ChatMessage::System { text } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    if !system.is_empty() {
        body.insert("instructions".into(), json!(system.join("\n\n")));
    }
    body.insert("input".into(), Value::Array(input_items(&messages, &endpoint.origin())));
    if has_tools(request) {
        let tools = tool_functions(request).map(|tool| {
            let mut written = Map::from_iter([("type".to_owned(), json!("function"))]);
            for key in ["name", "description", "parameters"] {
                written.extend(tool.get(key).map(|value| (key.to_owned(), value.clone())));
            }
            // Without this, the server treats every schema as strict.
            written.insert("strict".into(), tool.get("strict").cloned().unwrap_or(json!(false)));
            Value::Object(written)
        });
        body.insert("tools".into(), tools.collect());
        let choice = match &request.choice {
            ToolChoice::Auto => json!("auto"),
            ToolChoice::None => json!("none"),
            ToolChoice::Required => json!("required"),
            ToolChoice::Tool(tool) => json!({"type": "function", "name": tool}),
        };
        body.insert("tool_choice".into(), choice);
    }
    if let Some(most) = request.max_tokens.or(endpoint.max_tokens) {
        body.insert("max_output_tokens".into(), json!(most));
    }
    if let Some(temperature) = request.temperature {
        body.insert("temperature".into(), json!(temperature));
    }
    if let Some(effort) = &request.effort {
        body.insert("reasoning".into(), json!({"effort": effort, "summary": "auto"}));
    }
    if let Some(schema) = &request.schema {
        let format = json!({
            "type": "json_schema",
            "name": "answer",
            "strict": is_strict_schema(schema),
            "schema": schema,
        });
        body.insert("text".into(), json!({"format": format}));
    }
    // The server stores nothing: reasoning is returned encrypted and sent back
    // with the conversation.
    body.insert("store".into(), json!(false));
    // Models without reasoning reject this option.
    if !is_non_reasoning_model(model) {
        body.insert("include".into(), json!(["reasoning.encrypted_content"]));
    }
    body.insert("stream".into(), json!(true));
    Value::Object(body)
}

fn input_items(messages: &[ChatMessage], origin: &str) -> Vec<Value> {
    let mut items = Vec::new();
    for message in messages {
        match message {
            ChatMessage::System { .. } => {}
            ChatMessage::User { content } => {
                let content: Vec<Value> = content.iter().map(content_part).collect();
                items.push(json!({"type": "message", "role": "user", "content": content}));
            }
            ChatMessage::Assistant(reply) => {
                items.extend(reply_blocks(reply, origin).into_iter().filter_map(assistant_item));
            }
            ChatMessage::Tool(answer) => items.push(json!({
                "type": "function_call_output",
                "call_id": sanitize_id(&answer.call_id),
                "output": tool_output(answer),
            })),
        }
    }
    items
}

fn content_part(part: &ContentPart) -> Value {
    match part {
        ContentPart::Text { text } => json!({"type": "input_text", "text": text}),
        ContentPart::Image(image) => json!({"type": "input_image", "image_url": data_url(image)}),
    }
}

fn tool_output(answer: &ToolCallAnswer) -> Value {
    if answer.images.is_empty() {
        return json!(answer.content);
    }
    let text = ContentPart::Text { text: answer.content.clone() };
    let images = answer.images.iter().cloned().map(ContentPart::Image);
    std::iter::once(text).chain(images).map(|one| content_part(&one)).collect()
}

fn assistant_item(block: ReplyBlock<'_>) -> Option<Value> {
    Some(match block {
        ReplyBlock::Opaque(item) => item.clone(),
        ReplyBlock::Text("") => return None,
        ReplyBlock::Text(text) => json!({
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": text}],
        }),
        ReplyBlock::Call(_, call) => json!({
            "type": "function_call",
            "call_id": sanitize_id(&call.id),
            "name": sanitize_name(&call.name),
            "arguments": arguments_text(&call.arguments),
        }),
    })
}
