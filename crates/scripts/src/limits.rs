//! What a script is held to, where the user has a say.

use std::time::Duration;

/// What a script is held to; a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptLimits {
    /// How it runs, unless a call says otherwise.
    pub mode: ScriptMode,
    /// How long it may take. A call can ask for less.
    pub timeout: Duration,
    /// How many tools it may call.
    pub tool_calls: u64,
    /// Bytes of its output that are told.
    pub stdout: usize,
    /// Bytes of its errors that are told: the end.
    pub stderr: usize,
    /// Tools that it may call beside the usual ones.
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
    /// In the session's folder, with the user's virtualenv and environment.
    Project,
    /// In a folder of its own, with a clean interpreter and a small environment.
    Strict,
}

/// What a script is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScriptLanguage {
    /// Python.
    Python,
    /// JavaScript, for Node.
    JavaScript,
}
