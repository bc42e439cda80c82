//! An opened regular file: small ones in memory, large ones read as needed.

use std::fs::{self, File, Metadata};
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::path::Path;

use hermes_core::{CancellationToken, ErrorKind, ToolContext, ToolError};

use crate::guard::{describe_special, refuse_traps};
use crate::missing::{Wanted, explain, explain_loop, is_loop};

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
    /// never end is refused first.
    pub(crate) fn open(path: &Path, cx: &ToolContext) -> Result<Self, ToolError> {
        refuse_traps(path)?;
        let found = fs::metadata(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
                explain(Wanted::File, path, &cx.workplace)
            }
            _ => failure("open", path, &error),
        })?;
        require_regular(path, &found)?;
        let file = File::open(path).map_err(|error| failure("open", path, &error))?;
        // Another file may have taken its place meanwhile.
        let opened = file.metadata().map_err(|error| failure("open", path, &error))?;
        require_regular(path, &opened)?;
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
        if cx.cancel.is_cancelled() { ToolError::cancelled() } else { failure("read", path, error) }
    }
}

fn require_regular(path: &Path, metadata: &Metadata) -> Result<(), ToolError> {
    let path = path.display();
    if metadata.is_file() {
        Ok(())
    } else if metadata.is_dir() {
        Err(ToolError::invalid(format!("{path} is a folder"))
            .with_hint("List it with directory_list."))
    } else {
        let kind = describe_special(metadata.file_type());
        Err(ToolError::invalid(format!("{path} is {kind}, not a regular file"))
            .with_hint("Only regular files can be read."))
    }
}

/// An operating-system error in words that say what to do.
pub(crate) fn failure(verb: &str, path: &Path, error: &io::Error) -> ToolError {
    if is_loop(error) {
        return explain_loop(path);
    }
    let what = format!("Cannot {verb} {}", path.display());
    match error.kind() {
        io::ErrorKind::PermissionDenied => ToolError::io(what, error).with_hint(
            "The account that hermes runs under lacks the permission; ask the user to grant it.",
        ),
        io::ErrorKind::InvalidFilename => {
            ToolError::new(ErrorKind::InvalidArguments, format!("{what}: the name is too long"))
        }
        _ => ToolError::io(what, error),
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
