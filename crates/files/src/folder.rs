//! An open folder, and what is in it and below it. It stays this folder,
//! whatever happens to the path that led to it; links are never followed.

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

use crate::facts::{Facts, Kind};
use crate::open::{Spot, Walk};

/// An open folder. Paths below it are relative and made of plain names.
pub struct Folder {
    handle: OwnedFd,
    walk: Walk,
    /// What stays closed in it, and where it is.
    closed: Option<(Arc<dyn GrantExceptions>, PathBuf)>,
}

impl fmt::Debug for Folder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Folder").field("handle", &self.handle).finish_non_exhaustive()
    }
}

/// One entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: OsString,
    /// What it is; a link is a link.
    pub kind: Kind,
}

/// The entries of a folder, in no particular order; `.` and `..` are left out.
#[derive(Debug)]
pub struct Entries {
    listing: Dir,
}

impl Folder {
    pub(crate) fn new(handle: OwnedFd, walk: Walk) -> Self {
        Self { handle, walk, closed: None }
    }

    /// The same folder at that real place, in which these stay closed.
    pub(crate) fn except(self, exceptions: Option<&Arc<dyn GrantExceptions>>, place: PathBuf) -> Self {
        Self { closed: exceptions.map(|exceptions| (Arc::clone(exceptions), place)), ..self }
    }

    pub(crate) fn handle(&self) -> &OwnedFd {
        &self.handle
    }

    /// A second handle of the same folder.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self { handle: self.handle.try_clone()?, walk: self.walk, closed: self.closed.clone() })
    }

    /// What is in it.
    pub fn entries(&self) -> io::Result<Entries> {
        Ok(Entries { listing: Dir::read_from(&self.handle)? })
    }

    /// What is at a path below.
    pub fn facts(&self, relative: &Path) -> io::Result<Facts> {
        self.spot(relative)?.facts()
    }

    /// Where the link at a path below leads, as it is written; none if it is
    /// no link.
    pub fn read_link(&self, relative: &Path) -> io::Result<Option<PathBuf>> {
        self.spot(relative)?.read_link()
    }

    /// Opens a folder below.
    pub fn folder(&self, relative: &Path) -> io::Result<Folder> {
        let folder = self.spot(relative)?.folder(self.walk)?;
        let closed =
            self.closed.as_ref().map(|(all, place)| (Arc::clone(all), place.join(relative)));
        Ok(Folder { closed, ..folder })
    }

    /// Opens a regular file below for reading.
    pub fn open(&self, relative: &Path) -> io::Result<File> {
        let closed = |(all, place): &(Arc<dyn GrantExceptions>, PathBuf)| {
            all.denies(&Scope::FILE_READ, &place.join(relative))
        };
        if self.closed.as_ref().is_some_and(closed) {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is protected"));
        }
        let file = self.spot(relative)?.open(OFlags::RDONLY)?;
        let shared = |(all, place): &(Arc<dyn GrantExceptions>, PathBuf)| {
            let found = shared(&file)?;
            Some(all.denies_hard_linked(&Scope::FILE_READ, &place.join(relative), found))
        };
        match self.closed.as_ref().and_then(shared) {
            Some(true) => {
                let what = "it is another name of a protected file";
                Err(io::Error::new(io::ErrorKind::PermissionDenied, what))
            }
            _ => Ok(file),
        }
    }

    fn spot(&self, relative: &Path) -> io::Result<Spot> {
        Spot::below(&self.handle, relative, self.walk)
    }
}

impl Iterator for Entries {
    type Item = io::Result<Entry>;

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
                // Not every file system tells at once.
                FileType::Unknown => match self.look(&name) {
                    Ok(kind) => kind,
                    Err(error) => return Some(Err(error)),
                },
                told => told.into(),
            };
            return Some(Ok(Entry { name, kind }));
        }
    }
}

impl Entries {
    fn look(&self, name: &OsStr) -> io::Result<Kind> {
        let stat = rustix::fs::statat(self.listing.fd()?, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(Facts::of(&stat).kind)
    }
}

/// Which file it is, if it has several names.
pub(crate) fn shared(file: &File) -> Option<(u64, u64)> {
    let found = rustix::fs::fstat(file).ok()?;
    let identity = Facts::of(&found).identity;
    (identity.links > 1).then_some((identity.dev, identity.ino))
}
