//! `hermes tools`: inspects the tools.

mod check;
mod coerce;
mod export;
mod list;
mod new;
mod reference;
mod search;
mod show;

use std::sync::Arc;

use hermes::engine::{Engine, ToolEntry, tool_names};

use crate::app::AppContext;
use crate::args::ToolsCommand;
use crate::command_error::{CommandError, CommandResult};

pub(crate) fn run(app: &AppContext, command: ToolsCommand) -> CommandResult {
    match command {
        ToolsCommand::List { choice, cost, available } => list::run(app, &choice, cost, available),
        ToolsCommand::Show { name } => show::run(app, &name),
        ToolsCommand::Why { name } => show::explain_availability(app, &name),
        ToolsCommand::Search { query, limit } => search::run(app, &query.join(" "), limit),
        ToolsCommand::Export { format, choice, names } => export::run(app, format, &choice, &names),
        ToolsCommand::Coerce { schema, arguments } => coerce::run(app, &schema, &arguments),
        ToolsCommand::Check { names } => check::run(app, &names),
        ToolsCommand::New { name, out, toolset } => new::run(app, &name, &out, &toolset),
        ToolsCommand::Reference => reference::run(app),
        ToolsCommand::Tokens => reference::print_token_table(app),
    }
}

/// Returns the tool with that name or alias.
fn find(engine: &Engine, name: &str) -> Result<Arc<ToolEntry>, CommandError> {
    let snapshot = engine.snapshot();
    snapshot.find(name).cloned().ok_or_else(|| {
        if let Some(why) = snapshot.absence_reason(name) {
            return why.clone().into();
        }
        let near = tool_names::suggest(name, snapshot.callable_names());
        CommandError::not_found(format!("No tool named '{name}'"))
            .hint("Run `hermes tools list` for the available tools.")
            .did_you_mean(&near)
    })
}
