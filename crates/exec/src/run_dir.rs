//! Temporary directories that are removed with the program that created them,
//! or, if it was killed, when the next one creates its own.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use tempfile::TempDir;

use crate::retention::open_files;
use crate::tree;

/// Name prefix; the process id follows.
const DIR_PREFIX: &str = "hermes-run-";

/// A private directory, removed on drop.
#[derive(Debug)]
pub struct RunDir {
    directory: TempDir,
    /// Marks the directory as in use, also across PID namespaces.
    _lock: File,
}

impl RunDir {
    /// Creates a directory in `place`, and removes those that killed programs
    /// left there.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn create(place: &Path) -> io::Result<Self> {
        remove_abandoned(place);
        let dir = tempfile::Builder::new()
            .prefix(&format!("{DIR_PREFIX}{}-", std::process::id()))
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(place)?;
        let lock = File::open(dir.path())?;
        // Where locks are unsupported, `is_abandoned` never returns true
        // either.
        let _ = lock.try_lock();
        Ok(Self { directory: dir, _lock: lock })
    }

    /// Returns the path of the directory.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }
}

fn remove_abandoned(place: &Path) {
    let us = rustix::process::getuid().as_raw();
    let Ok(entries) = fs::read_dir(place) else { return };
    let mut used = None;
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(rest) = name.to_str().and_then(|name| name.strip_prefix(DIR_PREFIX)) else {
            continue;
        };
        // Does not follow symlinks: only directories of this user may be
        // removed.
        let is_ours = entry.metadata().is_ok_and(|found| found.is_dir() && found.uid() == us);
        let path = entry.path();
        if !is_ours || !is_abandoned(&path, rest) {
            continue;
        }
        // Child processes of the program may still be running.
        let used = used.get_or_insert_with(|| open_files(place));
        if !used.iter().any(|file| file.starts_with(&path)) {
            let _ = fs::remove_dir_all(&path);
        }
    }
}

/// Whether the program that created a directory has ended. The process id is
/// checked too, since a new directory is not locked yet.
fn is_abandoned(dir: &Path, rest: &str) -> bool {
    let id = rest.split('-').next().and_then(|id| id.parse().ok());
    let is_gone = id.is_some_and(|id| tree::start_time(id).is_none());
    is_gone && File::open(dir).is_ok_and(|lock| lock.try_lock().is_ok())
}

#[cfg(test)]
#[path = "run_dir_tests.rs"]
mod tests;
