//! What is said besides an answer, sentence by sentence.

/// Adds a sentence to others, unless it is among them.
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
