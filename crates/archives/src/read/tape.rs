//! The stream of a tar: headers, each with those that describe it, and content
//! in blocks.

use std::io::{self, Read, Seek, SeekFrom};

use tar::{EntryType, GnuExtSparseHeader, GnuSparseHeader, Header};

use super::pax::Records;
use super::sparse::{Sparse, damaged};

/// Everything in a tar fills whole blocks.
const BLOCK: u64 = 512;

/// A tar, from one entry to the next.
pub(super) struct Tape<R> {
    source: R,
    /// How bytes are passed over that nobody wants.
    skip: fn(&mut R, u64) -> io::Result<()>,
    /// Where in the tar we are.
    at: u64,
    /// Bytes of the content of this entry that are left.
    left: u64,
    /// Bytes behind the content that fill its last block.
    padding: u64,
    /// What was said of all entries that follow.
    global: Records,
}

/// An entry, as all of its headers tell it together.
pub(super) struct Entry {
    pub(super) header: Header,
    pub(super) name: Vec<u8>,
    /// The target of a link.
    pub(super) target: Vec<u8>,
    /// Bytes in the archive.
    pub(super) stored: u64,
    pub(super) sparse: Option<Sparse>,
    /// Seconds since 1970, with their fraction, where the records tell.
    pub(super) modified: Option<String>,
}

/// The headers before the one of the entry itself.
#[derive(Default)]
struct Before {
    name: Option<Vec<u8>>,
    target: Option<Vec<u8>>,
    records: Option<Records>,
}

impl<R: Read> Tape<R> {
    /// One that can only be read.
    pub(super) fn new(source: R) -> Self {
        Self::skipping(source, read_over)
    }

    fn skipping(source: R, skip: fn(&mut R, u64) -> io::Result<()>) -> Self {
        Self { source, skip, at: 0, left: 0, padding: 0, global: Records::default() }
    }

    pub(super) fn into_inner(self) -> R {
        self.source
    }

    /// Where the content of this entry ends, if the tar is whole.
    pub(super) fn end(&self) -> u64 {
        self.at.saturating_add(self.left)
    }

    /// The next entry; none behind the last, where whoever makes a tar puts a
    /// block of zeros.
    pub(super) fn next(&mut self) -> io::Result<Option<Entry>> {
        let mut before = Before::default();
        loop {
            let Some(header) = self.header()? else {
                return if before.is_empty() {
                    Ok(None)
                } else {
                    Err(damaged("headers of an entry that is missing"))
                };
            };
            let is_known = header.as_gnu().is_some() || header.as_ustar().is_some();
            match header.entry_type() {
                EntryType::GNULongName if is_known => keep(&mut before.name, self.text(&header)?)?,
                EntryType::GNULongLink if is_known => {
                    keep(&mut before.target, self.text(&header)?)?
                }
                EntryType::XHeader if is_known => {
                    keep(&mut before.records, self.records(&header)?)?
                }
                EntryType::XGlobalHeader => {
                    let later = self.records(&header)?;
                    self.global.update(later);
                }
                _ => return self.entry(header, before).map(Some),
            }
        }
    }

    fn entry(&mut self, header: Header, before: Before) -> io::Result<Entry> {
        let records = before.records.unwrap_or_default();
        let said = |key: &[u8]| {
            let said = records.get(key).or_else(|| self.global.get(key));
            said.filter(|value| !value.is_empty())
        };
        let name = said(b"path").map(<[u8]>::to_vec).or(before.name);
        let name = name.unwrap_or_else(|| header.path_bytes().into_owned());
        let target = said(b"linkpath").map(<[u8]>::to_vec).or(before.target);
        let target = target.or_else(|| header.link_name_bytes().map(|name| name.into_owned()));
        let text = |value: &[u8]| std::str::from_utf8(value).ok().map(str::to_owned);
        let modified = said(b"mtime").and_then(text);
        let stored = match said(b"size") {
            Some(size) => {
                let size = text(size).and_then(|size| size.parse().ok());
                size.ok_or_else(|| damaged("the size of an entry is no number"))?
            }
            None => header.entry_size()?,
        };
        let sparse = match header.entry_type() {
            EntryType::Regular => Sparse::read(&records).map_err(damaged)?,
            EntryType::GNUSparse => Some(self.sparse(&header, stored)?),
            _ => None,
        };
        self.begin(stored);
        Ok(Entry { header, name, target: target.unwrap_or_default(), stored, sparse, modified })
    }

    /// The holes of a file that its own header, and more of them behind it,
    /// tell.
    fn sparse(&mut self, header: &Header, stored: u64) -> io::Result<Sparse> {
        let Some(gnu) = header.as_gnu() else {
            return Err(damaged("a file with holes in a header that knows none"));
        };
        let mut numbers = Vec::new();
        let mut add = |pieces: &[GnuSparseHeader]| {
            for piece in pieces.iter().filter(|piece| !piece.is_empty()) {
                numbers.extend([piece.offset()?, piece.length()?]);
            }
            io::Result::Ok(())
        };
        add(&gnu.sparse)?;
        let mut goes_on = gnu.is_extended();
        while goes_on {
            let mut more = GnuExtSparseHeader::new();
            self.source.read_exact(more.as_mut_bytes())?;
            self.at += BLOCK;
            add(more.sparse())?;
            goes_on = more.is_extended();
        }
        Sparse::of_pieces(&numbers, gnu.real_size()?, stored).map_err(damaged)
    }

    /// The next header; none if it is a block of zeros.
    fn header(&mut self) -> io::Result<Option<Header>> {
        (self.skip)(&mut self.source, self.left.saturating_add(self.padding))?;
        self.at = self.at.saturating_add(self.left).saturating_add(self.padding);
        (self.left, self.padding) = (0, 0);
        let mut header = Header::new_old();
        if read_block(&mut self.source, header.as_mut_bytes())? == 0 {
            return Err(damaged("the mark of its end is missing, so it may have been cut off"));
        }
        self.at += BLOCK;
        if header.as_bytes().iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        let sum = header.as_bytes().iter().enumerate().map(|(at, byte)| {
            // The sum itself counts as blanks.
            if (148..156).contains(&at) { 32 } else { u32::from(*byte) }
        });
        if sum.sum::<u32>() != header.cksum()? {
            return Err(damaged("archive header checksum mismatch"));
        }
        Ok(Some(header))
    }

    fn begin(&mut self, size: u64) {
        self.left = size;
        self.padding = (BLOCK - size % BLOCK) % BLOCK;
    }

    /// The content of a header that describes the next.
    fn content(&mut self, header: &Header) -> io::Result<Vec<u8>> {
        let size = header.entry_size()?;
        self.begin(size);
        let mut content = Vec::new();
        self.read_to_end(&mut content)?;
        if content.len() as u64 != size {
            return Err(damaged("it ends in the middle of a header"));
        }
        Ok(content)
    }

    fn records(&mut self, header: &Header) -> io::Result<Records> {
        Records::read(&self.content(header)?).map_err(damaged)
    }

    /// A long name, which ends with a zero.
    fn text(&mut self, header: &Header) -> io::Result<Vec<u8>> {
        let mut text = self.content(header)?;
        text.pop_if(|last| *last == 0);
        Ok(text)
    }
}

impl<R: Read + Seek> Tape<R> {
    /// One in which content need not be read.
    pub(super) fn seekable(source: R) -> Self {
        Self::skipping(source, |source, bytes| {
            let bytes = i64::try_from(bytes).map_err(|_| damaged("an entry is too large"))?;
            source.seek(SeekFrom::Current(bytes)).map(drop)
        })
    }
}

/// The content of this entry.
impl<R: Read> Read for Tape<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = (&mut self.source).take(self.left).read(buffer)?;
        self.left -= read as u64;
        self.at += read as u64;
        Ok(read)
    }
}

impl Before {
    fn is_empty(&self) -> bool {
        self.name.is_none() && self.target.is_none() && self.records.is_none()
    }
}

fn keep<T>(place: &mut Option<T>, value: T) -> io::Result<()> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(damaged("two headers of one kind describe the same entry")),
    }
}

fn read_over<R: Read>(source: &mut R, bytes: u64) -> io::Result<()> {
    let passed = io::copy(&mut source.take(bytes), &mut io::sink())?;
    if passed == bytes { Ok(()) } else { Err(damaged("it ends in the middle of an entry")) }
}

/// Fills a block, or reads nothing at all at the end.
fn read_block(source: &mut impl Read, block: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while let Some(rest) = block.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match source.read(rest) {
            Ok(0) if filled == 0 => return Ok(0),
            Ok(0) => return Err(damaged("it ends in the middle of a header")),
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
