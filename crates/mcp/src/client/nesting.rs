//! Truncates messages that are nested too deeply to parse.

/// How many levels are kept.
const MAX_DEPTH: usize = 100;

/// Placeholder for everything below.
pub(crate) const TOO_DEEP_MARKER: &str = "hermes: nested too deeply";

/// Replaces too deeply nested values in a message with [`TOO_DEEP_MARKER`].
pub(crate) fn truncate_nested(text: &[u8]) -> Vec<u8> {
    let mut kept = Vec::with_capacity(text.len());
    let (mut depth, mut in_string, mut is_escaped) = (0_usize, false, false);
    for byte in text {
        let closes = !in_string && matches!(byte, b'}' | b']');
        if in_string {
            in_string = is_escaped || *byte != b'"';
            is_escaped = !is_escaped && *byte == b'\\';
        } else if *byte == b'"' {
            in_string = true;
        } else if matches!(byte, b'{' | b'[') {
            depth += 1;
            if depth == MAX_DEPTH + 1 {
                kept.extend_from_slice(format!("\"{TOO_DEEP_MARKER}\"").as_bytes());
            }
        }
        if depth <= MAX_DEPTH {
            kept.push(*byte);
        }
        if closes {
            depth = depth.saturating_sub(1);
        }
    }
    kept
}

#[cfg(test)]
#[path = "nesting_tests.rs"]
mod tests;
