//! Finds the lines of a stream that contain a pattern.

use std::collections::BTreeMap;

use memchr::memmem::Finder;

use super::escape_stripper::EscapeStripper;

/// Maximum bytes of an unfinished line that are kept.
pub(super) const MAX_LINE_BYTES: usize = 64 * 1024;
/// A longer line is shown from this many bytes before the pattern, up to
/// `MAX_SHOWN_BYTES`.
const CONTEXT_BYTES: usize = 200;
const MAX_SHOWN_BYTES: usize = 500;

/// A line that contains patterns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PatternLine {
    pub(super) patterns: Vec<String>,
    pub(super) text: String,
}

/// Matches in one chunk of the stream.
#[derive(Debug, Default)]
pub(super) struct MatchBatch {
    /// Number of matching lines.
    pub(super) count: u64,
    /// The first of them.
    pub(super) matches: Vec<PatternLine>,
}

#[derive(Debug)]
struct PatternFinder {
    finder: Finder<'static>,
    text: String,
    /// The last line, and part of it, that matched.
    last: Option<(u64, usize)>,
}

/// Splits a stream into lines and searches them for patterns.
#[derive(Debug)]
pub(super) struct PatternScanner {
    strip: EscapeStripper,
    patterns: Vec<PatternFinder>,
    /// Text of the unfinished line.
    text: Vec<u8>,
    /// How much of it has been searched.
    scanned: usize,
    /// Number of bytes dropped from the start of that line.
    cut: usize,
    /// Number of lines before it.
    number: u64,
}

/// Position of a match.
struct MatchPosition {
    line: u64,
    /// Offsets of the line start and the match in the text.
    start: usize,
    at: usize,
    pattern: usize,
}

impl PatternScanner {
    pub(super) fn new(patterns: &[String]) -> Self {
        let usable = |text: &&String| !text.is_empty() && !text.contains(['\n', '\r']);
        let patterns = patterns.iter().filter(usable).map(|text| PatternFinder {
            finder: Finder::new(text.as_bytes()).into_owned(),
            text: text.clone(),
            last: None,
        });
        Self {
            strip: EscapeStripper::default(),
            patterns: patterns.collect(),
            text: Vec::new(),
            scanned: 0,
            cut: 0,
            number: 0,
        }
    }

    /// Searches the next bytes and returns at most `most` matching lines.
    pub(super) fn feed(&mut self, bytes: &[u8], most: usize) -> MatchBatch {
        let mut found = MatchBatch::default();
        if self.patterns.is_empty() {
            return found;
        }
        self.strip.feed(bytes, &mut self.text);
        let mut places = self.search();
        places.sort_by_key(|place| (place.at, place.pattern));
        // A line with two patterns counts once, and so does each part of a very
        // long line.
        let mut order: BTreeMap<(u64, usize), Vec<&MatchPosition>> = BTreeMap::new();
        for place in &places {
            order.entry((place.line, self.line_part(place))).or_default().push(place);
        }
        found.count = u64::try_from(order.len()).unwrap_or(u64::MAX);
        found.matches = order.values().take(most).filter_map(|line| self.to_match(line)).collect();
        self.advance();
        found
    }

    /// Finds every match, once per pattern and line.
    fn search(&mut self) -> Vec<MatchPosition> {
        let ends: Vec<usize> = memchr::memchr_iter(b'\n', &self.text).collect();
        let mut places = Vec::new();
        for (index, pattern) in self.patterns.iter_mut().enumerate() {
            // A match split across two chunks begins before this one.
            let mut from = self.scanned.saturating_sub(pattern.text.len() - 1);
            while let Some(at) = self.text.get(from..).and_then(|it| pattern.finder.find(it)) {
                let at = from + at;
                let before = ends.partition_point(|end| *end < at);
                let start =
                    before.checked_sub(1).and_then(|it| ends.get(it)).map_or(0, |it| it + 1);
                let line = self.number + before as u64;
                let offset = if before == 0 { at + self.cut } else { at - start };
                let part = offset / MAX_LINE_BYTES;
                if pattern.last != Some((line, part)) {
                    pattern.last = Some((line, part));
                    places.push(MatchPosition { line, start, at, pattern: index });
                }
                // Skip to where a match counts again: the next part or line.
                let end = ends.get(before).map_or(self.text.len(), |it| it + 1);
                from = (at + (MAX_LINE_BYTES - offset % MAX_LINE_BYTES)).min(end);
            }
        }
        places
    }

    fn line_part(&self, place: &MatchPosition) -> usize {
        let cut = if place.line == self.number { self.cut } else { 0 };
        (place.at - place.start + cut) / MAX_LINE_BYTES
    }

    fn to_match(&self, line: &[&MatchPosition]) -> Option<PatternLine> {
        let first = line.first()?;
        let rest = self.text.get(first.start..)?;
        let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        let whole = rest.get(..end)?;
        let text = if whole.len() <= MAX_SHOWN_BYTES {
            String::from_utf8_lossy(whole).into_owned()
        } else {
            let from = (first.at - first.start).saturating_sub(CONTEXT_BYTES);
            let to = (from + MAX_SHOWN_BYTES).min(whole.len());
            let middle = String::from_utf8_lossy(whole.get(from..to)?);
            // Drop characters cut in half.
            let middle = middle.trim_matches('\u{fffd}');
            let mark = |is_cut: bool| if is_cut { "…" } else { "" };
            format!("{}{middle}{}", mark(from > 0), mark(to < whole.len()))
        };
        let names = line.iter().filter_map(|place| self.patterns.get(place.pattern));
        Some(PatternLine { patterns: names.map(|it| it.text.clone()).collect(), text })
    }

    /// Keeps the unfinished line, up to a limit.
    fn advance(&mut self) {
        if let Some(last) = memchr::memrchr(b'\n', &self.text) {
            let ended = memchr::memchr_iter(b'\n', &self.text).count();
            self.number = self.number.saturating_add(ended as u64);
            self.text.drain(..=last);
            self.cut = 0;
        }
        // Let twice as much gather, to move the bytes less often.
        if self.text.len() > 2 * MAX_LINE_BYTES {
            let extra = self.text.len() - MAX_LINE_BYTES;
            self.text.drain(..extra);
            self.cut = self.cut.saturating_add(extra);
        }
        self.scanned = self.text.len();
        if self.text.capacity() > 16 * MAX_LINE_BYTES {
            self.text.shrink_to(4 * MAX_LINE_BYTES);
        }
    }
}
