//! Reading tar, plain or compressed.

use std::io::{self, BufReader, Read};
use std::time::{Duration, SystemTime};

use hermes_core::ToolError;
use tar::EntryType;

use super::single::decode;
use super::sparse::SparseReader;
use super::tar_reader::{TarEntry, TarReader};
use super::{ArchiveVisit, MemberVisitor, VisitMode};
use crate::format::ArchiveFormat;
use crate::limits::{BudgetedReader, ReadPurpose};
use crate::member::{ArchiveMember, MemberKind};
use crate::progress::{MeteredReader, RationedReader};

/// Maximum bytes between two entries: headers, long names, extended attributes.
const MAX_HEADER_BYTES: u64 = 4 << 20;

pub(super) fn visit(
    tour: &ArchiveVisit<'_>,
    each: &mut MemberVisitor<'_>,
) -> Result<(), ToolError> {
    if tour.archive.format == ArchiveFormat::Tar && tour.mode == VisitMode::Names {
        let source = MeteredReader { inner: tour.rewound_file()?, gauge: tour.gauge };
        let source = RationedReader { inner: source, gauge: tour.gauge };
        return visit_entries(tour, &mut TarReader::seekable(source), SkipMethod::BySeek, each);
    }
    let source = RationedReader { inner: BufReader::new(decode(tour)?), gauge: tour.gauge };
    let mut tape = TarReader::new(source);
    visit_entries(tour, &mut tape, SkipMethod::ByReading, each)?;
    // Read the padding after the last entry to detect a damaged end of the
    // compressed stream.
    tour.gauge.set_allowance(u64::MAX);
    drain(tour, tape.into_inner())
}

/// How unneeded content of an entry is skipped.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SkipMethod {
    BySeek,
    ByReading,
}

fn visit_entries<R: Read>(
    tour: &ArchiveVisit<'_>,
    tape: &mut TarReader<R>,
    skipping: SkipMethod,
    each: &mut MemberVisitor<'_>,
) -> Result<(), ToolError> {
    loop {
        tour.gauge.set_allowance(MAX_HEADER_BYTES);
        let Some(entry) = tape.next().map_err(|error| tour.damaged_error(&error))? else {
            return Ok(());
        };
        tour.budget.count_entry()?;
        tour.gauge.set_allowance(u64::MAX);
        let is_whole = match skipping {
            SkipMethod::ByReading => visit_entry(tour, tape, entry, each)?,
            SkipMethod::BySeek => {
                each(to_member(&entry), &mut io::empty())?;
                tape.content_end() <= tour.archive.len
            }
        };
        if !is_whole {
            return Err(tour.damaged_error(&"it ends in the middle of an entry"));
        }
    }
}

/// Visits an entry with its content; returns whether the content was complete.
fn visit_entry<R: Read>(
    tour: &ArchiveVisit<'_>,
    tape: &mut TarReader<R>,
    entry: TarEntry,
    each: &mut MemberVisitor<'_>,
) -> Result<bool, ToolError> {
    let member = to_member(&entry);
    let (inner, size) = match entry.sparse {
        Some(sparse) => {
            let size = sparse.size;
            let unfolded = sparse.expand(&mut *tape).map_err(|error| tour.damaged_error(&error))?;
            (EntryContent::Sparse(unfolded), size)
        }
        None => (EntryContent::Plain(&mut *tape), entry.stored),
    };
    let (budget, gauge) = (tour.budget, tour.gauge);
    let content = BudgetedReader { inner, purpose: ReadPurpose::Keep, budget, gauge };
    let mut content = CountingReader { inner: content, read: 0 };
    each(member, &mut content)?;
    content.inner.purpose = ReadPurpose::PassOver;
    io::copy(&mut content, &mut io::sink()).map_err(|error| tour.damaged_error(&error))?;
    let is_whole = content.read == size;
    // Skip what a sparse file left unread.
    drain(tour, tape)?;
    Ok(is_whole)
}

/// Reads and discards the rest.
fn drain(tour: &ArchiveVisit<'_>, stream: impl Read) -> Result<(), ToolError> {
    let (budget, gauge) = (tour.budget, tour.gauge);
    let mut rest = BudgetedReader { inner: stream, purpose: ReadPurpose::PassOver, budget, gauge };
    io::copy(&mut rest, &mut io::sink()).map_err(|error| tour.damaged_error(&error))?;
    Ok(())
}

/// Content of an entry, plain or sparse.
enum EntryContent<'a, R: Read> {
    Plain(&'a mut TarReader<R>),
    Sparse(SparseReader<&'a mut TarReader<R>>),
}

impl<R: Read> Read for EntryContent<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(entry) => entry.read(buffer),
            Self::Sparse(entry) => entry.read(buffer),
        }
    }
}

/// Counts the bytes read: a truncated tar just ends.
struct CountingReader<R> {
    inner: R,
    read: u64,
}

impl<R: Read> Read for CountingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.read += read as u64;
        Ok(read)
    }
}

fn to_member(entry: &TarEntry) -> ArchiveMember {
    let TarEntry { header, sparse, target, .. } = entry;
    let name = sparse.as_ref().and_then(|sparse| sparse.name.as_ref()).unwrap_or(&entry.name);
    let nature = match header.entry_type() {
        EntryType::Symlink => MemberKind::Link(target.clone()),
        EntryType::Link => MemberKind::HardLink(target.clone()),
        EntryType::Directory => MemberKind::Directory,
        // Old archives mark directories only by their names.
        EntryType::Regular if name.ends_with(b"/") => MemberKind::Directory,
        EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => MemberKind::File,
        _ => MemberKind::Special,
    };
    let size = sparse.as_ref().map_or(entry.stored, |sparse| sparse.size);
    let coarse = || header.mtime().ok().map(Duration::from_secs);
    let since = entry.modified.as_deref().and_then(parse_timestamp).or_else(coarse);
    ArchiveMember {
        name: name.clone(),
        size: Some(if nature == MemberKind::File { size } else { 0 }),
        kind: nature,
        packed: None,
        mode: header.mode().ok().map(|mode| mode & 0o7777),
        modified: since.and_then(|since| SystemTime::UNIX_EPOCH.checked_add(since)),
        encrypted: false,
    }
}

/// Parses seconds since 1970 with a fraction, to the nanosecond.
fn parse_timestamp(text: &str) -> Option<Duration> {
    let (seconds, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = fraction.bytes().chain(std::iter::repeat(b'0')).take(9);
    let nanoseconds = digits.map(|digit| char::from(digit).to_digit(10));
    let nanoseconds = nanoseconds.reduce(|sum, digit| Some(sum? * 10 + digit?)).flatten()?;
    Some(Duration::new(seconds.parse().ok()?, nanoseconds))
}
