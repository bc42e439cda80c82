//! Folders among the temporary files that go with the program that made them,
//! or, if it was killed, when the next one makes its own.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use tempfile::TempDir;

use crate::retention::open_files;
use crate::tree;

/// The beginning of their names; the id of the program follows.
const DIR_PREFIX: &str = "hermes-run-";

/// A folder for the user alone, which goes with this.
#[derive(Debug)]
pub struct RunDir {
    directory: TempDir,
    /// Tells others that it is in use, also those that count processes in
    /// another way.
    _lock: File,
}

impl RunDir {
    /// Makes one in `place`, and takes away what killed programs left there.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn create(place: &Path) -> io::Result<Self> {
        remove_abandoned(place);
        let folder = tempfile::Builder::new()
            .prefix(&format!("{DIR_PREFIX}{}-", std::process::id()))
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(place)?;
        let lock = File::open(folder.path())?;
        // Where nothing can be locked, nobody takes it for abandoned either.
        let _ = lock.try_lock();
        Ok(Self { directory: folder, _lock: lock })
    }

    /// Where it is.
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
        // Not followed: only a folder of our own is ours to empty.
        let is_ours = entry.metadata().is_ok_and(|found| found.is_dir() && found.uid() == us);
        let path = entry.path();
        if !is_ours || !is_abandoned(&path, rest) {
            continue;
        }
        // What the program had started may still run.
        let used = used.get_or_insert_with(|| open_files(place));
        if !used.iter().any(|file| file.starts_with(&path)) {
            let _ = fs::remove_dir_all(&path);
        }
    }
}

/// Whether the program that made a folder is gone. One that is just making it
/// has not locked it yet.
fn is_abandoned(folder: &Path, rest: &str) -> bool {
    let id = rest.split('-').next().and_then(|id| id.parse().ok());
    let is_gone = id.is_some_and(|id| tree::start_time(id).is_none());
    is_gone && File::open(folder).is_ok_and(|lock| lock.try_lock().is_ok())
}

#[cfg(test)]
#[path = "run_dir_tests.rs"]
mod tests;
