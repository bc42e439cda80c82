//! `hermes tools`: looking at the tools.

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

use crate::app::App;
use crate::args::Tools;
use crate::failure::{Failure, Outcome};

pub(crate) fn run(app: &App, command: Tools) -> Outcome {
    match command {
        Tools::List { choice, cost, available } => list::run(app, &choice, cost, available),
        Tools::Show { name } => show::run(app, &name),
        Tools::Why { name } => show::why(app, &name),
        Tools::Search { query, limit } => search::run(app, &query.join(" "), limit),
        Tools::Export { format, choice, names } => export::run(app, format, &choice, &tool_names),
        Tools::Coerce { schema, arguments } => coerce::run(app, &schema, &arguments),
        Tools::Check { names } => check::run(app, &tool_names),
        Tools::New { name, out, toolset } => new::run(app, &name, &out, &toolset),
        Tools::Reference => reference::run(app),
        Tools::Tokens => reference::tokens(app),
    }
}

/// The tool of that name or alias.
fn find(engine: &Engine, name: &str) -> Result<Arc<ToolEntry>, Failure> {
    let snapshot = engine.snapshot();
    snapshot.find(name).cloned().ok_or_else(|| {
        if let Some(why) = snapshot.absence_reason(name) {
            return why.clone().into();
        }
        let near = tool_names::suggest(name, snapshot.callable_names());
        Failure::not_found(format!("There is no tool '{name}'"))
            .hint("`hermes tools list` shows what there is.")
            .did_you_mean(&near)
    })
}
