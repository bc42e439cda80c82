//! JSON, Markdown and terminal output of sessions and messages.

use hermes_history::{MessageState, SessionSummary, StoredMessage, format_local};
use hermes_llm::{ChatMessage, TokenUsage};
use serde_json::{Value, json};

use crate::terminal::one_line;

/// Returns a session as JSON; `spent` includes the usage of its helper
/// sessions.
pub(super) fn session_json(session: &SessionSummary, spent: &TokenUsage) -> Value {
    json!({
        "id": session.id,
        "source": session.source,
        "title": session.title,
        "preview": session.preview,
        "cwd": session.cwd,
        "model": session.model,
        "parent": session.parent.as_ref().map(|parent| &parent.id),
        "kinship": session.parent.as_ref().map(|parent| parent.relation.name()),
        "started_at": session.started.to_string(),
        "ended_at": session.ended.map(|at| at.to_string()),
        "end_reason": session.end_reason,
        "last_active": session.last_active.to_string(),
        "message_count": session.messages,
        "tool_call_count": session.calls,
        "usage": session.usage,
        "total_usage": spent,
    })
}

pub(super) fn message_json(kept: &StoredMessage) -> Value {
    let mut value = serde_json::to_value(&kept.message).unwrap_or_default();
    if let Some(fields) = value.as_object_mut() {
        fields.insert("type".into(), "message".into());
        fields.insert("id".into(), kept.id.into());
        fields.insert("timestamp".into(), kept.at.to_string().into());
        if let Some(status) = call_status(kept) {
            fields.insert("status".into(), status.into());
        }
        let standing = match kept.state {
            MessageState::Live => return value,
            MessageState::Undone => "undone",
            MessageState::Folded => "folded",
            MessageState::Summary => "summary",
        };
        fields.insert("standing".into(), standing.into());
    }
    value
}

pub(super) fn heading(session: &SessionSummary, spent: &TokenUsage) -> String {
    let name = session.title.as_deref().unwrap_or(&session.preview);
    let mut facts = vec![format_local(session.started), format!("{} messages", session.messages)];
    facts.extend(session.model.clone());
    facts.extend(session.cwd.clone());
    facts.extend(Some(cost_text(spent)).filter(|cost| !cost.is_empty()));
    facts.extend(session.parent.as_ref().map(|p| format!("{} of {}", p.relation.name(), p.id)));
    format!("{}: {}\n{}", session.id, one_line(name), facts.join(", "))
}

pub(super) fn markdown(session: &SessionSummary, kept: &[StoredMessage]) -> Vec<String> {
    let name = session.title.as_deref().unwrap_or(&session.id);
    let mut lines = vec![format!("# {}", one_line(name)), String::new()];
    for kept in kept {
        lines.push(format!("## {} ({})", author(kept), format_local(kept.at)));
        lines.push(String::new());
        let text = kept.message.text();
        match kept.role() {
            "tool" => lines.push(fenced(&text)),
            _ if text.is_empty() => {}
            _ => lines.push(text),
        }
        for (_, name, arguments) in kept.calls() {
            lines.push(format!("\n`{name}`\n{}", fenced(arguments)));
        }
        lines.push(String::new());
    }
    lines
}

/// Wraps a text in a code fence longer than any fence in the text.
fn fenced(text: &str) -> String {
    let mut fence = "```".to_owned();
    while text.contains(&fence) {
        fence.push('`');
    }
    format!("{fence}\n{}\n{fence}", text.trim_end())
}

pub(super) fn author(kept: &StoredMessage) -> String {
    let note = match kept.state {
        MessageState::Summary => " (summary)",
        _ => "",
    };
    match kept.answered_call() {
        Some((tool, _)) => match call_status(kept) {
            None | Some("success") => format!("tool {}", one_line(tool)),
            Some(status) => format!("tool {} ({status})", one_line(tool)),
        },
        None => format!("{}{note}", kept.role()),
    }
}

/// Returns the last character boundary at or before `most` bytes.
pub(super) fn truncation_point(text: &str, most: usize) -> usize {
    text.floor_char_boundary(most)
}

pub(super) fn cost_text(spent: &TokenUsage) -> String {
    spent.cost.map(|cost| format!("${cost:.4}")).unwrap_or_default()
}

/// Returns the status of a call if this message is its result.
fn call_status(kept: &StoredMessage) -> Option<&'static str> {
    let ChatMessage::Tool(answer) = &kept.message else { return None };
    Some(match answer {
        answer if answer.is_cancelled => "cancelled",
        answer if answer.is_error => "error",
        _ => "success",
    })
}
