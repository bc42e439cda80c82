//! Errors of calls, in a form that a program can branch on and a model can act
//! on.

use std::fmt;

use serde_json::{Map, Value};

/// One row per kind: its name in results, the exit code of the command line,
/// whether the same call may succeed later, and a default hint. The macro keeps
/// all parts of a kind together.
macro_rules! error_kinds {
    ($( $(#[$doc:meta])* $variant:ident, $name:literal, exit $exit:literal, retry $retry:literal, $advice:literal; )+) => {
        /// The closed set of reasons why a call can fail.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum ErrorKind { $( $(#[$doc])* $variant, )+ }

        impl ErrorKind {
            /// Every kind, in table order.
            pub const ALL: &'static [ErrorKind] = &[ $( ErrorKind::$variant, )+ ];

            /// Returns the name used in results, logs and scripts.
            pub const fn name(self) -> &'static str {
                match self { $( ErrorKind::$variant => $name, )+ }
            }

            /// Returns the exit code of `hermes call` for this kind.
            pub const fn exit_code(self) -> u8 {
                match self { $( ErrorKind::$variant => $exit, )+ }
            }

            /// Whether the identical call may succeed later.
            pub const fn is_retryable(self) -> bool {
                match self { $( ErrorKind::$variant => $retry, )+ }
            }

            /// Returns the hint to use if the error has none.
            pub const fn advice(self) -> &'static str {
                match self { $( ErrorKind::$variant => $advice, )+ }
            }

            /// Returns the kind with that name.
            pub fn from_name(name: &str) -> Option<Self> {
                match name { $( $name => Some(ErrorKind::$variant), )+ _ => None }
            }
        }
    };
}

error_kinds! {
    /// The arguments do not match the tool's schema, or contradict each other.
    InvalidArguments, "invalid_arguments", exit 1, retry false,
        "Correct the arguments and call again.";
    /// The resource named by the arguments (or the tool itself) does not exist.
    NotFound, "not_found", exit 1, retry false,
        "Check the name.";
    /// A rule forbids the call.
    Denied, "denied", exit 3, retry false,
        "Do not try to bypass the rule; choose another approach or ask the user to change it.";
    /// The call needs approval, and no approver was available.
    ApprovalRequired, "approval_required", exit 3, retry true,
        "Ask the user to approve the call, or run where an approver is available.";
    /// Something that the tool needs is not installed, not configured, or
    /// disabled.
    Unavailable, "unavailable", exit 4, retry false,
        "Install or configure what is missing; `hermes tools why NAME` shows the reason.";
    /// The call did not finish in time; its effects may or may not have
    /// happened.
    Timeout, "timeout", exit 1, retry true,
        "Check what happened before retrying, or increase the timeout.";
    /// The user or the caller cancelled the call.
    Cancelled, "cancelled", exit 130, retry true,
        "Retry if the result is still needed.";
    /// The state is not the one that the call relied on.
    Conflict, "conflict", exit 1, retry false,
        "Check the current state before retrying.";
    /// A network peer was unreachable or sent an invalid response.
    Network, "network", exit 1, retry true,
        "Retry later, or check the address.";
    /// A limit was exceeded: size, count, rate, budget.
    Limit, "limit", exit 1, retry false,
        "Request less at a time.";
    /// A bug in the tool or in hermes.
    Internal, "internal", exit 1, retry false,
        "This is a bug; another tool may do the same job.";
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A failed call: the kind, the cause in a sentence, the next step, and
/// additional fields for programs.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolError {
    // Boxed to keep `Result` small.
    inner: Box<ToolErrorInner>,
}

#[derive(Debug, Clone, PartialEq)]
struct ToolErrorInner {
    kind: ErrorKind,
    message: String,
    hint: Option<String>,
    details: Map<String, Value>,
}

/// Whether the system has run out of something other than disk space: open
/// files (EMFILE, ENFILE), processes and threads (EAGAIN) or memory (ENOMEM).
fn is_out_of_resources(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::OutOfMemory
        || matches!(error.raw_os_error(), Some(11 | 12 | 23 | 24))
}

impl ToolError {
    /// Creates an error of this kind. The message names the cause.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        let report =
            ToolErrorInner { kind, message: message.into(), hint: None, details: Map::new() };
        Self { inner: Box::new(report) }
    }

    /// Creates an error for invalid arguments.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidArguments, message)
    }

    /// Creates an error for something that does not exist.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::NotFound, message)
    }

    /// Creates an error for a call that a rule forbids.
    pub fn denied(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Denied, message)
    }

    /// Creates an error for a missing prerequisite.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unavailable, message)
    }

    /// Creates an error for an exceeded limit.
    pub fn limit(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Limit, message)
    }

    /// Creates an error for a state other than the call relied on.
    pub fn conflict(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Conflict, message)
    }

    /// Creates an error for a cancelled call.
    pub fn cancelled() -> Self {
        Self::new(ErrorKind::Cancelled, "The call was cancelled")
    }

    /// Creates an error for a bug.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Internal, message)
    }

    /// Creates an error from an operating-system error in `what`.
    pub fn io(what: impl fmt::Display, error: &std::io::Error) -> Self {
        use std::io::ErrorKind as Io;
        let kind = match error.kind() {
            Io::NotFound => ErrorKind::NotFound,
            Io::PermissionDenied => ErrorKind::Denied,
            Io::StorageFull | Io::QuotaExceeded | Io::FileTooLarge => ErrorKind::Limit,
            Io::TimedOut => ErrorKind::Timeout,
            Io::InvalidInput | Io::IsADirectory | Io::NotADirectory => ErrorKind::InvalidArguments,
            // A symlink loop (ELOOP on Linux).
            _ if error.raw_os_error() == Some(40) => ErrorKind::InvalidArguments,
            _ if is_out_of_resources(error) => ErrorKind::Limit,
            _ => ErrorKind::Internal,
        };
        let failed = Self::new(kind, format!("{what}: {error}"));
        match error.kind() {
            _ if is_out_of_resources(error) => failed.with_hint(
                "The system has no more open files, processes or memory for hermes: close \
                 programs or raise the limits (`ulimit -a` shows them).",
            ),
            Io::PermissionDenied => failed.with_hint(
                "The operating system refused this, not a rule of hermes; check owner and mode.",
            ),
            _ => failed,
        }
    }

    /// Sets the next step, in words for the reader of the error.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.inner.hint = Some(hint.into());
        self
    }

    /// Adds a field for programs. `error`, `kind` and `hint` cannot be replaced.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.inner.details.insert(key.to_owned(), value.into());
        self
    }

    /// Returns the kind.
    pub fn kind(&self) -> ErrorKind {
        self.inner.kind
    }

    /// Returns the cause.
    pub fn message(&self) -> &str {
        &self.inner.message
    }

    /// Returns the next step: the error's hint, or that of its kind.
    pub fn hint(&self) -> &str {
        self.inner.hint.as_deref().unwrap_or_else(|| self.inner.kind.advice())
    }

    /// Returns the additional fields.
    pub fn details(&self) -> &Map<String, Value> {
        &self.inner.details
    }

    /// Returns the error with its texts passed through `change`, including
    /// those in the details (except keys); used to remove what must not reach a
    /// model. Values nested too deeply become text.
    #[must_use]
    pub fn map_text(mut self, change: impl Fn(&str) -> String) -> Self {
        fn map_value(value: &mut Value, change: &dyn Fn(&str) -> String, levels: usize) {
            match value {
                Value::String(text) => *text = change(text),
                Value::Array(_) | Value::Object(_) if levels == 0 => {
                    *value = change(&value.to_string()).into();
                }
                Value::Array(items) => {
                    items.iter_mut().for_each(|item| map_value(item, change, levels - 1));
                }
                Value::Object(fields) => {
                    fields.values_mut().for_each(|field| map_value(field, change, levels - 1));
                }
                Value::Null | Value::Bool(_) | Value::Number(_) => {}
            }
        }
        self.inner.message = change(&self.inner.message);
        self.inner.hint = self.inner.hint.as_deref().map(&change);
        self.inner.details.values_mut().for_each(|value| map_value(value, &change, 128));
        self
    }

    /// Returns the error with another message.
    #[must_use]
    pub fn with_message(mut self, message: impl Into<String>) -> Self {
        self.inner.message = message.into();
        self
    }

    /// Returns the JSON object that a model or a script sees.
    pub fn to_value(&self) -> Value {
        let mut object = Map::new();
        object.insert("error".into(), self.inner.message.clone().into());
        object.insert("kind".into(), self.inner.kind.name().into());
        object.insert("hint".into(), self.hint().into());
        for (key, value) in &self.inner.details {
            object.entry(key.clone()).or_insert_with(|| value.clone());
        }
        Value::Object(object)
    }

    /// Returns [`Self::to_value`] as text.
    pub fn to_json(&self) -> String {
        self.to_value().to_string()
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.inner.message)
    }
}

impl std::error::Error for ToolError {}

#[cfg(test)]
#[path = "error_tests.rs"]
mod tests;
