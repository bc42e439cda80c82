//! Port for summarizing search results.

use hermes_core::BoxFuture;

/// A model that summarizes; a port of the search tools.
pub trait Summarizer: Send + Sync {
    /// Returns the reply to this prompt, or why there is none.
    fn summarize(&self, prompt: String) -> BoxFuture<'_, Result<String, String>>;
}
