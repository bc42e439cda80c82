//! Converts a conversation to the training format: turns with a speaker and
//! text, with reasoning, calls and results marked by tags.

use hermes_llm::{ChatMessage, ContentPart, ModelReply, ToolCallAnswer};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// One turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrajectoryTurn {
    /// `system`, `human`, `gpt` or `tool`.
    pub from: String,
    /// The text.
    pub value: String,
}

/// Returns the turns of a conversation. The first describes the tools;
/// consecutive tool results form one turn.
pub fn turns(tools: &[Value], messages: &[ChatMessage]) -> Vec<TrajectoryTurn> {
    let mut turns = vec![turn("system", system_text(tools))];
    for message in messages {
        match message {
            // The system prompt is how the model was run, not what it should
            // learn.
            ChatMessage::System { .. } => {}
            ChatMessage::User { content } => turns.push(turn("human", user_text(content))),
            ChatMessage::Assistant(reply) => turns.push(turn("gpt", assistant_text(reply))),
            ChatMessage::Tool(answer) => {
                let block = tool_response(answer);
                match turns.last_mut() {
                    Some(last) if last.from == "tool" => {
                        last.value.push('\n');
                        last.value.push_str(&block);
                    }
                    _ => turns.push(turn("tool", block)),
                }
            }
        }
    }
    turns
}

/// Whether any reply contains reasoning.
pub(crate) fn has_reasoning(messages: &[ChatMessage]) -> bool {
    messages.iter().any(|message| match message {
        ChatMessage::Assistant(reply) => !split_reasoning(reply).0.is_empty(),
        _ => false,
    })
}

/// Whether a tool result reports a failure.
pub(crate) fn is_failure(answer: &ToolCallAnswer) -> bool {
    if answer.is_error {
        return true;
    }
    let is_set = |value: Option<&Value>| value.is_some_and(|value| !value.is_null());
    match serde_json::from_str::<Value>(&answer.content) {
        Ok(Value::Object(fields)) => {
            is_set(fields.get("error"))
                || fields.get("success") == Some(&Value::Bool(false))
                || is_set(fields.get("content").and_then(|content| content.get("error")))
        }
        _ => {
            let head: String = answer.content.trim_start().chars().take(6).collect();
            head.eq_ignore_ascii_case("error:")
        }
    }
}

fn turn(from: &str, value: String) -> TrajectoryTurn {
    TrajectoryTurn { from: from.to_owned(), value }
}

fn system_text(tools: &[Value]) -> String {
    let shown: Vec<Value> = tools.iter().map(tool_definition).collect();
    let shown = serde_json::to_string(&shown).unwrap_or_default();
    format!(
        "You are a model that calls functions. The functions you may call are given as JSON within \
         <tools> tags. Call as many as the task needs, and make no assumptions about values you were \
         not given. Think first, within <think> tags.\n<tools>\n{shown}\n</tools>\nEach call is a JSON \
         object with name and arguments, within tags of its own:\n<tool_call>\n{{\"name\": \"NAME\", \
         \"arguments\": {{}}}}\n</tool_call>\nThe answers come within <tool_response> tags."
    )
}

/// Returns name, description and parameters of a definition in any provider's
/// shape.
fn tool_definition(tool: &Value) -> Value {
    let inner = tool.get("function").unwrap_or(tool);
    let parameters = inner.get("parameters").or_else(|| inner.get("input_schema"));
    json!({
        "name": inner.get("name"),
        "description": inner.get("description"),
        "parameters": parameters,
    })
}

fn user_text(content: &[ContentPart]) -> String {
    let parts: Vec<&str> = content
        .iter()
        .map(|part| match part {
            ContentPart::Text { text } => text.as_str(),
            ContentPart::Image(_) => "[image]",
        })
        .collect();
    parts.join("\n")
}

/// Splits a reply into reasoning and other text.
fn split_reasoning(reply: &ModelReply) -> (String, String) {
    let mut text = reply.text.clone();
    let mut thoughts = Vec::new();
    if let Some(reasoning) = &reply.reasoning
        && !reasoning.text.trim().is_empty()
    {
        thoughts.push(reasoning.text.trim().to_owned());
    }
    for (open, close) in
        [("<REASONING_SCRATCHPAD>", "</REASONING_SCRATCHPAD>"), ("<think>", "</think>")]
    {
        let mut rest = String::new();
        let mut tail = text.as_str();
        while let Some((before, after)) = tail.split_once(open) {
            let (inner, after) = after.split_once(close).unwrap_or((after, ""));
            rest.push_str(before);
            if !inner.trim().is_empty() {
                thoughts.push(inner.trim().to_owned());
            }
            tail = after;
        }
        rest.push_str(tail);
        text = rest;
    }
    (thoughts.join("\n"), text.trim().to_owned())
}

fn assistant_text(reply: &ModelReply) -> String {
    let (thoughts, text) = split_reasoning(reply);
    let mut value = format!("<think>\n{thoughts}\n</think>\n");
    let mut pieces = Vec::new();
    if !text.is_empty() {
        pieces.push(text);
    }
    for call in &reply.calls {
        let arguments = match serde_json::from_str::<Value>(&call.arguments) {
            Ok(arguments) => arguments,
            Err(_) if call.arguments.trim().is_empty() => json!({}),
            Err(_) => Value::String(call.arguments.clone()),
        };
        let call = json!({ "name": call.name, "arguments": arguments });
        pieces.push(format!("<tool_call>\n{call}\n</tool_call>"));
    }
    value.push_str(&pieces.join("\n"));
    value
}

fn tool_response(answer: &ToolCallAnswer) -> String {
    // Only objects and arrays are embedded as JSON; other values stay text.
    let content = match serde_json::from_str::<Value>(&answer.content) {
        Ok(content @ (Value::Object(_) | Value::Array(_))) => content,
        _ => Value::String(answer.content.clone()),
    };
    let block = json!({ "tool_call_id": answer.call_id, "name": answer.name, "content": content });
    format!("<tool_response>\n{block}\n</tool_response>")
}

#[cfg(test)]
#[path = "trajectory_tests.rs"]
mod tests;
