//! What a user says that does not fit the model's window goes to a file; its
//! ends stay, with a note that says where the whole is. It is never cut in
//! silence: the model would answer for the rest as if it had read it.

use hermes_llm::{ChatMessage, ContentPart, ModelError, ModelErrorKind};

use crate::agent::Agent;
use crate::conversation::estimate_tokens;
use crate::observer::AgentEvent;

/// A text that is shorter stays where it is.
const MIN_EXCERPT_BYTES: usize = 2_000;
/// The most bytes of the ends that stay.
const MAX_EXCERPT_BYTES: usize = 16_000;
/// The room for an answer where nothing was said.
const DEFAULT_ANSWER_TOKENS: u64 = 4_096;
/// What the note begins with.
const SPILL_NOTE: &str = "[… The whole does not fit here:";

impl Agent {
    /// About how many tokens a request takes beside the conversation.
    pub(crate) fn fixed_tokens(&self) -> u64 {
        let tools = self.parts.tools.iter().map(|tool| tool.to_string().len());
        (self.parts.system.len() + tools.sum::<usize>()) as u64 / 4
    }

    /// How many tokens the conversation may take so that there is room for an
    /// answer; none if the window is not known.
    pub(crate) fn available_tokens(&self) -> Option<u64> {
        let window = self.parts.model.window()?;
        let answer = self.parts.params.max_tokens.unwrap_or(DEFAULT_ANSWER_TOKENS).min(window / 4);
        Some(window.saturating_sub(self.fixed_tokens() + answer).max(window / 8))
    }

    /// Makes what is said fit the model's window. An error if it cannot.
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
                    format!("this takes about {taken} tokens, and the model has room for {room}"),
                )
                .with_hint(
                    "say less, name a file that it can read, or use a model with a larger window",
                )
            })?;
        }
        if let ChatMessage::User { content } = message {
            *said = content;
        }
        Ok(())
    }

    /// Sets the long texts of what a user has said aside, as far as that is
    /// possible.
    pub(crate) fn spill_long_texts(&self, message: &mut ChatMessage, ends: usize) {
        for text in user_texts(message).filter(|text| should_spill(text, ends)) {
            if let Some(shorter) = self.spill_text(text, ends) {
                *text = shorter;
            }
        }
    }

    /// Puts a text into a file; what stands in its place. None if the model could
    /// not read it there.
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
            "What was said does not fit the model's window. The whole is in {path}, and the model is \
             told to read it there."
        )));
        let head = text.floor_char_boundary(ends * 2 / 5);
        let tail = text.ceil_char_boundary(text.len() - ends * 3 / 5);
        let (head, rest) = text.split_at(head);
        let tail = text.get(tail..).unwrap_or_default();
        let left_out = rest.len() - tail.len();
        Some(format!(
            "{head}\n\n{SPILL_NOTE} {left_out} of {} bytes are left out between what stands above and below. \
             All of it, {} lines, is in the file {path}. Read it there in pages with read_file (offset, \
             limit), or search it, before you answer for it. …]\n\n{tail}",
            text.len(),
            text.lines().count(),
        ))
    }
}

/// Whether a text is worth a file, and is in none yet.
fn should_spill(text: &str, ends: usize) -> bool {
    text.len() > ends.max(MIN_EXCERPT_BYTES) * 2 && !text.contains(SPILL_NOTE)
}

/// The texts of what a user has said.
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
