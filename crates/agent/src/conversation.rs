//! A conversation, and about how much of a model's window it takes.

use hermes_llm::{ChatMessage, ContentPart, TokenUsage};

/// An image takes about so many tokens.
const IMAGE_TOKENS: u64 = 1_500;
/// What a message takes beside its text.
const MESSAGE_OVERHEAD_TOKENS: u64 = 8;

/// What was said so far.
#[derive(Debug, Clone, Default)]
pub struct Conversation {
    messages: Vec<ChatMessage>,
    /// How many messages the server has counted, and to what.
    counted: Option<(usize, u64)>,
}

impl Conversation {
    /// One that goes on from here.
    pub fn new(messages: Vec<ChatMessage>) -> Self {
        Self { messages, counted: None }
    }

    /// What was said.
    pub fn messages(&self) -> &[ChatMessage] {
        &self.messages
    }

    /// Adds a message.
    pub(crate) fn push(&mut self, message: ChatMessage) {
        self.messages.push(message);
    }

    /// The server has counted what was sent.
    pub(crate) fn set_counted(&mut self, usage: &TokenUsage) {
        if usage.input > 0 {
            self.counted = Some((self.messages.len(), usage.input));
        }
    }

    /// Puts other messages in place of all.
    pub(crate) fn replace(&mut self, messages: Vec<ChatMessage>) {
        *self = Self::new(messages);
    }

    /// Whether the server has counted, with what the model is told besides.
    pub(crate) fn is_counted(&self) -> bool {
        self.counted.is_some()
    }

    /// About how many tokens it takes: what the server has counted, and an
    /// estimate for what came after.
    pub fn tokens(&self) -> u64 {
        let (from, known) = self.counted.unwrap_or_default();
        known + self.messages.iter().skip(from).map(estimate_tokens).sum::<u64>()
    }
}

/// About how many tokens a message takes.
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
