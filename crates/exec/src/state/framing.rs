//! What is ours in the output of a command, taken out while it flows: a report
//! between marks, and what bash shows of it when it shows what it reads.

use std::borrow::Cow;

use super::filter::TextFilter;
use super::script::report_markers;

/// A longer report is no report.
const MAX_REPORT_BYTES: usize = 16 * 1024 * 1024;

/// Takes what is ours out of the streams of a command.
#[derive(Debug, Default)]
pub struct ReportExtractor {
    begin: Vec<u8>,
    end: Vec<u8>,
    /// What may be the start of a mark.
    pending: Vec<u8>,
    report: Vec<u8>,
    stage: ReportStage,
    /// What is shown of our own, in the output and among the errors.
    own_text_filters: Option<(TextFilter, TextFilter)>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum ReportStage {
    /// There is none to come.
    #[default]
    NoReport,
    Before,
    Inside,
    After,
}

impl ReportExtractor {
    /// For the report with this word in its marks.
    pub fn new(nonce: &str) -> Self {
        let (begin, end) = report_markers(nonce);
        Self {
            begin: format!("\x1e{begin}\n").into_bytes(),
            end: format!("\n{end}\n").into_bytes(),
            stage: ReportStage::Before,
            ..Self::default()
        }
    }

    /// The same, which takes out a text that bash may show, too.
    #[must_use]
    pub fn hiding_text(mut self, shown: Option<String>) -> Self {
        self.own_text_filters = shown.map(|text| (TextFilter::new(&text), TextFilter::new(&text)));
        self
    }

    /// What of the stream so far is output.
    pub fn feed<'a>(&mut self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        let output = self.strip_report(bytes);
        match &mut self.own_text_filters {
            Some((strike, _)) => Cow::Owned(strike.feed(&output)),
            None => output,
        }
    }

    /// The same of its errors, if they come in a stream of their own.
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

    /// The streams have ended: what was held back of them is output after all.
    pub fn finish(&mut self) -> (Vec<u8>, Vec<u8>) {
        let rest = std::mem::take(&mut self.pending);
        match &mut self.own_text_filters {
            Some((output, errors)) => ([output.finish(), rest].concat(), errors.finish()),
            None => (rest, Vec::new()),
        }
    }

    /// The report, if it came to its end.
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
        // The last mark may have begun in what came before.
        let from = self.report.len().saturating_sub(self.end.len());
        self.report.extend_from_slice(bytes);
        let found = self.report.get(from..).and_then(|new| memchr::memmem::find(new, &self.end));
        match found {
            Some(at) => {
                self.stage = ReportStage::After;
                let after = self.report.split_off(from + at + self.end.len());
                // The report keeps the line break that ends it.
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
