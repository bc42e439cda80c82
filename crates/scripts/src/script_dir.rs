//! Folders of our own for scripts: one for each that runs, for the user alone.
//!
//! A folder is used again, so that what holds a script need not be prepared
//! anew each time. It is empty then.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hermes_core::ToolError;
use hermes_exec::RunDir;
use parking_lot::Mutex;

/// A socket's name may have about a hundred bytes, all in all.
const MAX_TEMP_DIR_BYTES: usize = 60;

/// All such folders.
#[derive(Debug, Default)]
pub(crate) struct ScriptDirPool {
    shared: Arc<Mutex<DirPoolState>>,
}

#[derive(Debug, Default)]
struct DirPoolState {
    base_dir: Option<RunDir>,
    free: BTreeSet<usize>,
    next: usize,
}

impl ScriptDirPool {
    /// One that nobody uses.
    pub(crate) fn acquire(&self) -> Result<ScriptDir, ToolError> {
        let failed = |error: io::Error| ToolError::io("A folder for the script", &error);
        let mut shared = self.shared.lock();
        if shared.base_dir.is_none() {
            shared.base_dir = Some(create_base_dir().map_err(failed)?);
            (shared.free, shared.next) = (BTreeSet::new(), 0);
        }
        let top = shared.base_dir.as_ref().map(|top| top.path().to_owned()).unwrap_or_default();
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
        Ok(ScriptDir {
            path: top.join(number.to_string()),
            number,
            shared: Arc::clone(&self.shared),
        })
    }

    /// Takes all of them away.
    pub(crate) fn close(&self) {
        self.shared.lock().base_dir.take();
    }
}

/// In the place of which a script sees nothing but its own folder, if there is
/// one.
fn create_base_dir() -> io::Result<RunDir> {
    if let Ok(den) = hermes_exec::private_dir() {
        return RunDir::create(&den);
    }
    let usual = std::env::temp_dir();
    let folder =
        if usual.as_os_str().len() > MAX_TEMP_DIR_BYTES { Path::new("/tmp") } else { &usual };
    RunDir::create(folder)
}

/// A folder for one script.
#[derive(Debug)]
pub(crate) struct ScriptDir {
    pub(crate) path: PathBuf,
    number: usize,
    shared: Arc<Mutex<DirPoolState>>,
}

impl ScriptDir {
    /// Makes a folder in it.
    pub(crate) fn create_dir(&self, name: &str) -> io::Result<PathBuf> {
        let path = self.path.join(name);
        DirBuilder::new().recursive(true).mode(0o700).create(&path)?;
        Ok(path)
    }

    /// Makes a file in it.
    pub(crate) fn write_file(&self, name: &str, text: &str) -> io::Result<PathBuf> {
        if let Some((folder, _)) = name.rsplit_once('/') {
            self.create_dir(folder)?;
        }
        let path = self.path.join(name);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        file.write_all(text.as_bytes())?;
        Ok(path)
    }
}

impl Drop for ScriptDir {
    fn drop(&mut self) {
        let (path, number, shared) = (self.path.clone(), self.number, Arc::clone(&self.shared));
        if empty_dir(&path, SweepDepth::Shallow) {
            shared.lock().free.insert(number);
            return;
        }
        let thoroughly = move || {
            // One that cannot be emptied is not used again.
            if empty_dir(&path, SweepDepth::Recursive) {
                shared.lock().free.insert(number);
            }
        };
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(thoroughly)),
            Err(_) => thoroughly(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SweepDepth {
    /// Folders that a script may have filled are left if they are not empty.
    Shallow,
    Recursive,
}

/// Empties a folder; whether that went well. Names are not looked up below
/// it, since a script may have put links there.
fn empty_dir(path: &Path, how: SweepDepth) -> bool {
    let Ok(entries) = fs::read_dir(path) else { return false };
    entries.flatten().fold(true, |well, entry| {
        let (path, name) = (entry.path(), entry.file_name());
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let is_ours = name == "lib" || name == "node_modules";
        let gone = match (is_folder, how) {
            (false, _) => fs::remove_file(&path),
            (true, SweepDepth::Shallow) if !is_ours => fs::remove_dir(&path),
            (true, _) => fs::remove_dir_all(&path),
        };
        gone.is_ok() && well
    })
}

#[cfg(test)]
#[path = "script_dir_tests.rs"]
mod tests;
