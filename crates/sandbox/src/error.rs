//! Why a sandbox could not be prepared.

use std::io;
use std::path::PathBuf;

/// A confinement that this system cannot hold, or a failure on the way.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SandboxError {
    /// The system lacks a mechanism without which the sandbox would be weaker.
    #[error("the sandbox needs {what}, which is not there: {why}; {hint}")]
    Unsupported {
        /// The mechanism.
        what: &'static str,
        /// What the system said.
        why: String,
        /// What to do about it.
        hint: &'static str,
    },
    /// A path could not be covered.
    #[error("cannot protect {path}: {source}", path = path.display())]
    Path {
        /// The path.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The rules could not be handed to the kernel.
    #[error("cannot prepare the {what} rules: {why}")]
    Rules {
        /// Which rules.
        what: &'static str,
        /// The cause.
        why: String,
    },
    /// Something else that the preparation needs.
    #[error("cannot prepare the sandbox: {0}")]
    Io(#[from] io::Error),
}

impl SandboxError {
    /// Whether another kernel or another setting would help, as opposed to
    /// another confinement.
    pub fn is_unsupported(&self) -> bool {
        matches!(self, Self::Unsupported { .. })
    }
}
