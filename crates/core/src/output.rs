//! The output of a tool: always JSON text, sometimes with attachments.

use std::path::PathBuf;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::{ErrorKind, ToolError};

/// A part of a result that is not text, such as an image for a vision model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// The media type, such as `image/png`.
    pub media_type: String,
    /// The file with the bytes.
    pub path: PathBuf,
}

/// How a call that returned a result ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CallEnding {
    /// The call did what was asked. If the result reports a program, its exit
    /// code decides whether it failed.
    #[default]
    Completed,
    /// The call did what was asked and nothing failed, whatever the exit code.
    Succeeded,
    /// The call was stopped; the result is partial.
    Stopped,
    /// The result is incomplete for this reason.
    Incomplete(ErrorKind),
}

/// The output of a tool that ran to completion.
#[derive(Debug, Clone)]
pub struct ToolOutput {
    content: String,
    known_json: bool,
    ending: CallEnding,
    /// Files attached to the text.
    pub attachments: Vec<Attachment>,
}

impl ToolOutput {
    /// Serializes `value`. Fails only for types that JSON cannot represent,
    /// such as maps whose keys are not strings.
    pub fn json(value: &impl Serialize) -> Result<Self, ToolError> {
        let content = serde_json::to_string(value).map_err(|e| {
            ToolError::internal(format!("The result cannot be serialized as JSON: {e}"))
        })?;
        Ok(Self {
            content,
            known_json: true,
            ending: CallEnding::Completed,
            attachments: Vec::new(),
        })
    }

    /// Wraps text from elsewhere that claims to be JSON. The pipeline checks it
    /// before use.
    pub fn unchecked(content: String) -> Self {
        Self { content, known_json: false, ending: CallEnding::Completed, attachments: Vec::new() }
    }

    /// Adds attachments.
    #[must_use]
    pub fn with_attachments(mut self, attachments: Vec<Attachment>) -> Self {
        self.attachments = attachments;
        self
    }

    /// Sets whether the call was stopped before it completed.
    #[must_use]
    pub fn with_stopped(self, stopped: bool) -> Self {
        self.with_ending(if stopped { CallEnding::Stopped } else { CallEnding::Completed })
    }

    /// Whether the call was stopped before it completed.
    pub fn is_stopped(&self) -> bool {
        self.ending == CallEnding::Stopped
    }

    /// Sets how the call ended.
    #[must_use]
    pub fn with_ending(mut self, ending: CallEnding) -> Self {
        self.ending = ending;
        self
    }

    /// Returns how the call ended.
    pub fn ending(&self) -> CallEnding {
        self.ending
    }

    /// The JSON text.
    pub fn content(&self) -> &str {
        &self.content
    }

    /// Returns the JSON text and attachments after checking that the text is
    /// JSON.
    pub fn into_checked(self) -> Result<(String, Vec<Attachment>), ToolError> {
        if !self.known_json && serde_json::from_str::<serde::de::IgnoredAny>(&self.content).is_err()
        {
            return Err(ToolError::internal("The tool returned invalid JSON")
                .with_hint("The tool must return one JSON document.")
                .with("error_type", "tool_result_contract"));
        }
        Ok((self.content, self.attachments))
    }
}

/// Serializes a result as JSON text. A value that JSON cannot represent becomes
/// an error result, so the text is always JSON.
pub fn tool_result(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_else(|e| {
        tool_error(ErrorKind::Internal, format!("The result cannot be serialized as JSON: {e}"), [])
    })
}

/// Returns an error as JSON text, with extra fields.
pub fn tool_error<const N: usize>(
    kind: ErrorKind,
    message: impl Into<String>,
    extra: [(&str, Value); N],
) -> String {
    let mut error = ToolError::new(kind, message);
    for (key, value) in extra {
        error = error.with(key, value);
    }
    error.to_json()
}

/// For results such as `{"ok": true}` that have no type.
impl From<Map<String, Value>> for ToolOutput {
    fn from(object: Map<String, Value>) -> Self {
        Self {
            content: Value::Object(object).to_string(),
            known_json: true,
            ending: CallEnding::Completed,
            attachments: Vec::new(),
        }
    }
}
