//! Making error text safe to show to a model: no framing that it could take
//! for the conversation itself, and not too much of it.

/// How many characters of an error survive.
pub(crate) const ERROR_CHARS: usize = 2000;

/// What marks the text as an error that a tool raised.
pub(crate) const PREFIX: &str = "[TOOL_ERROR] ";

/// Tags that frame conversations.
const FRAMING: [&str; 14] = [
    "tool_call",
    "function_call",
    "tool_response",
    "tool_result",
    "result",
    "response",
    "output",
    "input",
    "system",
    "assistant",
    "user",
    "tool",
    "human",
    "developer",
];

/// An unexpected error: framing stripped, shortened, marked.
pub fn sanitize_error(text: &str) -> String {
    format!("{PREFIX}{}", shorten(&strip_framing(text)))
}

/// Removes role and call tags (with or without attributes), code-fence marks
/// and CDATA marks, wherever they stand. What they enclose stays.
pub fn strip_framing(text: &str) -> String {
    if !text.contains(['<', '`']) && !text.contains("]]>") {
        return text.to_owned();
    }
    let mut once = strip_once(text);
    // Removing a tag can bring the halves of another together.
    for _ in 0..8 {
        let again = strip_once(&once);
        if again == once {
            return once;
        }
        once = again;
    }
    // Still changing after that many rounds is an attack, not an error.
    once.replace(['<', '`'], "")
}

fn strip_once(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['<', '`', ']']) {
        let (before, mark) = rest.split_at(at);
        out.push_str(before);
        rest = if let Some(after) =
            mark.strip_prefix("<![CDATA[").or_else(|| mark.strip_prefix("]]>"))
        {
            after
        } else if mark.starts_with("```") {
            after_fence(mark)
        } else if let Some(after) = after_tag(mark) {
            after
        } else {
            let mut chars = mark.chars();
            out.extend(chars.next());
            chars.as_str()
        };
    }
    out.push_str(rest);
    out
}

/// What follows a fence mark and the name of its language.
fn after_fence(mark: &str) -> &str {
    let rest = mark.trim_start_matches('`');
    for language in ["json", "xml", "html", "markdown"] {
        let Some(after) = rest.strip_prefix(language) else { continue };
        if after.starts_with(|c: char| c.is_whitespace()) || after.is_empty() {
            return after.trim_start_matches([' ', '\t']);
        }
    }
    rest
}

/// What follows a framing tag, if one stands here. Attributes may hold `>`
/// in quotes.
fn after_tag(mark: &str) -> Option<&str> {
    let inner = mark.strip_prefix('<')?;
    let inner = inner.trim_start_matches([' ', '\t']);
    let inner = inner.strip_prefix('/').unwrap_or(inner);
    let inner = inner.trim_start_matches([' ', '\t', '|']);
    let name_end =
        inner.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(inner.len());
    let (name, after) = inner.split_at(name_end);
    if !FRAMING.contains(&name.to_ascii_lowercase().as_str()) {
        return None;
    }
    if !after.starts_with(['>', '/', '|', ' ', '\t', '\n', '\r', '=']) {
        return None;
    }
    let mut quote = None;
    // A tag that is never closed is not a tag; do not look for its end far away.
    for (at, c) in after.char_indices().take(1000) {
        match (quote, c) {
            (None, '>') => return after.get(at + 1..),
            (None, '<') => return None,
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), c) if c == open => quote = None,
            _ => {}
        }
    }
    None
}

/// At most [`ERROR_CHARS`] characters.
pub(crate) fn shorten(text: &str) -> String {
    match text.char_indices().nth(ERROR_CHARS) {
        None => text.to_owned(),
        Some(_) => {
            let end = text.char_indices().nth(ERROR_CHARS - 3).map_or(text.len(), |(at, _)| at);
            format!("{}...", text.get(..end).unwrap_or_default())
        }
    }
}

#[cfg(test)]
#[path = "sanitize_tests.rs"]
mod tests;
