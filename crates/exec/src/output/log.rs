//! The output log of a job.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::ops::{ControlFlow, Range};
use std::path::Path;

use memchr::memrchr;

use super::clean::OutputCleaner;
use super::line_index::{LogLineIndex, count_newlines};
use super::runs::{StreamRuns, StreamTotals};
use super::spill_file::SpillFile;
use super::{LogChunk, OutputStream, SpillTarget};

/// Logs up to this size stay in memory.
const MAX_MEMORY_BYTES: usize = 256 * 1024;
/// Of longer logs, memory keeps this much of each end.
const KEPT_END_BYTES: usize = MAX_MEMORY_BYTES / 2;
/// Bytes per read.
pub(super) const READ_BLOCK_BYTES: usize = 64 * 1024;

/// The output of a job on both streams, in order of arrival.
///
/// Memory holds at most a few hundred kilobytes. The file, if any, remains when
/// the log is dropped.
pub struct OutputLog {
    spill: Option<SpillTarget>,
    disk: Option<SpillFile>,
    /// The whole log, or the beginning of a long one.
    head: Vec<u8>,
    /// The end of a long log.
    tail: VecDeque<u8>,
    is_long: bool,
    index: LogLineIndex,
    runs: StreamRuns,
    total: StreamTotals,
    /// Whether more may follow, so an incomplete character is not shown yet.
    is_growing: bool,
}

impl OutputLog {
    /// Creates an empty log that spills to a file when it gets long. Without a
    /// file, only both ends of a long log are kept.
    pub fn new(spill: Option<SpillTarget>) -> Self {
        Self {
            spill,
            disk: None,
            head: Vec::new(),
            tail: VecDeque::new(),
            is_long: false,
            index: LogLineIndex::default(),
            runs: StreamRuns::default(),
            total: StreamTotals::default(),
            is_growing: false,
        }
    }

    /// Marks the log as still being written.
    #[must_use]
    pub fn growing(mut self) -> Self {
        self.is_growing = true;
        self
    }

    /// Marks the log as complete.
    pub fn close(&mut self) {
        self.is_growing = false;
    }

    pub(super) fn is_growing(&self) -> bool {
        self.is_growing
    }

    /// Returns a cleaner for the bytes after this offset. It accounts for an
    /// offset within a character or escape sequence.
    pub(crate) fn cleaner_at(&self, place: u64) -> OutputCleaner {
        let start = place.saturating_sub(READ_BLOCK_BYTES as u64);
        let piece = self.read_from(start, to_index(place - start));
        let known = to_index(place.saturating_sub(piece.from)).min(piece.bytes.len());
        let bytes = piece.bytes.get(..known).unwrap_or_default();
        let line = memrchr(b'\n', bytes).map_or(0, |end| end + 1);
        let mut cleaner = OutputCleaner::new();
        cleaner.feed(bytes.get(line..).unwrap_or_default());
        cleaner.flush();
        cleaner
    }

    /// Appends output of a stream. If the disk is full, only the file stops
    /// growing.
    pub fn push(&mut self, source: OutputStream, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let offset = self.len();
        let newlines = self.index.add(bytes);
        self.total.add(bytes, newlines);
        self.runs.add(source, offset, bytes, newlines);
        if !self.is_long {
            if self.head.len() + bytes.len() <= MAX_MEMORY_BYTES {
                self.head.extend_from_slice(bytes);
                if let Some(disk) = &mut self.disk {
                    disk.append(bytes, newlines);
                }
                return;
            }
            self.drop_middle();
        }
        if let Some(disk) = &mut self.disk {
            disk.append(bytes, newlines);
        }
        self.append_tail(bytes);
    }

    /// Keeps only both ends in memory from now on.
    fn drop_middle(&mut self) {
        self.is_long = true;
        self.spill_all();
        self.tail.reserve_exact(KEPT_END_BYTES);
        let rest = self.head.split_off(self.head.len().min(KEPT_END_BYTES));
        self.head.shrink_to_fit();
        self.append_tail(&rest);
    }

    /// Writes everything to the file, even if it fits into memory, for a caller
    /// that shows only a part. Returns the file, if one could be created.
    pub fn spill_all(&mut self) -> Option<&Path> {
        if let Some(spill) = self.spill.take().filter(|spill| spill.max_bytes > 0)
            && let Ok(mut disk) = SpillFile::create(&spill)
        {
            disk.append(&self.head, count_newlines(&self.head));
            self.disk = Some(disk);
        }
        self.file()
    }

    fn append_tail(&mut self, bytes: &[u8]) {
        // The head is filled first, in case a large chunk arrived early.
        let (first, rest) = bytes.split_at((KEPT_END_BYTES - self.head.len()).min(bytes.len()));
        self.head.extend_from_slice(first);
        let end = &rest[rest.len().saturating_sub(KEPT_END_BYTES)..];
        let too_many = (self.tail.len() + end.len()).saturating_sub(KEPT_END_BYTES);
        self.tail.drain(..too_many);
        self.tail.extend(end);
    }

    /// The number of bytes written.
    pub fn len(&self) -> u64 {
        self.index.len()
    }

    /// Whether nothing was written.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of lines written, including a last line without newline.
    pub fn lines(&self) -> u64 {
        self.total.lines()
    }

    /// The number of bytes from the middle that are neither in memory nor in
    /// the file.
    pub fn lost_bytes(&self) -> u64 {
        self.tail_start().saturating_sub(self.head_end())
    }

    /// The file with the whole log, or with its beginning if bytes were
    /// [lost](Self::lost_bytes). Exists for long logs and after
    /// [`spill_all`](Self::spill_all).
    pub fn file(&self) -> Option<&Path> {
        self.disk.as_ref().map(SpillFile::path)
    }

    /// The number of bytes in the file.
    pub(super) fn file_len(&self) -> u64 {
        self.disk.as_ref().map_or(0, SpillFile::len)
    }

    /// Deletes the log and its file.
    pub fn remove(self) -> io::Result<()> {
        self.disk.map_or(Ok(()), SpillFile::remove)
    }

    /// Returns up to `most` raw bytes starting at `offset`. Skips lost bytes,
    /// which the chunk's `from` shows.
    pub fn read_from(&self, offset: u64, most: usize) -> LogChunk {
        let mut from = offset.min(self.len());
        if from >= self.head_end() && from < self.tail_start() {
            from = self.tail_start();
        }
        let mut bytes = Vec::new();
        self.read(from, most, &mut bytes);
        // Another process may have truncated the file.
        if bytes.is_empty() && most > 0 && from < self.tail_start() {
            from = self.tail_start();
            self.read(from, most, &mut bytes);
        }
        let next = from + bytes.len() as u64;
        LogChunk { bytes, from, next }
    }

    /// Reads from `at` up to the next gap.
    fn read(&self, at: u64, most: usize, bytes: &mut Vec<u8>) {
        let mut at = at;
        while bytes.len() < most && at < self.len() {
            let room = most - bytes.len();
            let got = if at >= self.tail_start() {
                let (one, two) = self.tail.as_slices();
                let skipped = to_index(at - self.tail_start());
                copy(one, skipped, room, bytes).unwrap_or_else(|| {
                    copy(two, skipped - one.len(), room, bytes).unwrap_or_default()
                })
            } else if let Some(got) = copy(&self.head, to_index(at), room, bytes) {
                got
            } else {
                let room = room.min(to_index(self.tail_start() - at));
                self.disk.as_ref().map_or(0, |disk| disk.read(at, room, bytes))
            };
            if got == 0 {
                return;
            }
            at += got as u64;
        }
    }

    /// The end of the part available from the start.
    pub(super) fn head_end(&self) -> u64 {
        self.file_len().max(self.head.len() as u64)
    }

    /// The number of newlines before [`head_end`](Self::head_end).
    pub(super) fn head_newlines(&self) -> u64 {
        match &self.disk {
            Some(disk) if disk.len() >= self.head.len() as u64 => disk.newlines(),
            _ => count_newlines(&self.head),
        }
    }

    /// The start of the end that is in memory.
    pub(super) fn tail_start(&self) -> u64 {
        self.len() - self.tail.len() as u64
    }

    /// The number of newlines before [`tail_start`](Self::tail_start).
    pub(super) fn tail_start_newlines(&self) -> u64 {
        let (one, two) = self.tail.as_slices();
        self.index.newlines() - count_newlines(one) - count_newlines(two)
    }

    /// Returns a position before the end of line `newlines`, and the number of
    /// newlines before it.
    pub(super) fn position_before(&self, newlines: u64) -> (u64, u64) {
        self.index.position_before(newlines)
    }

    pub(super) fn total(&self, source: Option<OutputStream>) -> StreamTotals {
        source.map_or(self.total, |source| self.runs.total(source))
    }

    /// Visits the bytes of all streams or one stream from the start. Returns
    /// whether it reached the end.
    pub(super) fn visit(
        &self,
        source: Option<OutputStream>,
        mut visit: impl FnMut(&[u8]) -> ControlFlow<()>,
    ) -> bool {
        let Some(source) = source else {
            return self.visit_range(0..self.len(), &mut visit);
        };
        self.runs.forward(source).all(|range| self.visit_range(range, &mut visit))
            && !self.runs.has_gap()
    }

    fn visit_range(
        &self,
        range: Range<u64>,
        visit: &mut impl FnMut(&[u8]) -> ControlFlow<()>,
    ) -> bool {
        let mut at = range.start;
        while at < range.end {
            let piece = self.read_from(at, READ_BLOCK_BYTES.min(to_index(range.end - at)));
            if piece.from != at || piece.bytes.is_empty() || visit(&piece.bytes).is_break() {
                return false;
            }
            at = piece.next;
        }
        true
    }

    /// Returns up to `most` last bytes of all streams or one stream, without
    /// gaps between them.
    pub(super) fn last_bytes(&self, source: Option<OutputStream>, most: usize) -> Vec<u8> {
        let mut pieces = Vec::new();
        let mut len = 0;
        let whole = source.is_none().then_some(0..self.len());
        let runs = source.into_iter().flat_map(|source| self.runs.backward(source));
        for range in whole.into_iter().chain(runs) {
            let room = most - len;
            let mut start = range.start.max(range.end.saturating_sub(room as u64));
            let mut piece = self.read_from(start, to_index(range.end - start));
            if piece.next != range.end {
                start = start.max(self.tail_start()).min(range.end);
                piece = self.read_from(start, to_index(range.end - start));
            }
            let is_all = piece.from == range.start;
            if piece.next != range.end {
                break;
            }
            len += piece.bytes.len();
            pieces.push(piece.bytes);
            if !is_all || len >= most {
                break;
            }
        }
        pieces.reverse();
        pieces.concat()
    }
}

impl fmt::Debug for OutputLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutputLog")
            .field("len", &self.len())
            .field("lines", &self.lines())
            .field("lost", &self.lost_bytes())
            .field("file", &self.file())
            .finish_non_exhaustive()
    }
}

fn to_index(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// Appends up to `most` bytes of `bytes` starting at `at`, if there are any.
fn copy(bytes: &[u8], at: usize, most: usize, to: &mut Vec<u8>) -> Option<usize> {
    let rest = bytes.get(at..).filter(|rest| !rest.is_empty())?;
    let rest = &rest[..rest.len().min(most)];
    to.extend_from_slice(rest);
    Some(rest.len())
}

#[cfg(test)]
#[path = "log_tests.rs"]
mod tests;
