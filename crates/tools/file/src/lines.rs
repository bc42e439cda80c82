//! Lines of a file of any size, in windows of bounded memory.

use std::io::{self, Read, Seek, SeekFrom};

use encoding_rs::{Encoding, UTF_16BE, UTF_16LE};
use serde::{Deserialize, Serialize};

/// What ends a line, as bytes of an encoding. Every encoding but the UTF-16s
/// keeps the bytes 0x0A and 0x0D for their controls alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum NewlineEncoding {
    /// A line feed.
    Byte,
    WideLittle,
    WideBig,
    /// A carriage return, in a file that has no line feed.
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

    /// What ends lines in a file of that encoding that begins with `bytes`.
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

    /// Whether it is a carriage return.
    pub(crate) fn is_return(self) -> bool {
        matches!(self, Self::Return | Self::ReturnLittle | Self::ReturnBig)
    }

    fn byte(self) -> u8 {
        if self.is_return() { b'\r' } else { b'\n' }
    }

    /// Where line ends begin. `bytes` begins with a whole character.
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

/// Where lines are, as far as anybody wanted to know: marks at even distances
/// from which any line is found by reading a little. It grows as it is asked
/// for lines further on, and can be kept for the next call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LineIndex {
    newline: NewlineEncoding,
    /// Where the text begins, behind a byte order mark.
    start: u64,
    /// How much is read at a time.
    chunk: usize,
    /// How many chunks lie between two marks.
    stride: u64,
    /// Line ends before each mark.
    marks: Vec<u64>,
    /// How many chunks were counted, and the line ends in them.
    chunks: u64,
    ends: u64,
    /// Whether the last chunk ended with a line end.
    is_terminated: bool,
    /// How many lines there are, once the end was seen.
    total: Option<u64>,
}

impl LineIndex {
    /// How much is read at a time.
    pub(crate) const CHUNK_BYTES: usize = 256 * 1024;
    /// How many marks a large file gets.
    const MAX_MARKS: u64 = 512;

    /// Nothing counted yet, in a file of `len` bytes. `chunk` is even.
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

    /// Whether it is about a text that begins and ends lines like this.
    pub(crate) fn is_about(&self, newline: NewlineEncoding, start: u64) -> bool {
        (self.newline, self.start) == (newline, start)
    }

    /// The number of lines, once the end was seen. A line end at the very end
    /// begins no line.
    pub(crate) fn total(&self) -> Option<u64> {
        self.total
    }

    /// Lines that there are at least.
    pub(crate) fn at_least(&self) -> u64 {
        self.total.unwrap_or(self.ends)
    }

    /// Whether the last line is ended, once the end was seen.
    pub(crate) fn is_terminated(&self) -> Option<bool> {
        self.total.map(|_| self.is_terminated)
    }

    /// How many bytes were counted.
    pub(crate) fn counted(&self) -> u64 {
        self.chunks * self.chunk as u64
    }

    /// Counts to the end.
    pub(crate) fn finish<R: Read + Seek>(&mut self, source: &mut R) -> io::Result<u64> {
        self.count_to(source, u64::MAX)?;
        Ok(self.total.unwrap_or(self.ends))
    }

    /// Where line `number`, counted from 1, begins; nothing if there are fewer.
    pub(crate) fn find<R: Read + Seek>(
        &mut self,
        source: &mut R,
        number: u64,
    ) -> io::Result<Option<u64>> {
        let wanted = number.saturating_sub(1);
        if wanted == 0 && self.total.is_none() {
            return Ok(Some(self.start));
        }
        // A line that begins where the counting stopped may not be there.
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

    /// Counts on until that many line ends were met, and says where the last
    /// of them ends; nothing if the text does first.
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
                // Behind the last line end there may be no line.
                return Ok(found.filter(|_| ends < total));
            }
            // At the very end of a chunk it is open whether more follows.
            if found.is_some_and(|at| at < base) {
                return Ok(found);
            }
        }
    }

    /// Where the `nth` line end of `bytes` is over.
    fn nth_line_end(&self, bytes: &[u8], nth: u64) -> u64 {
        let Some(before) = nth.checked_sub(1) else { return 0 };
        let before = usize::try_from(before).unwrap_or(usize::MAX);
        let at = self.newline.positions(bytes).nth(before).unwrap_or(bytes.len());
        (at + self.newline.width()) as u64
    }
}

/// How the reading of a line ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineStop {
    /// With its line end.
    Ended,
    /// With the file.
    FileEnded,
    /// Inside: nobody wanted to know more of it.
    Inside,
}

/// Reads one line after the other from where the source stands, piece by
/// piece, so that the length of a line does not matter.
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
    /// How much is read at a time.
    pub(crate) const WINDOW_BYTES: usize = 64 * 1024;

    /// `window` is even.
    pub(crate) fn new(source: &'a mut R, newline: NewlineEncoding, window: usize) -> Self {
        Self { source, newline, buffer: vec![0; window], from: 0, to: 0, taken: 0 }
    }

    /// How many bytes the lines so far had.
    pub(crate) fn bytes_read(&self) -> u64 {
        self.taken
    }

    /// What ends its lines.
    pub(crate) fn newline(&self) -> NewlineEncoding {
        self.newline
    }

    /// Whether nothing follows.
    pub(crate) fn is_at_end(&mut self) -> io::Result<bool> {
        if self.from == self.to {
            self.from = 0;
            self.to = fill_buffer(self.source, &mut self.buffer)?.len();
        }
        Ok(self.to == 0)
    }

    /// Hands over the next line without its end, as long as `piece` wants
    /// more, and says how that stopped; nothing at the end of the text.
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

/// Reads until the buffer is full or the source ends, so that characters of
/// two bytes never straddle two buffers.
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
