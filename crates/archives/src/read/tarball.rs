//! Tar, plain or compressed.

use std::cell::Cell;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::time::{Duration, SystemTime};

use hermes_core::ToolError;
use tar::{Archive, Entries, Entry, EntryType};

use super::single::decode;
use super::sparse::{Sparse, Unfolded};
use super::{Appetite, Tour, Visitor};
use crate::format::Format;
use crate::gauge::{Metered, Rationed};
use crate::limits::{Purpose, Spending};
use crate::member::{Member, Nature};

/// Bytes between two entries: headers, long names, extended attributes.
const HEADERS: u64 = 4 << 20;

pub(super) fn visit(tour: &Tour<'_>, each: &mut Visitor<'_>) -> Result<(), ToolError> {
    tour.gauge.allow(HEADERS);
    let ended = Cell::new(false);
    if tour.archive.format == Format::Tar && tour.appetite == Appetite::Names {
        let source = Metered { inner: tour.source()?, gauge: tour.gauge };
        let source = Rationed { inner: source, gauge: tour.gauge };
        let mut archive = Archive::new(Watched { inner: source, ended: &ended });
        let entries = archive.entries_with_seek().map_err(|error| tour.broken(&error))?;
        go_through(tour, entries, Skipping::BySeek, each)?;
        return require_end(tour, &ended);
    }
    let source = Rationed { inner: BufReader::new(decode(tour)?), gauge: tour.gauge };
    let mut archive = Archive::new(Watched { inner: source, ended: &ended });
    let entries = archive.entries().map_err(|error| tour.broken(&error))?;
    go_through(tour, entries, Skipping::ByReading, each)?;
    require_end(tour, &ended)?;
    finish(tour, archive.into_inner())
}

/// Whoever makes a tar puts a block of zeros behind the last entry. Without
/// it, there were more of them.
fn require_end(tour: &Tour<'_>, ended: &Cell<bool>) -> Result<(), ToolError> {
    match ended.get() {
        true => Err(tour.broken(&"the mark of its end is missing, so it may have been cut off")),
        false => Ok(()),
    }
}

/// A stream that remembers whether there was nothing left when it was last
/// read.
struct Watched<'a, R> {
    inner: R,
    ended: &'a Cell<bool>,
}

impl<R: Read> Read for Watched<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.ended.set(read == 0 && !buffer.is_empty());
        Ok(read)
    }
}

impl<R: Seek> Seek for Watched<'_, R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.inner.seek(to)
    }
}

/// How the content of an entry that nobody wanted is passed over.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Skipping {
    BySeek,
    ByReading,
}

fn go_through<R: Read>(
    tour: &Tour<'_>,
    entries: Entries<'_, R>,
    skipping: Skipping,
    each: &mut Visitor<'_>,
) -> Result<(), ToolError> {
    for entry in entries {
        let mut entry = entry.map_err(|error| tour.broken(&error))?;
        if entry.header().entry_type() == EntryType::XGlobalHeader {
            tour.gauge.allow(HEADERS);
            continue;
        }
        tour.budget.count_entry()?;
        let sparse = holes(&mut entry).map_err(|error| tour.broken(&error))?;
        let mut member = describe(&entry);
        let (mut size, at) = (entry.size(), entry.raw_file_position());
        let stored = if entry.header().entry_type() == EntryType::GNUSparse { 0 } else { size };
        tour.gauge.allow(u64::MAX);
        let (budget, gauge) = (tour.budget, tour.gauge);
        let inner = match sparse {
            Some(sparse) => {
                size = sparse.size;
                member.size = Some(size);
                if let Some(name) = &sparse.name {
                    member.name.clone_from(name);
                }
                match skipping {
                    Skipping::ByReading => {
                        Inner::Unfolded(sparse.unfold(entry).map_err(|error| tour.broken(&error))?)
                    }
                    Skipping::BySeek => Inner::Plain(entry),
                }
            }
            None => Inner::Plain(entry),
        };
        let content = Spending { inner, purpose: Purpose::Keep, budget, gauge };
        let mut content = Counted { inner: content, read: 0 };
        each(member, &mut content)?;
        let is_whole = match skipping {
            Skipping::ByReading => {
                content.inner.purpose = Purpose::Pass;
                io::copy(&mut content, &mut io::sink()).map_err(|error| tour.broken(&error))?;
                content.read == size
            }
            Skipping::BySeek => at.saturating_add(stored) <= tour.archive.len,
        };
        if !is_whole {
            return Err(tour.broken(&"it ends in the middle of an entry"));
        }
        tour.gauge.allow(HEADERS);
    }
    Ok(())
}

/// The content of an entry, as it is or with its holes.
enum Inner<'a, R: Read> {
    Plain(Entry<'a, R>),
    Unfolded(Unfolded<Entry<'a, R>>),
}

impl<R: Read> Read for Inner<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(entry) => entry.read(buffer),
            Self::Unfolded(entry) => entry.read(buffer),
        }
    }
}

/// The holes of a file, as far as pax headers speak of some.
fn holes<R: Read>(entry: &mut Entry<'_, R>) -> Result<Option<Sparse>, String> {
    if entry.header().entry_type() != EntryType::Regular {
        return Ok(None);
    }
    let headers = entry.pax_extensions().map_err(|error| error.to_string())?;
    headers.map_or(Ok(None), Sparse::read)
}

/// Content of which the bytes are counted: a tar that was cut off just ends.
struct Counted<R> {
    inner: R,
    read: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.read += read as u64;
        Ok(read)
    }
}

/// Reads the padding behind the last entry, so that a damaged end of the
/// compressed stream is noticed.
fn finish(tour: &Tour<'_>, stream: impl Read) -> Result<(), ToolError> {
    tour.gauge.allow(u64::MAX);
    let (budget, gauge) = (tour.budget, tour.gauge);
    let mut rest = Spending { inner: stream, purpose: Purpose::Pass, budget, gauge };
    io::copy(&mut rest, &mut io::sink()).map_err(|error| tour.broken(&error))?;
    Ok(())
}

fn describe<R: Read>(entry: &Entry<'_, R>) -> Member {
    let header = entry.header();
    let target = || entry.link_name_bytes().unwrap_or_default().into_owned();
    let name = entry.path_bytes().into_owned();
    let nature = match header.entry_type() {
        EntryType::Symlink => Nature::Link(target()),
        EntryType::Link => Nature::HardLink(target()),
        EntryType::Directory => Nature::Folder,
        // Old archives tell folders by their names alone.
        EntryType::Regular if name.ends_with(b"/") => Nature::Folder,
        EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => Nature::File,
        _ => Nature::Special,
    };
    let seconds = header.mtime().ok();
    Member {
        name,
        size: Some(if nature == Nature::File { entry.size() } else { 0 }),
        nature,
        packed: None,
        mode: header.mode().ok().map(|mode| mode & 0o7777),
        modified: seconds.and_then(|s| SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(s))),
        encrypted: false,
    }
}
