//! Removes a text from a stream.

/// Removes every occurrence of a text from a stream, even across chunks.
#[derive(Debug)]
pub(super) struct TextFilter {
    text: Vec<u8>,
    /// Possible beginning of the text.
    pending: Vec<u8>,
}

impl TextFilter {
    pub(super) fn new(text: &str) -> Self {
        Self { text: text.as_bytes().to_vec(), pending: Vec::new() }
    }

    /// Returns the part of the stream that can be passed on.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut all = std::mem::take(&mut self.pending);
        all.extend_from_slice(bytes);
        let mut kept = Vec::with_capacity(all.len());
        let mut rest = all.as_slice();
        while let Some(at) = memchr::memmem::find(rest, &self.text) {
            kept.extend_from_slice(rest.get(..at).unwrap_or_default());
            rest = rest.get(at + self.text.len()..).unwrap_or_default();
        }
        let most = rest.len().min(self.text.len().saturating_sub(1));
        let begins = |at: &usize| rest.get(*at..).is_some_and(|end| self.text.starts_with(end));
        let at = (rest.len() - most..rest.len()).find(begins).unwrap_or(rest.len());
        let (passed, held) = rest.split_at(at);
        kept.extend_from_slice(passed);
        self.pending = held.to_vec();
        kept
    }

    /// Returns the pending bytes at the end of the stream.
    pub(super) fn finish(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.pending)
    }
}

#[cfg(test)]
#[path = "filter_tests.rs"]
mod tests;
