//! An exclusive lock between processes, held on a file beside what it guards.

use std::fs::File;
use std::io;
use std::path::Path;

use crate::{atomic, regular_file};

/// Held until dropped. The system lets go of it when the process dies.
#[derive(Debug)]
pub(crate) struct FileLock {
    file: File,
}

impl FileLock {
    /// Waits for the lock on `path`, which is created if need be.
    pub(crate) fn acquire(path: &Path) -> io::Result<Self> {
        loop {
            let file = regular_file::open_lock(path, 0o600)?;
            file.lock()?;
            // Whoever held it may have removed the file meanwhile; then the
            // next one to come locks another file of that name.
            if is_current(&file, path)? {
                return Ok(Self { file });
            }
        }
    }

    /// Lets go and takes the file away, where those who wait can notice it.
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
