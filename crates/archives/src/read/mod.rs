//! Reading archives of any format: each entry once, in order.

mod gzip_members;
mod pax;
mod seven;
mod seven_header;
mod single;
mod sparse;
mod tar_reader;
mod tarball;
mod zip_directory;
mod zipfile;

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use hermes_core::ToolError;
use hermes_files::{FileAccess, explain_error};

use crate::format::{ArchiveFormat, FORMAT_HEAD_BYTES};
use crate::limits::{ArchiveLimits, UnpackBudget};
use crate::member::ArchiveMember;
use crate::progress::{ProgressHooks, ProgressTracker};

/// An archive open for reading.
#[derive(Debug)]
pub(crate) struct OpenArchive {
    pub(crate) path: PathBuf,
    pub(crate) file: File,
    pub(crate) len: u64,
    pub(crate) format: ArchiveFormat,
}

/// What a visit reads of the entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VisitMode {
    /// Only their metadata.
    Names,
    /// Metadata and content.
    Content,
}

/// Callback for each entry with its content.
pub(crate) type MemberVisitor<'v> =
    dyn FnMut(ArchiveMember, &mut dyn Read) -> Result<(), ToolError> + 'v;

/// One pass over an archive.
pub(crate) struct ArchiveVisit<'a> {
    pub(crate) archive: &'a OpenArchive,
    pub(crate) gauge: &'a ProgressTracker<'a>,
    pub(crate) budget: &'a UnpackBudget,
    pub(crate) mode: VisitMode,
}

impl OpenArchive {
    pub(crate) fn new(files: &FileAccess<'_>, path: &Path) -> Result<Self, ToolError> {
        let mut file = files.open(path)?;
        let failed = |error: io::Error| explain_error("read", path, &error);
        let len = file.metadata().map_err(failed)?.len();
        let mut head = Vec::new();
        (&mut file).take(FORMAT_HEAD_BYTES as u64).read_to_end(&mut head).map_err(failed)?;
        if head.is_empty() {
            return Err(ToolError::invalid(format!("{} is empty", path.display()))
                .with_hint("It is not an archive; check how it was created."));
        }
        let format = ArchiveFormat::from_content(&head, path)?;
        file.seek(SeekFrom::Start(0)).map_err(failed)?;
        Ok(Self { path: path.to_path_buf(), file, len, format })
    }

    /// Calls `each` for every entry until it fails. Returns the names of
    /// entries that were skipped because a later one has the same name.
    pub(crate) fn visit(
        &self,
        limits: ArchiveLimits,
        oversight: ProgressHooks<'_>,
        appetite: VisitMode,
        each: &mut MemberVisitor<'_>,
    ) -> Result<Vec<Vec<u8>>, ToolError> {
        let gauge = ProgressTracker::new(oversight, self.len);
        let budget = UnpackBudget::new(limits, self.len);
        let tour = ArchiveVisit { archive: self, gauge: &gauge, budget: &budget, mode: appetite };
        let visited = match self.format {
            ArchiveFormat::Zip => zipfile::visit(&tour, each),
            ArchiveFormat::SevenZip => seven::visit(&tour, each).map(|()| Vec::new()),
            ArchiveFormat::Gz | ArchiveFormat::Zst => {
                single::visit(&tour, each).map(|()| Vec::new())
            }
            ArchiveFormat::Tar | ArchiveFormat::TarGz | ArchiveFormat::TarZst => {
                tarball::visit(&tour, each).map(|()| Vec::new())
            }
        };
        // The reason for stopping takes precedence over errors it caused.
        visited.map_err(|error| gauge.stop_reason_or(|| error))
    }

    /// Returns the name of the single file: the archive's name without its
    /// extension.
    pub(crate) fn single_member_name(&self) -> Vec<u8> {
        use std::os::unix::ffi::OsStrExt;
        let stem = self.path.file_stem().filter(|_| self.path.extension().is_some());
        let plain = || self.path.file_name().map(|name| [name.as_bytes(), b".out"].concat());
        stem.map(|stem| stem.as_bytes().to_vec()).or_else(plain).unwrap_or_else(|| b"data".to_vec())
    }
}

impl ArchiveVisit<'_> {
    /// Returns the archive's file, rewound to the start.
    pub(crate) fn rewound_file(&self) -> Result<File, ToolError> {
        let opened = || {
            let mut file = self.archive.file.try_clone()?;
            file.seek(SeekFrom::Start(0))?;
            Ok(file)
        };
        opened().map_err(|error: io::Error| explain_error("read", &self.archive.path, &error))
    }

    /// Returns the error for a damaged archive.
    pub(crate) fn damaged_error(&self, error: &dyn std::fmt::Display) -> ToolError {
        self.gauge.stop_reason_or(|| {
            let (path, format) = (self.archive.path.display(), self.archive.format);
            ToolError::invalid(format!("{path} is a damaged {format} archive: {error}"))
                .with("damaged", true)
                .with_hint("It may be truncated or corrupted; get it again.")
        })
    }

    /// Returns the error for an archive that needs an unsupported feature.
    pub(crate) fn unsupported_error(&self, what: &str) -> ToolError {
        self.gauge.stop_reason_or(|| {
            let path = self.archive.path.display();
            ToolError::invalid(format!("{path} cannot be unpacked: {what}"))
                .with_hint("A program such as `7z` or `bsdtar` may support it.")
        })
    }

    /// Returns the error for an archive or entry that needs a password.
    pub(crate) fn encrypted_error(&self, entry: Option<&str>) -> ToolError {
        let path = self.archive.path.display();
        let what = match entry {
            Some(entry) => format!("{entry:?} in {path} is encrypted"),
            None => format!("{path} is encrypted"),
        };
        ToolError::invalid(format!("{what}; passwords are not supported"))
            .with("encrypted", true)
            .with_hint("Ask the user to decrypt it with a program such as `7z`.")
    }
}
