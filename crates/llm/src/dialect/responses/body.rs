//! How a request is written.

use serde_json::{Map, Value, json};

use super::super::{arguments_text, data_url, functions, has_tools, id, is_plain, is_strict, name};
use crate::endpoint::Endpoint;
use crate::kept::{Block, blocks};
use crate::message::{Answer, Message, Part};
use crate::request::{Choice, Request};
use crate::spoken::written_out;

/// The body of a request.
pub(crate) fn body(endpoint: &Endpoint, model: &str, request: &Request) -> Value {
    let mut body = Map::new();
    body.insert("model".into(), json!(model));
    // What holds for the conversation stands first, so that caches find it.
    let messages = written_out(&request.messages, request.speaks_calls);
    let system: Vec<&str> = messages
        .iter()
        .filter_map(|message| match message {
            Message::System { text } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    if !system.is_empty() {
        body.insert("instructions".into(), json!(system.join("\n\n")));
    }
    body.insert("input".into(), Value::Array(input(&messages, &endpoint.origin())));
    if has_tools(request) {
        let tools = functions(request).map(|tool| {
            let mut written = Map::from_iter([("type".to_owned(), json!("function"))]);
            for key in ["name", "description", "parameters"] {
                written.extend(tool.get(key).map(|value| (key.to_owned(), value.clone())));
            }
            // Otherwise the server takes every schema for a strict one.
            written.insert("strict".into(), tool.get("strict").cloned().unwrap_or(json!(false)));
            Value::Object(written)
        });
        body.insert("tools".into(), tools.collect());
        let choice = match &request.choice {
            Choice::Auto => json!("auto"),
            Choice::None => json!("none"),
            Choice::Required => json!("required"),
            Choice::Tool(tool) => json!({"type": "function", "name": tool}),
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
            "strict": is_strict(schema),
            "schema": schema,
        });
        body.insert("text".into(), json!({"format": format}));
    }
    // Nothing is left at the server: the conversation is ours, thoughts come along encrypted.
    body.insert("store".into(), json!(false));
    // Models that do not think refuse to be asked for it.
    if !is_plain(model) {
        body.insert("include".into(), json!(["reasoning.encrypted_content"]));
    }
    body.insert("stream".into(), json!(true));
    Value::Object(body)
}

fn input(messages: &[Message], origin: &str) -> Vec<Value> {
    let mut items = Vec::new();
    for message in messages {
        match message {
            Message::System { .. } => {}
            Message::User { content } => {
                let content: Vec<Value> = content.iter().map(part).collect();
                items.push(json!({"type": "message", "role": "user", "content": content}));
            }
            Message::Assistant(reply) => {
                items.extend(blocks(reply, origin).into_iter().filter_map(said));
            }
            Message::Tool(answer) => items.push(json!({
                "type": "function_call_output",
                "call_id": id(&answer.call_id),
                "output": output(answer),
            })),
        }
    }
    items
}

fn part(part: &Part) -> Value {
    match part {
        Part::Text { text } => json!({"type": "input_text", "text": text}),
        Part::Image(image) => json!({"type": "input_image", "image_url": data_url(image)}),
    }
}

fn output(answer: &Answer) -> Value {
    if answer.images.is_empty() {
        return json!(answer.content);
    }
    let text = Part::Text { text: answer.content.clone() };
    let images = answer.images.iter().cloned().map(Part::Image);
    std::iter::once(text).chain(images).map(|one| part(&one)).collect()
}

fn said(block: Block<'_>) -> Option<Value> {
    Some(match block {
        Block::Kept(item) => item.clone(),
        Block::Text("") => return None,
        Block::Text(text) => json!({
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": text}],
        }),
        Block::Call(_, call) => json!({
            "type": "function_call",
            "call_id": id(&call.id),
            "name": name(&call.name),
            "arguments": arguments_text(&call.arguments),
        }),
    })
}
