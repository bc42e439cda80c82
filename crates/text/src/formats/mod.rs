//! The ways in which callers write changes of several files: V4A patches,
//! unified diffs, and SEARCH/REPLACE blocks.

use std::fmt;

use crate::endings::Ending;
use crate::matching::{Hunk, HunkLine, Side};

mod blocks;
mod modes;
mod names;
mod unified;
mod v4a;
mod wrapping;

use wrapping::Numbered;

/// A patch, whatever it was written in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patch {
    /// What it was written in.
    pub format: Format,
    /// What it does, in order.
    pub operations: Vec<Operation>,
    /// The files, by their new paths as written, that shall be programs from
    /// now on, or none any more.
    pub programs: Vec<(String, bool)>,
    /// What it says that is not done, in sentences.
    pub warnings: Vec<String>,
}

/// A way to write a patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// `*** Begin Patch`.
    V4a,
    /// `--- a/file`, `+++ b/file`, `@@ -1,2 +1,3 @@`.
    Unified,
    /// `<<<<<<< SEARCH`, `=======`, `>>>>>>> REPLACE`.
    Blocks,
}

impl Format {
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
pub enum Operation {
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
        hunks: Vec<Hunk>,
        /// Its new path.
        to: Option<String>,
    },
    /// A file goes.
    Delete {
        /// Its path, as written.
        path: String,
        /// What it must hold, if the patch says so. A hunk without lines
        /// stands for an empty file.
        hunks: Vec<Hunk>,
    },
}

/// Why a text is no patch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed {
    /// The line of the patch, from 1; 0 for the whole.
    pub line: usize,
    /// What is wrong with it.
    pub reason: String,
    /// What it seems to be written in.
    pub format: Option<Format>,
    /// What to do, if it is not to keep to the format.
    pub remedy: Option<&'static str>,
}

impl Malformed {
    fn at(line: usize, reason: impl Into<String>) -> Self {
        Self { line, reason: reason.into(), format: None, remedy: None }
    }

    fn with_remedy(self, remedy: &'static str) -> Self {
        Self { remedy: Some(remedy), ..self }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.reason),
            line => write!(f, "line {line} of the patch: {}", self.reason),
        }
    }
}

impl std::error::Error for Malformed {}

/// Which format a text seems to be written in.
pub fn recognise(patch: &str) -> Option<Format> {
    let mut dashes = false;
    for line in patch.lines() {
        if v4a::is_header(line) {
            return Some(Format::V4a);
        }
        if blocks::is_opening(line) {
            return Some(Format::Blocks);
        }
        if line.starts_with("diff --git ") || dashes && line.starts_with("+++ ") {
            return Some(Format::Unified);
        }
        if unified::is_range(line) {
            return Some(Format::Unified);
        }
        dashes = line.starts_with("--- ");
    }
    // Hunks alone, without numbers.
    patch
        .lines()
        .any(|line| line.trim_end() == "@@" || line.starts_with("@@ "))
        .then_some(Format::V4a)
}

/// Reads a patch in any of the formats. `path` is the file of hunks and blocks
/// that name none.
pub fn parse(patch: &str, path: Option<&str>) -> Result<Patch, Malformed> {
    parse_near(patch, path, &|_| false)
}

/// The same, where it can be asked whether there is a file of a name. A file
/// that is to be there is the one that is named to the letter; only if there is
/// none, quotes, blanks and the like around the name are left out.
pub fn parse_near(
    patch: &str,
    path: Option<&str>,
    is_there: &dyn Fn(&str) -> bool,
) -> Result<Patch, Malformed> {
    if is_escaped(patch) {
        return Err(Malformed::at(
            0,
            "it is one line, with `\\n` where lines should end; send it with real line breaks",
        )
        .with_remedy("In JSON a line break is written `\\n`, once and not twice escaped."));
    }
    let Some(format) = recognise(patch) else {
        return Err(Malformed::at(
            0,
            "the text is no patch: it has no `*** Begin Patch`, no `--- file` / `+++ file`, \
                and no `<<<<<<< SEARCH`",
        ));
    };
    read(format, patch, path, is_there).map_err(|error| Malformed { format: Some(format), ..error })
}

fn read(
    format: Format,
    patch: &str,
    path: Option<&str>,
    is_there: &dyn Fn(&str) -> bool,
) -> Result<Patch, Malformed> {
    let mut warnings = Vec::new();
    let mut programs = Vec::new();
    let operations = match format {
        Format::V4a => v4a::parse(patch, path, is_there)?,
        Format::Unified => {
            let read = unified::parse(patch, path, is_there, &mut warnings)?;
            programs = read.programs;
            read.operations
        }
        Format::Blocks => blocks::parse(patch, path, is_there)?,
    };
    if operations.iter().all(is_idle) && programs.is_empty() {
        return Err(Malformed::at(0, "the patch changes nothing"));
    }
    Ok(Patch { format, operations, programs, warnings })
}

/// Whether the whole was escaped once too often. What its lines say cannot be
/// told then: `\n` may be meant in some of them.
fn is_escaped(patch: &str) -> bool {
    let patch = patch.trim();
    let escaped = !patch.contains('\n') && patch.contains("\\n");
    escaped && recognise(&patch.replace("\\n", "\n")).is_some()
}

fn is_idle(operation: &Operation) -> bool {
    match operation {
        Operation::Update { hunks, to, .. } => to.is_none() && hunks.iter().all(Hunk::is_idle),
        Operation::Add { .. } | Operation::Delete { .. } => false,
    }
}

/// What a line of a hunk is by its first character, and its words; one without
/// a mark is context.
fn marked(line: &str) -> (Side, &str) {
    match line.split_at_checked(1) {
        Some(("+", text)) => (Side::Add, text),
        Some(("-", text)) => (Side::Remove, text),
        Some((" ", text)) => (Side::Context, text),
        _ => (Side::Context, line),
    }
}

/// The lines of a hunk. How those end that come is taken from the patch only
/// where it tells them apart: where some end with CRLF and others with LF.
/// `head` is a line before them that counts as well.
fn hunk_lines(lines: &[Numbered<'_>], head: Option<&Numbered<'_>>) -> Vec<HunkLine> {
    let telling = |line: &&Numbered<'_>| !line.text.is_empty();
    let ending = |line: &Numbered<'_>| line.ending;
    let has = |wanted: Ending| {
        lines.iter().chain(head).filter(telling).filter_map(ending).any(|found| found == wanted)
    };
    let mixed = has(Ending::CrLf) && has(Ending::Lf);
    let made = lines.iter().map(|line| {
        let (side, text) = marked(line.text);
        let ending = line.ending.filter(|_| mixed && side == Side::Add);
        HunkLine { side, text: text.to_owned(), ending }
    });
    made.collect()
}

/// A hint, unless it only says that something is left out.
fn telling(hint: &str) -> &str {
    if hint.chars().all(|c| matches!(c, '.' | '…')) { "" } else { hint }
}

/// How many empty lines a hunk ends with that have no mark.
fn loose_end(lines: &[Numbered<'_>]) -> usize {
    lines.iter().rev().take_while(|line| line.text.is_empty()).count()
}

#[cfg(test)]
#[path = "formats_tests.rs"]
mod tests;
