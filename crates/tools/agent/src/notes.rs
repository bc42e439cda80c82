//! Notes about corrections made to a request.

/// Maximum number of notes; the rest are only counted.
const MAX_NOTES: usize = 10;
/// Maximum length of a caller's word quoted in a note.
const MAX_WORD_CHARS: usize = 40;

/// Collected notes, in order of occurrence.
#[derive(Debug, Default)]
pub(crate) struct TodoNotes {
    sentences: Vec<String>,
    omitted: usize,
}

impl TodoNotes {
    /// Adds a note, built only if there is room for it.
    pub(crate) fn add(&mut self, sentence: impl FnOnce() -> String) {
        if self.sentences.len() < MAX_NOTES {
            self.sentences.push(sentence());
        } else {
            self.omitted += 1;
        }
    }

    /// Returns all notes, plus one that counts the omitted ones.
    pub(crate) fn into_sentences(mut self) -> Vec<String> {
        if self.omitted > 0 {
            self.sentences.push(format!("And {} more of this kind.", self.omitted));
        }
        self.sentences
    }
}

/// Truncates a long word.
pub(crate) fn shorten_word(word: &str) -> String {
    match word.char_indices().nth(MAX_WORD_CHARS) {
        Some((end, _)) => format!("{}…", word.get(..end).unwrap_or_default()),
        None => word.to_owned(),
    }
}

#[cfg(test)]
#[path = "notes_tests.rs"]
mod tests;
