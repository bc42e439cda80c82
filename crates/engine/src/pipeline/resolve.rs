//! Stage 2: resolves the tool name and parses the arguments.

use std::sync::Arc;

use hermes_core::{CallArguments, ToolCall, ToolError};
use hermes_schema::{parse_arguments, unwrap_arguments};
use serde_json::{Map, Value};

use super::BatchContext;
use super::alias_arguments::{self, AliasPreset};
use crate::definitions::ToolScope;
use crate::entry::ToolEntry;
use crate::registry::{RESERVED_TOOL_NAMES, RegistrySnapshot};
use crate::tool_names::{self, NameMatch};

/// A call whose tool is known.
pub(crate) struct ParsedCall {
    pub(crate) entry: Arc<ToolEntry>,
    /// The alias in the call.
    pub(crate) called_as: Option<String>,
    pub(crate) arguments: Value,
    /// Repairs made to the name and the arguments.
    pub(crate) notes: Vec<String>,
    /// Whether the arguments were truncated and completed.
    pub(crate) guessed: bool,
    /// The arguments that the alias presets.
    pub(crate) preset: AliasPreset,
}

/// Finds the tool and parses the argument text.
pub(crate) async fn resolve(batch: &BatchContext, call: ToolCall) -> Result<ParsedCall, ToolError> {
    let mut notes = Vec::new();
    let found = find_tool(batch, &call.name, &mut notes).await?;
    let (arguments, mut guessed) = read_arguments(&found.entry, call.arguments, &mut notes)?;
    if found.entry.name() != "tool_call" {
        return Ok(found.with_arguments(arguments, notes, guessed));
    }
    // The wrapped call replaces it.
    let (name, inner) = unwrap_tool_call(arguments)?;
    if RESERVED_TOOL_NAMES.contains(&name.as_str()) {
        return Err(ToolError::invalid(format!("tool_call cannot be used to call {name}"))
            .with_hint(format!("Call {name} directly.")));
    }
    let found = find_tool(batch, &name, &mut notes).await?;
    let (arguments, also_guessed) = read_arguments(&found.entry, inner, &mut notes)?;
    guessed |= also_guessed;
    Ok(found.with_arguments(arguments, notes, guessed))
}

/// The tool that a name stands for.
struct FoundTool {
    entry: Arc<ToolEntry>,
    /// The alias in the call.
    called_as: Option<String>,
    preset: AliasPreset,
}

impl FoundTool {
    fn with_arguments(
        self,
        mut arguments: Value,
        mut notes: Vec<String>,
        guessed: bool,
    ) -> ParsedCall {
        let Self { entry, called_as, preset } = self;
        if let Value::Object(fields) = &mut arguments {
            if let Some(alias) = &called_as {
                alias_arguments::translate(&entry, alias, fields, &mut notes);
            }
            alias_arguments::apply_preset(&entry, fields, &preset);
        }
        ParsedCall { entry, called_as, arguments, notes, guessed, preset }
    }
}

/// Finds the tool. Before an unknown MCP name is reported, its sources are
/// refreshed: the registry may be stale.
async fn find_tool(
    batch: &BatchContext,
    written: &str,
    notes: &mut Vec<String>,
) -> Result<FoundTool, ToolError> {
    let (snapshot, scope) = (&batch.snapshot, batch.caller.scope.as_deref());
    let found = find_tool_in(snapshot, scope, written, notes);
    let name = tool_names::strip_decoration(written);
    if found.is_ok() || snapshot.find(name).is_some() || !tool_names::is_mcp_name(name) {
        return found;
    }
    let origins = snapshot.sources_for(name);
    if origins.is_empty() {
        return found;
    }
    for origin in origins {
        origin.refresh().await?;
    }
    find_tool_in(&batch.engine.snapshot(), scope, written, notes)
}

/// Returns the call as the engine understands it: the resolved name, and the
/// arguments if their text had to be repaired. `None` if no tool matches. Shown
/// to the model instead of what it wrote, so it learns the correct form.
pub(crate) fn normalize_call(
    snapshot: &RegistrySnapshot,
    scope: Option<&ToolScope>,
    name: &str,
    arguments: &str,
) -> Option<(String, Option<Value>)> {
    let name = tool_name_in(snapshot, scope, name, &mut Vec::new()).ok()?;
    let entry = snapshot.find(&name)?;
    if serde_json::from_str::<Map<String, Value>>(arguments).is_ok() {
        return Some((name, None));
    }
    let text = CallArguments::Text(arguments.to_owned());
    let repaired = match read_arguments(entry, text, &mut Vec::new()) {
        // A truncated call that might change something is not run.
        Ok((_, true)) if !entry.spec().annotations.read_only => None,
        Ok((value, _)) => Some(value),
        Err(_) => None,
    };
    Some((name, repaired))
}

fn find_tool_in(
    snapshot: &RegistrySnapshot,
    scope: Option<&ToolScope>,
    written: &str,
    notes: &mut Vec<String>,
) -> Result<FoundTool, ToolError> {
    let name = tool_name_in(snapshot, scope, written, notes)?;
    let preset = snapshot.alias(&name).and_then(|alias| alias.preset.clone()).unwrap_or_default();
    let entry = snapshot.find(&name).cloned();
    let entry = entry.ok_or_else(|| unknown_tool_error(snapshot, scope, written))?;
    let called_as = (name != entry.name()).then_some(name);
    Ok(FoundTool { entry, called_as, preset })
}

/// Resolves a written name to a known one.
fn tool_name_in(
    snapshot: &RegistrySnapshot,
    scope: Option<&ToolScope>,
    written: &str,
    notes: &mut Vec<String>,
) -> Result<String, ToolError> {
    if written.trim().is_empty() {
        // Listing the tools here would only encourage a weak model to continue.
        return Err(ToolError::not_found("The call has no tool name")
            .with_hint("Do not repeat text in data that looks like a tool call."));
    }
    let in_scope = |name: &str| scope.is_none_or(|scope| scope.contains(name));
    let known = |name: &str| snapshot.find(name).is_some_and(|e| in_scope(e.name()));
    // Names that were not offered are not candidates.
    let shown = |name: &str| snapshot.find(name).is_some_and(|e| is_offered(scope, e.name()));
    let all = || snapshot.callable_names().filter(|name| shown(name));
    if snapshot.find(written).is_some() && !known(written) {
        // The name exists, so it is not a misspelling.
        return Err(unknown_tool_error(snapshot, scope, written));
    }
    match snapshot.absence_reason(tool_names::strip_decoration(written)) {
        _ if known(written) => Ok(written.to_owned()),
        Some(why) => Err(why.clone()),
        None => match_tool_name(snapshot, scope, written, known, all, notes),
    }
}

/// Matches a name that does not exist to one in another spelling.
fn match_tool_name<'a, N: Iterator<Item = &'a str>>(
    snapshot: &RegistrySnapshot,
    scope: Option<&ToolScope>,
    written: &str,
    known: impl Fn(&str) -> bool,
    all: impl Fn() -> N,
    notes: &mut Vec<String>,
) -> Result<String, ToolError> {
    match tool_names::match_name(written, known, all()) {
        NameMatch::Exact => Ok(written.to_owned()),
        NameMatch::Repaired(name) => {
            notes.push(format!(
                "tool name: '{}' → '{name}'",
                hermes_core::text::excerpt(written, 64)
            ));
            Ok(name)
        }
        NameMatch::Unknown => Err(unknown_tool_error(snapshot, scope, written)),
    }
}

fn is_offered(scope: Option<&ToolScope>, name: &str) -> bool {
    scope.is_none_or(|scope| scope.offers(name))
}

fn unknown_tool_error(
    snapshot: &RegistrySnapshot,
    scope: Option<&ToolScope>,
    written: &str,
) -> ToolError {
    let shown = hermes_core::text::excerpt(written, 64);
    if snapshot.find(written).is_some() {
        return ToolError::not_found(format!("'{shown}' is not among the tools of this session"))
            .with_hint("Use one of the session's tools, or enable its toolset.");
    }
    let in_catalogue = tool_names::catalogue_tool(written);
    if in_catalogue.is_some_and(|tool| snapshot.find(tool).is_none()) {
        return ToolError::unavailable(format!("'{shown}' is not part of this build of hermes"))
            .with_hint("Use another tool; `hermes tools list` shows the available ones.");
    }
    let own = |name: &str| snapshot.find(name).map(|entry| entry.name().to_owned());
    let offered = |name: &&str| own(name).is_some_and(|own| is_offered(scope, &own));
    // Suggest canonical names, whichever alias matched.
    let mut near: Vec<String> = Vec::new();
    for name in tool_names::suggest(written, snapshot.callable_names().filter(offered)) {
        let name = own(&name).unwrap_or(name);
        if !near.contains(&name) {
            near.push(name);
        }
    }
    let next = match is_offered(scope, "tool_search") {
        true => "Use tool_search or `hermes tools list` to see the available tools.",
        false => "Use one of this session's tools.",
    };
    let hint = match near.as_slice() {
        [] => next.to_owned(),
        [name] => format!("Did you mean '{name}'? {next}"),
        [names @ .., last] => format!("Did you mean '{}' or '{last}'? {next}", names.join("', '")),
    };
    ToolError::not_found(format!("No such tool: '{shown}'; nothing was run"))
        .with_hint(hint)
        .with("similar", near)
}

/// Parses the argument object, in whatever form it came.
fn read_arguments(
    entry: &ToolEntry,
    arguments: CallArguments,
    notes: &mut Vec<String>,
) -> Result<(Value, bool), ToolError> {
    let (value, guessed) = match arguments {
        CallArguments::Json(value) => (value, false),
        CallArguments::Text(text) => {
            let parsed = parse_arguments(&text).map_err(|error| {
                ToolError::invalid(format!(
                    "The arguments of {} are not one unambiguous JSON object: {error}",
                    entry.name()
                ))
                .with_hint("Send one JSON object.")
                .with("example", example_arguments(entry))
            })?;
            notes.extend(parsed.repairs.iter().map(|repair| format!("JSON: {repair}")));
            (parsed.value, parsed.is_guess)
        }
    };
    let aliases = entry.parameter_aliases();
    let (value, changes) = unwrap_arguments(entry.schema(), value, &aliases);
    notes.extend(changes.iter().map(ToString::to_string));
    match value {
        Value::Object(_) => Ok((value, guessed)),
        Value::Null => Ok((Value::Object(Map::new()), guessed)),
        // Some clients encode the object twice.
        Value::String(text) if text.trim_start().starts_with('{') => {
            read_arguments(entry, CallArguments::Text(text), notes)
        }
        other => Err(ToolError::invalid(format!(
            "The arguments of {} must be a JSON object, not {}",
            entry.name(),
            hermes_schema::excerpt::excerpt_value(&other, 60)
        ))
        .with("example", example_arguments(entry))),
    }
}

/// Example arguments for the tool. If the schema requires nothing, the tool's
/// own example is more useful.
fn example_arguments(entry: &ToolEntry) -> Value {
    let made = entry.schema().corrected_example(&Value::Null);
    let is_bare = made.as_object().is_some_and(Map::is_empty);
    let own = || serde_json::from_str(&entry.spec().examples.first()?.arguments).ok();
    if is_bare { own().unwrap_or(made) } else { made }
}

fn unwrap_tool_call(arguments: Value) -> Result<(String, CallArguments), ToolError> {
    let wrong = || {
        ToolError::invalid("tool_call requires the name of a tool and its arguments")
            .with("example", serde_json::json!({ "name": "some_tool", "arguments": {} }))
    };
    let Value::Object(mut fields) = arguments else { return Err(wrong()) };
    let Some(Value::String(name)) = fields.shift_remove("name") else { return Err(wrong()) };
    let mut wrappers = fields.iter().filter(|(key, value)| is_argument_wrapper(key, value));
    let Some(wrapper) = wrappers.next().map(|(key, _)| key.clone()) else {
        // The arguments are next to the name.
        return Ok((name, CallArguments::Json(Value::Object(fields))));
    };
    let inner = fields.shift_remove(&wrapper).unwrap_or_default();
    if !fields.is_empty() {
        let others: Vec<String> = fields.keys().map(|key| format!("`{key}`")).collect();
        return Err(ToolError::invalid(format!(
            "tool_call has `{wrapper}` and also {}; nothing was run",
            others.join(", ")
        ))
        .with_hint(format!("Put all arguments of {name} in `arguments`.")));
    }
    let inner = match inner {
        Value::String(text) => CallArguments::Text(text),
        value => CallArguments::Json(value),
    };
    Ok((name, inner))
}

/// Whether a member of a `tool_call` contains the arguments of the wrapped
/// call. Names other than `arguments` may also be one of its arguments.
fn is_argument_wrapper(key: &str, value: &Value) -> bool {
    match (key, value) {
        ("arguments", _) => true,
        ("args" | "parameters" | "input", Value::Object(_)) => true,
        ("args" | "parameters" | "input", Value::String(text)) => {
            text.trim_start().starts_with('{')
        }
        _ => false,
    }
}
