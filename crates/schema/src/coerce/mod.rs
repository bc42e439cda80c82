//! Coerces arguments to a schema where only one reading is possible.
//!
//! Models write `"5"` for 5, `"[1]"` for a list, `Fast` for `fast`. The rules
//! keep these invariants:
//!
//! - a value that satisfies its schema is never changed, at any position, except for an unknown
//!   key of the arguments that is a declared property in another spelling, and for a wrapper
//!   around them;
//! - a changed value satisfies the schema of its position, and no other reading does;
//! - where two alternatives of a union lead to different values, nothing is changed;
//! - nothing is lost, unknown properties stay, no default is filled in, nothing panics;
//! - every change is reported.
//!
//! By the first invariant, `"5"` stays a string where strings are allowed
//! (`["string", "integer"]`), and `"null"` stays a string for a nullable
//! *string*. There is one exception: `3.0` becomes `3` where an integer is
//! required. In JSON both are the same number, but programs that read the
//! arguments distinguish them.
//!
//! | rule | what it does |
//! |---|---|
//! | `unwrap` | `{"arguments": {…}}`, `[{…}]` → the arguments, if the schema has no such property |
//! | `alias` | renames a property by the caller's list of aliases, in any spelling (top level) |
//! | `key` | renames an unknown property to the absent one that it spells differently |
//! | `omit-null` | drops an optional property that is null but may not be |
//! | `null` | `"null"` → null |
//! | `boolean` | `"TRUE"` → true |
//! | `number` | `"42"`, `" 7 "`, `"1e3"`, `"1_000"` → number, exact over all of `i64` and `u64` |
//! | `integral` | `3.0` → `3` |
//! | `text` | `42` → `"42"`, `true` → `"true"` |
//! | `choice` | a listed value in another case, with other separators or surrounding whitespace |
//! | `parse` | a list or object in a string, as JSON or as a Python literal |
//! | `wrap` | a single value where a list is required (never null, never split at commas) |
//! | `unwrap` | a list of one scalar where a scalar is required |
//!
//! Rule `key` applies to the unknown keys of an invalid object if the object is
//! closed (`additionalProperties: false`) or if the absent property is required,
//! and to the arguments themselves, valid or not, if the schema does not mention
//! additional properties: most servers ignore a key that they do not know. The
//! value must fit the property.

mod conversions;
mod keys;
mod number;
mod walker;
mod wrappers;

use serde::Serialize;
use serde_json::Value;

use crate::depth::ValueSurvey;
use crate::excerpt::{self, brief_value};
use crate::pointer;
use crate::validate::{CompiledSchema, Schema};

/// Maximum number of changes listed; further changes are made but only counted.
pub const MAX_LISTED_CHANGES: usize = 100;

/// Arguments after coercion.
#[derive(Debug, Clone, PartialEq)]
pub struct CoercedArguments {
    /// The arguments.
    pub value: Value,
    /// Changes in the order in which they were made; at most
    /// [`MAX_LISTED_CHANGES`].
    pub changes: Vec<CoercionChange>,
    /// Number of changes beyond those listed.
    pub unlisted_changes: usize,
    /// Whether the value satisfies the schema, so it need not be validated
    /// again.
    pub is_valid: bool,
}

/// One change to the arguments.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CoercionChange {
    /// JSON pointer to the value, after the change.
    pub path: String,
    /// The value before, truncated; the old name for a renamed property.
    pub from: Value,
    /// The value after, truncated; the new name for a renamed property, `None`
    /// for a dropped one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Value>,
    /// The rule that was applied.
    pub rule: &'static str,
}

impl std::fmt::Display for CoercionChange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&pointer::to_dotted(&self.path))?;
        f.write_str(": ")?;
        write_brief(&self.from, f)?;
        match &self.to {
            Some(to) => {
                f.write_str(" → ")?;
                write_brief(to, f)?;
            }
            None => f.write_str(" dropped")?,
        }
        f.write_str(" (")?;
        f.write_str(self.rule)?;
        f.write_str(")")
    }
}

/// Writes a value as JSON, with a fast path for plain strings, which are the
/// most common.
fn write_brief(value: &Value, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
    match value {
        Value::String(text) if text.bytes().all(|b| b >= 0x20 && b != b'"' && b != b'\\') => {
            f.write_str("\"")?;
            f.write_str(text)?;
            f.write_str("\"")
        }
        other => write!(f, "{other}"),
    }
}

/// Coerces the arguments to the schema.
///
/// `aliases` are other names of top-level properties, as (alias, name). They
/// are renamed first, if the name itself is absent and the alias is not itself
/// a property.
///
/// Returns the arguments unchanged if they are nested too deeply or the schema
/// is broken.
pub fn coerce_arguments(
    schema: &Schema,
    args: Value,
    aliases: &[(&str, &str)],
) -> CoercedArguments {
    let mut coerced =
        CoercedArguments { value: args, changes: Vec::new(), unlisted_changes: 0, is_valid: false };
    let Ok(compiled) = schema.compiled() else {
        return coerced;
    };
    let mut log = ChangeLog::default();
    wrappers::unwrap_arguments(compiled, &mut coerced.value, aliases, &mut log);
    keys::apply_aliases(compiled, &mut coerced.value, aliases, &mut log);
    let survey = ValueSurvey::measure(&coerced.value);
    if !survey.too_deep {
        coerced.is_valid = compiled.root().is_valid(&coerced.value);
        if coerced.is_valid && keys::has_unknown_keys(compiled, &coerced.value) {
            respell_keys(compiled, &mut coerced.value, survey, &mut log);
        }
        if !coerced.is_valid || survey.integral_float {
            let valid = walker::coerce_value(
                compiled,
                &mut coerced.value,
                coerced.is_valid,
                survey,
                &mut log,
            );
            // Parsed text may have made the value too deep to validate.
            coerced.is_valid = valid && !ValueSurvey::measure(&coerced.value).too_deep;
        }
    }
    coerced.changes = log.listed;
    coerced.unlisted_changes = log.unlisted;
    coerced
}

/// Removes wrappers around the arguments, such as `{"arguments": {…}}`; returns
/// the arguments and the changes. [`coerce_arguments`] does it too.
pub fn unwrap_arguments(
    schema: &Schema,
    mut args: Value,
    aliases: &[(&str, &str)],
) -> (Value, Vec<CoercionChange>) {
    let mut log = ChangeLog::default();
    if let Ok(compiled) = schema.compiled() {
        wrappers::unwrap_arguments(compiled, &mut args, aliases, &mut log);
    }
    (args, log.listed)
}

/// Renames unknown keys of valid arguments, unless that makes them invalid.
fn respell_keys(
    compiled: &CompiledSchema,
    args: &mut Value,
    survey: ValueSurvey,
    log: &mut ChangeLog,
) {
    let (mut trial, mut changes) = (args.clone(), ChangeLog::default());
    if !walker::match_root_keys(compiled, &mut trial, survey, &mut changes) {
        return;
    }
    let is_valid = compiled.root().is_valid(&trial)
        || walker::coerce_value(compiled, &mut trial, false, survey, &mut changes);
    if is_valid {
        *args = trial;
        log.append(changes);
    }
}

/// Changes made so far; a failed trial discards its own.
#[derive(Debug, Default)]
struct ChangeLog {
    listed: Vec<CoercionChange>,
    unlisted: usize,
}

impl ChangeLog {
    fn push(&mut self, path: &str, from: &Value, to: Option<&Value>, rule: &'static str) {
        if self.listed.len() == MAX_LISTED_CHANGES {
            self.unlisted += 1;
            return;
        }
        self.listed.push(CoercionChange {
            path: path.to_owned(),
            from: brief_value(from, excerpt::DEFAULT_EXCERPT_CHARS),
            to: to.map(|value| brief_value(value, excerpt::DEFAULT_EXCERPT_CHARS)),
            rule,
        });
    }

    fn push_rename(&mut self, object: &str, from: &str, to: &str, rule: &'static str) {
        let path = pointer::join(object, to);
        self.push(&path, &Value::from(from), Some(&Value::from(to)), rule);
    }

    fn len(&self) -> usize {
        self.listed.len() + self.unlisted
    }

    fn append(&mut self, other: Self) {
        if self.listed.is_empty() {
            *self = Self { unlisted: self.unlisted + other.unlisted, ..other };
            return;
        }
        self.unlisted += other.unlisted;
        for change in other.listed {
            if self.listed.len() == MAX_LISTED_CHANGES {
                self.unlisted += 1;
            } else {
                self.listed.push(change);
            }
        }
    }
}

#[cfg(test)]
#[path = "coerce_tests.rs"]
mod tests;
