//! Tar, plain or compressed.

use std::io::{self, BufReader, Read};
use std::time::{Duration, SystemTime};

use hermes_core::ToolError;
use tar::EntryType;

use super::single::decode;
use super::sparse::Unfolded;
use super::tape::{Entry, Tape};
use super::{Appetite, Tour, Visitor};
use crate::format::Format;
use crate::gauge::{Metered, Rationed};
use crate::limits::{Purpose, Spending};
use crate::member::{Member, Nature};

/// Bytes between two entries: headers, long names, extended attributes.
const HEADERS: u64 = 4 << 20;

pub(super) fn visit(tour: &Tour<'_>, each: &mut Visitor<'_>) -> Result<(), ToolError> {
    if tour.archive.format == Format::Tar && tour.appetite == Appetite::Names {
        let source = Metered { inner: tour.source()?, gauge: tour.gauge };
        let source = Rationed { inner: source, gauge: tour.gauge };
        return go_through(tour, &mut Tape::seekable(source), Skipping::BySeek, each);
    }
    let source = Rationed { inner: BufReader::new(decode(tour)?), gauge: tour.gauge };
    let mut tape = Tape::new(source);
    go_through(tour, &mut tape, Skipping::ByReading, each)?;
    // The padding behind the last entry, so that a damaged end of the
    // compressed stream is noticed.
    tour.gauge.allow(u64::MAX);
    pass(tour, tape.into_inner())
}

/// How the content of an entry that nobody wanted is passed over.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Skipping {
    BySeek,
    ByReading,
}

fn go_through<R: Read>(
    tour: &Tour<'_>,
    tape: &mut Tape<R>,
    skipping: Skipping,
    each: &mut Visitor<'_>,
) -> Result<(), ToolError> {
    loop {
        tour.gauge.allow(HEADERS);
        let Some(entry) = tape.next().map_err(|error| tour.broken(&error))? else { return Ok(()) };
        tour.budget.count_entry()?;
        tour.gauge.allow(u64::MAX);
        let is_whole = match skipping {
            Skipping::ByReading => show(tour, tape, entry, each)?,
            Skipping::BySeek => {
                each(describe(&entry), &mut io::empty())?;
                tape.end() <= tour.archive.len
            }
        };
        if !is_whole {
            return Err(tour.broken(&"it ends in the middle of an entry"));
        }
    }
}

/// Shows an entry with its content, and says whether all of that was there.
fn show<R: Read>(
    tour: &Tour<'_>,
    tape: &mut Tape<R>,
    entry: Entry,
    each: &mut Visitor<'_>,
) -> Result<bool, ToolError> {
    let member = describe(&entry);
    let (inner, size) = match entry.sparse {
        Some(sparse) => {
            let size = sparse.size;
            let unfolded = sparse.unfold(&mut *tape).map_err(|error| tour.broken(&error))?;
            (Inner::Unfolded(unfolded), size)
        }
        None => (Inner::Plain(&mut *tape), entry.stored),
    };
    let (budget, gauge) = (tour.budget, tour.gauge);
    let content = Spending { inner, purpose: Purpose::Keep, budget, gauge };
    let mut content = Counted { inner: content, read: 0 };
    each(member, &mut content)?;
    content.inner.purpose = Purpose::Pass;
    io::copy(&mut content, &mut io::sink()).map_err(|error| tour.broken(&error))?;
    let is_whole = content.read == size;
    // What a file with holes has left.
    pass(tour, tape)?;
    Ok(is_whole)
}

/// Reads to the end.
fn pass(tour: &Tour<'_>, stream: impl Read) -> Result<(), ToolError> {
    let (budget, gauge) = (tour.budget, tour.gauge);
    let mut rest = Spending { inner: stream, purpose: Purpose::Pass, budget, gauge };
    io::copy(&mut rest, &mut io::sink()).map_err(|error| tour.broken(&error))?;
    Ok(())
}

/// The content of an entry, as it is or with its holes.
enum Inner<'a, R: Read> {
    Plain(&'a mut Tape<R>),
    Unfolded(Unfolded<&'a mut Tape<R>>),
}

impl<R: Read> Read for Inner<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(entry) => entry.read(buffer),
            Self::Unfolded(entry) => entry.read(buffer),
        }
    }
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

fn describe(entry: &Entry) -> Member {
    let Entry { header, sparse, target, .. } = entry;
    let name = sparse.as_ref().and_then(|sparse| sparse.name.as_ref()).unwrap_or(&entry.name);
    let nature = match header.entry_type() {
        EntryType::Symlink => Nature::Link(target.clone()),
        EntryType::Link => Nature::HardLink(target.clone()),
        EntryType::Directory => Nature::Folder,
        // Old archives tell folders by their names alone.
        EntryType::Regular if name.ends_with(b"/") => Nature::Folder,
        EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => Nature::File,
        _ => Nature::Special,
    };
    let size = sparse.as_ref().map_or(entry.stored, |sparse| sparse.size);
    let coarse = || header.mtime().ok().map(Duration::from_secs);
    let since = entry.modified.as_deref().and_then(moment).or_else(coarse);
    Member {
        name: name.clone(),
        size: Some(if nature == Nature::File { size } else { 0 }),
        nature,
        packed: None,
        mode: header.mode().ok().map(|mode| mode & 0o7777),
        modified: since.and_then(|since| SystemTime::UNIX_EPOCH.checked_add(since)),
        encrypted: false,
    }
}

/// Seconds since 1970 with a fraction, to the nanosecond.
fn moment(text: &str) -> Option<Duration> {
    let (seconds, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = fraction.bytes().chain(std::iter::repeat(b'0')).take(9);
    let nanoseconds = digits.map(|digit| char::from(digit).to_digit(10));
    let nanoseconds = nanoseconds.reduce(|sum, digit| Some(sum? * 10 + digit?)).flatten()?;
    Some(Duration::new(seconds.parse().ok()?, nanoseconds))
}
