//! Model errors, classified by what a caller can do about them.

use std::fmt;
use std::time::Duration;

use hermes_core::{ErrorKind, ToolError};

/// A failed request to a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelError {
    /// The kind of error.
    pub kind: ModelErrorKind,
    /// The cause, in a sentence.
    pub message: String,
    /// How to fix it.
    pub hint: Option<String>,
    /// The delay before a retry that the server asks for.
    pub retry_after: Option<Duration>,
    /// Whether part of the reply had already arrived.
    pub is_mid_reply: bool,
}

/// Kind of a model error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ModelErrorKind {
    /// The key is missing, invalid or not authorized.
    Authentication,
    /// The quota or credit is exhausted.
    Quota,
    /// Too many requests.
    RateLimited,
    /// The server is overloaded.
    Overloaded,
    /// The conversation exceeds the context window.
    ContextTooLong,
    /// The server refuses to reply to this content.
    Refused,
    /// The server does not know the model.
    ModelUnavailable,
    /// The model supports tool calls only as text.
    NoTools,
    /// The model does not accept images.
    NoImages,
    /// The model wrote a call that its server cannot parse.
    Malformed,
    /// The server rejects the request as invalid.
    Request,
    /// The server is unreachable, or the connection failed.
    Network,
    /// The server was silent for too long.
    Timeout,
    /// The server failed.
    Server,
    /// The response is not valid for the protocol.
    Protocol,
}

impl ModelErrorKind {
    /// Whether a retry of the same request may succeed.
    pub fn is_transient(self) -> bool {
        matches!(
            self,
            Self::RateLimited | Self::Overloaded | Self::Network | Self::Timeout | Self::Server
        )
    }

    /// Whether another model or key may succeed.
    pub fn can_fall_back(self) -> bool {
        self.is_transient()
            || matches!(
                self,
                Self::Authentication | Self::Quota | Self::ModelUnavailable | Self::Refused
            )
    }
}

impl ModelError {
    /// Creates an error.
    pub fn new(kind: ModelErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None, retry_after: None, is_mid_reply: false }
    }

    /// Sets the hint.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ModelError {}

impl From<ModelError> for ToolError {
    fn from(fault: ModelError) -> Self {
        let kind = match fault.kind {
            ModelErrorKind::Authentication
            | ModelErrorKind::Quota
            | ModelErrorKind::ModelUnavailable
            | ModelErrorKind::NoTools
            | ModelErrorKind::NoImages => ErrorKind::Unavailable,
            ModelErrorKind::RateLimited | ModelErrorKind::ContextTooLong => ErrorKind::Limit,
            ModelErrorKind::Timeout => ErrorKind::Timeout,
            ModelErrorKind::Refused => ErrorKind::Denied,
            ModelErrorKind::Request => ErrorKind::InvalidArguments,
            ModelErrorKind::Overloaded
            | ModelErrorKind::Network
            | ModelErrorKind::Server
            | ModelErrorKind::Malformed
            | ModelErrorKind::Protocol => ErrorKind::Network,
        };
        let error = Self::new(kind, fault.message);
        match fault.hint {
            Some(hint) => error.with_hint(hint),
            None => error,
        }
    }
}
