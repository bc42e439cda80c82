//! Why a call failed, in a form that a program can branch on and a model can
//! act on.

use std::fmt;

use serde_json::{Map, Value};

/// One row per kind: its name on the wire, the exit code of the command line,
/// whether the same call may succeed later, and what to do about it. A kind
/// cannot be half-added.
macro_rules! error_kinds {
    ($( $(#[$doc:meta])* $variant:ident, $name:literal, exit $exit:literal, retry $retry:literal, $advice:literal; )+) => {
        /// The closed set of reasons for which a call can fail.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum ErrorKind { $( $(#[$doc])* $variant, )+ }

        impl ErrorKind {
            /// Every kind, in the order of the table.
            pub const ALL: &'static [ErrorKind] = &[ $( ErrorKind::$variant, )+ ];

            /// The name in results, logs and scripts.
            pub const fn name(self) -> &'static str {
                match self { $( ErrorKind::$variant => $name, )+ }
            }

            /// The exit code with which `hermes call` reports it.
            pub const fn exit_code(self) -> u8 {
                match self { $( ErrorKind::$variant => $exit, )+ }
            }

            /// Whether the identical call can succeed later on.
            pub const fn is_retryable(self) -> bool {
                match self { $( ErrorKind::$variant => $retry, )+ }
            }

            /// What to do when the error itself carries no better hint.
            pub const fn advice(self) -> &'static str {
                match self { $( ErrorKind::$variant => $advice, )+ }
            }

            /// The kind of that name.
            pub fn from_name(name: &str) -> Option<Self> {
                match name { $( $name => Some(ErrorKind::$variant), )+ _ => None }
            }
        }
    };
}

error_kinds! {
    /// The arguments do not fit the tool's schema, or make no sense together.
    InvalidArguments, "invalid_arguments", exit 1, retry false,
        "Correct the arguments and call again.";
    /// The thing named by the arguments (or the tool itself) does not exist.
    NotFound, "not_found", exit 1, retry false,
        "Check the name.";
    /// A rule forbids it.
    Denied, "denied", exit 3, retry false,
        "Do not try to get around the rule; choose another way or ask the user to change it.";
    /// A person must agree, and nobody could be asked.
    ApprovalRequired, "approval_required", exit 3, retry true,
        "Ask the user to approve, or run where somebody can be asked.";
    /// Something that the tool needs is not installed, not set, or switched off.
    Unavailable, "unavailable", exit 4, retry false,
        "Install or configure what is missing; `hermes tools why NAME` tells.";
    /// It did not finish in time; its effects may or may not have happened.
    Timeout, "timeout", exit 1, retry true,
        "Check what happened before trying again, or allow more time.";
    /// The user or the caller stopped it.
    Cancelled, "cancelled", exit 130, retry true,
        "Nothing to mend: call again if it is still wanted.";
    /// The world is not in the state that the call relied on.
    Conflict, "conflict", exit 1, retry false,
        "Look at the current state, then decide again.";
    /// A network peer could not be reached or answered badly.
    Network, "network", exit 1, retry true,
        "Try again later, or check the address.";
    /// A bound was exceeded: size, count, rate, budget.
    Limit, "limit", exit 1, retry false,
        "Ask for less at a time.";
    /// A defect of the tool or of hermes.
    Internal, "internal", exit 1, retry false,
        "This is a defect; another tool may do the same job.";
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A failed call: the kind, the cause in a sentence, the next step, and
/// whatever else a program may want to read.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolError {
    // Behind a pointer, so that a `Result` of the common case stays small.
    inner: Box<ToolErrorInner>,
}

#[derive(Debug, Clone, PartialEq)]
struct ToolErrorInner {
    kind: ErrorKind,
    message: String,
    hint: Option<String>,
    details: Map<String, Value>,
}

impl ToolError {
    /// An error of this kind. The message names the cause.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        let report =
            ToolErrorInner { kind, message: message.into(), hint: None, details: Map::new() };
        Self { inner: Box::new(report) }
    }

    /// The arguments are wrong.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidArguments, message)
    }

    /// What was named does not exist.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::NotFound, message)
    }

    /// A rule forbids it.
    pub fn denied(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Denied, message)
    }

    /// Something needed is missing.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unavailable, message)
    }

    /// A bound was exceeded.
    pub fn limit(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Limit, message)
    }

    /// The state is not what the call relied on.
    pub fn conflict(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Conflict, message)
    }

    /// The call was stopped.
    pub fn cancelled() -> Self {
        Self::new(ErrorKind::Cancelled, "The call was cancelled")
    }

    /// A defect.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Internal, message)
    }

    /// An operating-system error met while doing `what`.
    pub fn io(what: impl fmt::Display, error: &std::io::Error) -> Self {
        use std::io::ErrorKind as Io;
        let kind = match error.kind() {
            Io::NotFound => ErrorKind::NotFound,
            Io::PermissionDenied => ErrorKind::Denied,
            Io::StorageFull | Io::QuotaExceeded | Io::FileTooLarge => ErrorKind::Limit,
            Io::TimedOut => ErrorKind::Timeout,
            Io::InvalidInput | Io::IsADirectory | Io::NotADirectory => ErrorKind::InvalidArguments,
            // A symbolic link that leads back to itself (ELOOP on Linux).
            _ if error.raw_os_error() == Some(40) => ErrorKind::InvalidArguments,
            _ => ErrorKind::Internal,
        };
        let failed = Self::new(kind, format!("{what}: {error}"));
        match error.kind() {
            Io::PermissionDenied => failed.with_hint(
                "The operating system refuses it, not a rule of hermes; check owner and mode.",
            ),
            _ => failed,
        }
    }

    /// Adds the next step, in words for whoever reads the error.
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

    /// The kind.
    pub fn kind(&self) -> ErrorKind {
        self.inner.kind
    }

    /// The cause.
    pub fn message(&self) -> &str {
        &self.inner.message
    }

    /// The next step: the error's own, or its kind's.
    pub fn hint(&self) -> &str {
        self.inner.hint.as_deref().unwrap_or_else(|| self.inner.kind.advice())
    }

    /// The extra fields.
    pub fn details(&self) -> &Map<String, Value> {
        &self.inner.details
    }

    /// The same error with its texts passed through `change`, those in the
    /// details as well (but for keys); used to strip what must not reach a
    /// model. What is nested too deep becomes text.
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

    /// The same error in other words.
    #[must_use]
    pub fn with_message(mut self, message: impl Into<String>) -> Self {
        self.inner.message = message.into();
        self
    }

    /// The JSON object that a model and a script see.
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

    /// [`Self::to_value`] as text.
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
