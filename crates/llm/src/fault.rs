//! What can go wrong with a model, in kinds that somebody can act on.

use std::fmt;
use std::time::Duration;

use hermes_core::{ErrorKind, ToolError};

/// What went wrong with a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Which kind.
    pub kind: FaultKind,
    /// The cause, in a sentence.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// After how long the server wants to be asked again.
    pub retry_after: Option<Duration>,
    /// Whether something of the answer had come already.
    pub is_late: bool,
}

/// What kind of thing went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// The key is missing, wrong or not allowed to do this.
    Key,
    /// There is no money or quota left.
    Quota,
    /// Too many requests.
    Rate,
    /// The server has too much to do.
    Overloaded,
    /// The conversation is too long for the model.
    Length,
    /// The server will not answer this.
    Refused,
    /// The server does not know the model.
    Model,
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
    Silence,
    /// The server failed.
    Server,
    /// The server answered what nobody understands.
    Protocol,
}

impl FaultKind {
    /// Whether the same request may well be answered a little later.
    pub fn is_passing(self) -> bool {
        matches!(self, Self::Rate | Self::Overloaded | Self::Network | Self::Silence | Self::Server)
    }

    /// Whether another model or another key may well answer.
    pub fn is_theirs(self) -> bool {
        self.is_passing() || matches!(self, Self::Key | Self::Quota | Self::Model | Self::Refused)
    }
}

impl Fault {
    /// A fault.
    pub fn new(kind: FaultKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None, retry_after: None, is_late: false }
    }

    /// What to do about it.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Fault {}

impl From<Fault> for ToolError {
    fn from(fault: Fault) -> Self {
        let kind = match fault.kind {
            FaultKind::Key
            | FaultKind::Quota
            | FaultKind::Model
            | FaultKind::NoTools
            | FaultKind::NoImages => ErrorKind::Unavailable,
            FaultKind::Rate | FaultKind::Length => ErrorKind::Limit,
            FaultKind::Silence => ErrorKind::Timeout,
            FaultKind::Refused => ErrorKind::Denied,
            FaultKind::Request => ErrorKind::InvalidArguments,
            FaultKind::Overloaded
            | FaultKind::Network
            | FaultKind::Server
            | FaultKind::Malformed
            | FaultKind::Protocol => ErrorKind::Network,
        };
        let error = Self::new(kind, fault.message);
        match fault.hint {
            Some(hint) => error.with_hint(hint),
            None => error,
        }
    }
}
