//! Short summaries of calls for the user.

use hermes::core::text::excerpt;
use hermes::core::{CallStatus, ErrorKind, ProcessEvent, ProcessNotice, ToolResult};
use serde_json::Value;

use crate::terminal::one_line;

/// Arguments that describe a call best, in order of preference.
const SUMMARY_ARGUMENTS: [&str; 14] = [
    "command",
    "path",
    "file_path",
    "pattern",
    "query",
    "url",
    "goal",
    "question",
    "name",
    "action",
    "code",
    "message",
    "target",
    "prompt",
];
const MAX_SUMMARY_CHARS: usize = 72;
/// Maximum length of an error note, in characters.
const MAX_NOTE_CHARS: usize = 100;
/// Longer results of successful calls are not inspected.
const MAX_INSPECTED_BYTES: usize = 100_000;

/// Summarizes the arguments of a call in one line.
pub(crate) fn summarize_arguments(arguments: &Value) -> String {
    let Some(fields) = arguments.as_object() else { return String::new() };
    let telling =
        SUMMARY_ARGUMENTS.iter().filter_map(|name| fields.get(*name)).filter_map(value_text);
    let mut parts: Vec<String> = telling.take(2).collect();
    if parts.is_empty() {
        parts.extend(fields.values().filter_map(value_text).take(1));
    }
    excerpt(&one_line(&parts.join("  ")), MAX_SUMMARY_CHARS).into_owned()
}

fn value_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.trim().is_empty() => Some(text.trim().to_owned()),
        Value::Number(number) => Some(number.to_string()),
        Value::Array(items) if !items.is_empty() => Some(format!("{} items", items.len())),
        _ => None,
    }
}

/// Whether the call did what was asked, and its command, if it ran one, did not
/// fail.
pub(crate) fn is_success(result: &ToolResult) -> bool {
    result.is_success() && !result.command_failed
}

/// Summarizes why a call failed, or its nonzero exit code.
pub(crate) fn result_note(result: &ToolResult) -> String {
    if result.is_success() && result.content.len() > MAX_INSPECTED_BYTES {
        return String::new();
    }
    let content: Value = serde_json::from_str(&result.content).unwrap_or_default();
    if result.is_success() {
        return match content.get("exit_code").and_then(Value::as_i64) {
            None | Some(0) => String::new(),
            Some(code) => format!("exit code {code}"),
        };
    }
    let shown = content.get("error").or_else(|| content.get("message"));
    let shown = match shown {
        Some(Value::String(text)) => hermes_threats::unlabel(text).unwrap_or(text).to_owned(),
        Some(Value::Object(error)) => {
            error.get("message").and_then(Value::as_str).unwrap_or_default().to_owned()
        }
        _ if result.status == CallStatus::Error(ErrorKind::Cancelled) => "Cancelled".to_owned(),
        _ => String::new(),
    };
    excerpt(&one_line(&shown), MAX_NOTE_CHARS).into_owned()
}

/// Formats a duration.
pub(crate) fn format_duration(time: std::time::Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        s if s < 0.001 => format!("{:.0} µs", s * 1e6),
        s if s < 1.0 => format!("{:.0} ms", s * 1e3),
        s if s < 60.0 => format!("{s:.1} s"),
        s => format!("{:.0} min {:02.0} s", (s / 60.0).floor(), s % 60.0),
    }
}

/// Formats a notice in one line.
pub(crate) fn notice_line(notice: &ProcessNotice) -> String {
    let ProcessNotice { session_id, command, event } = notice;
    let command = excerpt(&one_line(command), MAX_SUMMARY_CHARS).into_owned();
    match event {
        ProcessEvent::Completed { reason, exit_code, .. } => {
            let how = match exit_code {
                0 => "has ended".to_owned(),
                code => format!("has ended ({reason}, exit code {code})"),
            };
            format!("{session_id} {how}: {command}")
        }
        ProcessEvent::Matched { lines, .. } => {
            let line = lines.first().map(String::as_str).unwrap_or_default();
            format!(
                "{session_id} has written “{}”: {command}",
                excerpt(&one_line(line), MAX_SUMMARY_CHARS).into_owned()
            )
        }
        ProcessEvent::Overflow { message, .. } => format!("{session_id}: {}", one_line(message)),
    }
}
