//! Finds the place that a caller means, and never one that only resembles it.
//!
//! The search is exact first. Only if that fails, it allows differences that
//! keep the meaning ([`MatchStrategy`]), in a fixed order; such a place must
//! match in every line and be unique. Similarity is measured only in
//! [`explain_mismatch`], which changes nothing.

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
mod typography;
mod unique;
mod warnings;

pub use apply::{AppliedHunks, HunkFailure, PlacedHunk, apply_edits, apply_hunks, compose_edits};
pub use edit_map::{EditMap, MovedRange};
pub use hunk::{HunkError, HunkLine, LineRole, PatchHunk};
pub use marks::mark_changes;
pub use nearest::{MismatchExplanation, NearestBlock, WantedText, explain_mismatch, show_exactly};
pub use replace::{ReplaceError, ReplaceRequest, TextReplacement, replace_text};
pub use unique::{UniqueContext, unique_contexts};

/// How the old text matches the place that was found.
///
/// Each strategy allows the difference it names. In addition, all but `exact`
/// allow different line endings; `look_alikes` and `indent_shift` also allow
/// different trailing whitespace. Nothing else is combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MatchStrategy {
    /// Equal character by character.
    Exact,
    /// Equal except for line endings.
    LineEndings,
    /// Equal except for spaces and tabs at line ends.
    TrailingWhitespace,
    /// Equal except for typographic quotes, dashes, spaces and ellipses in
    /// place of the ASCII ones.
    LookAlikes,
    /// Equal except for the same indentation added to, or removed from, every
    /// line.
    IndentShift,
    /// Equal with `\n` and `\t` in the old text read as line feed and tab.
    EscapedNewlines,
}

impl MatchStrategy {
    /// Returns the name used in results.
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

/// Lines of a file, numbered from 1, both ends inclusive. In an empty span
/// `last` is one less than `first`, the line before which it would be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct LineSpan {
    /// The first line.
    pub first: usize,
    /// The last line.
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

/// Maximum number of places listed in a result.
pub const MAX_LISTED_PLACES: usize = 20;

/// How strictly a place must match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MatchStrictness {
    /// All strategies are tried if there is no exact match.
    #[default]
    Relaxed,
    /// Only exact matches.
    Strict,
}
