//! Calls and their results as text, for models that know no other way.

use std::borrow::Cow;

use serde_json::{Value, json};

use crate::message::{Message, Part};
use crate::reply::Reply;

/// The conversation with every call and every result written out.
pub(crate) fn written_out(messages: &[Message], speaks_calls: bool) -> Cow<'_, [Message]> {
    if !speaks_calls {
        return Cow::Borrowed(messages);
    }
    let mut written: Vec<Message> = Vec::with_capacity(messages.len());
    let mut after_tool = false;
    for message in messages {
        let is_tool = matches!(message, Message::Tool(_));
        match message {
            Message::Tool(answer) => {
                let result = json!({"name": answer.name, "content": answer.content});
                let text = format!("<tool_response>\n{}\n</tool_response>", inside(&result));
                let images = answer.images.iter().cloned().map(Part::Image);
                let parts = std::iter::once(Part::Text { text }).chain(images);
                match written.last_mut() {
                    Some(Message::User { content }) if after_tool => content.extend(parts),
                    _ => written.push(Message::User { content: parts.collect() }),
                }
            }
            Message::Assistant(reply) => written.push(Message::Assistant(spoken(reply))),
            other => written.push(other.clone()),
        }
        after_tool = is_tool;
    }
    Cow::Owned(written)
}

/// JSON as it stands inside a block. A `<` can only be in a string, where its
/// escape means the same; so nothing that is shown can close the block or open
/// another.
fn inside(json: &Value) -> String {
    json.to_string().replace("<tool_", "\\u003ctool_").replace("</tool_", "\\u003c/tool_")
}

fn spoken(reply: &Reply) -> Reply {
    let mut text = reply.text.clone();
    for call in &reply.calls {
        let arguments = serde_json::from_str(&call.arguments)
            .unwrap_or_else(|_| Value::String(call.arguments.clone()));
        let call = json!({"name": call.name, "arguments": arguments});
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&format!("<tool_call>\n{}\n</tool_call>", inside(&call)));
    }
    Reply { text, calls: Vec::new(), reasoning: None, ..reply.clone() }
}
