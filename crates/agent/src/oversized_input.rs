//! Spills user input that does not fit the context window to a file and keeps
//! an excerpt with a note of the path. Input is never truncated silently: the
//! model would answer as if it had read everything.

use hermes_llm::{ChatMessage, ContentPart, ModelError, ModelErrorKind};

use crate::agent::Agent;
use crate::conversation::estimate_tokens;
use crate::observer::AgentEvent;

/// Minimum bytes kept of a spilled text.
const MIN_EXCERPT_BYTES: usize = 2_000;
/// Maximum bytes kept of a spilled text.
const MAX_EXCERPT_BYTES: usize = 16_000;
/// Tokens reserved for the reply when no limit is configured.
const DEFAULT_ANSWER_TOKENS: u64 = 4_096;
/// Start of the note in an excerpt; also marks texts that are already spilled.
const SPILL_NOTE: &str = "[… The whole does not fit here:";

impl Agent {
    /// Estimates the tokens of a request outside the conversation: system
    /// prompt and tools.
    pub(crate) fn fixed_tokens(&self) -> u64 {
        let tools = self.parts.tools.iter().map(|tool| tool.to_string().len());
        (self.parts.system.len() + tools.sum::<usize>()) as u64 / 4
    }

    /// Returns the tokens available to the conversation, with room left for a
    /// reply; `None` if the context window is unknown.
    pub(crate) fn available_tokens(&self) -> Option<u64> {
        let window = self.parts.model.window()?;
        let answer = self.parts.params.max_tokens.unwrap_or(DEFAULT_ANSWER_TOKENS).min(window / 4);
        Some(window.saturating_sub(self.fixed_tokens() + answer).max(window / 8))
    }

    /// Spills input until it fits the context window, or fails.
    pub(crate) fn fit_to_window(&self, said: &mut Vec<ContentPart>) -> Result<(), ModelError> {
        let Some(room) = self.available_tokens() else { return Ok(()) };
        let ends = (crate::compaction::tokens_to_bytes(room) / 8)
            .clamp(MIN_EXCERPT_BYTES, MAX_EXCERPT_BYTES);
        let mut message = ChatMessage::User { content: std::mem::take(said) };
        let taken = estimate_tokens(&message);
        while estimate_tokens(&message) > room {
            let text = user_texts(&mut message).filter(|text| should_spill(text, ends));
            let shorter = text.max_by_key(|text| text.len()).and_then(|text| {
                *text = self.spill_text(text, ends)?;
                Some(())
            });
            shorter.ok_or_else(|| {
                ModelError::new(
                    ModelErrorKind::ContextTooLong,
                    format!(
                        "the input takes about {taken} tokens, but the model has room for \
                        {room}"
                    ),
                )
                .with_hint(
                    "shorten the input, name a file that the model can read, or use a model \
                     with a larger window",
                )
            })?;
        }
        if let ChatMessage::User { content } = message {
            *said = content;
        }
        Ok(())
    }

    /// Spills the long user texts of a message, where possible.
    pub(crate) fn spill_long_texts(&self, message: &mut ChatMessage, ends: usize) {
        for text in user_texts(message).filter(|text| should_spill(text, ends)) {
            if let Some(shorter) = self.spill_text(text, ends) {
                *text = shorter;
            }
        }
    }

    /// Spills a text to a file and returns the excerpt; `None` if the model
    /// could not read the file.
    fn spill_text(&self, text: &str, ends: usize) -> Option<String> {
        let engine = &self.parts.engine;
        engine.snapshot().get("read_file")?;
        let scope = self.parts.caller.scope.as_ref();
        if scope.is_some_and(|scope| !scope.offers("read_file")) {
            return None;
        }
        let path = engine.save_oversized_text("message", text).ok()?;
        let path = path.display();
        self.emit(&AgentEvent::Warning(&format!(
            "The input does not fit the model's context window. It was saved to {path}, and \
             the model is asked to read it there."
        )));
        let head = text.floor_char_boundary(ends * 2 / 5);
        let tail = text.ceil_char_boundary(text.len() - ends * 3 / 5);
        let (head, rest) = text.split_at(head);
        let tail = text.get(tail..).unwrap_or_default();
        let left_out = rest.len() - tail.len();
        Some(format!(
            "{head}\n\n{SPILL_NOTE} {left_out} of {} bytes are omitted between the text above \
             and below. The full text, {} lines, is in the file {path}. Read it in pages with \
             read_file (offset, limit), or search it, before you answer. …]\n\n{tail}",
            text.len(),
            text.lines().count(),
        ))
    }
}

/// Whether a text is long enough to spill and not yet spilled.
fn should_spill(text: &str, ends: usize) -> bool {
    text.len() > ends.max(MIN_EXCERPT_BYTES) * 2 && !text.contains(SPILL_NOTE)
}

/// Returns the text parts of a user message.
fn user_texts(message: &mut ChatMessage) -> impl Iterator<Item = &mut String> {
    let parts = match message {
        ChatMessage::User { content } => content.as_mut_slice(),
        _ => &mut [],
    };
    parts.iter_mut().filter_map(|part| match part {
        ContentPart::Text { text } => Some(text),
        ContentPart::Image(_) => None,
    })
}
