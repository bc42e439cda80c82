//! Conversions of a value to another type.

use serde_json::Value;

use super::keys::normalize_name;
use super::number;
use crate::repair::{self, RepairKind};
use crate::type_set::TypeSet;
use crate::validate::SchemaNode;

/// A value that the given one may mean.
pub(super) struct ConversionCandidate {
    pub(super) value: Value,
    pub(super) rule: &'static str,
    /// Whether the contents may need coercion as well.
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

/// Returns all candidates for a value, grouped by target type.
///
/// Within a group, the first candidate that fits wins. If candidates of two
/// groups fit with different values, the value is ambiguous.
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

/// Converts a string to a list: the list it spells, otherwise a list of this
/// one string.
fn list_candidates(text: &str) -> Vec<ConversionCandidate> {
    match parse_container(text, '[') {
        Some(spelled) => spelled.into_iter().collect(),
        None => vec![wrap(Value::from(text))],
    }
}

/// Parses the list or object that a string spells. Returns `None` if it spells
/// neither, and `Some(None)` if it looks truncated, so no reading is safe.
fn parse_container(text: &str, opener: char) -> Option<Option<ConversionCandidate>> {
    if !text.trim_start().starts_with(opener) {
        return None;
    }
    let parsed = repair::parse_value(text).ok()?;
    let foreign = |kind| {
        use RepairKind::{BareWord, Comment, Prose, SurplusCloser};
        matches!(kind, Prose | Comment | SurplusCloser | BareWord)
    };
    if parsed.repairs.iter().any(|repair| foreign(repair.kind)) {
        return None;
    }
    Some((!parsed.is_guess).then(|| ConversionCandidate::container(parsed.value, "parse")))
}

/// Returns the only listed string that differs just in case and surrounding
/// whitespace, else the only one that also differs in separators, else the
/// language that the text is an alias of.
fn matching_choices(text: &str, schemas: &[SchemaNode<'_>]) -> Vec<ConversionCandidate> {
    let listed: Vec<&str> = schemas
        .iter()
        .flat_map(|node| {
            let several = node.get("enum").and_then(Value::as_array).into_iter().flatten();
            several.chain(node.get("const")).filter_map(Value::as_str)
        })
        .collect();
    // Skip texts much longer than any choice.
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

/// Aliases of languages.
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
