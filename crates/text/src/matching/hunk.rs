//! A block of lines that stay, go and come, and the one place where it fits.

use super::edit_script::EditScript;
use super::search_index::TooRepetitive;
use super::{LineSpan, MatchStrategy};
use crate::line_endings::LineEnding;

/// What happens to a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineRole {
    /// It stays.
    Context,
    /// It goes.
    Remove,
    /// It comes.
    Add,
}

/// One line of a hunk, without its ending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HunkLine {
    /// What happens to it.
    pub role: LineRole,
    /// The line.
    pub text: String,
    /// How a line that comes shall end; none for how those around it do.
    pub ending: Option<LineEnding>,
}

/// Lines that become others, with what helps to find them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PatchHunk {
    /// The lines, in order.
    pub lines: Vec<HunkLine>,
    /// Lines above it, the outermost first.
    pub hints: Vec<String>,
    /// What it is said to be in, as git writes it behind the numbers. It only
    /// chooses between places.
    pub heading: Option<String>,
    /// The number of its first old line, from 1. It only chooses between
    /// places that agree exactly.
    pub line: Option<usize>,
    /// It is said to be at the end of the file.
    pub at_end: bool,
    /// Whether the file shall end with a line ending; none if nothing is said.
    pub final_newline: Option<bool>,
    /// Its last line is the file's last and is said to have no ending, before
    /// and afterwards. How the file ends stays as it is.
    pub no_newline_at_end: bool,
    /// How many empty lines at its end may be there only for the layout of
    /// the patch.
    pub optional_blank_lines: usize,
}

/// Why a hunk was not applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HunkError {
    /// Its old lines are nowhere.
    NotFound,
    /// They are in several places.
    Ambiguous {
        /// How they agree there.
        strategy: MatchStrategy,
        /// The first of them.
        places: Vec<LineSpan>,
        /// Whether there are more.
        more: bool,
    },
    /// They are there, but not where the hint says.
    NotAtHint {
        /// The hint.
        hint: String,
        /// Where the hint is.
        hinted: Vec<LineSpan>,
        /// Where the old lines are.
        places: Vec<LineSpan>,
    },
    /// It only adds lines and does not say where.
    NoLocation,
    /// It only adds lines, behind a hint that is nowhere.
    HintNotFound {
        /// The hint.
        hint: String,
    },
    /// It only adds lines, behind a hint that is in several places.
    HintAmbiguous {
        /// The hint.
        hint: String,
        /// Where it is.
        places: Vec<LineSpan>,
    },
    /// The place is clear, but what to write there is not.
    Unclear {
        /// The place.
        lines: LineSpan,
        /// Why, and what to do.
        reason: String,
    },
    /// It changes lines that another hunk has changed.
    Overlap {
        /// The place.
        lines: LineSpan,
    },
    /// The file repeats itself too much to be searched.
    TooRepetitive,
    /// So many hunks build upon each other that it would take too long.
    TooManyRounds,
}

impl From<TooRepetitive> for HunkError {
    fn from(_: TooRepetitive) -> Self {
        Self::TooRepetitive
    }
}

impl PatchHunk {
    /// A hunk that turns one text's lines into the other's.
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

    /// Its old lines, with line feeds between them.
    pub fn old_text(&self) -> String {
        self.text_without(LineRole::Add)
    }

    /// Its new lines, with line feeds between them.
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

    /// Its lines but for the last few.
    pub(crate) fn edit_script(&self, left_out: usize) -> EditScript<'_> {
        let kept = self.lines.len().saturating_sub(left_out);
        EditScript::from_hunk(self.lines.iter().take(kept))
    }
}

/// The lines of a block as callers write it; the last needs no ending.
fn split_lines(block: &str) -> Vec<&str> {
    let body = block.strip_suffix('\n').unwrap_or(block);
    if block.is_empty() {
        return Vec::new();
    }
    body.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)).collect()
}
