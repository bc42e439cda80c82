//! Whoever can sum up what was found.

use hermes_core::BoxFuture;

/// Somebody who sums up: a model. A port of the tools that search.
pub trait Summaries: Send + Sync {
    /// The answer to this prompt, or why there is none.
    fn sum_up(&self, prompt: String) -> BoxFuture<'_, Result<String, String>>;
}
