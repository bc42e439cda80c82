//! Removes internal text from the output of a command as it streams: a report
//! between markers, and its source if bash echoes it (`set -v`).

use std::borrow::Cow;

use super::filter::TextFilter;
use super::script::report_markers;

/// A longer report is discarded.
const MAX_REPORT_BYTES: usize = 16 * 1024 * 1024;

/// Extracts the report and internal text from the streams of a command.
#[derive(Debug, Default)]
pub struct ReportExtractor {
    begin: Vec<u8>,
    end: Vec<u8>,
    /// Possible start of a marker.
    pending: Vec<u8>,
    report: Vec<u8>,
    stage: ReportStage,
    /// Filters of echoed internal text, for stdout and stderr.
    own_text_filters: Option<(TextFilter, TextFilter)>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum ReportStage {
    /// No report is expected.
    #[default]
    NoReport,
    Before,
    Inside,
    After,
}

impl ReportExtractor {
    /// Creates an extractor for the report with this nonce in its markers.
    pub fn new(nonce: &str) -> Self {
        let (begin, end) = report_markers(nonce);
        Self {
            begin: format!("\x1e{begin}\n").into_bytes(),
            end: format!("\n{end}\n").into_bytes(),
            stage: ReportStage::Before,
            ..Self::default()
        }
    }

    /// Also removes a text that bash may echo.
    #[must_use]
    pub fn hiding_text(mut self, shown: Option<String>) -> Self {
        self.own_text_filters = shown.map(|text| (TextFilter::new(&text), TextFilter::new(&text)));
        self
    }

    /// Returns the command output in a chunk of stdout.
    pub fn feed<'a>(&mut self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        let output = self.strip_report(bytes);
        match &mut self.own_text_filters {
            Some((strike, _)) => Cow::Owned(strike.feed(&output)),
            None => output,
        }
    }

    /// Returns the command output in a chunk of stderr, if it is a separate
    /// stream.
    pub fn feed_errors<'a>(&mut self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        match &mut self.own_text_filters {
            Some((_, strike)) => Cow::Owned(strike.feed(bytes)),
            None => Cow::Borrowed(bytes),
        }
    }

    fn strip_report<'a>(&mut self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        match self.stage {
            ReportStage::NoReport | ReportStage::After => Cow::Borrowed(bytes),
            ReportStage::Inside => Cow::Owned(self.inside(bytes)),
            ReportStage::Before if self.pending.is_empty() => self.before(Cow::Borrowed(bytes)),
            ReportStage::Before => {
                let mut all = std::mem::take(&mut self.pending);
                all.extend_from_slice(bytes);
                self.before(Cow::Owned(all))
            }
        }
    }

    /// Returns the pending bytes of both streams at their end, which are
    /// output.
    pub fn finish(&mut self) -> (Vec<u8>, Vec<u8>) {
        let rest = std::mem::take(&mut self.pending);
        match &mut self.own_text_filters {
            Some((output, errors)) => ([output.finish(), rest].concat(), errors.finish()),
            None => (rest, Vec::new()),
        }
    }

    /// Returns the report, if it is complete.
    pub fn report(&self) -> Option<&[u8]> {
        (self.stage == ReportStage::After).then_some(&*self.report)
    }

    fn before<'a>(&mut self, bytes: Cow<'a, [u8]>) -> Cow<'a, [u8]> {
        if let Some(at) = memchr::memmem::find(&bytes, &self.begin) {
            self.stage = ReportStage::Inside;
            let (output, rest) = bytes.split_at(at);
            let rest = rest.get(self.begin.len()..).unwrap_or_default();
            let after = self.inside(rest);
            return Cow::Owned([output, &after].concat());
        }
        let most = bytes.len().min(self.begin.len() - 1);
        let is_start = |length: &usize| self.begin.starts_with(&bytes[bytes.len() - length..]);
        let Some(length) = (1..=most).rev().find(is_start) else { return bytes };
        let kept = bytes.len() - length;
        self.pending = bytes[kept..].to_vec();
        match bytes {
            Cow::Borrowed(bytes) => Cow::Borrowed(&bytes[..kept]),
            Cow::Owned(mut bytes) => {
                bytes.truncate(kept);
                Cow::Owned(bytes)
            }
        }
    }

    fn inside(&mut self, bytes: &[u8]) -> Vec<u8> {
        // The end marker may have started in an earlier chunk.
        let from = self.report.len().saturating_sub(self.end.len());
        self.report.extend_from_slice(bytes);
        let found = self.report.get(from..).and_then(|new| memchr::memmem::find(new, &self.end));
        match found {
            Some(at) => {
                self.stage = ReportStage::After;
                let after = self.report.split_off(from + at + self.end.len());
                // The report keeps its final line break.
                self.report.truncate(from + at + 1);
                after
            }
            None => {
                if self.report.len() > MAX_REPORT_BYTES {
                    self.report.clear();
                }
                Vec::new()
            }
        }
    }
}

#[cfg(test)]
#[path = "framing_tests.rs"]
mod tests;
