//! Time limits of commands, set by the user.

use std::time::Duration;

/// Time limits of commands; a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandTimeouts {
    /// The default.
    pub default_timeout: Duration,
    /// The maximum that a call can request.
    pub max_timeout: Duration,
    /// Allowed time without output; `None` for no limit.
    pub idle_timeout: Option<Duration>,
}

impl Default for CommandTimeouts {
    fn default() -> Self {
        Self {
            default_timeout: Duration::from_secs(180),
            max_timeout: Duration::from_secs(600),
            idle_timeout: None,
        }
    }
}
