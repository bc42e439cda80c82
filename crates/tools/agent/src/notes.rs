//! Short sentences on what of a request was changed to make sense of it.

/// The most sentences; the rest is counted.
const MAX_NOTES: usize = 10;
/// The most characters of a caller's word in a sentence.
const MAX_WORD_CHARS: usize = 40;

/// What there is to say, in the order in which it came up.
#[derive(Debug, Default)]
pub(crate) struct TodoNotes {
    sentences: Vec<String>,
    omitted: usize,
}

impl TodoNotes {
    /// Adds a sentence, which is only made if there is room for it.
    pub(crate) fn add(&mut self, sentence: impl FnOnce() -> String) {
        if self.sentences.len() < MAX_NOTES {
            self.sentences.push(sentence());
        } else {
            self.omitted += 1;
        }
    }

    /// All sentences, and a last one for those that found no room.
    pub(crate) fn into_sentences(mut self) -> Vec<String> {
        if self.omitted > 0 {
            self.sentences.push(format!("And {} more of this kind.", self.omitted));
        }
        self.sentences
    }
}

/// The beginning of a long word.
pub(crate) fn shorten_word(word: &str) -> String {
    match word.char_indices().nth(MAX_WORD_CHARS) {
        Some((end, _)) => format!("{}…", word.get(..end).unwrap_or_default()),
        None => word.to_owned(),
    }
}

#[cfg(test)]
#[path = "notes_tests.rs"]
mod tests;
