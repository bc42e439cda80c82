//! Parsers of multi-file patch formats: V4A patches, unified diffs, and
//! SEARCH/REPLACE blocks.

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

/// A parsed patch of any format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedPatch {
    /// The format of the patch.
    pub format: PatchFormat,
    /// The operations, in order.
    pub operations: Vec<PatchOperation>,
    /// The files, by their new paths as written, that become executable (true)
    /// or stop being so (false).
    pub executables: Vec<(String, bool)>,
    /// Warnings about parts of the patch that are not applied.
    pub warnings: Vec<String>,
}

/// A patch format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatchFormat {
    /// `*** Begin Patch`.
    V4a,
    /// `--- a/file`, `+++ b/file`, `@@ -1,2 +1,3 @@`.
    Unified,
    /// `<<<<<<< SEARCH`, `=======`, `>>>>>>> REPLACE`.
    Blocks,
}

impl PatchFormat {
    /// Returns the name used in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::V4a => "v4a",
            Self::Unified => "unified",
            Self::Blocks => "search_replace",
        }
    }
}

/// One operation of a patch on one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PatchOperation {
    /// Creates a file.
    Add {
        /// Its path, as written.
        path: String,
        /// Its whole text.
        text: String,
    },
    /// Changes a file, and may rename it.
    Update {
        /// Its path, as written.
        path: String,
        /// The hunks, in order.
        hunks: Vec<PatchHunk>,
        /// Its new path.
        to: Option<String>,
    },
    /// Deletes a file.
    Delete {
        /// Its path, as written.
        path: String,
        /// Its expected content, if the patch gives it. A hunk without lines
        /// stands for an empty file.
        hunks: Vec<PatchHunk>,
    },
}

/// Why a patch cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchError {
    /// The line of the patch, starting at 1; 0 for the whole patch.
    pub line: usize,
    /// What is wrong.
    pub reason: String,
    /// The detected format.
    pub format: Option<PatchFormat>,
    /// What to do, if not just to follow the format.
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

/// Returns the format that a text seems to have.
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
    // Padded headers, and bare hunks without line numbers.
    patch
        .lines()
        .any(|line| {
            line.trim_end() == "@@" || line.starts_with("@@ ") || v4a::is_header(line.trim_start())
        })
        .then_some(PatchFormat::V4a)
}

/// Parses a patch of any format. `path` is the file of hunks and blocks that
/// name none.
pub fn parse_patch(patch: &str, path: Option<&str>) -> Result<ParsedPatch, PatchError> {
    parse_patch_with(patch, path, &|_| false)
}

/// Like [`parse_patch`], with a check for existing files. The name of an
/// existing file is first taken literally; only if no such file exists, quotes,
/// spaces and the like around it are stripped.
pub fn parse_patch_with(
    patch: &str,
    path: Option<&str>,
    is_there: &dyn Fn(&str) -> bool,
) -> Result<ParsedPatch, PatchError> {
    if is_escaped(patch) {
        return Err(PatchError::at_line(
            0,
            "the patch is one line, with `\\n` in place of line breaks; send real line breaks",
        )
        .with_remedy("In JSON, escape a line break once (`\\n`), not twice."));
    }
    let Some(format) = recognize_format(patch) else {
        return Err(PatchError::at_line(
            0,
            "unknown patch format: it has no `*** Begin Patch`, no `--- file` / `+++ file`, \
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

/// Whether the whole patch was escaped once too often. It cannot be unescaped
/// reliably: `\n` may be literal in some lines.
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

/// Splits a hunk line into its role and text; a line without a mark is context.
fn split_mark(line: &str) -> (LineRole, &str) {
    match line.split_at_checked(1) {
        Some(("+", text)) => (LineRole::Add, text),
        Some(("-", text)) => (LineRole::Remove, text),
        Some((" ", text)) => (LineRole::Context, text),
        _ => (LineRole::Context, line),
    }
}

/// Converts the lines of a hunk. Endings of added lines are taken from the
/// patch only if it mixes CRLF and LF. `head` is a preceding line that also
/// counts.
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

/// Returns the hint, or an empty one if it is only an ellipsis.
fn meaningful_hint(hint: &str) -> &str {
    if hint.chars().all(|c| matches!(c, '.' | '…')) { "" } else { hint }
}

/// Returns the number of unmarked empty lines at the end of a hunk.
fn trailing_blank_lines(lines: &[PatchLine<'_>]) -> usize {
    lines.iter().rev().take_while(|line| line.text.is_empty()).count()
}

#[cfg(test)]
#[path = "formats_tests.rs"]
mod tests;
