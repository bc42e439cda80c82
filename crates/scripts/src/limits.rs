//! Configurable limits of scripts.

use std::time::Duration;

/// Limits and defaults for scripts; a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptLimits {
    /// Mode of calls that name none.
    pub mode: ScriptMode,
    /// Maximum run time. A call can request less.
    pub timeout: Duration,
    /// Maximum number of tool calls.
    pub tool_calls: u64,
    /// Maximum number of bytes of standard output returned.
    pub stdout: usize,
    /// Maximum number of bytes of standard error returned (the tail).
    pub stderr: usize,
    /// Tools that scripts may call besides the default ones.
    pub extra_tools: Vec<String>,
}

impl Default for ScriptLimits {
    fn default() -> Self {
        Self {
            mode: ScriptMode::Project,
            timeout: Duration::from_secs(300),
            tool_calls: 50,
            stdout: 50_000,
            stderr: 10_000,
            extra_tools: Vec::new(),
        }
    }
}

/// How a script runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScriptMode {
    /// In the session's directory, with the user's virtualenv and environment.
    Project,
    /// In a private directory, with a clean interpreter and a small environment.
    Strict,
}

/// The language of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScriptLanguage {
    /// Python.
    Python,
    /// JavaScript, for Node.
    JavaScript,
}
