//! Prepares a server's tool definition for the model: removes hidden text and
//! prompt injections.

use hermes_threats::{ScanLevel, scan};
use serde_json::{Map, Value, json};

use super::sanitize::strip_hidden;

/// Maximum length of a description, and of a parameter's, in characters.
const MAX_DESCRIPTION_CHARS: usize = 4_000;
const MAX_PARAMETER_CHARS: usize = 1_000;

/// Maximum nesting depth of a schema.
const MAX_SCHEMA_DEPTH: usize = 40;

/// Maximum size of a schema, in bytes.
const MAX_SCHEMA_BYTES: usize = 256 * 1024;

/// A tool definition as the model sees it.
#[derive(Debug, Clone)]
pub(crate) struct ToolDescription {
    pub(crate) description: String,
    pub(crate) parameters: Value,
    /// Ids of the findings of the scan.
    pub(crate) findings: Vec<String>,
}

/// Returns the sanitized description and parameters of a tool.
pub(crate) fn describe_tool(server: &str, definition: &Value) -> ToolDescription {
    let text = |key: &str| definition.get(key).and_then(Value::as_str).unwrap_or_default();
    let raw =
        if text("description").trim().is_empty() { text("title") } else { text("description") };
    let mut findings: Vec<String> = scan_findings(raw);
    let mut description = match strip_hidden(raw.trim(), MAX_DESCRIPTION_CHARS) {
        empty if empty.is_empty() => {
            let name = strip_hidden(text("name"), 100);
            format!("The tool {name} of the MCP server {server}.")
        }
        text => text,
    };
    if !findings.is_empty() {
        description = format!(
            "A tool of the MCP server {server}. (Description withheld: it gives orders to its \
             reader.)"
        );
    }
    let schema = definition.get("inputSchema").cloned().unwrap_or_else(|| json!({}));
    let parameters = if schema.to_string().len() > MAX_SCHEMA_BYTES {
        findings.push("schema-too-large".to_owned());
        json!({"type": "object"})
    } else {
        sanitize_schema(schema, &mut findings)
    };
    findings.sort();
    findings.dedup();
    ToolDescription { description, parameters, findings }
}

fn scan_findings(text: &str) -> Vec<String> {
    let found = scan(text, ScanLevel::Context).into_iter();
    // Hidden text is stripped, which is enough.
    let shown =
        found.filter(|finding| finding.category != hermes_threats::ThreatCategory::Concealment);
    shown.map(|finding| finding.id.to_owned()).collect()
}

/// Whether a value is a text that gives orders to its reader.
fn gives_orders(value: &Value, findings: &mut Vec<String>) -> bool {
    let found = value.as_str().map(scan_findings).unwrap_or_default();
    let is_order = !found.is_empty();
    findings.extend(found);
    is_order
}

fn sanitize_schema(mut schema: Value, findings: &mut Vec<String>) -> Value {
    sanitize_texts(&mut schema, MAX_SCHEMA_DEPTH, findings);
    let Value::Object(fields) = &mut schema else { return json!({"type": "object"}) };
    fields.entry("type").or_insert_with(|| "object".into());
    if !fields.get("properties").is_none_or(Value::is_object) {
        fields.insert("properties".to_owned(), json!({}));
    }
    drop_undefined_required(fields);
    schema
}

/// Removes required names without a property, since no call could provide them.
fn drop_undefined_required(fields: &mut Map<String, Value>) {
    let Some(properties) = fields.get("properties").and_then(Value::as_object).cloned() else {
        return;
    };
    let Some(Value::Array(required)) = fields.get_mut("required") else { return };
    required.retain(|name| name.as_str().is_some_and(|name| properties.contains_key(name)));
    if required.is_empty() {
        fields.remove("required");
    }
}

/// Sanitizes texts and removes remote references. A value or a name that gives
/// orders is removed, since it cannot be rewritten.
fn sanitize_texts(value: &mut Value, levels: usize, findings: &mut Vec<String>) {
    match value {
        Value::Object(_) | Value::Array(_) if levels == 0 => *value = json!({}),
        Value::Array(items) => {
            items.retain(|item| !gives_orders(item, findings));
            items.iter_mut().for_each(|item| sanitize_texts(item, levels - 1, findings));
        }
        Value::Object(fields) => {
            let is_remote = |value: &Value| value.as_str().is_some_and(|it| !it.starts_with('#'));
            if fields.get("$ref").is_some_and(is_remote) {
                fields.remove("$ref");
            }
            fields.retain(|key, field| {
                let is_prose = key == "description" || key == "title";
                let found = scan_findings(key);
                let is_order = !found.is_empty() || !is_prose && gives_orders(field, findings);
                findings.extend(found);
                !is_order
            });
            for (key, field) in fields.iter_mut() {
                match field {
                    Value::String(text) if key == "description" || key == "title" => {
                        let found = scan_findings(text);
                        *text = strip_hidden(text, MAX_PARAMETER_CHARS);
                        if !found.is_empty() {
                            "(withheld)".clone_into(text);
                            findings.extend(found);
                        }
                    }
                    other => sanitize_texts(other, levels - 1, findings),
                }
            }
            if fields.get("enum").and_then(Value::as_array).is_some_and(Vec::is_empty) {
                fields.remove("enum");
            }
        }
        _ => {}
    }
}

#[cfg(test)]
#[path = "describe_tests.rs"]
mod tests;
