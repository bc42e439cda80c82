//! A result for a person to read.

use hermes::core::ToolResult;
use hermes::engine::Engine;
use serde_json::{Number, Value};

use crate::table::clip;
use crate::terminal::{Style, Terminal, visible};

/// Fields that hold the thing itself, shown last and as they are.
const MAIN: [&str; 6] = ["content", "output", "text", "stdout", "diff", "result"];

/// How a program ended, and what that means.
const CODE: &str = "exit_code";
const MEANING: &str = "exit_code_meaning";

/// The result of a call, laid out.
pub(crate) fn layout(terminal: &Terminal, content: &str) -> String {
    let Ok(value) = serde_json::from_str::<Value>(content) else {
        return visible(content).into_owned();
    };
    let Value::Object(fields) = value else { return visible(&text(&value, 0)).into_owned() };
    let mut lines = Vec::new();
    let mut last = None;
    let meaning = fields.get(MEANING).and_then(Value::as_str);
    for (key, value) in &fields {
        match value {
            // What there is nothing to say about.
            Value::Null => {}
            Value::Number(code) if key == CODE => {
                let label = terminal.paint(Style::Dim, "exit_code:");
                lines.push(format!("{label} {}", exit(code, meaning)));
            }
            Value::String(_) if key == MEANING && fields.contains_key(CODE) => {}
            Value::String(body) if MAIN.contains(&key.as_str()) && last.is_none() => {
                last = Some(body)
            }
            other => {
                let label = terminal.paint(Style::Dim, &format!("{}:", visible(key)));
                let body = text(other, 1);
                let body = visible(&body);
                let gap = if body.starts_with('\n') { "" } else { " " };
                lines.push(format!("{label}{gap}{body}"));
            }
        }
    }
    if let Some(body) = last.filter(|body| !body.trim_end_matches('\n').is_empty()) {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        lines.push(visible(body.trim_end_matches('\n')).into_owned());
    }
    lines.join("\n")
}

fn exit(code: &Number, meaning: Option<&str>) -> String {
    match meaning {
        Some(meaning) => format!("{code} ({})", visible(meaning)),
        None if code.as_i64() == Some(0) => code.to_string(),
        None => format!("{code} (failed)"),
    }
}

/// How much of each result of a batch is shown.
const LINES: usize = 4;

/// The results of a batch: one heading each, what was mended, the beginning
/// of the answer.
pub(crate) fn results(terminal: &Terminal, engine: &Engine, results: &[ToolResult]) -> String {
    let snapshot = engine.snapshot();
    let mut lines = Vec::new();
    for result in results {
        let (mark, style) =
            if result.is_success() { ("✓", Style::Green) } else { ("✗", Style::Red) };
        let emoji = snapshot.get(&result.name).map_or("⚡", |entry| &*entry.spec().emoji);
        lines.push(format!(
            "{} {emoji} {}  {}",
            terminal.paint(style, mark),
            terminal.paint(Style::Bold, &visible(&result.name)),
            terminal.paint(Style::Dim, &format!("{} ms", result.duration.as_millis())),
        ));
        for change in &result.coercions {
            let mended = format!("  mended {}", visible(change));
            lines.push(terminal.paint(Style::Yellow, &clip(&mended, terminal.width())));
        }
        let body = summary(&result.content);
        let body: Vec<&str> = body.lines().filter(|line| !line.trim().is_empty()).collect();
        for line in body.iter().take(LINES) {
            lines.push(clip(&format!("  {line}"), terminal.width()));
        }
        if body.len() > LINES {
            let more = format!("  … {} more lines (--json shows all)", body.len() - LINES);
            lines.push(terminal.paint(Style::Dim, &more));
        }
    }
    lines.join("\n")
}

/// The thing itself where a result has one, else all of it.
fn summary(content: &str) -> String {
    let value: Value = serde_json::from_str(content).unwrap_or_default();
    let main =
        MAIN.iter().find_map(|key| value.get(*key)?.as_str()).filter(|text| !text.is_empty());
    match main {
        Some(text) => visible(text).into_owned(),
        None => layout(&Terminal::plain(), content),
    }
}

/// A value as indented text: scalars in a line, lists and objects below.
fn text(value: &Value, depth: usize) -> String {
    let indent = "  ".repeat(depth);
    match value {
        Value::String(s) if s.contains('\n') => {
            s.lines().map(|line| format!("\n{indent}{line}")).collect()
        }
        Value::String(s) => s.clone(),
        Value::Array(items) if items.is_empty() => "none".into(),
        Value::Array(items) if items.iter().all(|i| !i.is_array() && !i.is_object()) => {
            items.iter().map(|i| text(i, depth)).collect::<Vec<_>>().join(", ")
        }
        Value::Array(items) => {
            items.iter().map(|item| format!("\n{indent}- {}", inline(item))).collect()
        }
        Value::Object(fields) if depth < 6 => fields
            .iter()
            .filter(|(_, field)| !field.is_null())
            .map(|(key, field)| {
                let body = text(field, depth + 1);
                let gap = if body.starts_with('\n') { "" } else { " " };
                format!("\n{indent}{key}:{gap}{body}")
            })
            .collect(),
        other => other.to_string(),
    }
}

/// An item of a list in one line.
fn inline(value: &Value) -> String {
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
