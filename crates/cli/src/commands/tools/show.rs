//! `hermes tools show` and `hermes tools why`: details of one tool.

use hermes::core::{Availability, ResultLimit};
use hermes::engine::ToolEntry;
use serde_json::{Value, json};

use super::find;
use crate::app::{AppContext, AppServices};
use crate::command_error::{CliExitCode, CommandResult};
use crate::commands::runtime;
use crate::terminal::OutputStyle;
use crate::tokens;
use hermes::core::text::shell_quote;

pub(crate) fn run(app: &AppContext, name: &str) -> CommandResult {
    let ready = app.services()?;
    ready.offer_cached_tools();
    let entry = find(ready.engine(), name)?;
    let state = check_availability(&ready, &entry)?;
    let spec = entry.spec();
    if app.json {
        let aliases: Vec<&str> = spec.aliases.iter().map(|a| &*a.name).collect();
        let examples: Vec<Value> = spec
            .examples
            .iter()
            .map(|e| json!({ "title": e.title, "arguments": serde_json::from_str::<Value>(&e.arguments).unwrap_or_default() }))
            .collect();
        let document = json!({
            "schema_version": 1,
            "name": spec.name,
            "toolset": spec.toolset,
            "description": spec.description,
            "emoji": spec.emoji,
            "aliases": aliases,
            "parameters": entry.schema().raw(),
            "annotations": spec.annotations,
            "requires_env": spec.requires_env,
            "result_limit": match spec.result_limit {
                ResultLimit::Default => json!("default"),
                ResultLimit::Chars(n) => json!(n),
                ResultLimit::Unbounded => json!("unbounded"),
            },
            "examples": examples,
            "available": state.is_ready(),
            "reason": state.reason(),
            "tokens": tokens::count(&entry.definition()),
            "owner": entry.owner().id(),
        });
        app.terminal.print_line(&document.to_string())?;
        return Ok(CliExitCode::Ok);
    }
    let mut lines = vec![format!(
        "{} {}  {}",
        spec.emoji,
        app.terminal.paint(OutputStyle::Bold, &spec.name),
        app.terminal.paint(OutputStyle::Dim, &format!("toolset {}", spec.toolset))
    )];
    lines.push(spec.description.to_string());
    if !spec.aliases.is_empty() {
        let names: Vec<&str> = spec.aliases.iter().map(|a| &*a.name).collect();
        lines.push(format!("also: {}", names.join(", ")));
    }
    if let Availability::Missing { reason, fix } = &state {
        lines.push(format!("unavailable: {reason}. {fix}"));
    }
    lines.push(format!("costs {} tokens", tokens::count(&entry.definition())));
    lines.push(format!("\n{}", app.terminal.paint(OutputStyle::Bold, "Parameters")));
    lines.extend(parameter_lines(&entry));
    if !spec.examples.is_empty() {
        lines.push(format!("\n{}", app.terminal.paint(OutputStyle::Bold, "Examples")));
        for example in &spec.examples {
            lines.push(format!("  {}", example.title));
            let arguments = shell_quote(&example.arguments);
            lines.push(format!("    hermes call {} {arguments}", spec.name));
        }
    }
    app.terminal.print_line(&lines.join("\n"))?;
    Ok(CliExitCode::Ok)
}

/// Prints whether a tool is available, and if not, why.
pub(crate) fn explain_availability(app: &AppContext, name: &str) -> CommandResult {
    let ready = app.services()?;
    ready.offer_cached_tools();
    let entry = find(ready.engine(), name)?;
    let state = check_availability(&ready, &entry)?;
    let fix = match &state {
        Availability::Missing { fix, .. } => Some(fix.as_str()),
        Availability::Ready => None,
    };
    let snapshot = ready.engine().snapshot();
    let toolsets = ready.engine().toolsets();
    let holders: Vec<String> = toolsets
        .names(&*snapshot)
        .into_iter()
        .filter(|set| {
            toolsets
                .resolve(set, &*snapshot)
                .is_ok_and(|tools| tools.iter().any(|t| t == entry.name()))
        })
        .collect();
    if app.json {
        let document = json!({
            "schema_version": 1,
            "name": entry.name(),
            "available": state.is_ready(),
            "reason": state.reason(),
            "fix": fix,
            "toolset": entry.toolset(),
            "toolsets": holders,
        });
        app.terminal.print_line(&document.to_string())?;
    } else {
        let verdict = match &state {
            Availability::Ready => format!("{} is available.", entry.name()),
            Availability::Missing { reason, fix } => {
                format!("{} is unavailable: {reason}.\n{fix}", entry.name())
            }
        };
        app.terminal.print_line(&format!("{verdict}\nToolsets: {}", holders.join(", ")))?;
    }
    Ok(if state.is_ready() {
        CliExitCode::Ok
    } else {
        CliExitCode::Kind(hermes::core::ErrorKind::Unavailable)
    })
}

fn check_availability(
    ready: &AppServices,
    entry: &std::sync::Arc<ToolEntry>,
) -> Result<Availability, crate::command_error::CommandError> {
    let mut states =
        runtime::block_on_current_thread(ready.engine().availability(std::slice::from_ref(entry)))?;
    Ok(states.pop().unwrap_or(Availability::Ready))
}

/// Returns one line per parameter: name, type, whether it is required,
/// description.
pub(super) fn parameter_lines(entry: &ToolEntry) -> Vec<String> {
    let schema = entry.schema().raw();
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return vec!["  none".into()];
    };
    if properties.is_empty() {
        return vec!["  none".into()];
    }
    properties
        .iter()
        .map(|(name, property)| {
            let must = if required.contains(&name.as_str()) { ", required" } else { "" };
            let description =
                property.get("description").and_then(Value::as_str).unwrap_or_default();
            format!("  {name} ({}{must})  {}", type_label(property), description.replace('\n', " "))
        })
        .collect()
}

/// Returns a short name for a property's type.
pub(super) fn type_label(property: &Value) -> String {
    if let Some(values) = property.get("enum").and_then(Value::as_array) {
        let names: Vec<String> = values
            .iter()
            .map(|v| v.as_str().map_or_else(|| v.to_string(), str::to_owned))
            .collect();
        return names.join(" | ");
    }
    let list = |items: Option<&Value>| {
        format!("list of {}", items.map_or_else(|| "any".into(), self::type_label))
    };
    match property.get("type") {
        Some(Value::String(kind)) if kind == "array" => list(property.get("items")),
        Some(Value::String(kind)) => kind.clone(),
        Some(Value::Array(kinds)) => {
            kinds.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" | ")
        }
        _ if property.get("items").is_some() => list(property.get("items")),
        _ if property.get("properties").is_some() => "object".into(),
        _ => "any".into(),
    }
}
