//! `hermes tools list`: every tool with its state, and what it costs.

use std::sync::Arc;

use hermes::core::Availability;
use hermes::engine::ToolEntry;
use hermes::engine::toolsets::ToolSelection;
use serde_json::{Value, json};

use crate::app::{App, Ready};
use crate::args::Choice;
use crate::commands::runtime;
use crate::failure::{Exit, Failure, Outcome};
use crate::table::Table;
use crate::terminal::Style;
use crate::tokens;

pub(crate) fn run(app: &App, choice: &Choice, cost: bool, only_available: bool) -> Outcome {
    let ready = app.ready()?;
    ready.look_at_servers(app);
    let entries = chosen(&ready, &choice.selection())?;
    let states = runtime::brief(ready.engine.availability(&entries))?;
    let mut rows: Vec<(Arc<ToolEntry>, Availability)> = entries.into_iter().zip(states).collect();
    if only_available {
        rows.retain(|(_, state)| state.is_ready());
    }
    if app.json {
        app.terminal.line(&document(&ready, choice, &rows, cost)?.to_string())?;
    } else {
        app.terminal.line(&table(&rows, cost).render(&app.terminal))?;
        if app.terminal.stdout_is_person || cost {
            footer(app, &rows, cost);
        }
    }
    Ok(Exit::Ok)
}

/// The tools that were asked for, by name.
pub(super) fn chosen(ready: &Ready, selection: &ToolSelection) -> Result<Vec<Arc<ToolEntry>>, Failure> {
    let snapshot = ready.engine.snapshot();
    if selection.enabled.is_none() && selection.disabled.is_empty() {
        return Ok(snapshot.entries());
    }
    let names = ready.engine.toolsets().select(selection, &*snapshot);
    let names = names.map_err(|e| ready.misnamed(e))?;
    Ok(names.iter().filter_map(|name| snapshot.get(name).cloned()).collect())
}

fn document(
    ready: &Ready,
    choice: &Choice,
    rows: &[(Arc<ToolEntry>, Availability)],
    cost: bool,
) -> Result<Value, Failure> {
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
        document["cost"] = sent(ready, choice)?;
    }
    Ok(document)
}

/// What a session with this choice would send to the model.
fn sent(ready: &Ready, choice: &Choice) -> Result<Value, Failure> {
    let mut selection = ready.selection(choice);
    if selection.enabled.is_none() {
        selection.enabled = Some(ready.config.settings.toolsets.clone());
    }
    let definitions = runtime::brief(ready.engine.definitions(&selection, ready.deferral(None)))?;
    let definitions = definitions.map_err(|e| ready.misnamed(e))?;
    let snapshot = ready.engine.snapshot();
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

fn table(rows: &[(Arc<ToolEntry>, Availability)], cost: bool) -> Table {
    let mut table = Table::default();
    for (entry, state) in rows {
        let spec = entry.spec();
        let (mark, style) =
            if state.is_ready() { ("✓", Style::Green) } else { ("✗", Style::Red) };
        let last = match state.reason() {
            Some(reason) => format!("[{reason}] {}", spec.description),
            None => spec.description.to_string(),
        };
        let name = (format!("{} {}", spec.emoji, spec.name), Some(Style::Bold));
        let toolset = (spec.toolset.to_string(), Some(Style::Dim));
        let mark = (mark.to_owned(), Some(style));
        if cost {
            let count = tokens::count(&entry.definition());
            table.row([mark, name, toolset, (format!("{count:>5}"), None), (last, None)]);
        } else {
            table.row([mark, name, toolset, (last, None)]);
        }
    }
    table
}

fn footer(app: &App, rows: &[(Arc<ToolEntry>, Availability)], cost: bool) {
    let missing = rows.iter().filter(|(_, state)| !state.is_ready()).count();
    let mut text = format!("{} tools", rows.len());
    if missing > 0 {
        text.push_str(&format!(", {missing} unavailable (hermes tools why NAME)"));
    }
    if cost {
        let total: usize = rows.iter().map(|(e, _)| tokens::count(&e.definition())).sum();
        text.push_str(&format!(", {total} tokens for all their definitions"));
    }
    app.terminal.note(&text);
}
