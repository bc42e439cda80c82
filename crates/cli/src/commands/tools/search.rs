//! `hermes tools search`: the search that models use, for people.

use serde_json::{Value, json};

use crate::app::App;
use crate::failure::{Exit, Outcome};
use crate::table::Table;
use crate::terminal::Style;

pub(crate) fn run(app: &App, query: &str, limit: usize) -> Outcome {
    let ready = app.ready()?;
    ready.look_at_servers(app);
    let scope = ready.engine.full_scope();
    let found = scope.index().search(query, limit);
    if app.json {
        let matches: Vec<Value> = found
            .iter()
            .map(|e| json!({ "name": e.name(), "toolset": e.toolset(), "description": e.spec().description }))
            .collect();
        let document = json!({ "schema_version": 1, "query": query, "total_available": scope.index().len(), "matches": matches });
        app.terminal.line(&document.to_string())?;
        return Ok(Exit::Ok);
    }
    if found.is_empty() {
        app.terminal
            .note(&format!("No tool matches '{query}'. `hermes tools list` shows them all."));
        return Ok(Exit::Ok);
    }
    let mut table = Table::default();
    for entry in found {
        table.row([
            (format!("{} {}", entry.spec().emoji, entry.name()), Some(Style::Bold)),
            (entry.toolset().to_owned(), Some(Style::Dim)),
            (entry.spec().description.to_string(), None),
        ]);
    }
    app.terminal.line(&table.render(&app.terminal))?;
    Ok(Exit::Ok)
}
