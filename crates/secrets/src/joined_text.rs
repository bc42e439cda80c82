//! A text without what a reader does not see: terminal sequences and invisible
//! characters, which may split a secret in two.

/// The longest parameters of a terminal sequence.
const MAX_PARAMETER_BYTES: usize = 32;

/// A text without invisible parts, and where its parts come from.
#[derive(Debug)]
pub(crate) struct JoinedText {
    text: String,
    /// For each part: where it begins here, and in the source.
    parts: Vec<(usize, usize)>,
}

impl JoinedText {
    /// Removes invisible parts from the lines that have some; `None` if there
    /// are none. Other lines are left out.
    pub(crate) fn new(source: &str) -> Option<Self> {
        let mut joined: Option<Self> = None;
        let bytes = source.as_bytes();
        let (mut at, mut copied, mut line_end) = (0, 0, 0);
        while let Some(found) = next_candidate(bytes, at) {
            let length = invisible_length(bytes.get(found..).unwrap_or_default());
            if length == 0 {
                at = found + 1;
                continue;
            }
            let into =
                joined.get_or_insert_with(|| Self { text: String::new(), parts: Vec::new() });
            if found >= line_end {
                into.push(source, copied, line_end);
                let before = bytes.get(..found).unwrap_or_default();
                copied = memchr::memrchr(b'\n', before).map_or(0, |at| at + 1);
                let after = bytes.get(found..).unwrap_or_default();
                line_end = memchr::memchr(b'\n', after).map_or(bytes.len(), |at| found + at + 1);
            }
            into.push(source, copied, found);
            at = found + length;
            copied = at;
        }
        if let Some(into) = &mut joined {
            into.push(source, copied, line_end);
        }
        joined
    }

    fn push(&mut self, source: &str, from: usize, to: usize) {
        if let Some(part) = source.get(from..to).filter(|part| !part.is_empty()) {
            self.parts.push((self.text.len(), from));
            self.text.push_str(part);
        }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the range in the source.
    pub(crate) fn source_range(&self, start: usize, end: usize) -> Option<(usize, usize)> {
        let last = end.checked_sub(1)?;
        Some((self.source_position(start)?, self.source_position(last)? + 1))
    }

    fn source_position(&self, at: usize) -> Option<usize> {
        let part = self.parts.partition_point(|(here, _)| *here <= at).checked_sub(1)?;
        let (here, source) = self.parts.get(part)?;
        Some(source + (at - here))
    }
}

/// Returns the next byte that may begin an invisible part.
fn next_candidate(bytes: &[u8], from: usize) -> Option<usize> {
    // The first bytes of U+200B to U+2069 and of U+FEFF.
    memchr::memchr3(0x1b, 0xe2, 0xef, bytes.get(from..)?).map(|at| from + at)
}

/// Returns the length of the invisible part at the start, or 0.
fn invisible_length(bytes: &[u8]) -> usize {
    match bytes {
        [0x1b, b'[', rest @ ..] => {
            let parameters = rest.iter().take(MAX_PARAMETER_BYTES);
            let count = parameters.take_while(|byte| (b' '..=b'?').contains(byte)).count();
            match rest.get(count) {
                Some(b'@'..=b'~') => count + 3,
                _ => 1,
            }
        }
        [0x1b, ..] => 1,
        [0xe2, 0x80, 0x8b..=0x8f | 0xaa..=0xae, ..]
        | [0xe2, 0x81, 0xa0..=0xaf, ..]
        | [0xef, 0xbb, 0xbf, ..] => 3,
        _ => 0,
    }
}

#[cfg(test)]
#[path = "joined_text_tests.rs"]
mod tests;
