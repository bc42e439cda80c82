//! A request: the calls, and what is needed to answer in the same form.

use std::collections::HashSet;

use hermes_core::ToolCall;

use crate::call::{self, CallDraft, IdForm};
use crate::document::{self, CallSource};
use crate::{CallDialect, ProtocolError, hermes_text, syntax};

/// Maximum number of calls in one request.
pub const MAX_CALLS: usize = 100_000;

/// A parsed request.
#[derive(Debug, Clone, PartialEq)]
pub struct CallRequest {
    /// The dialect of the request and of the response.
    pub dialect: CallDialect,
    /// The calls, in order. Each has an id and gets one result.
    pub calls: Vec<ToolCall>,
    /// By position, so callers can take `calls` while they run.
    ids: Vec<IdForm>,
    wrapped: bool,
}

impl CallRequest {
    /// Creates a request from calls that were not parsed from a text.
    pub fn new(dialect: CallDialect, calls: Vec<ToolCall>) -> Self {
        let ids = vec![IdForm::Text; calls.len()];
        Self { dialect, calls, ids, wrapped: false }
    }

    pub(crate) fn id_form(&self, position: usize) -> IdForm {
        self.ids.get(position).copied().unwrap_or(IdForm::Text)
    }

    /// Whether the `<tool_call>` text was inside a JSON message; the response
    /// then is one too.
    pub(crate) fn is_wrapped(&self) -> bool {
        self.wrapped
    }

    fn from_drafts(dialect: CallDialect, drafts: Vec<CallDraft>, wrapped: bool) -> Self {
        let mut taken: HashSet<String> =
            drafts.iter().filter_map(|draft| draft.id.as_ref().map(|(id, _)| id.clone())).collect();
        let mut calls = Vec::with_capacity(drafts.len());
        let mut ids = Vec::with_capacity(drafts.len());
        for (position, draft) in drafts.into_iter().enumerate() {
            let (id, form) = draft
                .id
                .unwrap_or_else(|| (unused_id(position + 1, &mut taken), IdForm::Generated));
            calls.push(ToolCall { id, name: draft.name, arguments: draft.arguments });
            ids.push(form);
        }
        Self { dialect, calls, ids, wrapped }
    }
}

fn unused_id(number: usize, taken: &mut HashSet<String>) -> String {
    let plain = format!("call_{number}");
    let id = std::iter::once(plain)
        .chain((2..).map(|n: u64| format!("call_{number}_{n}")))
        .find(|id| !taken.contains(id))
        .unwrap_or_default();
    taken.insert(id.clone());
    id
}

/// Reads one request. Without a `wanted` dialect, detects it.
///
/// A text that begins like JSON is only read as JSON, unless
/// [`CallDialect::HermesText`] is wanted: tags inside a truncated document must
/// not become calls.
pub fn parse(text: &str, wanted: Option<CallDialect>) -> Result<CallRequest, ProtocolError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let Some(first) = text.trim_start().chars().next() else { return Err(ProtocolError::Empty) };
    let like_json = matches!(first, '{' | '[' | '"');
    match wanted {
        Some(CallDialect::HermesText) if like_json => match parse_document(text, wanted) {
            Err(ProtocolError::Syntax { .. }) if hermes_text::has_call_tag(text) => {
                parse_text(text)
            }
            read => read,
        },
        Some(CallDialect::HermesText) => parse_text(text),
        None if !like_json && hermes_text::has_call_tag(text) => parse_text(text),
        Some(wanted) if !like_json && hermes_text::read_text_calls(text).is_ok() => {
            Err(ProtocolError::WrongDialect { wanted, found: CallDialect::HermesText })
        }
        _ => parse_document(text, wanted),
    }
}

/// [`parse`] for bytes that may not be UTF-8.
pub fn parse_bytes(
    bytes: &[u8],
    wanted: Option<CallDialect>,
) -> Result<CallRequest, ProtocolError> {
    let text = std::str::from_utf8(bytes).map_err(|e| {
        let offset = e.valid_up_to();
        let before = bytes.get(..offset).unwrap_or_default();
        ProtocolError::NotUtf8 { offset, line: syntax::count_lines(before) }
    })?;
    parse(text, wanted)
}

fn parse_document(text: &str, wanted: Option<CallDialect>) -> Result<CallRequest, ProtocolError> {
    let found = document::find_calls(text)?;
    let dialect = match wanted {
        Some(wanted) if !found.is_written_in(wanted) => {
            return Err(ProtocolError::WrongDialect { wanted, found: found.dialect });
        }
        Some(wanted) => wanted,
        None => found.dialect,
    };
    match found.source {
        CallSource::Calls(list) => {
            let drafts = list.into_iter().map(call::read_call).collect();
            Ok(CallRequest::from_drafts(dialect, drafts, dialect == CallDialect::HermesText))
        }
        CallSource::Text(text) => {
            Ok(CallRequest::from_drafts(dialect, hermes_text::read_text_calls(&text)?, true))
        }
    }
}

fn parse_text(text: &str) -> Result<CallRequest, ProtocolError> {
    Ok(CallRequest::from_drafts(
        CallDialect::HermesText,
        hermes_text::read_text_calls(text)?,
        false,
    ))
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
