//! A result for a person to read.

use serde_json::Value;

use crate::terminal::{Style, Terminal, visible};

/// Fields that hold the thing itself, shown last and as they are.
const MAIN: [&str; 6] = ["content", "output", "text", "stdout", "diff", "result"];

/// The result of a call, laid out.
pub(crate) fn layout(terminal: &Terminal, content: &str) -> String {
    let Ok(value) = serde_json::from_str::<Value>(content) else {
        return visible(content).into_owned();
    };
    let Value::Object(fields) = value else { return visible(&text(&value, 0)).into_owned() };
    let mut lines = Vec::new();
    let mut last = None;
    for (key, value) in &fields {
        match value {
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
    if let Some(body) = last {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        lines.push(visible(body.trim_end_matches('\n')).into_owned());
    }
    lines.join("\n")
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
