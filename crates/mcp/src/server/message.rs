//! Messages as they come from a client, and what is said of text that is none.

use std::borrow::Cow;
use std::collections::HashMap;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientJsonRpcMessage, ClientRequest, ErrorCode,
    JsonRpcVersion2_0, RequestId,
};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// Some programs begin a text with it.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// What is said of a text that is no message.
#[derive(Debug, PartialEq)]
pub(crate) struct Refusal {
    code: ErrorCode,
    message: Cow<'static, str>,
    id: Option<RequestId>,
}

impl Refusal {
    /// A text that was too long to be looked at.
    pub(crate) fn too_long(most: usize) -> Self {
        Self::invalid(format!("A message may have {most} bytes"), None)
    }

    /// A reply or a notification that is not in order, where something must be
    /// said of it.
    pub(crate) fn of_reply() -> Self {
        Self::invalid("Invalid request: it is not a message of the protocol", None)
    }

    fn invalid(message: impl Into<Cow<'static, str>>, id: Option<RequestId>) -> Self {
        Self { code: ErrorCode::INVALID_REQUEST, message: message.into(), id }
    }

    /// As it is sent. An id that cannot be told is null.
    pub(crate) fn to_json(&self) -> String {
        let error = json!({ "code": self.code.0, "message": self.message });
        json!({ "jsonrpc": "2.0", "id": self.id, "error": error }).to_string()
    }
}

/// Reads a message. Nothing comes of what is not to be answered: a reply or a
/// notification that is not in order.
pub(crate) fn read(text: &[u8]) -> Result<Option<ClientJsonRpcMessage>, Refusal> {
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    if let Some(call) = read_call(text) {
        return Ok(Some(call));
    }
    match serde_json::from_slice(text) {
        Ok(message) => Ok(Some(message)),
        Err(error) => match refuse(text, &error.to_string()) {
            Some(refusal) => Err(refusal),
            None => Ok(None),
        },
    }
}

/// The messages of a batch, if the text is one. None if it is empty: that is
/// no message.
pub(crate) fn read_batch(
    text: &[u8],
) -> Option<Vec<Result<Option<ClientJsonRpcMessage>, Refusal>>> {
    let all: Vec<&RawValue> = serde_json::from_slice(text).ok()?;
    let read = all.iter().map(|one| read(one.get().as_bytes()));
    (!all.is_empty()).then(|| read.collect())
}

/// A call in the usual form, which is most of what comes. The general way
/// tries every kind of message there is.
fn read_call(text: &[u8]) -> Option<ClientJsonRpcMessage> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Call<'a> {
        #[serde(rename = "jsonrpc")]
        _version: JsonRpcVersion2_0,
        id: RequestId,
        #[serde(borrow)]
        method: &'a str,
        #[serde(borrow)]
        params: &'a RawValue,
    }
    let call: Call<'_> = serde_json::from_slice(text).ok()?;
    if call.method != "tools/call" {
        return None;
    }
    let mut params: CallToolRequestParams = serde_json::from_str(call.params.get()).ok()?;
    let meta = params.meta.take();
    let mut request = CallToolRequest::new(params);
    if let Some(meta) = meta {
        request.extensions.insert(meta);
    }
    Some(ClientJsonRpcMessage::request(ClientRequest::CallToolRequest(request), call.id))
}

/// What is wrong with a text that is no message.
pub(crate) fn refuse(text: &[u8], why: &str) -> Option<Refusal> {
    let parsed = match std::str::from_utf8(text) {
        Ok(text) => serde_json::from_str::<IgnoredAny>(text).map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    if let Err(error) = parsed {
        let message = format!("Parse error: {error}").into();
        return Some(Refusal { code: ErrorCode::PARSE_ERROR, message, id: None });
    }
    let Ok(fields) = serde_json::from_slice::<HashMap<Cow<'_, str>, &RawValue>>(text) else {
        let what = match text.trim_ascii_start().first() {
            Some(b'[') => "Invalid request: a batch is not part of this version of the protocol",
            _ => "Invalid request: a message is an object",
        };
        return Some(Refusal::invalid(what, None));
    };
    let field = |name: &str| fields.get(name).map(|raw| raw.get());
    // Nobody answers an answer: two that do not understand one another would
    // never end.
    if field("method").is_none() && (field("result").is_some() || field("error").is_some()) {
        return None;
    }
    let is_text = |raw: &str| raw.starts_with('"');
    let is_current = field("jsonrpc") == Some(r#""2.0""#);
    if field("id").is_none() && is_current && field("method").is_some_and(is_text) {
        return None;
    }
    let id = field("id").and_then(|raw| serde_json::from_str(raw).ok());
    let wrong = if !is_current {
        "`jsonrpc` must be \"2.0\""
    } else if !field("method").is_some_and(is_text) {
        "`method` must be a text"
    } else if id.is_none() {
        "`id` must be a whole number or a text"
    } else if why.contains("recursion limit") {
        "it is nested too deeply"
    } else {
        "it is not a message of the protocol"
    };
    Some(Refusal::invalid(format!("Invalid request: {wrong}"), id))
}

/// Whether there is such a method here. Who calls it and is not understood has
/// given it something else than it takes.
pub(crate) fn is_method(name: &str, is_newer: bool) -> bool {
    match name {
        "tools/call" | "tools/list" | "tasks/cancel" | "tasks/get" | "tasks/update" => true,
        "initialize" | "ping" => !is_newer,
        "server/discover" | "subscriptions/listen" => is_newer,
        _ => false,
    }
}

/// Why these are no parameters of that method.
pub(crate) fn explain(method: &str, params: Option<&Value>) -> String {
    let why = match (method, params) {
        (_, None) => Some("there are none".to_owned()),
        ("tools/call", Some(params)) => {
            CallToolRequestParams::deserialize(params).err().map(|error| error.to_string())
        }
        _ => None,
    };
    let why = why.unwrap_or_else(|| "they are not of the form that it takes".to_owned());
    format!("Invalid params of {method}: {why}")
}

#[cfg(test)]
#[path = "message_tests.rs"]
mod tests;
