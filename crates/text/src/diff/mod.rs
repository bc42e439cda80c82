//! The difference of two texts: found line by line within bounded effort, and
//! told as a unified diff, with the changed words marked, or side by side.
//!
//! A diff is always true: applied to the old text it gives the new one. Where
//! the best one would take too long it is coarse, and says so.

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
    /// Which white space counts.
    pub whitespace: WhitespaceMode,
    /// Whether upper and lower case are the same.
    pub ignore_case: bool,
    /// Whether changes of empty lines alone are passed over.
    pub ignore_blank_lines: bool,
    /// Where lines end.
    pub line_breaks: LineBreaks,
    /// How long to look for the best diff before a coarse one will do.
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

/// How many lines come and go.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct DiffStat {
    /// Lines that only the new text has.
    pub added: usize,
    /// Lines that only the old text has.
    pub removed: usize,
}

/// How a diff is written.
#[derive(Debug, Clone, Copy)]
pub struct DiffLayout<'a> {
    /// The name of the old text.
    pub old_name: &'a str,
    /// The name of the new text.
    pub new_name: &'a str,
    /// Whether the names are written as a header has them already, as [`quote`]
    /// or [`quote_bytes`] and [`closed`] do.
    pub is_quoted: bool,
    /// Unchanged lines around each change.
    pub context: usize,
    /// The most bytes to write; what does not fit is left out, line by line.
    pub limit: usize,
    /// The most characters of a line; longer ones are cut, and say so. Only a
    /// diff without cut lines can be applied.
    pub line_limit: usize,
}

impl<'a> DiffLayout<'a> {
    /// A whole diff with three lines around each change.
    pub fn full(old_name: &'a str, new_name: &'a str) -> Self {
        let (limit, line_limit) = (usize::MAX, usize::MAX);
        Self { old_name, new_name, is_quoted: false, context: 3, limit, line_limit }
    }
}

/// A diff as text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RenderedDiff {
    /// The text; empty if nothing differs.
    pub text: String,
    /// Lines of the diff that did not fit.
    pub omitted_lines: usize,
    /// Lines that were cut.
    pub truncated_lines: usize,
}

/// The difference of two texts.
#[derive(Debug)]
pub struct TextDiff<'a> {
    old: &'a str,
    new: &'a str,
    /// What ends the lines of either.
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

    /// Whether the texts are the same, as far as the options see it.
    pub fn is_empty(&self) -> bool {
        self.changes.iter().all(|change| change.is_ignored)
    }

    /// Whether a better diff would have taken too long. This one is true all
    /// the same.
    pub fn is_coarse(&self) -> bool {
        self.is_coarse
    }

    /// How many lines come and go.
    pub fn stat(&self) -> DiffStat {
        let counted = self.changes.iter().filter(|change| !change.is_ignored);
        counted.fold(DiffStat::default(), |stat, change| DiffStat {
            added: stat.added + change.new.len(),
            removed: stat.removed + change.old.len(),
        })
    }

    /// A unified diff. Lines are written as they are, carriage returns and all.
    /// `patch` and `git apply` can apply it if lines end at line feeds alone.
    pub fn unified(&self, layout: &DiffLayout<'_>) -> RenderedDiff {
        unified::render(self, layout)
    }

    /// Hunks in which changed words are marked, `[-like-]{+this+}`.
    pub fn word_diff(&self, layout: &DiffLayout<'_>) -> RenderedDiff {
        words::render(self, layout)
    }

    /// Hunks with the old text on the left and the new on the right, in lines
    /// of at most `width` columns. Longer lines go on below.
    pub fn side_by_side(&self, layout: &DiffLayout<'_>, width: usize) -> RenderedDiff {
        columns::render(self, layout, width)
    }
}

/// The unified diff of two texts; empty if they are the same.
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

/// The difference of two texts with the changed words marked; empty if they
/// are the same.
pub fn word_diff(old: &str, new: &str) -> String {
    let options = DiffOptions { line_breaks: LineBreaks::AsRead, ..DiffOptions::default() };
    TextDiff::new(old, new, &options).word_diff(&DiffLayout::full("old", "new")).text
}

#[cfg(test)]
#[path = "diff_tests.rs"]
mod tests;
