//! Creating archives, atomically.

mod seven;
mod single;
mod sources;
mod tarball;
mod zipfile;

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use hermes_core::{Grants, Scope, ToolError};
use hermes_files::{ExistingFile, FileAccess, WriteOptions, real_path};

use crate::dropped_attributes::DroppedAttribute;
use crate::filter::GlobFilter;
use crate::format::ArchiveFormat;
use crate::member::SkippedEntry;
use crate::progress::{ProgressHooks, ProgressTracker};

pub use sources::PackSource;
use sources::{PackEntry, PackPlan};

/// Contents and options of an archive to create.
#[derive(Debug)]
pub struct PackRequest<'a> {
    /// Files and directories to pack, with their names.
    pub sources: &'a [PackSource],
    /// Path of the archive.
    pub archive: &'a Path,
    /// Format of the archive.
    pub format: ArchiveFormat,
    /// Compression level; `None` for the default.
    pub level: Option<u32>,
    /// Filter for the files.
    pub choice: &'a GlobFilter,
    /// Whether files ignored by git are skipped.
    pub gitignore: bool,
    /// What to do if the archive already exists.
    pub existing: ExistingFile,
    /// Maximum total bytes of the files.
    pub max_bytes: u64,
}

/// A created archive.
#[derive(Debug)]
pub struct PackReport {
    /// Number of files.
    pub files: u64,
    /// Number of directories.
    pub dirs: u64,
    /// Number of symbolic links.
    pub links: u64,
    /// Total bytes of the files.
    pub bytes: u64,
    /// Size of the archive in bytes.
    pub packed: u64,
    /// Names of the packed entries.
    pub names: Vec<PathBuf>,
    /// Skipped entries, and why.
    pub skipped: Vec<SkippedEntry>,
    /// Attributes of packed entries that were dropped.
    pub not_kept: Vec<DroppedAttribute>,
}

/// Creates an archive. It appears under its name once it is complete; until
/// then, and after a failure, an existing file stays unchanged.
pub fn create(
    grants: &Grants,
    packing: &PackRequest<'_>,
    oversight: ProgressHooks<'_>,
) -> Result<PackReport, ToolError> {
    let files = FileAccess::with_grants(grants);
    check_level(packing)?;
    let own = match grants.real_path(&Scope::FILE_WRITE, packing.archive)? {
        Some(real) => real,
        None => real_path(packing.archive)
            .map_err(|error| hermes_files::explain_error("write", packing.archive, &error))?,
    };
    let mut plan = PackPlan::build(&files, packing, &own, oversight)?;
    plan.drop_unsupported(packing.format);
    if plan.entries.is_empty() {
        return Err(plan.nothing_to_pack_error());
    }
    if plan.bytes > packing.max_bytes {
        let what = format!(
            "The files have {} bytes together, more than the limit of {}; nothing was packed",
            plan.bytes, packing.max_bytes
        );
        let hint = "Pack less (paths, exclude), or set max_bytes if this much is intended.";
        return Err(ToolError::limit(what).with_hint(hint));
    }
    if packing.format.is_single() {
        single::require_one_file(packing, &plan)?;
    }
    let gauge = ProgressTracker::new(oversight, plan.bytes);
    let job = PackJob { files: &files, plan: &plan, packing, gauge: &gauge };
    let mode = WriteOptions { existing: packing.existing, ..WriteOptions::default() };
    let mut packed = 0;
    files
        .write_with(packing.archive, mode, |file| {
            job.write_archive(file)?;
            packed = file.metadata()?.len();
            Ok(())
        })
        .map_err(|error| gauge.stop_reason_or(|| error))?;
    Ok(plan.into_report(packed))
}

fn check_level(packing: &PackRequest<'_>) -> Result<(), ToolError> {
    let Some(level) = packing.level else { return Ok(()) };
    let format = packing.format;
    match format.compression_levels() {
        Some(levels) if levels.contains(&level) => Ok(()),
        Some(levels) => Err(ToolError::invalid(format!(
            "{format} supports levels {} to {}, not {level}",
            levels.start(),
            levels.end()
        ))),
        None => Err(ToolError::invalid(format!("{format} does not compress and has no levels"))),
    }
}

/// An archive being written.
struct PackJob<'a> {
    files: &'a FileAccess<'a>,
    plan: &'a PackPlan,
    packing: &'a PackRequest<'a>,
    gauge: &'a ProgressTracker<'a>,
}

impl PackJob<'_> {
    fn write_archive(&self, file: &mut File) -> io::Result<()> {
        match self.packing.format {
            ArchiveFormat::Zip => zipfile::write(self, BufWriter::new(file)),
            ArchiveFormat::SevenZip => seven::write(self, BufWriter::new(file)),
            ArchiveFormat::Tar => {
                let mut out = BufWriter::new(file);
                tarball::write(self, &mut out)?;
                out.flush()
            }
            ArchiveFormat::TarGz
            | ArchiveFormat::TarZst
            | ArchiveFormat::Gz
            | ArchiveFormat::Zst => {
                let mut out = BufWriter::new(file);
                single::write(self, &mut out)?;
                out.flush()
            }
        }
    }

    /// Opens the content of a file: exactly as many bytes as it had when it was
    /// found.
    fn open_content(&self, item: &PackEntry) -> io::Result<SourceReader<'_>> {
        let file = self.plan.open(self.files, item).map_err(|error| self.gauge.stop(error))?;
        Ok(SourceReader { file, left: item.size, path: item.display_name(), gauge: self.gauge })
    }

    fn write_error(&self, error: impl std::fmt::Display) -> io::Error {
        let what = format!("Cannot write the {} archive: {error}", self.packing.format);
        self.gauge.stop(ToolError::internal(what))
    }
}

/// Reader of a file being packed.
struct SourceReader<'a> {
    file: File,
    left: u64,
    path: String,
    gauge: &'a ProgressTracker<'a>,
}

impl Read for SourceReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.gauge.check()?;
        let room = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        if room == 0 {
            return Ok(0);
        }
        let read = self.file.read(buffer.get_mut(..room).unwrap_or_default())?;
        if read == 0 {
            let what = format!("{} was truncated while it was being packed", self.path);
            return Err(self.gauge.stop(
                ToolError::conflict(what)
                    .with_hint("Nothing was written. Retry when no other process writes to it."),
            ));
        }
        self.left -= read as u64;
        self.gauge.advance(read as u64);
        Ok(read)
    }
}
