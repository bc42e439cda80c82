//! Splits a long message into parts that a server accepts.

/// Splits into parts of at most `most` units, at a line or word end unless that
/// is too early. `units` returns the size of a character.
pub(crate) fn split(text: &str, most: usize, units: fn(char) -> usize) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let end = fitting_prefix_len(rest, most, units);
        if end == rest.len() {
            parts.push(rest);
            break;
        }
        let head = &rest[..end];
        let late = |at: &usize| *at > end / 2;
        let cut = head
            .rfind('\n')
            .filter(late)
            .or_else(|| head.rfind(char::is_whitespace).filter(late))
            .unwrap_or(end);
        parts.push(rest[..cut].trim_end());
        rest = rest[cut..].trim_start();
    }
    parts
}

/// Returns how many bytes fit; at least one character.
fn fitting_prefix_len(text: &str, most: usize, units: fn(char) -> usize) -> usize {
    let mut used = 0;
    for (at, c) in text.char_indices() {
        used += units(c);
        if used > most && at > 0 {
            return at;
        }
    }
    text.len()
}

#[cfg(test)]
#[path = "parts_tests.rs"]
mod tests;
