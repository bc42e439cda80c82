//! Whether a tool can work on this machine.

/// Result of a tool's availability check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Availability {
    /// The tool can run.
    Ready,
    /// The tool cannot run.
    Missing {
        /// What is missing.
        reason: String,
        /// What to install or set.
        fix: String,
    },
}

impl Availability {
    /// Creates the result for a tool that cannot run; `fix` says what to do.
    pub fn missing(reason: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::Missing { reason: reason.into(), fix: fix.into() }
    }

    /// Whether the tool can run.
    pub fn is_ready(&self) -> bool {
        matches!(self, Self::Ready)
    }

    /// What is missing, if anything.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Ready => None,
            Self::Missing { reason, .. } => Some(reason),
        }
    }
}
