//! Private directories for scripts, one per running script.
//!
//! Directories are emptied and reused, so the sandbox need not be set up for a
//! new path each time.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hermes_core::ToolError;
use hermes_exec::RunDir;
use parking_lot::Mutex;

/// Maximum length of the temporary directory's path: a socket path is limited
/// to about a hundred bytes.
const MAX_TEMP_DIR_BYTES: usize = 60;

/// The pool of directories.
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
    /// Returns a directory that is not in use.
    pub(crate) fn acquire(&self) -> Result<ScriptDir, ToolError> {
        let failed = |error: io::Error| ToolError::io("A directory for the script", &error);
        let mut shared = self.shared.lock();
        if shared.base_dir.is_none() {
            shared.base_dir = Some(create_base_dir().map_err(failed)?);
            (shared.free, shared.next) = (BTreeSet::new(), 0);
        }
        let top = shared.base_dir.as_ref().map(|top| top.path().to_owned()).unwrap_or_default();
        // The sandbox needs the resolved path.
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

    /// Removes all directories.
    pub(crate) fn close(&self) {
        self.shared.lock().base_dir.take();
    }
}

/// The base directory. In the sandbox a script sees only its own directory
/// below it.
fn create_base_dir() -> io::Result<RunDir> {
    if let Ok(den) = hermes_exec::private_dir() {
        return RunDir::create(&den);
    }
    let usual = std::env::temp_dir();
    let dir = if usual.as_os_str().len() > MAX_TEMP_DIR_BYTES { Path::new("/tmp") } else { &usual };
    RunDir::create(dir)
}

/// The directory of one script.
#[derive(Debug)]
pub(crate) struct ScriptDir {
    pub(crate) path: PathBuf,
    number: usize,
    shared: Arc<Mutex<DirPoolState>>,
}

impl ScriptDir {
    /// Creates a directory in it.
    pub(crate) fn create_dir(&self, name: &str) -> io::Result<PathBuf> {
        let path = self.path.join(name);
        DirBuilder::new().recursive(true).mode(0o700).create(&path)?;
        Ok(path)
    }

    /// Creates a file in it.
    pub(crate) fn write_file(&self, name: &str, text: &str) -> io::Result<PathBuf> {
        if let Some((parent, _)) = name.rsplit_once('/') {
            self.create_dir(parent)?;
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
            // A directory that cannot be emptied is not reused.
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
    /// Keeps non-empty directories: a script may have filled them.
    Shallow,
    Recursive,
}

/// Empties a directory and returns whether that succeeded. Does not follow
/// symlinks below it, since a script may have created them.
fn empty_dir(path: &Path, how: SweepDepth) -> bool {
    let Ok(entries) = fs::read_dir(path) else { return false };
    entries.flatten().fold(true, |well, entry| {
        let (path, name) = (entry.path(), entry.file_name());
        let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let is_ours = name == "lib" || name == "node_modules";
        let gone = match (is_dir, how) {
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
