//! Old text for new, in one place or in all.

use std::ops::Range;

use super::folding::{Fold, Folded, occurrences};
use super::indent::{Shift, is_shifted_already};
use super::moves::Trace;
use super::rows::{Edge, Edges, Row, Rows, feeds};
use super::script::{Place, Script};
use super::table::{Table, TooRepetitive};
use super::warnings::warnings;
use super::{LISTED, Lines, Rigour, Strategy, change};
use crate::document::Edit;
use crate::endings::ends_with_returns;

/// What is to be replaced by what.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The text as it is.
    pub old: &'a str,
    /// The text as it should be.
    pub new: &'a str,
    /// Every place, not only one.
    pub all: bool,
    /// How strictly the old text must agree.
    pub rigour: Rigour,
}

/// Edits that do what was asked.
#[derive(Debug, Clone)]
pub struct Replacement {
    /// In order, apart from each other.
    pub edits: Vec<Edit>,
    /// How the old text agreed.
    pub strategy: Strategy,
    /// The places, in bytes.
    pub places: Vec<Trace>,
    /// Their lines, before.
    pub lines: Vec<Lines>,
    /// The lines that they became.
    pub after: Vec<Lines>,
    /// What the caller should know.
    pub warnings: Vec<String>,
}

/// Why nothing was replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mismatch {
    /// The old text is empty.
    EmptyOld,
    /// Old and new text are the same.
    Identical,
    /// They differ in how their lines end, and in nothing else.
    EndingsOnly,
    /// The old text is nowhere.
    Absent,
    /// It is in several places.
    Ambiguous {
        /// How it agrees there.
        strategy: Strategy,
        /// The first of them.
        places: Vec<Lines>,
        /// Whether there are more.
        more: bool,
    },
    /// It is in one place, but what should be written there is not clear.
    Unclear {
        /// How it agrees there.
        strategy: Strategy,
        /// The place.
        lines: Lines,
        /// Why, and what to do.
        reason: String,
    },
    /// There are more places than can be replaced at once.
    TooMany,
    /// The text repeats itself too much to be searched.
    TooRepetitive,
}

/// Places that are replaced at once.
const MOST: usize = 1_000_000;

impl From<TooRepetitive> for Mismatch {
    fn from(_: TooRepetitive) -> Self {
        Self::TooRepetitive
    }
}

/// Finds the old text and says what to change.
///
/// The new text is written as it is given, but for the file's own line endings
/// and the indentation by which the old text was off. Lines that the old and
/// the new text share are left as the file has them.
pub fn replace(text: &str, request: &Request<'_>) -> Result<Replacement, Mismatch> {
    if request.old.is_empty() {
        return Err(Mismatch::EmptyOld);
    }
    let returns = ends_with_returns(text);
    let (old, new) = (feeds(request.old, returns), feeds(request.new, returns));
    if request.old == request.new {
        return Err(Mismatch::Identical);
    }
    if old == new {
        return Err(Mismatch::EndingsOnly);
    }
    let search = Search { text, returns, all: request.all, table: std::cell::OnceCell::new() };
    if request.rigour == Rigour::Strict {
        let found = search.exactly(request.old).ok_or(Mismatch::Absent)?;
        return search.settle(Strategy::Exact, found, &old, &new);
    }
    if let Some((strategy, found)) = search.as_given(request.old, &old) {
        let others = search.with_other_endings(request.old, &old, found.len());
        let mut made = search.settle(strategy, found, &old, &new)?;
        made.warnings.extend(others);
        return Ok(made);
    }
    if let Some(found) = search.whole_lines(Strategy::TrailingWhitespace, &old)? {
        return search.settle(Strategy::TrailingWhitespace, found, &old, &new);
    }
    if let Some(found) = search.look_alikes(&old)? {
        return search.settle(Strategy::LookAlikes, found, &old, &new);
    }
    if let Some(found) = search.whole_lines(Strategy::IndentShift, &old)? {
        return search.settle(Strategy::IndentShift, found, &old, &new);
    }
    if let Some(plain) = unescaped(&old)
        && let Some((_, found)) = search.as_given(&plain, &plain)
    {
        if new.contains("\\n") || new.contains("\\t") || new.contains("\\r") {
            return Err(search.unclear(Strategy::EscapedNewlines, &found, ESCAPED));
        }
        return search.settle(Strategy::EscapedNewlines, found, &plain, &new);
    }
    Err(Mismatch::Absent)
}

struct Search<'t> {
    text: &'t str,
    returns: bool,
    all: bool,
    table: std::cell::OnceCell<Table<'t>>,
}

impl<'t> Search<'t> {
    fn table(&self) -> &Table<'t> {
        self.table.get_or_init(|| Table::of(self.text))
    }

    /// Places may overlap where one of them has to be the only one.
    fn most(&self) -> usize {
        if self.all { MOST + 1 } else { LISTED + 1 }
    }

    fn exactly(&self, old: &str) -> Option<Vec<Range<usize>>> {
        // A place neither begins nor ends between the halves of a line ending.
        let bytes = self.text.as_bytes();
        let splits = |at: usize| {
            bytes.get(at) == Some(&b'\n') && at > 0 && bytes.get(at - 1) == Some(&b'\r')
        };
        let whole =
            |range: Range<usize>| (!splits(range.start) && !splits(range.end)).then_some(range);
        some(occurrences(self.text, old, !self.all, whole).take(self.most()).collect())
    }

    /// The places of a text that differ from it in line endings at most. What a
    /// caller writes with line feeds is meant with any ending, since that is how
    /// files are shown; carriage returns are meant where they are there. `old` is
    /// the text with line feeds.
    fn as_given(&self, given: &str, old: &str) -> Option<(Strategy, Vec<Range<usize>>)> {
        let has_return = |text: &str| memchr::memchr(b'\r', text.as_bytes()).is_some();
        let varies = old.contains('\n') && has_return(self.text);
        if (!varies || has_return(given))
            && let Some(found) = self.exactly(given)
        {
            return Some((Strategy::Exact, found));
        }
        if !varies {
            // The exact search did not know the caller's carriage returns.
            return self.exactly(old).map(|found| (Strategy::LineEndings, found));
        }
        let folded = Folded::of(self.text, Fold::Endings { returns: self.returns });
        let found = some(folded.find(old, !self.all, self.most()))?;
        let is_exact = |place: &Range<usize>| self.text.get(place.clone()) == Some(given);
        let strategy =
            if found.iter().all(is_exact) { Strategy::Exact } else { Strategy::LineEndings };
        Some((strategy, found))
    }

    /// A warning about the same lines with other endings, where the caller's
    /// carriage returns have left them out.
    fn with_other_endings(&self, given: &str, old: &str, found: usize) -> Option<String> {
        if given == old {
            return None;
        }
        let folded = Folded::of(self.text, Fold::Endings { returns: self.returns });
        let all = folded.find(old, !self.all, self.most()).len();
        let others = all.checked_sub(found).filter(|others| *others > 0)?;
        let times = if others == 1 { "once".to_owned() } else { format!("{others} times") };
        Some(format!(
            "The same lines with other line endings are there {times} more, and were left as they \
                are: the old text has carriage returns. Send line feeds to mean any ending."
        ))
    }

    fn look_alikes(&self, old: &str) -> Result<Option<Vec<Range<usize>>>, Mismatch> {
        if self.text.is_ascii() && old.is_ascii() || old.trim().is_empty() {
            return Ok(None);
        }
        let fold = Fold::LookAlikes { returns: self.returns };
        let plain = Folded::of(old, fold).text;
        let folded = Folded::of(self.text, fold);
        if let Some(found) = some(folded.find(&plain, !self.all, self.most())) {
            return Ok(Some(found));
        }
        self.whole_lines(Strategy::LookAlikes, old)
    }

    fn whole_lines(
        &self,
        rung: Strategy,
        old: &str,
    ) -> Result<Option<Vec<Range<usize>>>, Mismatch> {
        let (body, closed) = match old.strip_suffix('\n') {
            Some(body) => (body, true),
            None => (old, false),
        };
        let block: Vec<&str> = body.split('\n').collect();
        let rows = &self.table().rows;
        let starts = self.table().find(rung, &block, self.all, self.most())?;
        let range = |start: usize| {
            let (first, last) = (rows.get(start)?, rows.get(start + block.len() - 1)?);
            Some(first.start..if closed { last.next } else { last.end })
        };
        Ok(some(starts.into_iter().filter_map(range).collect()))
    }

    fn unclear(&self, strategy: Strategy, found: &[Range<usize>], reason: &str) -> Mismatch {
        let lines = found
            .first()
            .map_or(Lines { first: 1, last: 1 }, |place| self.table().rows.span(place));
        Mismatch::Unclear { strategy, lines, reason: reason.to_owned() }
    }

    /// One place unless all are wanted, and the edits there.
    fn settle(
        &self,
        strategy: Strategy,
        found: Vec<Range<usize>>,
        old: &str,
        new: &str,
    ) -> Result<Replacement, Mismatch> {
        let rows = &self.table().rows;
        if !self.all && found.len() > 1 {
            let places = found.iter().take(LISTED).map(|place| rows.span(place)).collect();
            return Err(Mismatch::Ambiguous { strategy, places, more: found.len() > LISTED });
        }
        if found.len() > MOST {
            return Err(Mismatch::TooMany);
        }
        let script = Script::compare(old.split('\n').collect(), new.split('\n').collect());
        let mut edits = Vec::new();
        let mut ruler = Ruler::of(self.text);
        let (mut places, mut lines, mut after) = (Vec::new(), Vec::new(), Vec::new());
        let mut warnings = warnings(self.text, &found, (old, new), rows);
        for place in &found {
            let pieces = pieces(self.text, place, script.old.len(), self.returns);
            let shift = self.shift(strategy, place, &pieces, &script)?;
            let at = Place {
                rows: &pieces,
                whole_lines: false,
                ending: rows.ending_near(rows.at(place.start)),
                shift: shift.as_ref(),
            };
            let Some(made) = script.edits(&at) else {
                return Err(self.unclear(strategy, &found, SHALLOW));
            };
            let (trace, (from, to)) = ruler.measure(place, &made, rows);
            places.push(trace);
            lines.push(from);
            after.push(to);
            warnings.extend(script.mixture(&at).filter(|_| edits.is_empty()));
            edits.extend(made);
        }
        // The last place knows where the text ends now.
        if found.last().is_some_and(|place| place.end == self.text.len())
            && let Some(Lines { last: most, .. }) = after.last().copied()
        {
            after.iter_mut().for_each(|lines| lines.last = lines.last.min(most));
        }
        Ok(Replacement { edits, strategy, places, lines, after, warnings })
    }

    fn shift(
        &self,
        strategy: Strategy,
        place: &Range<usize>,
        pieces: &[Row],
        script: &Script<'_>,
    ) -> Result<Option<Shift>, Mismatch> {
        if strategy != Strategy::IndentShift {
            return Ok(None);
        }
        let file = pieces.iter().map(|row| self.text.get(row.start..row.end).unwrap_or_default());
        let old = script.old.iter().copied();
        if is_shifted_already(old.clone(), script.new.iter().copied(), file.clone()) {
            return Err(self.unclear(strategy, std::slice::from_ref(place), DOUBLED));
        }
        Ok(Shift::between(old, file))
    }
}

const SHALLOW: &str = "The old text is indented more than the file, and a line of the new text \
    has less indentation than would have to be taken off. Send both as the file is indented.";
const ESCAPED: &str = "The old text has \\n or \\t where the file has line breaks or tabs, and the \
    new text has them too: whether they are meant as they stand cannot be told. Send real line \
    breaks and tabs in both.";
const DOUBLED: &str = "The old text is indented other than the file, but the new text is \
    indented as the file is: shifting it would indent it twice. Send the old text with the \
    file's indentation.";

fn some(found: Vec<Range<usize>>) -> Option<Vec<Range<usize>>> {
    if found.is_empty() { None } else { Some(found) }
}

/// A place cut at its line endings, one row for each line of the old text.
fn pieces(text: &str, place: &Range<usize>, count: usize, returns: bool) -> Vec<Row> {
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
        rows.push(Row { start, end: start + words.len(), next });
        start = next;
    }
    // Behind a line ending comes the empty beginning of the next line. The
    // same where the old text has an ending that the file's last line lacks.
    while rows.len() < count {
        rows.push(Row { start: place.end, end: place.end, next: place.end });
    }
    rows
}

/// Old text in which `\n` and `\t` stand for what they mean. None if it has
/// none of them, nothing else, or backslashes of its own that make it unclear.
fn unescaped(old: &str) -> Option<String> {
    if old.contains("\\\\") || !(old.contains("\\n") || old.contains("\\t")) {
        return None;
    }
    let plain = old.replace("\\r\\n", "\n").replace("\\n", "\n").replace("\\t", "\t");
    (!plain.trim().is_empty()).then_some(plain)
}

/// Counts the lines of places, one after the other, as they will be.
struct Ruler<'t> {
    text: &'t str,
    /// What the text has more, up to here: lines and bytes.
    lines: isize,
    bytes: isize,
    /// Where the last place ends, and whether a line begins there afterwards.
    end: usize,
    is_begin: bool,
}

impl<'t> Ruler<'t> {
    fn of(text: &'t str) -> Self {
        Self { text, lines: 0, bytes: 0, end: 0, is_begin: true }
    }

    /// A place before and after its edits, and its lines.
    fn measure(
        &mut self,
        place: &Range<usize>,
        made: &[Edit],
        rows: &Rows<'_>,
    ) -> (Trace, (Lines, Lines)) {
        let own = made.iter().map(|edit| {
            let range = edit.range.start - place.start..edit.range.end - place.start;
            Edit { range, text: edit.text.clone() }
        });
        let was = self.text.get(place.clone()).unwrap_or_default();
        let becomes = change(was, &own.collect::<Vec<Edit>>());
        let ends = |text: &str| memchr::memchr_iter(rows.mark(), text.as_bytes()).count();
        let old = rows.edges(place);
        let start = old.start.saturating_add_signed(self.lines);
        let at = place.start.saturating_add_signed(self.bytes);
        let trace = Trace { before: place.clone(), after: at..at + becomes.len() };
        self.bytes += becomes.len().cast_signed() - was.len().cast_signed();
        self.lines += ends(&becomes).cast_signed() - ends(was).cast_signed();
        self.is_begin = match becomes.as_bytes().last() {
            Some(last) => *last == rows.mark(),
            None if place.start == self.end => self.is_begin,
            None => rows.edges(&(place.start..place.start)).end.is_begin,
        };
        self.end = place.end;
        let end = Edge { ended: start + ends(&becomes), is_begin: self.is_begin, ..old.end };
        (trace, Edges::lines(old, Edges { start, end }))
    }
}

#[cfg(test)]
#[path = "replace_tests.rs"]
pub(super) mod tests;
