//! Writes results in the dialect of the request.

use std::borrow::Cow;

use hermes_core::{Attachment, CallStatus, ToolError, ToolResult};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;

use crate::call::IdForm;
use crate::{CallDialect, CallRequest, json_node};

/// Writes the results of a request, in the order given.
///
/// The response is one line of JSON, except for a bare `<tool_call>` text,
/// which is answered by `<tool_response>` blocks. Attachments are listed, by
/// path, in the envelope only; the other dialects have no field for a path.
pub fn render_results(request: &CallRequest, results: &[ToolResult]) -> String {
    let answers = results
        .iter()
        .enumerate()
        .map(|(position, result)| ResultWriter { result, form: request.id_form(position) });
    match request.dialect {
        CallDialect::Envelope => {
            let tool_results = answers.map(ResultWriter::into_envelope).collect();
            to_line(&ResultEnvelope { tool_results })
        }
        CallDialect::OpenAiChat => {
            to_line(&answers.map(ResultWriter::into_chat_message).collect::<Vec<_>>())
        }
        CallDialect::OpenAiResponses => {
            to_line(&answers.map(ResultWriter::into_output_item).collect::<Vec<_>>())
        }
        CallDialect::Anthropic => {
            let content = answers.map(ResultWriter::into_result_block).collect();
            to_line(&ToolResultMessage { role: "user", content })
        }
        CallDialect::HermesText => {
            let blocks: Vec<_> =
                answers.map(|answer| response_block(&to_line(&answer.into_response()))).collect();
            let text = blocks.join("\n");
            if request.is_wrapped() {
                to_line(&TextMessage { role: "tool", content: &text })
            } else {
                text
            }
        }
    }
}

/// Writes the response to a request that could not be read: one line of
/// `{"error","kind","hint",…}`, in a `<tool_response>` for
/// [`CallDialect::HermesText`], whose readers expect nothing else.
pub fn render_error(dialect: Option<CallDialect>, error: &ToolError) -> String {
    match dialect {
        Some(CallDialect::HermesText) => response_block(&error.to_json()),
        _ => error.to_json(),
    }
}

fn to_line(answer: &impl Serialize) -> String {
    serde_json::to_string(answer).unwrap_or_else(|e| {
        ToolError::internal(format!("The response cannot be serialized as JSON: {e}")).to_json()
    })
}

/// Wraps a result. Tags in it are escaped, which is safe because `<` only
/// occurs in JSON strings; so no result can close its block or open a call.
fn response_block(json: &str) -> String {
    let safe = json.replace("<tool_", "\\u003ctool_").replace("</tool_", "\\u003c/tool_");
    format!("<tool_response>\n{safe}\n</tool_response>")
}

struct ResultWriter<'a> {
    result: &'a ToolResult,
    form: IdForm,
}

impl<'a> ResultWriter<'a> {
    fn id(&self) -> CallIdValue<'a> {
        CallIdValue { text: &self.result.tool_call_id, form: self.form }
    }

    fn into_envelope(self) -> EnvelopeResult<'a> {
        EnvelopeResult {
            tool_call_id: self.id(),
            role: "tool",
            name: self.result.called_name(),
            tool: self.result.called_as.as_ref().map(|_| self.result.name.as_str()),
            content: EnvelopeContent(self.result),
            duration_ms: u64::try_from(self.result.duration.as_millis()).unwrap_or(u64::MAX),
            coerced: &self.result.coercions,
            attachments: self.result.attachments.iter().map(AttachmentFile::from).collect(),
        }
    }

    fn into_chat_message(self) -> ToolMessage<'a> {
        ToolMessage {
            role: "tool",
            tool_call_id: self.id(),
            name: self.result.called_name(),
            content: &self.result.content,
        }
    }

    fn into_output_item(self) -> FunctionCallOutput<'a> {
        FunctionCallOutput {
            kind: "function_call_output",
            call_id: self.id(),
            output: &self.result.content,
        }
    }

    fn into_result_block(self) -> ToolResultBlock<'a> {
        ToolResultBlock {
            kind: "tool_result",
            tool_use_id: self.id(),
            content: &self.result.content,
            is_error: !self.result.is_success(),
        }
    }

    fn into_response(self) -> HermesToolResponse<'a> {
        HermesToolResponse {
            tool_call_id: (self.form != IdForm::Generated).then(|| self.id()),
            name: self.result.called_name(),
            content: JsonOrString(&self.result.content),
        }
    }
}

#[derive(serde::Serialize)]
struct ResultEnvelope<'a> {
    tool_results: Vec<EnvelopeResult<'a>>,
}

#[derive(serde::Serialize)]
struct EnvelopeResult<'a> {
    tool_call_id: CallIdValue<'a>,
    role: &'static str,
    name: &'a str,
    /// The tool, if `name` is another name of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<&'a str>,
    content: EnvelopeContent<'a>,
    duration_ms: u64,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    coerced: &'a [String],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    attachments: Vec<AttachmentFile<'a>>,
}

#[derive(serde::Serialize)]
struct AttachmentFile<'a> {
    media_type: &'a str,
    path: Cow<'a, str>,
}

impl<'a> From<&'a Attachment> for AttachmentFile<'a> {
    fn from(attachment: &'a Attachment) -> Self {
        Self { media_type: &attachment.media_type, path: attachment.path.to_string_lossy() }
    }
}

#[derive(serde::Serialize)]
struct ToolMessage<'a> {
    role: &'static str,
    tool_call_id: CallIdValue<'a>,
    name: &'a str,
    content: &'a str,
}

#[derive(serde::Serialize)]
struct FunctionCallOutput<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    call_id: CallIdValue<'a>,
    output: &'a str,
}

#[derive(serde::Serialize)]
struct ToolResultMessage<'a> {
    role: &'static str,
    content: Vec<ToolResultBlock<'a>>,
}

#[derive(serde::Serialize)]
struct ToolResultBlock<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    tool_use_id: CallIdValue<'a>,
    content: &'a str,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_error: bool,
}

#[derive(serde::Serialize)]
struct HermesToolResponse<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<CallIdValue<'a>>,
    name: &'a str,
    content: JsonOrString<'a>,
}

#[derive(serde::Serialize)]
struct TextMessage<'a> {
    role: &'static str,
    content: &'a str,
}

/// An id, written as a number if it was one.
struct CallIdValue<'a> {
    text: &'a str,
    form: IdForm,
}

impl Serialize for CallIdValue<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.form == IdForm::Number
            && json_node::describe_kind(self.text) == "a number"
            && let Ok(number) = serde_json::from_str::<&RawValue>(self.text)
        {
            return number.serialize(serializer);
        }
        serializer.serialize_str(self.text)
    }
}

/// The members of the result, with a `status` that is always ours.
struct EnvelopeContent<'a>(&'a ToolResult);

impl Serialize for EnvelopeContent<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let status = match self.0.status {
            CallStatus::Success => "success",
            CallStatus::Error(_) => "error",
        };
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("status", status)?;
        match json_node::entries(&self.0.content) {
            Ok(entries) => {
                let theirs = status_key(&entries);
                for (key, value) in &entries {
                    let key = if key == "status" { theirs.as_str() } else { key };
                    map.serialize_entry(key, &SingleLineJson(value))?;
                }
            }
            Err(_) => map.serialize_entry("result", &JsonOrString(&self.0.content))?,
        }
        map.end()
    }
}

/// Returns the key under which the tool's own `status` is kept.
fn status_key(entries: &[(Cow<'_, str>, &RawValue)]) -> String {
    let mut key = "tool_status".to_owned();
    while entries.iter().any(|(taken, _)| *taken == key) {
        key.push('_');
    }
    key
}

/// A JSON document, or a string if it is not valid JSON.
struct JsonOrString<'a>(&'a str);

impl Serialize for JsonOrString<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match serde_json::from_str::<&RawValue>(self.0) {
            Ok(value) => SingleLineJson(value).serialize(serializer),
            Err(_) => serializer.serialize_str(self.0),
        }
    }
}

/// JSON without line breaks, which in JSON never occur inside a string.
struct SingleLineJson<'a>(&'a RawValue);

impl Serialize for SingleLineJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = self.0.get();
        if memchr::memchr2(b'\n', b'\r', text.as_bytes()).is_none() {
            return self.0.serialize(serializer);
        }
        let line = RawValue::from_string(text.replace(['\n', '\r'], " "));
        line.map_err(serde::ser::Error::custom)?.serialize(serializer)
    }
}

#[cfg(test)]
#[path = "result_format_tests.rs"]
mod tests;
