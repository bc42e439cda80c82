//! File metadata.

use std::error::Error;
use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, FileType, Stat};

/// The kind of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A named pipe.
    Pipe,
    /// A socket.
    Socket,
    /// A character or block device.
    Device,
    /// Something else.
    Other,
}

impl FileKind {
    /// Returns the kind in words, with its article.
    pub fn describe(self) -> &'static str {
        match self {
            Self::File => "a file",
            Self::Directory => "a directory",
            Self::Link => "a symbolic link",
            Self::Pipe => "a named pipe",
            Self::Socket => "a socket",
            Self::Device => "a device",
            Self::Other => "a special file",
        }
    }
}

impl From<FileType> for FileKind {
    fn from(kind: FileType) -> Self {
        match kind {
            FileType::RegularFile => Self::File,
            FileType::Directory => Self::Directory,
            FileType::Symlink => Self::Link,
            FileType::Fifo => Self::Pipe,
            FileType::Socket => Self::Socket,
            FileType::CharacterDevice | FileType::BlockDevice => Self::Device,
            FileType::Unknown => Self::Other,
        }
    }
}

/// Metadata of a file, as reported by the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileMetadata {
    /// The kind of file.
    pub kind: FileKind,
    /// Length in bytes; kernel files report 0.
    pub len: u64,
    /// When the content last changed.
    pub modified: Option<SystemTime>,
    /// When content, name, mode or owner last changed. It cannot be set back.
    pub changed: Option<SystemTime>,
    /// The permission bits.
    pub mode: u32,
    /// Its owner and group ids.
    pub owner: (u32, u32),
    /// The identity of the file.
    pub identity: FileIdentity,
}

/// Identity of a file, independent of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileIdentity {
    /// The device of its file system.
    pub dev: u64,
    /// The inode number.
    pub ino: u64,
    /// Number of hard links.
    pub links: u64,
}

impl FileIdentity {
    /// Whether both are the same file.
    pub fn is_same(&self, other: &Self) -> bool {
        (self.dev, self.ino) == (other.dev, other.ino)
    }
}

/// Returns the identity of the file at `path`, following symlinks.
pub fn file_identity(path: &Path) -> io::Result<FileIdentity> {
    let found = fs::metadata(path)?;
    Ok(FileIdentity { dev: found.dev(), ino: found.ino(), links: found.nlink() })
}

/// Whether two paths lead to the same file.
pub fn same_file(a: &Path, b: &Path) -> io::Result<bool> {
    Ok(file_identity(a)?.is_same(&file_identity(b)?))
}

impl FileMetadata {
    /// Returns the metadata of a name in a directory; symlinks are not
    /// followed.
    pub fn read_at(dir: impl AsFd, name: &OsStr) -> io::Result<Self> {
        let stat = rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(Self::from_stat(&stat))
    }

    pub(crate) fn from_stat(stat: &Stat) -> Self {
        // Widened first, since the field types differ between platforms.
        let links = u64::try_from(i128::from(stat.st_nlink)).unwrap_or(u64::MAX);
        Self {
            kind: FileType::from_raw_mode(stat.st_mode).into(),
            len: u64::try_from(i128::from(stat.st_size)).unwrap_or(0),
            modified: system_time(i128::from(stat.st_mtime), i128::from(stat.st_mtime_nsec)),
            changed: system_time(i128::from(stat.st_ctime), i128::from(stat.st_ctime_nsec)),
            mode: stat.st_mode & 0o7777,
            owner: (stat.st_uid, stat.st_gid),
            identity: FileIdentity { dev: stat.st_dev, ino: stat.st_ino, links },
        }
    }

    /// Fails unless it is of that kind. A symlink is a separate error: it did
    /// not exist when the path was resolved.
    pub(crate) fn require_kind(&self, wanted: FileKind) -> io::Result<()> {
        let error = match self.kind {
            found if found == wanted => return Ok(()),
            FileKind::Link => return Err(rustix::io::Errno::LOOP.into()),
            FileKind::Directory => io::ErrorKind::IsADirectory,
            FileKind::File => io::ErrorKind::NotADirectory,
            _ => io::ErrorKind::InvalidInput,
        };
        Err(io::Error::new(error, WrongFileKind { found: self.kind, wanted }))
    }
}

fn system_time(seconds: i128, nanoseconds: i128) -> Option<SystemTime> {
    let nanoseconds = Duration::from_nanos(u64::try_from(nanoseconds).ok()?);
    let whole = Duration::from_secs(u64::try_from(seconds.unsigned_abs()).ok()?);
    let at = if seconds < 0 {
        SystemTime::UNIX_EPOCH.checked_sub(whole)
    } else {
        SystemTime::UNIX_EPOCH.checked_add(whole)
    };
    at?.checked_add(nanoseconds)
}

/// A file exists, but not of the expected kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrongFileKind {
    /// The kind found.
    pub found: FileKind,
    /// The kind expected.
    pub wanted: FileKind,
}

impl WrongFileKind {
    /// Returns the value that `error` carries.
    pub fn from_error(error: &io::Error) -> Option<Self> {
        error.get_ref()?.downcast_ref::<Self>().copied()
    }
}

impl fmt::Display for WrongFileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wanted = match self.wanted {
            FileKind::File => "a regular file",
            other => other.describe(),
        };
        write!(f, "it is {}, not {wanted}", self.found.describe())
    }
}

impl Error for WrongFileKind {}
