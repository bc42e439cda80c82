//! Which bytes of a log came from which stream.

use std::collections::VecDeque;
use std::ops::Range;

use super::OutputStream;

/// Runs to keep at each end of the log.
const MAX_RUNS_PER_END: usize = 4096;

/// A contiguous range of bytes from one stream.
#[derive(Debug, Clone)]
struct StreamRun {
    source: OutputStream,
    range: Range<u64>,
}

/// Totals of one stream.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct StreamTotals {
    pub(super) bytes: u64,
    pub(super) newlines: u64,
    /// Whether the last line has no newline.
    pub(super) is_open: bool,
}

impl StreamTotals {
    pub(super) fn add(&mut self, bytes: &[u8], newlines: u64) {
        self.bytes += bytes.len() as u64;
        self.newlines += newlines;
        self.is_open = bytes.last().map_or(self.is_open, |&last| last != b'\n');
    }

    pub(super) fn lines(&self) -> u64 {
        self.newlines + u64::from(self.is_open)
    }
}

/// The first and last runs of a log. Of the runs between them, only the totals
/// are kept.
#[derive(Debug, Default)]
pub(super) struct StreamRuns {
    first: Vec<StreamRun>,
    last: VecDeque<StreamRun>,
    has_gap: bool,
    stdout: StreamTotals,
    stderr: StreamTotals,
}

impl StreamRuns {
    /// Adds the next bytes, which start at `offset`.
    pub(super) fn add(&mut self, source: OutputStream, offset: u64, bytes: &[u8], newlines: u64) {
        match source {
            OutputStream::Stdout => self.stdout.add(bytes, newlines),
            OutputStream::Stderr => self.stderr.add(bytes, newlines),
        }
        let end = offset + bytes.len() as u64;
        let latest = self.last.back_mut().or(self.first.last_mut());
        if let Some(run) = latest.filter(|run| run.source == source) {
            run.range.end = end;
            return;
        }
        let run = StreamRun { source, range: offset..end };
        if self.first.len() < MAX_RUNS_PER_END {
            self.first.push(run);
            return;
        }
        if self.last.len() == MAX_RUNS_PER_END {
            self.last.pop_front();
            self.has_gap = true;
        }
        self.last.push_back(run);
    }

    pub(super) fn total(&self, source: OutputStream) -> StreamTotals {
        match source {
            OutputStream::Stdout => self.stdout,
            OutputStream::Stderr => self.stderr,
        }
    }

    /// Returns the known ranges of a stream, from the start.
    pub(super) fn forward(&self, source: OutputStream) -> impl Iterator<Item = Range<u64>> {
        let last = self.last.iter().filter(|_| !self.has_gap);
        ranges(self.first.iter().chain(last), source)
    }

    /// Returns the known ranges of a stream, from the end.
    pub(super) fn backward(&self, source: OutputStream) -> impl Iterator<Item = Range<u64>> {
        let first = self.first.iter().rev().filter(|_| !self.has_gap);
        ranges(self.last.iter().rev().chain(first), source)
    }

    /// Whether runs in the middle were dropped.
    pub(super) fn has_gap(&self) -> bool {
        self.has_gap
    }
}

fn ranges<'a>(
    runs: impl Iterator<Item = &'a StreamRun>,
    source: OutputStream,
) -> impl Iterator<Item = Range<u64>> {
    runs.filter(move |run| run.source == source).map(|run| run.range.clone())
}
