//! Anthropic's dialect: full JSON Schema below a plain object with restricted
//! property names.

use serde_json::{Map, Value};

use super::{TranslationReport, root};
use crate::validate::expand_nullable_owned;

const MAX_NAME_CHARS: usize = 64;

pub(super) fn translate(
    document: Map<String, Value>,
    report: &mut TranslationReport,
) -> Map<String, Value> {
    let folded = match expand_nullable_owned(Value::Object(document)) {
        Value::Object(map) => map,
        _ => super::empty_object_schema(),
    };
    let schema = root::plain_object(folded, report);
    rename_properties(schema, report)
}

/// Renames top-level properties with invalid names: only letters, digits, `_`,
/// `.` and `-` are accepted, at most 64.
fn rename_properties(
    mut schema: Map<String, Value>,
    report: &mut TranslationReport,
) -> Map<String, Value> {
    let Some(Value::Object(properties)) = schema.get("properties") else {
        return schema;
    };
    if properties.keys().all(|name| is_accepted(name)) {
        return schema;
    }
    let mut taken: Vec<String> =
        properties.keys().filter(|name| is_accepted(name)).cloned().collect();
    let mut renamed = Map::new();
    for (name, property) in properties {
        if is_accepted(name) {
            renamed.insert(name.clone(), property.clone());
            continue;
        }
        let fresh = unused_name(name, &taken);
        report.record_loss("/properties", name, format!("renamed to `{fresh}`"));
        report.renamed.push((fresh.clone(), name.clone()));
        taken.push(fresh.clone());
        renamed.insert(fresh, property.clone());
    }
    schema.insert("properties".to_owned(), Value::Object(renamed));
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        for entry in required {
            let new = report.renamed.iter().find(|(_, old)| entry.as_str() == Some(old));
            if let Some((new, _)) = new {
                *entry = Value::from(new.as_str());
            }
        }
    }
    schema
}

fn is_accepted(name: &str) -> bool {
    (1..=MAX_NAME_CHARS).contains(&name.len()) && name.chars().all(is_accepted_char)
}

fn is_accepted_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-')
}

/// Returns an accepted name similar to `name` that is not taken.
fn unused_name(name: &str, taken: &[String]) -> String {
    let mut base: String = name
        .chars()
        .map(|c| if is_accepted_char(c) { c } else { '_' })
        .take(MAX_NAME_CHARS)
        .collect();
    if base.is_empty() {
        base.push('_');
    }
    let mut fresh = base.clone();
    let mut number = 2_usize;
    while taken.contains(&fresh) {
        let suffix = format!("_{number}");
        let room = MAX_NAME_CHARS.saturating_sub(suffix.len()).min(base.len());
        fresh = format!("{}{suffix}", &base[..room]);
        number += 1;
    }
    fresh
}
