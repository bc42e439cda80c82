//! Line access to files of any size with bounded memory.

use std::io::{self, Read, Seek, SeekFrom};

use encoding_rs::{Encoding, UTF_16BE, UTF_16LE};
use serde::{Deserialize, Serialize};

/// The line terminator in a given encoding. Every encoding except UTF-16 uses
/// the bytes 0x0A and 0x0D only for the control characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum NewlineEncoding {
    /// A line feed.
    Byte,
    WideLittle,
    WideBig,
    /// A carriage return, in a file without line feeds.
    Return,
    ReturnLittle,
    ReturnBig,
}

impl NewlineEncoding {
    pub(crate) fn for_encoding(encoding: &'static Encoding) -> Self {
        match encoding {
            e if e == UTF_16LE => Self::WideLittle,
            e if e == UTF_16BE => Self::WideBig,
            _ => Self::Byte,
        }
    }

    /// Detects the line terminator of a file in `encoding` that starts with
    /// `bytes`.
    pub(crate) fn detect(encoding: &'static Encoding, bytes: &[u8]) -> Self {
        let newline = Self::for_encoding(encoding);
        let old = match newline {
            Self::WideLittle => Self::ReturnLittle,
            Self::WideBig => Self::ReturnBig,
            _ => Self::Return,
        };
        let has = |newline: Self| newline.positions(bytes).next().is_some();
        if !has(newline) && has(old) { old } else { newline }
    }

    fn width(self) -> usize {
        if self.is_wide() { 2 } else { 1 }
    }

    pub(crate) fn is_wide(self) -> bool {
        !matches!(self, Self::Byte | Self::Return)
    }

    /// Whether the terminator is a carriage return.
    pub(crate) fn is_return(self) -> bool {
        matches!(self, Self::Return | Self::ReturnLittle | Self::ReturnBig)
    }

    fn byte(self) -> u8 {
        if self.is_return() { b'\r' } else { b'\n' }
    }

    /// Yields the offsets of line terminators. `bytes` starts at a character
    /// boundary.
    fn positions(self, bytes: &[u8]) -> impl Iterator<Item = usize> + '_ {
        memchr::memchr_iter(self.byte(), bytes).filter_map(move |at| match self {
            Self::Byte | Self::Return => Some(at),
            Self::WideLittle | Self::ReturnLittle => {
                (at % 2 == 0 && bytes.get(at + 1) == Some(&0)).then_some(at)
            }
            Self::WideBig | Self::ReturnBig => {
                let start = at.checked_sub(1)?;
                (at % 2 == 1 && bytes.get(start) == Some(&0)).then_some(start)
            }
        })
    }

    fn count(self, bytes: &[u8]) -> u64 {
        let count = match self {
            // Counts without visiting each position.
            Self::Byte | Self::Return => memchr::memchr_iter(self.byte(), bytes).count(),
            _ => self.positions(bytes).count(),
        };
        count as u64
    }

    fn ends(self, bytes: &[u8]) -> bool {
        match self {
            Self::Byte | Self::Return => bytes.last() == Some(&self.byte()),
            Self::WideLittle | Self::ReturnLittle => {
                bytes.len().is_multiple_of(2) && bytes.ends_with(&[self.byte(), 0])
            }
            Self::WideBig | Self::ReturnBig => {
                bytes.len().is_multiple_of(2) && bytes.ends_with(&[0, self.byte()])
            }
        }
    }
}

/// Index of line positions, built lazily: marks at regular intervals from which
/// any line is found with a short scan. It grows with each lookup further into
/// the file and can be cached for the next call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LineIndex {
    newline: NewlineEncoding,
    /// Offset of the text, after a byte order mark.
    start: u64,
    /// Bytes per chunk.
    chunk: usize,
    /// Number of chunks between two marks.
    stride: u64,
    /// Line terminators before each mark.
    marks: Vec<u64>,
    /// Number of chunks counted, and the line terminators in them.
    chunks: u64,
    ends: u64,
    /// Whether the last chunk ends with a line terminator.
    is_terminated: bool,
    /// Number of lines, known once the end is reached.
    total: Option<u64>,
}

impl LineIndex {
    /// Bytes per chunk.
    pub(crate) const CHUNK_BYTES: usize = 256 * 1024;
    /// Maximum number of marks per file.
    const MAX_MARKS: u64 = 512;

    /// Creates an empty index for a file of `len` bytes. `chunk` is even.
    pub(crate) fn new(newline: NewlineEncoding, start: u64, len: u64, chunk: usize) -> Self {
        let stride = (len / chunk.max(1) as u64).div_ceil(Self::MAX_MARKS).max(1);
        Self {
            newline,
            start,
            chunk,
            stride,
            marks: Vec::new(),
            chunks: 0,
            ends: 0,
            is_terminated: false,
            total: None,
        }
    }

    /// Whether the index was built with this terminator and start offset.
    pub(crate) fn is_about(&self, newline: NewlineEncoding, start: u64) -> bool {
        (self.newline, self.start) == (newline, start)
    }

    /// Returns the number of lines, once the end is reached. A trailing
    /// terminator does not start a line.
    pub(crate) fn total(&self) -> Option<u64> {
        self.total
    }

    /// Returns a lower bound of the number of lines.
    pub(crate) fn at_least(&self) -> u64 {
        self.total.unwrap_or(self.ends)
    }

    /// Whether the last line is terminated, once the end is reached.
    pub(crate) fn is_terminated(&self) -> Option<bool> {
        self.total.map(|_| self.is_terminated)
    }

    /// Returns how many bytes are counted so far.
    pub(crate) fn counted(&self) -> u64 {
        self.chunks * self.chunk as u64
    }

    /// Counts to the end and returns the number of lines.
    pub(crate) fn finish<R: Read + Seek>(&mut self, source: &mut R) -> io::Result<u64> {
        self.count_to(source, u64::MAX)?;
        Ok(self.total.unwrap_or(self.ends))
    }

    /// Returns the offset of line `number`, counted from 1; `None` past the
    /// last line.
    pub(crate) fn find<R: Read + Seek>(
        &mut self,
        source: &mut R,
        number: u64,
    ) -> io::Result<Option<u64>> {
        let wanted = number.saturating_sub(1);
        if wanted == 0 && self.total.is_none() {
            return Ok(Some(self.start));
        }
        // A line that starts where counting stopped may not exist.
        let is_behind = self.ends < wanted || self.ends == wanted && self.is_terminated;
        if is_behind && self.total.is_none() {
            return self.count_to(source, wanted);
        }
        if self.total.is_some_and(|total| number > total) {
            return Ok(None);
        }
        if wanted == 0 {
            return Ok(Some(self.start));
        }
        let mark = self.marks.partition_point(|&before| before < wanted).saturating_sub(1);
        let mut left = wanted - self.marks.get(mark).copied().unwrap_or(0);
        let mut base = self.start + mark as u64 * self.stride * self.chunk as u64;
        let mut buffer = vec![0; self.chunk];
        source.seek(SeekFrom::Start(base))?;
        loop {
            let bytes = fill_buffer(source, &mut buffer)?;
            if bytes.is_empty() {
                return Ok(Some(base));
            }
            let here = self.newline.count(bytes);
            if here >= left {
                return Ok(Some(base + self.nth_line_end(bytes, left)));
            }
            left -= here;
            base += bytes.len() as u64;
        }
    }

    /// Counts until `ends` line terminators are found and returns the offset
    /// after the last of them; `None` if the text ends first.
    fn count_to<R: Read + Seek>(&mut self, source: &mut R, ends: u64) -> io::Result<Option<u64>> {
        if self.total.is_some() {
            return Ok(None);
        }
        let mut buffer = vec![0; self.chunk];
        let mut base = self.start + self.counted();
        source.seek(SeekFrom::Start(base))?;
        loop {
            let bytes = fill_buffer(source, &mut buffer)?;
            let here = self.newline.count(bytes);
            let found = ends.checked_sub(self.ends).filter(|&left| left <= here);
            let found = found.map(|left| base + self.nth_line_end(bytes, left));
            if !bytes.is_empty() {
                if self.chunks.is_multiple_of(self.stride) {
                    self.marks.push(self.ends);
                }
                self.chunks += 1;
                self.ends += here;
                self.is_terminated = self.newline.ends(bytes);
                base += bytes.len() as u64;
            }
            if bytes.len() < self.chunk {
                let is_empty = self.chunks == 0;
                let open = !is_empty && !self.is_terminated;
                let total = self.ends + u64::from(open);
                self.total = Some(total);
                // No line may follow the last terminator.
                return Ok(found.filter(|_| ends < total));
            }
            // At the end of a chunk it is unknown whether more follows.
            if found.is_some_and(|at| at < base) {
                return Ok(found);
            }
        }
    }

    /// Returns the offset after the `nth` line terminator of `bytes`.
    fn nth_line_end(&self, bytes: &[u8], nth: u64) -> u64 {
        let Some(before) = nth.checked_sub(1) else { return 0 };
        let before = usize::try_from(before).unwrap_or(usize::MAX);
        let at = self.newline.positions(bytes).nth(before).unwrap_or(bytes.len());
        (at + self.newline.width()) as u64
    }
}

/// Where reading a line stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineStop {
    /// At its terminator.
    Ended,
    /// At the end of the file.
    FileEnded,
    /// Inside the line: the callback wanted no more.
    Inside,
}

/// Reads consecutive lines from the source's position, in pieces, so line
/// length is unbounded.
#[derive(Debug)]
pub(crate) struct LineReader<'a, R> {
    source: &'a mut R,
    newline: NewlineEncoding,
    buffer: Vec<u8>,
    from: usize,
    to: usize,
    taken: u64,
}

impl<'a, R: Read> LineReader<'a, R> {
    /// Bytes per read.
    pub(crate) const WINDOW_BYTES: usize = 64 * 1024;

    /// Creates a reader; `window` is even.
    pub(crate) fn new(source: &'a mut R, newline: NewlineEncoding, window: usize) -> Self {
        Self { source, newline, buffer: vec![0; window], from: 0, to: 0, taken: 0 }
    }

    /// Returns the number of bytes consumed so far.
    pub(crate) fn bytes_read(&self) -> u64 {
        self.taken
    }

    /// Returns the line terminator.
    pub(crate) fn newline(&self) -> NewlineEncoding {
        self.newline
    }

    /// Whether the source is exhausted.
    pub(crate) fn is_at_end(&mut self) -> io::Result<bool> {
        if self.from == self.to {
            self.from = 0;
            self.to = fill_buffer(self.source, &mut self.buffer)?.len();
        }
        Ok(self.to == 0)
    }

    /// Passes the next line without its terminator to `piece` until that
    /// returns false, and returns where reading stopped; `None` at the end of
    /// the text.
    pub(crate) fn next_line(
        &mut self,
        mut piece: impl FnMut(&[u8]) -> bool,
    ) -> io::Result<Option<LineStop>> {
        let mut begun = false;
        loop {
            if self.is_at_end()? {
                return Ok(begun.then_some(LineStop::FileEnded));
            }
            begun = true;
            let rest = self.buffer.get(self.from..self.to).unwrap_or_default();
            let feed = self.newline.positions(rest).next();
            let end = feed.unwrap_or(rest.len());
            let goes_on = piece(rest.get(..end).unwrap_or_default());
            let used = end + feed.map_or(0, |_| self.newline.width());
            self.from += used;
            self.taken += used as u64;
            if feed.is_some() {
                return Ok(Some(LineStop::Ended));
            }
            if !goes_on && !self.is_at_end()? {
                return Ok(Some(LineStop::Inside));
            }
        }
    }
}

/// Reads until the buffer is full or the source ends, so two-byte characters
/// never straddle two buffers.
pub(crate) fn fill_buffer<'b>(
    source: &mut impl Read,
    buffer: &'b mut [u8],
) -> io::Result<&'b [u8]> {
    let mut filled = 0;
    while let Some(room) = buffer.get_mut(filled..).filter(|room| !room.is_empty()) {
        match source.read(room) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(buffer.get(..filled).unwrap_or_default())
}

#[cfg(test)]
#[path = "lines_tests.rs"]
mod tests;
