//! What is ours in the output of a command, taken out while it flows: a report
//! between marks, and what bash shows of it when it shows what it reads.

use std::borrow::Cow;

use super::script::marks;
use super::strike::Strike;

/// A longer report is no report.
const LONGEST: usize = 16 * 1024 * 1024;

/// Takes what is ours out of the streams of a command.
#[derive(Debug, Default)]
pub struct Frame {
    begin: Vec<u8>,
    end: Vec<u8>,
    /// What may be the start of a mark.
    held: Vec<u8>,
    report: Vec<u8>,
    stage: Stage,
    /// What is shown of our own, in the output and among the errors.
    shown: Option<(Strike, Strike)>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Stage {
    /// There is none to come.
    #[default]
    Nothing,
    Before,
    Inside,
    After,
}

impl Frame {
    /// For the report with this word in its marks.
    pub fn new(nonce: &str) -> Self {
        let (begin, end) = marks(nonce);
        Self {
            begin: format!("\x1e{begin}\n").into_bytes(),
            end: format!("\n{end}\n").into_bytes(),
            stage: Stage::Before,
            ..Self::default()
        }
    }

    /// The same, which takes out a text that bash may show, too.
    #[must_use]
    pub fn without(mut self, shown: Option<String>) -> Self {
        self.shown = shown.map(|text| (Strike::of(&text), Strike::of(&text)));
        self
    }

    /// What of the stream so far is output.
    pub fn feed<'a>(&mut self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        let output = self.around_report(bytes);
        match &mut self.shown {
            Some((strike, _)) => Cow::Owned(strike.feed(&output)),
            None => output,
        }
    }

    /// The same of its errors, if they come in a stream of their own.
    pub fn feed_errors<'a>(&mut self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        match &mut self.shown {
            Some((_, strike)) => Cow::Owned(strike.feed(bytes)),
            None => Cow::Borrowed(bytes),
        }
    }

    fn around_report<'a>(&mut self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        match self.stage {
            Stage::Nothing | Stage::After => Cow::Borrowed(bytes),
            Stage::Inside => Cow::Owned(self.inside(bytes)),
            Stage::Before if self.held.is_empty() => self.before(Cow::Borrowed(bytes)),
            Stage::Before => {
                let mut all = std::mem::take(&mut self.held);
                all.extend_from_slice(bytes);
                self.before(Cow::Owned(all))
            }
        }
    }

    /// The streams have ended: what was held back of them is output after all.
    pub fn finish(&mut self) -> (Vec<u8>, Vec<u8>) {
        let rest = std::mem::take(&mut self.held);
        match &mut self.shown {
            Some((output, errors)) => ([output.finish(), rest].concat(), errors.finish()),
            None => (rest, Vec::new()),
        }
    }

    /// The report, if it came to its end.
    pub fn report(&self) -> Option<&[u8]> {
        (self.stage == Stage::After).then_some(&*self.report)
    }

    fn before<'a>(&mut self, bytes: Cow<'a, [u8]>) -> Cow<'a, [u8]> {
        if let Some(at) = memchr::memmem::find(&bytes, &self.begin) {
            self.stage = Stage::Inside;
            let (output, rest) = bytes.split_at(at);
            let rest = rest.get(self.begin.len()..).unwrap_or_default();
            let after = self.inside(rest);
            return Cow::Owned([output, &after].concat());
        }
        let most = bytes.len().min(self.begin.len() - 1);
        let is_start = |length: &usize| self.begin.starts_with(&bytes[bytes.len() - length..]);
        let Some(length) = (1..=most).rev().find(is_start) else { return bytes };
        let kept = bytes.len() - length;
        self.held = bytes[kept..].to_vec();
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
                self.stage = Stage::After;
                let after = self.report.split_off(from + at + self.end.len());
                // The report keeps the line break that ends it.
                self.report.truncate(from + at + 1);
                after
            }
            None => {
                if self.report.len() > LONGEST {
                    self.report.clear();
                }
                Vec::new()
            }
        }
    }
}

#[cfg(test)]
#[path = "frame_tests.rs"]
mod tests;
