//! Empty files and folders that stand where a protected path is not there yet.
//! A name that exists is the only thing that a mount can cover.
//!
//! They are known by the time of their last change, so that the last who needs
//! one takes it away, whoever has made it and whatever became of that process.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, SystemTime};

use rustix::fs::{FlockOperation, flock};

/// What a placeholder is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An empty file.
    File,
    /// An empty folder.
    Folder,
}

impl Kind {
    /// What a path of this name would most likely be. A wrong guess protects
    /// as well as a right one.
    pub(crate) fn guess(name: &Path) -> Self {
        const FILE_ENDINGS: &[&str] =
            &["rc", "profile", "login", "config", "env", "modules", "attributes", "ignore", "file"];
        let name = name.to_string_lossy();
        let stem = name.strip_prefix('.').unwrap_or(&name);
        if stem.contains('.') || FILE_ENDINGS.iter().any(|ending| stem.ends_with(ending)) {
            Self::File
        } else {
            Self::Folder
        }
    }
}

/// A path that must stay as it is while the sandbox lives.
#[derive(Debug)]
pub(crate) struct Placeholder {
    path: PathBuf,
    /// Locked and shared, so that no other process takes it away meanwhile.
    lock: Option<File>,
    /// Whether it goes when nobody needs it any more: we have made it.
    made: bool,
}

/// When a placeholder was changed last, by what it says itself: long before
/// there were any, in a moment that nothing else happened in.
const MADE_AT: Duration = Duration::new(3, 141_592_653);

/// The placeholders that this process has made or met, and how many sandboxes
/// need each.
static MADE: Mutex<BTreeMap<PathBuf, usize>> = Mutex::new(BTreeMap::new());

fn made() -> MutexGuard<'static, BTreeMap<PathBuf, usize>> {
    MADE.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Placeholder {
    /// Makes one at `path`.
    pub(crate) fn put(path: &Path, kind: Kind) -> io::Result<Self> {
        let mut made = made();
        let result = match kind {
            Kind::File => File::create_new(path).map(drop),
            Kind::Folder => fs::create_dir(path),
        };
        match result {
            Ok(()) => {
                made.insert(path.to_owned(), 1);
                let lock = lock(path);
                if let Some(file) = &lock {
                    let _ = file.set_modified(SystemTime::UNIX_EPOCH + MADE_AT);
                }
                Ok(Self { path: path.to_owned(), lock, made: true })
            }
            // Somebody was faster: it is there, which is what counts.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                drop(made);
                let there = Self { path: path.to_owned(), lock: None, made: false };
                Ok(Self::hold(path).unwrap_or(there))
            }
            Err(error) => Err(error),
        }
    }

    /// Keeps what may be somebody's placeholder; none if it is not empty.
    pub(crate) fn hold(path: &Path) -> Option<Self> {
        let mut made = made();
        let about = fs::symlink_metadata(path).ok()?;
        let empty = if about.is_dir() {
            fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
        } else {
            about.is_file() && about.len() == 0
        };
        if !empty {
            return None;
        }
        let lock = lock(path);
        let is_ours = about.modified().is_ok_and(|at| at == SystemTime::UNIX_EPOCH + MADE_AT);
        let known = is_ours || made.contains_key(path);
        if known {
            *made.entry(path.to_owned()).or_default() += 1;
        }
        Some(Self { path: path.to_owned(), lock, made: known })
    }

    /// Keeps the placeholder that this process has put on the way to `path`.
    pub(crate) fn hold_above(path: &Path) -> Option<Self> {
        let above = {
            let made = made();
            path.ancestors().skip(1).find(|folder| made.contains_key(*folder))?
        };
        Self::hold(above)
    }

    /// What it stands at.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Where it is, if this process has made it.
    pub(crate) fn own_path(&self) -> Option<&Path> {
        self.made.then_some(&self.path)
    }
}

impl Drop for Placeholder {
    fn drop(&mut self) {
        if !self.made {
            return;
        }
        let mut made = made();
        let Some(count) = made.get_mut(&self.path) else { return };
        *count -= 1;
        if *count > 0 {
            return;
        }
        made.remove(&self.path);
        // Whoever asks gives the shared lock up, so that of two who leave at once
        // one is the last. A child that is just being started has ours open too,
        // which another open file would take for somebody else's.
        let alone = self
            .lock
            .as_ref()
            .is_none_or(|file| flock(file, FlockOperation::NonBlockingLockExclusive).is_ok());
        let Ok(about) = fs::symlink_metadata(&self.path) else { return };
        if !alone {
            return;
        }
        // Whoever has filled it meanwhile wants to keep it. If it cannot be
        // removed, an empty name stays, which harms nobody.
        if about.is_dir() {
            fs::remove_dir(&self.path).ok();
        } else if about.is_file() && about.len() == 0 {
            fs::remove_file(&self.path).ok();
        }
    }
}

fn lock(path: &Path) -> Option<File> {
    let file = File::open(path).ok()?;
    flock(&file, FlockOperation::NonBlockingLockShared).ok()?;
    Some(file)
}

#[cfg(test)]
#[path = "placeholder_tests.rs"]
mod tests;
