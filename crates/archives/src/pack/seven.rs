//! Writing 7z, each file compressed separately, so one can be extracted alone.

use std::io::{self, Seek, Write};
use std::os::unix::ffi::OsStrExt;

use sevenz_rust2::encoder_options::Lzma2Options;
use sevenz_rust2::{
    ArchiveEntry, ArchiveWriter, EncoderConfiguration, EncoderMethod, Error, NtTime,
};

use super::PackJob;
use super::sources::{PackEntry, PackEntryKind};
use crate::member::{TYPE_DIRECTORY, TYPE_FILE, TYPE_LINK};

const DEFAULT_LEVEL: u32 = 6;
/// Attribute flag: the upper half is a Unix mode.
const UNIX_MODE_ATTRIBUTE: u32 = 0x8000;
/// Attribute flag of a directory.
const DIRECTORY_ATTRIBUTE: u32 = 0x10;

pub(super) fn write(job: &PackJob<'_>, out: impl Write + Seek) -> io::Result<()> {
    let failed = |error: Error| match error {
        Error::Io(error, _) => error,
        other => job.write_error(other),
    };
    let mut writer = ArchiveWriter::new(out).map_err(failed)?;
    let method = match job.packing.level {
        Some(0) => EncoderConfiguration::new(EncoderMethod::COPY),
        level => EncoderConfiguration::new(EncoderMethod::LZMA2)
            .with_options(Lzma2Options::from_level(level.unwrap_or(DEFAULT_LEVEL)).into()),
    };
    writer.set_content_methods(vec![method]);
    for item in &job.plan.entries {
        job.gauge.check()?;
        let entry = to_entry(item);
        match &item.kind {
            PackEntryKind::File if item.size > 0 => {
                let content = job.open_content(item)?;
                writer.push_archive_entry(entry, Some(content)).map_err(failed)?;
            }
            PackEntryKind::File | PackEntryKind::Directory => {
                writer.push_archive_entry::<io::Empty>(entry, None).map_err(failed)?;
            }
            PackEntryKind::Link(target) => {
                let content = target.as_os_str().as_bytes();
                writer.push_archive_entry(entry, Some(content)).map_err(failed)?;
            }
        }
    }
    writer.finish()?.flush()
}

fn to_entry(item: &PackEntry) -> ArchiveEntry {
    let name = item.display_name();
    let (mut entry, kind, flags) = match item.kind {
        PackEntryKind::Directory => {
            (ArchiveEntry::new_directory(&name), TYPE_DIRECTORY, DIRECTORY_ATTRIBUTE)
        }
        PackEntryKind::File => (ArchiveEntry::new_file(&name), TYPE_FILE, 0),
        PackEntryKind::Link(_) => (ArchiveEntry::new_file(&name), TYPE_LINK, 0),
    };
    entry.has_windows_attributes = true;
    entry.windows_attributes = ((kind | item.mode) << 16) | UNIX_MODE_ATTRIBUTE | flags;
    if let Some(time) = item.modified.and_then(|at| NtTime::try_from(at).ok()) {
        entry.last_modified_date = time;
        entry.has_last_modified_date = true;
    }
    entry
}
