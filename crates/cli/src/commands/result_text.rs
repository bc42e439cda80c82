//! Formats results for people.

use hermes::core::ToolResult;
use hermes::engine::Engine;
use serde_json::{Number, Value};

use crate::call_summary;
use crate::table::clip;
use crate::terminal::{OutputStyle, TerminalOutput, show_control_chars};

/// Fields with the main content, shown last and verbatim.
const MAIN_FIELDS: [&str; 6] = ["content", "output", "text", "stdout", "diff", "result"];

/// Exit code of a program, and its meaning.
const EXIT_CODE_FIELD: &str = "exit_code";
const EXIT_MEANING_FIELD: &str = "exit_code_meaning";

/// Formats the result of a call.
pub(crate) fn render_result(terminal: &TerminalOutput, content: &str) -> String {
    let Ok(value) = serde_json::from_str::<Value>(content) else {
        return show_control_chars(content).into_owned();
    };
    let Value::Object(fields) = value else {
        return show_control_chars(&value_text(&value, 0)).into_owned();
    };
    let mut lines = Vec::new();
    let mut last = None;
    let meaning = fields.get(EXIT_MEANING_FIELD).and_then(Value::as_str);
    for (key, value) in &fields {
        match value {
            Value::Null => {}
            Value::Number(code) if key == EXIT_CODE_FIELD => {
                let label = terminal.paint(OutputStyle::Dim, "exit_code:");
                lines.push(format!("{label} {}", exit_text(code, meaning)));
            }
            Value::String(_)
                if key == EXIT_MEANING_FIELD && fields.contains_key(EXIT_CODE_FIELD) => {}
            Value::String(body) if MAIN_FIELDS.contains(&key.as_str()) && last.is_none() => {
                last = Some(body)
            }
            other => {
                let label =
                    terminal.paint(OutputStyle::Dim, &format!("{}:", show_control_chars(key)));
                let body = value_text(other, 1);
                let body = show_control_chars(&body);
                let gap = if body.starts_with('\n') { "" } else { " " };
                lines.push(format!("{label}{gap}{body}"));
            }
        }
    }
    if let Some(body) = last.filter(|body| !body.trim_end_matches('\n').is_empty()) {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        lines.push(show_control_chars(body.trim_end_matches('\n')).into_owned());
    }
    lines.join("\n")
}

fn exit_text(code: &Number, meaning: Option<&str>) -> String {
    match meaning {
        Some(meaning) => format!("{code} ({})", show_control_chars(meaning)),
        None if code.as_i64() == Some(0) => code.to_string(),
        None => format!("{code} (failed)"),
    }
}

/// Maximum number of lines shown per result of a batch.
const MAX_RESULT_LINES: usize = 4;

/// Formats the results of a batch: a heading, the repairs and the first lines
/// of each.
pub(crate) fn render_results(
    terminal: &TerminalOutput,
    engine: &Engine,
    results: &[ToolResult],
) -> String {
    let snapshot = engine.snapshot();
    let mut lines = Vec::new();
    for result in results {
        let (mark, style) = if call_summary::is_success(result) {
            ("✓", OutputStyle::Green)
        } else {
            ("✗", OutputStyle::Red)
        };
        let emoji = snapshot.get(&result.name).map_or("⚡", |entry| &*entry.spec().emoji);
        lines.push(format!(
            "{} {emoji} {}  {}",
            terminal.paint(style, mark),
            terminal.paint(OutputStyle::Bold, &show_control_chars(&result.name)),
            terminal.paint(OutputStyle::Dim, &format!("{} ms", result.duration.as_millis())),
        ));
        for change in &result.coercions {
            let repaired = format!("  repaired {}", show_control_chars(change));
            lines.push(terminal.paint(OutputStyle::Yellow, &clip(&repaired, terminal.width())));
        }
        let body = main_text(&result.content);
        let body: Vec<&str> = body.lines().filter(|line| !line.trim().is_empty()).collect();
        for line in body.iter().take(MAX_RESULT_LINES) {
            lines.push(clip(&format!("  {line}"), terminal.width()));
        }
        if body.len() > MAX_RESULT_LINES {
            let more =
                format!("  … {} more lines (use --json to see all)", body.len() - MAX_RESULT_LINES);
            lines.push(terminal.paint(OutputStyle::Dim, &more));
        }
    }
    lines.join("\n")
}

/// Returns the main content of a result, or else all of it.
fn main_text(content: &str) -> String {
    let value: Value = serde_json::from_str(content).unwrap_or_default();
    let main = MAIN_FIELDS
        .iter()
        .find_map(|key| value.get(*key)?.as_str())
        .filter(|text| !text.is_empty());
    match main {
        Some(text) => show_control_chars(text).into_owned(),
        None => render_result(&TerminalOutput::plain(), content),
    }
}

/// Formats a value as indented text: scalars inline, lists and objects below.
fn value_text(value: &Value, depth: usize) -> String {
    let indent = "  ".repeat(depth);
    match value {
        Value::String(s) if s.contains('\n') => {
            s.lines().map(|line| format!("\n{indent}{line}")).collect()
        }
        Value::String(s) => s.clone(),
        Value::Array(items) if items.is_empty() => "none".into(),
        Value::Array(items) if items.iter().all(|i| !i.is_array() && !i.is_object()) => {
            items.iter().map(|i| value_text(i, depth)).collect::<Vec<_>>().join(", ")
        }
        Value::Array(items) => {
            items.iter().map(|item| format!("\n{indent}- {}", inline_text(item))).collect()
        }
        Value::Object(fields) if depth < 6 => fields
            .iter()
            .filter(|(_, field)| !field.is_null())
            .map(|(key, field)| {
                let body = value_text(field, depth + 1);
                let gap = if body.starts_with('\n') { "" } else { " " };
                format!("\n{indent}{key}:{gap}{body}")
            })
            .collect(),
        other => other.to_string(),
    }
}

/// Formats a list item in one line.
fn inline_text(value: &Value) -> String {
    match value {
        Value::Object(fields) => fields
            .iter()
            .filter(|(_, field)| !field.is_null())
            .map(|(key, field)| match field {
                Value::String(s) => format!("{key}: {s}"),
                other => format!("{key}: {other}"),
            })
            .collect::<Vec<_>>()
            .join(", "),
        Value::String(s) => s.clone(),
        other => other.to_string(),
    }
}
