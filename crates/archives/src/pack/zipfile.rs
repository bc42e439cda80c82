//! Writing zip, with timestamps to the second and Unix permissions.

use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use zip::result::ZipError;
use zip::write::{ExtendedFileOptions, FileOptions};
use zip::{CompressionMethod, DateTime, System, ZipWriter};

use super::PackJob;
use super::sources::{PackEntry, PackEntryKind};
use crate::member::{TYPE_DIRECTORY, TYPE_FILE, TYPE_LINK};

/// Extra field for Unix timestamps, and its flag for the modification time.
const UNIX_TIMES_FIELD: u16 = 0x5455;
const HAS_MODIFIED_FLAG: u8 = 1;
/// Attribute flag of a directory.
const DIRECTORY_ATTRIBUTE: u32 = 0x10;
/// Sizes from here on need zip64 fields.
const ZIP64_THRESHOLD_BYTES: u64 = 0xF000_0000;

pub(super) fn write(job: &PackJob<'_>, out: impl Write + Seek) -> io::Result<()> {
    let mut writer = ZipWriter::new(FailFastWriter { out, is_broken: false });
    let failed = |error: ZipError| match error {
        ZipError::Io(error) => error,
        other => job.write_error(other),
    };
    for item in &job.plan.entries {
        job.gauge.check()?;
        let options = entry_options(job, item).map_err(failed)?;
        // Names are raw bytes, to be decoded by the system that wrote them.
        let mut name = item.name.as_os_str().as_bytes().to_vec();
        if matches!(item.kind, PackEntryKind::Directory) {
            name.push(b'/');
        }
        writer.start_file_with_options(options.name(&name)).map_err(failed)?;
        match &item.kind {
            PackEntryKind::File => drop(io::copy(&mut job.open_content(item)?, &mut writer)?),
            PackEntryKind::Directory => {}
            PackEntryKind::Link(target) => writer.write_all(target.as_os_str().as_bytes())?,
        }
    }
    writer.finish().map_err(failed)?.out.flush()
}

/// A writer that ignores all writes after a failure: otherwise `ZipWriter`
/// would finish the archive on drop and print an error to the terminal.
struct FailFastWriter<W> {
    out: W,
    is_broken: bool,
}

impl<W> FailFastWriter<W> {
    fn track_failure<T>(&mut self, done: io::Result<T>) -> io::Result<T> {
        let is_final = |error: &io::Error| error.kind() != io::ErrorKind::Interrupted;
        self.is_broken |= done.as_ref().is_err_and(is_final);
        done
    }
}

impl<W: Write> Write for FailFastWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_broken {
            return Ok(bytes.len());
        }
        let written = self.out.write(bytes);
        self.track_failure(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.is_broken {
            return Ok(());
        }
        let flushed = self.out.flush();
        self.track_failure(flushed)
    }
}

impl<W: Seek> Seek for FailFastWriter<W> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        if self.is_broken {
            return Ok(0);
        }
        let moved = self.out.seek(to);
        self.track_failure(moved)
    }
}

fn entry_options(
    job: &PackJob<'_>,
    item: &PackEntry,
) -> Result<FileOptions<'static, 'static, ExtendedFileOptions>, ZipError> {
    let level = job.packing.level;
    let (kind, flags) = match item.kind {
        PackEntryKind::File => (TYPE_FILE, 0),
        PackEntryKind::Directory => (TYPE_DIRECTORY, DIRECTORY_ATTRIBUTE),
        PackEntryKind::Link(_) => (TYPE_LINK, 0),
    };
    let method = match (&item.kind, level) {
        (PackEntryKind::File, Some(1..) | None) => CompressionMethod::Deflated,
        _ => CompressionMethod::Stored,
    };
    let level = level.filter(|level| *level > 0 && method == CompressionMethod::Deflated);
    let mut options = FileOptions::default()
        .compression_method(method)
        .compression_level(level.map(i64::from))
        .external_attributes((kind | item.mode & 0o777) << 16 | flags)
        .system(System::Unix)
        .large_file(item.size >= ZIP64_THRESHOLD_BYTES)
        .last_modified_time(dos_time(item.unix_seconds()).unwrap_or_default());
    if let Ok(seconds) = u32::try_from(item.unix_seconds()) {
        let mut times = vec![HAS_MODIFIED_FLAG];
        times.extend(seconds.to_le_bytes());
        options.add_extra_field(UNIX_TIMES_FIELD, times, false)?;
    }
    Ok(options)
}

/// Converts to a DOS time, which starts in 1980 and has a resolution of two
/// seconds.
fn dos_time(seconds: u64) -> Option<DateTime> {
    let at = Timestamp::from_second(i64::try_from(seconds).ok()?).ok()?;
    let at = at.to_zoned(TimeZone::UTC);
    let part = |number: i8| u8::try_from(number).ok();
    DateTime::from_date_and_time(
        u16::try_from(at.year()).ok()?,
        part(at.month())?,
        part(at.day())?,
        part(at.hour())?,
        part(at.minute())?,
        part(at.second())?,
    )
    .ok()
}

#[cfg(test)]
#[path = "zipfile_tests.rs"]
mod tests;
