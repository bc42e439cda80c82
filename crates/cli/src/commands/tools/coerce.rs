//! `hermes tools coerce`: shows how the pipeline coerces arguments, for any
//! JSON Schema.

use std::path::Path;

use hermes::schema::{Schema, coerce_arguments, parse_arguments};
use serde_json::{Value, json};

use crate::app::AppContext;
use crate::call_arguments::read_stdin;
use crate::command_error::{CliExitCode, CommandError, CommandResult};

pub(crate) fn run(app: &AppContext, schema: &Path, arguments: &str) -> CommandResult {
    let text = std::fs::read_to_string(schema).map_err(|e| {
        let message = format!("Cannot read {}: {e}", schema.display());
        let missing = e.kind() == std::io::ErrorKind::NotFound;
        let failure =
            if missing { CommandError::not_found(message) } else { CommandError::usage(message) };
        failure.hint("Pass a file with a JSON Schema.")
    })?;
    let raw: Value = serde_json::from_str(&text).map_err(|e| {
        CommandError::usage(format!("{} is not JSON: {e}", schema.display()))
            .hint("Pass a file with a JSON Schema.")
    })?;
    let compiled = Schema::new(raw);
    compiled.compile().map_err(|e| CommandError::usage(format!("{}: {e}", schema.display())))?;

    let given = if arguments == "-" { read_stdin()? } else { arguments.to_owned() };
    let parsed = parse_arguments(&given).map_err(|e| CommandError::usage(e.to_string()))?;
    let coerced = coerce_arguments(&compiled, parsed.value, &[]);
    let violations = compiled.check(&coerced.value).err().unwrap_or_default();
    let exit = if violations.is_empty() { CliExitCode::Ok } else { CliExitCode::Failed };
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
        app.terminal.print_line(&document.to_string())?;
        return Ok(exit);
    }
    app.terminal.print_line(&coerced.value.to_string())?;
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
