//! The bytes of a file, all at once where they are few.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};

use grep_searcher::{Searcher, Sink};

use crate::matcher::LineMatcher;
use crate::returns::{Fed, Units};
use crate::watch::Watch;

/// Bytes of a file that is read at once.
const SMALL: usize = 512 * 1024;
/// Bytes of a larger one that are looked at before it is searched.
pub(crate) const SAMPLE: usize = 64 * 1024;

/// Bytes from the first that is not ASCII on; none if there is no such byte.
/// What was looked at already is left out.
pub(crate) fn first_beyond_ascii(reader: &Guarded<'_>) -> io::Result<Option<Vec<u8>>> {
    let mut buffer = vec![0; 4 * SAMPLE];
    let mut at = SAMPLE as u64;
    loop {
        if reader.is_over() {
            return Ok(None);
        }
        let read = match reader.file.read_at(&mut buffer, at) {
            Ok(0) => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        let found = buffer.get(..read).unwrap_or_default();
        if let Some(place) = found.iter().position(|byte| !byte.is_ascii()) {
            let mut sample = vec![0; SAMPLE];
            let read = reader.file.read_at(&mut sample, at + place as u64)?;
            sample.truncate(read);
            return Ok(Some(sample));
        }
        at += read as u64;
    }
}

/// A file whose reading ends when nobody waits for it any more.
pub(crate) struct Guarded<'a> {
    pub(crate) file: &'a File,
    pub(crate) watch: &'a Watch<'a>,
    pub(crate) dropped: &'a AtomicBool,
}

impl Guarded<'_> {
    /// Whether nobody waits for it any more.
    pub(crate) fn is_over(&self) -> bool {
        self.dropped.load(Ordering::Relaxed) || self.watch.ended().is_some()
    }
}

impl Read for Guarded<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.is_over() {
            return Err(io::Error::other("nobody waits for it"));
        }
        self.file.read(buffer)
    }
}

/// What of a file is in memory.
pub(crate) enum Source<'a> {
    /// All of it.
    Whole(&'a [u8]),
    /// Its beginning, and whether that is all; the rest is read on the way.
    Start(&'a [u8], bool),
}

impl<'a> Source<'a> {
    /// Reads a file at once if it is small: that spares the kernel a call and
    /// the searcher a copy.
    pub(crate) fn read(
        reader: &mut Guarded<'_>,
        len: u64,
        buffer: &'a mut Vec<u8>,
    ) -> io::Result<Self> {
        let (len, is_small) = match usize::try_from(len) {
            Ok(0) => return Ok(Self::Start(&[], false)),
            Ok(len) if len <= SMALL => (len, true),
            _ => (SAMPLE, false),
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
        // With a NUL in it, only the matches before it count, which is told
        // only by one who reads piece by piece.
        let is_text = memchr::memchr(0, read).is_none();
        Ok(if is_text && is_small {
            Self::Whole(read)
        } else {
            Self::Start(read, is_small || filled < len)
        })
    }

    /// The beginning of the file, and whether it is all.
    pub(crate) fn sample(&self) -> (&'a [u8], bool) {
        match self {
            Self::Whole(bytes) => (bytes, true),
            Self::Start(bytes, is_all) => (bytes, *is_all),
        }
    }

    /// `returns` tells how carriage returns are written, if they end the lines.
    pub(crate) fn search<S: Sink<Error = io::Error>>(
        &self,
        searcher: &mut Searcher,
        matcher: &LineMatcher,
        rest: Guarded<'_>,
        returns: Option<Units>,
        sink: S,
    ) -> io::Result<()> {
        match (self, returns) {
            (Self::Whole(bytes), None) => searcher.search_slice(matcher, bytes, sink),
            (Self::Whole(bytes), Some(units)) => {
                let mut bytes = bytes.to_vec();
                units.feed(&mut bytes);
                searcher.search_slice(matcher, &bytes, sink)
            }
            (Self::Start(bytes, _), None) => {
                searcher.search_reader(matcher, bytes.chain(rest), sink)
            }
            (Self::Start(bytes, _), Some(units)) => {
                searcher.search_reader(matcher, Fed::new(bytes.chain(rest), units), sink)
            }
        }
    }
}
