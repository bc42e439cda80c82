//! `hermes tools list`: lists every tool with its availability and token cost.

use std::sync::Arc;

use hermes::core::Availability;
use hermes::engine::ToolEntry;
use hermes::engine::toolsets::ToolSelection;
use serde_json::{Value, json};

use crate::app::{AppContext, AppServices};
use crate::args::ToolsetFilter;
use crate::command_error::{CliExitCode, CommandError, CommandResult};
use crate::commands::runtime;
use crate::table::TextTable;
use crate::terminal::OutputStyle;
use crate::tokens;

pub(crate) fn run(
    app: &AppContext,
    choice: &ToolsetFilter,
    cost: bool,
    only_available: bool,
) -> CommandResult {
    let ready = app.services()?;
    ready.offer_cached_tools_and_note(app);
    let entries = chosen_tools(&ready, &choice.selection())?;
    let states = runtime::block_on_current_thread(ready.engine().availability(&entries))?;
    let mut rows: Vec<(Arc<ToolEntry>, Availability)> = entries.into_iter().zip(states).collect();
    if only_available {
        rows.retain(|(_, state)| state.is_ready());
    }
    if app.json {
        app.terminal.print_line(&document(&ready, choice, &rows, cost)?.to_string())?;
    } else {
        app.terminal.print_line(&table(&rows, cost).render(&app.terminal))?;
        if app.terminal.stdout_is_person || cost {
            footer(app, &rows, cost);
        }
    }
    Ok(CliExitCode::Ok)
}

/// Returns the selected tools, or all tools without a selection.
pub(super) fn chosen_tools(
    ready: &AppServices,
    selection: &ToolSelection,
) -> Result<Vec<Arc<ToolEntry>>, CommandError> {
    let snapshot = ready.engine().snapshot();
    if selection.enabled.is_none() && selection.disabled.is_empty() {
        return Ok(snapshot.entries());
    }
    let names = ready.engine().toolsets().select(selection, &*snapshot);
    let names = names.map_err(|e| ready.unknown_toolset_error(e))?;
    Ok(names.iter().filter_map(|name| snapshot.get(name).cloned()).collect())
}

fn document(
    ready: &AppServices,
    choice: &ToolsetFilter,
    rows: &[(Arc<ToolEntry>, Availability)],
    cost: bool,
) -> Result<Value, CommandError> {
    let tools: Vec<Value> = rows
        .iter()
        .map(|(entry, state)| {
            let spec = entry.spec();
            let aliases: Vec<&str> = spec.aliases.iter().map(|a| &*a.name).collect();
            json!({
                "name": spec.name,
                "toolset": spec.toolset,
                "description": spec.description,
                "emoji": spec.emoji,
                "aliases": aliases,
                "available": state.is_ready(),
                "reason": state.reason(),
                "tokens": tokens::count(&entry.definition()),
            })
        })
        .collect();
    let mut document = json!({ "schema_version": 1, "tools": tools });
    if cost {
        document["cost"] = session_definitions(ready, choice)?;
    }
    Ok(document)
}

/// Returns the cost of the definitions that a session with this selection sends
/// to the model.
fn session_definitions(ready: &AppServices, choice: &ToolsetFilter) -> Result<Value, CommandError> {
    let selection = ready.agent_selection(choice);
    let definitions = runtime::block_on_current_thread(
        ready.engine().definitions(&selection, ready.deferral(None)),
    )?;
    let definitions = definitions.map_err(|e| ready.unknown_toolset_error(e))?;
    let snapshot = ready.engine().snapshot();
    let count: usize = definitions
        .visible
        .iter()
        .filter_map(|name| snapshot.get(name))
        .map(|entry| tokens::count(&entry.definition()))
        .sum();
    Ok(json!({
        "toolset": selection.enabled.unwrap_or_default().join(","),
        "tokens": count,
        "tools": definitions.visible.len(),
        "deferred": definitions.deferred.len(),
        "bytes": definitions.json.len(),
    }))
}

fn table(rows: &[(Arc<ToolEntry>, Availability)], cost: bool) -> TextTable {
    let mut table = TextTable::default();
    for (entry, state) in rows {
        let spec = entry.spec();
        let (mark, style) =
            if state.is_ready() { ("✓", OutputStyle::Green) } else { ("✗", OutputStyle::Red) };
        let last = match state.reason() {
            Some(reason) => format!("[{reason}] {}", spec.description),
            None => spec.description.to_string(),
        };
        let name = (format!("{} {}", spec.emoji, spec.name), Some(OutputStyle::Bold));
        let toolset = (spec.toolset.to_string(), Some(OutputStyle::Dim));
        let mark = (mark.to_owned(), Some(style));
        if cost {
            let count = tokens::count(&entry.definition());
            table.push_row([mark, name, toolset, (format!("{count:>5}"), None), (last, None)]);
        } else {
            table.push_row([mark, name, toolset, (last, None)]);
        }
    }
    table
}

fn footer(app: &AppContext, rows: &[(Arc<ToolEntry>, Availability)], cost: bool) {
    let missing = rows.iter().filter(|(_, state)| !state.is_ready()).count();
    let mut text = format!("{} tools", rows.len());
    if missing > 0 {
        text.push_str(&format!(", {missing} unavailable (hermes tools why NAME)"));
    }
    if cost {
        let total: usize = rows.iter().map(|(e, _)| tokens::count(&e.definition())).sum();
        text.push_str(&format!(", {total} tokens for all definitions"));
    }
    app.terminal.note(&text);
}
