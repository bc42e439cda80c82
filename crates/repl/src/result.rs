//! Result of running code.

use hermes_exec::output::LogSummary;
use serde::{Deserialize, Serialize};

use crate::images::SavedImage;

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplStatus {
    /// The code ran to completion.
    Ok,
    /// The code failed with an error.
    Error,
    /// The code was interrupted; the state is kept.
    Interrupted,
    /// The code timed out; the state is kept.
    Timeout,
    /// The interpreter exited; its state is lost.
    Ended,
}

/// Result of running code.
#[derive(Debug)]
pub struct ReplResult {
    /// How the run ended.
    pub status: ReplStatus,
    /// The value of the last expression.
    pub value: Option<RenderedValue>,
    /// Number of rows that the last statement returned.
    pub rows: Option<u64>,
    /// The exit code of the last command.
    pub exit_code: Option<i32>,
    /// The error, if the code failed.
    pub error: Option<CodeError>,
    /// Captured stdout.
    pub stdout: CapturedOutput,
    /// Captured stderr.
    pub stderr: CapturedOutput,
    /// Images that the code produced.
    pub images: Vec<SavedImage>,
    /// Notes for the caller.
    pub notes: Vec<String>,
    /// Duration in seconds.
    pub seconds: f64,
    /// Description of the interpreter.
    pub interpreter: String,
    /// Description of the sandbox, if the interpreter is confined.
    pub sandbox: Option<String>,
}

/// A rendered value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RenderedValue {
    /// The rendered text.
    pub text: String,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its dimensions, if it has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<Vec<u64>>,
}

/// An error raised by the code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeError {
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// The error message.
    pub message: String,
    /// Line number in the code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// Traceback, limited to frames of the user's code.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub traceback: String,
}

/// Output captured from one stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CapturedOutput {
    /// The text; head and tail if truncated.
    pub text: String,
    /// Number of omitted bytes.
    pub omitted_bytes: u64,
}

impl From<LogSummary> for CapturedOutput {
    fn from(summary: LogSummary) -> Self {
        Self { text: summary.text, omitted_bytes: summary.omitted_bytes }
    }
}

/// A message from a driver.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct DriverMessage {
    /// Id of the request that this message answers.
    pub(crate) done: Option<u64>,
    /// Version of the interpreter, once it is ready for requests.
    pub(crate) ready: Option<String>,
    pub(crate) program: Option<String>,
    pub(crate) value: Option<RenderedValue>,
    pub(crate) error: Option<CodeError>,
    pub(crate) interrupted: bool,
    pub(crate) note: Option<String>,
    pub(crate) rows: Option<u64>,
    pub(crate) status: Option<i32>,
    /// Kind of the file that was just received.
    pub(crate) file: Option<String>,
    pub(crate) extension: Option<String>,
    /// Whether the message could not be parsed; no better one follows.
    #[serde(skip)]
    pub(crate) is_garbled: bool,
}

impl DriverMessage {
    /// Returns the stand-in for a message that cannot be parsed.
    pub(crate) fn unreadable() -> Self {
        let message = "The interpreter sent a message that cannot be parsed; its state is kept";
        let error = CodeError {
            kind: "Unreadable".to_owned(),
            message: message.to_owned(),
            line: None,
            traceback: String::new(),
        };
        Self { error: Some(error), is_garbled: true, ..Self::default() }
    }
}
