//! `hermes tools coerce`: what the pipeline would make of arguments, for any
//! JSON Schema.

use std::path::Path;

use hermes::schema::{Schema, coerce, parse_arguments};
use serde_json::{Value, json};

use crate::app::App;
use crate::failure::{Exit, Failure, Outcome};
use crate::values::standard_input;

pub(crate) fn run(app: &App, schema: &Path, arguments: &str) -> Outcome {
    let text = std::fs::read_to_string(schema).map_err(|e| {
        let message = format!("{} cannot be read: {e}", schema.display());
        let missing = e.kind() == std::io::ErrorKind::NotFound;
        let failure = if missing { Failure::not_found(message) } else { Failure::usage(message) };
        failure.hint("Name a file with a JSON Schema.")
    })?;
    let raw: Value = serde_json::from_str(&text).map_err(|e| {
        Failure::usage(format!("{} is not JSON: {e}", schema.display()))
            .hint("Name a file with a JSON Schema.")
    })?;
    let compiled = Schema::new(raw);
    compiled.compile().map_err(|e| Failure::usage(format!("{}: {e}", schema.display())))?;

    let given = if arguments == "-" { standard_input()? } else { arguments.to_owned() };
    let parsed = parse_arguments(&given).map_err(|e| Failure::usage(e.to_string()))?;
    let coerced = coerce_arguments(&compiled, parsed.value, &[]);
    let violations = compiled.check(&coerced.value).err().unwrap_or_default();
    let exit = if violations.is_empty() { Exit::Ok } else { Exit::Failed };
    if app.json {
        let errors: Vec<Value> = violations
            .iter()
            .map(|v| json!({ "path": v.path, "expected": v.expected, "received": v.received }))
            .collect();
        let repairs: Vec<String> = parsed.repairs.iter().map(ToString::to_string).collect();
        let document = json!({
            "arguments": coerced.value,
            "coerced": coerced.changes,
            "errors": errors,
            "repairs": repairs,
            "guessed": parsed.is_guess,
        });
        app.terminal.line(&document.to_string())?;
        return Ok(exit);
    }
    app.terminal.line(&coerced.value.to_string())?;
    for repair in &parsed.repairs {
        app.terminal.note(&format!("repaired: {repair}"));
    }
    for change in &coerced.changes {
        app.terminal.note(&format!("coerced: {change}"));
    }
    for violation in &violations {
        app.terminal.error(&violation.to_string(), None);
    }
    Ok(exit)
}
