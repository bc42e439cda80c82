//! How long commands are waited for, where the user has a say.

use std::time::Duration;

/// How long commands are waited for; a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// Unless a call says otherwise.
    pub usual: Duration,
    /// At most, whatever a call says.
    pub longest: Duration,
    /// How long a command may be silent; none for as long as it likes.
    pub silence: Option<Duration>,
}

impl Default for Times {
    fn default() -> Self {
        Self { usual: Duration::from_secs(180), longest: Duration::from_secs(600), silence: None }
    }
}
