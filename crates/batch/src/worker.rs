//! Interface for running conversations.

use hermes_core::BoxFuture;
use hermes_llm::{ChatMessage, TokenUsage};
use serde_json::Value;

use crate::prompt::BatchPrompt;

/// Runs conversations, isolated from one another.
pub trait ConversationWorker: Send + Sync + 'static {
    /// Runs a conversation for a prompt with the tools of the given toolsets.
    fn run<'a>(
        &'a self,
        prompt: &'a BatchPrompt,
        toolsets: &'a [String],
    ) -> BoxFuture<'a, Result<RecordedConversation, WorkerError>>;
}

/// A finished conversation.
#[derive(Debug, Clone, Default)]
pub struct RecordedConversation {
    /// The definitions shown to the model, each with a name, a description and
    /// parameters.
    pub tools: Vec<Value>,
    /// The messages, without the system prompt.
    pub messages: Vec<ChatMessage>,
    /// Whether the conversation ended on its own.
    pub completed: bool,
    /// Number of model requests.
    pub api_calls: u32,
    /// The model.
    pub model: String,
    /// Token usage.
    pub usage: TokenUsage,
    /// The session that stores the conversation.
    pub session: Option<String>,
}

/// Why there is no conversation. Resuming the batch retries the prompt.
#[derive(Debug, Clone)]
pub enum WorkerError {
    /// The conversation was cancelled.
    Stopped,
    /// The conversation failed with this message.
    Error(String),
}
