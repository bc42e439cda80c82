//! Writing zip, with times to the second and Unix permissions.

use std::io::{self, Seek, Write};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use zip::result::ZipError;
use zip::write::{ExtendedFileOptions, FileOptions};
use zip::{CompressionMethod, DateTime, System, ZipWriter};

use super::Job;
use super::sources::{Item, What};

/// The field for times as Unix counts them, and the bit for the first of them.
const UNIX_TIMES: u16 = 0x5455;
const HAS_MODIFIED: u8 = 1;
/// From here on the sizes need the larger fields.
const LARGE: u64 = 0xF000_0000;

pub(super) fn write(job: &Job<'_>, out: impl Write + Seek) -> io::Result<()> {
    let mut writer = ZipWriter::new(out);
    let failed = |error: ZipError| match error {
        ZipError::Io(error) => error,
        other => job.failed(other),
    };
    for item in &job.plan.items {
        job.gauge.check()?;
        let options = options(job, item).map_err(failed)?;
        let name = item.shown();
        match &item.what {
            What::File => {
                writer.start_file(name, options).map_err(failed)?;
                io::copy(&mut job.content(item)?, &mut writer)?;
            }
            What::Folder => writer.add_directory(name, options).map_err(failed)?,
            What::Link(target) => {
                writer.add_symlink(name, target.to_string_lossy(), options).map_err(failed)?;
            }
        }
    }
    writer.finish().map_err(failed)?.flush()
}

fn options(
    job: &Job<'_>,
    item: &Item,
) -> Result<FileOptions<'static, 'static, ExtendedFileOptions>, ZipError> {
    let level = job.packing.level;
    let method = match level {
        Some(0) => CompressionMethod::Stored,
        _ => CompressionMethod::Deflated,
    };
    let mut options = FileOptions::default()
        .compression_method(method)
        .compression_level(level.filter(|level| *level > 0).map(i64::from))
        .unix_permissions(item.mode)
        .system(System::Unix)
        .large_file(item.size >= LARGE)
        .last_modified_time(coarse(item.seconds()).unwrap_or_default());
    if let Ok(seconds) = u32::try_from(item.seconds()) {
        let mut times = vec![HAS_MODIFIED];
        times.extend(seconds.to_le_bytes());
        options.add_extra_field(UNIX_TIMES, times, false)?;
    }
    Ok(options)
}

/// The time as zip knows it, from 1980 on and to two seconds.
fn coarse(seconds: u64) -> Option<DateTime> {
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
