//! Excerpts of sessions and messages: long ones are truncated to keep results
//! small.

use hermes_history::{FoundSession, MessageHit, MessageState, SessionSummary, StoredMessage};
use serde::Serialize;

/// Maximum number of characters of a message, by context.
pub(super) const MAX_SCROLL_CHARS: usize = 2_000;
pub(super) const MAX_READ_CHARS: usize = 1_000;
const MAX_CONTEXT_CHARS: usize = 600;
const MAX_BOOKEND_CHARS: usize = 300;
/// The matched message gets more room.
const MAX_ANCHOR_CHARS: usize = 1_500;
/// Maximum number of characters of a call's arguments.
const MAX_ARGUMENT_CHARS: usize = 200;

/// A matching session.
#[derive(Debug, Serialize)]
pub(crate) struct SessionExcerpt {
    session_id: String,
    when: String,
    source: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    matched_role: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    match_message_id: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    snippet: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    bookend_start: Vec<MessageExcerpt>,
    messages: Vec<MessageExcerpt>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    bookend_end: Vec<MessageExcerpt>,
    #[serde(skip_serializing_if = "Option::is_none")]
    messages_before: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    messages_after: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_session_id: Option<String>,
}

impl SessionExcerpt {
    pub(super) fn session_id(&self) -> String {
        self.session_id.clone()
    }

    pub(super) fn from_found(found: FoundSession) -> Self {
        let FoundSession { session, hit, beginning, around, end, before, after } = found;
        let ends = |kept: &[StoredMessage]| {
            kept.iter()
                .map(|kept| MessageExcerpt::from_message(kept, None, MAX_BOOKEND_CHARS))
                .collect()
        };
        Self {
            bookend_start: ends(&beginning),
            bookend_end: ends(&end),
            messages_before: Some(before),
            messages_after: Some(after),
            ..Self::build(&session, hit, &around)
        }
    }

    /// Creates the excerpt for one of several hits in a session.
    pub(super) fn from_hit(
        session: &SessionSummary,
        hit: MessageHit,
        around: &[StoredMessage],
    ) -> Self {
        Self::build(session, Some(hit), around)
    }

    fn build(session: &SessionSummary, hit: Option<MessageHit>, around: &[StoredMessage]) -> Self {
        let anchor = hit.as_ref().map(|hit| hit.message);
        let when = hit.as_ref().map_or(session.started, |hit| hit.at);
        let role = hit.as_ref().map(|hit| hit.role.clone());
        Self {
            session_id: session.id.clone(),
            when: when.to_string(),
            source: session.source.clone(),
            model: session.model.clone(),
            title: session.title.clone(),
            matched_role: role.unwrap_or_else(|| "session_title".to_owned()),
            match_message_id: anchor,
            snippet: hit.map(|hit| hit.snippet),
            bookend_start: Vec::new(),
            messages: around
                .iter()
                .map(|kept| MessageExcerpt::from_message(kept, anchor, MAX_CONTEXT_CHARS))
                .collect(),
            bookend_end: Vec::new(),
            messages_before: None,
            messages_after: None,
            parent_session_id: session.parent.as_ref().map(|parent| parent.id.clone()),
        }
    }
}

/// A session in a list.
#[derive(Debug, Serialize)]
pub(crate) struct SessionOverview {
    session_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    source: String,
    started_at: String,
    last_active: String,
    message_count: u64,
    preview: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_session_id: Option<String>,
}

impl SessionOverview {
    pub(super) fn session_id(&self) -> String {
        self.session_id.clone()
    }

    pub(super) fn from_session(session: &SessionSummary) -> Self {
        Self {
            session_id: session.id.clone(),
            title: session.title.clone(),
            source: session.source.clone(),
            started_at: session.started.to_string(),
            last_active: session.last_active.to_string(),
            message_count: session.messages,
            preview: session.preview.clone(),
            parent_session_id: session.parent.as_ref().map(|parent| parent.id.clone()),
        }
    }
}

/// A message.
#[derive(Debug, Serialize)]
pub(crate) struct MessageExcerpt {
    id: i64,
    role: &'static str,
    content: String,
    timestamp: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<ToolCallExcerpt>,
    /// Whether it summarizes earlier messages.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    summary: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    anchor: bool,
}

#[derive(Debug, Serialize)]
struct ToolCallExcerpt {
    id: String,
    name: String,
    arguments: String,
}

impl MessageExcerpt {
    pub(super) fn from_message(kept: &StoredMessage, anchor: Option<i64>, most: usize) -> Self {
        let anchor = anchor == Some(kept.id);
        let answers = kept.answered_call();
        let most = if anchor { most.max(MAX_ANCHOR_CHARS) } else { most };
        Self {
            id: kept.id,
            role: kept.role(),
            content: elide_middle(&kept.message.text(), most),
            timestamp: kept.at.to_string(),
            tool_name: answers.map(|(tool, _)| tool.to_owned()),
            tool_call_id: answers.map(|(_, call)| call.to_owned()),
            tool_calls: kept
                .calls()
                .map(|(id, name, arguments)| ToolCallExcerpt {
                    id: id.to_owned(),
                    name: name.to_owned(),
                    arguments: elide_middle(arguments, MAX_ARGUMENT_CHARS),
                })
                .collect(),
            summary: kept.state == MessageState::Summary,
            anchor,
        }
    }
}

/// Keeps the beginning and the end of a long text, and counts the omitted
/// characters.
fn elide_middle(text: &str, most: usize) -> String {
    let length = text.chars().count();
    if length <= most {
        return text.to_owned();
    }
    let head: String = text.chars().take(most * 3 / 4).collect();
    let tail: String = text.chars().skip(length - most / 4).collect();
    let left_out = length - head.chars().count() - tail.chars().count();
    format!("{head} … [{left_out} characters left out] … {tail}")
}
