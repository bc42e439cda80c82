//! Folders of our own for scripts: one for each that runs, for the user alone.
//!
//! A folder is used again, so that what holds a script need not be prepared
//! anew each time. It is empty then.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hermes_core::ToolError;
use hermes_exec::RunDir;

/// A socket's name may have about a hundred bytes, all in all.
const LONGEST: usize = 60;

/// All such folders.
#[derive(Debug, Default)]
pub(crate) struct Rooms {
    shared: Arc<Mutex<Shared>>,
}

#[derive(Debug, Default)]
struct Shared {
    top: Option<RunDir>,
    free: BTreeSet<usize>,
    next: usize,
}

impl Rooms {
    /// One that nobody uses.
    pub(crate) fn take(&self) -> Result<Room, ToolError> {
        let failed = |error: io::Error| ToolError::io("A folder for the script", &error);
        let mut shared = lock(&self.shared);
        if shared.top.is_none() {
            shared.top = Some(top().map_err(failed)?);
            (shared.free, shared.next) = (BTreeSet::new(), 0);
        }
        let top = shared.top.as_ref().map(|top| top.path().to_owned()).unwrap_or_default();
        // What holds a script wants to know where it really is.
        let top = top.canonicalize().map_err(failed)?;
        let number = match shared.free.pop_first() {
            Some(number) => number,
            None => {
                let number = shared.next;
                shared.next += 1;
                DirBuilder::new()
                    .mode(0o700)
                    .create(top.join(number.to_string()))
                    .map_err(failed)?;
                number
            }
        };
        Ok(Room { path: top.join(number.to_string()), number, shared: Arc::clone(&self.shared) })
    }

    /// Takes all of them away.
    pub(crate) fn close(&self) {
        lock(&self.shared).top.take();
    }
}

/// In the place of which a script sees nothing but its own folder, if there is
/// one.
fn top() -> io::Result<RunDir> {
    if let Ok(den) = hermes_exec::private_dir() {
        return RunDir::create(&den);
    }
    let usual = std::env::temp_dir();
    let folder = if usual.as_os_str().len() > LONGEST { Path::new("/tmp") } else { &usual };
    RunDir::create(folder)
}

/// A folder for one script.
#[derive(Debug)]
pub(crate) struct Room {
    pub(crate) path: PathBuf,
    number: usize,
    shared: Arc<Mutex<Shared>>,
}

impl Room {
    /// Makes a folder in it.
    pub(crate) fn folder(&self, name: &str) -> io::Result<PathBuf> {
        let path = self.path.join(name);
        DirBuilder::new().recursive(true).mode(0o700).create(&path)?;
        Ok(path)
    }

    /// Makes a file in it.
    pub(crate) fn write(&self, name: &str, text: &str) -> io::Result<PathBuf> {
        if let Some((folder, _)) = name.rsplit_once('/') {
            self.folder(folder)?;
        }
        let path = self.path.join(name);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        file.write_all(text.as_bytes())?;
        Ok(path)
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let (path, number, shared) = (self.path.clone(), self.number, Arc::clone(&self.shared));
        if sweep(&path, Thoroughness::Quick) {
            lock(&shared).free.insert(number);
            return;
        }
        let thoroughly = move || {
            // One that cannot be emptied is not used again.
            if sweep(&path, Thoroughness::Whole) {
                lock(&shared).free.insert(number);
            }
        };
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(thoroughly)),
            Err(_) => thoroughly(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Thoroughness {
    /// Folders that a script may have filled are left if they are not empty.
    Quick,
    Whole,
}

/// Empties a folder; whether that went well. Names are not looked up below
/// it, since a script may have put links there.
fn sweep(path: &Path, how: Thoroughness) -> bool {
    let Ok(entries) = fs::read_dir(path) else { return false };
    entries.flatten().fold(true, |well, entry| {
        let (path, name) = (entry.path(), entry.file_name());
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let is_ours = name == "lib" || name == "node_modules";
        let gone = match (is_folder, how) {
            (false, _) => fs::remove_file(&path),
            (true, Thoroughness::Quick) if !is_ours => fs::remove_dir(&path),
            (true, _) => fs::remove_dir_all(&path),
        };
        gone.is_ok() && well
    })
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[path = "room_tests.rs"]
mod tests;
