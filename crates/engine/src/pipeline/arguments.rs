//! Stages 3 and 4: coerce arguments to the schema where the intent is
//! unambiguous, and report exactly what is wrong otherwise.

use std::fmt::Write as _;

use hermes_core::ToolError;
use hermes_schema::{SchemaViolation, coerce_arguments};
use serde_json::{Value, json};

use crate::entry::ToolEntry;

/// Returns the coerced, valid arguments.
pub(crate) fn coerce_and_validate(
    entry: &ToolEntry,
    arguments: Value,
    notes: &mut Vec<String>,
) -> Result<Value, ToolError> {
    let schema = entry.schema();
    let aliases = entry.parameter_aliases();
    let coerced = coerce_arguments(schema, arguments, &aliases);
    notes.extend(coerced.changes.iter().map(|change| {
        let mut note = String::with_capacity(64);
        let _ = write!(note, "{change}");
        note
    }));
    if coerced.is_valid {
        return Ok(coerced.value);
    }
    match schema.check(&coerced.value) {
        Ok(()) => Ok(coerced.value),
        Err(violations) => Err(invalid_arguments_error(entry, &coerced.value, &violations)),
    }
}

fn invalid_arguments_error(
    entry: &ToolEntry,
    arguments: &Value,
    violations: &[SchemaViolation],
) -> ToolError {
    let lines: Vec<String> = violations.iter().map(ToString::to_string).collect();
    let errors: Vec<Value> = violations
        .iter()
        .map(|v| json!({ "path": v.path, "expected": v.expected, "received": v.received }))
        .collect();
    ToolError::invalid(format!("Invalid arguments for {}: {}", entry.name(), lines.join("; ")))
        .with_hint("Call again with arguments like the example.")
        .with("errors", errors)
        .with("example", entry.schema().corrected_example(arguments))
}

/// Refuses guessed arguments unless the tool is read-only: the completed text
/// may lack its end.
pub(crate) fn refuse_truncated(entry: &ToolEntry) -> Result<(), ToolError> {
    if entry.spec().annotations.read_only {
        return Ok(());
    }
    Err(ToolError::invalid(format!(
        "The arguments of {} are truncated or not valid JSON; it changes things, so it is not \
         run on a guess",
        entry.name()
    ))
    .with_hint("Send the complete call again; split large content over several calls."))
}
