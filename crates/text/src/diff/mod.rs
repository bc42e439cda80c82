//! Line-based diffs of two texts in bounded time, rendered as a unified diff, a
//! word diff, or side by side.
//!
//! A diff is always correct: applied to the old text it gives the new one. If
//! the minimal diff would take too long, the result is coarse and marked as
//! such.

use std::time::Duration;

use serde::Serialize;

mod change;
mod columns;
mod compare;
mod hunk;
mod key;
mod output;
mod unified;
mod width;
mod words;

pub use change::LineBreaks;
use change::LineChange;
pub use key::WhitespaceMode;
use output::DiffWriter;
pub use output::{close_name, quote_name, quote_name_bytes};

/// How texts are compared.
#[derive(Debug, Clone, Copy)]
pub struct DiffOptions {
    /// How whitespace counts.
    pub whitespace: WhitespaceMode,
    /// Whether case is ignored.
    pub ignore_case: bool,
    /// Whether changes that only affect blank lines are ignored.
    pub ignore_blank_lines: bool,
    /// Which characters end a line.
    pub line_breaks: LineBreaks,
    /// How long to search for the minimal diff before accepting a coarse one.
    pub time_limit: Duration,
}

impl Default for DiffOptions {
    fn default() -> Self {
        Self {
            whitespace: WhitespaceMode::Exact,
            ignore_case: false,
            ignore_blank_lines: false,
            line_breaks: LineBreaks::default(),
            time_limit: Duration::from_secs(2),
        }
    }
}

/// Number of lines added and removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct DiffStat {
    /// Lines that only the new text has.
    pub added: usize,
    /// Lines that only the old text has.
    pub removed: usize,
}

/// How a diff is rendered.
#[derive(Debug, Clone, Copy)]
pub struct DiffLayout<'a> {
    /// The name of the old text.
    pub old_name: &'a str,
    /// The name of the new text.
    pub new_name: &'a str,
    /// Whether the names are already in header form, as returned by
    /// [`quote_name`] or [`quote_name_bytes`] and [`close_name`].
    pub is_quoted: bool,
    /// Number of unchanged lines around each change.
    pub context: usize,
    /// Maximum size in bytes; lines that do not fit are omitted.
    pub limit: usize,
    /// Maximum number of characters per line; longer lines are truncated with a
    /// note. Only a diff without truncated lines can be applied.
    pub line_limit: usize,
}

impl<'a> DiffLayout<'a> {
    /// A complete diff with three context lines.
    pub fn full(old_name: &'a str, new_name: &'a str) -> Self {
        let (limit, line_limit) = (usize::MAX, usize::MAX);
        Self { old_name, new_name, is_quoted: false, context: 3, limit, line_limit }
    }
}

/// A diff rendered as text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RenderedDiff {
    /// The text; empty if nothing differs.
    pub text: String,
    /// Number of lines omitted because they did not fit.
    pub omitted_lines: usize,
    /// Number of truncated lines.
    pub truncated_lines: usize,
}

/// The difference of two texts.
#[derive(Debug)]
pub struct TextDiff<'a> {
    old: &'a str,
    new: &'a str,
    /// The line terminators of the old and the new text.
    terminators: (u8, u8),
    changes: Vec<LineChange>,
    is_coarse: bool,
}

impl<'a> TextDiff<'a> {
    /// Compares two texts.
    pub fn new(old: &'a str, new: &'a str, options: &DiffOptions) -> Self {
        let ends = (options.line_breaks.terminator_of(old), options.line_breaks.terminator_of(new));
        let (changes, is_coarse) = compare::compare(old, new, ends, options);
        Self { old, new, terminators: ends, changes, is_coarse }
    }

    /// Whether the texts are equal under the options.
    pub fn is_empty(&self) -> bool {
        self.changes.iter().all(|change| change.is_ignored)
    }

    /// Whether the search ran out of time for a better diff. The diff is still
    /// correct.
    pub fn is_coarse(&self) -> bool {
        self.is_coarse
    }

    /// Returns the number of lines added and removed.
    pub fn stat(&self) -> DiffStat {
        let counted = self.changes.iter().filter(|change| !change.is_ignored);
        counted.fold(DiffStat::default(), |stat, change| DiffStat {
            added: stat.added + change.new.len(),
            removed: stat.removed + change.old.len(),
        })
    }

    /// Renders a unified diff. Lines are written unchanged, including carriage
    /// returns. `patch` and `git apply` can apply it if only line feeds end
    /// lines.
    pub fn unified(&self, layout: &DiffLayout<'_>) -> RenderedDiff {
        unified::render(self, layout)
    }

    /// Renders hunks with changed words marked, `[-like-]{+this+}`.
    pub fn word_diff(&self, layout: &DiffLayout<'_>) -> RenderedDiff {
        words::render(self, layout)
    }

    /// Renders hunks with the old text on the left and the new on the right, at
    /// most `width` columns wide. Longer lines wrap.
    pub fn side_by_side(&self, layout: &DiffLayout<'_>, width: usize) -> RenderedDiff {
        columns::render(self, layout, width)
    }
}

/// Returns the unified diff of two texts; empty if they are equal.
pub fn unified_diff(
    old: &str,
    new: &str,
    old_name: &str,
    new_name: &str,
    context: usize,
) -> String {
    let layout = DiffLayout { context, ..DiffLayout::full(old_name, new_name) };
    TextDiff::new(old, new, &DiffOptions::default()).unified(&layout).text
}

/// Returns the diff of two texts with changed words marked; empty if they are
/// equal.
pub fn word_diff(old: &str, new: &str) -> String {
    let options = DiffOptions { line_breaks: LineBreaks::AsRead, ..DiffOptions::default() };
    TextDiff::new(old, new, &options).word_diff(&DiffLayout::full("old", "new")).text
}

#[cfg(test)]
#[path = "diff_tests.rs"]
mod tests;
