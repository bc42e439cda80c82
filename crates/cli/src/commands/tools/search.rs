//! `hermes tools search`: the tool search of the model, on the command line.

use serde_json::{Value, json};

use crate::app::AppContext;
use crate::command_error::{CliExitCode, CommandResult};
use crate::table::TextTable;
use crate::terminal::OutputStyle;

pub(crate) fn run(app: &AppContext, query: &str, limit: usize) -> CommandResult {
    let ready = app.services()?;
    ready.offer_cached_tools_and_note(app);
    let scope = ready.engine().full_scope();
    let found = scope.index().search(query, limit);
    if app.json {
        let matches: Vec<Value> = found
            .iter()
            .map(|e| json!({ "name": e.name(), "toolset": e.toolset(), "description": e.spec().description }))
            .collect();
        let document = json!({ "schema_version": 1, "query": query, "total_available": scope.index().len(), "matches": matches });
        app.terminal.print_line(&document.to_string())?;
        return Ok(CliExitCode::Ok);
    }
    if found.is_empty() {
        app.terminal
            .note(&format!("No tool matches '{query}'. Run `hermes tools list` for all tools."));
        return Ok(CliExitCode::Ok);
    }
    let mut table = TextTable::default();
    for entry in found {
        table.push_row([
            (format!("{} {}", entry.spec().emoji, entry.name()), Some(OutputStyle::Bold)),
            (entry.toolset().to_owned(), Some(OutputStyle::Dim)),
            (entry.spec().description.to_string(), None),
        ]);
    }
    app.terminal.print_line(&table.render(&app.terminal))?;
    Ok(CliExitCode::Ok)
}
