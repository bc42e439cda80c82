//! Whoever can sum up what was found.

use hermes_core::BoxFuture;

/// Somebody who sums up: a model. A port of the tools that search.
pub trait Summarizer: Send + Sync {
    /// The answer to this prompt, or why there is none.
    fn summarize(&self, prompt: String) -> BoxFuture<'_, Result<String, String>>;
}
