//! Parses client messages, and explains what is wrong with invalid ones.

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

/// Some programs start their output with it.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Occurs in list requests that name a page.
const CURSOR_KEY: &[u8] = b"\"cursor\"";

/// Maximum size of a list request that is checked.
const MAX_LIST_BYTES: usize = 64 << 10;

/// The error response to an invalid message.
#[derive(Debug, PartialEq)]
pub(crate) struct MessageRejection {
    code: ErrorCode,
    message: Cow<'static, str>,
    id: Option<RequestId>,
}

impl MessageRejection {
    /// Rejects a message that was too long to parse.
    pub(crate) fn too_long(most: usize) -> Self {
        Self::invalid(format!("The message exceeds {most} bytes"), None)
    }

    /// Rejects an invalid response or notification, where a reply is mandatory.
    pub(crate) fn invalid_reply() -> Self {
        Self::invalid("Invalid request: not a protocol message", None)
    }

    /// Rejects a request whose id is that of a pending request.
    pub(crate) fn duplicate_id(id: &RequestId) -> Self {
        let wrong = "Invalid request: another request with this id is pending";
        Self::invalid(wrong, Some(id.clone()))
    }

    fn invalid(message: impl Into<Cow<'static, str>>, id: Option<RequestId>) -> Self {
        Self { code: ErrorCode::INVALID_REQUEST, message: message.into(), id }
    }

    /// Returns the rejection as a message.
    pub(crate) fn to_message(&self) -> ServerJsonRpcMessage {
        let error = ErrorData::new(self.code, self.message.clone(), None);
        ServerJsonRpcMessage::error(error, self.id.clone())
    }

    /// Returns the rejection as JSON. An unknown id is null.
    pub(crate) fn to_json(&self) -> String {
        let error = json!({ "code": self.code.0, "message": self.message });
        json!({ "jsonrpc": "2.0", "id": self.id, "error": error }).to_string()
    }
}

/// Parses a message. Returns none for an invalid response or notification,
/// which gets no reply.
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

/// Parses the messages of a batch. Returns none if the text is not a batch or
/// is empty, which is invalid.
pub(crate) fn parse_batch(
    text: &[u8],
) -> Option<Vec<Result<Option<ClientJsonRpcMessage>, MessageRejection>>> {
    let all: Vec<&RawValue> = serde_json::from_slice(text).ok()?;
    let read = all.iter().map(|one| parse_message(one.get().as_bytes()));
    (!all.is_empty()).then(|| read.collect())
}

/// Fast path for tool calls, the most frequent message. The general parser
/// tries every message type.
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

/// Explains what is wrong with an invalid message.
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
            Some(b'[') => "Invalid request: this protocol version has no batches",
            _ => "Invalid request: a message must be an object",
        };
        return Some(MessageRejection::invalid(what, None));
    };
    let field = |name: &str| fields.get(name).map(|raw| raw.get());
    // Responses get no response: two confused peers would never stop.
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
        "`method` must be a string".to_owned()
    } else if id.is_none() {
        "`id` must be an integer or a string".to_owned()
    } else {
        // Text that can be skipped is not necessarily parsable.
        match serde_json::from_slice::<Value>(text).map_err(|error| error.to_string()) {
            Err(error) if error.contains("recursion limit") => "it is nested too deeply".to_owned(),
            Err(error) => format!("cannot parse it: {error}"),
            Ok(read) if read.get("params").is_some_and(|it| !it.is_object() && !it.is_null()) => {
                let message = "Invalid params: params must be an object".into();
                return Some(MessageRejection { code: ErrorCode::INVALID_PARAMS, message, id });
            }
            Ok(_) => "not a protocol message".to_owned(),
        }
    };
    Some(MessageRejection::invalid(format!("Invalid request: {wrong}"), id))
}

/// Whether the method exists. If a call of it was not recognized, its
/// parameters are invalid.
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

/// Explains why parameters are invalid for a method.
pub(crate) fn explain_params(method: &str, params: Option<&Value>) -> String {
    let given = params.unwrap_or(&Value::Null);
    let why = match method {
        _ if given.is_null() => Some("params are missing".to_owned()),
        _ if !given.is_object() => Some("params must be an object".to_owned()),
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
    let why = why.unwrap_or_else(|| "params have the wrong form".to_owned());
    format!("Invalid params for {method}: {why}")
}

/// Explains why parameters cannot be parsed, and names the field.
fn params_error<T: DeserializeOwned>(given: &Value) -> Option<String> {
    let why = T::deserialize(given).err()?.to_string();
    // The parser names missing fields. For an invalid field it reports only the
    // problem; the field at fault is the one whose removal changes the error.
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

/// Rejects a cursor that is not a string. The list parser would ignore it and
/// return the first page.
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

/// Rejects an invalid `initialize` request, which would otherwise be treated as
/// a custom request.
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
