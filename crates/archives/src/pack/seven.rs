//! Writing 7z, each file by itself, so that one can be taken out alone.

use std::io::{self, Seek, Write};
use std::os::unix::ffi::OsStrExt;

use sevenz_rust2::encoder_options::Lzma2Options;
use sevenz_rust2::{
    ArchiveEntry, ArchiveWriter, EncoderConfiguration, EncoderMethod, Error, NtTime,
};

use super::Job;
use super::sources::{Item, What};
use crate::member::{TYPE_FILE, TYPE_FOLDER, TYPE_LINK};

const USUAL: u32 = 6;
/// The attribute that says that the upper half is a Unix mode.
const HAS_MODE: u32 = 0x8000;
/// The attribute of a folder.
const IS_FOLDER: u32 = 0x10;

pub(super) fn write(job: &Job<'_>, out: impl Write + Seek) -> io::Result<()> {
    let failed = |error: Error| match error {
        Error::Io(error, _) => error,
        other => job.failed(other),
    };
    let mut writer = ArchiveWriter::new(out).map_err(failed)?;
    let method = match job.packing.level {
        Some(0) => EncoderConfiguration::new(EncoderMethod::COPY),
        level => EncoderConfiguration::new(EncoderMethod::LZMA2)
            .with_options(Lzma2Options::from_level(level.unwrap_or(USUAL)).into()),
    };
    writer.set_content_methods(vec![method]);
    for item in &job.plan.items {
        job.gauge.check()?;
        let entry = describe(item);
        match &item.what {
            What::File if item.size > 0 => {
                let content = job.content(item)?;
                writer.push_archive_entry(entry, Some(content)).map_err(failed)?;
            }
            What::File | What::Folder => {
                writer.push_archive_entry::<io::Empty>(entry, None).map_err(failed)?;
            }
            What::Link(target) => {
                let content = target.as_os_str().as_bytes();
                writer.push_archive_entry(entry, Some(content)).map_err(failed)?;
            }
        }
    }
    writer.finish()?.flush()
}

fn describe(item: &Item) -> ArchiveEntry {
    let name = item.shown();
    let (mut entry, kind, flags) = match item.what {
        What::Folder => (ArchiveEntry::new_directory(&name), TYPE_FOLDER, IS_FOLDER),
        What::File => (ArchiveEntry::new_file(&name), TYPE_FILE, 0),
        What::Link(_) => (ArchiveEntry::new_file(&name), TYPE_LINK, 0),
    };
    entry.has_windows_attributes = true;
    entry.windows_attributes = ((kind | item.mode) << 16) | HAS_MODE | flags;
    if let Some(time) = item.modified.and_then(|at| NtTime::try_from(at).ok()) {
        entry.last_modified_date = time;
        entry.has_last_modified_date = true;
    }
    entry
}
