//! An open directory and its contents. The handle refers to the same directory
//! whatever happens to its path; symlinks are never followed.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hermes_core::{GrantExceptions, Scope};
use rustix::fs::{AtFlags, Dir, FileType, OFlags};

use crate::metadata::{FileKind, FileMetadata};
use crate::open::{AnchoredName, WalkMode};

/// An open directory. Paths below it are relative and made of plain names.
pub struct OpenDir {
    handle: OwnedFd,
    walk: WalkMode,
    /// Paths denied within it, and its real path.
    exceptions: Option<(Arc<dyn GrantExceptions>, PathBuf)>,
}

impl fmt::Debug for OpenDir {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenDir").field("handle", &self.handle).finish_non_exhaustive()
    }
}

/// One entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirEntry {
    /// Its name.
    pub name: OsString,
    /// Its kind; symlinks are not followed.
    pub kind: FileKind,
}

/// The entries of a directory, in no particular order, without `.` and `..`.
#[derive(Debug)]
pub struct DirEntries {
    listing: Dir,
}

impl OpenDir {
    pub(crate) fn new(handle: OwnedFd, walk: WalkMode) -> Self {
        Self { handle, walk, exceptions: None }
    }

    /// Returns the same directory with its real path and the paths denied in
    /// it.
    pub(crate) fn with_exceptions(
        self,
        exceptions: Option<&Arc<dyn GrantExceptions>>,
        place: PathBuf,
    ) -> Self {
        Self { exceptions: exceptions.map(|exceptions| (Arc::clone(exceptions), place)), ..self }
    }

    pub(crate) fn handle(&self) -> &OwnedFd {
        &self.handle
    }

    /// Returns a second handle of the same directory.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self {
            handle: self.handle.try_clone()?,
            walk: self.walk,
            exceptions: self.exceptions.clone(),
        })
    }

    /// Returns its entries.
    pub fn entries(&self) -> io::Result<DirEntries> {
        Ok(DirEntries { listing: Dir::read_from(&self.handle)? })
    }

    /// Returns the metadata of a path below; symlinks are not followed.
    pub fn metadata(&self, relative: &Path) -> io::Result<FileMetadata> {
        self.anchor(relative)?.metadata()
    }

    /// Returns the target of the symlink at a path below as written; `None` if
    /// it is not a symlink.
    pub fn read_link(&self, relative: &Path) -> io::Result<Option<PathBuf>> {
        self.anchor(relative)?.read_link()
    }

    /// Opens a directory below.
    pub fn open_dir(&self, relative: &Path) -> io::Result<OpenDir> {
        let dir = self.anchor(relative)?.open_dir(self.walk)?;
        let closed =
            self.exceptions.as_ref().map(|(all, place)| (Arc::clone(all), place.join(relative)));
        Ok(OpenDir { exceptions: closed, ..dir })
    }

    /// Opens a regular file below for reading.
    pub fn open(&self, relative: &Path) -> io::Result<File> {
        let closed = |(all, place): &(Arc<dyn GrantExceptions>, PathBuf)| {
            all.denies(&Scope::FILE_READ, &place.join(relative))
        };
        if self.exceptions.as_ref().is_some_and(closed) {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is protected"));
        }
        let file = self.anchor(relative)?.open(OFlags::RDONLY)?;
        let shared = |(all, place): &(Arc<dyn GrantExceptions>, PathBuf)| {
            let found = hard_linked_id(&file)?;
            Some(all.denies_hard_linked(&Scope::FILE_READ, &place.join(relative), found))
        };
        match self.exceptions.as_ref().and_then(shared) {
            Some(true) => {
                let what = "it is a hard link to a protected file";
                Err(io::Error::new(io::ErrorKind::PermissionDenied, what))
            }
            _ => Ok(file),
        }
    }

    fn anchor(&self, relative: &Path) -> io::Result<AnchoredName> {
        AnchoredName::resolve_below(&self.handle, relative, self.walk)
    }
}

impl Iterator for DirEntries {
    type Item = io::Result<DirEntry>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let entry = match self.listing.read()? {
                Ok(entry) => entry,
                Err(error) => return Some(Err(error.into())),
            };
            let name = entry.file_name().to_bytes();
            if matches!(name, b"." | b"..") {
                continue;
            }
            let name = OsStr::from_bytes(name).to_owned();
            let kind = match entry.file_type() {
                // Not every file system reports the type here.
                FileType::Unknown => match self.look(&name) {
                    Ok(kind) => kind,
                    Err(error) => return Some(Err(error)),
                },
                shown => shown.into(),
            };
            return Some(Ok(DirEntry { name, kind }));
        }
    }
}

impl DirEntries {
    fn look(&self, name: &OsStr) -> io::Result<FileKind> {
        let stat = rustix::fs::statat(self.listing.fd()?, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(FileMetadata::from_stat(&stat).kind)
    }
}

/// Returns the identity of a file that has several hard links.
pub(crate) fn hard_linked_id(file: &File) -> Option<(u64, u64)> {
    let found = rustix::fs::fstat(file).ok()?;
    let identity = FileMetadata::from_stat(&found).identity;
    (identity.links > 1).then_some((identity.dev, identity.ino))
}
