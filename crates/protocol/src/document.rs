//! The shapes in which a JSON document holds calls.

use serde_json::value::RawValue;

use crate::node::{self, Fields, Items};
use crate::request::MAX_CALLS;
use crate::{Dialect, ProtocolError, call, hermes, scan, syntax};

/// Where the calls of a document are.
pub(crate) struct Found<'a> {
    pub(crate) dialect: Dialect,
    pub(crate) source: Source<'a>,
    /// Calls that stand alone, without anything that only one dialect has.
    bare: bool,
}

pub(crate) enum Source<'a> {
    Calls(Vec<&'a RawValue>),
    /// A message whose text holds `<tool_call>` blocks.
    Text(String),
}

impl<'a> Found<'a> {
    fn new(dialect: Dialect, calls: Vec<&'a RawValue>) -> Self {
        Self { dialect, source: Source::Calls(calls), bare: false }
    }

    /// Only the `function` wrapper tells a bare OpenAI call from a plain one
    /// whose author happened to quote the arguments.
    fn bare(calls: Vec<&'a RawValue>) -> Self {
        let has_function = |call: &&RawValue| {
            node::fields(call.get()).is_ok_and(|fields| fields.get("function").is_some())
        };
        let dialect = if calls.first().is_some_and(has_function) {
            dialect_of_calls(&calls)
        } else {
            Dialect::Envelope
        };
        Self { dialect, source: Source::Calls(calls), bare: true }
    }

    /// Whether somebody who speaks `wanted` could have written this.
    pub(crate) fn answers(&self, wanted: Dialect) -> bool {
        let lists = [Dialect::Envelope, Dialect::OpenAiChat];
        self.bare
            || self.dialect == wanted
            || (lists.contains(&self.dialect) && lists.contains(&wanted))
    }
}

/// Finds the calls of a document.
pub(crate) fn read(text: &str) -> Result<Found<'_>, ProtocolError> {
    let found = match text.trim_start().as_bytes().first() {
        Some(b'{') => {
            let fields = node::fields(text).map_err(|e| syntax::diagnose(text, &e))?;
            in_object(&fields, text)?
        }
        Some(b'[') => {
            let items = node::items(text).map_err(|e| syntax::diagnose(text, &e))?;
            in_array(bounded(items)?)
        }
        _ => {
            syntax::check(text)?;
            None
        }
    };
    found.ok_or_else(|| refuse(text))
}

fn in_object<'a>(fields: &Fields<'a>, text: &'a str) -> Result<Option<Found<'a>>, ProtocolError> {
    if let Some(found) = in_message(fields)? {
        return Ok(Some(found));
    }
    if let Some(choices) = list(fields, "choices")? {
        for choice in choices {
            let Ok(choice) = node::fields(choice.get()) else { continue };
            if let Some(found) = in_member(&choice, "message")? {
                return Ok(Some(found));
            }
        }
    }
    if let Some(found) = in_member(fields, "message")? {
        return Ok(Some(found));
    }
    if let Some(output) = list(fields, "output")? {
        let calls = of_type(&output, "function_call");
        if !calls.is_empty() {
            return Ok(Some(Found::new(Dialect::OpenAiResponses, calls)));
        }
    }
    let whole = || serde_json::from_str::<&RawValue>(text).into_iter().collect();
    Ok(match fields.text("type").as_deref() {
        Some("function_call") => Some(Found::new(Dialect::OpenAiResponses, whole())),
        Some("tool_use") => Some(Found::new(Dialect::Anthropic, whole())),
        _ if call::names_a_tool(fields) => Some(Found::bare(whole())),
        _ => None,
    })
}

/// A message, however it is wrapped.
fn in_message<'a>(fields: &Fields<'a>) -> Result<Option<Found<'a>>, ProtocolError> {
    let calls = match fields.get("tool_calls") {
        Some(one) if one.get().starts_with('{') => Some(vec![one]),
        Some(other) if !other.get().starts_with('[') => {
            let seen = format!("`tool_calls` that is {}, not a list", node::kind(other.get()));
            return Err(ProtocolError::Unrecognised { seen });
        }
        _ => list(fields, "tool_calls")?,
    };
    if let Some(calls) = calls.as_ref().filter(|calls| !calls.is_empty()) {
        return Ok(Some(Found::new(dialect_of_calls(calls), calls.clone())));
    }
    if may_call_in_text(fields)
        && let Some(text) = fields.text("content").filter(|text| hermes::has_tag(text))
    {
        let source = Source::Text(text);
        return Ok(Some(Found { dialect: Dialect::HermesText, source, bare: false }));
    }
    if let Some(content) = list(fields, "content")? {
        let uses = of_type(&content, "tool_use");
        if !uses.is_empty() {
            return Ok(Some(Found::new(Dialect::Anthropic, uses)));
        }
    }
    Ok(calls.map(|none| Found::new(Dialect::Envelope, none)))
}

/// Tags in what a user or a tool said are quotations, and so are those in the
/// fields of a bare call.
fn may_call_in_text(fields: &Fields<'_>) -> bool {
    match fields.text("role") {
        Some(role) => role == "assistant",
        None => !call::names_a_tool(fields),
    }
}

fn in_member<'a>(fields: &Fields<'a>, name: &str) -> Result<Option<Found<'a>>, ProtocolError> {
    match fields.get(name).map(|message| node::fields(message.get())) {
        Some(Ok(message)) => in_message(&message),
        _ => Ok(None),
    }
}

fn in_array(items: Vec<&RawValue>) -> Option<Found<'_>> {
    for (kind, dialect) in
        [("function_call", Dialect::OpenAiResponses), ("tool_use", Dialect::Anthropic)]
    {
        let calls = of_type(&items, kind);
        if !calls.is_empty() {
            return Some(Found::new(dialect, calls));
        }
    }
    let any = |items: &[&RawValue]| {
        items
            .iter()
            .any(|item| node::fields(item.get()).is_ok_and(|fields| call::names_a_tool(&fields)))
    };
    (items.is_empty() || any(&items)).then(|| Found::bare(items))
}

/// The OpenAI form is the one with arguments in a string. The first call that
/// has any decides.
fn dialect_of_calls(calls: &[&RawValue]) -> Dialect {
    match calls.iter().find_map(|call| call::has_text_arguments(call)) {
        Some(true) => Dialect::OpenAiChat,
        _ => Dialect::Envelope,
    }
}

fn of_type<'a>(items: &[&'a RawValue], kind: &str) -> Vec<&'a RawValue> {
    let is_kind = |item: &&RawValue| {
        node::fields(item.get()).is_ok_and(|fields| fields.text("type").as_deref() == Some(kind))
    };
    items.iter().copied().filter(is_kind).collect()
}

fn list<'a>(fields: &Fields<'a>, name: &str) -> Result<Option<Vec<&'a RawValue>>, ProtocolError> {
    match fields.get(name).map(|raw| node::items(raw.get())) {
        Some(Ok(items)) => bounded(items).map(Some),
        _ => Ok(None),
    }
}

fn bounded(items: Items<'_>) -> Result<Vec<&RawValue>, ProtocolError> {
    if items.overflow {
        return Err(ProtocolError::TooManyCalls { limit: MAX_CALLS });
    }
    Ok(items.list)
}

/// What to say of a valid document that holds no call.
fn refuse(text: &str) -> ProtocolError {
    if let Some((line, column)) = scan::too_deep_at(text, scan::VALUE_DEPTH) {
        return ProtocolError::TooDeep { limit: scan::VALUE_DEPTH, line, column };
    }
    let seen = describe(text);
    let reply = node::fields(text)
        .is_ok_and(|fields| fields.first(&["role", "choices", "output", "content"]).is_some());
    if reply { ProtocolError::NoCalls { seen } } else { ProtocolError::Unrecognised { seen } }
}

fn describe(text: &str) -> String {
    const MOST: usize = 6;
    let keys = node::keys(text, MOST + 1);
    let kind = node::kind(text);
    if keys.is_empty() {
        let empty = if kind == "an object" { "an empty object" } else { kind };
        return format!("{empty}: `{}`", syntax::excerpt(text.trim(), 0));
    }
    let shown: Vec<_> =
        keys.iter().take(MOST).map(|key| format!("`{}`", syntax::excerpt(key, 0))).collect();
    let more = if keys.len() > MOST { ", …" } else { "" };
    let plural = if keys.len() == 1 { "key" } else { "keys" };
    format!("{kind} with the {plural} {}{more}", shown.join(", "))
}
