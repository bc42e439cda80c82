//! Tar stream: entry headers with their extension headers, and content in
//! blocks.

use std::io::{self, Read, Seek, SeekFrom};

use tar::{EntryType, GnuExtSparseHeader, GnuSparseHeader, Header};

use super::pax::PaxRecords;
use super::sparse::{SparseFile, damaged_error};

/// Bytes of a block. Everything in a tar fills whole blocks.
const TAR_BLOCK_BYTES: u64 = 512;

/// Reads a tar entry by entry.
pub(super) struct TarReader<R> {
    source: R,
    /// Skips bytes that are not needed.
    skip: fn(&mut R, u64) -> io::Result<()>,
    /// Current offset in the tar.
    at: u64,
    /// Unread bytes of the current entry's content.
    left: u64,
    /// Bytes after the content that fill its last block.
    padding: u64,
    /// Records that apply to all entries that follow.
    global: PaxRecords,
}

/// An entry with the data of all its headers.
pub(super) struct TarEntry {
    pub(super) header: Header,
    pub(super) name: Vec<u8>,
    /// Target of a link.
    pub(super) target: Vec<u8>,
    /// Bytes in the archive.
    pub(super) stored: u64,
    pub(super) sparse: Option<SparseFile>,
    /// Seconds since 1970 with a fraction, if a pax record states them.
    pub(super) modified: Option<String>,
}

/// Extension headers before an entry header.
#[derive(Default)]
struct PendingHeaders {
    name: Option<Vec<u8>>,
    target: Option<Vec<u8>>,
    records: Option<PaxRecords>,
}

impl<R: Read> TarReader<R> {
    /// Creates a reader for a stream that cannot seek.
    pub(super) fn new(source: R) -> Self {
        Self::with_skip(source, skip_by_reading)
    }

    fn with_skip(source: R, skip: fn(&mut R, u64) -> io::Result<()>) -> Self {
        Self { source, skip, at: 0, left: 0, padding: 0, global: PaxRecords::default() }
    }

    pub(super) fn into_inner(self) -> R {
        self.source
    }

    /// Returns where the current entry's content ends if the tar is complete.
    pub(super) fn content_end(&self) -> u64 {
        self.at.saturating_add(self.left)
    }

    /// Returns the next entry; `None` at the end, which is marked by a block of
    /// zeros.
    pub(super) fn next(&mut self) -> io::Result<Option<TarEntry>> {
        let mut before = PendingHeaders::default();
        loop {
            let Some(header) = self.next_header()? else {
                return if before.is_empty() {
                    Ok(None)
                } else {
                    Err(damaged_error("extension headers without an entry"))
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
                size.ok_or_else(|| damaged_error("the size of an entry is not a number"))?
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

    /// Reads the segments of a sparse file from its header and the blocks that
    /// extend it.
    fn old_sparse_file(&mut self, header: &Header, stored: u64) -> io::Result<SparseFile> {
        let Some(gnu) = header.as_gnu() else {
            return Err(damaged_error("a sparse file has a header without sparse fields"));
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

    /// Returns the next header; `None` for a block of zeros.
    fn next_header(&mut self) -> io::Result<Option<Header>> {
        (self.skip)(&mut self.source, self.left.saturating_add(self.padding))?;
        self.at = self.at.saturating_add(self.left).saturating_add(self.padding);
        (self.left, self.padding) = (0, 0);
        let mut header = Header::new_old();
        if read_block(&mut self.source, header.as_mut_bytes())? == 0 {
            return Err(damaged_error(
                "the end-of-archive marker is missing, so it may be truncated",
            ));
        }
        self.at += TAR_BLOCK_BYTES;
        if header.as_bytes().iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        let sum = header.as_bytes().iter().enumerate().map(|(at, byte)| {
            // The checksum field itself counts as spaces.
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

    /// Reads the content of an extension header.
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

    /// Reads a long name, which ends with a NUL.
    fn long_name(&mut self, header: &Header) -> io::Result<Vec<u8>> {
        let mut text = self.header_content(header)?;
        text.pop_if(|last| *last == 0);
        Ok(text)
    }
}

impl<R: Read + Seek> TarReader<R> {
    /// Creates a reader that seeks over content.
    pub(super) fn seekable(source: R) -> Self {
        Self::with_skip(source, |source, bytes| {
            let bytes = i64::try_from(bytes).map_err(|_| damaged_error("an entry is too large"))?;
            source.seek(SeekFrom::Current(bytes)).map(drop)
        })
    }
}

/// Reads the content of the current entry.
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
        Some(_) => Err(damaged_error("an entry has two extension headers of the same kind")),
    }
}

fn skip_by_reading<R: Read>(source: &mut R, bytes: u64) -> io::Result<()> {
    let passed = io::copy(&mut source.take(bytes), &mut io::sink())?;
    if passed == bytes { Ok(()) } else { Err(damaged_error("it ends in the middle of an entry")) }
}

/// Fills a block; returns 0 at the end of the stream.
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
