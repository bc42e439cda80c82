//! What came of a piece of code.

use hermes_exec::output::LogSummary;
use serde::{Deserialize, Serialize};

use crate::images::SavedImage;

/// How it went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplStatus {
    /// To its end.
    Ok,
    /// Until something was wrong.
    Error,
    /// Until somebody stopped it; the state is kept.
    Interrupted,
    /// Until its time was up; the state is kept.
    Timeout,
    /// The interpreter has ended, and its state is lost.
    Ended,
}

/// What a piece of code has brought.
#[derive(Debug)]
pub struct ReplResult {
    /// How it went.
    pub status: ReplStatus,
    /// The value of the last expression.
    pub value: Option<RenderedValue>,
    /// How many rows the last statement gave.
    pub rows: Option<u64>,
    /// The exit code of the last command.
    pub exit_code: Option<i32>,
    /// What was wrong.
    pub error: Option<CodeError>,
    /// What it wrote.
    pub stdout: CapturedOutput,
    /// What it complained of.
    pub stderr: CapturedOutput,
    /// What can be looked at.
    pub images: Vec<SavedImage>,
    /// What else there is to know.
    pub notes: Vec<String>,
    /// Seconds that it took.
    pub seconds: f64,
    /// Which interpreter that was, in words.
    pub interpreter: String,
    /// What holds it, in words.
    pub sandbox: Option<String>,
}

/// A value, as it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RenderedValue {
    /// The text.
    pub text: String,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its size in each direction, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<Vec<u64>>,
}

/// Something that went wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeError {
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// What it says.
    pub message: String,
    /// The line of the code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// How it came to that, in the user's own code.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub traceback: String,
}

/// What was written to one stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CapturedOutput {
    /// The text; of much, the beginning and the end.
    pub text: String,
    /// How many bytes are left out.
    pub omitted_bytes: u64,
}

impl From<LogSummary> for CapturedOutput {
    fn from(summary: LogSummary) -> Self {
        Self { text: summary.text, omitted_bytes: summary.omitted_bytes }
    }
}

/// What a driver says.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct DriverMessage {
    /// Which request this is the answer to.
    pub(crate) done: Option<u64>,
    /// It can be asked; its version.
    pub(crate) ready: Option<String>,
    pub(crate) program: Option<String>,
    pub(crate) value: Option<RenderedValue>,
    pub(crate) error: Option<CodeError>,
    pub(crate) interrupted: bool,
    pub(crate) note: Option<String>,
    pub(crate) rows: Option<u64>,
    pub(crate) status: Option<i32>,
    /// What the file is that has just come.
    pub(crate) file: Option<String>,
    pub(crate) extension: Option<String>,
    /// It said something that cannot be read: nothing better will come.
    #[serde(skip)]
    pub(crate) is_garbled: bool,
}

impl DriverMessage {
    /// What stands for something that cannot be read.
    pub(crate) fn unreadable() -> Self {
        let message = "The interpreter answered something that cannot be read; its state is kept";
        let error = CodeError {
            kind: "Unreadable".to_owned(),
            message: message.to_owned(),
            line: None,
            traceback: String::new(),
        };
        Self { error: Some(error), is_garbled: true, ..Self::default() }
    }
}
