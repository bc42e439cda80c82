//! What a file is, apart from its name.

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
    /// A folder.
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
    /// The kind in words, with its article.
    pub fn describe(self) -> &'static str {
        match self {
            Self::File => "a file",
            Self::Directory => "a folder",
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

/// What the system knows of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileMetadata {
    /// What it is.
    pub kind: FileKind,
    /// Bytes of content; kernel files say 0.
    pub len: u64,
    /// When the content last changed.
    pub modified: Option<SystemTime>,
    /// When anything of it last changed: content, name, mode, owner. Nobody
    /// can put it back.
    pub changed: Option<SystemTime>,
    /// The permission bits.
    pub mode: u32,
    /// Its owner and its group.
    pub owner: (u32, u32),
    /// Which file it is.
    pub identity: FileIdentity,
}

/// Which file it is, whatever it is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileIdentity {
    /// The file system.
    pub dev: u64,
    /// The file in it.
    pub ino: u64,
    /// How many names the file has.
    pub links: u64,
}

impl FileIdentity {
    /// Whether both are one and the same file.
    pub fn is_same(&self, other: &Self) -> bool {
        (self.dev, self.ino) == (other.dev, other.ino)
    }
}

/// The identity of what `path` leads to.
pub fn file_identity(path: &Path) -> io::Result<FileIdentity> {
    let found = fs::metadata(path)?;
    Ok(FileIdentity { dev: found.dev(), ino: found.ino(), links: found.nlink() })
}

/// Whether two paths lead to one and the same file.
pub fn same_file(a: &Path, b: &Path) -> io::Result<bool> {
    Ok(file_identity(a)?.is_same(&file_identity(b)?))
}

impl FileMetadata {
    /// What is in a folder under a name; a link is a link.
    pub fn read_at(folder: impl AsFd, name: &OsStr) -> io::Result<Self> {
        let stat = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(Self::from_stat(&stat))
    }

    pub(crate) fn from_stat(stat: &Stat) -> Self {
        // Widened first, since the fields differ from one machine to another.
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

    /// An error unless it is of that kind. A link is told apart: it was not
    /// there when the place was looked up.
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

/// Something is there, but not of the kind that was wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrongFileKind {
    /// What is there.
    pub found: FileKind,
    /// What was wanted.
    pub wanted: FileKind,
}

impl WrongFileKind {
    /// The one that `error` carries.
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
