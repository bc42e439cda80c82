//! `hermes call`: one tool call.

use hermes::core::{Arguments, Status, ToolCall, ToolResult};
use serde_json::Value;

use super::{readable, runtime};
use crate::app::App;
use crate::args::Call;
use crate::failure::{Exit, Outcome};
use crate::values;

pub(crate) fn run(app: &App, args: &Call) -> Outcome {
    let ready = app.ready()?;
    let caller = app.caller(&ready, &args.options)?;
    let snapshot = ready.engine.snapshot();
    let schema = snapshot.find(&args.tool).map_or(Value::Null, |e| e.schema().raw().clone());
    let arguments = match values::read(&args.arguments, &schema)? {
        Value::String(text) => Arguments::Text(text),
        value => Arguments::Json(value),
    };
    let call = ToolCall { id: "call_1".into(), name: args.tool.clone(), arguments };
    let engine = ready.engine.clone();
    let cancel = caller.cancel.clone();
    let result = runtime::with_tools(&cancel, async move {
        let result = engine.call(call, &caller).await;
        engine.shutdown().await;
        result
    })?;
    show(app, &result)
}

fn show(app: &App, result: &ToolResult) -> Outcome {
    for change in &result.coerced {
        app.terminal.note(&format!("note: {change}"));
    }
    let exit = match result.status {
        Status::Success => Exit::Ok,
        Status::Error(kind) => Exit::Kind(kind),
    };
    if app.json || !app.terminal.stdout_is_person {
        app.terminal.line(&result.content)?;
    } else if result.is_success() {
        app.terminal.line(&readable::layout(&app.terminal, &result.content))?;
    } else {
        let error: Value = serde_json::from_str(&result.content).unwrap_or_default();
        let field = |name: &str| error.get(name).and_then(Value::as_str).unwrap_or_default();
        app.terminal.error(field("error"), Some(field("hint")));
        if let Some(example) = error.get("example") {
            app.terminal.note(&format!("example: hermes call {} '{example}'", result.name));
        }
    }
    Ok(exit)
}
