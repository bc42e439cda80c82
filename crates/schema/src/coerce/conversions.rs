//! The ways in which a value may be read as another type.

use serde_json::Value;

use super::keys::normalize_name;
use super::number;
use crate::repair::{self, RepairKind};
use crate::type_set::TypeSet;
use crate::validate::SchemaNode;

/// A value that the given one may stand for.
pub(super) struct ConversionCandidate {
    pub(super) value: Value,
    pub(super) rule: &'static str,
    /// What is inside may need coercion in turn.
    pub(super) coerce_inside: bool,
}

impl ConversionCandidate {
    fn scalar(value: Value, rule: &'static str) -> Self {
        Self { value, rule, coerce_inside: false }
    }

    fn container(value: Value, rule: &'static str) -> Self {
        Self { value, rule, coerce_inside: true }
    }
}

/// All readings of a value, grouped by the type they lead to.
///
/// Within a group the first that fits is meant; groups compete, and if two of them fit with
/// different values, the value has no single reading.
pub(super) fn candidates(
    value: &Value,
    wanted: TypeSet,
    schemas: &[SchemaNode<'_>],
) -> Vec<Vec<ConversionCandidate>> {
    let mut groups = Vec::new();
    match value {
        Value::String(text) => {
            groups.push(matching_choices(text, schemas));
            if wanted.intersects(TypeSet::NULL) && text.trim().eq_ignore_ascii_case("null") {
                groups.push(vec![ConversionCandidate::scalar(Value::Null, "null")]);
            }
            if wanted.intersects(TypeSet::BOOLEAN) {
                groups.push(boolean_candidates(text));
            }
            if wanted.intersects(TypeSet::INTEGER.or(TypeSet::NUMBER)) {
                let parsed = number::parse_number(text, !wanted.intersects(TypeSet::NUMBER));
                groups.push(
                    parsed.map(|n| ConversionCandidate::scalar(n, "number")).into_iter().collect(),
                );
            }
            if wanted.intersects(TypeSet::OBJECT) {
                groups.push(parse_container(text, '{').into_iter().flatten().collect());
            }
            if wanted.intersects(TypeSet::ARRAY) {
                groups.push(list_candidates(text));
            }
        }
        Value::Number(_) | Value::Bool(_) => {
            if wanted.intersects(TypeSet::STRING) {
                let text = Value::String(value.to_string());
                groups.push(vec![ConversionCandidate::scalar(text, "text")]);
            }
            if let Some(integer) = value
                .as_f64()
                .filter(|_| wanted.intersects(TypeSet::INTEGER))
                .and_then(number::integer_from_float)
            {
                groups.push(vec![ConversionCandidate::scalar(integer, "integral")]);
            }
        }
        Value::Array(items) if !wanted.intersects(TypeSet::ARRAY) => {
            if let [only] = items.as_slice()
                && !only.is_array()
                && !only.is_object()
            {
                groups.push(vec![ConversionCandidate::container(only.clone(), "unwrap")]);
            }
        }
        _ => {}
    }
    let wraps = !matches!(value, Value::Null | Value::Array(_) | Value::String(_));
    if wraps && wanted.intersects(TypeSet::ARRAY) {
        groups.push(vec![wrap(value.clone())]);
    }
    groups
}

fn wrap(value: Value) -> ConversionCandidate {
    ConversionCandidate::container(Value::Array(vec![value]), "wrap")
}

fn boolean_candidates(text: &str) -> Vec<ConversionCandidate> {
    let text = text.trim();
    let value = if text.eq_ignore_ascii_case("true") {
        true
    } else if text.eq_ignore_ascii_case("false") {
        false
    } else {
        return Vec::new();
    };
    vec![ConversionCandidate::scalar(Value::Bool(value), "boolean")]
}

/// A string as a list: the list it spells, otherwise a list of just this string.
fn list_candidates(text: &str) -> Vec<ConversionCandidate> {
    match parse_container(text, '[') {
        Some(spelled) => spelled.into_iter().collect(),
        None => vec![wrap(Value::from(text))],
    }
}

/// The list or object that a string spells. `None`: it spells none; `Some(None)`: it looks like
/// one that was cut off, so that neither reading is safe.
fn parse_container(text: &str, opener: char) -> Option<Option<ConversionCandidate>> {
    if !text.trim_start().starts_with(opener) {
        return None;
    }
    let parsed = repair::parse_value(text).ok()?;
    let foreign =
        |kind| matches!(kind, RepairKind::Prose | RepairKind::Comment | RepairKind::SurplusCloser);
    if parsed.repairs.iter().any(|repair| foreign(repair.kind)) {
        return None;
    }
    Some((!parsed.is_guess).then(|| ConversionCandidate::container(parsed.value, "parse")))
}

/// The one listed string that differs only in case and blanks, or else only in separators too, or
/// the language that goes by this name as well.
fn matching_choices(text: &str, schemas: &[SchemaNode<'_>]) -> Vec<ConversionCandidate> {
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
    for fold in [lower as fn(&str) -> String, normalize_name] {
        let given = fold(text);
        let mut same: Vec<&str> =
            listed.iter().copied().filter(|choice| fold(choice) == given).collect();
        same.sort_unstable();
        same.dedup();
        match same.as_slice() {
            [] => {}
            [only] if !given.is_empty() => {
                return vec![ConversionCandidate::scalar(Value::from(*only), "choice")];
            }
            _ => return Vec::new(),
        }
    }
    let given = lower(text);
    let meant = LANGUAGE_ALIASES.iter().filter(|(short, _)| *short == given).map(|(_, name)| *name);
    let mut known = meant.filter(|name| listed.contains(name));
    known
        .next()
        .map(|name| ConversionCandidate::scalar(Value::from(name), "choice"))
        .into_iter()
        .collect()
}

/// Other names that languages go by.
const LANGUAGE_ALIASES: &[(&str, &str)] = &[
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
