//! Conversion between messages and rows: every text is stored once, and nothing
//! is lost.

use hermes_llm::{
    ChatMessage, ContentPart, FinishReason, InlineImage, ModelReply, Reasoning, RequestedCall,
    TokenUsage, ToolCallAnswer,
};
use jiff::Timestamp;
use rusqlite::{Row, ToSql};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::record::{MessageState, StoredMessage, role};

/// Columns of a message, from the table aliased `x`.
pub(crate) const MESSAGE_COLUMNS: &str = "x.id, x.at, x.state, x.echo, x.role, x.tool, x.call_id, \
    x.is_error, x.finish, x.model, x.input, x.output, x.cache_read, x.cache_write, x.thought, \
    x.cost, x.text, x.calls, x.reasoning, x.parts";

/// Inserts a message with the parameters of [`MessageFields::params`].
pub(crate) const INSERT_MESSAGE: &str = "INSERT INTO messages \
    (session, at, echo, role, tool, call_id, is_error, finish, model, input, output, cache_read, \
     cache_write, thought, cost, text, calls, reasoning, parts) \
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)";

/// A message as the columns of its row.
#[derive(Debug, Default)]
pub(crate) struct MessageFields<'a> {
    role: &'static str,
    tool: Option<&'a str>,
    call_id: Option<&'a str>,
    is_error: Option<u8>,
    finish: Option<String>,
    model: Option<&'a str>,
    usage: [Option<i64>; 5],
    cost: Option<f64>,
    text: Option<std::borrow::Cow<'a, str>>,
    calls: Option<String>,
    reasoning: Option<String>,
    parts: Option<String>,
}

impl<'a> MessageFields<'a> {
    pub(crate) fn from_message(message: &'a ChatMessage) -> Self {
        let role = role(message);
        match message {
            ChatMessage::System { text } => {
                Self { role, text: Some(text.into()), ..Self::default() }
            }
            ChatMessage::User { content } => match content.as_slice() {
                [ContentPart::Text { text }] => {
                    Self { role, text: Some(text.into()), ..Self::default() }
                }
                several => Self {
                    role,
                    text: Some(message.text().into()),
                    parts: to_json(&several),
                    ..Self::default()
                },
            },
            ChatMessage::Assistant(reply) => Self::from_reply(role, reply),
            ChatMessage::Tool(answer) => Self {
                role,
                tool: Some(&answer.name),
                call_id: Some(&answer.call_id),
                is_error: Some(error_code(answer)),
                text: Some((&answer.content).into()),
                parts: json_if_any(&answer.images),
                ..Self::default()
            },
        }
    }

    fn from_reply(role: &'static str, reply: &'a ModelReply) -> Self {
        let TokenUsage { input, output, cache_read, cache_write, reasoning, cost } = reply.usage;
        Self {
            role,
            finish: to_json(&reply.finish),
            model: (!reply.model.is_empty()).then_some(&reply.model),
            usage: [input, output, cache_read, cache_write, reasoning]
                .map(|n| Some(i64::try_from(n).unwrap_or(i64::MAX))),
            cost,
            text: Some((&reply.text).into()),
            calls: json_if_any(&reply.calls),
            reasoning: reply.reasoning.as_ref().and_then(to_json),
            ..Self::default()
        }
    }

    /// Returns the parameters of [`INSERT_MESSAGE`].
    pub(crate) fn params<'b>(
        &'b self,
        session: &'b i64,
        at: &'b i64,
        echo: &'b Option<i64>,
    ) -> [&'b dyn ToSql; 19] {
        let [input, output, cache_read, cache_write, thought] = &self.usage;
        [
            session,
            at,
            echo,
            &self.role,
            &self.tool,
            &self.call_id,
            &self.is_error,
            &self.finish,
            &self.model,
            input,
            output,
            cache_read,
            cache_write,
            thought,
            &self.cost,
            &self.text,
            &self.calls,
            &self.reasoning,
            &self.parts,
        ]
    }
}

/// Value of `is_error` for a cancelled call.
const CANCELLED_CODE: u8 = 2;

fn error_code(answer: &ToolCallAnswer) -> u8 {
    if answer.is_cancelled { CANCELLED_CODE } else { u8::from(answer.is_error) }
}

fn to_json(value: &(impl Serialize + ?Sized)) -> Option<String> {
    serde_json::to_string(value).ok()
}

fn json_if_any<T: Serialize>(list: &[T]) -> Option<String> {
    if list.is_empty() { None } else { to_json(list) }
}

/// Parses a JSON column. Invalid JSON counts as absent, so one damaged row does
/// not hide a whole session.
fn parse_json<T: DeserializeOwned>(text: Option<String>) -> Option<T> {
    serde_json::from_str(&text?).ok()
}

/// Reads a message from a row of [`MESSAGE_COLUMNS`].
pub(crate) fn message_from_row(row: &Row<'_>) -> rusqlite::Result<StoredMessage> {
    let text: String = row.get::<_, Option<String>>(16)?.unwrap_or_default();
    let parts: Option<String> = row.get(19)?;
    let message = match row.get::<_, String>(4)?.as_str() {
        "system" => ChatMessage::System { text },
        "assistant" => ChatMessage::Assistant(ModelReply {
            text,
            calls: parse_json::<Vec<RequestedCall>>(row.get(17)?).unwrap_or_default(),
            reasoning: parse_json::<Reasoning>(row.get(18)?),
            finish: parse_json::<FinishReason>(row.get(8)?).unwrap_or(FinishReason::Broken),
            usage: usage_from_row(row, 10)?,
            model: row.get::<_, Option<String>>(9)?.unwrap_or_default(),
        }),
        "tool" => ChatMessage::Tool(ToolCallAnswer {
            call_id: row.get::<_, Option<String>>(6)?.unwrap_or_default(),
            name: row.get::<_, Option<String>>(5)?.unwrap_or_default(),
            content: text,
            images: parse_json::<Vec<InlineImage>>(parts).unwrap_or_default(),
            is_error: row.get::<_, Option<bool>>(7)?.unwrap_or_default(),
            is_cancelled: row.get::<_, Option<u8>>(7)? == Some(CANCELLED_CODE),
        }),
        _ => ChatMessage::User {
            content: parse_json::<Vec<ContentPart>>(parts)
                .unwrap_or_else(|| vec![ContentPart::Text { text }]),
        },
    };
    let standing = match (row.get::<_, i64>(2)?, row.get::<_, Option<i64>>(3)?) {
        (1, _) => MessageState::Undone,
        (_, Some(0)) => MessageState::Summary,
        (2, _) => MessageState::Folded,
        _ => MessageState::Live,
    };
    Ok(StoredMessage {
        id: row.get(0)?,
        at: timestamp_from_ms(row.get(1)?),
        state: standing,
        message,
    })
}

/// Reads the usage from six columns starting at `from`.
pub(crate) fn usage_from_row(row: &Row<'_>, from: usize) -> rusqlite::Result<TokenUsage> {
    let count = |at: usize| -> rusqlite::Result<u64> {
        Ok(row.get::<_, Option<i64>>(from + at)?.unwrap_or_default().max(0).unsigned_abs())
    };
    Ok(TokenUsage {
        input: count(0)?,
        output: count(1)?,
        cache_read: count(2)?,
        cache_write: count(3)?,
        reasoning: count(4)?,
        cost: row.get(from + 5)?,
    })
}

/// Converts milliseconds since the epoch.
pub(crate) fn timestamp_from_ms(milliseconds: i64) -> Timestamp {
    Timestamp::from_millisecond(milliseconds).unwrap_or_default()
}

#[cfg(test)]
#[path = "rows_tests.rs"]
mod tests;
