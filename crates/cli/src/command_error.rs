//! Errors and exit codes of commands.

use hermes::core::{ErrorKind, ToolError};
use hermes_config::{ConfigError, EditError};
use serde_json::json;

/// Exit codes, which scripts rely on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CliExitCode {
    Ok,
    Failed,
    Usage,
    /// The exit code of this kind of error.
    Kind(ErrorKind),
}

impl CliExitCode {
    pub(crate) fn code(self) -> u8 {
        match self {
            CliExitCode::Ok => 0,
            CliExitCode::Failed => 1,
            CliExitCode::Usage => 2,
            CliExitCode::Kind(kind) => kind.exit_code(),
        }
    }
}

/// An error that ends the command: cause, next step and exit code.
#[derive(Debug)]
pub(crate) struct CommandError {
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
    pub(crate) kind: ErrorKind,
    pub(crate) exit: CliExitCode,
}

impl CommandError {
    /// Creates an error for an invalid request.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: None,
            kind: ErrorKind::InvalidArguments,
            exit: CliExitCode::Usage,
        }
    }

    /// Creates an error for an operation that failed.
    pub(crate) fn failed(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None, kind, exit: CliExitCode::Kind(kind) }
    }

    /// Creates an error for something that does not exist.
    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::failed(ErrorKind::NotFound, message)
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Sets the hint unless there is one already.
    pub(crate) fn or_hint(self, hint: impl Into<String>) -> Self {
        if self.hint.is_some() { self } else { self.hint(hint) }
    }

    /// Turns the error into a usage error.
    pub(crate) fn into_usage(mut self) -> Self {
        self.exit = CliExitCode::Usage;
        self
    }

    /// Moves a suggestion from the end of the message to the hint, where users
    /// and programs expect it.
    pub(crate) fn lift_suggestion(mut self) -> Self {
        const SUGGESTION_PREFIX: &str = "; did you mean ";
        let Some(at) = self.message.rfind(SUGGESTION_PREFIX) else { return self };
        let names = self.message.split_off(at);
        let names = names.trim_start_matches(SUGGESTION_PREFIX).replace('`', "'");
        self.hint(format!("Did you mean {names}"))
    }

    /// Adds the first suggestion as a hint, if there is one.
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

impl From<ToolError> for CommandError {
    fn from(error: ToolError) -> Self {
        let mut message = error.message().to_owned();
        if let Some(words) = error.details().get("stderr").and_then(|it| it.as_str()) {
            message.push_str(&format!("\nLast output:\n{}", words.trim_end()));
        }
        CommandError::failed(error.kind(), message).hint(error.hint())
    }
}

/// Only for output that cannot be written; all other I/O errors name the file.
impl From<std::io::Error> for CommandError {
    fn from(error: std::io::Error) -> Self {
        let kind = ToolError::io("", &error).kind();
        let message = format!("The output cannot be written: {error}");
        CommandError { exit: CliExitCode::Failed, ..CommandError::failed(kind, message) }
            .hint("Free up space there, or redirect the output.")
    }
}

impl From<ConfigError> for CommandError {
    fn from(error: ConfigError) -> Self {
        let text = error.to_string();
        let failure = match text.rsplit_once("\nhint: ") {
            // With several errors, each one keeps its hint.
            Some((message, hint)) if !message.contains("\nhint: ") => {
                CommandError::usage(message).hint(hint)
            }
            _ => CommandError::usage(text),
        };
        let (kind, hint) = match error {
            ConfigError::Edit(EditError::NotSet { .. }) => {
                (ErrorKind::NotFound, "`hermes config get` shows the settings.")
            }
            ConfigError::Write { .. } => (
                ErrorKind::Unavailable,
                "Make that directory writable for your user, or set HERMES_HOME to another one.",
            ),
            ConfigError::Locked { .. } | ConfigError::Changed { .. } => (ErrorKind::Conflict, ""),
            _ => return failure,
        };
        let failure = CommandError { kind, exit: CliExitCode::Kind(kind), ..failure };
        if hint.is_empty() { failure } else { failure.or_hint(hint) }
    }
}

/// An invalid command line, for programs: the message and the tip without the
/// usage text.
impl From<&clap::Error> for CommandError {
    fn from(error: &clap::Error) -> Self {
        let text = error.to_string();
        let body = text.strip_prefix("error: ").unwrap_or(&text);
        let first = body.split("\n\n").next().unwrap_or_default();
        let sentence = first.split_whitespace().collect::<Vec<_>>().join(" ");
        let tip = text.lines().find_map(|line| line.trim_start().strip_prefix("tip: "));
        CommandError::usage(sentence).hint(tip.unwrap_or("See `hermes --help`."))
    }
}

pub(crate) type CommandResult = Result<CliExitCode, CommandError>;

impl From<hermes::HermesError> for CommandError {
    fn from(error: hermes::HermesError) -> Self {
        match error {
            hermes::HermesError::Policy(error) => error.into(),
            other => CommandError::failed(ErrorKind::Internal, other.to_string()),
        }
    }
}
