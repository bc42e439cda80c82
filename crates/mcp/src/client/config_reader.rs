//! Lenient reader for server settings: accepts `yes` for true, `"30"` for 30, a
//! single name in place of a list, and expands `${NAME}`.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value};

/// How deep an entry may be nested.
const MAX_DEPTH: usize = 16;

/// Longer durations are capped at one year.
const MAX_SECONDS: f64 = 365.0 * 86_400.0;

/// A map of settings.
pub(crate) struct ConfigReader<'a>(pub(crate) &'a Map<String, Value>);

impl ConfigReader<'_> {
    /// Returns the settings with each `${NAME}` and `${env:NAME}` expanded, and
    /// the names that are unknown. Those stay unchanged, and in `args` they are
    /// not reported.
    pub(crate) fn expand_variables(
        written: &Map<String, Value>,
        lookup: &dyn Fn(&str) -> Option<String>,
    ) -> (Map<String, Value>, Vec<String>) {
        let mut filled = written.clone();
        let mut unknown = Vec::new();
        for (key, value) in &mut filled {
            // An argument may be a script with its own variables.
            let mut own = Vec::new();
            let unknown = if key == "args" { &mut own } else { &mut unknown };
            expand_value(value, lookup, unknown, MAX_DEPTH);
        }
        (filled, unknown)
    }

    pub(crate) fn string(&self, name: &str) -> Option<String> {
        match self.0.get(name)? {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            Value::Bool(flag) => Some(flag.to_string()),
            _ => None,
        }
    }

    pub(crate) fn string_list(&self, name: &str) -> Vec<String> {
        match self.0.get(name) {
            Some(Value::Array(items)) => items.iter().filter_map(to_text).collect(),
            Some(value) => to_text(value).into_iter().collect(),
            None => Vec::new(),
        }
    }

    pub(crate) fn string_map(&self, name: &str) -> BTreeMap<String, String> {
        let map = self.map(name);
        map.iter().filter_map(|(name, value)| Some((name.clone(), to_text(value)?))).collect()
    }

    pub(crate) fn map(&self, name: &str) -> Map<String, Value> {
        self.0.get(name).and_then(Value::as_object).cloned().unwrap_or_default()
    }

    pub(crate) fn number(&self, name: &str) -> Option<f64> {
        let number = match self.0.get(name)? {
            Value::Number(number) => number.as_f64()?,
            Value::String(text) => text.trim().parse().ok()?,
            _ => return None,
        };
        number.is_finite().then_some(number)
    }

    pub(crate) fn seconds(&self, name: &str) -> Option<Duration> {
        let number = self.number(name).filter(|number| *number >= 0.0)?;
        Duration::try_from_secs_f64(number.min(MAX_SECONDS)).ok()
    }

    pub(crate) fn flag(&self, name: &str, default: bool) -> bool {
        match self.0.get(name) {
            Some(Value::Bool(flag)) => *flag,
            Some(Value::Number(number)) => number.as_f64() != Some(0.0),
            Some(Value::String(text)) => match text.trim().to_ascii_lowercase().as_str() {
                "true" | "1" | "yes" | "on" => true,
                "false" | "0" | "no" | "off" => false,
                _ => default,
            },
            _ => default,
        }
    }
}

fn to_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}

fn expand_value(
    value: &mut Value,
    lookup: &dyn Fn(&str) -> Option<String>,
    unknown: &mut Vec<String>,
    levels: usize,
) {
    match value {
        Value::String(text) if text.contains("${") => *text = expand_text(text, lookup, unknown),
        Value::Array(items) if levels > 0 => {
            items.iter_mut().for_each(|item| expand_value(item, lookup, unknown, levels - 1));
        }
        Value::Object(fields) if levels > 0 => {
            fields.values_mut().for_each(|field| expand_value(field, lookup, unknown, levels - 1));
        }
        _ => {}
    }
}

fn expand_text(
    text: &str,
    lookup: &dyn Fn(&str) -> Option<String>,
    unknown: &mut Vec<String>,
) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        filled.push_str(before);
        let Some((name, next)) = after.split_once('}') else {
            filled.push_str("${");
            rest = after;
            continue;
        };
        let bare = name.strip_prefix("env:").unwrap_or(name);
        match lookup(bare) {
            Some(value) => filled.push_str(&value),
            None => {
                filled.push_str("${");
                filled.push_str(name);
                filled.push('}');
                if is_variable_name(bare) && !unknown.iter().any(|it| it == bare) {
                    unknown.push(bare.to_owned());
                }
            }
        }
        rest = next;
    }
    filled.push_str(rest);
    filled
}

/// Whether the text is a variable name rather than a shell expansion.
fn is_variable_name(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}
