//! An open regular file: small ones in memory, large ones read on demand.

use std::fs::{File, Metadata};
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use hermes_core::{ErrorKind, ToolContext, ToolError};
use hermes_files::{FileAccess, FileKind, explain_error};
use serde::{Deserialize, Serialize};

use crate::missing::{MissingKind, explain_missing};
use crate::path_text::display_path;

/// Files up to this size are read at once, so the content is consistent and its
/// hash is known.
const MAX_IN_MEMORY_BYTES: u64 = 8 * 1024 * 1024;
/// Read limit for kernel pseudo-files, which report a size of 0.
const MAX_PSEUDO_FILE_BYTES: u64 = 16 * 1024 * 1024;
/// Interval between progress reports.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(700);
/// File system timestamps are coarse: a file changed this recently may change
/// again without a new timestamp.
const CLOCK_GRANULARITY: Duration = Duration::from_millis(100);

/// A file that can be read more than once.
#[derive(Debug)]
pub(crate) struct SeekableFile {
    bytes: SourceBytes,
    stamp: VersionStamp,
    modified: Option<SystemTime>,
}

#[derive(Debug)]
enum SourceBytes {
    Memory(Cursor<Vec<u8>>),
    Disk(GuardedFile),
}

/// Identifies a version of a file without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct VersionStamp {
    dev: u64,
    ino: u64,
    len: u64,
    /// Last change of content and of metadata, in seconds and nanoseconds.
    modified: (i64, i64),
    changed: (i64, i64),
}

/// A file limited to its size when opened: later appends are ignored, and reads
/// fail once the call is cancelled.
#[derive(Debug)]
struct GuardedFile {
    file: File,
    position: u64,
    len: u64,
    cx: ToolContext,
    last_report: Instant,
}

impl VersionStamp {
    fn from_metadata(found: &Metadata) -> Self {
        Self {
            dev: found.dev(),
            ino: found.ino(),
            len: found.len(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        }
    }

    /// Whether both stamps belong to the same file.
    pub(crate) fn is_same_file(&self, other: &Self) -> bool {
        (self.dev, self.ino) == (other.dev, other.ino)
    }

    /// Whether the next change would alter the stamp.
    pub(crate) fn is_settled(&self) -> bool {
        let (seconds, nanoseconds) = self.changed.max(self.modified);
        let parts = (u64::try_from(seconds), u32::try_from(nanoseconds));
        let (Ok(seconds), Ok(nanoseconds)) = parts else { return false };
        let at = SystemTime::UNIX_EPOCH.checked_add(Duration::new(seconds, nanoseconds));
        at.and_then(|at| at.elapsed().ok()).is_some_and(|age| age > CLOCK_GRANULARITY)
    }
}

impl SeekableFile {
    /// Opens the file at `path`, which is absolute. Refuses files that could
    /// block or never end before opening them.
    pub(crate) fn open(path: &Path, cx: &ToolContext) -> Result<Self, ToolError> {
        let files = FileAccess::new(cx);
        let file = files.open(path).map_err(|error| open_error(&files, path, cx, error))?;
        let opened = file.metadata().map_err(|error| explain_error("open", path, &error))?;
        let (stamp, modified) = (VersionStamp::from_metadata(&opened), opened.modified().ok());
        let len = opened.len();
        let limit = if len == 0 { MAX_PSEUDO_FILE_BYTES + 1 } else { len };
        let mut watched = GuardedFile {
            file,
            position: 0,
            len: limit,
            cx: cx.clone(),
            last_report: Instant::now(),
        };
        if len > MAX_IN_MEMORY_BYTES {
            return Ok(Self { bytes: SourceBytes::Disk(watched), stamp, modified });
        }
        let mut bytes = Vec::with_capacity(len as usize);
        watched.read_to_end(&mut bytes).map_err(|error| Self::read_error(path, cx, &error))?;
        if bytes.len() as u64 > MAX_PSEUDO_FILE_BYTES {
            return Err(ToolError::limit(format!(
                "{} has no size and exceeds {MAX_PSEUDO_FILE_BYTES} bytes",
                display_path(path)
            )));
        }
        Ok(Self { bytes: SourceBytes::Memory(Cursor::new(bytes)), stamp, modified })
    }

    /// Returns a source with `text`, extracted from this file, as its content.
    pub(crate) fn with_text(&self, text: &str) -> Self {
        let bytes = SourceBytes::Memory(Cursor::new(text.as_bytes().to_vec()));
        Self { bytes, stamp: self.stamp, modified: self.modified }
    }

    /// Returns the size in bytes.
    pub(crate) fn len(&self) -> u64 {
        match &self.bytes {
            SourceBytes::Memory(bytes) => bytes.get_ref().len() as u64,
            SourceBytes::Disk(watched) => watched.len,
        }
    }

    /// Returns the content if the file is in memory.
    pub(crate) fn memory(&self) -> Option<&[u8]> {
        match &self.bytes {
            SourceBytes::Memory(bytes) => Some(bytes.get_ref()),
            SourceBytes::Disk(_) => None,
        }
    }

    /// Returns the version stamp.
    pub(crate) fn stamp(&self) -> VersionStamp {
        self.stamp
    }

    /// Returns the modification time.
    pub(crate) fn modified(&self) -> Option<SystemTime> {
        self.modified
    }

    /// Converts a read failure to the error of the call.
    pub(crate) fn read_error(path: &Path, cx: &ToolContext, error: &io::Error) -> ToolError {
        if cx.cancel.is_cancelled() {
            ToolError::cancelled()
        } else {
            explain_error("read", path, error)
        }
    }
}

/// Explains why a file was not opened, with a hint.
fn open_error(
    files: &FileAccess<'_>,
    path: &Path,
    cx: &ToolContext,
    error: ToolError,
) -> ToolError {
    match error.kind() {
        ErrorKind::NotFound => explain_missing(MissingKind::File, path, cx),
        ErrorKind::InvalidArguments => match files.metadata(path).map(|found| found.kind) {
            Ok(FileKind::Directory) => {
                ToolError::invalid(format!("{} is a directory", display_path(path)))
                    .with_hint("List it with directory_list.")
            }
            Ok(_) => error.with_hint("Only regular files can be read."),
            Err(_) => error,
        },
        _ => error,
    }
}

impl Read for GuardedFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.cx.cancel.is_cancelled() {
            return Err(io::Error::other("cancelled"));
        }
        if self.last_report.elapsed() > PROGRESS_INTERVAL {
            self.last_report = Instant::now();
            let fraction = self.position as f64 / self.len.max(1) as f64;
            self.cx.report_progress(Some(fraction.min(1.0)), "Reading the file");
        }
        let left = usize::try_from(self.len.saturating_sub(self.position)).unwrap_or(usize::MAX);
        let room = buffer.len().min(left);
        let read = self.file.read(buffer.get_mut(..room).unwrap_or_default())?;
        self.position += read as u64;
        Ok(read)
    }
}

impl Seek for GuardedFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.position = self.file.seek(to)?;
        Ok(self.position)
    }
}

impl Read for SeekableFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.bytes {
            SourceBytes::Memory(bytes) => bytes.read(buffer),
            SourceBytes::Disk(watched) => watched.read(buffer),
        }
    }
}

impl Seek for SeekableFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match &mut self.bytes {
            SourceBytes::Memory(bytes) => bytes.seek(to),
            SourceBytes::Disk(watched) => watched.seek(to),
        }
    }
}
