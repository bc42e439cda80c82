//! Writes a diff line by line up to a size limit.

use super::{DiffLayout, RenderedDiff};

/// A diff being written.
#[derive(Debug)]
pub(super) struct DiffWriter {
    rendered: RenderedDiff,
    limit: usize,
    line_limit: usize,
}

impl DiffWriter {
    /// Starts a diff with the `---` and `+++` lines.
    pub(super) fn new(layout: &DiffLayout<'_>) -> Self {
        let mut output = Self {
            rendered: RenderedDiff::default(),
            limit: layout.limit,
            line_limit: layout.line_limit,
        };
        let spelt = |name: &str| {
            if layout.is_quoted { name.to_owned() } else { close_name(quote_name(name)) }
        };
        output.push(&format!("--- {}", spelt(layout.old_name)));
        output.push(&format!("+++ {}", spelt(layout.new_name)));
        output
    }

    /// Whether the limit is reached.
    pub(super) fn is_full(&self) -> bool {
        self.rendered.omitted_lines > 0
    }

    /// Adds a line; `line` has no line feed.
    pub(super) fn push(&mut self, line: &str) {
        if self.is_full() || self.rendered.text.len() + line.len() >= self.limit {
            self.rendered.omitted_lines += 1;
            return;
        }
        self.rendered.text.push_str(line);
        self.rendered.text.push('\n');
    }

    /// Adds a line of one of the texts, truncated at the line limit.
    pub(super) fn push_text(&mut self, line: &str) {
        let is_short = line.len() <= self.line_limit;
        let end = if is_short { None } else { line.char_indices().nth(self.line_limit) };
        let Some((head, tail)) = end.and_then(|(end, _)| line.split_at_checked(end)) else {
            return self.push(line);
        };
        self.push(&format!("{head} … [{} more characters]", tail.chars().count()));
        self.rendered.truncated_lines += usize::from(!self.is_full());
    }

    /// Counts lines as omitted without rendering them.
    pub(super) fn omit_lines(&mut self, lines: usize) {
        self.rendered.omitted_lines += lines;
    }

    pub(super) fn finish(self) -> RenderedDiff {
        self.rendered
    }
}

/// Quotes a file name as git does: only if it has a quote, a backslash or a
/// control character.
pub fn quote_name(name: &str) -> String {
    quote_name_bytes(name.as_bytes())
}

/// Like [`quote_name`], for a name that may not be UTF-8.
pub fn quote_name_bytes(name: &[u8]) -> String {
    let is_odd = |c: char| c.is_control() || matches!(c, '"' | '\\');
    if let Some(plain) = str::from_utf8(name).ok().filter(|name| !name.contains(is_odd)) {
        return plain.to_owned();
    }
    let mut quoted = String::from("\"");
    for chunk in name.utf8_chunks() {
        push_quoted(&mut quoted, chunk.valid());
        chunk.invalid().iter().for_each(|byte| quoted.push_str(&format!("\\{byte:03o}")));
    }
    quoted.push('"');
    quoted
}

/// Ends a quoted name for a `---` or `+++` line: like git, adds a tab after a
/// name with spaces, to mark its end.
pub fn close_name(mut quoted: String) -> String {
    if quoted.contains(' ') && !quoted.starts_with('"') {
        quoted.push('\t');
    }
    quoted
}

fn push_quoted(quoted: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => quoted.push_str("\\r"),
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => {
                let mut bytes = [0; 4];
                for byte in c.encode_utf8(&mut bytes).bytes() {
                    quoted.push_str(&format!("\\{byte:03o}"));
                }
            }
            c => quoted.push(c),
        }
    }
}
