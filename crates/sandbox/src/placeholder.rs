//! Empty files and folders that stand where a protected path is not there yet.
//! A name that exists is the only thing that a mount can cover.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

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
    /// Whether this process has made it.
    made: bool,
}

/// The placeholders made by this process, and how many sandboxes need each.
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
                Ok(Self { path: path.to_owned(), lock: lock(path), made: true })
            }
            // Somebody was faster: it is there, which is what counts.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Ok(Self { path: path.to_owned(), lock: lock(path), made: false })
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
        let known = made.get_mut(path).map(|count| *count += 1).is_some();
        Some(Self { path: path.to_owned(), lock: lock(path), made: known })
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
