//! Target directory of an archive, held open from the moment it was checked. No
//! symlink is followed below it.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use hermes_core::{Grants, Scope, ToolError};
use hermes_files::{explain_error, real_path};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};
use rustix::io::Errno;

/// A resolved target directory.
#[derive(Debug)]
pub(super) struct UnpackTarget {
    /// Real path of the target.
    pub(super) real: PathBuf,
    /// The target or its deepest existing ancestor.
    pub(super) base: OwnedFd,
    /// Path components missing below `base`; empty if the target exists.
    pub(super) missing: Vec<OsString>,
}

impl UnpackTarget {
    /// Resolves the path that the call was allowed to write.
    pub(super) fn resolve(grants: &Grants, target: &Path) -> Result<Self, ToolError> {
        let failed = |error: io::Error| explain_error("unpack into", target, &error);
        let real = match grants.real_path(&Scope::FILE_WRITE, target)? {
            Some(real) => real,
            None => real_path(target).map_err(failed)?,
        };
        Self::open_base(&real).map_err(failed)
    }

    fn open_base(real: &Path) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut base = rustix::fs::openat(CWD, "/", flags, Mode::empty())?;
        let mut parts = real.iter().skip(1);
        for part in parts.by_ref() {
            match open_subdir(&base, part) {
                Ok(next) => base = next,
                Err(Errno::NOENT) => {
                    let missing = std::iter::once(part).chain(parts).map(OsStr::to_owned).collect();
                    return Ok(Self { real: real.to_path_buf(), base, missing });
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Self { real: real.to_path_buf(), base, missing: Vec::new() })
    }

    /// Whether a relative path exists. A symlink on the way is an error: what
    /// it points to must not be written.
    pub(super) fn contains(&self, relative: &Path) -> Result<bool, ToolError> {
        if !self.missing.is_empty() {
            return Ok(false);
        }
        let dir = relative.parent().unwrap_or(Path::new(""));
        let mut here = None;
        for part in dir {
            match open_subdir(here.as_ref().unwrap_or(&self.base), part) {
                Ok(next) => here = Some(next),
                Err(Errno::NOENT) => return Ok(false),
                Err(Errno::LOOP) => return Err(through_link_error(relative)),
                Err(error) => return Err(explain_error("unpack", relative, &error.into())),
            }
        }
        let name = relative.file_name().unwrap_or_default();
        let found = kind_at(here.as_ref().unwrap_or(&self.base), name);
        Ok(found.map_err(|error| explain_error("look at", relative, &error.into()))?.is_some())
    }
}

fn through_link_error(relative: &Path) -> ToolError {
    ToolError::denied(format!(
        "{} would be written through a symlink in the target",
        relative.display()
    ))
    .with("rule", "link")
    .with_hint(
        "Nothing was unpacked. Unpack into the directory that the symlink points to, or \
        choose another target.",
    )
}

/// Opens the directory `name` in `here`; fails with `ELOOP` for a symlink.
pub(super) fn open_subdir(here: impl AsFd, name: &OsStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match rustix::fs::openat(here.as_fd(), name, flags, Mode::empty()) {
        Err(Errno::NOTDIR) if kind_at(here, name)? == Some(FileType::Symlink) => Err(Errno::LOOP),
        stepped => stepped,
    }
}

/// Returns the type of the entry `name`, if it exists.
pub(super) fn kind_at(here: impl AsFd, name: &OsStr) -> Result<Option<FileType>, Errno> {
    match rustix::fs::statat(here, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(FileType::from_raw_mode(stat.st_mode))),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the names and types of a directory's entries.
pub(super) fn names_in(dir: impl AsFd) -> Result<Vec<(OsString, FileType)>, Errno> {
    use std::os::unix::ffi::OsStrExt;
    let mut names = Vec::new();
    // An `O_PATH` handle cannot be read.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let readable = rustix::fs::openat(dir.as_fd(), ".", flags, Mode::empty())?;
    for entry in rustix::fs::Dir::new(readable)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        let kind = match entry.file_type() {
            FileType::Unknown => kind_at(dir.as_fd(), name)?.unwrap_or(FileType::Unknown),
            shown => shown,
        };
        names.push((name.to_owned(), kind));
    }
    names.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(names)
}

/// Joins the missing components to a path, for messages.
pub(super) fn join_parts(parts: &[OsString]) -> PathBuf {
    parts.iter().collect()
}
