//! Passwords that the user types for a program.

use crate::BoxFuture;

/// Asks the user for passwords; a port. A password reaches only the program,
/// never a model or a log.
pub trait PasswordPrompter: Send + Sync {
    /// Returns the password that the user configured under this name, such as
    /// `SUDO_PASSWORD`.
    fn preset_password(&self, name: &str) -> Option<String>;

    /// Asks the user and waits for the answer; none if the user declines.
    fn ask<'a>(&'a self, question: &'a str) -> BoxFuture<'a, Option<String>>;
}
