//! A named text that maps offsets to positions and renders excerpts with a
//! caret.

use std::ops::Range;
use std::path::PathBuf;

use crate::error::{ConfigDiagnostic, FilePosition};

/// Maximum excerpt length: what fits in a terminal beside the line number.
const MAX_EXCERPT_CHARS: usize = 100;

const BYTE_ORDER_MARK: char = '\u{feff}';

/// A problem at a byte range of a text, not yet tied to a file.
#[derive(Debug, Clone)]
pub(crate) struct SpannedProblem {
    pub(crate) at: Range<usize>,
    pub(crate) message: String,
    pub(crate) related: Option<usize>,
    pub(crate) hint: Option<String>,
}

impl SpannedProblem {
    pub(crate) fn new(at: Range<usize>, message: impl Into<String>) -> Self {
        Self { at, message: message.into(), related: None, hint: None }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(crate) fn related(mut self, offset: usize) -> Self {
        self.related = Some(offset);
        self
    }
}

#[derive(Clone)]
pub(crate) struct SourceText {
    pub(crate) name: PathBuf,
    pub(crate) text: String,
    /// The start offset of every line.
    lines: Vec<usize>,
}

impl SourceText {
    pub(crate) fn new(name: PathBuf, text: String) -> Self {
        let bytes = text.as_bytes();
        let ends_line = |at: &usize| match bytes.get(*at) {
            Some(b'\n') => true,
            Some(b'\r') => bytes.get(at + 1) != Some(&b'\n'),
            _ => false,
        };
        let breaks = (0..bytes.len()).filter(ends_line);
        let lines = std::iter::once(0).chain(breaks.map(|at| at + 1)).collect();
        Self { name, text, lines }
    }

    pub(crate) fn position(&self, offset: usize) -> FilePosition {
        let line = self.line_index(offset);
        let before = self.text.get(self.line_start(line)..offset).unwrap_or("");
        FilePosition {
            file: self.name.clone(),
            line: line + 1,
            column: before.chars().filter(|c| *c != BYTE_ORDER_MARK).count() + 1,
        }
    }

    pub(crate) fn diagnose(&self, problem: SpannedProblem) -> ConfigDiagnostic {
        ConfigDiagnostic {
            excerpt: self.excerpt(&problem.at),
            position: Some(self.position(problem.at.start)),
            related: problem.related.map(|offset| self.position(offset)),
            message: problem.message,
            hint: problem.hint,
        }
    }

    fn line_index(&self, offset: usize) -> usize {
        self.lines.partition_point(|start| *start <= offset).saturating_sub(1)
    }

    fn line_start(&self, line: usize) -> usize {
        self.lines.get(line).copied().unwrap_or(self.text.len())
    }

    fn excerpt(&self, at: &Range<usize>) -> String {
        let line = self.line_index(at.start);
        let start = self.line_start(line);
        let end = self.line_start(line + 1);
        let text = self.text.get(start..end).unwrap_or("");
        let text = text.trim_end_matches(['\n', '\r']).trim_start_matches(BYTE_ORDER_MARK);
        let column = self.position(at.start).column - 1;
        let covered = self.text.get(at.start..at.end.min(end).max(at.start));
        let width = covered.map_or(0, |covered| covered.trim_end().chars().count());

        // Show the part of a long line around the problem, to keep the caret in
        // view.
        let skip = column.saturating_sub(MAX_EXCERPT_CHARS / 2);
        let shown: String = text
            .chars()
            .skip(skip)
            .take(MAX_EXCERPT_CHARS)
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        let caret_at = column - skip;
        let carets = "^".repeat(width.clamp(1, MAX_EXCERPT_CHARS.saturating_sub(caret_at).max(1)));
        let number = (line + 1).to_string();
        let gutter = " ".repeat(number.len());
        format!(" {number} | {shown}\n {gutter} | {}{carets}", " ".repeat(caret_at))
    }
}

#[cfg(test)]
#[path = "source_tests.rs"]
mod tests;
