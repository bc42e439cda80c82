//! Questions that only the user can answer.

use crate::BoxFuture;

/// Asks the user questions; a port.
pub trait UserPrompter: Send + Sync {
    /// Asks, and waits for the answer: one of the choices or free text. Returns
    /// an empty string if the user answers nothing, and none if no user can be
    /// asked.
    fn ask<'a>(&'a self, question: &'a str, choices: &'a [String])
    -> BoxFuture<'a, Option<String>>;
}
