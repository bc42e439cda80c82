//! A call on its way in and its result on the way out.

use std::time::Duration;

use serde_json::Value;

use crate::{Attachment, ErrorKind, ToolError};

/// Arguments as they came: already parsed, or as the text that a model wrote.
#[derive(Debug, Clone, PartialEq)]
pub enum CallArguments {
    /// Parsed by whoever read the request.
    Json(Value),
    /// Still text; the pipeline parses it and mends what can be mended.
    Text(String),
}

/// One call that somebody wants made.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// The caller's name for this call; the result carries it back.
    pub id: String,
    /// The tool's name, as the caller wrote it.
    pub name: String,
    /// Its arguments.
    pub arguments: CallArguments,
}

impl ToolCall {
    /// A call with parsed arguments.
    pub fn new(id: impl Into<String>, name: impl Into<String>, arguments: Value) -> Self {
        Self { id: id.into(), name: name.into(), arguments: CallArguments::Json(arguments) }
    }

    /// A call whose arguments are still text.
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
    /// The tool did what was asked.
    Success,
    /// It did not, for this kind of reason.
    Error(ErrorKind),
}

impl CallStatus {
    /// Whether it went well.
    pub fn is_success(self) -> bool {
        self == Self::Success
    }
}

/// What a failed call may have left behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EffectDisposition {
    /// It never started.
    NotRun,
    /// It ran to its end.
    Complete,
    /// It started and was cut off.
    Unknown,
}

impl EffectDisposition {
    /// The name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::NotRun => "none",
            Self::Complete => "complete",
            Self::Unknown => "unknown",
        }
    }
}

/// The one answer to a call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolResult {
    /// The id of the call.
    pub tool_call_id: String,
    /// The tool that ran, by its canonical name; the caller's where none did.
    pub name: String,
    /// The answer: one JSON document, always.
    pub content: String,
    /// How it ended.
    pub status: CallStatus,
    /// What it may have left behind.
    pub disposition: EffectDisposition,
    /// What was changed in the arguments to make them fit, one line each.
    pub coercions: Vec<String>,
    /// What comes with the text.
    pub attachments: Vec<Attachment>,
    /// Where the whole answer lies, if only a preview is in `content`.
    pub spill_path: Option<std::path::PathBuf>,
    /// Whether it was brought in from outside and is labelled so.
    pub untrusted: bool,
    /// How long it took, all stages together.
    pub duration: Duration,
}

impl ToolResult {
    /// The answer to a call that failed before or while it ran.
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
            content,
            status: CallStatus::Error(error.kind()),
            disposition,
            coercions: Vec::new(),
            attachments: Vec::new(),
            spill_path: None,
            untrusted: false,
            duration: Duration::ZERO,
        }
    }

    /// Whether it went well.
    pub fn is_success(&self) -> bool {
        self.status.is_success()
    }
}
