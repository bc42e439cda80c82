//! Results, written in the dialect of the question.

use std::borrow::Cow;

use hermes_core::{Attachment, CallStatus, ToolError, ToolResult};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;

use crate::call::IdForm;
use crate::{Dialect, Request, node};

/// Writes the results of a request, in the order given.
///
/// The answer is one line of JSON, except to a bare `<tool_call>` text, which
/// is answered by `<tool_response>` blocks. Attachments are listed, by path,
/// in the envelope only; the other dialects have no place for a path.
pub fn render(request: &Request, results: &[ToolResult]) -> String {
    let answers = results
        .iter()
        .enumerate()
        .map(|(position, result)| Answer { result, form: request.id_form(position) });
    match request.dialect {
        Dialect::Envelope => {
            let tool_results = answers.map(Answer::in_envelope).collect();
            to_line(&Envelope { tool_results })
        }
        Dialect::OpenAiChat => to_line(&answers.map(Answer::in_chat).collect::<Vec<_>>()),
        Dialect::OpenAiResponses => to_line(&answers.map(Answer::in_output).collect::<Vec<_>>()),
        Dialect::Anthropic => {
            let content = answers.map(Answer::in_block).collect();
            to_line(&UserMessage { role: "user", content })
        }
        Dialect::HermesText => {
            let blocks: Vec<_> =
                answers.map(|answer| block(&to_line(&answer.in_response()))).collect();
            let text = blocks.join("\n");
            if request.is_wrapped() {
                to_line(&TextMessage { role: "tool", content: &text })
            } else {
                text
            }
        }
    }
}

/// Writes the answer to a request that could not be read: one line of
/// `{"error","kind","hint",…}`, in a `<tool_response>` for
/// [`Dialect::HermesText`], whose readers look for nothing else.
pub fn render_error(dialect: Option<Dialect>, error: &ToolError) -> String {
    match dialect {
        Some(Dialect::HermesText) => block(&error.to_json()),
        _ => error.to_json(),
    }
}

fn to_line(answer: &impl Serialize) -> String {
    serde_json::to_string(answer).unwrap_or_else(|e| {
        ToolError::internal(format!("The answer cannot be written as JSON: {e}")).to_json()
    })
}

/// A `<` can only stand in a string, where its escape means the same; so no
/// result can close its block or open a call.
fn block(json: &str) -> String {
    let safe = json.replace("<tool_", "\\u003ctool_").replace("</tool_", "\\u003c/tool_");
    format!("<tool_response>\n{safe}\n</tool_response>")
}

struct Answer<'a> {
    result: &'a ToolResult,
    form: IdForm,
}

impl<'a> Answer<'a> {
    fn id(&self) -> Id<'a> {
        Id { text: &self.result.tool_call_id, form: self.form }
    }

    fn in_envelope(self) -> EnvelopeResult<'a> {
        EnvelopeResult {
            tool_call_id: self.id(),
            role: "tool",
            name: &self.result.name,
            content: Content(self.result),
            duration_ms: u64::try_from(self.result.duration.as_millis()).unwrap_or(u64::MAX),
            coerced: &self.result.coercions,
            attachments: self.result.attachments.iter().map(File::from).collect(),
        }
    }

    fn in_chat(self) -> ToolMessage<'a> {
        ToolMessage {
            role: "tool",
            tool_call_id: self.id(),
            name: &self.result.name,
            content: &self.result.content,
        }
    }

    fn in_output(self) -> OutputItem<'a> {
        OutputItem {
            kind: "function_call_output",
            call_id: self.id(),
            output: &self.result.content,
        }
    }

    fn in_block(self) -> ResultBlock<'a> {
        ResultBlock {
            kind: "tool_result",
            tool_use_id: self.id(),
            content: &self.result.content,
            is_error: !self.result.is_success(),
        }
    }

    fn in_response(self) -> Response<'a> {
        Response {
            tool_call_id: (self.form != IdForm::Made).then(|| self.id()),
            name: &self.result.name,
            content: Document(&self.result.content),
        }
    }
}

#[derive(serde::Serialize)]
struct Envelope<'a> {
    tool_results: Vec<EnvelopeResult<'a>>,
}

#[derive(serde::Serialize)]
struct EnvelopeResult<'a> {
    tool_call_id: Id<'a>,
    role: &'static str,
    name: &'a str,
    content: Content<'a>,
    duration_ms: u64,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    coerced: &'a [String],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    attachments: Vec<File<'a>>,
}

#[derive(serde::Serialize)]
struct File<'a> {
    media_type: &'a str,
    path: Cow<'a, str>,
}

impl<'a> From<&'a Attachment> for File<'a> {
    fn from(attachment: &'a Attachment) -> Self {
        Self { media_type: &attachment.media_type, path: attachment.path.to_string_lossy() }
    }
}

#[derive(serde::Serialize)]
struct ToolMessage<'a> {
    role: &'static str,
    tool_call_id: Id<'a>,
    name: &'a str,
    content: &'a str,
}

#[derive(serde::Serialize)]
struct OutputItem<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    call_id: Id<'a>,
    output: &'a str,
}

#[derive(serde::Serialize)]
struct UserMessage<'a> {
    role: &'static str,
    content: Vec<ResultBlock<'a>>,
}

#[derive(serde::Serialize)]
struct ResultBlock<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    tool_use_id: Id<'a>,
    content: &'a str,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_error: bool,
}

#[derive(serde::Serialize)]
struct Response<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<Id<'a>>,
    name: &'a str,
    content: Document<'a>,
}

#[derive(serde::Serialize)]
struct TextMessage<'a> {
    role: &'static str,
    content: &'a str,
}

/// An id, as a number if it came as one.
struct Id<'a> {
    text: &'a str,
    form: IdForm,
}

impl Serialize for Id<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.form == IdForm::Number
            && node::kind(self.text) == "a number"
            && let Ok(number) = serde_json::from_str::<&RawValue>(self.text)
        {
            return number.serialize(serializer);
        }
        serializer.serialize_str(self.text)
    }
}

/// The result's own members under a `status` that is always ours.
struct Content<'a>(&'a ToolResult);

impl Serialize for Content<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let status = match self.0.status {
            CallStatus::Success => "success",
            CallStatus::Error(_) => "error",
        };
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("status", status)?;
        match node::entries(&self.0.content) {
            Ok(entries) => {
                let theirs = free_key(&entries);
                for (key, value) in &entries {
                    let key = if key == "status" { theirs.as_str() } else { key };
                    map.serialize_entry(key, &OneLine(value))?;
                }
            }
            Err(_) => map.serialize_entry("result", &Document(&self.0.content))?,
        }
        map.end()
    }
}

/// The key under which a `status` of the tool's own goes on.
fn free_key(entries: &[(Cow<'_, str>, &RawValue)]) -> String {
    let mut key = "tool_status".to_owned();
    while entries.iter().any(|(taken, _)| *taken == key) {
        key.push('_');
    }
    key
}

/// A JSON document, or a string where it is none.
struct Document<'a>(&'a str);

impl Serialize for Document<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match serde_json::from_str::<&RawValue>(self.0) {
            Ok(value) => OneLine(value).serialize(serializer),
            Err(_) => serializer.serialize_str(self.0),
        }
    }
}

/// JSON without line breaks, which in JSON are never part of a string.
struct OneLine<'a>(&'a RawValue);

impl Serialize for OneLine<'_> {
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
#[path = "answer_tests.rs"]
mod tests;
