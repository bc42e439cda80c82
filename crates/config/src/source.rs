//! A named text that can say where an offset is and show the line with a caret.

use std::ops::Range;
use std::path::PathBuf;

use crate::error::{Diagnostic, Place};

/// As much of a long line as fits a terminal beside its number.
const MAX_EXCERPT: usize = 100;

const BOM: char = '\u{feff}';

/// A fault at a byte range of a text, not yet tied to a file.
#[derive(Debug, Clone)]
pub(crate) struct Problem {
    pub(crate) at: Range<usize>,
    pub(crate) message: String,
    pub(crate) first: Option<usize>,
    pub(crate) hint: Option<String>,
}

impl Problem {
    pub(crate) fn new(at: Range<usize>, message: impl Into<String>) -> Self {
        Self { at, message: message.into(), first: None, hint: None }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(crate) fn first(mut self, offset: usize) -> Self {
        self.first = Some(offset);
        self
    }
}

#[derive(Clone)]
pub(crate) struct Source {
    pub(crate) name: PathBuf,
    pub(crate) text: String,
    /// The offset at which every line starts.
    lines: Vec<usize>,
}

impl Source {
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

    pub(crate) fn place(&self, offset: usize) -> Place {
        let line = self.line_index(offset);
        let before = self.text.get(self.line_start(line)..offset).unwrap_or("");
        Place {
            file: self.name.clone(),
            line: line + 1,
            column: before.chars().filter(|c| *c != BOM).count() + 1,
        }
    }

    pub(crate) fn diagnose(&self, problem: Problem) -> Diagnostic {
        Diagnostic {
            excerpt: self.excerpt(&problem.at),
            place: Some(self.place(problem.at.start)),
            first: problem.first.map(|offset| self.place(offset)),
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
        let text = text.trim_end_matches(['\n', '\r']).trim_start_matches(BOM);
        let column = self.place(at.start).column - 1;
        let covered = self.text.get(at.start..at.end.min(end).max(at.start));
        let width = covered.map_or(0, |covered| covered.trim_end().chars().count());

        // A long line is shown around the fault, so that the caret has something to stand under.
        let skip = column.saturating_sub(MAX_EXCERPT / 2);
        let shown: String = text
            .chars()
            .skip(skip)
            .take(MAX_EXCERPT)
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        let caret_at = column - skip;
        let carets = "^".repeat(width.clamp(1, MAX_EXCERPT.saturating_sub(caret_at).max(1)));
        let number = (line + 1).to_string();
        let gutter = " ".repeat(number.len());
        format!(" {number} | {shown}\n {gutter} | {}{carets}", " ".repeat(caret_at))
    }
}

#[cfg(test)]
#[path = "source_tests.rs"]
mod tests;
