//! How a command ends when it cannot do what was asked.

use hermes::core::{ErrorKind, ToolError};
use hermes_config::{ConfigError, EditError};
use serde_json::json;

/// The exit codes that scripts rely on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CliExitCode {
    Ok,
    Failed,
    Usage,
    /// As the kind of the error says.
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

/// An error that ends the command: the cause, the next step, the exit code.
#[derive(Debug)]
pub(crate) struct CommandError {
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
    pub(crate) kind: ErrorKind,
    pub(crate) exit: CliExitCode,
}

impl CommandError {
    /// What was asked for makes no sense.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: None,
            kind: ErrorKind::InvalidArguments,
            exit: CliExitCode::Usage,
        }
    }

    /// It was tried and went wrong.
    pub(crate) fn failed(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None, kind, exit: CliExitCode::Kind(kind) }
    }

    /// Something that was named does not exist.
    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::failed(ErrorKind::NotFound, message)
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The hint, unless there is one already.
    pub(crate) fn or_hint(self, hint: impl Into<String>) -> Self {
        if self.hint.is_some() { self } else { self.hint(hint) }
    }

    /// The same as a mistake on the command line.
    pub(crate) fn into_usage(mut self) -> Self {
        self.exit = CliExitCode::Usage;
        self
    }

    /// Moves a suggestion at the end of the message to the hint, where
    /// people and programs look for it.
    pub(crate) fn lift_suggestion(mut self) -> Self {
        const SUGGESTION_PREFIX: &str = "; did you mean ";
        let Some(at) = self.message.rfind(SUGGESTION_PREFIX) else { return self };
        let names = self.message.split_off(at);
        let names = names.trim_start_matches(SUGGESTION_PREFIX).replace('`', "'");
        self.hint(format!("Did you mean {names}"))
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

impl From<ToolError> for CommandError {
    fn from(error: ToolError) -> Self {
        let mut message = error.message().to_owned();
        if let Some(words) = error.details().get("stderr").and_then(|it| it.as_str()) {
            message.push_str(&format!("\nIt said last:\n{}", words.trim_end()));
        }
        CommandError::failed(error.kind(), message).hint(error.hint())
    }
}

/// Only an answer that cannot be written comes this way; whatever else can go
/// wrong names the file.
impl From<std::io::Error> for CommandError {
    fn from(error: std::io::Error) -> Self {
        let kind = ToolError::io("", &error).kind();
        let message = format!("The output cannot be written: {error}");
        CommandError { exit: CliExitCode::Failed, ..CommandError::failed(kind, message) }
            .hint("Make room there, or send the output elsewhere.")
    }
}

impl From<ConfigError> for CommandError {
    fn from(error: ConfigError) -> Self {
        let text = error.to_string();
        let failure = match text.rsplit_once("\nhint: ") {
            // With several faults each keeps its hint beside it.
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
                "Give that folder to your user, or set HERMES_HOME to another.",
            ),
            ConfigError::Locked { .. } | ConfigError::Changed { .. } => (ErrorKind::Conflict, ""),
            _ => return failure,
        };
        let failure = CommandError { kind, exit: CliExitCode::Kind(kind), ..failure };
        if hint.is_empty() { failure } else { failure.or_hint(hint) }
    }
}

/// A command line that cannot be read, for programs: the sentence and the tip
/// without the usage text.
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
