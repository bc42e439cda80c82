//! Lines of files in search results.

use std::path::Path;
use std::sync::Arc;

/// A line of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileLine {
    /// Its number, from 1.
    pub number: u64,
    /// Its text, possibly clipped.
    pub text: String,
    /// The ranges of the matches in `text`, in characters.
    pub ranges: Vec<(usize, usize)>,
    /// The column of the first match in the whole line, in characters from 1; 0
    /// without a match.
    pub column: u64,
    /// Whether only a part of the line is shown.
    pub is_clipped: bool,
}

/// A match with its context lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineMatch {
    /// The file, relative to the root.
    pub path: Arc<Path>,
    /// The requested context lines before it.
    pub before: Vec<FileLine>,
    /// The lines of the match; several if it spans lines.
    pub lines: Vec<FileLine>,
    /// The requested context lines after it, up to the next match.
    pub after: Vec<FileLine>,
}

impl LineMatch {
    /// Returns the number of its first line.
    pub fn line_number(&self) -> u64 {
        self.lines.first().map_or(0, |line| line.number)
    }

    fn last_line(&self) -> u64 {
        self.lines.last().map_or(0, |line| line.number)
    }

    fn all_lines(&self) -> impl DoubleEndedIterator<Item = &FileLine> {
        self.before.iter().chain(&self.lines).chain(&self.after)
    }
}

/// Slices the matches of one file. Neighboring lines that belonged to a match
/// outside the range are kept as context.
pub(crate) fn slice_matches(
    mut matches: Vec<LineMatch>,
    from: usize,
    to: usize,
    before: u64,
    after: u64,
) -> Vec<LineMatch> {
    let to = to.min(matches.len());
    let from = from.min(to);
    if let Some(first) = matches.get(from) {
        let (number, reach) = (first.line_number(), first.line_number().saturating_sub(before));
        let known = first.before.first().map_or(number, |line| line.number);
        let mut missing: Vec<FileLine> = Vec::new();
        for earlier in matches[..from].iter().rev().take_while(|m| m.reaches_line(reach)) {
            let lines = earlier.all_lines().rev().filter(|l| (reach..known).contains(&l.number));
            missing.extend(lines.cloned().map(FileLine::into_context));
        }
        missing.reverse();
        missing.dedup_by_key(|line| line.number);
        if let Some(first) = matches.get_mut(from) {
            missing.append(&mut first.before);
            first.before = missing;
        }
    }
    if to > from
        && let Some(last) = matches.get(to - 1)
    {
        let reach = last.last_line().saturating_add(after);
        let known = last.after.last().map_or(last.last_line(), |line| line.number);
        let mut missing: Vec<FileLine> = Vec::new();
        for later in matches[to..].iter().take_while(|m| m.line_number() <= reach) {
            let lines = later.all_lines().filter(|l| l.number > known && l.number <= reach);
            missing.extend(lines.cloned().map(FileLine::into_context));
        }
        missing.dedup_by_key(|line| line.number);
        if let Some(last) = matches.get_mut(to - 1) {
            last.after.append(&mut missing);
        }
    }
    matches.truncate(to);
    matches.drain(..from);
    matches
}

impl LineMatch {
    fn reaches_line(&self, number: u64) -> bool {
        self.all_lines().next_back().is_some_and(|line| line.number >= number)
    }
}

impl FileLine {
    /// Turns the line into a context line.
    fn into_context(mut self) -> Self {
        self.ranges.clear();
        self.column = 0;
        self
    }
}

#[cfg(test)]
#[path = "lines_tests.rs"]
mod tests;
