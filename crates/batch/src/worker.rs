//! Whoever holds the conversations.

use hermes_core::BoxFuture;
use hermes_llm::{ChatMessage, TokenUsage};
use serde_json::Value;

use crate::prompt::BatchPrompt;

/// Whoever holds the conversations. Each is on its own: nothing of one can be
/// seen in another.
pub trait ConversationWorker: Send + Sync + 'static {
    /// Has a conversation about a prompt, with the tools of these toolsets.
    fn run<'a>(
        &'a self,
        prompt: &'a BatchPrompt,
        toolsets: &'a [String],
    ) -> BoxFuture<'a, Result<RecordedConversation, WorkerError>>;
}

/// A conversation that is over.
#[derive(Debug, Clone, Default)]
pub struct RecordedConversation {
    /// The definitions that the model was shown, each with a name, a
    /// description and parameters.
    pub tools: Vec<Value>,
    /// What was said, without what the model was told first.
    pub messages: Vec<ChatMessage>,
    /// Whether it came to its own end.
    pub completed: bool,
    /// How often the model was asked.
    pub api_calls: u32,
    /// The model.
    pub model: String,
    /// What it took.
    pub usage: TokenUsage,
    /// The session that keeps it.
    pub session: Option<String>,
}

/// Why there is no conversation. The prompt is tried again when the batch is
/// resumed.
#[derive(Debug, Clone)]
pub enum WorkerError {
    /// It was stopped.
    Stopped,
    /// It went wrong; how.
    Error(String),
}
