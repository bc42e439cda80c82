//! How much an interpreter may use.

use std::sync::Arc;
use std::time::Duration;

use hermes_exec::output::OutputMask;

/// How much an interpreter may use.
#[derive(Debug, Clone)]
pub struct ReplLimits {
    /// How long code may run if the call does not say.
    pub timeout: Duration,
    /// How long the longest call may ask for.
    pub max_timeout: Duration,
    /// How long an interpreter that is not used is kept.
    pub idle_timeout: Duration,
    /// Bytes of memory of each of its processes; none is as much as there is.
    pub memory: Option<u64>,
    /// Interpreters of one session at a time.
    pub sessions: usize,
    /// How long code that is interrupted may take to stop.
    pub grace: Duration,
    /// Bytes of the standard output in an answer.
    pub stdout: usize,
    /// Bytes of the standard error in an answer.
    pub stderr: usize,
    /// Characters of a value in an answer.
    pub value: usize,
    /// Takes secrets out of long output that goes to a file. Without it none
    /// does, and the middle of such output is lost.
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
