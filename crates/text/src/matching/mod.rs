//! Finding the place that a caller means, and nothing that only looks like it.
//!
//! A text is looked for exactly first. Only if it is nowhere, it is looked for
//! with differences that keep the meaning ([`MatchStrategy`]), in a fixed order; a
//! place found so must agree in every line and be the only one. There is no
//! measure of similarity here but in [`explain`], which changes nothing.

use serde::Serialize;

mod apply;
mod candidates;
mod edit_map;
mod edit_script;
mod folding;
mod hints;
mod hunk;
mod indent;
mod line_table;
mod marks;
mod nearest;
mod placement;
mod replace;
mod search_index;
mod unique;
mod warnings;

pub use apply::{AppliedHunks, HunkFailure, PlacedHunk, apply_edits, apply_hunks, compose_edits};
pub use edit_map::{EditMap, MovedRange};
pub use hunk::{HunkError, HunkLine, LineRole, PatchHunk};
pub use marks::mark_changes;
pub use nearest::{MismatchExplanation, NearestBlock, WantedText, explain_mismatch, show_exactly};
pub use replace::{ReplaceError, ReplaceRequest, TextReplacement, replace_text};
pub use unique::{UniqueContext, unique_contexts};

/// In which way the old text agrees with the place that was found.
///
/// Every rung forgives what is named, and besides: all but `exact` forgive
/// line endings; `look_alikes` and `indent_shift` forgive trailing whitespace
/// too. Nothing else is combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MatchStrategy {
    /// Character by character.
    Exact,
    /// But for how lines end.
    LineEndings,
    /// But for spaces and tabs at the ends of lines.
    TrailingWhitespace,
    /// But for quotes, dashes and spaces that look like the plain ones.
    LookAlikes,
    /// But for the same indentation added to, or taken from, every line.
    IndentShift,
    /// With `\n` and `\t` in the old text read as line feed and tab.
    EscapedNewlines,
}

impl MatchStrategy {
    /// The name, as in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::LineEndings => "line_endings",
            Self::TrailingWhitespace => "trailing_whitespace",
            Self::LookAlikes => "look_alikes",
            Self::IndentShift => "indent_shift",
            Self::EscapedNewlines => "escaped_newlines",
        }
    }
}

/// Lines of a file, counted from 1, both ends included. Where there are none,
/// `last` is one less than `first`, the line before which they would be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct LineSpan {
    /// The first.
    pub first: usize,
    /// The last.
    pub last: usize,
}

impl std::fmt::Display for LineSpan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.first == self.last {
            write!(f, "line {}", self.first)
        } else {
            write!(f, "lines {}-{}", self.first, self.last)
        }
    }
}

/// How many places are named in an answer.
pub const MAX_LISTED_PLACES: usize = 20;

/// How strictly a place must agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MatchStrictness {
    /// The relaxations above are tried when there is no exact place.
    #[default]
    Relaxed,
    /// Exact, or not at all.
    Strict,
}
