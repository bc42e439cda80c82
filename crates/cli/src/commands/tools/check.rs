//! `hermes tools check`: the rules that every tool must follow.

use hermes::engine::{ToolEntry, is_valid_tool_name};
use hermes::schema::{SchemaDialect, translate};
use serde_json::{Value, json};

use super::find;
use crate::app::AppContext;
use crate::command_error::{CliExitCode, CommandResult};
use crate::terminal::OutputStyle;
use crate::tokens;

/// Maximum size of a definition, which every prompt with the tool carries.
const MAX_DEFINITION_TOKENS: usize = 400;

pub(crate) fn run(app: &AppContext, names: &[String]) -> CommandResult {
    let ready = app.services()?;
    let entries = if names.is_empty() {
        ready.engine().snapshot().entries()
    } else {
        names.iter().map(|name| find(ready.engine(), name)).collect::<Result<_, _>>()?
    };
    let mut rows: Vec<Value> = Vec::new();
    for entry in &entries {
        for problem in rule_violations(entry) {
            if !app.json {
                app.terminal.print_line(&format!(
                    "{} {}: {problem}",
                    app.terminal.paint(OutputStyle::Red, "✗"),
                    entry.name()
                ))?;
            }
            rows.push(json!({ "tool": entry.name(), "problem": problem }));
        }
    }
    let exit = if rows.is_empty() { CliExitCode::Ok } else { CliExitCode::Failed };
    if app.json {
        let document = json!({ "schema_version": 1, "checked": entries.len(), "problems": rows });
        app.terminal.print_line(&document.to_string())?;
    } else {
        app.terminal.note(&format!("{} tools checked, {} problems", entries.len(), rows.len()));
    }
    Ok(exit)
}

fn rule_violations(entry: &ToolEntry) -> Vec<String> {
    let spec = entry.spec();
    let mut found = Vec::new();
    if !is_valid_tool_name(&spec.name) {
        found.push("models reject its name".into());
    }
    if spec.description.trim().is_empty() {
        found.push("it has no description".into());
    }
    if spec.examples.is_empty() {
        found.push("it has no example".into());
    }
    let schema = entry.schema();
    if let Err(error) = schema.compile() {
        found.push(format!("its schema is invalid: {error}"));
        return found;
    }
    for example in &spec.examples {
        match serde_json::from_str::<Value>(&example.arguments) {
            Ok(arguments) => {
                for violation in schema.check(&arguments).err().unwrap_or_default() {
                    found.push(format!("example '{}': {violation}", example.title));
                }
            }
            Err(error) => {
                found.push(format!("example '{}' is not valid JSON: {error}", example.title))
            }
        }
    }
    for (name, property) in
        schema.raw().get("properties").and_then(Value::as_object).into_iter().flatten()
    {
        if property.get("description").and_then(Value::as_str).is_none_or(str::is_empty) {
            found.push(format!("parameter '{name}' has no description"));
        }
    }
    for (from, to) in &spec.parameter_aliases {
        if schema.raw().pointer(&format!("/properties/{to}")).is_none() {
            found.push(format!("parameter alias '{from}' points to '{to}', which does not exist"));
        }
    }
    for dialect in [SchemaDialect::OpenAi, SchemaDialect::Anthropic, SchemaDialect::Gemini] {
        let lost = translate(schema.raw(), dialect).losses.len();
        if lost > 8 {
            found.push(format!(
                "{lost} constraints of its schema are lost in the {dialect} \
                dialect"
            ));
        }
    }
    let cost = tokens::count(&entry.definition());
    if cost > MAX_DEFINITION_TOKENS {
        found
            .push(format!("its definition costs {cost} tokens, more than {MAX_DEFINITION_TOKENS}"));
    }
    found
}
