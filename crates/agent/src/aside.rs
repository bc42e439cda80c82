//! What a user says that does not fit the model's window goes to a file; its
//! ends stay, with a note that says where the whole is. It is never cut in
//! silence: the model would answer for the rest as if it had read it.

use hermes_llm::{ModelError, ModelErrorKind, ChatMessage, ContentPart};

use crate::agent::Agent;
use crate::conversation::tokens;
use crate::watcher::Notice;

/// A text that is shorter stays where it is.
const SHORT: usize = 2_000;
/// The most bytes of the ends that stay.
const ENDS: usize = 16_000;
/// The room for an answer where nothing was said.
const ANSWER: u64 = 4_096;
/// What the note begins with.
const NOTE: &str = "[… The whole does not fit here:";

impl Agent {
    /// About how many tokens a request takes beside the conversation.
    pub(crate) fn base(&self) -> u64 {
        let tools = self.makeup.tools.iter().map(|tool| tool.to_string().len());
        (self.makeup.system.len() + tools.sum::<usize>()) as u64 / 4
    }

    /// How many tokens the conversation may take so that there is room for an
    /// answer; none if the window is not known.
    pub(crate) fn room(&self) -> Option<u64> {
        let window = self.makeup.model.window()?;
        let answer = self.makeup.manner.max_tokens.unwrap_or(ANSWER).min(window / 4);
        Some(window.saturating_sub(self.base() + answer).max(window / 8))
    }

    /// Makes what is said fit the model's window. An error if it cannot.
    pub(crate) fn fit(&self, said: &mut Vec<ContentPart>) -> Result<(), ModelError> {
        let Some(room) = self.room() else { return Ok(()) };
        let ends = (crate::room::bytes(room) / 8).clamp(SHORT, ENDS);
        let mut message = ChatMessage::User { content: std::mem::take(said) };
        let taken = tokens(&message);
        while tokens(&message) > room {
            let text = texts(&mut message).filter(|text| is_long(text, ends));
            let shorter = text.max_by_key(|text| text.len()).and_then(|text| {
                *text = self.set_aside(text, ends)?;
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
    pub(crate) fn set_texts_aside(&self, message: &mut ChatMessage, ends: usize) {
        for text in texts(message).filter(|text| is_long(text, ends)) {
            if let Some(shorter) = self.set_aside(text, ends) {
                *text = shorter;
            }
        }
    }

    /// Puts a text into a file; what stands in its place. None if the model could
    /// not read it there.
    fn set_aside(&self, text: &str, ends: usize) -> Option<String> {
        let engine = &self.makeup.engine;
        engine.snapshot().get("read_file")?;
        let scope = self.makeup.caller.scope.as_ref();
        if scope.is_some_and(|scope| !scope.offers("read_file")) {
            return None;
        }
        let path = engine.save_oversized_text("message", text).ok()?;
        let path = path.display();
        self.see(&Notice::Warning(&format!(
            "What was said does not fit the model's window. The whole is in {path}, and the model is \
             told to read it there."
        )));
        let head = text.floor_char_boundary(ends * 2 / 5);
        let tail = text.ceil_char_boundary(text.len() - ends * 3 / 5);
        let (head, rest) = text.split_at(head);
        let tail = text.get(tail..).unwrap_or_default();
        let left_out = rest.len() - tail.len();
        Some(format!(
            "{head}\n\n{NOTE} {left_out} of {} bytes are left out between what stands above and below. \
             All of it, {} lines, is in the file {path}. Read it there in pages with read_file (offset, \
             limit), or search it, before you answer for it. …]\n\n{tail}",
            text.len(),
            text.lines().count(),
        ))
    }
}

/// Whether a text is worth a file, and is in none yet.
fn is_long(text: &str, ends: usize) -> bool {
    text.len() > ends.max(SHORT) * 2 && !text.contains(NOTE)
}

/// The texts of what a user has said.
fn texts(message: &mut ChatMessage) -> impl Iterator<Item = &mut String> {
    let parts = match message {
        ChatMessage::User { content } => content.as_mut_slice(),
        _ => &mut [],
    };
    parts.iter_mut().filter_map(|part| match part {
        ContentPart::Text { text } => Some(text),
        ContentPart::Image(_) => None,
    })
}
