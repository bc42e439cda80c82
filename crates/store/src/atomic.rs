//! Atomic file replacement: a reader sees the old content or the new, and a
//! full disk or a crash leaves the old.

use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile};

/// The kernel's limit of symlinks before it reports a loop.
const MAX_LINKS: usize = 40;

/// What the new content of a file survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durability {
    /// A killed process.
    ProcessCrash,
    /// Also a power failure.
    PowerLoss,
}

/// Replaces the content of `path`, or creates it.
///
/// A symlink is followed, and its target is replaced. An existing file keeps
/// its mode and, where permitted, its owner; a new one gets `mode`, less the
/// umask. A file that cannot be opened for writing is not replaced; neither is
/// a directory, a device or a pipe. Other hard links to the file keep the old
/// content.
pub fn write_atomic(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let target = follow_links(path)?;
    let mut builder = Builder::new();
    // The target's name may already have the maximum length.
    builder.prefix(".hermes-").suffix(".tmp");
    replace(&builder, &target, bytes, mode, Durability::PowerLoss)
}

/// [`write_atomic`] for the only writer of `path`. The temporary file has a
/// fixed name, so the next write removes one left by a crash.
pub(crate) fn write_exclusive(
    path: &Path,
    bytes: &[u8],
    mode: u32,
    lasting: Durability,
) -> io::Result<()> {
    let target = follow_links(path)?;
    let temporary = temporary_name(&target);
    remove_if_exists(&target.with_file_name(&temporary))?;
    let mut builder = Builder::new();
    builder.prefix(&temporary).suffix("").rand_bytes(0);
    replace(&builder, &target, bytes, mode, lasting)
}

/// Returns the name of the temporary file of [`write_exclusive`].
pub(crate) fn temporary_name(target: &Path) -> OsString {
    let mut name = OsString::from(".");
    name.push(target.file_name().unwrap_or_default());
    name.push(".tmp");
    name
}

/// Removes a file; returns whether it existed.
pub(crate) fn remove_if_exists(path: &Path) -> io::Result<bool> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn replace(
    builder: &Builder<'_, '_>,
    target: &Path,
    bytes: &[u8],
    mode: u32,
    lasting: Durability,
) -> io::Result<()> {
    let old = replaceable(target)?;
    let dir = match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    // Until `persist` succeeds, dropping the temporary file removes it.
    let mut temporary = create(builder, dir, mode)?;
    temporary.write_all(bytes)?;
    if let Some(old) = &old {
        resemble(temporary.as_file(), old)?;
    }
    if lasting == Durability::PowerLoss {
        temporary.as_file().sync_all()?;
    }
    temporary.persist(target).map_err(|refused| refused.error)?;
    // Without this a power failure may lose the rename; not every file system
    // supports it.
    if lasting == Durability::PowerLoss
        && let Ok(dir) = File::open(dir)
    {
        let _ = dir.sync_all();
    }
    Ok(())
}

/// Returns the metadata of the file to be replaced, if it exists. It must be
/// writable.
fn replaceable(target: &Path) -> io::Result<Option<Metadata>> {
    let old = match fs::metadata(target) {
        Ok(old) => old,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if old.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a directory"));
    }
    if !old.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    // A rename only needs permission for the directory; require it for the file
    // as well.
    match OpenOptions::new().write(true).open(target) {
        Ok(_) => Ok(Some(old)),
        // A running program cannot be written, but it can be replaced.
        Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => Ok(Some(old)),
        Err(error) => Err(error),
    }
}

/// Resolves the last component of a path if it is a symlink, even a dangling
/// one.
fn follow_links(path: &Path) -> io::Result<PathBuf> {
    if path.file_name().is_none() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the path names no file"));
    }
    let mut target = path.to_owned();
    for _ in 0..MAX_LINKS {
        match fs::symlink_metadata(&target) {
            Ok(found) if found.is_symlink() => {
                let link = fs::read_link(&target)?;
                target = match target.parent() {
                    Some(parent) => parent.join(link),
                    None => link,
                };
            }
            Ok(_) => return Ok(target),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(target),
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "too many symbolic links"))
}

#[cfg(unix)]
fn create(builder: &Builder<'_, '_>, dir: &Path, mode: u32) -> io::Result<NamedTempFile> {
    use std::os::unix::fs::PermissionsExt;
    let mut builder = builder.clone();
    builder.permissions(fs::Permissions::from_mode(mode)).tempfile_in(dir)
}

#[cfg(not(unix))]
fn create(builder: &Builder<'_, '_>, dir: &Path, _mode: u32) -> io::Result<NamedTempFile> {
    builder.tempfile_in(dir)
}

/// Gives `new` the owner and mode of `old`. The owner comes first, since a
/// change of owner clears mode bits.
#[cfg(unix)]
fn resemble(new: &File, old: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
    let made = new.metadata()?;
    if (made.uid(), made.gid()) != (old.uid(), old.gid()) {
        // Only root can change the owner; otherwise it stays the current user.
        let _ = fchown(new, Some(old.uid()), Some(old.gid()));
    }
    new.set_permissions(fs::Permissions::from_mode(old.permissions().mode() & 0o7777))
}

#[cfg(not(unix))]
fn resemble(new: &File, old: &Metadata) -> io::Result<()> {
    new.set_permissions(old.permissions())
}

#[cfg(test)]
#[path = "atomic_tests.rs"]
mod tests;
