//! Repairs a history so every server accepts it: each call is followed by
//! exactly one result, each result has a call, and roles alternate.

use std::collections::{HashMap, HashSet};

use hermes_llm::{ChatMessage, ModelReply, ToolCallAnswer};

/// Placeholder for a missing result.
const LOST_RESULT: &str = r#"{"error":"The result was lost; whether the call had an effect is not known","kind":"internal"}"#;
/// Placeholder for a missing beginning: servers require a user message first.
const LOST_BEGINNING: &str = "[The beginning of this conversation was lost.]";
/// Placeholder for a missing tool name.
const UNNAMED_TOOL: &str = "invalid_tool_call";

/// Returns the history in a form that every server accepts, and the number of
/// repairs. Keeps all user and model text.
pub fn repair_history(messages: Vec<ChatMessage>) -> (Vec<ChatMessage>, usize) {
    let mut repaired = 0;
    let mut answers = first_answers(&messages);
    let mut seen: HashSet<String> = HashSet::new();
    let mut history: Vec<ChatMessage> = Vec::with_capacity(messages.len());
    let mut answered = 0;
    let total = messages.iter().filter(|message| matches!(message, ChatMessage::Tool(_))).count();
    for message in messages {
        match message {
            // Results are inserted after their call.
            ChatMessage::Tool(_) => {}
            ChatMessage::Assistant(mut reply) => {
                let before = reply.calls.len();
                reply.calls.retain(|call| seen.insert(call.id.clone()));
                repaired += before - reply.calls.len();
                for call in &mut reply.calls {
                    if call.name.trim().is_empty() {
                        UNNAMED_TOOL.clone_into(&mut call.name);
                        repaired += 1;
                    }
                }
                let calls = reply.calls.clone();
                repaired += push_reply(&mut history, reply);
                for call in calls {
                    let answer = answers.remove(&call.id);
                    answered += usize::from(answer.is_some());
                    repaired += usize::from(answer.is_none());
                    history.push(ChatMessage::Tool(answer.unwrap_or_else(|| ToolCallAnswer {
                        call_id: call.id,
                        name: call.name,
                        content: LOST_RESULT.to_owned(),
                        images: Vec::new(),
                        is_error: true,
                        is_cancelled: false,
                    })));
                }
            }
            ChatMessage::User { content } => {
                if let Some(ChatMessage::User { content: last }) = history.last_mut() {
                    last.extend(content);
                    repaired += 1;
                } else {
                    history.push(ChatMessage::User { content });
                }
            }
            system @ ChatMessage::System { .. } => history.push(system),
        }
    }
    let opening = history.iter().position(|message| !matches!(message, ChatMessage::System { .. }));
    if let Some(at) = opening
        && !matches!(history.get(at), Some(ChatMessage::User { .. }))
    {
        history.insert(at, ChatMessage::user(LOST_BEGINNING));
        repaired += 1;
    }
    (history, repaired + (total - answered))
}

/// Returns the first result of each call.
fn first_answers(messages: &[ChatMessage]) -> HashMap<String, ToolCallAnswer> {
    let mut answers = HashMap::new();
    for message in messages {
        if let ChatMessage::Tool(answer) = message {
            answers.entry(answer.call_id.clone()).or_insert_with(|| answer.clone());
        }
    }
    answers
}

/// Appends a reply; returns the number of repairs. Drops an empty reply and
/// merges one that follows a reply without calls.
fn push_reply(history: &mut Vec<ChatMessage>, reply: ModelReply) -> usize {
    if reply.text.is_empty() && reply.calls.is_empty() {
        return 1;
    }
    if let Some(ChatMessage::Assistant(last)) = history.last_mut()
        && last.calls.is_empty()
    {
        if !last.text.is_empty() && !reply.text.is_empty() {
            last.text.push_str("\n\n");
        }
        last.text.push_str(&reply.text);
        last.calls = reply.calls;
        last.finish = reply.finish;
        return 1;
    }
    history.push(ChatMessage::Assistant(reply));
    0
}

#[cfg(test)]
#[path = "history_repair_tests.rs"]
mod tests;
