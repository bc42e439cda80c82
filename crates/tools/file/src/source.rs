//! An opened regular file: small ones in memory, large ones read as needed.

use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::path::Path;

use hermes_core::{CancellationToken, ErrorKind, ToolContext, ToolError};
use hermes_files::{Files, Kind, explain};

use crate::missing::{Wanted, explain_missing};

/// Files up to this size are read at once, so that what is shown is of one moment.
const SMALL: u64 = 1024 * 1024;
/// Kernel files say that they are empty; no more than this is taken from one.
const PSEUDO: u64 = 16 * 1024 * 1024;

/// Bytes of a file that can be read more than once.
#[derive(Debug)]
pub(crate) enum Source {
    Memory(Cursor<Vec<u8>>),
    Disk(Watched),
}

/// A file as it was when opened: what is appended later is not seen, and a
/// read fails once the call is cancelled.
#[derive(Debug)]
pub(crate) struct Watched {
    file: File,
    position: u64,
    len: u64,
    cancel: CancellationToken,
}

impl Source {
    /// Opens the file at `path`, which is absolute. Whatever could hang or
    /// never end is refused unopened.
    pub(crate) fn open(path: &Path, cx: &ToolContext) -> Result<Self, ToolError> {
        let files = Files::new(cx);
        let file = files.open(path).map_err(|error| refused(&files, path, cx, error))?;
        let opened = file.metadata().map_err(|error| explain("open", path, &error))?;
        let len = opened.len();
        let limit = if len == 0 { PSEUDO + 1 } else { len };
        let mut watched = Watched { file, position: 0, len: limit, cancel: cx.cancel.clone() };
        if len > SMALL {
            return Ok(Self::Disk(watched));
        }
        let mut bytes = Vec::with_capacity(len as usize);
        watched.read_to_end(&mut bytes).map_err(|error| Self::failed(path, cx, &error))?;
        if bytes.len() as u64 > PSEUDO {
            return Err(ToolError::limit(format!(
                "{} has no size and does not end after {PSEUDO} bytes",
                path.display()
            )));
        }
        Ok(Self::Memory(Cursor::new(bytes)))
    }

    /// How many bytes there are.
    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::Memory(bytes) => bytes.get_ref().len() as u64,
            Self::Disk(watched) => watched.len,
        }
    }

    /// The error of a call whose reading failed.
    pub(crate) fn failed(path: &Path, cx: &ToolContext, error: &io::Error) -> ToolError {
        if cx.cancel.is_cancelled() { ToolError::cancelled() } else { explain("read", path, error) }
    }
}

/// Why a file was not opened, with what to do instead.
fn refused(files: &Files<'_>, path: &Path, cx: &ToolContext, error: ToolError) -> ToolError {
    match error.kind() {
        ErrorKind::NotFound => explain_missing(Wanted::File, path, cx),
        ErrorKind::InvalidArguments => match files.metadata(path).map(|found| found.kind) {
            Ok(Kind::Folder) => ToolError::invalid(format!("{} is a folder", path.display()))
                .with_hint("List it with directory_list."),
            Ok(_) => error.with_hint("Only regular files can be read."),
            Err(_) => error,
        },
        _ => error,
    }
}

impl Read for Watched {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.cancel.is_cancelled() {
            return Err(io::Error::other("cancelled"));
        }
        let left = usize::try_from(self.len.saturating_sub(self.position)).unwrap_or(usize::MAX);
        let room = buffer.len().min(left);
        let read = self.file.read(buffer.get_mut(..room).unwrap_or_default())?;
        self.position += read as u64;
        Ok(read)
    }
}

impl Seek for Watched {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.position = self.file.seek(to)?;
        Ok(self.position)
    }
}

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Memory(bytes) => bytes.read(buffer),
            Self::Disk(watched) => watched.read(buffer),
        }
    }
}

impl Seek for Source {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            Self::Memory(bytes) => bytes.seek(to),
            Self::Disk(watched) => watched.seek(to),
        }
    }
}
