//! Replaces old text with new, in one place or all.

use std::ops::Range;

use super::edit_map::MovedRange;
use super::edit_script::{EditScript, MatchPlace};
use super::folding::{FoldMode, FoldedText, LongDash, occurrences};
use super::indent::{IndentShift, is_shifted_already};
use super::line_table::{LineEdge, LineEdges, LineOffsets, LineTable, to_line_feeds};
use super::search_index::{SearchIndex, TooRepetitive};
use super::warnings::replacement_warnings;
use super::{LineSpan, MAX_LISTED_PLACES, MatchStrategy, MatchStrictness, apply_edits};
use crate::document::TextEdit;
use crate::line_endings::has_only_returns;

/// A replacement to make.
#[derive(Debug, Clone, Copy)]
pub struct ReplaceRequest<'a> {
    /// The text to replace.
    pub old: &'a str,
    /// The replacement.
    pub new: &'a str,
    /// Whether to replace every place instead of a unique one.
    pub all: bool,
    /// How strictly the old text must match.
    pub strictness: MatchStrictness,
}

/// The edits that perform a replacement.
#[derive(Debug, Clone)]
pub struct TextReplacement {
    /// The edits, sorted and without overlap.
    pub edits: Vec<TextEdit>,
    /// How the old text matched.
    pub strategy: MatchStrategy,
    /// The replaced places, in bytes.
    pub places: Vec<MovedRange>,
    /// Their lines before the replacement.
    pub lines: Vec<LineSpan>,
    /// Their lines after the replacement.
    pub after: Vec<LineSpan>,
    /// Warnings for the caller.
    pub warnings: Vec<String>,
}

/// Why nothing was replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplaceError {
    /// The old text is empty.
    EmptyOld,
    /// Old and new text are identical.
    Identical,
    /// Old and new text differ only in line endings.
    OnlyEndingsDiffer,
    /// The old text was not found.
    NotFound,
    /// The old text matches in several places.
    Ambiguous {
        /// How it matches.
        strategy: MatchStrategy,
        /// The first of the places.
        places: Vec<LineSpan>,
        /// Whether there are more.
        more: bool,
    },
    /// The place is unique, but what to write there is unclear.
    Unclear {
        /// How it matches.
        strategy: MatchStrategy,
        /// The place.
        lines: LineSpan,
        /// Why, and what to do.
        reason: String,
    },
    /// Too many places to replace at once.
    TooMany,
    /// The text is too repetitive to search.
    TooRepetitive,
}

/// Maximum number of places replaced at once.
const MAX_REPLACED_PLACES: usize = 1_000_000;

impl From<TooRepetitive> for ReplaceError {
    fn from(_: TooRepetitive) -> Self {
        Self::TooRepetitive
    }
}

/// Finds the old text and returns the edits.
///
/// The new text is written as given, except for the file's line endings, the
/// indentation by which the old text was off, and look-alike characters that old
/// and new text share. Lines that they share stay as in the file.
pub fn replace_text(
    text: &str,
    request: &ReplaceRequest<'_>,
) -> Result<TextReplacement, ReplaceError> {
    if request.old.is_empty() {
        return Err(ReplaceError::EmptyOld);
    }
    let returns = has_only_returns(text);
    let (old, new) = (to_line_feeds(request.old, returns), to_line_feeds(request.new, returns));
    if request.old == request.new {
        return Err(ReplaceError::Identical);
    }
    if old == new {
        return Err(ReplaceError::OnlyEndingsDiffer);
    }
    let search = TextSearch {
        text,
        has_only_returns: returns,
        all: request.all,
        table: std::cell::OnceCell::new(),
    };
    if request.strictness == MatchStrictness::Strict {
        let found = search.find_exact(request.old).ok_or(ReplaceError::NotFound)?;
        return search.build_replacement(MatchStrategy::Exact, found, &old, &new);
    }
    if let Some((strategy, found)) = search.find_with_endings(request.old, &old) {
        let others = search.other_endings_warning(request.old, &old, found.len());
        let mut made = search.build_replacement(strategy, found, &old, &new)?;
        made.warnings.extend(others);
        return Ok(made);
    }
    if let Some(found) = search.find_whole_lines(MatchStrategy::TrailingWhitespace, &old)? {
        return search.build_replacement(MatchStrategy::TrailingWhitespace, found, &old, &new);
    }
    if let Some(found) = search.find_look_alikes(&old)? {
        return search.build_replacement(MatchStrategy::LookAlikes, found, &old, &new);
    }
    if let Some(found) = search.find_whole_lines(MatchStrategy::IndentShift, &old)? {
        return search.build_replacement(MatchStrategy::IndentShift, found, &old, &new);
    }
    if let Some(plain) = unescape(&old)
        && let Some((_, found)) = search.find_with_endings(&plain, &plain)
    {
        if new.contains("\\n") || new.contains("\\t") || new.contains("\\r") {
            return Err(search.unclear_error(
                MatchStrategy::EscapedNewlines,
                &found,
                ESCAPED_TEXT_REASON,
            ));
        }
        return search.build_replacement(MatchStrategy::EscapedNewlines, found, &plain, &new);
    }
    Err(ReplaceError::NotFound)
}

struct TextSearch<'t> {
    text: &'t str,
    has_only_returns: bool,
    all: bool,
    table: std::cell::OnceCell<SearchIndex<'t>>,
}

impl<'t> TextSearch<'t> {
    fn table(&self) -> &SearchIndex<'t> {
        self.table.get_or_init(|| SearchIndex::new(self.text))
    }

    /// Returns how many places to search for: one more than the limit, to
    /// detect that there are more.
    fn max_places(&self) -> usize {
        if self.all { MAX_REPLACED_PLACES + 1 } else { MAX_LISTED_PLACES + 1 }
    }

    fn find_exact(&self, old: &str) -> Option<Vec<Range<usize>>> {
        // A place must not begin or end inside a CRLF.
        let bytes = self.text.as_bytes();
        let splits = |at: usize| {
            bytes.get(at) == Some(&b'\n') && at > 0 && bytes.get(at - 1) == Some(&b'\r')
        };
        let whole =
            |range: Range<usize>| (!splits(range.start) && !splits(range.end)).then_some(range);
        none_if_empty(
            occurrences(self.text, old, !self.all, whole).take(self.max_places()).collect(),
        )
    }

    /// Returns the places that match except for line endings. Line feeds from
    /// the caller match any ending, since files are shown that way; carriage
    /// returns match literally if such a place exists. `old` is `given` with
    /// line feeds.
    fn find_with_endings(
        &self,
        given: &str,
        old: &str,
    ) -> Option<(MatchStrategy, Vec<Range<usize>>)> {
        let has_return = |text: &str| memchr::memchr(b'\r', text.as_bytes()).is_some();
        let varies = old.contains('\n') && has_return(self.text);
        if (!varies || has_return(given))
            && let Some(found) = self.find_exact(given)
        {
            return Some((MatchStrategy::Exact, found));
        }
        if !varies {
            // The exact search failed because of the caller's carriage returns.
            return self.find_exact(old).map(|found| (MatchStrategy::LineEndings, found));
        }
        let folded =
            FoldedText::new(self.text, FoldMode::Endings { returns: self.has_only_returns });
        let found = none_if_empty(folded.find(old, !self.all, self.max_places()))?;
        let is_exact = |place: &Range<usize>| self.text.get(place.clone()) == Some(given);
        let strategy = if found.iter().all(is_exact) {
            MatchStrategy::Exact
        } else {
            MatchStrategy::LineEndings
        };
        Some((strategy, found))
    }

    /// Warns about the same lines with other endings, skipped because the
    /// caller sent carriage returns.
    fn other_endings_warning(&self, given: &str, old: &str, found: usize) -> Option<String> {
        if given == old {
            return None;
        }
        let folded =
            FoldedText::new(self.text, FoldMode::Endings { returns: self.has_only_returns });
        let all = folded.find(old, !self.all, self.max_places()).len();
        let others = all.checked_sub(found).filter(|others| *others > 0)?;
        let times = if others == 1 { "once".to_owned() } else { format!("{others} times") };
        Some(format!(
            "The same lines occur {times} more with other line endings and were left \
                unchanged: the old text has carriage returns. Send line feeds to match any \
                ending."
        ))
    }

    fn find_look_alikes(&self, old: &str) -> Result<Option<Vec<Range<usize>>>, ReplaceError> {
        if self.text.is_ascii() && old.is_ascii() || old.trim().is_empty() {
            return Ok(None);
        }
        for dash in LongDash::ALL {
            let fold = FoldMode::LookAlikes { returns: self.has_only_returns, dash };
            let plain = FoldedText::new(old, fold).text;
            let folded = FoldedText::new(self.text, fold);
            if let Some(found) = none_if_empty(folded.find(&plain, !self.all, self.max_places())) {
                return Ok(Some(found));
            }
        }
        self.find_whole_lines(MatchStrategy::LookAlikes, old)
    }

    fn find_whole_lines(
        &self,
        rung: MatchStrategy,
        old: &str,
    ) -> Result<Option<Vec<Range<usize>>>, ReplaceError> {
        let (body, closed) = match old.strip_suffix('\n') {
            Some(body) => (body, true),
            None => (old, false),
        };
        let block: Vec<&str> = body.split('\n').collect();
        let rows = &self.table().rows;
        let starts = self.table().find_block(rung, &block, self.all, self.max_places())?;
        let range = |start: usize| {
            let (first, last) = (rows.get(start)?, rows.get(start + block.len() - 1)?);
            Some(first.start..if closed { last.next } else { last.end })
        };
        Ok(none_if_empty(starts.into_iter().filter_map(range).collect()))
    }

    fn unclear_error(
        &self,
        strategy: MatchStrategy,
        found: &[Range<usize>],
        reason: &str,
    ) -> ReplaceError {
        let lines = found
            .first()
            .map_or(LineSpan { first: 1, last: 1 }, |place| self.table().rows.line_span(place));
        ReplaceError::Unclear { strategy, lines, reason: reason.to_owned() }
    }

    /// Builds the edits; fails if a single place is requested and there are
    /// several.
    fn build_replacement(
        &self,
        strategy: MatchStrategy,
        found: Vec<Range<usize>>,
        old: &str,
        new: &str,
    ) -> Result<TextReplacement, ReplaceError> {
        let rows = &self.table().rows;
        if !self.all && found.len() > 1 {
            let places =
                found.iter().take(MAX_LISTED_PLACES).map(|place| rows.line_span(place)).collect();
            return Err(ReplaceError::Ambiguous {
                strategy,
                places,
                more: found.len() > MAX_LISTED_PLACES,
            });
        }
        if found.len() > MAX_REPLACED_PLACES {
            return Err(ReplaceError::TooMany);
        }
        let script = EditScript::compare(old.split('\n').collect(), new.split('\n').collect());
        let mut edits = Vec::new();
        let mut ruler = LineCounter::new(self.text);
        let (mut places, mut lines, mut after) = (Vec::new(), Vec::new(), Vec::new());
        let mut warnings = replacement_warnings(self.text, &found, (old, new), rows);
        for place in &found {
            let pieces = rows_of_place(self.text, place, script.old.len(), self.has_only_returns);
            let shift = self.indent_shift(strategy, place, &pieces, &script)?;
            let at = MatchPlace {
                rows: &pieces,
                whole_lines: false,
                ending: rows.ending_near(rows.row_at(place.start)),
                shift: shift.as_ref(),
                typography: (strategy == MatchStrategy::LookAlikes).then_some(self.text),
            };
            let Some(made) = script.edits(&at) else {
                return Err(self.unclear_error(strategy, &found, SHALLOW_INDENT_REASON));
            };
            let (trace, (from, to)) = ruler.measure(place, &made, rows);
            places.push(trace);
            lines.push(from);
            after.push(to);
            warnings.extend(script.mixed_indent_warning(&at).filter(|_| edits.is_empty()));
            edits.extend(made);
        }
        // If the last place is at the end of the text, no span may go beyond
        // it.
        if found.last().is_some_and(|place| place.end == self.text.len())
            && let Some(LineSpan { last: most, .. }) = after.last().copied()
        {
            after.iter_mut().for_each(|lines| lines.last = lines.last.min(most));
        }
        Ok(TextReplacement { edits, strategy, places, lines, after, warnings })
    }

    fn indent_shift(
        &self,
        strategy: MatchStrategy,
        place: &Range<usize>,
        pieces: &[LineOffsets],
        script: &EditScript<'_>,
    ) -> Result<Option<IndentShift>, ReplaceError> {
        if strategy != MatchStrategy::IndentShift {
            return Ok(None);
        }
        let file = pieces.iter().map(|row| self.text.get(row.start..row.end).unwrap_or_default());
        let old = script.old.iter().copied();
        if is_shifted_already(old.clone(), script.new.iter().copied(), file.clone()) {
            return Err(self.unclear_error(
                strategy,
                std::slice::from_ref(place),
                DOUBLE_INDENT_REASON,
            ));
        }
        Ok(IndentShift::between(old, file))
    }
}

const SHALLOW_INDENT_REASON: &str = "The old text is indented more than the file, and a line \
    of the new text has less indentation than must be removed. Send both with the file's \
    indentation.";
const ESCAPED_TEXT_REASON: &str = "The old text has \\n or \\t where the file has line breaks \
    or tabs, and so does the new text, so it is unclear whether they are literal. Send real \
    line breaks and tabs in both.";
const DOUBLE_INDENT_REASON: &str = "The old text is indented differently from the file, but \
    the new text already has the file's indentation: shifting it would indent it twice. Send \
    the old text with the file's indentation.";

fn none_if_empty(found: Vec<Range<usize>>) -> Option<Vec<Range<usize>>> {
    if found.is_empty() { None } else { Some(found) }
}

/// Splits a place at its line endings, one row per line of the old text.
fn rows_of_place(
    text: &str,
    place: &Range<usize>,
    count: usize,
    returns: bool,
) -> Vec<LineOffsets> {
    let body = text.get(place.clone()).unwrap_or_default();
    let mark = if returns { '\r' } else { '\n' };
    let mut rows = Vec::with_capacity(count);
    let mut start = place.start;
    for piece in body.split_inclusive(mark) {
        let next = start + piece.len();
        let words = match piece.strip_suffix(mark) {
            Some(words) if returns => words,
            Some(words) => words.strip_suffix('\r').unwrap_or(words),
            None => piece,
        };
        rows.push(LineOffsets { start, end: start + words.len(), next });
        start = next;
    }
    // After a final line ending comes an empty row; likewise if the old text
    // has an ending that the file's last line lacks.
    while rows.len() < count {
        rows.push(LineOffsets { start: place.end, end: place.end, next: place.end });
    }
    rows
}

/// Unescapes `\n` and `\t` in the old text. None if it has neither, would be
/// blank, or has escaped backslashes that make it ambiguous.
fn unescape(old: &str) -> Option<String> {
    if old.contains("\\\\") || !(old.contains("\\n") || old.contains("\\t")) {
        return None;
    }
    let plain = old.replace("\\r\\n", "\n").replace("\\n", "\n").replace("\\t", "\t");
    (!plain.trim().is_empty()).then_some(plain)
}

/// Tracks the line numbers of successive places after the edits.
struct LineCounter<'t> {
    text: &'t str,
    /// Lines and bytes that the edits have added so far.
    lines: isize,
    bytes: isize,
    /// End of the last place, and whether a line begins there after the edits.
    end: usize,
    is_begin: bool,
}

impl<'t> LineCounter<'t> {
    fn new(text: &'t str) -> Self {
        Self { text, lines: 0, bytes: 0, end: 0, is_begin: true }
    }

    /// Returns a place and its lines, before and after its edits.
    fn measure(
        &mut self,
        place: &Range<usize>,
        made: &[TextEdit],
        rows: &LineTable<'_>,
    ) -> (MovedRange, (LineSpan, LineSpan)) {
        let own = made.iter().map(|edit| {
            let range = edit.range.start - place.start..edit.range.end - place.start;
            TextEdit { range, text: edit.text.clone() }
        });
        let was = self.text.get(place.clone()).unwrap_or_default();
        let becomes = apply_edits(was, &own.collect::<Vec<TextEdit>>());
        let ends = |text: &str| memchr::memchr_iter(rows.terminator(), text.as_bytes()).count();
        let old = rows.edges(place);
        let start = old.start.saturating_add_signed(self.lines);
        let at = place.start.saturating_add_signed(self.bytes);
        let trace = MovedRange { before: place.clone(), after: at..at + becomes.len() };
        self.bytes += becomes.len().cast_signed() - was.len().cast_signed();
        self.lines += ends(&becomes).cast_signed() - ends(was).cast_signed();
        self.is_begin = match becomes.as_bytes().last() {
            Some(last) => *last == rows.terminator(),
            None if place.start == self.end => self.is_begin,
            None => rows.edges(&(place.start..place.start)).end.is_begin,
        };
        self.end = place.end;
        let end =
            LineEdge { lines_ended: start + ends(&becomes), is_begin: self.is_begin, ..old.end };
        (trace, LineEdges::lines(old, LineEdges { start, end }))
    }
}

#[cfg(test)]
#[path = "replace_tests.rs"]
pub(super) mod tests;
