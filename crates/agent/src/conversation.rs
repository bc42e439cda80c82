//! A conversation and its estimated token count.

use hermes_llm::{ChatMessage, ContentPart, TokenUsage};

/// Estimated tokens of an image.
const IMAGE_TOKENS: u64 = 1_500;
/// Estimated token overhead of a message.
const MESSAGE_OVERHEAD_TOKENS: u64 = 8;

/// Messages exchanged so far.
#[derive(Debug, Clone, Default)]
pub struct Conversation {
    messages: Vec<ChatMessage>,
    /// Number of messages in the server's last token count, and that count.
    counted: Option<(usize, u64)>,
}

impl Conversation {
    /// Creates a conversation that continues from these messages.
    pub fn new(messages: Vec<ChatMessage>) -> Self {
        Self { messages, counted: None }
    }

    /// Returns the messages.
    pub fn messages(&self) -> &[ChatMessage] {
        &self.messages
    }

    /// Appends a message.
    pub(crate) fn push(&mut self, message: ChatMessage) {
        self.messages.push(message);
    }

    /// Records the server's token count of a request.
    pub(crate) fn set_counted(&mut self, usage: &TokenUsage) {
        if usage.input > 0 {
            self.counted = Some((self.messages.len(), usage.input));
        }
    }

    /// Replaces all messages.
    pub(crate) fn replace(&mut self, messages: Vec<ChatMessage>) {
        *self = Self::new(messages);
    }

    /// Whether the server's count, which includes system prompt and tools, is
    /// known.
    pub(crate) fn is_counted(&self) -> bool {
        self.counted.is_some()
    }

    /// Estimates the tokens: the server's count plus an estimate for later
    /// messages.
    pub fn tokens(&self) -> u64 {
        let (from, known) = self.counted.unwrap_or_default();
        known + self.messages.iter().skip(from).map(estimate_tokens).sum::<u64>()
    }
}

/// Estimates the tokens of a message.
pub(crate) fn estimate_tokens(message: &ChatMessage) -> u64 {
    let images = match message {
        ChatMessage::User { content } => {
            content.iter().filter(|part| matches!(part, ContentPart::Image(_))).count()
        }
        ChatMessage::Tool(answer) => answer.images.len(),
        _ => 0,
    };
    let calls: usize = match message {
        ChatMessage::Assistant(reply) => {
            reply.calls.iter().map(|call| call.name.len() + call.arguments.len() + 16).sum()
        }
        _ => 0,
    };
    MESSAGE_OVERHEAD_TOKENS
        + images as u64 * IMAGE_TOKENS
        + (message.text().len() + calls) as u64 / 4
}
