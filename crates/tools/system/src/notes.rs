//! Joins the notes of a result.

/// Appends a sentence unless the text already contains it.
pub(crate) fn append_sentence(said: &mut String, sentence: &str) {
    let sentence = sentence.trim();
    if said.contains(sentence) {
        return;
    }
    if !said.is_empty() {
        let is_ended = said.ends_with(['.', '!', '?', '…', ':', ')']);
        said.push_str(if is_ended { " " } else { ". " });
    }
    said.push_str(sentence);
}

#[cfg(test)]
#[path = "notes_tests.rs"]
mod tests;
