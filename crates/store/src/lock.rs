//! An exclusive lock between processes, on a file next to the data it guards.

use std::fs::File;
use std::io;
use std::path::Path;

use crate::{atomic, regular_file};

/// A lock held until dropped. The system releases it when the process dies.
#[derive(Debug)]
pub(crate) struct FileLock {
    file: File,
}

impl FileLock {
    /// Waits for the lock on `path`, which is created if missing.
    pub(crate) fn acquire(path: &Path) -> io::Result<Self> {
        loop {
            let file = regular_file::open_lock(path, 0o600)?;
            file.lock()?;
            // The previous holder may have removed the file meanwhile; then
            // another process would lock a new file of that name.
            if is_current(&file, path)? {
                return Ok(Self { file });
            }
        }
    }

    /// Releases the lock and removes the file, in an order that waiting
    /// processes detect.
    pub(crate) fn release_and_remove(self, path: &Path) -> io::Result<()> {
        if cfg!(unix) {
            atomic::remove_if_exists(path)?;
        }
        self.file.unlock()
    }
}

#[cfg(unix)]
fn is_current(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let held = file.metadata()?;
    match std::fs::metadata(path) {
        Ok(found) => Ok((found.dev(), found.ino()) == (held.dev(), held.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(not(unix))]
fn is_current(_file: &File, _path: &Path) -> io::Result<bool> {
    Ok(true)
}
