//! Whether a tool can work here and now.

/// The answer of a tool's check, with the reason when it cannot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Availability {
    /// It can.
    Ready,
    /// It cannot.
    Missing {
        /// What is missing.
        reason: String,
        /// What to install or set.
        fix: String,
    },
}

impl Availability {
    /// It cannot, because of `reason`; `fix` mends it.
    pub fn missing(reason: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::Missing { reason: reason.into(), fix: fix.into() }
    }

    /// Whether it can.
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
