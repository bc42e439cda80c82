//! Converts a message of Hermes Agent, stored in OpenAI's form, to a
//! [`ChatMessage`].

use hermes_llm::{
    ChatMessage, ContentPart, FinishReason, InlineImage, ModelReply, Reasoning, RequestedCall,
    ToolCallAnswer,
};
use jiff::Timestamp;
use rusqlite::Row;
use serde_json::Value;

use crate::agent_state::{text_column, time_column};

/// Starts content that is JSON.
const JSON_PREFIX: &str = "\0json:";
/// Tags around recalled memory, which is not part of what the user wrote.
const MEMORY_TAGS: (&str, &str) = ("<memory-context>", "</memory-context>");
/// Starts of the prompts of a background review that old versions stored in the
/// user's conversation; Hermes Agent leaves them out too.
const REVIEW_PROMPTS: [&str; 2] = [
    "Review the conversation above and update the skill library",
    "Review the conversation above and consider saving to memory",
];

/// A message of a conversation of Hermes Agent.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentStateMessage {
    /// Its id in `state.db`; later messages have higher ids.
    pub id: i64,
    /// When it was added.
    pub at: Timestamp,
    /// It.
    pub message: ChatMessage,
}

/// A row of the table `messages`.
#[derive(Debug, Default)]
pub(crate) struct MessageColumns {
    pub(crate) id: i64,
    pub(crate) at: Timestamp,
    pub(crate) role: String,
    pub(crate) content: String,
    pub(crate) call_id: Option<String>,
    pub(crate) calls: Option<String>,
    pub(crate) tool: Option<String>,
    pub(crate) finish: Option<String>,
    pub(crate) reasoning: Option<String>,
}

impl MessageColumns {
    pub(crate) fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        let not_empty = |text: &String| !text.trim().is_empty();
        let reasoning = text_column(row, "reasoning_content")?.filter(not_empty);
        Ok(Self {
            id: row.get("id")?,
            at: time_column(row, "timestamp")?.unwrap_or_default(),
            role: text_column(row, "role")?.unwrap_or_default(),
            content: text_column(row, "content")?.unwrap_or_default(),
            call_id: text_column(row, "tool_call_id")?,
            calls: text_column(row, "tool_calls")?,
            tool: text_column(row, "tool_name")?,
            finish: text_column(row, "finish_reason")?,
            reasoning: match reasoning {
                Some(reasoning) => Some(reasoning),
                None => text_column(row, "reasoning")?.filter(not_empty),
            },
        })
    }

    /// Returns the message; none for a role that no model knows.
    pub(crate) fn into_message(self) -> Option<AgentStateMessage> {
        let (id, at) = (self.id, self.at);
        let content = parse_content(&self.content);
        let message = match self.role.as_str() {
            "user" => ChatMessage::User { content: clean_parts(content) },
            "assistant" => {
                let calls = self.calls.as_deref().map(parse_calls).unwrap_or_default();
                ChatMessage::Assistant(ModelReply {
                    text: without_memory(&text_of(&content)),
                    finish: finish_reason(self.finish.as_deref(), !calls.is_empty()),
                    calls,
                    reasoning: self.reasoning.map(|text| Reasoning { text, opaque: Vec::new() }),
                    ..ModelReply::default()
                })
            }
            "tool" => {
                let text = text_of(&content);
                let images = content.into_iter().filter_map(|part| match part {
                    ContentPart::Image(image) => Some(image),
                    ContentPart::Text { .. } => None,
                });
                ChatMessage::Tool(ToolCallAnswer {
                    call_id: self.call_id.unwrap_or_default(),
                    name: self.tool.unwrap_or_default(),
                    content: text,
                    images: images.collect(),
                    is_error: false,
                    is_cancelled: false,
                })
            }
            "system" => ChatMessage::System { text: text_of(&content) },
            _ => return None,
        };
        Some(AgentStateMessage { id, at, message })
    }
}

/// Removes the prompts of background reviews and the replies to them.
pub(crate) fn without_review_turns(messages: Vec<AgentStateMessage>) -> Vec<AgentStateMessage> {
    let mut follows_review = false;
    let is_kept = |kept: &AgentStateMessage| {
        let is_reply = follows_review && matches!(kept.message, ChatMessage::Assistant(_));
        follows_review = match &kept.message {
            ChatMessage::User { .. } | ChatMessage::System { .. } => {
                let text = kept.message.text();
                REVIEW_PROMPTS.iter().any(|prompt| text.trim_start().starts_with(prompt))
            }
            _ => false,
        };
        !follows_review && !is_reply
    };
    let mut is_kept = is_kept;
    messages.into_iter().filter(|message| is_kept(message)).collect()
}

/// Returns the text of a first message on one line.
pub(crate) fn preview(content: Option<String>) -> String {
    let text = text_of(&clean_parts(parse_content(&content.unwrap_or_default())));
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn parse_content(content: &str) -> Vec<ContentPart> {
    let text = |text: &str| vec![ContentPart::Text { text: text.to_owned() }];
    let Some(json) = content.strip_prefix(JSON_PREFIX) else { return text(content) };
    match serde_json::from_str::<Value>(json) {
        Ok(Value::Array(parts)) => parts.iter().map(parse_part).collect(),
        Ok(Value::Null) => text(""),
        Ok(part) => vec![parse_part(&part)],
        Err(_) => text(json),
    }
}

/// Parses a part of a message in the forms of OpenAI (chat and Responses) and
/// Anthropic.
fn parse_part(part: &Value) -> ContentPart {
    let text = |text: &str| ContentPart::Text { text: text.to_owned() };
    if let Some(said) = part.as_str().or_else(|| part.get("text")?.as_str()) {
        return text(said);
    }
    let url = part.get("image_url").map(|image| image.get("url").unwrap_or(image));
    if let Some(url) = url.and_then(Value::as_str) {
        return match parse_data_url(url) {
            Some(image) => ContentPart::Image(image),
            None => ContentPart::Text { text: format!("[Image: {url}]") },
        };
    }
    let source = |name: &str| part.get("source")?.get(name)?.as_str().map(str::to_owned);
    match (source("media_type"), source("data")) {
        (Some(media_type), Some(data)) => ContentPart::Image(InlineImage { media_type, data }),
        _ => ContentPart::Text { text: part.to_string() },
    }
}

/// Parses `data:image/png;base64,…`.
fn parse_data_url(url: &str) -> Option<InlineImage> {
    let (head, data) = url.strip_prefix("data:")?.split_once(',')?;
    let mut head = head.split(';');
    let media_type = head.next().filter(|kind| kind.starts_with("image/"))?;
    head.any(|part| part.eq_ignore_ascii_case("base64"))
        .then(|| InlineImage { media_type: media_type.to_owned(), data: data.trim().to_owned() })
}

fn text_of(content: &[ContentPart]) -> String {
    ChatMessage::User { content: content.to_vec() }.text()
}

fn clean_parts(mut content: Vec<ContentPart>) -> Vec<ContentPart> {
    for part in &mut content {
        if let ContentPart::Text { text } = part {
            *text = without_memory(text);
        }
    }
    content
}

/// Removes recalled memory, as Hermes Agent does when it resumes.
fn without_memory(text: &str) -> String {
    let (open, close) = MEMORY_TAGS;
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, inside)) = rest.split_once(open) {
        let Some((_, after)) = inside.split_once(close) else { break };
        kept.push_str(before);
        rest = after;
    }
    kept.push_str(rest);
    kept.trim().to_owned()
}

fn parse_calls(calls: &str) -> Vec<RequestedCall> {
    let calls: Value = serde_json::from_str(calls).unwrap_or_default();
    let calls = match calls {
        Value::Array(calls) => calls,
        Value::Object(_) => vec![calls],
        _ => Vec::new(),
    };
    let parse = |call: &Value| -> Option<RequestedCall> {
        let function = call.get("function").unwrap_or(call);
        let text = |from: &Value, name: &str| from.get(name)?.as_str().map(str::to_owned);
        Some(RequestedCall {
            id: text(call, "id").or_else(|| text(call, "call_id")).unwrap_or_default(),
            name: text(function, "name")?,
            arguments: match function.get("arguments") {
                Some(Value::String(arguments)) => arguments.clone(),
                Some(Value::Null) | None => "{}".to_owned(),
                Some(arguments) => arguments.to_string(),
            },
        })
    };
    calls.iter().filter_map(parse).collect()
}

fn finish_reason(name: Option<&str>, has_calls: bool) -> FinishReason {
    match name {
        _ if has_calls => FinishReason::Calls,
        Some("length" | "max_tokens") => FinishReason::Length,
        Some("content_filter" | "refusal") => FinishReason::Filtered,
        _ => FinishReason::Stop,
    }
}

#[cfg(test)]
#[path = "agent_message_tests.rs"]
mod tests;
