//! Strips what models wrap around a patch: code fences and here-documents.

use crate::line_endings::LineEnding;

/// A line of a patch, with its line number starting at 1.
#[derive(Debug, Clone, Copy)]
pub(super) struct PatchLine<'a> {
    pub(super) number: usize,
    pub(super) text: &'a str,
    /// None for an unterminated last line.
    pub(super) ending: Option<LineEnding>,
}

/// Returns the lines of a patch without the wrapping.
pub(super) fn unwrap_lines(patch: &str) -> Vec<PatchLine<'_>> {
    let mut lines: Vec<PatchLine<'_>> = patch.split('\n').zip(1..).map(number_line).collect();
    if let Some(last) = lines.last_mut().filter(|last| last.ending == Some(LineEnding::Lf)) {
        last.ending = None;
    }
    if lines.last().is_some_and(|line| line.text.is_empty()) {
        lines.pop();
    }
    let mut from = lines.iter().take_while(|line| line.text.trim().is_empty()).count();
    let mut to = lines.len();
    let mut until: Option<&str> = None;
    // At most a here-document inside a fence.
    for _ in 0..2 {
        let Some(first) = lines.get(from) else { break };
        let opening = first.text.trim();
        let closing =
            if opening.starts_with("```") { Some("```") } else { here_document_word(opening) };
        let Some(closing) = closing else { break };
        from += 1;
        until = Some(closing);
        let end = lines.get(from..to).unwrap_or_default();
        if let Some(at) = end.iter().rposition(|line| line.text.trim() == closing) {
            to = from + at;
        }
    }
    if until.is_some() {
        lines.truncate(to);
    }
    lines.drain(..from.min(lines.len()));
    lines
}

fn number_line((line, number): (&str, usize)) -> PatchLine<'_> {
    match line.strip_suffix('\r') {
        Some(text) => PatchLine { number, text, ending: Some(LineEnding::CrLf) },
        None => PatchLine { number, text: line, ending: Some(LineEnding::Lf) },
    }
}

/// Returns the delimiter of the here-document that a command line opens.
fn here_document_word(line: &str) -> Option<&str> {
    let (_, word) = line.split_once("<<")?;
    let word = word.trim_start_matches('-').trim();
    let word = word.trim_matches(['\'', '"']);
    let named = !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || c == '_');
    named.then_some(word)
}
