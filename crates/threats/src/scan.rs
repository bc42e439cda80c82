//! The scan: which parts of a text are read, in which spellings, and what is
//! reported.

use crate::finding::{ScanLevel, ThreatCategory, ThreatFinding, excerpt};
use crate::fold::fold;
use crate::{encoded_blobs, hidden, patterns};

/// Characters scanned at the beginning of a text.
const MAX_HEAD_CHARS: usize = 65_536;

/// Characters scanned at the end of a text.
const MAX_TAIL_CHARS: usize = 16_384;

/// Maximum number of findings.
const MAX_FINDINGS: usize = 20;

/// Finds passages that address an assistant rather than the reader.
///
/// Only the beginning and the end of a long text are scanned. Each pattern is
/// reported once, at its first match.
pub fn scan(text: &str, level: ScanLevel) -> Vec<ThreatFinding> {
    let mut findings = Vec::new();
    for (at, window) in scan_windows(text) {
        scan_window(window, at, level, &mut findings);
    }
    findings.sort_by_key(|finding| finding.at);
    findings.truncate(MAX_FINDINGS);
    findings
}

/// Returns the scanned parts of a text, each with the index of its first
/// character.
fn scan_windows(text: &str) -> Vec<(usize, &str)> {
    // The byte length bounds the number of characters.
    if text.len() <= MAX_HEAD_CHARS + MAX_TAIL_CHARS {
        return vec![(0, text)];
    }
    let count = text.chars().count();
    let tail = text.char_indices().rev().nth(MAX_TAIL_CHARS - 1);
    let head = text.char_indices().nth(MAX_HEAD_CHARS);
    match (head, tail) {
        (Some((end, _)), Some((start, _))) if count > MAX_HEAD_CHARS + MAX_TAIL_CHARS => {
            vec![(0, &text[..end]), (count - MAX_TAIL_CHARS, &text[start..])]
        }
        _ => vec![(0, text)],
    }
}

fn scan_window(window: &str, at: usize, level: ScanLevel, findings: &mut Vec<ThreatFinding>) {
    let mut report = FindingCollector { text: window, at, fixed_position: None, findings };
    let messages =
        if window.is_ascii() { Vec::new() } else { hidden::find_hidden(window, &mut report) };
    scan_text(&mut report, level);
    for message in messages {
        report.scan_decoded(&message.text, at + message.at, level);
    }
    for blob in encoded_blobs::decode_blobs(window) {
        let start = window.get(..blob.start).map_or(0, |before| before.chars().count());
        report.scan_decoded(&blob.text, at + start, level);
    }
}

fn scan_text(report: &mut FindingCollector<'_>, level: ScanLevel) {
    let folded = fold(report.text);
    patterns::find_patterns(folded.text(), level, |pattern, range| {
        if !report.has(pattern.id) {
            let start = folded.source_char(range.start);
            let end = folded.source_char(range.end.saturating_sub(1)) + 1;
            report.add(pattern.id, pattern.category, start, end);
        }
    });
}

/// The findings so far, and the text being scanned.
#[derive(Debug)]
pub(crate) struct FindingCollector<'a> {
    text: &'a str,
    /// Character index at which the text begins.
    at: usize,
    /// Position reported for every finding, if the text was decoded.
    fixed_position: Option<usize>,
    findings: &'a mut Vec<ThreatFinding>,
}

impl FindingCollector<'_> {
    fn has(&self, id: &str) -> bool {
        self.findings.iter().any(|finding| finding.id == id)
    }

    /// Reports the characters from `start` to `end`, unless `id` is already
    /// reported.
    pub(crate) fn add(
        &mut self,
        id: &'static str,
        category: ThreatCategory,
        start: usize,
        end: usize,
    ) {
        if !self.has(id) {
            let excerpt = excerpt(self.text, start, end, category);
            let at = self.fixed_position.unwrap_or(self.at + start);
            self.findings.push(ThreatFinding { id, category, excerpt, at });
        }
    }

    /// Scans a text that was decoded from this one, at `place`.
    fn scan_decoded(&mut self, text: &str, place: usize, level: ScanLevel) {
        let mut inner =
            FindingCollector { text, at: 0, fixed_position: Some(place), findings: self.findings };
        scan_text(&mut inner, level);
    }
}

#[cfg(test)]
#[path = "scan_tests.rs"]
mod tests;
