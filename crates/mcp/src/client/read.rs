//! Settings as people write them: `yes` for true, `"30"` for 30, one name
//! where a list could be, and `${NAME}` for what is kept elsewhere.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value};

/// How deep an entry may be nested.
const DEEPEST: usize = 16;

/// The longest time that is taken at its word: a year.
const LONGEST: f64 = 365.0 * 86_400.0;

/// A map of settings.
pub(crate) struct Reading<'a>(pub(crate) &'a Map<String, Value>);

impl Reading<'_> {
    /// The settings with each `${NAME}` and `${env:NAME}` filled in. What
    /// nobody knows stays as it is.
    pub(crate) fn fill(
        written: &Map<String, Value>,
        lookup: &dyn Fn(&str) -> Option<String>,
    ) -> Map<String, Value> {
        let mut filled = written.clone();
        filled.values_mut().for_each(|value| fill_in(value, lookup, DEEPEST));
        filled
    }

    pub(crate) fn text(&self, name: &str) -> Option<String> {
        match self.0.get(name)? {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            Value::Bool(flag) => Some(flag.to_string()),
            _ => None,
        }
    }

    pub(crate) fn texts(&self, name: &str) -> Vec<String> {
        match self.0.get(name) {
            Some(Value::Array(items)) => items.iter().filter_map(as_text).collect(),
            Some(value) => as_text(value).into_iter().collect(),
            None => Vec::new(),
        }
    }

    pub(crate) fn texts_by_name(&self, name: &str) -> BTreeMap<String, String> {
        let map = self.map(name);
        map.iter().filter_map(|(name, value)| Some((name.clone(), as_text(value)?))).collect()
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
        Duration::try_from_secs_f64(number.min(LONGEST)).ok()
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

fn as_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}

fn fill_in(value: &mut Value, lookup: &dyn Fn(&str) -> Option<String>, levels: usize) {
    match value {
        Value::String(text) if text.contains("${") => *text = fill_text(text, lookup),
        Value::Array(items) if levels > 0 => {
            items.iter_mut().for_each(|item| fill_in(item, lookup, levels - 1));
        }
        Value::Object(fields) if levels > 0 => {
            fields.values_mut().for_each(|field| fill_in(field, lookup, levels - 1));
        }
        _ => {}
    }
}

fn fill_text(text: &str, lookup: &dyn Fn(&str) -> Option<String>) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        filled.push_str(before);
        let Some((name, next)) = after.split_once('}') else {
            filled.push_str("${");
            rest = after;
            continue;
        };
        match lookup(name.strip_prefix("env:").unwrap_or(name)) {
            Some(value) => filled.push_str(&value),
            None => {
                filled.push_str("${");
                filled.push_str(name);
                filled.push('}');
            }
        }
        rest = next;
    }
    filled.push_str(rest);
    filled
}
