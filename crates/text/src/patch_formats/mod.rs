//! The ways in which callers write changes of several files: V4A patches,
//! unified diffs, and SEARCH/REPLACE blocks.

use std::fmt;

use crate::line_endings::LineEnding;
use crate::matching::{HunkLine, LineRole, PatchHunk};

mod blocks;
mod file_modes;
mod header_names;
mod unified;
mod unwrap;
mod v4a;

use unwrap::PatchLine;

/// A patch, whatever it was written in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedPatch {
    /// What it was written in.
    pub format: PatchFormat,
    /// What it does, in order.
    pub operations: Vec<PatchOperation>,
    /// The files, by their new paths as written, that shall be programs from
    /// now on, or none any more.
    pub executables: Vec<(String, bool)>,
    /// What it says that is not done, in sentences.
    pub warnings: Vec<String>,
}

/// A way to write a patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatchFormat {
    /// `*** Begin ParsedPatch`.
    V4a,
    /// `--- a/file`, `+++ b/file`, `@@ -1,2 +1,3 @@`.
    Unified,
    /// `<<<<<<< SEARCH`, `=======`, `>>>>>>> REPLACE`.
    Blocks,
}

impl PatchFormat {
    /// The name, for people and results.
    pub fn name(self) -> &'static str {
        match self {
            Self::V4a => "v4a",
            Self::Unified => "unified",
            Self::Blocks => "search_replace",
        }
    }
}

/// One thing that a patch does to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PatchOperation {
    /// A new file.
    Add {
        /// Its path, as written.
        path: String,
        /// All of its text.
        text: String,
    },
    /// Changes of a file, which may get another name as well.
    Update {
        /// Its path, as written.
        path: String,
        /// The changes.
        hunks: Vec<PatchHunk>,
        /// Its new path.
        to: Option<String>,
    },
    /// A file goes.
    Delete {
        /// Its path, as written.
        path: String,
        /// What it must hold, if the patch says so. A hunk without lines
        /// stands for an empty file.
        hunks: Vec<PatchHunk>,
    },
}

/// Why a text is no patch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchError {
    /// The line of the patch, from 1; 0 for the whole.
    pub line: usize,
    /// What is wrong with it.
    pub reason: String,
    /// What it seems to be written in.
    pub format: Option<PatchFormat>,
    /// What to do, if it is not to keep to the format.
    pub remedy: Option<&'static str>,
}

impl PatchError {
    fn at_line(line: usize, reason: impl Into<String>) -> Self {
        Self { line, reason: reason.into(), format: None, remedy: None }
    }

    fn with_remedy(self, remedy: &'static str) -> Self {
        Self { remedy: Some(remedy), ..self }
    }
}

impl fmt::Display for PatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.reason),
            line => write!(f, "line {line} of the patch: {}", self.reason),
        }
    }
}

impl std::error::Error for PatchError {}

/// Which format a text seems to be written in.
pub fn recognize_format(patch: &str) -> Option<PatchFormat> {
    let mut dashes = false;
    for line in patch.lines() {
        if v4a::is_header(line) {
            return Some(PatchFormat::V4a);
        }
        if blocks::is_block_start(line) {
            return Some(PatchFormat::Blocks);
        }
        if line.starts_with("diff --git ") || dashes && line.starts_with("+++ ") {
            return Some(PatchFormat::Unified);
        }
        if unified::is_hunk_header(line) {
            return Some(PatchFormat::Unified);
        }
        dashes = line.starts_with("--- ");
    }
    // Hunks alone, without numbers.
    patch
        .lines()
        .any(|line| line.trim_end() == "@@" || line.starts_with("@@ "))
        .then_some(PatchFormat::V4a)
}

/// Reads a patch in any of the formats. `path` is the file of hunks and blocks
/// that name none.
pub fn parse_patch(patch: &str, path: Option<&str>) -> Result<ParsedPatch, PatchError> {
    parse_patch_with(patch, path, &|_| false)
}

/// The same, where it can be asked whether there is a file of a name. A file
/// that is to be there is the one that is named to the letter; only if there is
/// none, quotes, blanks and the like around the name are left out.
pub fn parse_patch_with(
    patch: &str,
    path: Option<&str>,
    is_there: &dyn Fn(&str) -> bool,
) -> Result<ParsedPatch, PatchError> {
    if is_escaped(patch) {
        return Err(PatchError::at_line(
            0,
            "it is one line, with `\\n` where lines should end; send it with real line breaks",
        )
        .with_remedy("In JSON a line break is written `\\n`, once and not twice escaped."));
    }
    let Some(format) = recognize_format(patch) else {
        return Err(PatchError::at_line(
            0,
            "the text is no patch: it has no `*** Begin Patch`, no `--- file` / `+++ file`, \
                and no `<<<<<<< SEARCH`",
        ));
    };
    parse_as(format, patch, path, is_there)
        .map_err(|error| PatchError { format: Some(format), ..error })
}

fn parse_as(
    format: PatchFormat,
    patch: &str,
    path: Option<&str>,
    is_there: &dyn Fn(&str) -> bool,
) -> Result<ParsedPatch, PatchError> {
    let mut warnings = Vec::new();
    let mut programs = Vec::new();
    let operations = match format {
        PatchFormat::V4a => v4a::parse(patch, path, is_there)?,
        PatchFormat::Unified => {
            let read = unified::parse(patch, path, is_there, &mut warnings)?;
            programs = read.executables;
            read.operations
        }
        PatchFormat::Blocks => blocks::parse(patch, path, is_there)?,
    };
    if operations.iter().all(changes_nothing) && programs.is_empty() {
        return Err(PatchError::at_line(0, "the patch changes nothing"));
    }
    Ok(ParsedPatch { format, operations, executables: programs, warnings })
}

/// Whether the whole was escaped once too often. What its lines say cannot be
/// told then: `\n` may be meant in some of them.
fn is_escaped(patch: &str) -> bool {
    let patch = patch.trim();
    let escaped = !patch.contains('\n') && patch.contains("\\n");
    escaped && recognize_format(&patch.replace("\\n", "\n")).is_some()
}

fn changes_nothing(operation: &PatchOperation) -> bool {
    match operation {
        PatchOperation::Update { hunks, to, .. } => {
            to.is_none() && hunks.iter().all(PatchHunk::changes_nothing)
        }
        PatchOperation::Add { .. } | PatchOperation::Delete { .. } => false,
    }
}

/// What a line of a hunk is by its first character, and its words; one without
/// a mark is context.
fn split_mark(line: &str) -> (LineRole, &str) {
    match line.split_at_checked(1) {
        Some(("+", text)) => (LineRole::Add, text),
        Some(("-", text)) => (LineRole::Remove, text),
        Some((" ", text)) => (LineRole::Context, text),
        _ => (LineRole::Context, line),
    }
}

/// The lines of a hunk. How those end that come is taken from the patch only
/// where it tells them apart: where some end with CRLF and others with LF.
/// `head` is a line before them that counts as well.
fn hunk_lines(lines: &[PatchLine<'_>], head: Option<&PatchLine<'_>>) -> Vec<HunkLine> {
    let telling = |line: &&PatchLine<'_>| !line.text.is_empty();
    let ending = |line: &PatchLine<'_>| line.ending;
    let has = |wanted: LineEnding| {
        lines.iter().chain(head).filter(telling).filter_map(ending).any(|found| found == wanted)
    };
    let mixed = has(LineEnding::CrLf) && has(LineEnding::Lf);
    let made = lines.iter().map(|line| {
        let (side, text) = split_mark(line.text);
        let ending = line.ending.filter(|_| mixed && side == LineRole::Add);
        HunkLine { role: side, text: text.to_owned(), ending }
    });
    made.collect()
}

/// A hint, unless it only says that something is left out.
fn meaningful_hint(hint: &str) -> &str {
    if hint.chars().all(|c| matches!(c, '.' | '…')) { "" } else { hint }
}

/// How many empty lines a hunk ends with that have no mark.
fn trailing_blank_lines(lines: &[PatchLine<'_>]) -> usize {
    lines.iter().rev().take_while(|line| line.text.is_empty()).count()
}

#[cfg(test)]
#[path = "formats_tests.rs"]
mod tests;
