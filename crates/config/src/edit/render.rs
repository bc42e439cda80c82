//! Renders values as YAML that 1.1 and 1.2 parsers read alike.

use serde_json::{Map, Value};
use serde_saphyr::{FlowMap, FlowSeq};

/// Style of the file being edited.
#[derive(Debug, Clone, Copy)]
pub(super) struct YamlStyle {
    pub(super) newline: &'static str,
    /// Indentation of a nested mapping.
    pub(super) step: usize,
    /// Indentation of list dashes below their key; 0 in many files.
    pub(super) list_step: usize,
}

impl Default for YamlStyle {
    fn default() -> Self {
        Self { newline: "\n", step: 2, list_step: 2 }
    }
}

/// Whether a value is written on its own lines below its key.
pub(super) fn is_block(value: &Value) -> bool {
    match value {
        Value::Array(items) => !items.is_empty(),
        Value::Object(map) => !map.is_empty(),
        _ => false,
    }
}

/// Renders a value on one line, in brackets if it is a collection.
pub(super) fn inline(value: &Value) -> Result<String, String> {
    let options = serde_saphyr::ser_options! { prefer_block_scalars: false };
    let written = match value {
        Value::Array(items) => serde_saphyr::to_string_with_options(&FlowSeq(items), options),
        Value::Object(map) => serde_saphyr::to_string_with_options(&FlowMap(map), options),
        scalar => serde_saphyr::to_string_with_options(scalar, options),
    };
    require_single_line(written.map_err(|error| error.to_string())?)
}

/// Renders a value inside brackets, where commas and brackets need quotes.
pub(super) fn inline_in_flow(value: &Value) -> Result<String, String> {
    if value.is_array() || value.is_object() {
        return inline(value);
    }
    let listed = inline(&Value::Array(vec![value.clone()]))?;
    strip_wrapping(&listed, "[", "]")
}

/// Renders a name as a mapping key.
pub(super) fn key(name: &str) -> Result<String, String> {
    let options = serde_saphyr::ser_options! { prefer_block_scalars: false };
    let map: Map<String, Value> = Map::from_iter([(name.to_owned(), Value::Null)]);
    let written = serde_saphyr::to_string_with_options(&map, options);
    let line = require_single_line(written.map_err(|error| error.to_string())?)?;
    strip_wrapping(&line, "", ": null")
}

/// Renders a name as a key inside brackets.
pub(super) fn key_in_flow(name: &str) -> Result<String, String> {
    let map: Map<String, Value> = Map::from_iter([(name.to_owned(), Value::Null)]);
    let line = inline(&Value::Object(map))?;
    strip_wrapping(&line, "{", ": null}")
}

/// Returns the lines of an entry, not indented.
pub(super) fn entry_lines(
    name: &str,
    value: &Value,
    style: YamlStyle,
) -> Result<Vec<String>, String> {
    let name = key(name)?;
    if !is_block(value) {
        return Ok(vec![format!("{name}: {}", inline(value)?)]);
    }
    let step = if value.is_array() { style.list_step } else { style.step };
    let mut lines = vec![format!("{name}:")];
    lines.extend(block_lines(value, style)?.iter().map(|line| indent(line, step)));
    Ok(lines)
}

/// Returns the lines of a list item, not indented.
pub(super) fn item_lines(value: &Value, style: YamlStyle) -> Result<Vec<String>, String> {
    if !is_block(value) {
        return Ok(vec![format!("- {}", inline(value)?)]);
    }
    let lines = block_lines(value, style)?;
    let marked = lines.iter().enumerate().map(|(index, line)| match index {
        0 => format!("- {line}"),
        _ => indent(line, 2),
    });
    Ok(marked.collect())
}

/// Returns the lines of a collection, not indented.
pub(super) fn block_lines(value: &Value, style: YamlStyle) -> Result<Vec<String>, String> {
    let mut lines = Vec::new();
    match value {
        Value::Array(items) => {
            for item in items {
                lines.extend(item_lines(item, style)?);
            }
        }
        Value::Object(map) => {
            for (name, value) in map {
                lines.extend(entry_lines(name, value, style)?);
            }
        }
        scalar => lines.push(inline(scalar)?),
    }
    Ok(lines)
}

pub(super) fn indent(line: &str, columns: usize) -> String {
    format!("{}{line}", " ".repeat(columns))
}

fn require_single_line(written: String) -> Result<String, String> {
    let line = written.trim_end_matches('\n');
    if line.contains(['\n', '\r']) {
        return Err("the value does not fit on one line".to_owned());
    }
    Ok(line.to_owned())
}

fn strip_wrapping(text: &str, prefix: &str, suffix: &str) -> Result<String, String> {
    text.strip_prefix(prefix)
        .and_then(|text| text.strip_suffix(suffix))
        .map(str::to_owned)
        .ok_or_else(|| "the name or value cannot be written in this position".to_owned())
}
