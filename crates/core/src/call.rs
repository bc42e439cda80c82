//! Calls and their results.

use std::time::Duration;

use serde_json::Value;

use crate::{Attachment, ErrorKind, ToolError};

/// Arguments of a call: parsed, or as the text that a model wrote.
#[derive(Debug, Clone, PartialEq)]
pub enum CallArguments {
    /// Parsed by the caller.
    Json(Value),
    /// Unparsed; the pipeline parses and repairs it.
    Text(String),
}

/// One call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// The caller's id for this call; the result carries it.
    pub id: String,
    /// The tool's name, as the caller wrote it.
    pub name: String,
    /// The arguments.
    pub arguments: CallArguments,
}

impl ToolCall {
    /// Creates a call with parsed arguments.
    pub fn new(id: impl Into<String>, name: impl Into<String>, arguments: Value) -> Self {
        Self { id: id.into(), name: name.into(), arguments: CallArguments::Json(arguments) }
    }

    /// Creates a call with unparsed arguments.
    pub fn from_text(
        id: impl Into<String>,
        name: impl Into<String>,
        arguments: impl Into<String>,
    ) -> Self {
        Self { id: id.into(), name: name.into(), arguments: CallArguments::Text(arguments.into()) }
    }
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallStatus {
    /// The tool succeeded.
    Success,
    /// The call failed with this kind of error.
    Error(ErrorKind),
}

impl CallStatus {
    /// Whether the call succeeded.
    pub fn is_success(self) -> bool {
        self == Self::Success
    }
}

/// Whether the effects of a failed call may have happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EffectDisposition {
    /// The call did not start.
    NotRun,
    /// The call ran to its end.
    Complete,
    /// The call started and was interrupted.
    Unknown,
}

impl EffectDisposition {
    /// Returns the name used in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::NotRun => "none",
            Self::Complete => "complete",
            Self::Unknown => "unknown",
        }
    }
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolResult {
    /// The id of the call.
    pub tool_call_id: String,
    /// The canonical name of the tool; the caller's name if no tool ran.
    pub name: String,
    /// The name in the call, if it is another name of the tool.
    pub called_as: Option<String>,
    /// The result, always one JSON document.
    pub content: String,
    /// How the call ended.
    pub status: CallStatus,
    /// Whether it ran a command that failed. The call did what was asked, so it
    /// is not an error of the tool.
    pub command_failed: bool,
    /// Whether its effects may have happened.
    pub disposition: EffectDisposition,
    /// Repairs of the arguments, one line each.
    pub coercions: Vec<String>,
    /// Attachments to the text.
    pub attachments: Vec<Attachment>,
    /// The path of the full result, if `content` is only a preview.
    pub spill_path: Option<std::path::PathBuf>,
    /// Whether the content comes from an untrusted source and is labelled so.
    pub untrusted: bool,
    /// Duration of all stages.
    pub duration: Duration,
}

impl ToolResult {
    /// Creates the result of a call that failed before or while it ran.
    pub fn error(
        call_id: &str,
        name: &str,
        error: &ToolError,
        disposition: EffectDisposition,
    ) -> Self {
        let content = if disposition == EffectDisposition::Unknown {
            error.clone().with("effect_disposition", disposition.name()).to_json()
        } else {
            error.to_json()
        };
        Self {
            tool_call_id: call_id.to_owned(),
            name: name.to_owned(),
            called_as: None,
            content,
            status: CallStatus::Error(error.kind()),
            command_failed: false,
            disposition,
            coercions: Vec::new(),
            attachments: Vec::new(),
            spill_path: None,
            untrusted: false,
            duration: Duration::ZERO,
        }
    }

    /// The name by which the tool was called.
    pub fn called_name(&self) -> &str {
        self.called_as.as_deref().unwrap_or(&self.name)
    }

    /// Whether the call succeeded.
    pub fn is_success(&self) -> bool {
        self.status.is_success()
    }
}
