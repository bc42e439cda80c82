//! Limits of an interpreter.

use std::sync::Arc;
use std::time::Duration;

use hermes_exec::output::OutputMask;

/// Limits of an interpreter.
#[derive(Debug, Clone)]
pub struct ReplLimits {
    /// Default timeout of a run.
    pub timeout: Duration,
    /// Longest timeout that a call may request.
    pub max_timeout: Duration,
    /// How long an idle interpreter is kept.
    pub idle_timeout: Duration,
    /// Memory limit of each process in bytes; `None` means unlimited.
    pub memory: Option<u64>,
    /// Maximum number of interpreters per session.
    pub sessions: usize,
    /// Grace period for interrupted code to stop.
    pub grace: Duration,
    /// Maximum bytes of stdout in a result.
    pub stdout: usize,
    /// Maximum bytes of stderr in a result.
    pub stderr: usize,
    /// Maximum characters of a value in a result.
    pub value: usize,
    /// Redacts secrets from long output that is spilled to a file. If unset,
    /// nothing is spilled and the middle of long output is dropped.
    pub mask: Option<Arc<dyn OutputMask>>,
}

impl Default for ReplLimits {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(120),
            max_timeout: Duration::from_secs(3600),
            idle_timeout: Duration::from_secs(30 * 60),
            memory: Some(4 << 30),
            sessions: 16,
            grace: Duration::from_secs(5),
            stdout: 30_000,
            stderr: 10_000,
            value: 20_000,
            mask: None,
        }
    }
}
