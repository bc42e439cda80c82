//! `hermes tools export`: prints tool definitions in a provider's format.

use hermes::engine::{BRIDGE_TOOLSET, ToolEntry};
use hermes::schema::{SchemaDialect, translate};
use serde_json::{Value, json};

use super::{find, list};
use crate::app::AppContext;
use crate::args::{ExportFormat, ToolsetFilter};
use crate::command_error::{CliExitCode, CommandResult};

pub(crate) fn run(
    app: &AppContext,
    format: ExportFormat,
    choice: &ToolsetFilter,
    names: &[String],
) -> CommandResult {
    let ready = app.services()?;
    ready.offer_cached_tools_and_note(app);
    let entries = if names.is_empty() {
        let mut all = list::chosen_tools(&ready, &ready.selection(choice))?;
        all.retain(|e| e.toolset() != BRIDGE_TOOLSET);
        all
    } else {
        names.iter().map(|name| find(ready.engine(), name)).collect::<Result<_, _>>()?
    };
    let mut tools = Vec::with_capacity(entries.len());
    let mut losses = Vec::new();
    for entry in &entries {
        let shown = entry.function_json();
        let parameters = shown.get("parameters").unwrap_or_else(|| entry.schema().raw());
        let translated = translate(parameters, dialect(format));
        for loss in &translated.losses {
            losses.push(json!({ "tool": entry.name(), "path": loss.path, "keyword": loss.keyword, "action": loss.action }));
            if !app.json {
                app.terminal.note(&format!("{}: {loss}", entry.name()));
            }
        }
        tools.push(definition(format, entry, translated.schema));
    }
    let tools = match format {
        ExportFormat::Gemini => json!([{ "functionDeclarations": tools }]),
        _ => Value::Array(tools),
    };
    let output = if app.json {
        json!({ "schema_version": 1, "format": format_name(format), "tools": tools, "losses": losses })
    } else {
        tools
    };
    app.terminal.print_line(&output.to_string())?;
    Ok(CliExitCode::Ok)
}

fn dialect(format: ExportFormat) -> SchemaDialect {
    match format {
        ExportFormat::Openai | ExportFormat::Responses => SchemaDialect::OpenAi,
        ExportFormat::OpenaiStrict => SchemaDialect::OpenAiStrict,
        ExportFormat::Anthropic => SchemaDialect::Anthropic,
        ExportFormat::Gemini => SchemaDialect::Gemini,
        ExportFormat::Draft07 => SchemaDialect::Draft07,
    }
}

fn format_name(format: ExportFormat) -> String {
    use clap::ValueEnum as _;
    format.to_possible_value().map_or_else(String::new, |v| v.get_name().to_owned())
}

fn definition(format: ExportFormat, entry: &ToolEntry, schema: Value) -> Value {
    let (name, description) = (entry.name(), &entry.spec().description);
    match format {
        ExportFormat::Openai => json!({
            "type": "function",
            "function": { "name": name, "description": description, "parameters": schema },
        }),
        ExportFormat::OpenaiStrict => json!({
            "type": "function",
            "function": { "name": name, "description": description, "strict": true, "parameters": schema },
        }),
        ExportFormat::Responses => json!({
            "type": "function", "name": name, "description": description, "parameters": schema,
        }),
        ExportFormat::Anthropic => json!({
            "name": name, "description": description, "input_schema": schema,
        }),
        ExportFormat::Gemini | ExportFormat::Draft07 => json!({
            "name": name, "description": description, "parameters": schema,
        }),
    }
}
