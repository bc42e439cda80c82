//! Writes tool calls and results as text, for models without native tool calls.

use std::borrow::Cow;

use serde_json::{Value, json};

use crate::message::{ChatMessage, ContentPart};
use crate::reply::ModelReply;

/// Returns the conversation with every call and result written as text.
pub(crate) fn with_text_calls(
    messages: &[ChatMessage],
    speaks_calls: bool,
) -> Cow<'_, [ChatMessage]> {
    if !speaks_calls {
        return Cow::Borrowed(messages);
    }
    let mut written: Vec<ChatMessage> = Vec::with_capacity(messages.len());
    let mut after_tool = false;
    for message in messages {
        let is_tool = matches!(message, ChatMessage::Tool(_));
        match message {
            ChatMessage::Tool(answer) => {
                let result = json!({"name": answer.name, "content": answer.content});
                let text = format!("<tool_response>\n{}\n</tool_response>", escape_tags(&result));
                let images = answer.images.iter().cloned().map(ContentPart::Image);
                let parts = std::iter::once(ContentPart::Text { text }).chain(images);
                match written.last_mut() {
                    Some(ChatMessage::User { content }) if after_tool => content.extend(parts),
                    _ => written.push(ChatMessage::User { content: parts.collect() }),
                }
            }
            ChatMessage::Assistant(reply) => {
                written.push(ChatMessage::Assistant(calls_as_text(reply)))
            }
            other => written.push(other.clone()),
        }
        after_tool = is_tool;
    }
    Cow::Owned(written)
}

/// Serializes JSON for a tagged block. A `<` can only occur in a string, where
/// its escape means the same, so the content can neither close the block nor
/// open another.
fn escape_tags(json: &Value) -> String {
    json.to_string().replace("<tool_", "\\u003ctool_").replace("</tool_", "\\u003c/tool_")
}

fn calls_as_text(reply: &ModelReply) -> ModelReply {
    let mut text = reply.text.clone();
    for call in &reply.calls {
        let arguments = serde_json::from_str(&call.arguments)
            .unwrap_or_else(|_| Value::String(call.arguments.clone()));
        let call = json!({"name": call.name, "arguments": arguments});
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&format!("<tool_call>\n{}\n</tool_call>", escape_tags(&call)));
    }
    ModelReply { text, calls: Vec::new(), reasoning: None, ..reply.clone() }
}
