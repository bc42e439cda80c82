//! Reads the lines of a file from last to first.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use crate::log_files::MAX_LINE_BYTES;

const READ_CHUNK_BYTES: u64 = 64 << 10;

/// Reads a file backwards, line by line.
#[derive(Debug)]
pub(crate) struct ReverseLineReader {
    file: File,
    /// Offset up to which the file is still unread.
    unread_bytes: u64,
    buffer: Vec<u8>,
    done: bool,
}

impl ReverseLineReader {
    pub(crate) fn new(file: File, len: u64) -> Self {
        Self { file, unread_bytes: len, buffer: Vec::new(), done: false }
    }

    /// Returns the previous line. The first result is the text after the last
    /// line break, which is usually empty.
    pub(crate) fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        if self.done {
            return Ok(None);
        }
        let mut unseen = self.buffer.len();
        loop {
            let seen = self.buffer.get(..unseen).unwrap_or_default();
            if let Some(found) = seen.iter().rposition(|b| *b == b'\n') {
                let line = self.buffer.split_off(found + 1);
                self.buffer.pop();
                return Ok(Some(line));
            }
            if self.unread_bytes == 0 {
                self.done = true;
                return Ok(Some(std::mem::take(&mut self.buffer)));
            }
            if self.buffer.len() > MAX_LINE_BYTES {
                self.done = true;
                return Err(io::Error::new(io::ErrorKind::InvalidData, "a line is too long"));
            }
            unseen = self.fill()?;
        }
    }

    /// Prepends more data to the buffer and returns its length. The size
    /// doubles, so a long line is not moved once per chunk.
    fn fill(&mut self) -> io::Result<usize> {
        let size = self.unread_bytes.min(READ_CHUNK_BYTES.max(self.buffer.len() as u64));
        let from = self.unread_bytes - size;
        let size = usize::try_from(size).map_err(io::Error::other)?;
        let mut chunk = vec![0; size];
        self.file.read_exact_at(&mut chunk, from)?;
        chunk.append(&mut self.buffer);
        self.buffer = chunk;
        self.unread_bytes = from;
        Ok(size)
    }
}

#[cfg(test)]
#[path = "reverse_lines_tests.rs"]
mod tests;
