//! Reads lines of a log by number.

use memchr::memchr;

use super::clean::OutputCleaner;
use super::log::{OutputLog, READ_BLOCK_BYTES};

/// Maximum length of a line; the rest is truncated.
const MAX_LINE_BYTES: usize = 16 * 1024;
const LOST_LINE_TEXT: &str = "[not kept]";
const CUT_LINE_SUFFIX: &str = " [line cut]";

impl OutputLog {
    /// Returns up to `count` cleaned lines without newlines, starting at line
    /// `first` (counted from 1), and the total number of lines. A lost line is
    /// replaced by a note, so the numbers stay correct.
    pub fn page(&self, first: u64, count: usize) -> (Vec<String>, u64) {
        let total = self.lines();
        let before = first.max(1) - 1;
        if before >= total || count == 0 {
            return (Vec::new(), total);
        }
        let (mut at, passed) = if self.lost_bytes() > 0 && self.head_newlines() < before {
            (self.head_end(), self.head_newlines())
        } else {
            self.position_before(before)
        };
        let mut page = LogPage { before, passed, count, ..LogPage::default() };
        while at < self.len() && !page.is_full() {
            let piece = self.read_from(at, READ_BLOCK_BYTES);
            if piece.from != at {
                page.skip(self.tail_start_newlines().saturating_sub(page.passed));
            }
            page.add(&piece.bytes);
            at = piece.next.max(at + 1);
        }
        if let Some(line) = page.line.as_mut().filter(|_| self.is_growing()) {
            line.hold_back();
        }
        page.close();
        (page.lines, total)
    }

    /// Returns the last `count` lines, and the total number of lines.
    pub fn last_lines(&self, count: usize) -> (Vec<String>, u64) {
        let first = self.lines().saturating_sub(count as u64) + 1;
        self.page(first, count)
    }
}

/// A page while it is being filled.
#[derive(Default)]
struct LogPage {
    /// The number of lines before the page.
    before: u64,
    /// The number of newlines passed so far.
    passed: u64,
    count: usize,
    lines: Vec<String>,
    /// The line being read.
    line: Option<OpenLine>,
}

#[derive(Default)]
struct OpenLine {
    text: String,
    cleaner: OutputCleaner,
}

impl LogPage {
    /// Whether the page is full, or the rest of its last line would be
    /// truncated anyway.
    fn is_full(&self) -> bool {
        let is_last_cut =
            || self.line.as_ref().is_some_and(|line| line.text.len() > MAX_LINE_BYTES);
        self.lines.len() == self.count || (self.lines.len() + 1 == self.count && is_last_cut())
    }

    fn add(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() && !self.is_full() {
            let end = memchr(b'\n', rest);
            if self.passed >= self.before {
                let line = self.line.get_or_insert_default();
                if line.text.len() <= MAX_LINE_BYTES {
                    line.text += &line.cleaner.feed(&rest[..end.unwrap_or(rest.len())]);
                }
            }
            let Some(end) = end else { return };
            self.end_line();
            rest = &rest[end + 1..];
        }
    }

    /// Skips lost bytes that contain this many newlines.
    fn skip(&mut self, newlines: u64) {
        let end = self.passed + newlines;
        self.passed = self.passed.max(self.before.min(end));
        while !self.is_full() {
            if self.passed >= self.before {
                self.line.get_or_insert_default().mark_lost();
            }
            if self.passed == end {
                return;
            }
            self.end_line();
        }
    }

    fn end_line(&mut self) {
        self.close();
        self.passed += 1;
    }

    fn close(&mut self) {
        self.lines.extend(self.line.take().map(OpenLine::finish));
    }
}

impl OpenLine {
    /// Leaves out an incomplete character.
    fn hold_back(&mut self) {
        self.text += &std::mem::take(&mut self.cleaner).flush();
    }

    fn mark_lost(&mut self) {
        self.text += &std::mem::take(&mut self.cleaner).finish();
        self.text += LOST_LINE_TEXT;
    }

    fn finish(self) -> String {
        let mut text = self.text + &self.cleaner.finish();
        if text.len() > MAX_LINE_BYTES {
            text.truncate(text.floor_char_boundary(MAX_LINE_BYTES));
            text += CUT_LINE_SUFFIX;
        }
        text
    }
}

#[cfg(test)]
#[path = "page_tests.rs"]
mod tests;
