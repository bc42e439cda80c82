//! Empty files and directories in place of protected paths that do not exist
//! yet, since a mount can only mask a path that exists. Git fails on an empty
//! `commondir` file; one that points to its own directory has no effect.
//!
//! They are recognized by their modification time, so the last sandbox that
//! needs one removes it, whichever process created it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use parking_lot::{Mutex, MutexGuard};
use rustix::fs::{CWD, FlockOperation, RenameFlags, flock, renameat_with};

/// Kind of a placeholder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PlaceholderKind {
    /// An empty file.
    File,
    /// An empty directory.
    Directory,
    /// A `commondir` file that points to its own directory.
    GitPointer,
}

/// Git file with the path of the common directory. A relative path starts in
/// the directory of the file.
const COMMONDIR_FILE: &str = "commondir";
const COMMONDIR_SELF: &[u8] = b".\n";

impl PlaceholderKind {
    /// Guesses the kind from the name. A wrong guess protects just as well.
    pub(crate) fn guess(name: &Path) -> Self {
        const FILE_SUFFIXES: &[&str] =
            &["rc", "profile", "login", "config", "env", "modules", "attributes", "ignore", "file"];
        let name = name.to_string_lossy();
        if name == COMMONDIR_FILE {
            return Self::GitPointer;
        }
        let stem = name.strip_prefix('.').unwrap_or(&name);
        if stem.contains('.') || FILE_SUFFIXES.iter().any(|ending| stem.ends_with(ending)) {
            Self::File
        } else {
            Self::Directory
        }
    }
}

/// A path that must stay unchanged while the sandbox lives.
#[derive(Debug)]
pub(crate) struct Placeholder {
    path: PathBuf,
    /// Holds a shared lock, so no other process removes the placeholder
    /// meanwhile.
    lock: Option<File>,
    /// Whether it is removed after its last use, because hermes created it.
    is_ours: bool,
}

/// Modification time that marks a placeholder: in 1970, and unlikely to occur
/// otherwise.
const MARKER_MTIME: Duration = Duration::new(3, 141_592_653);

/// Placeholders that this process has created or found, with the number of
/// sandboxes that need each.
static PLACEHOLDER_COUNTS: Mutex<BTreeMap<PathBuf, usize>> = Mutex::new(BTreeMap::new());

fn placeholder_counts() -> MutexGuard<'static, BTreeMap<PathBuf, usize>> {
    PLACEHOLDER_COUNTS.lock()
}

impl Placeholder {
    /// Creates a placeholder at `path`.
    pub(crate) fn create(path: &Path, kind: PlaceholderKind) -> io::Result<Self> {
        let mut made = placeholder_counts();
        let result = match kind {
            PlaceholderKind::File => File::create_new(path).map(drop),
            PlaceholderKind::Directory => fs::create_dir(path),
            PlaceholderKind::GitPointer => write_commondir(path),
        };
        match result {
            Ok(()) => {
                made.insert(path.to_owned(), 1);
                let lock = lock_shared(path);
                if let Some(file) = &lock {
                    let _ = file.set_modified(SystemTime::UNIX_EPOCH + MARKER_MTIME);
                }
                Ok(Self { path: path.to_owned(), lock, is_ours: true })
            }
            // Another process was faster: the path exists, which is what
            // counts.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                drop(made);
                let there = Self { path: path.to_owned(), lock: None, is_ours: false };
                Ok(Self::adopt(path).unwrap_or(there))
            }
            Err(error) => Err(error),
        }
    }

    /// Adopts what may be another sandbox's placeholder; `None` if it is not
    /// empty.
    pub(crate) fn adopt(path: &Path) -> Option<Self> {
        let mut made = placeholder_counts();
        let about = fs::symlink_metadata(path).ok()?;
        if !is_blank(path, &about) {
            return None;
        }
        let lock = lock_shared(path);
        let is_ours = about.modified().is_ok_and(|at| at == SystemTime::UNIX_EPOCH + MARKER_MTIME);
        let known = is_ours || made.contains_key(path);
        if known {
            *made.entry(path.to_owned()).or_default() += 1;
        }
        Some(Self { path: path.to_owned(), lock, is_ours: known })
    }

    /// Adopts the placeholder that this process has put at a parent of `path`.
    pub(crate) fn adopt_ancestor(path: &Path) -> Option<Self> {
        let above = {
            let made = placeholder_counts();
            path.ancestors().skip(1).find(|dir| made.contains_key(*dir))?
        };
        Self::adopt(above)
    }

    /// Returns its path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns its path, if hermes created it.
    pub(crate) fn own_path(&self) -> Option<&Path> {
        self.is_ours.then_some(&self.path)
    }
}

impl Drop for Placeholder {
    fn drop(&mut self) {
        if !self.is_ours {
            return;
        }
        let mut made = placeholder_counts();
        let Some(count) = made.get_mut(&self.path) else { return };
        *count -= 1;
        if *count > 0 {
            return;
        }
        made.remove(&self.path);
        // Upgrading gives up the shared lock, so of two processes that leave at
        // once one is the last. Upgrades the existing descriptor: a child being
        // started has it open too, and would conflict with a newly opened one.
        let alone = self
            .lock
            .as_ref()
            .is_none_or(|file| flock(file, FlockOperation::NonBlockingLockExclusive).is_ok());
        let Ok(about) = fs::symlink_metadata(&self.path) else { return };
        // It still protects against a child that outlives us. The next process
        // finds it.
        if !alone || is_mounted_by_children(&self.path) {
            return;
        }
        // Keep it if another process has filled it meanwhile. If it cannot be
        // removed, the empty file does no harm.
        if about.is_dir() {
            fs::remove_dir(&self.path).ok();
        } else if is_blank(&self.path, &about) {
            fs::remove_file(&self.path).ok();
        }
    }
}

/// Whether some process still has a mask mounted over it.
fn is_mounted_by_children(path: &Path) -> bool {
    let own = fs::metadata("/proc/self/ns/mnt").map(|about| about.ino()).unwrap_or_default();
    let mut seen = vec![own];
    let name = mountinfo_name(path);
    let covers = |line: &[u8]| line.split(|byte| *byte == b' ').nth(4) == Some(&name);
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let is_process = |entry: &fs::DirEntry| {
        entry.file_name().to_string_lossy().starts_with(|c: char| c.is_ascii_digit())
    };
    processes.filter(is_process).any(|entry| {
        let Ok(about) = fs::metadata(entry.path().join("ns/mnt")) else { return false };
        if seen.contains(&about.ino()) {
            return false;
        }
        seen.push(about.ino());
        let mounts = fs::read(entry.path().join("mountinfo")).unwrap_or_default();
        mounts.split(|byte| *byte == b'\n').any(covers)
    })
}

/// Returns a path as mountinfo writes it: separators and backslashes in octal.
fn mountinfo_name(path: &Path) -> Vec<u8> {
    let mut name = Vec::new();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b' ' | b'\t' | b'\n' | b'\\' => name.extend(format!("\\{byte:03o}").bytes()),
            other => name.push(*other),
        }
    }
    name
}

/// Whether it is as empty as a placeholder.
fn is_blank(path: &Path, about: &fs::Metadata) -> bool {
    if about.is_dir() {
        return fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none());
    }
    let leads_here = || {
        let mut text = Vec::new();
        let read = File::open(path).and_then(|file| file.take(8).read_to_end(&mut text));
        path.ends_with(COMMONDIR_FILE) && read.is_ok() && text == COMMONDIR_SELF
    };
    about.is_file()
        && (about.len() == 0 || about.len() == COMMONDIR_SELF.len() as u64 && leads_here())
}

/// Creates the `commondir` file atomically, as git may run outside at any time.
fn write_commondir(path: &Path) -> io::Result<()> {
    let made = path.with_extension(format!("hermes-{}", std::process::id()));
    let mut file = File::create(&made)?;
    let moved = file.write_all(COMMONDIR_SELF).and_then(|()| {
        let moved = renameat_with(CWD, &made, CWD, path, RenameFlags::NOREPLACE);
        moved.map_err(io::Error::from)
    });
    match moved {
        // Not every file system supports this.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
            fs::remove_file(&made)?;
            File::create_new(path)?.write_all(COMMONDIR_SELF)
        }
        Err(error) => {
            fs::remove_file(&made).ok();
            Err(error)
        }
        Ok(()) => Ok(()),
    }
}

fn lock_shared(path: &Path) -> Option<File> {
    let file = File::open(path).ok()?;
    flock(&file, FlockOperation::NonBlockingLockShared).ok()?;
    Some(file)
}

#[cfg(test)]
#[path = "placeholder_tests.rs"]
mod tests;
