//! How long commands are waited for, where the user has a say.

use std::time::Duration;

/// How long commands are waited for; a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandTimeouts {
    /// Unless a call says otherwise.
    pub default_timeout: Duration,
    /// At most, whatever a call says.
    pub max_timeout: Duration,
    /// How long a command may be silent; none for as long as it likes.
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
