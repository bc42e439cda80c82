//! Reading zip. The central directory is authoritative; overlapping entries are
//! refused, and the last of several entries with one name is used.

use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::time::{Duration, SystemTime};

use hermes_core::ToolError;
use jiff::civil;
use zip::extra_fields::ExtraField;
use zip::read::{ZipFile, ZipReadOptions};
use zip::result::ZipError;
use zip::{CompressionMethod, System, ZipArchive};

use super::zip_directory::CentralDirectory;
use super::{ArchiveVisit, MemberVisitor, VisitMode};
use crate::limits::{BudgetedReader, ReadPurpose};
use crate::member::{
    ArchiveMember, MAX_LINK_TARGET_BYTES, MemberKind, TYPE_BITS, TYPE_DIRECTORY, TYPE_FILE,
    TYPE_LINK, TYPE_PIPE,
};
use crate::progress::MeteredReader;

/// Visits all entries; returns the names of those replaced by later ones.
pub(super) fn visit(
    tour: &ArchiveVisit<'_>,
    each: &mut MemberVisitor<'_>,
) -> Result<Vec<Vec<u8>>, ToolError> {
    let source = BufReader::new(MeteredReader { inner: tour.rewound_file()?, gauge: tour.gauge });
    let mut archive = ZipArchive::new(source).map_err(|error| to_tool_error(tour, error))?;
    if archive.has_overlapping_entries().map_err(|error| to_tool_error(tour, error))? {
        return Err(unsafe_archive_error("its entries overlap, as in a zip bomb"));
    }
    tour.budget.count_entries(archive.len() as u64)?;
    let directory = read_directory(tour, &archive).map_err(|error| tour.damaged_error(&error))?;
    for index in 0..archive.len() {
        visit_entry(tour, &mut archive, &directory, index, each)?;
    }
    Ok(directory.replaced)
}

/// Reads the central directory.
fn read_directory<R>(
    tour: &ArchiveVisit<'_>,
    archive: &ZipArchive<R>,
) -> io::Result<CentralDirectory>
where
    R: Read + Seek,
{
    let mut source = tour.archive.file.try_clone()?;
    let start = archive.central_directory_start();
    source.seek(SeekFrom::Start(start))?;
    let source = BufReader::new(MeteredReader { inner: source, gauge: tour.gauge });
    CentralDirectory::read(source, start)
}

fn visit_entry<R: Read + Seek>(
    tour: &ArchiveVisit<'_>,
    archive: &mut ZipArchive<R>,
    directory: &CentralDirectory,
    index: usize,
    each: &mut MemberVisitor<'_>,
) -> Result<(), ToolError> {
    let raw = archive.by_index_raw(index).map_err(|error| to_tool_error(tour, error))?;
    let mut member = to_member(&raw);
    let special = directory.special_bits(raw.central_header_start());
    member.mode = member.mode.map(|mode| mode | special);
    let is_known = matches!(
        raw.compression(),
        CompressionMethod::Stored | CompressionMethod::Deflated | CompressionMethod::Zstd
    );
    let method = raw.compression();
    drop(raw);
    let is_link = matches!(member.kind, MemberKind::Link(_));
    if member.encrypted || (tour.mode == VisitMode::Names && !is_link) {
        // A visitor that needs the content sees `encrypted` and refuses.
        return each(member, &mut io::empty());
    }
    if !is_known {
        // Fail only when the content is read.
        let what = format!("{:?} is compressed with {method}", member.display_name());
        return each(member, &mut UndecodableContent { tour, what });
    }
    let opened = archive.by_index_with_options(index, ZipReadOptions::new());
    let content = opened.map_err(|error| to_tool_error(tour, error))?;
    let (budget, gauge) = (tour.budget, tour.gauge);
    let mut content = BudgetedReader { inner: content, purpose: ReadPurpose::Keep, budget, gauge };
    if is_link {
        let mut target = Vec::new();
        let read = (&mut content).take(MAX_LINK_TARGET_BYTES + 1).read_to_end(&mut target);
        read.map_err(|error| tour.damaged_error(&error))?;
        member.kind = MemberKind::Link(target);
    }
    each(member, &mut content)
}

/// Content of an entry with an unsupported compression method.
struct UndecodableContent<'a> {
    tour: &'a ArchiveVisit<'a>,
    what: String,
}

impl Read for UndecodableContent<'_> {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        let error = self.tour.unsupported_error(&self.what);
        Err(self.tour.gauge.stop(error))
    }
}

fn to_member<R: Read>(entry: &ZipFile<'_, R>) -> ArchiveMember {
    let is_unix = entry.system() == System::Unix;
    let mut name = match std::str::from_utf8(entry.name_raw()) {
        Ok(_) => entry.name_raw().to_vec(),
        // On Unix, names are bytes.
        Err(_) if is_unix => entry.name_raw().to_vec(),
        // An old code page, unless the entry states otherwise.
        Err(_) => entry
            .name()
            .map_or_else(|_| entry.name_raw().to_vec(), |name| name.into_owned().into_bytes()),
    };
    if !is_unix {
        // Some Windows programs write their own separator.
        name.iter_mut().filter(|byte| **byte == b'\\').for_each(|byte| *byte = b'/');
    }
    let mode = entry.unix_mode();
    let nature = match mode.map_or(0, |mode| mode & TYPE_BITS) {
        TYPE_LINK => MemberKind::Link(Vec::new()),
        TYPE_DIRECTORY => MemberKind::Directory,
        0 | TYPE_FILE if name.ends_with(b"/") => MemberKind::Directory,
        0 | TYPE_FILE => MemberKind::File,
        // An entry packed from a pipe has the pipe's mode, but also content.
        TYPE_PIPE if entry.compressed_size() > 0 => MemberKind::File,
        _ => MemberKind::Special,
    };
    ArchiveMember {
        name,
        size: Some(if nature == MemberKind::Directory { 0 } else { entry.size() }),
        kind: nature,
        packed: Some(entry.compressed_size()),
        // On other systems, the bits are guesses.
        mode: mode.filter(|_| is_unix).map(|mode| mode & 0o7777),
        modified: modified_time(entry),
        encrypted: entry.encrypted(),
    }
}

/// Returns the exact time if the entry has one, otherwise the DOS time, whose
/// unknown time zone is taken as UTC.
fn modified_time<R: Read>(entry: &ZipFile<'_, R>) -> Option<SystemTime> {
    let exact = entry.extra_data_fields().find_map(|field| match field {
        ExtraField::ExtendedTimestamp(times) => times.mod_time(),
        _ => None,
    });
    if let Some(seconds) = exact {
        return SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds.into()));
    }
    let coarse = entry.last_modified()?;
    let part = |number: u8| i8::try_from(number).ok();
    let date = civil::Date::new(
        i16::try_from(coarse.year()).ok()?,
        part(coarse.month())?,
        part(coarse.day())?,
    )
    .ok()?;
    let time =
        civil::Time::new(part(coarse.hour())?, part(coarse.minute())?, part(coarse.second())?, 0)
            .ok()?;
    let zoned = date.to_datetime(time).to_zoned(jiff::tz::TimeZone::UTC).ok()?;
    Some(zoned.timestamp().into())
}

fn to_tool_error(tour: &ArchiveVisit<'_>, error: ZipError) -> ToolError {
    match error {
        ZipError::UnsupportedArchive(ZipError::PASSWORD_REQUIRED) | ZipError::InvalidPassword => {
            tour.encrypted_error(None)
        }
        ZipError::UnsupportedArchive(what) => tour.unsupported_error(what),
        other => tour.damaged_error(&other),
    }
}

fn unsafe_archive_error(why: &str) -> ToolError {
    ToolError::denied(format!("The archive is refused: {why}"))
        .with("rule", "unsafe-archive")
        .with_hint("No legitimate program creates such an archive; get it from another source.")
}
