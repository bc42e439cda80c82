//! Output generated from the registry: the tool reference and the token table.
//! CI checks that both files are current.

use std::fmt::Write as _;

use hermes::core::ToolAnnotations;
use hermes::engine::BRIDGE_TOOLSET;

use super::show::type_label;
use crate::app::AppContext;
use crate::command_error::{CliExitCode, CommandResult};
use crate::tokens;
use hermes::core::text::shell_quote;

/// Prints docs/tools.md.
pub(crate) fn run(app: &AppContext) -> CommandResult {
    let ready = app.services()?;
    let mut entries = ready.engine().snapshot().entries();
    entries.sort_by(|a, b| a.toolset().cmp(b.toolset()).then(a.name().cmp(b.name())));
    let mut text = String::from(
        "# Tools\n\nEvery built-in tool, as `hermes tools list` knows it. This page is made by \
         `make docs`; do not edit it.\n",
    );
    let mut toolset = "";
    for entry in &entries {
        if entry.toolset() != toolset {
            toolset = entry.toolset();
            let note =
                if toolset == BRIDGE_TOOLSET { " (shown when tools are deferred)" } else { "" };
            let _ = write!(text, "\n## {toolset}{note}\n");
        }
        let spec = entry.spec();
        let _ = write!(text, "\n### {} `{}`\n\n{}\n", spec.emoji, spec.name, spec.description);
        if !spec.aliases.is_empty() {
            let names: Vec<String> = spec.aliases.iter().map(|a| format!("`{}`", a.name)).collect();
            let _ = write!(text, "\nAlso called {}.\n", names.join(", "));
        }
        let traits = annotation_text(spec.annotations);
        let _ = write!(text, "\n{} tokens{traits}\n", tokens::count(&entry.definition()));
        append_parameters(&mut text, entry.schema().raw());
        for example in &spec.examples {
            let _ = write!(
                text,
                "\n{}:\n\n```sh\nhermes call {} {}\n```\n",
                example.title,
                spec.name,
                shell_quote(&example.arguments)
            );
        }
    }
    app.terminal.print_line(text.trim_end())?;
    Ok(CliExitCode::Ok)
}

fn annotation_text(annotations: ToolAnnotations) -> String {
    let names = [
        (annotations.read_only, "read-only"),
        (annotations.destructive, "destructive"),
        (annotations.idempotent && !annotations.read_only, "idempotent"),
        (annotations.open_world, "reaches beyond this machine"),
    ];
    names.iter().filter(|(is, _)| *is).map(|(_, name)| format!(", {name}")).collect()
}

fn append_parameters(text: &mut String, schema: &serde_json::Value) {
    let Some(properties) =
        schema.get("properties").and_then(|p| p.as_object()).filter(|p| !p.is_empty())
    else {
        return;
    };
    let required = |name: &str| {
        schema
            .get("required")
            .and_then(|r| r.as_array())
            .is_some_and(|r| r.iter().any(|n| n == name))
    };
    text.push_str("\n| parameter | type | |\n|---|---|---|\n");
    for (name, property) in properties {
        let must = if required(name) { " **(required)**" } else { "" };
        let description = property.get("description").and_then(|d| d.as_str()).unwrap_or_default();
        let description = description.replace('\n', " ").replace('|', "\\|");
        let _ = writeln!(
            text,
            "| `{name}` | {} | {description}{must} |",
            type_label(property).replace('|', "\\|")
        );
    }
}

/// Prints the token table.
pub(crate) fn print_token_table(app: &AppContext) -> CommandResult {
    let ready = app.services()?;
    for entry in ready.engine().snapshot().entries() {
        app.terminal.print_line(&tokens::table_row(entry.name(), &entry.definition()))?;
    }
    Ok(CliExitCode::Ok)
}
