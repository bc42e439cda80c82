//! Errors of preparing a sandbox.

use std::io;
use std::path::PathBuf;

/// A confinement that this system cannot enforce, or a failure to prepare it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SandboxError {
    /// The system lacks a mechanism without which the sandbox would be weaker.
    #[error("the sandbox needs {what}, which is not there: {why}; {hint}")]
    Unsupported {
        /// The mechanism.
        what: &'static str,
        /// Why it is unavailable.
        why: String,
        /// How to fix it.
        hint: &'static str,
    },
    /// A path could not be masked.
    #[error("cannot protect {path}: {source}", path = path.display())]
    Path {
        /// The path.
        path: PathBuf,
        /// The underlying error.
        source: io::Error,
    },
    /// The rules could not be passed to the kernel.
    #[error("cannot prepare the {what} rules: {why}")]
    Rules {
        /// Which rules.
        what: &'static str,
        /// The cause.
        why: String,
    },
    /// Any other I/O error of the preparation.
    #[error("cannot prepare the sandbox: {0}")]
    Io(#[from] io::Error),
}

impl SandboxError {
    /// Whether another kernel or setting would help, as opposed to another
    /// confinement.
    pub fn is_unsupported(&self) -> bool {
        matches!(self, Self::Unsupported { .. })
    }
}
