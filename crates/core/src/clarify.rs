//! Questions that only the user can answer.

use crate::BoxFuture;

/// Somebody who can ask the user; a port.
pub trait UserPrompter: Send + Sync {
    /// Asks, and waits for the answer: one of the choices, or words of the
    /// user's own. Who is there and says nothing gives an empty one; none is
    /// given if nobody is there.
    fn ask<'a>(&'a self, question: &'a str, choices: &'a [String])
    -> BoxFuture<'a, Option<String>>;
}
