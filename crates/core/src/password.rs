//! Passwords that a person types, for a program that needs one.

use crate::BoxFuture;

/// Somebody who can be asked for a password; a port. What is typed is for the
/// program alone: no model and no record sees it.
pub trait PasswordPrompter: Send + Sync {
    /// One that the user has set down under that name, such as
    /// `SUDO_PASSWORD`.
    fn preset_password(&self, name: &str) -> Option<String>;

    /// Asks, and waits for the answer; none if nobody gives one.
    fn ask<'a>(&'a self, question: &'a str) -> BoxFuture<'a, Option<String>>;
}
