//! `hermes call`: one tool call.

use std::sync::Arc;

use hermes::core::{CallArguments, CallStatus, ToolCall, ToolResult};
use hermes::engine::tool_names::{self, NameMatch};
use hermes::engine::{ToolEntry, RegistrySnapshot};
use serde_json::Value;

use super::{readable, runtime};
use crate::app::App;
use crate::args::Call;
use crate::failure::{Exit, Outcome};
use crate::foreign::Wanted;
use crate::values::{self, Parameters, quoted};

pub(crate) fn run(app: &App, args: &Call) -> Outcome {
    let ready = app.ready()?;
    ready.join_servers(app, Wanted::Tool(&args.tool))?;
    // What needs a place that cannot be opened says so itself.
    let limit = args.options.timeout();
    let mut caller = app.caller_anyhow(&ready, &args.options, &[], limit)?;
    caller.who = "cli".into();
    // Programs want the answer as it is; it says itself that it came from outside.
    caller.label_untrusted = false;
    let arguments_from_stdin = args.arguments.iter().any(|argument| argument == "-");
    let has_session = args.options.session.is_some();
    caller.approver = app.approver(&ready, &args.options, arguments_from_stdin, has_session);
    ready.warn_of_leftovers(app);
    if !arguments_from_stdin {
        ready.keyboard.open();
    }
    let entry = meant(&ready.engine.snapshot(), &args.tool);
    let arguments = match values::read(&args.arguments, &parameters(entry.as_deref()))? {
        Value::String(text) => CallArguments::Text(text),
        value => CallArguments::Json(value),
    };
    let call = ToolCall { id: "call_1".into(), name: args.tool.clone(), arguments };
    let engine = ready.engine.clone();
    let leaving = ready.leaving();
    let cancel = caller.cancel.clone();
    let result = runtime::with_tools(&cancel, async move {
        let result = engine.call(call, &caller).await;
        engine.shutdown().await;
        leaving.leave().await;
        result
    })?;
    ready.settle(app);
    show(app, &result)
}

/// The tool whose schema the arguments are read by: the one that the pipeline
/// will find, so that a repaired name changes nothing else.
pub(crate) fn meant(snapshot: &RegistrySnapshot, written: &str) -> Option<Arc<ToolEntry>> {
    let known = |name: &str| snapshot.find(name).is_some();
    match tool_names::match_name(written, known, snapshot.callable_names()) {
        NameMatch::Exact => snapshot.find(written).cloned(),
        NameMatch::Repaired(name) | NameMatch::Similar { name, .. } => snapshot.find(&name).cloned(),
        NameMatch::Unknown => None,
    }
}

/// A tool that has a name which looks like this one, by more than a slip.
pub(crate) fn alike(snapshot: &RegistrySnapshot, written: &str) -> Option<String> {
    let known = |name: &str| snapshot.find(name).is_some();
    match tool_names::match_name(written, known, snapshot.callable_names()) {
        NameMatch::Similar { name, is_confident: false } => Some(name),
        _ => None,
    }
}

pub(crate) fn parameters(entry: Option<&ToolEntry>) -> Parameters<'_> {
    let Some(entry) = entry else {
        return Parameters { schema: &Value::Null, aliases: Vec::new() };
    };
    let aliases =
        entry.spec().parameter_aliases.iter().map(|(from, to)| (&**from, &**to)).collect();
    Parameters { schema: entry.schema().raw(), aliases }
}

pub(crate) fn show(app: &App, result: &ToolResult) -> Outcome {
    for change in &result.coercions {
        app.terminal.note(&format!("note: {change}"));
    }
    let exit = match result.status {
        CallStatus::Success => Exit::Ok,
        CallStatus::Error(kind) => Exit::Kind(kind),
    };
    if app.json || !app.terminal.stdout_is_person {
        app.terminal.line(&result.content)?;
    } else if result.is_success() || is_answer(result) {
        app.terminal.line(&readable::layout(&app.terminal, &result.content))?;
    } else {
        let error: Value = serde_json::from_str(&result.content).unwrap_or_default();
        let field = |name: &str| error.get(name).and_then(Value::as_str).unwrap_or_default();
        app.terminal.error(field("error"), Some(field("hint")));
        if let Some(example) = error.get("example") {
            let example = quoted(example);
            app.terminal.note(&format!("example: hermes call {} {example}", result.name));
        }
    }
    Ok(exit)
}

/// Whether this is what a tool had to say when it was cut short, and no error of
/// ours, which has its kind.
fn is_answer(result: &ToolResult) -> bool {
    let told: Value = serde_json::from_str(&result.content).unwrap_or_default();
    told.get("kind").is_none()
}
