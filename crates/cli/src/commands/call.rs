//! `hermes call`: makes one tool call.

use std::sync::Arc;

use hermes::core::{CallArguments, CallStatus, ToolCall, ToolResult};
use hermes::engine::tool_names::{self, NameMatch};
use hermes::engine::{RegistrySnapshot, ToolEntry};
use serde_json::Value;

use super::{result_text, runtime};
use crate::app::AppContext;
use crate::args::CallArgs;
use crate::call_arguments::{self, ToolParameters};
use crate::command_error::{CliExitCode, CommandResult};
use crate::mcp_servers::ServerSelection;
use hermes::core::text::shell_quote;

pub(crate) fn run(app: &AppContext, args: &CallArgs) -> CommandResult {
    let ready = app.services()?;
    ready.connect_servers(app, ServerSelection::Tool(&args.tool))?;
    // Tools that need an unavailable backend report that themselves.
    let limit = args.options.timeout();
    let mut caller = app.caller_even_if_closed(&ready, &args.options, &[], limit)?;
    caller.who = "cli".into();
    // Programs need the unchanged result; it already states that it is
    // untrusted.
    caller.label_untrusted = false;
    let arguments_from_stdin = args.arguments.iter().any(|argument| argument == "-");
    let has_session = args.options.session.is_some();
    caller.approver = app.approver(&ready, &args.options, arguments_from_stdin, has_session);
    ready.warn_of_leftovers(app);
    if !arguments_from_stdin {
        ready.prompter.allow_questions();
    }
    let entry = find_tool(&ready.engine().snapshot(), &args.tool);
    let arguments = match call_arguments::read_arguments(
        &args.arguments,
        &tool_parameters(entry.as_deref()),
    )? {
        Value::String(text) => CallArguments::Text(text),
        value => CallArguments::Json(value),
    };
    let call = ToolCall { id: "call_1".into(), name: args.tool.clone(), arguments };
    let engine = ready.engine().clone();
    let leaving = ready.teardown();
    let cancel = caller.cancel.clone();
    let result = runtime::with_tools(&cancel, async move {
        let result = engine.call(call, &caller).await;
        engine.shutdown().await;
        leaving.run().await;
        result
    })?;
    ready.flush_records(app);
    show_result(app, &result)
}

/// Finds the tool whose schema the arguments are parsed by. It is the one the
/// pipeline will resolve, so a repaired name changes nothing else.
pub(crate) fn find_tool(snapshot: &RegistrySnapshot, written: &str) -> Option<Arc<ToolEntry>> {
    let known = |name: &str| snapshot.find(name).is_some();
    match tool_names::match_name(written, known, snapshot.callable_names()) {
        NameMatch::Exact => snapshot.find(written).cloned(),
        NameMatch::Repaired(name) => snapshot.find(&name).cloned(),
        NameMatch::Unknown => None,
    }
}

pub(crate) fn tool_parameters(entry: Option<&ToolEntry>) -> ToolParameters<'_> {
    let Some(entry) = entry else {
        return ToolParameters { schema: &Value::Null, aliases: Vec::new() };
    };
    let aliases =
        entry.spec().parameter_aliases.iter().map(|(from, to)| (&**from, &**to)).collect();
    ToolParameters { schema: entry.schema().raw(), aliases }
}

pub(crate) fn show_result(app: &AppContext, result: &ToolResult) -> CommandResult {
    for change in &result.coercions {
        app.terminal.note(&format!("note: {change}"));
    }
    let exit = match result.status {
        // A script sees the command's failure.
        CallStatus::Success if result.command_failed => CliExitCode::Failed,
        CallStatus::Success => CliExitCode::Ok,
        CallStatus::Error(kind) => CliExitCode::Kind(kind),
    };
    if app.json || !app.terminal.stdout_is_person {
        app.terminal.print_line(&result.content)?;
    } else if result.is_success() || is_tool_answer(result) {
        app.terminal.print_line(&result_text::render_result(&app.terminal, &result.content))?;
    } else {
        let error: Value = serde_json::from_str(&result.content).unwrap_or_default();
        let field = |name: &str| error.get(name).and_then(Value::as_str).unwrap_or_default();
        app.terminal.error(field("error"), Some(field("hint")));
        if let Some(example) = error.get("example") {
            let example = shell_quote(&example.to_string());
            app.terminal.note(&format!("example: hermes call {} {example}", result.name));
        }
    }
    Ok(exit)
}

/// Whether this is partial output of a tool, not an error of the pipeline,
/// which always has a kind.
fn is_tool_answer(result: &ToolResult) -> bool {
    let shown: Value = serde_json::from_str(&result.content).unwrap_or_default();
    shown.get("kind").is_none()
}
