//! What a tool gives back: always JSON text, sometimes with files attached.

use std::path::PathBuf;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::{ErrorKind, ToolError};

/// Something that belongs to a result but is not text, such as an image that
/// a model with eyes should see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// The media type, such as `image/png`.
    pub media_type: String,
    /// Where the bytes are.
    pub path: PathBuf,
}

/// How a call has ended that gave an answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CallEnding {
    /// It is what was asked for. If it tells of a program, that has failed by its
    /// exit code.
    #[default]
    Completed,
    /// It is what was asked for, and nothing has failed, whatever the exit code.
    Succeeded,
    /// It is what there was when the call was stopped.
    Stopped,
    /// It is all that there is, and not what was asked for, for this reason.
    Incomplete(ErrorKind),
}

/// The outcome of a tool that ran to its end.
#[derive(Debug, Clone)]
pub struct ToolOutput {
    content: String,
    known_json: bool,
    ending: CallEnding,
    /// What comes with the text.
    pub attachments: Vec<Attachment>,
}

impl ToolOutput {
    /// Serialises `value`. Fails only for types that JSON cannot hold, such as
    /// maps whose keys are not strings.
    pub fn json(value: &impl Serialize) -> Result<Self, ToolError> {
        let content = serde_json::to_string(value).map_err(|e| {
            ToolError::internal(format!("The result cannot be written as JSON: {e}"))
        })?;
        Ok(Self {
            content,
            known_json: true,
            ending: CallEnding::Completed,
            attachments: Vec::new(),
        })
    }

    /// Text that came from elsewhere and claims to be JSON. The pipeline
    /// checks it before anyone relies on it.
    pub fn unchecked(content: String) -> Self {
        Self { content, known_json: false, ending: CallEnding::Completed, attachments: Vec::new() }
    }

    /// Adds attachments.
    #[must_use]
    pub fn with_attachments(mut self, attachments: Vec<Attachment>) -> Self {
        self.attachments = attachments;
        self
    }

    /// Says whether the call was stopped before it had done what was asked.
    #[must_use]
    pub fn with_stopped(self, stopped: bool) -> Self {
        self.with_ending(if stopped { CallEnding::Stopped } else { CallEnding::Completed })
    }

    /// Whether the call was stopped before it had done what was asked.
    pub fn is_stopped(&self) -> bool {
        self.ending == CallEnding::Stopped
    }

    /// Says how the call has ended.
    #[must_use]
    pub fn with_ending(mut self, ending: CallEnding) -> Self {
        self.ending = ending;
        self
    }

    /// How the call has ended.
    pub fn ending(&self) -> CallEnding {
        self.ending
    }

    /// The JSON text.
    pub fn content(&self) -> &str {
        &self.content
    }

    /// Takes the JSON text, once it is known to be JSON.
    pub fn into_checked(self) -> Result<(String, Vec<Attachment>), ToolError> {
        if !self.known_json && serde_json::from_str::<serde::de::IgnoredAny>(&self.content).is_err()
        {
            return Err(ToolError::internal("The tool answered with something that is not JSON")
                .with_hint("The tool must answer with one JSON document.")
                .with("error_type", "tool_result_contract"));
        }
        Ok((self.content, self.attachments))
    }
}

/// A result as JSON text. What JSON cannot hold becomes an error result, so
/// that the answer is JSON in every case.
pub fn tool_result(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_else(|e| {
        tool_error(ErrorKind::Internal, format!("The result cannot be written as JSON: {e}"), [])
    })
}

/// An error as JSON text, with extra fields.
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

/// `{"ok": true}` and the like, without a type for it.
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
