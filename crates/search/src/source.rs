//! File contents for a search, read in one piece if small.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};

use grep_searcher::{Searcher, Sink};

use crate::carriage_returns::{CodeUnits, LineFeedReader};
use crate::matcher::LineMatcher;
use crate::monitor::SearchMonitor;

/// Files up to this size are read in one piece.
const SMALL_FILE_BYTES: usize = 512 * 1024;
/// Bytes of a larger file inspected before the search.
pub(crate) const SAMPLE_BYTES: usize = 64 * 1024;

/// Returns a sample from the first non-ASCII byte on; `None` if there is none.
/// Skips the first [`SAMPLE_BYTES`], which were inspected already.
pub(crate) fn sample_from_non_ascii(reader: &CancellableReader<'_>) -> io::Result<Option<Vec<u8>>> {
    let mut buffer = vec![0; 4 * SAMPLE_BYTES];
    let mut at = SAMPLE_BYTES as u64;
    loop {
        if reader.is_cancelled() {
            return Ok(None);
        }
        let read = match reader.file.read_at(&mut buffer, at) {
            Ok(0) => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        let found = buffer.get(..read).unwrap_or_default();
        if let Some(place) = found.iter().position(|byte| !byte.is_ascii()) {
            let mut sample = vec![0; SAMPLE_BYTES];
            let read = reader.file.read_at(&mut sample, at + place as u64)?;
            sample.truncate(read);
            return Ok(Some(sample));
        }
        at += read as u64;
    }
}

/// A file reader that fails once the search is cancelled.
pub(crate) struct CancellableReader<'a> {
    pub(crate) file: &'a File,
    pub(crate) monitor: &'a SearchMonitor<'a>,
    pub(crate) dropped: &'a AtomicBool,
}

impl CancellableReader<'_> {
    /// Whether the search no longer needs the file.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.dropped.load(Ordering::Relaxed) || self.monitor.early_stop().is_some()
    }
}

impl Read for CancellableReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.is_cancelled() {
            return Err(io::Error::other("search cancelled"));
        }
        self.file.read(buffer)
    }
}

/// The part of a file that is in memory.
pub(crate) enum FileSource<'a> {
    /// All of it.
    Whole(&'a [u8]),
    /// Its start, and whether that is all; the rest is read during the search.
    Start(&'a [u8], bool),
}

impl<'a> FileSource<'a> {
    /// Reads a small file in one piece, which saves a system call and a copy in
    /// the searcher.
    pub(crate) fn read(
        reader: &mut CancellableReader<'_>,
        len: u64,
        buffer: &'a mut Vec<u8>,
    ) -> io::Result<Self> {
        let (len, is_small) = match usize::try_from(len) {
            Ok(0) => return Ok(Self::Start(&[], false)),
            Ok(len) if len <= SMALL_FILE_BYTES => (len, true),
            _ => (SAMPLE_BYTES, false),
        };
        if buffer.len() < len {
            buffer.resize(len.next_power_of_two(), 0);
        }
        let room = buffer.get_mut(..len).unwrap_or_default();
        let mut filled = 0;
        while let Some(rest) = room.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match reader.read(rest) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let read = buffer.get(..filled).unwrap_or_default();
        // With a NUL in the file, only matches before it count, which only the
        // streaming search detects.
        let is_text = memchr::memchr(0, read).is_none();
        Ok(if is_text && is_small {
            Self::Whole(read)
        } else {
            Self::Start(read, is_small || filled < len)
        })
    }

    /// Returns the start of the file, and whether that is all of it.
    pub(crate) fn sample(&self) -> (&'a [u8], bool) {
        match self {
            Self::Whole(bytes) => (bytes, true),
            Self::Start(bytes, is_all) => (bytes, *is_all),
        }
    }

    /// Searches the file. `returns` is set if bare carriage returns end its
    /// lines.
    pub(crate) fn search<S: Sink<Error = io::Error>>(
        &self,
        searcher: &mut Searcher,
        matcher: &LineMatcher,
        rest: CancellableReader<'_>,
        returns: Option<CodeUnits>,
        sink: S,
    ) -> io::Result<()> {
        match (self, returns) {
            (Self::Whole(bytes), None) => searcher.search_slice(matcher, bytes, sink),
            (Self::Whole(bytes), Some(units)) => {
                let mut bytes = bytes.to_vec();
                units.convert_to_line_feeds(&mut bytes);
                searcher.search_slice(matcher, &bytes, sink)
            }
            (Self::Start(bytes, _), None) => {
                searcher.search_reader(matcher, bytes.chain(rest), sink)
            }
            (Self::Start(bytes, _), Some(units)) => {
                searcher.search_reader(matcher, LineFeedReader::new(bytes.chain(rest), units), sink)
            }
        }
    }
}
