//! Lines of a file of any size, in windows of bounded memory.

use std::io::{self, Read, Seek, SeekFrom};

use encoding_rs::{Encoding, UTF_16BE, UTF_16LE};

/// How a line feed looks in the bytes of an encoding. Every encoding but the
/// UTF-16s keeps the byte 0x0A for it alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Newline {
    Byte,
    WideLittle,
    WideBig,
}

impl Newline {
    pub(crate) fn of(encoding: &'static Encoding) -> Self {
        match encoding {
            e if e == UTF_16LE => Self::WideLittle,
            e if e == UTF_16BE => Self::WideBig,
            _ => Self::Byte,
        }
    }

    fn width(self) -> usize {
        if self == Self::Byte { 1 } else { 2 }
    }

    /// Where line feeds begin. `bytes` begins with a whole character.
    fn positions(self, bytes: &[u8]) -> impl Iterator<Item = usize> + '_ {
        memchr::memchr_iter(b'\n', bytes).filter_map(move |at| match self {
            Self::Byte => Some(at),
            Self::WideLittle => (at % 2 == 0 && bytes.get(at + 1) == Some(&0)).then_some(at),
            Self::WideBig => {
                let start = at.checked_sub(1)?;
                (at % 2 == 1 && bytes.get(start) == Some(&0)).then_some(start)
            }
        })
    }

    fn count(self, bytes: &[u8]) -> u64 {
        let count = match self {
            // Counts without visiting each position.
            Self::Byte => memchr::memchr_iter(b'\n', bytes).count(),
            _ => self.positions(bytes).count(),
        };
        count as u64
    }

    fn ends(self, bytes: &[u8]) -> bool {
        match self {
            Self::Byte => bytes.ends_with(b"\n"),
            Self::WideLittle => bytes.len().is_multiple_of(2) && bytes.ends_with(b"\n\0"),
            Self::WideBig => bytes.len().is_multiple_of(2) && bytes.ends_with(b"\0\n"),
        }
    }
}

/// How many lines a text has and, chunk by chunk, where they are: any line is
/// found again by reading one chunk.
#[derive(Debug)]
pub(crate) struct LineIndex {
    newline: Newline,
    start: u64,
    chunk: usize,
    /// Line feeds before each chunk.
    before: Vec<u64>,
    newlines: u64,
    is_empty: bool,
    is_terminated: bool,
}

impl LineIndex {
    /// How much is read at a time, and how far marks are apart.
    pub(crate) const CHUNK: usize = 256 * 1024;

    /// Counts the lines from byte `start` on. `chunk` is even.
    pub(crate) fn build<R: Read + Seek>(
        source: &mut R,
        newline: Newline,
        start: u64,
        chunk: usize,
    ) -> io::Result<Self> {
        let mut index = Self {
            newline,
            start,
            chunk,
            before: Vec::new(),
            newlines: 0,
            is_empty: true,
            is_terminated: false,
        };
        let mut buffer = vec![0; chunk];
        source.seek(SeekFrom::Start(start))?;
        loop {
            let bytes = fill(source, &mut buffer)?;
            if bytes.is_empty() {
                return Ok(index);
            }
            index.before.push(index.newlines);
            index.newlines += newline.count(bytes);
            index.is_empty = false;
            index.is_terminated = newline.ends(bytes);
        }
    }

    /// The number of lines. A final line feed ends the last line and begins none.
    pub(crate) fn total(&self) -> u64 {
        self.newlines + u64::from(!self.is_empty && !self.is_terminated)
    }

    /// Whether the last line ends with a line feed.
    pub(crate) fn is_terminated(&self) -> bool {
        self.is_terminated
    }

    /// Where line `number`, counted from 1, begins.
    pub(crate) fn find<R: Read + Seek>(&self, source: &mut R, number: u64) -> io::Result<u64> {
        let Some(feeds) = number.checked_sub(1).filter(|&n| n > 0) else {
            return Ok(self.start);
        };
        let at = self.before.partition_point(|&before| before < feeds).saturating_sub(1);
        let mut base = self.start + at as u64 * self.chunk as u64;
        let mut left = feeds - self.before.get(at).copied().unwrap_or(0);
        let mut buffer = vec![0; self.chunk];
        source.seek(SeekFrom::Start(base))?;
        loop {
            let bytes = fill(source, &mut buffer)?;
            if bytes.is_empty() {
                return Ok(base);
            }
            for position in self.newline.positions(bytes) {
                left -= 1;
                if left == 0 {
                    return Ok(base + (position + self.newline.width()) as u64);
                }
            }
            base += bytes.len() as u64;
        }
    }
}

/// Reads one line after the other from where the source stands, piece by
/// piece, so that the length of a line does not matter.
#[derive(Debug)]
pub(crate) struct LineReader<'a, R> {
    source: &'a mut R,
    newline: Newline,
    buffer: Vec<u8>,
    from: usize,
    to: usize,
    taken: u64,
}

impl<'a, R: Read> LineReader<'a, R> {
    /// How much is read at a time.
    pub(crate) const WINDOW: usize = 64 * 1024;

    /// `window` is even.
    pub(crate) fn new(source: &'a mut R, newline: Newline, window: usize) -> Self {
        Self { source, newline, buffer: vec![0; window], from: 0, to: 0, taken: 0 }
    }

    /// How many bytes the lines so far had.
    pub(crate) fn taken(&self) -> u64 {
        self.taken
    }

    /// Hands over the next line without its line feed, and says whether it had
    /// one; nothing at the end of the text.
    pub(crate) fn next_line(&mut self, mut piece: impl FnMut(&[u8])) -> io::Result<Option<bool>> {
        let mut begun = false;
        loop {
            if self.from == self.to {
                self.from = 0;
                self.to = fill(self.source, &mut self.buffer)?.len();
                if self.to == 0 {
                    return Ok(begun.then_some(false));
                }
            }
            begun = true;
            let rest = self.buffer.get(self.from..self.to).unwrap_or_default();
            let feed = self.newline.positions(rest).next();
            let end = feed.unwrap_or(rest.len());
            piece(rest.get(..end).unwrap_or_default());
            let used = end + feed.map_or(0, |_| self.newline.width());
            self.from += used;
            self.taken += used as u64;
            if feed.is_some() {
                return Ok(Some(true));
            }
        }
    }
}

/// Reads until the buffer is full or the source ends, so that characters of
/// two bytes never straddle two buffers.
pub(crate) fn fill<'b>(source: &mut impl Read, buffer: &'b mut [u8]) -> io::Result<&'b [u8]> {
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
