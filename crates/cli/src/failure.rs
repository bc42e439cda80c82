//! How a command ends when it cannot do what was asked.

use hermes::core::{ErrorKind, ToolError};
use serde_json::json;

/// The exit codes that scripts rely on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Ok,
    Failed,
    Usage,
    /// As the kind of the error says.
    Kind(ErrorKind),
}

impl Exit {
    pub(crate) fn code(self) -> u8 {
        match self {
            Exit::Ok => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Kind(kind) => kind.exit_code(),
        }
    }
}

/// An error that ends the command: the cause, the next step, the exit code.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
    pub(crate) kind: ErrorKind,
    pub(crate) exit: Exit,
}

impl Failure {
    /// What was asked for makes no sense.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None, kind: ErrorKind::InvalidArguments, exit: Exit::Usage }
    }

    /// It was tried and went wrong.
    pub(crate) fn failed(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None, kind, exit: Exit::Kind(kind) }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// A hint made of suggestions, if there are any.
    pub(crate) fn did_you_mean(self, names: &[String]) -> Self {
        match names.first() {
            Some(name) => self.hint(format!("Did you mean '{name}'?")),
            None => self,
        }
    }

    pub(crate) fn to_json(&self) -> String {
        let hint = self.hint.as_deref().unwrap_or_else(|| self.kind.advice());
        json!({ "error": self.message, "kind": self.kind.name(), "hint": hint }).to_string()
    }
}

impl From<ToolError> for Failure {
    fn from(error: ToolError) -> Self {
        Failure::failed(error.kind(), error.message()).hint(error.hint())
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        ToolError::io("Cannot read or write", &error).into()
    }
}

pub(crate) type Outcome = Result<Exit, Failure>;
