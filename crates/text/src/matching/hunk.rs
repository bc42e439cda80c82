//! A hunk: context, removed and added lines.

use super::edit_script::EditScript;
use super::search_index::TooRepetitive;
use super::{LineSpan, MatchStrategy};
use crate::line_endings::LineEnding;

/// The role of a line in a hunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineRole {
    /// An unchanged line.
    Context,
    /// A removed line.
    Remove,
    /// An added line.
    Add,
}

/// One line of a hunk, without its ending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HunkLine {
    /// The role of the line.
    pub role: LineRole,
    /// The text of the line.
    pub text: String,
    /// The ending of an added line; none to use that of the surrounding lines.
    pub ending: Option<LineEnding>,
}

/// Old lines and their replacement, with hints on where they are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PatchHunk {
    /// The lines, in order.
    pub lines: Vec<HunkLine>,
    /// Lines above the hunk, outermost first.
    pub hints: Vec<String>,
    /// The section heading that git writes after the line numbers. Used only to
    /// choose between places.
    pub heading: Option<String>,
    /// The number of its first old line, starting at 1. Used only to choose
    /// between exact matches.
    pub line: Option<usize>,
    /// Whether the patch marks it as being at the end of the file.
    pub at_end: bool,
    /// Whether the file should end with a line ending; none if unspecified.
    pub final_newline: Option<bool>,
    /// Whether its last line is the file's last and is marked as having no
    /// ending before and after. The file's ending stays unchanged.
    pub no_newline_at_end: bool,
    /// How many blank lines at its end may be only patch layout.
    pub optional_blank_lines: usize,
}

/// Why a hunk was not applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HunkError {
    /// The old lines were not found.
    NotFound,
    /// The old lines match in several places.
    Ambiguous {
        /// How they match.
        strategy: MatchStrategy,
        /// The first of the places.
        places: Vec<LineSpan>,
        /// Whether there are more.
        more: bool,
    },
    /// The old lines exist, but not where the hint says.
    NotAtHint {
        /// The hint.
        hint: String,
        /// Where the hint matches.
        hinted: Vec<LineSpan>,
        /// Where the old lines match.
        places: Vec<LineSpan>,
    },
    /// The hunk only adds lines and gives no location.
    NoLocation,
    /// The hunk only adds lines, and its hint was not found.
    HintNotFound {
        /// The hint.
        hint: String,
    },
    /// The hunk only adds lines, and its hint matches in several places.
    HintAmbiguous {
        /// The hint.
        hint: String,
        /// Where the hint matches.
        places: Vec<LineSpan>,
    },
    /// The place is unique, but what to write there is unclear.
    Unclear {
        /// The place.
        lines: LineSpan,
        /// Why, and what to do.
        reason: String,
    },
    /// The hunk changes lines that another hunk has changed.
    Overlap {
        /// The place.
        lines: LineSpan,
    },
    /// The file is too repetitive to search.
    TooRepetitive,
    /// Too many hunks depend on each other to apply them in time.
    TooManyRounds,
}

impl From<TooRepetitive> for HunkError {
    fn from(_: TooRepetitive) -> Self {
        Self::TooRepetitive
    }
}

impl PatchHunk {
    /// Builds the hunk that turns one text into the other.
    pub fn from_texts(old: &str, new: &str) -> Self {
        let (old, new) = (split_lines(old), split_lines(new));
        let script = EditScript::compare(old, new);
        let lines = script.lines_with_role().map(|(side, line)| HunkLine {
            role: side,
            text: line.to_owned(),
            ending: None,
        });
        Self { lines: lines.collect(), ..Self::default() }
    }

    /// Returns its old lines, separated by line feeds.
    pub fn old_text(&self) -> String {
        self.text_without(LineRole::Add)
    }

    /// Returns its new lines, separated by line feeds.
    pub fn new_text(&self) -> String {
        self.text_without(LineRole::Remove)
    }

    fn text_without(&self, side: LineRole) -> String {
        let lines = self.lines.iter().filter(|line| line.role != side);
        let lines: Vec<&str> = lines.map(|line| line.text.as_str()).collect();
        lines.join("\n")
    }

    /// Whether it changes nothing.
    pub fn changes_nothing(&self) -> bool {
        self.final_newline.is_none() && self.lines.iter().all(|line| line.role == LineRole::Context)
    }

    /// Whether its last old line must be the file's last.
    pub(crate) fn is_at_file_end(&self) -> bool {
        self.no_newline_at_end || self.final_newline.is_some()
    }

    /// Returns its edit script, without the last `left_out` lines.
    pub(crate) fn edit_script(&self, left_out: usize) -> EditScript<'_> {
        let kept = self.lines.len().saturating_sub(left_out);
        EditScript::from_hunk(self.lines.iter().take(kept))
    }
}

/// Splits a block into lines; the last needs no ending.
fn split_lines(block: &str) -> Vec<&str> {
    let body = block.strip_suffix('\n').unwrap_or(block);
    if block.is_empty() {
        return Vec::new();
    }
    body.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)).collect()
}
