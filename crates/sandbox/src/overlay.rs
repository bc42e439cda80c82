//! Overlays for child processes: the user's directory as the lower layer, and
//! our directory with the changes of children as the upper layer.

use std::ffi::{CString, OsStr};
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use hermes_core::OverlayMount;
use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, mkdirat, mknodat, open, openat, statat, unlinkat,
};
use rustix::io::Errno;

use crate::mount_masks::c_path;
use crate::raw::namespace::{ExposedPath, OverlayPlan};
use crate::{OverlayStore, SandboxError, private_dir};

/// An overlay whose directories exist.
#[derive(Debug)]
pub(crate) struct PreparedOverlay {
    pub(crate) target: PathBuf,
    pub(crate) store: PathBuf,
    /// The lower layer: the user's directory, or an empty one.
    lower: PathBuf,
    /// Where the overlay is mounted before it is bound to its target: in a
    /// directory that is masked last.
    pub(crate) staging: PathBuf,
}

impl PreparedOverlay {
    /// Creates the directories, and hides paths: a whiteout in the upper layer
    /// keeps a name invisible, whatever happens to the file below.
    ///
    /// Of the redacted files, those in `copied` have a redacted copy; the
    /// others are hidden.
    pub(crate) fn prepare(
        mount: &OverlayMount,
        redacted: &[PathBuf],
        copied: &[PathBuf],
    ) -> io::Result<Self> {
        let target = mount.target.clone();
        let store = overlay_directory(mount)?;
        let staging = staging(&store)?;
        for directory in [&store.join("empty"), &staging] {
            DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        }
        let below = |path: &PathBuf| path.strip_prefix(&target).ok().map(Path::to_path_buf);
        let (shown, closed): (Vec<&PathBuf>, Vec<&PathBuf>) =
            redacted.iter().partition(|path| copied.contains(path));
        let mut hidden = mount.hidden.clone();
        hidden.extend(closed.into_iter().filter_map(below));
        OverlayStore::record_hidden(&store, &hidden)?;
        for path in shown.into_iter().filter_map(below) {
            unhide(&store.join("upper"), &path)?;
        }
        for path in &hidden {
            hide(&store.join("upper"), path)?;
        }
        let lower = if target.is_dir() { fs::canonicalize(&target)? } else { store.join("empty") };
        Ok(Self { target, store, lower, staging })
    }

    pub(crate) fn plan(&self) -> Result<OverlayPlan, SandboxError> {
        let mut options = b"userxattr".to_vec();
        let upper = self.store.join("upper");
        let work = self.store.join("work");
        let layers = [("lowerdir", &self.lower), ("upperdir", &upper), ("workdir", &work)];
        for (name, path) in layers {
            options.extend(format!(",{name}=").bytes());
            options.extend(escape_mount_option(path));
        }
        let options = CString::new(options).map_err(|error| SandboxError::Path {
            path: self.target.clone(),
            source: error.into(),
        })?;
        Ok(OverlayPlan { staging: c_path(&self.staging)?, target: c_path(&self.target)?, options })
    }

    /// Returns how the overlay is exposed in its partial directory.
    pub(crate) fn exposed_path(&self) -> Result<ExposedPath, SandboxError> {
        Ok(ExposedPath {
            parents: Vec::new(),
            path: c_path(&self.target)?,
            source: Some(c_path(&self.staging)?),
            link: None,
            is_directory: true,
            is_writable: true,
        })
    }
}

/// Returns the staging directory of a store, by the names of its workspace and
/// directory.
fn staging(store: &Path) -> io::Result<PathBuf> {
    let names: Vec<&OsStr> = store.iter().rev().take(2).collect();
    Ok(names.iter().rev().fold(private_dir()?.join("overlays"), |path, name| path.join(name)))
}

/// Returns the directory of an overlay, with its upper layer in `upper`.
///
/// # Errors
/// If it cannot be created.
pub fn overlay_directory(mount: &OverlayMount) -> io::Result<PathBuf> {
    let outside = |_| io::Error::other("overlay target is outside of the home directory");
    let relative = mount.target.strip_prefix(&mount.home).map_err(outside)?;
    OverlayStore::new(&mount.store).ensure(&mount.workspace, &mount.home, relative)
}

/// Describes an overlay that cannot be mounted.
pub(crate) fn overlay_gap(target: &Path, error: &io::Error) -> String {
    format!("{} is read-only because no overlay can be mounted there ({error})", target.display())
}

/// Escapes commas, which separate options, and colons, which separate layers.
fn escape_mount_option(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    for byte in path.as_os_str().as_bytes() {
        if matches!(byte, b',' | b':' | b'\\') {
            bytes.push(b'\\');
        }
        bytes.push(*byte);
    }
    bytes
}

/// Removes the whiteout of a path that was hidden before.
fn unhide(upper: &Path, path: &Path) -> io::Result<()> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut directory = open(upper, flags, Mode::empty())?;
    let mut parts = path.iter().peekable();
    while let Some(name) = parts.next() {
        if parts.peek().is_some() {
            directory = match openat(&directory, name, flags, Mode::empty()) {
                Ok(inner) => inner,
                Err(_) => return Ok(()),
            };
            continue;
        }
        let Ok(about) = statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW) else { return Ok(()) };
        let is_device = FileType::from_raw_mode(about.st_mode) == FileType::CharacterDevice;
        if is_device && about.st_rdev == 0 {
            unlinkat(&directory, name, AtFlags::empty())?;
        }
    }
    Ok(())
}

/// Creates a whiteout, unless the child has created something there. Children
/// write to the upper layer, so no symlink in it is followed.
fn hide(upper: &Path, path: &Path) -> io::Result<()> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut directory = open(upper, flags, Mode::empty())?;
    let mut parts = path.iter().peekable();
    while let Some(name) = parts.next() {
        if parts.peek().is_none() {
            // A whiteout device (0/0) needs no privilege.
            let made = mknodat(&directory, name, FileType::CharacterDevice, Mode::empty(), 0);
            return match made {
                Err(Errno::EXIST) => Ok(()),
                other => Ok(other?),
            };
        }
        match mkdirat(&directory, name, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        directory = match openat(&directory, name, flags, Mode::empty()) {
            Ok(inner) => inner,
            // The entry is the child's own, and nothing shows through it.
            Err(Errno::NOTDIR | Errno::LOOP) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
    }
    Ok(())
}

#[cfg(test)]
#[path = "overlay_tests.rs"]
mod tests;
