//! Locates calls in the known shapes of JSON documents.

use serde_json::value::RawValue;

use crate::json_node::{self, BoundedArray, KnownFields};
use crate::request::MAX_CALLS;
use crate::{CallDialect, ProtocolError, call, hermes_text, json_scan, syntax};

/// The calls found in a document.
pub(crate) struct FoundCalls<'a> {
    pub(crate) dialect: CallDialect,
    pub(crate) source: CallSource<'a>,
    /// Whether the calls are bare, without anything specific to one dialect.
    is_bare: bool,
}

pub(crate) enum CallSource<'a> {
    Calls(Vec<&'a RawValue>),
    /// The text of a message that contains `<tool_call>` blocks.
    Text(String),
}

impl<'a> FoundCalls<'a> {
    fn new(dialect: CallDialect, calls: Vec<&'a RawValue>) -> Self {
        Self { dialect, source: CallSource::Calls(calls), is_bare: false }
    }

    /// Creates bare calls. Only the `function` wrapper distinguishes a bare
    /// OpenAI call from a plain one whose author happened to quote the
    /// arguments.
    fn bare(calls: Vec<&'a RawValue>) -> Self {
        let has_function = |call: &&RawValue| {
            json_node::fields(call.get()).is_ok_and(|fields| fields.get("function").is_some())
        };
        let dialect = if calls.first().is_some_and(has_function) {
            dialect_of_calls(&calls)
        } else {
            CallDialect::Envelope
        };
        Self { dialect, source: CallSource::Calls(calls), is_bare: true }
    }

    /// Whether the calls are valid in the dialect `wanted`.
    pub(crate) fn is_written_in(&self, wanted: CallDialect) -> bool {
        let lists = [CallDialect::Envelope, CallDialect::OpenAiChat];
        self.is_bare
            || self.dialect == wanted
            || (lists.contains(&self.dialect) && lists.contains(&wanted))
    }
}

/// Finds the calls of a document.
pub(crate) fn find_calls(text: &str) -> Result<FoundCalls<'_>, ProtocolError> {
    let found = match text.trim_start().as_bytes().first() {
        Some(b'{') => {
            let fields = json_node::fields(text).map_err(|e| syntax::diagnose(text, &e))?;
            calls_in_object(&fields, text)?
        }
        Some(b'[') => {
            let items = json_node::items(text).map_err(|e| syntax::diagnose(text, &e))?;
            calls_in_array(require_bounded(items)?)
        }
        _ => {
            syntax::check_json(text)?;
            None
        }
    };
    found.ok_or_else(|| no_calls_error(text))
}

fn calls_in_object<'a>(
    fields: &KnownFields<'a>,
    text: &'a str,
) -> Result<Option<FoundCalls<'a>>, ProtocolError> {
    if let Some(found) = calls_in_message(fields)? {
        return Ok(Some(found));
    }
    if let Some(choices) = list_member(fields, "choices")? {
        for choice in choices {
            let Ok(choice) = json_node::fields(choice.get()) else { continue };
            if let Some(found) = calls_in_member(&choice, "message")? {
                return Ok(Some(found));
            }
        }
    }
    if let Some(found) = calls_in_member(fields, "message")? {
        return Ok(Some(found));
    }
    if let Some(output) = list_member(fields, "output")? {
        let calls = items_of_type(&output, "function_call");
        if !calls.is_empty() {
            return Ok(Some(FoundCalls::new(CallDialect::OpenAiResponses, calls)));
        }
    }
    let whole = || serde_json::from_str::<&RawValue>(text).into_iter().collect();
    Ok(match fields.text("type").as_deref() {
        Some("function_call") => Some(FoundCalls::new(CallDialect::OpenAiResponses, whole())),
        Some("tool_use") => Some(FoundCalls::new(CallDialect::Anthropic, whole())),
        _ if call::has_tool_name(fields) => Some(FoundCalls::bare(whole())),
        _ => None,
    })
}

/// Finds the calls of a message, however it is wrapped.
fn calls_in_message<'a>(fields: &KnownFields<'a>) -> Result<Option<FoundCalls<'a>>, ProtocolError> {
    let calls = match fields.get("tool_calls") {
        Some(one) if one.get().starts_with('{') => Some(vec![one]),
        Some(other) if !other.get().starts_with('[') => {
            let seen = format!(
                "`tool_calls` that is {}, not a list",
                json_node::describe_kind(other.get())
            );
            return Err(ProtocolError::Unrecognised { seen });
        }
        _ => list_member(fields, "tool_calls")?,
    };
    if let Some(calls) = calls.as_ref().filter(|calls| !calls.is_empty()) {
        return Ok(Some(FoundCalls::new(dialect_of_calls(calls), calls.clone())));
    }
    if may_call_in_text(fields)
        && let Some(text) = fields.text("content").filter(|text| hermes_text::has_call_tag(text))
    {
        let source = CallSource::Text(text);
        return Ok(Some(FoundCalls { dialect: CallDialect::HermesText, source, is_bare: false }));
    }
    if let Some(content) = list_member(fields, "content")? {
        let uses = items_of_type(&content, "tool_use");
        if !uses.is_empty() {
            return Ok(Some(FoundCalls::new(CallDialect::Anthropic, uses)));
        }
    }
    Ok(calls.map(|none| FoundCalls::new(CallDialect::Envelope, none)))
}

/// Whether tags in the message text are calls. In the text of a user or a tool,
/// and in the fields of a bare call, they are quotations.
fn may_call_in_text(fields: &KnownFields<'_>) -> bool {
    match fields.text("role") {
        Some(role) => role == "assistant",
        None => !call::has_tool_name(fields),
    }
}

fn calls_in_member<'a>(
    fields: &KnownFields<'a>,
    name: &str,
) -> Result<Option<FoundCalls<'a>>, ProtocolError> {
    match fields.get(name).map(|message| json_node::fields(message.get())) {
        Some(Ok(message)) => calls_in_message(&message),
        _ => Ok(None),
    }
}

fn calls_in_array(items: Vec<&RawValue>) -> Option<FoundCalls<'_>> {
    for (kind, dialect) in
        [("function_call", CallDialect::OpenAiResponses), ("tool_use", CallDialect::Anthropic)]
    {
        let calls = items_of_type(&items, kind);
        if !calls.is_empty() {
            return Some(FoundCalls::new(dialect, calls));
        }
    }
    let any = |items: &[&RawValue]| {
        items.iter().any(|item| {
            json_node::fields(item.get()).is_ok_and(|fields| call::has_tool_name(&fields))
        })
    };
    (items.is_empty() || any(&items)).then(|| FoundCalls::bare(items))
}

/// Returns the OpenAI dialect if arguments are strings. The first call that has
/// arguments decides.
fn dialect_of_calls(calls: &[&RawValue]) -> CallDialect {
    match calls.iter().find_map(|call| call::has_text_arguments(call)) {
        Some(true) => CallDialect::OpenAiChat,
        _ => CallDialect::Envelope,
    }
}

fn items_of_type<'a>(items: &[&'a RawValue], kind: &str) -> Vec<&'a RawValue> {
    let is_kind = |item: &&RawValue| {
        json_node::fields(item.get())
            .is_ok_and(|fields| fields.text("type").as_deref() == Some(kind))
    };
    items.iter().copied().filter(is_kind).collect()
}

fn list_member<'a>(
    fields: &KnownFields<'a>,
    name: &str,
) -> Result<Option<Vec<&'a RawValue>>, ProtocolError> {
    match fields.get(name).map(|raw| json_node::items(raw.get())) {
        Some(Ok(items)) => require_bounded(items).map(Some),
        _ => Ok(None),
    }
}

fn require_bounded(items: BoundedArray<'_>) -> Result<Vec<&RawValue>, ProtocolError> {
    if items.overflow {
        return Err(ProtocolError::TooManyCalls { limit: MAX_CALLS });
    }
    Ok(items.items)
}

/// Returns the error for a valid document without a call.
fn no_calls_error(text: &str) -> ProtocolError {
    if let Some((line, column)) = json_scan::find_too_deep(text, json_scan::MAX_VALUE_DEPTH) {
        return ProtocolError::TooDeep { limit: json_scan::MAX_VALUE_DEPTH, line, column };
    }
    let seen = describe(text);
    let reply = json_node::fields(text)
        .is_ok_and(|fields| fields.first(&["role", "choices", "output", "content"]).is_some());
    if reply { ProtocolError::NoCalls { seen } } else { ProtocolError::Unrecognised { seen } }
}

fn describe(text: &str) -> String {
    const MAX_SHOWN_KEYS: usize = 6;
    let keys = json_node::keys(text, MAX_SHOWN_KEYS + 1);
    let kind = json_node::describe_kind(text);
    if keys.is_empty() {
        let empty = if kind == "an object" { "an empty object" } else { kind };
        return format!("{empty}: `{}`", syntax::excerpt(text.trim(), 0));
    }
    let shown: Vec<_> = keys
        .iter()
        .take(MAX_SHOWN_KEYS)
        .map(|key| format!("`{}`", syntax::excerpt(key, 0)))
        .collect();
    let more = if keys.len() > MAX_SHOWN_KEYS { ", …" } else { "" };
    let plural = if keys.len() == 1 { "key" } else { "keys" };
    format!("{kind} with the {plural} {}{more}", shown.join(", "))
}
