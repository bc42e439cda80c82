//! Staging directory beside the target in which a tree is built. It is removed
//! with its contents unless it was moved into place.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use hermes_core::ToolError;
use hermes_files::{
    ChangeJournal, ScratchKind, claim, explain_error, remove_scratch, sweep_scratch,
};
use rustix::fs::{AtFlags, Mode, OFlags, Timespec, Timestamps};
use rustix::io::Errno;

use super::target::{UnpackTarget, kind_at, open_subdir};
use crate::dropped_attributes::DroppedAttributes;
use crate::name::SafeName;

/// Names tried for the directory.
const MAX_NAME_ATTEMPTS: usize = 64;
/// Owner permissions of a directory while it is filled.
const OWNER_MODE: u32 = 0o700;
/// Mode bits that are kept; set-ID bits are not.
const KEPT_MODE_BITS: u32 = 0o777;

/// A tree being unpacked.
#[derive(Debug)]
pub(super) struct StagingDir {
    /// Directory that contains it: the target, or its deepest existing
    /// ancestor.
    pub(super) base: OwnedFd,
    pub(super) name: OsString,
    pub(super) root: OwnedFd,
    /// Lock that shows that the owning process is alive.
    _claimed: Option<OwnedFd>,
    pub(super) missing: Vec<OsString>,
    /// Journal of the moves into place, kept until the staging directory is
    /// removed.
    pub(super) journal: Option<ChangeJournal>,
    target: PathBuf,
    /// Directories of the archive, whose times and modes are set at the end.
    dirs: BTreeMap<PathBuf, (Option<u32>, Option<SystemTime>)>,
}

impl StagingDir {
    pub(super) fn new_in(place: &UnpackTarget, target: &Path) -> Result<Self, ToolError> {
        let failed = |error: io::Error| explain_error("unpack into", target, &error);
        let base = place.base.try_clone().map_err(failed)?;
        sweep_scratch(&base);
        for _ in 0..MAX_NAME_ATTEMPTS {
            let name = ScratchKind::Directory.new_name();
            // A new target gets the default mode, less the umask.
            let bits = if place.missing.is_empty() { OWNER_MODE } else { 0o777 };
            match rustix::fs::mkdirat(&base, &name, Mode::from_raw_mode(bits)) {
                Ok(()) => {
                    let claimed = lockable_handle(&base, &name);
                    let root = match open_subdir(&base, &name) {
                        // Another process removed it as abandoned before it was
                        // locked.
                        Err(Errno::NOENT) => continue,
                        _ if claimed.as_ref().is_some_and(|dir| !claim(dir)) => continue,
                        root => root.map_err(|error| failed(error.into()))?,
                    };
                    return Ok(Self {
                        base,
                        name,
                        root,
                        _claimed: claimed,
                        missing: place.missing.clone(),
                        journal: None,
                        target: target.to_path_buf(),
                        dirs: BTreeMap::new(),
                    });
                }
                Err(Errno::EXIST) => {}
                Err(error) => return Err(failed(error.into())),
            }
        }
        Err(failed(Errno::EXIST.into()))
    }

    /// Creates a directory of the archive, which may be listed several times.
    pub(super) fn make_dir(
        &mut self,
        name: &SafeName,
        mode: Option<u32>,
        modified: Option<SystemTime>,
    ) -> Result<(), ToolError> {
        let made = self.ensure_dir(name.as_path());
        made.map_err(|error| self.entry_error(name.as_path(), &error.into()))?;
        self.dirs.insert(name.as_path().to_path_buf(), (mode, modified));
        Ok(())
    }

    /// Returns the directories of the archive.
    pub(super) fn dirs(&self) -> impl Iterator<Item = &Path> {
        self.dirs.keys().map(PathBuf::as_path)
    }

    /// Creates a new file.
    pub(super) fn create_file(
        &self,
        name: &SafeName,
        mode: Option<u32>,
    ) -> Result<File, ToolError> {
        let flags = OFlags::WRONLY
            | OFlags::CREATE
            | OFlags::EXCL
            | OFlags::NOFOLLOW
            | OFlags::CLOEXEC
            | OFlags::NOCTTY;
        let bits = Mode::from_raw_mode(mode.unwrap_or(0o666) & KEPT_MODE_BITS);
        let (dir, own) = name.parent_and_name();
        let made = self.ensure_dir(dir).and_then(|dir| rustix::fs::openat(dir, own, flags, bits));
        made.map(File::from).map_err(|error| self.entry_error(name.as_path(), &error.into()))
    }

    /// Removes a file created before.
    pub(super) fn remove(&self, name: &SafeName) -> Result<(), ToolError> {
        let (dir, own) = name.parent_and_name();
        let removed = self.open_dir(dir).and_then(|dir| {
            rustix::fs::unlinkat(dir.as_ref().unwrap_or(&self.root), own, AtFlags::empty())
        });
        removed.map_err(|error| self.entry_error(name.as_path(), &error.into()))
    }

    /// Hard-links a file unpacked before; returns whether that file exists.
    pub(super) fn hard_link(&self, name: &SafeName, target: &SafeName) -> Result<bool, ToolError> {
        let (from, old) = target.parent_and_name();
        let Ok(from) = self.open_dir(from) else { return Ok(false) };
        let (to, new) = name.parent_and_name();
        let linked = self.ensure_dir(to).and_then(|to| {
            let from = from.as_ref().unwrap_or(&self.root);
            let stat = match rustix::fs::statat(from, old, AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) => return Ok(false),
                found => found?,
            };
            let is_file = rustix::fs::FileType::from_raw_mode(stat.st_mode).is_file();
            if is_file {
                rustix::fs::linkat(from, old, &to, new, AtFlags::empty())?;
            }
            Ok(is_file)
        });
        linked.map_err(|error| self.entry_error(name.as_path(), &error.into()))
    }

    /// Creates a symbolic link whose target was checked.
    pub(super) fn symlink(&self, name: &SafeName, target: &[u8]) -> Result<(), ToolError> {
        let (dir, own) = name.parent_and_name();
        let made = self
            .ensure_dir(dir)
            .and_then(|dir| rustix::fs::symlinkat(OsStr::from_bytes(target), &dir, own));
        made.map_err(|error| self.entry_error(name.as_path(), &error.into()))
    }

    /// Sets modes and times of directories, deepest first, because changes in a
    /// directory update its time.
    pub(super) fn apply_dir_metadata(&self, unkept: &mut DroppedAttributes) {
        for (path, (mode, modified)) in self.dirs.iter().rev() {
            let Ok(Some(dir)) = self.open_dir(path) else { continue };
            if let (Some(mode), Ok(stat)) = (mode, rustix::fs::fstat(&dir)) {
                // Only clear bits: what the umask removed is not restored.
                let bits = Mode::from_raw_mode(stat.st_mode & (mode & KEPT_MODE_BITS | OWNER_MODE));
                let _ = rustix::fs::chmodat(&dir, ".", bits, AtFlags::empty());
                unkept.note_masked(path, *mode, stat.st_mode);
            }
            if let Some(times) = modified.and_then(timestamps) {
                let _ = rustix::fs::utimensat(&dir, ".", &times, AtFlags::empty());
            }
        }
    }

    /// Opens the directory at a relative path and creates missing parts.
    fn ensure_dir(&self, dir: &Path) -> Result<OwnedFd, Errno> {
        if let Ok(found) = self.open_dir(dir) {
            return found.map_or_else(|| duplicate_fd(&self.root), Ok);
        }
        let mut here = duplicate_fd(&self.root)?;
        for part in dir {
            here = match open_subdir(&here, part) {
                Err(Errno::NOENT) => {
                    rustix::fs::mkdirat(&here, part, Mode::from_raw_mode(KEPT_MODE_BITS))?;
                    open_subdir(&here, part)?
                }
                other => other?,
            };
        }
        Ok(here)
    }

    /// Opens the directory at a relative path; `None` for the root.
    fn open_dir(&self, dir: &Path) -> Result<Option<OwnedFd>, Errno> {
        let mut here = None;
        for part in dir {
            here = Some(open_subdir(here.as_ref().unwrap_or(&self.root), part)?);
        }
        Ok(here)
    }

    /// Whether an entry of this name was created.
    pub(super) fn contains(&self, name: &SafeName) -> bool {
        let (dir, own) = name.parent_and_name();
        let found =
            self.open_dir(dir).and_then(|dir| kind_at(dir.as_ref().unwrap_or(&self.root), own));
        matches!(found, Ok(Some(_)))
    }

    fn is_dir(&self, name: &Path) -> bool {
        matches!(self.open_dir(name), Ok(Some(_)))
    }

    pub(super) fn entry_error(&self, name: &Path, error: &io::Error) -> ToolError {
        let is_in_the_way = is_type_conflict(error) || self.is_dir(name);
        if error.kind() == io::ErrorKind::AlreadyExists || is_in_the_way {
            let what = if is_in_the_way {
                "a file and a directory of the same name:"
            } else {
                "two entries of the same name:"
            };
            return ToolError::denied(format!(
                "The archive has {what} {:?}",
                name.to_string_lossy()
            ))
            .with("rule", "unsafe-entry")
            .with_hint(
                "Nothing was unpacked. Skip that name with exclude, or get the archive \
                from another source.",
            );
        }
        let shown = explain_error("unpack", &self.target.join(name), error);
        let message = format!("{}; nothing was unpacked", shown.message());
        shown.with_message(message)
    }
}

impl Drop for StagingDir {
    fn drop(&mut self) {
        remove_scratch(&self.base, &self.name);
    }
}

/// Whether a file is where a directory should be, or vice versa.
fn is_type_conflict(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotADirectory | io::ErrorKind::IsADirectory)
        || hermes_files::is_loop(error)
}

/// Opens a handle by which a directory can be locked.
fn lockable_handle(base: &OwnedFd, name: &OsStr) -> Option<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(base, name, flags, Mode::empty()).ok()
}

fn duplicate_fd(handle: &OwnedFd) -> Result<OwnedFd, Errno> {
    rustix::io::fcntl_dupfd_cloexec(handle, 0)
}

fn timestamps(modified: SystemTime) -> Option<Timestamps> {
    let since = modified.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    let at = Timespec {
        tv_sec: i64::try_from(since.as_secs()).ok()?,
        tv_nsec: since.subsec_nanos().into(),
    };
    Some(Timestamps { last_access: at, last_modification: at })
}
