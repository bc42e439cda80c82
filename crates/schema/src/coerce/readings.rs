//! The ways in which a value may be read as another type.

use serde_json::Value;

use super::keys::squash;
use super::number;
use crate::kinds::Kinds;
use crate::repair::{self, RepairKind};
use crate::validate::Node;

/// A value that the given one may stand for.
pub(super) struct Reading {
    pub(super) value: Value,
    pub(super) rule: &'static str,
    /// What is inside may need coercion in turn.
    pub(super) coerce_inside: bool,
}

impl Reading {
    fn plain(value: Value, rule: &'static str) -> Self {
        Self { value, rule, coerce_inside: false }
    }

    fn deep(value: Value, rule: &'static str) -> Self {
        Self { value, rule, coerce_inside: true }
    }
}

/// All readings of a value, grouped by the type they lead to.
///
/// Within a group the first that fits is meant; groups compete, and if two of them fit with
/// different values, the value has no single reading.
pub(super) fn readings(value: &Value, wanted: Kinds, schemas: &[Node<'_>]) -> Vec<Vec<Reading>> {
    let mut groups = Vec::new();
    match value {
        Value::String(text) => {
            groups.push(choices(text, schemas));
            if wanted.has(Kinds::NULL) && text.trim().eq_ignore_ascii_case("null") {
                groups.push(vec![Reading::plain(Value::Null, "null")]);
            }
            if wanted.has(Kinds::BOOLEAN) {
                groups.push(boolean(text));
            }
            if wanted.has(Kinds::INTEGER.or(Kinds::NUMBER)) {
                let parsed = number::parse(text, !wanted.has(Kinds::NUMBER));
                groups.push(parsed.map(|n| Reading::plain(n, "number")).into_iter().collect());
            }
            if wanted.has(Kinds::OBJECT) {
                groups.push(container(text, '{').into_iter().flatten().collect());
            }
            if wanted.has(Kinds::ARRAY) {
                groups.push(list(text));
            }
        }
        Value::Number(_) | Value::Bool(_) => {
            if wanted.has(Kinds::STRING) {
                let text = Value::String(value.to_string());
                groups.push(vec![Reading::plain(text, "text")]);
            }
            if let Some(integer) =
                value.as_f64().filter(|_| wanted.has(Kinds::INTEGER)).and_then(number::integral)
            {
                groups.push(vec![Reading::plain(integer, "integral")]);
            }
        }
        Value::Array(items) if !wanted.has(Kinds::ARRAY) => {
            if let [only] = items.as_slice()
                && !only.is_array()
                && !only.is_object()
            {
                groups.push(vec![Reading::deep(only.clone(), "unwrap")]);
            }
        }
        _ => {}
    }
    let wraps = !matches!(value, Value::Null | Value::Array(_) | Value::String(_));
    if wraps && wanted.has(Kinds::ARRAY) {
        groups.push(vec![wrap(value.clone())]);
    }
    groups
}

fn wrap(value: Value) -> Reading {
    Reading::deep(Value::Array(vec![value]), "wrap")
}

fn boolean(text: &str) -> Vec<Reading> {
    let text = text.trim();
    let value = if text.eq_ignore_ascii_case("true") {
        true
    } else if text.eq_ignore_ascii_case("false") {
        false
    } else {
        return Vec::new();
    };
    vec![Reading::plain(Value::Bool(value), "boolean")]
}

/// A string as a list: the list it spells, otherwise a list of just this string.
fn list(text: &str) -> Vec<Reading> {
    match container(text, '[') {
        Some(spelled) => spelled.into_iter().collect(),
        None => vec![wrap(Value::from(text))],
    }
}

/// The list or object that a string spells. `None`: it spells none; `Some(None)`: it looks like
/// one that was cut off, so that neither reading is safe.
fn container(text: &str, opener: char) -> Option<Option<Reading>> {
    if !text.trim_start().starts_with(opener) {
        return None;
    }
    let parsed = repair::parse_value(text).ok()?;
    let foreign =
        |kind| matches!(kind, RepairKind::Prose | RepairKind::Comment | RepairKind::SurplusCloser);
    if parsed.repairs.iter().any(|repair| foreign(repair.kind)) {
        return None;
    }
    Some((!parsed.guessed).then(|| Reading::deep(parsed.value, "parse")))
}

/// The one listed string that differs only in case and blanks, or else only in separators too, or
/// the language that goes by this name as well.
fn choices(text: &str, schemas: &[Node<'_>]) -> Vec<Reading> {
    let listed: Vec<&str> = schemas
        .iter()
        .flat_map(|node| {
            let several = node.get("enum").and_then(Value::as_array).into_iter().flatten();
            several.chain(node.get("const")).filter_map(Value::as_str)
        })
        .collect();
    // No choice is longer than this; a long text is not worth folding.
    let longest = listed.iter().map(|choice| choice.len()).max().unwrap_or(0);
    if listed.is_empty() || text.trim().len() > 2 * longest + 16 {
        return Vec::new();
    }
    let lower = |text: &str| text.trim().to_lowercase();
    for fold in [lower as fn(&str) -> String, squash] {
        let given = fold(text);
        let mut same: Vec<&str> =
            listed.iter().copied().filter(|choice| fold(choice) == given).collect();
        same.sort_unstable();
        same.dedup();
        match same.as_slice() {
            [] => {}
            [only] if !given.is_empty() => {
                return vec![Reading::plain(Value::from(*only), "choice")];
            }
            _ => return Vec::new(),
        }
    }
    let given = lower(text);
    let meant = LANGUAGES.iter().filter(|(short, _)| *short == given).map(|(_, name)| *name);
    let mut known = meant.filter(|name| listed.contains(name));
    known.next().map(|name| Reading::plain(Value::from(name), "choice")).into_iter().collect()
}

/// Other names that languages go by.
const LANGUAGES: &[(&str, &str)] = &[
    ("py", "python"),
    ("python3", "python"),
    ("js", "javascript"),
    ("node", "javascript"),
    ("nodejs", "javascript"),
    ("ts", "typescript"),
    ("sh", "bash"),
    ("shell", "bash"),
    ("sqlite", "sql"),
];
