//! What can go wrong with a model, in kinds that somebody can act on.

use std::fmt;
use std::time::Duration;

use hermes_core::{ErrorKind, ToolError};

/// What went wrong with a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelError {
    /// Which kind.
    pub kind: ModelErrorKind,
    /// The cause, in a sentence.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// After how long the server wants to be asked again.
    pub retry_after: Option<Duration>,
    /// Whether something of the answer had come already.
    pub is_mid_reply: bool,
}

/// What kind of thing went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ModelErrorKind {
    /// The key is missing, wrong or not allowed to do this.
    Authentication,
    /// There is no money or quota left.
    Quota,
    /// Too many requests.
    RateLimited,
    /// The server has too much to do.
    Overloaded,
    /// The conversation is too long for the model.
    ContextTooLong,
    /// The server will not answer this.
    Refused,
    /// The server does not know the model.
    ModelUnavailable,
    /// The model can ask for tools in its text only.
    NoTools,
    /// The model takes no pictures.
    NoImages,
    /// The model has written a call that its server cannot read.
    Malformed,
    /// The server does not understand the request.
    Request,
    /// The server cannot be reached, or the connection broke.
    Network,
    /// It was silent for too long.
    Timeout,
    /// The server failed.
    Server,
    /// The server answered what nobody understands.
    Protocol,
}

impl ModelErrorKind {
    /// Whether the same request may well be answered a little later.
    pub fn is_transient(self) -> bool {
        matches!(
            self,
            Self::RateLimited | Self::Overloaded | Self::Network | Self::Timeout | Self::Server
        )
    }

    /// Whether another model or another key may well answer.
    pub fn can_fall_back(self) -> bool {
        self.is_transient()
            || matches!(
                self,
                Self::Authentication | Self::Quota | Self::ModelUnavailable | Self::Refused
            )
    }
}

impl ModelError {
    /// A fault.
    pub fn new(kind: ModelErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None, retry_after: None, is_mid_reply: false }
    }

    /// What to do about it.
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
