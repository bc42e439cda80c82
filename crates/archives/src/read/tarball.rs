//! Tar, plain or compressed.

use std::io::{self, BufReader, Read};
use std::time::{Duration, SystemTime};

use hermes_core::ToolError;
use tar::{Archive, Entries, Entry, EntryType};

use super::single::decode;
use super::{Appetite, Tour, Visitor};
use crate::format::Format;
use crate::gauge::{Metered, Rationed};
use crate::limits::{Purpose, Spending};
use crate::member::{Member, Nature};

/// Bytes between two entries: headers, long names, extended attributes.
const HEADERS: u64 = 4 << 20;

pub(super) fn visit(tour: &Tour<'_>, each: &mut Visitor<'_>) -> Result<(), ToolError> {
    tour.gauge.allow(HEADERS);
    if tour.archive.format == Format::Tar && tour.appetite == Appetite::Names {
        let source = Metered { inner: tour.source()?, gauge: tour.gauge };
        let mut archive = Archive::new(Rationed { inner: source, gauge: tour.gauge });
        let entries = archive.entries_with_seek().map_err(|error| tour.broken(&error))?;
        return go_through(tour, entries, Skipping::BySeek, each);
    }
    let inner = decode(tour)?;
    let mut archive = Archive::new(Rationed { inner: BufReader::new(inner), gauge: tour.gauge });
    let entries = archive.entries().map_err(|error| tour.broken(&error))?;
    go_through(tour, entries, Skipping::ByReading, each)?;
    finish(tour, archive.into_inner())
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
        let entry = entry.map_err(|error| tour.broken(&error))?;
        if entry.header().entry_type() == EntryType::XGlobalHeader {
            tour.gauge.allow(HEADERS);
            continue;
        }
        tour.budget.count_entry()?;
        let member = describe(&entry);
        let (size, at) = (entry.size(), entry.raw_file_position());
        let is_sparse = entry.header().entry_type() == EntryType::GNUSparse;
        tour.gauge.allow(u64::MAX);
        let (budget, gauge) = (tour.budget, tour.gauge);
        let content = Spending { inner: entry, purpose: Purpose::Keep, budget, gauge };
        let mut content = Counted { inner: content, read: 0 };
        each(member, &mut content)?;
        let is_whole = match skipping {
            Skipping::ByReading => {
                content.inner.purpose = Purpose::Pass;
                io::copy(&mut content, &mut io::sink()).map_err(|error| tour.broken(&error))?;
                content.read == size
            }
            Skipping::BySeek => is_sparse || at.saturating_add(size) <= tour.archive.len,
        };
        if !is_whole {
            return Err(tour.broken(&"it ends in the middle of an entry"));
        }
        tour.gauge.allow(HEADERS);
    }
    Ok(())
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
