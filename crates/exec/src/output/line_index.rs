//! A sparse index of the lines of a log.

use memchr::memchr_iter;

/// Initial distance between marks.
const INITIAL_STEP_BYTES: u64 = 64 * 1024;
/// Above this number of marks, every second one is dropped.
const MAX_MARKS: usize = 4096;

/// The number of newlines before each mark.
#[derive(Debug)]
pub(super) struct LogLineIndex {
    step: u64,
    /// One for each multiple of `step`.
    marks: Vec<u64>,
    len: u64,
    newlines: u64,
}

impl Default for LogLineIndex {
    fn default() -> Self {
        Self { step: INITIAL_STEP_BYTES, marks: vec![0], len: 0, newlines: 0 }
    }
}

impl LogLineIndex {
    /// Adds the next bytes; returns how many newlines they contain.
    pub(super) fn add(&mut self, bytes: &[u8]) -> u64 {
        let before = self.newlines;
        let mut rest = bytes;
        while !rest.is_empty() {
            let next = self.marks.len() as u64 * self.step;
            let room = usize::try_from(next - self.len).unwrap_or(usize::MAX);
            let (now, later) = rest.split_at(room.min(rest.len()));
            self.newlines += count_newlines(now);
            self.len += now.len() as u64;
            rest = later;
            if self.len == next {
                self.add_mark();
            }
        }
        self.newlines - before
    }

    fn add_mark(&mut self) {
        self.marks.push(self.newlines);
        // The number is odd, so the last mark stays.
        if self.marks.len() > MAX_MARKS {
            let mut number = 0_usize;
            self.marks.retain(|_| {
                number += 1;
                number % 2 == 1
            });
            self.step *= 2;
        }
    }

    /// Returns a position before the end of line `newlines` (counted from 1),
    /// and the number of newlines before it.
    pub(super) fn position_before(&self, newlines: u64) -> (u64, u64) {
        let at = self.marks.partition_point(|&mark| mark < newlines).saturating_sub(1);
        (at as u64 * self.step, self.marks.get(at).copied().unwrap_or(0))
    }

    /// The number of bytes.
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// The number of newlines.
    pub(super) fn newlines(&self) -> u64 {
        self.newlines
    }
}

/// Counts the newlines in `bytes`.
pub(super) fn count_newlines(bytes: &[u8]) -> u64 {
    memchr_iter(b'\n', bytes).count() as u64
}

#[cfg(test)]
#[path = "line_index_tests.rs"]
mod tests;
