//! Files whose lines end with bare carriage returns, without any line feed.
//! They are searched as if they had line feeds.

use std::io::{self, Read};
use std::os::unix::fs::FileExt;

use crate::source::{CancellableReader, SAMPLE_BYTES};

/// Bytes scanned or converted at a time. Even, so no UTF-16 code unit is split.
const BLOCK_BYTES: usize = 64 * 1024;

/// How an encoding writes a line feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CodeUnits {
    /// As a single byte.
    Bytes,
    /// As two bytes, the line feed first.
    Utf16Le,
    /// As two bytes, the line feed second.
    Utf16Be,
}

impl CodeUnits {
    /// Detects the code units from the start of a file and its known or
    /// requested encoding.
    pub(crate) fn detect(sample: &[u8], encoding: Option<&str>) -> Self {
        let is = |name: &str| encoding.is_some_and(|label| label.eq_ignore_ascii_case(name));
        match sample {
            [0xFF, 0xFE, ..] => Self::Utf16Le,
            [0xFE, 0xFF, ..] => Self::Utf16Be,
            _ if is("utf-16le") || is("utf-16") => Self::Utf16Le,
            _ if is("utf-16be") => Self::Utf16Be,
            _ => Self::Bytes,
        }
    }

    fn contains(self, wanted: u8, bytes: &[u8]) -> bool {
        match self {
            Self::Bytes => memchr::memchr(wanted, bytes).is_some(),
            Self::Utf16Le => bytes.as_chunks::<2>().0.contains(&[wanted, 0]),
            Self::Utf16Be => bytes.as_chunks::<2>().0.contains(&[0, wanted]),
        }
    }

    /// Replaces carriage returns with line feeds.
    pub(crate) fn convert_to_line_feeds(self, bytes: &mut [u8]) {
        if self == Self::Bytes {
            bytes.iter_mut().filter(|byte| **byte == b'\r').for_each(|byte| *byte = b'\n');
            return;
        }
        for unit in bytes.as_chunks_mut::<2>().0 {
            match (self, &unit) {
                (Self::Utf16Le, [b'\r', 0]) => *unit = [b'\n', 0],
                (Self::Utf16Be, [0, b'\r']) => *unit = [0, b'\n'],
                _ => {}
            }
        }
    }

    /// Whether a file's lines end with bare carriage returns. A line feed in
    /// the sample decides; only a file without one is read to its end.
    pub(crate) fn has_bare_returns(
        self,
        (sample, is_all): (&[u8], bool),
        reader: &CancellableReader<'_>,
    ) -> io::Result<bool> {
        if self.contains(b'\n', sample) {
            return Ok(false);
        }
        let mut seen = self.contains(b'\r', sample);
        // Binary files are not scanned further.
        if is_all || (self == Self::Bytes && memchr::memchr(0, sample).is_some()) {
            return Ok(seen);
        }
        let (mut block, mut at) = (vec![0; BLOCK_BYTES], sample.len().min(SAMPLE_BYTES) as u64);
        while !reader.is_cancelled() {
            let read = match reader.file.read_at(&mut block, at) {
                Ok(0) => return Ok(seen),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read?,
            };
            let found = block.get(..read).unwrap_or_default();
            if self.contains(b'\n', found) {
                return Ok(false);
            }
            seen |= self.contains(b'\r', found);
            at += read as u64;
        }
        Ok(false)
    }
}

/// A reader that replaces carriage returns with line feeds.
pub(crate) struct LineFeedReader<R> {
    inner: R,
    units: CodeUnits,
    block: Vec<u8>,
    /// How much of the block has been read.
    at: usize,
}

impl<R: Read> LineFeedReader<R> {
    pub(crate) fn new(inner: R, units: CodeUnits) -> Self {
        Self { inner, units, block: Vec::new(), at: 0 }
    }
}

impl<R: Read> Read for LineFeedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at >= self.block.len() {
            self.block.clear();
            (&mut self.inner).take(BLOCK_BYTES as u64).read_to_end(&mut self.block)?;
            self.units.convert_to_line_feeds(&mut self.block);
            self.at = 0;
        }
        let read = self.block.get(self.at..).unwrap_or_default().read(buffer)?;
        self.at += read;
        Ok(read)
    }
}

#[cfg(test)]
#[path = "carriage_returns_tests.rs"]
mod tests;
