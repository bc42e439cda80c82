//! The scan: where a text is read, in which spellings, and what is reported.

use crate::finding::{Category, Finding, Level, excerpt};
use crate::fold::fold;
use crate::{blobs, hidden, patterns};

/// How many characters at the beginning of a text are read.
const HEAD: usize = 65_536;

/// How many characters at the end of a text are read.
const TAIL: usize = 16_384;

/// How many findings are reported.
const FINDINGS: usize = 20;

/// Finds what a text says to an assistant rather than to its reader.
///
/// The beginning and the end of a long text are read. Each pattern is reported
/// once, where it is first seen.
pub fn scan(text: &str, level: Level) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (at, window) in windows(text) {
        scan_window(window, at, level, &mut findings);
    }
    findings.sort_by_key(|finding| finding.at);
    findings.truncate(FINDINGS);
    findings
}

/// The parts of a text that are read, and the character each begins with.
fn windows(text: &str) -> Vec<(usize, &str)> {
    // No more bytes than that, no more characters.
    if text.len() <= HEAD + TAIL {
        return vec![(0, text)];
    }
    let count = text.chars().count();
    let tail = text.char_indices().rev().nth(TAIL - 1);
    let head = text.char_indices().nth(HEAD);
    match (head, tail) {
        (Some((end, _)), Some((start, _))) if count > HEAD + TAIL => {
            vec![(0, &text[..end]), (count - TAIL, &text[start..])]
        }
        _ => vec![(0, text)],
    }
}

fn scan_window(window: &str, at: usize, level: Level, findings: &mut Vec<Finding>) {
    let mut report = Report { text: window, at, place: None, findings };
    let messages = if window.is_ascii() { Vec::new() } else { hidden::look(window, &mut report) };
    read(&mut report, level);
    for message in messages {
        report.inner(&message.text, at + message.at, level);
    }
    for blob in blobs::decode(window) {
        let start = window.get(..blob.start).map_or(0, |before| before.chars().count());
        report.inner(&blob.text, at + start, level);
    }
}

fn read(report: &mut Report<'_>, level: Level) {
    let folded = fold(report.text);
    patterns::find(folded.text(), level, |pattern, range| {
        if !report.has(pattern.id) {
            let start = folded.source(range.start);
            let end = folded.source(range.end.saturating_sub(1)) + 1;
            report.add(pattern.id, pattern.category, start, end);
        }
    });
}

/// The findings so far, and the text they are looked for in.
#[derive(Debug)]
pub(crate) struct Report<'a> {
    text: &'a str,
    /// Where the text begins.
    at: usize,
    /// Where everything in the text is said to be, if it was decoded.
    place: Option<usize>,
    findings: &'a mut Vec<Finding>,
}

impl Report<'_> {
    fn has(&self, id: &str) -> bool {
        self.findings.iter().any(|finding| finding.id == id)
    }

    /// Reports the characters from `start` to `end`, unless `id` is reported already.
    pub(crate) fn add(&mut self, id: &'static str, category: Category, start: usize, end: usize) {
        if !self.has(id) {
            let excerpt = excerpt(self.text, start, end, category);
            let at = self.place.unwrap_or(self.at + start);
            self.findings.push(Finding { id, category, excerpt, at });
        }
    }

    /// Reads a text that was found inside this one, at `place`.
    fn inner(&mut self, text: &str, place: usize, level: Level) {
        let mut inner = Report { text, at: 0, place: Some(place), findings: self.findings };
        read(&mut inner, level);
    }
}

#[cfg(test)]
#[path = "scan_tests.rs"]
mod tests;
