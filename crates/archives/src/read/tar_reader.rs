//! The stream of a tar: headers, each with those that describe it, and content
//! in blocks.

use std::io::{self, Read, Seek, SeekFrom};

use tar::{EntryType, GnuExtSparseHeader, GnuSparseHeader, Header};

use super::pax::PaxRecords;
use super::sparse::{SparseFile, damaged_error};

/// Everything in a tar fills whole blocks.
const TAR_BLOCK_BYTES: u64 = 512;

/// A tar, from one entry to the next.
pub(super) struct TarReader<R> {
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
    global: PaxRecords,
}

/// An entry, as all of its headers tell it together.
pub(super) struct TarEntry {
    pub(super) header: Header,
    pub(super) name: Vec<u8>,
    /// The target of a link.
    pub(super) target: Vec<u8>,
    /// Bytes in the archive.
    pub(super) stored: u64,
    pub(super) sparse: Option<SparseFile>,
    /// Seconds since 1970, with their fraction, where the records tell.
    pub(super) modified: Option<String>,
}

/// The headers before the one of the entry itself.
#[derive(Default)]
struct PendingHeaders {
    name: Option<Vec<u8>>,
    target: Option<Vec<u8>>,
    records: Option<PaxRecords>,
}

impl<R: Read> TarReader<R> {
    /// One that can only be read.
    pub(super) fn new(source: R) -> Self {
        Self::with_skip(source, skip_by_reading)
    }

    fn with_skip(source: R, skip: fn(&mut R, u64) -> io::Result<()>) -> Self {
        Self { source, skip, at: 0, left: 0, padding: 0, global: PaxRecords::default() }
    }

    pub(super) fn into_inner(self) -> R {
        self.source
    }

    /// Where the content of this entry ends, if the tar is whole.
    pub(super) fn content_end(&self) -> u64 {
        self.at.saturating_add(self.left)
    }

    /// The next entry; none behind the last, where whoever makes a tar puts a
    /// block of zeros.
    pub(super) fn next(&mut self) -> io::Result<Option<TarEntry>> {
        let mut before = PendingHeaders::default();
        loop {
            let Some(header) = self.next_header()? else {
                return if before.is_empty() {
                    Ok(None)
                } else {
                    Err(damaged_error("headers of an entry that is missing"))
                };
            };
            let is_known = header.as_gnu().is_some() || header.as_ustar().is_some();
            match header.entry_type() {
                EntryType::GNULongName if is_known => {
                    set_once(&mut before.name, self.long_name(&header)?)?
                }
                EntryType::GNULongLink if is_known => {
                    set_once(&mut before.target, self.long_name(&header)?)?
                }
                EntryType::XHeader if is_known => {
                    set_once(&mut before.records, self.pax_records(&header)?)?
                }
                EntryType::XGlobalHeader => {
                    let later = self.pax_records(&header)?;
                    self.global.update(later);
                }
                _ => return self.build_entry(header, before).map(Some),
            }
        }
    }

    fn build_entry(&mut self, header: Header, before: PendingHeaders) -> io::Result<TarEntry> {
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
                size.ok_or_else(|| damaged_error("the size of an entry is no number"))?
            }
            None => header.entry_size()?,
        };
        let sparse = match header.entry_type() {
            EntryType::Regular => SparseFile::from_records(&records).map_err(damaged_error)?,
            EntryType::GNUSparse => Some(self.old_sparse_file(&header, stored)?),
            _ => None,
        };
        self.start_content(stored);
        Ok(TarEntry { header, name, target: target.unwrap_or_default(), stored, sparse, modified })
    }

    /// The holes of a file that its own header, and more of them behind it,
    /// tell.
    fn old_sparse_file(&mut self, header: &Header, stored: u64) -> io::Result<SparseFile> {
        let Some(gnu) = header.as_gnu() else {
            return Err(damaged_error("a file with holes in a header that knows none"));
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
            self.at += TAR_BLOCK_BYTES;
            add(more.sparse())?;
            goes_on = more.is_extended();
        }
        SparseFile::from_old_header(&numbers, gnu.real_size()?, stored).map_err(damaged_error)
    }

    /// The next header; none if it is a block of zeros.
    fn next_header(&mut self) -> io::Result<Option<Header>> {
        (self.skip)(&mut self.source, self.left.saturating_add(self.padding))?;
        self.at = self.at.saturating_add(self.left).saturating_add(self.padding);
        (self.left, self.padding) = (0, 0);
        let mut header = Header::new_old();
        if read_block(&mut self.source, header.as_mut_bytes())? == 0 {
            return Err(damaged_error(
                "the mark of its end is missing, so it may have been cut off",
            ));
        }
        self.at += TAR_BLOCK_BYTES;
        if header.as_bytes().iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        let sum = header.as_bytes().iter().enumerate().map(|(at, byte)| {
            // The sum itself counts as blanks.
            if (148..156).contains(&at) { 32 } else { u32::from(*byte) }
        });
        if sum.sum::<u32>() != header.cksum()? {
            return Err(damaged_error("archive header checksum mismatch"));
        }
        Ok(Some(header))
    }

    fn start_content(&mut self, size: u64) {
        self.left = size;
        self.padding = (TAR_BLOCK_BYTES - size % TAR_BLOCK_BYTES) % TAR_BLOCK_BYTES;
    }

    /// The content of a header that describes the next.
    fn header_content(&mut self, header: &Header) -> io::Result<Vec<u8>> {
        let size = header.entry_size()?;
        self.start_content(size);
        let mut content = Vec::new();
        self.read_to_end(&mut content)?;
        if content.len() as u64 != size {
            return Err(damaged_error("it ends in the middle of a header"));
        }
        Ok(content)
    }

    fn pax_records(&mut self, header: &Header) -> io::Result<PaxRecords> {
        PaxRecords::parse(&self.header_content(header)?).map_err(damaged_error)
    }

    /// A long name, which ends with a zero.
    fn long_name(&mut self, header: &Header) -> io::Result<Vec<u8>> {
        let mut text = self.header_content(header)?;
        text.pop_if(|last| *last == 0);
        Ok(text)
    }
}

impl<R: Read + Seek> TarReader<R> {
    /// One in which content need not be read.
    pub(super) fn seekable(source: R) -> Self {
        Self::with_skip(source, |source, bytes| {
            let bytes = i64::try_from(bytes).map_err(|_| damaged_error("an entry is too large"))?;
            source.seek(SeekFrom::Current(bytes)).map(drop)
        })
    }
}

/// The content of this entry.
impl<R: Read> Read for TarReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = (&mut self.source).take(self.left).read(buffer)?;
        self.left -= read as u64;
        self.at += read as u64;
        Ok(read)
    }
}

impl PendingHeaders {
    fn is_empty(&self) -> bool {
        self.name.is_none() && self.target.is_none() && self.records.is_none()
    }
}

fn set_once<T>(place: &mut Option<T>, value: T) -> io::Result<()> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(damaged_error("two headers of one kind describe the same entry")),
    }
}

fn skip_by_reading<R: Read>(source: &mut R, bytes: u64) -> io::Result<()> {
    let passed = io::copy(&mut source.take(bytes), &mut io::sink())?;
    if passed == bytes { Ok(()) } else { Err(damaged_error("it ends in the middle of an entry")) }
}

/// Fills a block, or reads nothing at all at the end.
fn read_block(source: &mut impl Read, block: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while let Some(rest) = block.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match source.read(rest) {
            Ok(0) if filled == 0 => return Ok(0),
            Ok(0) => return Err(damaged_error("it ends in the middle of a header")),
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
