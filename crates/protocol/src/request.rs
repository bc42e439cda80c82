//! A request: the calls, and what is needed to answer in kind.

use std::collections::HashSet;

use hermes_core::ToolCall;

use crate::call::{self, Draft, IdForm};
use crate::document::{self, Source};
use crate::{Dialect, ProtocolError, hermes, syntax};

/// The most calls that one request may hold.
pub const MAX_CALLS: usize = 100_000;

/// A request as it was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The dialect of the question, and of the answer.
    pub dialect: Dialect,
    /// The calls, in their order. Every one has an id and gets one result.
    pub calls: Vec<ToolCall>,
    /// By position, so that `calls` may be taken out while they run.
    ids: Vec<IdForm>,
    wrapped: bool,
}

impl Request {
    /// A request for calls that were not read from a text.
    pub fn new(dialect: Dialect, calls: Vec<ToolCall>) -> Self {
        let ids = vec![IdForm::Text; calls.len()];
        Self { dialect, calls, ids, wrapped: false }
    }

    pub(crate) fn id_form(&self, position: usize) -> IdForm {
        self.ids.get(position).copied().unwrap_or(IdForm::Text)
    }

    /// Whether `<tool_call>` text came inside a JSON message, which is then
    /// the form of the answer too.
    pub(crate) fn is_wrapped(&self) -> bool {
        self.wrapped
    }

    fn assemble(dialect: Dialect, drafts: Vec<Draft>, wrapped: bool) -> Self {
        let mut taken: HashSet<String> =
            drafts.iter().filter_map(|draft| draft.id.as_ref().map(|(id, _)| id.clone())).collect();
        let mut calls = Vec::with_capacity(drafts.len());
        let mut ids = Vec::with_capacity(drafts.len());
        for (position, draft) in drafts.into_iter().enumerate() {
            let (id, form) =
                draft.id.unwrap_or_else(|| (free_id(position + 1, &mut taken), IdForm::Made));
            calls.push(ToolCall { id, name: draft.name, arguments: draft.arguments });
            ids.push(form);
        }
        Self { dialect, calls, ids, wrapped }
    }
}

fn free_id(number: usize, taken: &mut HashSet<String>) -> String {
    let plain = format!("call_{number}");
    let id = std::iter::once(plain)
        .chain((2..).map(|n: u64| format!("call_{number}_{n}")))
        .find(|id| !taken.contains(id))
        .unwrap_or_default();
    taken.insert(id.clone());
    id
}

/// Reads one request. Without a `wanted` dialect it is told from the text.
///
/// A text that begins like JSON is only ever read as JSON, unless
/// [`Dialect::HermesText`] is wanted: tags inside a document that was cut off
/// must not come alive as calls.
pub fn parse(text: &str, wanted: Option<Dialect>) -> Result<Request, ProtocolError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let Some(first) = text.trim_start().chars().next() else { return Err(ProtocolError::Empty) };
    let like_json = matches!(first, '{' | '[' | '"');
    match wanted {
        Some(Dialect::HermesText) if like_json => match parse_document(text, wanted) {
            Err(ProtocolError::Syntax { .. }) if hermes::has_tag(text) => parse_text(text),
            read => read,
        },
        Some(Dialect::HermesText) => parse_text(text),
        None if !like_json && hermes::has_tag(text) => parse_text(text),
        Some(wanted) if !like_json && hermes::read(text).is_ok() => {
            Err(ProtocolError::WrongDialect { wanted, found: Dialect::HermesText })
        }
        _ => parse_document(text, wanted),
    }
}

/// [`parse`] for bytes that should be UTF-8.
pub fn parse_bytes(bytes: &[u8], wanted: Option<Dialect>) -> Result<Request, ProtocolError> {
    let text = std::str::from_utf8(bytes).map_err(|e| {
        let offset = e.valid_up_to();
        let before = bytes.get(..offset).unwrap_or_default();
        ProtocolError::NotUtf8 { offset, line: syntax::count_lines(before) }
    })?;
    parse(text, wanted)
}

fn parse_document(text: &str, wanted: Option<Dialect>) -> Result<Request, ProtocolError> {
    let found = document::read(text)?;
    let dialect = match wanted {
        Some(wanted) if !found.answers(wanted) => {
            return Err(ProtocolError::WrongDialect { wanted, found: found.dialect });
        }
        Some(wanted) => wanted,
        None => found.dialect,
    };
    match found.source {
        Source::Calls(list) => {
            let drafts = list.into_iter().map(call::read).collect();
            Ok(Request::assemble(dialect, drafts, dialect == Dialect::HermesText))
        }
        Source::Text(text) => Ok(Request::assemble(dialect, hermes::read(&text)?, true)),
    }
}

fn parse_text(text: &str) -> Result<Request, ProtocolError> {
    Ok(Request::assemble(Dialect::HermesText, hermes::read(text)?, false))
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
