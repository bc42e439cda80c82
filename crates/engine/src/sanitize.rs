//! Makes error text safe to show to a model: strips markup that it could take
//! for the conversation itself, and limits the length.

/// Maximum length of an error, in characters.
pub(crate) const MAX_ERROR_CHARS: usize = 2000;

/// Marks an error raised by a tool.
pub(crate) const ERROR_PREFIX: &str = "[TOOL_ERROR] ";

/// Tags that frame conversations and calls in chat templates.
const FRAMING_TAGS: [&str; 21] = [
    "tool_call",
    "tool_calls",
    "function_calls",
    "function_results",
    "invoke",
    "parameter",
    "start_of_turn",
    "end_of_turn",
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

/// Bracket markers that frame conversations and calls. Matched
/// case-sensitively: `[inst]` is an index expression.
const BRACKET_MARKERS: [&str; 9] = [
    "[INST]",
    "[/INST]",
    "[SYSTEM_PROMPT]",
    "[/SYSTEM_PROMPT]",
    "[AVAILABLE_TOOLS]",
    "[/AVAILABLE_TOOLS]",
    "[TOOL_CALLS]",
    "[TOOL_RESULTS]",
    "[/TOOL_RESULTS]",
];

/// Characters that start a marker.
const MARKER_STARTS: [char; 4] = ['<', '`', '[', ']'];

/// Maximum length of a special token's name.
const MAX_TOKEN_CHARS: usize = 40;

/// Strips framing from an unexpected error, truncates it and adds the prefix.
pub fn sanitize_error(text: &str) -> String {
    format!("{ERROR_PREFIX}{}", truncate_error(&strip_framing(text)))
}

/// Removes role and call tags (with or without attributes), special tokens of
/// chat templates, code fences, CDATA markers and invisible characters. The
/// enclosed text stays.
pub fn strip_framing(text: &str) -> String {
    let mut once = text.replace(is_invisible, "");
    if !once.contains(MARKER_STARTS) {
        return once;
    }
    // Removing a tag can join the halves of another.
    for _ in 0..9 {
        let again = strip_once(&once);
        if again == once {
            return once;
        }
        once = again;
    }
    // Text that still changes after that many rounds is an attack.
    once.replace(MARKER_STARTS, "")
}

/// Zero-width and bidirectional control characters, which can disguise a name.
fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{2064}'
            | '\u{2066}'..='\u{2069}'
            | '\u{feff}'
    )
}

fn strip_once(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut closings = TagEndFinder { text, next: text.find('>') };
    let mut rest = text;
    while let Some(at) = rest.find(MARKER_STARTS) {
        let (before, mark) = rest.split_at(at);
        out.push_str(before);
        let after = after_fixed(mark)
            .or_else(|| after_fence(mark))
            .or_else(|| after_token(mark))
            .or_else(|| after_tag(mark, &mut closings));
        rest = after.unwrap_or_else(|| {
            let mut chars = mark.chars();
            out.extend(chars.next());
            chars.as_str()
        });
    }
    out.push_str(rest);
    out
}

/// The text after a marker with a fixed spelling.
fn after_fixed(mark: &str) -> Option<&str> {
    if let Some(after) = mark.strip_prefix("<![CDATA[").or_else(|| mark.strip_prefix("]]>")) {
        return Some(after);
    }
    if mark.starts_with('[') {
        return BRACKET_MARKERS.iter().find_map(|known| mark.strip_prefix(known));
    }
    ["<<SYS>>", "<</SYS>>"].iter().find_map(|known| {
        let (start, after) = mark.split_at_checked(known.len())?;
        start.eq_ignore_ascii_case(known).then_some(after)
    })
}

/// The text after a code fence and its language name.
fn after_fence(mark: &str) -> Option<&str> {
    let rest = mark.strip_prefix("```")?.trim_start_matches('`');
    let after_language = ["json", "xml", "html", "markdown"]
        .iter()
        .filter_map(|language| rest.strip_prefix(language))
        .find(|after| after.is_empty() || after.starts_with(char::is_whitespace));
    Some(after_language.map_or(rest, |after| after.trim_start_matches([' ', '\t'])))
}

/// The text after a special token such as `<|im_start|>`, if `mark` starts with
/// one. Some models use fullwidth bars and `▁` for underscores.
fn after_token(mark: &str) -> Option<&str> {
    const TOKEN_BARS: [char; 2] = ['|', '｜'];
    let inner = mark.strip_prefix('<')?.strip_prefix(TOKEN_BARS)?;
    let in_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '▁';
    let length = inner.chars().take(MAX_TOKEN_CHARS + 1).take_while(|&c| in_name(c)).count();
    if !(1..=MAX_TOKEN_CHARS).contains(&length) {
        return None;
    }
    inner.trim_start_matches(in_name).strip_prefix(TOKEN_BARS)?.strip_prefix('>')
}

/// The text after a framing tag, if `mark` starts with one.
fn after_tag<'a>(mark: &'a str, closings: &mut TagEndFinder<'a>) -> Option<&'a str> {
    let inner = mark.strip_prefix('<')?.trim_start();
    let unslashed = inner.strip_prefix('/');
    let inner = unslashed.unwrap_or(inner);
    let inner = inner.trim_start_matches(|c: char| c.is_whitespace() || c == '|');
    let (mut name, mut after) = split_name(inner);
    if let Some(local) = after.strip_prefix(':').filter(|_| !name.is_empty()) {
        (name, after) = split_name(local);
    }
    let is_framing = if name.eq_ignore_ascii_case("function") {
        // `<function main at 0x7f>` is how some languages print a function.
        unslashed.is_some() || after.trim_start().starts_with('=')
    } else {
        FRAMING_TAGS.iter().any(|known| name.eq_ignore_ascii_case(known))
    };
    let ends = |c: char| c.is_whitespace() || matches!(c, '>' | '/' | '|' | '=');
    if !is_framing || !after.starts_with(ends) {
        return None;
    }
    after_attributes(after).or_else(|| closings.after_next_end(after))
}

fn split_name(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
    text.split_at(end)
}

/// The text after a tag's attributes, which may contain `>` in quotes. `None`
/// if they are malformed or very long.
fn after_attributes(text: &str) -> Option<&str> {
    let mut quote = None;
    for (at, c) in text.char_indices().take(1000) {
        match (quote, c) {
            (None, '>') => return text.get(at + 1..),
            (None, '<') => return None,
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), c) if c == open => quote = None,
            _ => {}
        }
    }
    None
}

/// Finds the next `>`. The position is cached for all tags before it, so many
/// unclosed tags take linear time.
struct TagEndFinder<'a> {
    text: &'a str,
    next: Option<usize>,
}

impl<'a> TagEndFinder<'a> {
    /// The text after the first `>` in `rest`, a suffix of the text that only
    /// gets shorter from call to call.
    fn after_next_end(&mut self, rest: &'a str) -> Option<&'a str> {
        let from = self.text.len().saturating_sub(rest.len());
        if self.next? < from {
            self.next = rest.find('>').map(|at| from + at);
        }
        self.text.get(self.next? + 1..)
    }
}

/// Truncates text to [`MAX_ERROR_CHARS`] characters.
pub(crate) fn truncate_error(text: &str) -> String {
    match text.char_indices().nth(MAX_ERROR_CHARS) {
        None => text.to_owned(),
        Some(_) => {
            let end = text.char_indices().nth(MAX_ERROR_CHARS - 3).map_or(text.len(), |(at, _)| at);
            format!("{}...", text.get(..end).unwrap_or_default())
        }
    }
}

#[cfg(test)]
#[path = "sanitize_tests.rs"]
mod tests;
