//! Messages as they come from a client, and what is said of text that is none.

use std::borrow::Cow;
use std::collections::HashMap;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CancelTaskParams, ClientJsonRpcMessage, ClientRequest,
    ErrorCode, ErrorData, GetPromptRequestParams, GetTaskParams, InitializeRequestParams,
    JsonRpcVersion2_0, PaginatedRequestParams, ReadResourceRequestParams, RequestId,
    ServerJsonRpcMessage, UpdateTaskParams,
};
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// Some programs begin a text with it.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// What a request for a list has in it that names a page.
const CURSOR_KEY: &[u8] = b"\"cursor\"";

/// No request for a list is longer.
const MAX_LIST_BYTES: usize = 64 << 10;

/// What is said of a text that is no message.
#[derive(Debug, PartialEq)]
pub(crate) struct MessageRejection {
    code: ErrorCode,
    message: Cow<'static, str>,
    id: Option<RequestId>,
}

impl MessageRejection {
    /// A text that was too long to be looked at.
    pub(crate) fn too_long(most: usize) -> Self {
        Self::invalid(format!("A message may have {most} bytes"), None)
    }

    /// A reply or a notification that is not in order, where something must be
    /// said of it.
    pub(crate) fn invalid_reply() -> Self {
        Self::invalid("Invalid request: it is not a message of the protocol", None)
    }

    /// A request whose id belongs to one that is not answered yet.
    pub(crate) fn duplicate_id(id: &RequestId) -> Self {
        let wrong = "Invalid request: a request of this id is not answered yet";
        Self::invalid(wrong, Some(id.clone()))
    }

    fn invalid(message: impl Into<Cow<'static, str>>, id: Option<RequestId>) -> Self {
        Self { code: ErrorCode::INVALID_REQUEST, message: message.into(), id }
    }

    /// The same as a message.
    pub(crate) fn to_message(&self) -> ServerJsonRpcMessage {
        let error = ErrorData::new(self.code, self.message.clone(), None);
        ServerJsonRpcMessage::error(error, self.id.clone())
    }

    /// As it is sent. An id that cannot be told is null.
    pub(crate) fn to_json(&self) -> String {
        let error = json!({ "code": self.code.0, "message": self.message });
        json!({ "jsonrpc": "2.0", "id": self.id, "error": error }).to_string()
    }
}

/// Reads a message. Nothing comes of what is not to be answered: a reply or a
/// notification that is not in order.
pub(crate) fn parse_message(text: &[u8]) -> Result<Option<ClientJsonRpcMessage>, MessageRejection> {
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    if let Some(call) = parse_call(text) {
        return Ok(Some(call));
    }
    match serde_json::from_slice(text) {
        Ok(message) => reject_cursor(text).map_or(Ok(Some(message)), Err),
        Err(_) => match reject(text) {
            Some(refusal) => Err(refusal),
            None => Ok(None),
        },
    }
}

/// The messages of a batch, if the text is one. None if it is empty: that is
/// no message.
pub(crate) fn parse_batch(
    text: &[u8],
) -> Option<Vec<Result<Option<ClientJsonRpcMessage>, MessageRejection>>> {
    let all: Vec<&RawValue> = serde_json::from_slice(text).ok()?;
    let read = all.iter().map(|one| parse_message(one.get().as_bytes()));
    (!all.is_empty()).then(|| read.collect())
}

/// A call in the usual form, which is most of what comes. The general way
/// tries every kind of message there is.
fn parse_call(text: &[u8]) -> Option<ClientJsonRpcMessage> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct ToolCallMessage<'a> {
        #[serde(rename = "jsonrpc")]
        _version: JsonRpcVersion2_0,
        id: RequestId,
        #[serde(borrow)]
        method: &'a str,
        #[serde(borrow)]
        params: &'a RawValue,
    }
    let call: ToolCallMessage<'_> = serde_json::from_slice(text).ok()?;
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
pub(crate) fn reject(text: &[u8]) -> Option<MessageRejection> {
    let parsed = match std::str::from_utf8(text) {
        Ok(text) => serde_json::from_str::<IgnoredAny>(text).map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    if let Err(error) = parsed {
        let message = format!("Parse error: {error}").into();
        return Some(MessageRejection { code: ErrorCode::PARSE_ERROR, message, id: None });
    }
    let Ok(fields) = serde_json::from_slice::<HashMap<Cow<'_, str>, &RawValue>>(text) else {
        let what = match text.trim_ascii_start().first() {
            Some(b'[') => "Invalid request: a batch is not part of this version of the protocol",
            _ => "Invalid request: a message is an object",
        };
        return Some(MessageRejection::invalid(what, None));
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
        "`jsonrpc` must be \"2.0\"".to_owned()
    } else if !field("method").is_some_and(is_text) {
        "`method` must be a text".to_owned()
    } else if id.is_none() {
        "`id` must be a whole number or a text".to_owned()
    } else {
        // What can be passed over need not be what can be read.
        match serde_json::from_slice::<Value>(text).map_err(|error| error.to_string()) {
            Err(error) if error.contains("recursion limit") => "it is nested too deeply".to_owned(),
            Err(error) => format!("it cannot be read: {error}"),
            Ok(read) if read.get("params").is_some_and(|it| !it.is_object() && !it.is_null()) => {
                let message = "Invalid params: they must be an object".into();
                return Some(MessageRejection { code: ErrorCode::INVALID_PARAMS, message, id });
            }
            Ok(_) => "it is not a message of the protocol".to_owned(),
        }
    };
    Some(MessageRejection::invalid(format!("Invalid request: {wrong}"), id))
}

/// Whether there is such a method here. Who calls it and is not understood has
/// given it something else than it takes.
pub(crate) fn is_known_method(name: &str, is_newer: bool, has_skills: bool) -> bool {
    match name {
        "tools/call" | "tools/list" | "tasks/cancel" | "tasks/get" | "tasks/update" => true,
        "prompts/get"
        | "prompts/list"
        | "resources/list"
        | "resources/read"
        | "resources/templates/list" => has_skills,
        "initialize" | "ping" => !is_newer,
        "server/discover" | "subscriptions/listen" => is_newer,
        _ => false,
    }
}

/// Why these are no parameters of that method.
pub(crate) fn explain_params(method: &str, params: Option<&Value>) -> String {
    let given = params.unwrap_or(&Value::Null);
    let why = match method {
        _ if given.is_null() => Some("there are none".to_owned()),
        _ if !given.is_object() => Some("they must be an object".to_owned()),
        "tools/call" => params_error::<CallToolRequestParams>(given),
        "prompts/get" => params_error::<GetPromptRequestParams>(given),
        "resources/read" => params_error::<ReadResourceRequestParams>(given),
        "initialize" => params_error::<InitializeRequestParams>(given),
        "tasks/get" => params_error::<GetTaskParams>(given),
        "tasks/update" => params_error::<UpdateTaskParams>(given),
        "tasks/cancel" => params_error::<CancelTaskParams>(given),
        "tools/list" | "prompts/list" | "resources/list" | "resources/templates/list" => {
            params_error::<PaginatedRequestParams>(given)
        }
        _ => None,
    };
    let why = why.unwrap_or_else(|| "they are not of the form that it takes".to_owned());
    format!("Invalid params of {method}: {why}")
}

/// Why parameters cannot be read, with the field that is at fault.
fn params_error<T: DeserializeOwned>(given: &Value) -> Option<String> {
    let why = T::deserialize(given).err()?.to_string();
    // A field that is missing is named by the reader. Of one that is there,
    // only what is wrong with it is said: without it, something else is.
    let fields = given.as_object().into_iter().flatten().take(8);
    let at_fault = fields.map(|(name, _)| name).find(|name| {
        let mut without = given.clone();
        without.as_object_mut().map(|fields| fields.remove(*name));
        T::deserialize(&without).err().is_none_or(|other| other.to_string() != why)
    });
    Some(match at_fault {
        Some(name) if !why.contains(&format!("`{name}`")) => format!("`{name}`: {why}"),
        _ => why,
    })
}

/// What is said of a cursor that is no text. Whoever reads requests for lists
/// would take it for none, and begin the list anew.
pub(crate) fn reject_cursor(text: &[u8]) -> Option<MessageRejection> {
    #[derive(Deserialize)]
    struct ListRequest {
        id: RequestId,
        method: String,
        params: Value,
    }
    let has_cursor = text.windows(CURSOR_KEY.len()).any(|part| part == CURSOR_KEY);
    if !has_cursor || text.len() > MAX_LIST_BYTES {
        return None;
    }
    let list: ListRequest = serde_json::from_slice(text)
        .ok()
        .filter(|it: &ListRequest| it.method.ends_with("/list"))?;
    params_error::<PaginatedRequestParams>(&list.params)?;
    let message = explain_params(&list.method, Some(&list.params)).into();
    Some(MessageRejection { code: ErrorCode::INVALID_PARAMS, message, id: Some(list.id) })
}

/// What is said of a greeting that is not understood. It is no request of
/// another kind for that.
pub(crate) fn reject_initialize(message: &ClientJsonRpcMessage) -> Option<MessageRejection> {
    let ClientJsonRpcMessage::Request(message) = message else { return None };
    let ClientRequest::CustomRequest(request) = &message.request else { return None };
    let why = (request.method == "initialize")
        .then(|| explain_params(&request.method, request.params.as_ref()))?;
    let id = Some(message.id.clone());
    Some(MessageRejection { code: ErrorCode::INVALID_PARAMS, message: why.into(), id })
}

#[cfg(test)]
#[path = "message_tests.rs"]
mod tests;
