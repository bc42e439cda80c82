//! How a request is written.

use serde_json::{Map, Value, json};

use super::super::{arguments, functions, has_tools, id, name};
use super::ANSWER;
use crate::endpoint::Endpoint;
use crate::kept::{Block, blocks};
use crate::message::{Answer, Image, Message, Part};
use crate::reply::Reply;
use crate::request::{Choice, Request};
use crate::spoken::written_out;

/// The body of a request.
pub(crate) fn body(endpoint: &Endpoint, model: &str, request: &Request) -> Value {
    let messages = written_out(&request.messages, request.speaks_calls);
    let mut body = Map::new();
    body.insert("model".into(), json!(model));
    let most = request.max_tokens.or(endpoint.max_tokens).unwrap_or_else(|| room(model));
    body.insert("max_tokens".into(), json!(most));
    let system: Vec<&str> = messages
        .iter()
        .filter_map(|message| match message {
            Message::System { text } if !text.is_empty() => Some(text.as_str()),
            _ => None,
        })
        .collect();
    if !system.is_empty() {
        body.insert(
            "system".into(),
            json!([marked(json!({"type": "text", "text": system.join("\n\n")}))]),
        );
    }
    tools(request, &mut body);
    body.insert("messages".into(), Value::Array(conversation(&messages, &endpoint.origin())));
    let is_forced = body
        .get("tool_choice")
        .is_some_and(|choice| choice["type"] == "any" || choice["type"] == "tool");
    let effort = request.effort.as_deref().filter(|_| !is_forced);
    match effort {
        Some(effort) => think(model, effort, most, &mut body),
        // Thinking allows no other temperature than its own.
        None => drop(request.temperature.map(|it| body.insert("temperature".into(), json!(it)))),
    }
    body.insert("stream".into(), json!(true));
    Value::Object(body)
}

fn tools(request: &Request, body: &mut Map<String, Value>) {
    let mut tools: Vec<Value> = functions(request)
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
    // An answer that must fit a schema is the arguments of a call: every model can do that.
    if let Some(schema) = &request.schema {
        tools.push(json!({
            "name": ANSWER,
            "description": "Gives the answer.",
            "input_schema": schema,
        }));
    }
    let Some(last) = tools.pop() else { return };
    tools.push(marked(last));
    body.insert("tools".into(), Value::Array(tools));
    let choice = match &request.choice {
        _ if request.schema.is_some() && !has_tools(request) => {
            json!({"type": "tool", "name": ANSWER})
        }
        Choice::None if request.schema.is_some() => json!({"type": "tool", "name": ANSWER}),
        Choice::Auto if request.schema.is_some() => json!({"type": "any"}),
        Choice::Auto => return,
        Choice::None => json!({"type": "none"}),
        Choice::Required => json!({"type": "any"}),
        Choice::Tool(tool) => json!({"type": "tool", "name": tool}),
    };
    body.insert("tool_choice".into(), choice);
}

/// The conversation: what the two sides say, in turn.
fn conversation(messages: &[Message], origin: &str) -> Vec<Value> {
    let mut written: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in messages {
        let (role, content) = match message {
            Message::System { .. } => continue,
            Message::User { content } => ("user", content.iter().filter_map(part).collect()),
            Message::Tool(answer) => ("user", vec![result(answer)]),
            Message::Assistant(reply) => ("assistant", said(reply, origin)),
        };
        match written.last_mut() {
            _ if content.is_empty() => {}
            Some((last, known)) if *last == role => known.extend(content),
            _ => written.push((role, content)),
        }
    }
    // The end of this request and the end of the one before: both are worth keeping.
    let users = written.iter_mut().rev().filter(|(role, _)| *role == "user");
    for (_, content) in users.take(2) {
        if let Some(last) = content.pop() {
            content.push(marked(last));
        }
    }
    written.into_iter().map(|(role, content)| json!({"role": role, "content": content})).collect()
}

/// A server refuses empty text.
fn part(part: &Part) -> Option<Value> {
    match part {
        Part::Text { text } if text.is_empty() => None,
        Part::Text { text } => Some(json!({"type": "text", "text": text})),
        Part::Image(image) => Some(picture(image)),
    }
}

fn picture(image: &Image) -> Value {
    let source = json!({"type": "base64", "media_type": image.media_type, "data": image.data});
    json!({"type": "image", "source": source})
}

fn result(answer: &Answer) -> Value {
    let content = if answer.images.is_empty() {
        json!(answer.content)
    } else {
        let text = Part::Text { text: answer.content.clone() };
        part(&text).into_iter().chain(answer.images.iter().map(picture)).collect()
    };
    let mut result = json!({
        "type": "tool_result",
        "tool_use_id": id(&answer.call_id),
        "content": content,
    });
    if answer.is_error {
        result["is_error"] = json!(true);
    }
    result
}

fn said(reply: &Reply, origin: &str) -> Vec<Value> {
    let block = |block: Block<'_>| match block {
        Block::Kept(piece) => Some(piece.clone()),
        Block::Text(text) if text.trim().is_empty() => None,
        Block::Text(text) => Some(json!({"type": "text", "text": text})),
        Block::Call(_, call) => Some(json!({
            "type": "tool_use",
            "id": id(&call.id),
            "name": name(&call.name),
            "input": arguments(&call.arguments),
        })),
    };
    let content: Vec<Value> = blocks(reply, origin).into_iter().filter_map(block).collect();
    // Thoughts alone are no answer.
    let is_answer =
        content.iter().any(|block| block["type"] == "text" || block["type"] == "tool_use");
    if is_answer { content } else { Vec::new() }
}

fn marked(mut block: Value) -> Value {
    block["cache_control"] = json!({"type": "ephemeral"});
    block
}

fn think(model: &str, effort: &str, most: u64, body: &mut Map<String, Value>) {
    if version(model) >= Some((4, 6)) {
        body.insert("thinking".into(), json!({"type": "adaptive"}));
        body.insert("output_config".into(), json!({"effort": effort}));
        return;
    }
    let budget: u64 = match effort {
        "minimal" | "low" => 2_048,
        "medium" => 8_192,
        _ => 24_576,
    };
    // The answer needs room of its own; less than this is refused.
    let budget = budget.min(most / 2);
    if budget >= 1_024 {
        body.insert("thinking".into(), json!({"type": "enabled", "budget_tokens": budget}));
    }
}

/// The version in a model's name: `claude-opus-4-6`, `claude-3-5-sonnet-20241022`.
fn version(model: &str) -> Option<(u32, u32)> {
    let model = model.rsplit('/').next()?;
    let mut numbers = model
        .strip_prefix("claude-")?
        .split(['-', '.'])
        .map(|part| part.parse::<u32>().ok().filter(|_| part.len() <= 2));
    let major = numbers.by_ref().find_map(|number| number)?;
    Some((major, numbers.next().flatten().unwrap_or(0)))
}

/// The most that a model may say, for the server wants to be told.
fn room(model: &str) -> u64 {
    match version(model) {
        Some((3, 0) | (0..=2, _)) => 4_096,
        Some((3, 5)) => 8_192,
        Some(_) => 32_000,
        None => 8_192,
    }
}

#[cfg(test)]
#[path = "body_tests.rs"]
mod tests;
