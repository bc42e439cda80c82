//! Exclusive locks on files, across threads and across processes that use the
//! same scheme.
//!
//! The lock is an flock on the directory. That leaves no lock files among the
//! user's files, and covers names that do not exist yet and files that are
//! replaced meanwhile. The lock of a process ends with it.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::thread;
use std::time::{Duration, Instant};

use hermes_core::{CancellationToken, Scope, ToolError};
use parking_lot::{Mutex, MutexGuard};
use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use crate::access::FileAccess;
use crate::error_text::explain_path_error;
use crate::journal::JournalDir;
use crate::locate::LinkMode;
use crate::metadata::{FileIdentity, FileMetadata};
use crate::open::{AnchoredName, WalkMode};
use crate::scratch::{sweep_locked, sweep_scratch};
use crate::whole::read_whole;

/// Initial and maximum pause between two lock attempts.
const LOCK_POLL_INTERVALS: (Duration, Duration) =
    (Duration::from_micros(200), Duration::from_millis(20));
/// How long a directory need not be swept again, and how many are remembered.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);
const MAX_SWEPT_DIRS: usize = 256;
/// Maximum size of a file that is changed as a whole.
const MAX_CHANGE_BYTES: u64 = 256 * 1024 * 1024;
/// Timeout multiplier while the lock is held by this process.
const OWN_QUEUE_WAIT_FACTOR: u32 = 10;
/// How often a file that changes while being read is read again.
const MAX_READ_ATTEMPTS: usize = 3;

/// Locked files. Released when dropped.
#[derive(Debug)]
pub struct FileLocks<'a> {
    pub(crate) files: FileAccess<'a>,
    pub(crate) dirs: Vec<LockedDir>,
    deadline: LockDeadline,
    /// Metadata of a path when it was read.
    read_metadata: RefCell<HashMap<PathBuf, Option<FileMetadata>>>,
    /// Journals of multi-file changes.
    pub(crate) journals: Option<Arc<JournalDir>>,
    /// Whether files become executable when written.
    pub(crate) executables: HashMap<PathBuf, bool>,
}

/// A locked directory.
#[derive(Debug)]
pub(crate) struct LockedDir {
    id: (u64, u64),
    handle: OwnedFd,
    /// Some file systems do not support locks.
    is_locked: bool,
}

impl LockedDir {
    fn new(id: (u64, u64), handle: OwnedFd, is_locked: bool) -> Self {
        held_dirs().insert(id);
        Self { id, handle, is_locked }
    }

    /// Removes the leftovers of dead processes from the directory, unless that
    /// happened a moment ago: a directory may be large and written often.
    pub(crate) fn sweep(&self) {
        if !is_sweep_due(self.id) {
            return;
        }
        match self.is_locked {
            true => sweep_locked(&self.handle),
            false => sweep_scratch(&self.handle),
        }
    }
}

impl Drop for LockedDir {
    fn drop(&mut self) {
        held_dirs().remove(&self.id);
    }
}

/// Whether a directory is due for a sweep, and records that it is swept now.
fn is_sweep_due(dir: (u64, u64)) -> bool {
    static LAST_SWEEPS: LazyLock<Mutex<HashMap<(u64, u64), Instant>>> =
        LazyLock::new(Mutex::default);
    let mut swept = LAST_SWEEPS.lock();
    let now = Instant::now();
    if swept.get(&dir).is_some_and(|at| now.duration_since(*at) < SWEEP_INTERVAL) {
        return false;
    }
    if swept.len() >= MAX_SWEPT_DIRS {
        swept.clear();
    }
    swept.insert(dir, now);
    true
}

/// Returns the directories that this process has locked.
fn held_dirs() -> MutexGuard<'static, HashSet<(u64, u64)>> {
    static HELD_DIRS: LazyLock<Mutex<HashSet<(u64, u64)>>> = LazyLock::new(Mutex::default);
    HELD_DIRS.lock()
}

/// Wait limit for a lock, and its cancellation.
#[derive(Debug, Clone)]
struct LockDeadline {
    until: Instant,
    /// Limit while this process holds the lock, which is sure to be released.
    until_in_process: Instant,
    cancel: CancellationToken,
}

impl<'a> FileAccess<'a> {
    /// Locks the files at these paths, which need not exist, and waits for
    /// current holders.
    ///
    /// A directory that cannot be locked (the file system does not support
    /// locks, or the directory is unreadable) is used without a lock.
    pub fn lock(
        self,
        paths: &[&Path],
        wait: Duration,
        cancel: &CancellationToken,
    ) -> Result<FileLocks<'a>, ToolError> {
        let now = Instant::now();
        let (until, with_ours) = (now + wait, now + wait * OWN_QUEUE_WAIT_FACTOR);
        let timeout = LockDeadline { until, until_in_process: with_ours, cancel: cancel.clone() };
        let mut hold = FileLocks {
            files: self,
            dirs: Vec::new(),
            deadline: timeout,
            read_metadata: RefCell::default(),
            journals: None,
            executables: HashMap::new(),
        };
        let places: Vec<PathBuf> =
            paths.iter().map(|path| self.locate_for_lock(path)).collect::<Result<_, _>>()?;
        loop {
            let mut found = Vec::new();
            for (place, path) in places.iter().zip(paths) {
                let nearest = nearest_existing(place, self.walk())
                    .and_then(|spot| spot.map_or(Ok(None), |spot| lockable_parent(&spot)));
                found.extend(nearest.map_err(|error| explain_path_error("lock", path, &error))?);
            }
            // All callers lock in the same order, which prevents deadlock.
            found.sort_by_key(|(id, _)| *id);
            found.dedup_by_key(|(id, _)| *id);
            for (id, handle) in found {
                hold.lock_dir(id, handle)?;
            }
            // The directories may have been moved, removed or created
            // meanwhile.
            let still = |place: &PathBuf| match nearest_existing(place, self.walk()) {
                Ok(Some(spot)) => {
                    hold.has_parent_of(&spot) || !matches!(lockable_parent(&spot), Ok(Some(_)))
                }
                _ => true,
            };
            if places.iter().all(still) {
                return Ok(hold);
            }
            hold.dirs.clear();
            hold.deadline.check_expired()?;
        }
    }

    /// Returns the real path of a path that the call may write, delete or at
    /// least read.
    fn locate_for_lock(&self, path: &Path) -> Result<PathBuf, ToolError> {
        let as_written = self.locate("lock", &Scope::FILE_WRITE, path, LinkMode::Follow);
        as_written
            .or_else(|_| self.locate("lock", &Scope::FILE_DELETE, path, LinkMode::Follow))
            .or_else(|_| self.locate("lock", &Scope::FILE_READ, path, LinkMode::Follow))
    }
}

impl FileLocks<'_> {
    /// Sets the journal directory, so multi-file changes can be rolled back
    /// after a crash.
    #[must_use]
    pub fn with_journals(mut self, journals: Option<Arc<JournalDir>>) -> Self {
        self.journals = journals;
        self
    }

    /// Sets which written files become executable and which do not; the others
    /// keep their mode.
    #[must_use]
    pub fn with_executables(mut self, programs: HashMap<PathBuf, bool>) -> Self {
        self.executables = programs;
        self
    }

    /// Returns the current content of a file; `None` if it does not exist.
    pub fn read(&self, path: &Path) -> Result<Option<Vec<u8>>, ToolError> {
        let mut last = None;
        for _ in 0..MAX_READ_ATTEMPTS {
            let (before, bytes) = match self.files.open_if_exists(path)? {
                None => (None, None),
                Some(file) => {
                    let failed = |error: io::Error| explain_path_error("read", path, &error);
                    let stat = rustix::fs::fstat(&file).map_err(|error| failed(error.into()))?;
                    let facts = FileMetadata::from_stat(&stat);
                    (Some(facts), Some(self.read_content(path, file, facts.len)?))
                }
            };
            let is_whole = bytes.as_ref().map(|b| b.len() as u64) == before.map(|f| f.len);
            let is_still = self.files.metadata_if_exists(path)? == before && is_whole;
            self.read_metadata.borrow_mut().insert(path.to_path_buf(), before);
            last = Some(bytes);
            if is_still {
                break;
            }
        }
        Ok(last.flatten())
    }

    fn read_content(&self, path: &Path, file: fs::File, len: u64) -> Result<Vec<u8>, ToolError> {
        if len > MAX_CHANGE_BYTES {
            return Err(ToolError::limit(format!(
                "{} has {len} bytes, which is too large to change as a whole",
                path.display()
            ))
            .with("file_size", len)
            .with_hint("Use a stream editor such as sed, or another file."));
        }
        let bytes = read_whole(&file, len, MAX_CHANGE_BYTES)
            .map_err(|error| explain_path_error("read", path, &error))?;
        if self.deadline.cancel.is_cancelled() {
            return Err(ToolError::cancelled());
        }
        Ok(bytes)
    }

    /// Returns the metadata of a path when it was read; `None` if it was not
    /// read.
    pub(crate) fn metadata_when_read(&self, path: &Path) -> Option<Option<FileMetadata>> {
        self.read_metadata.borrow().get(path).copied()
    }

    /// Also locks the parent directory of a name, which may be newly created.
    pub(crate) fn lock_parent(
        &mut self,
        spot: &AnchoredName,
        path: &Path,
    ) -> Result<(), ToolError> {
        if self.has_parent_of(spot) {
            return Ok(());
        }
        let found =
            lockable_parent(spot).map_err(|error| explain_path_error("lock", path, &error))?;
        found.map_or(Ok(()), |(id, handle)| self.lock_dir(id, handle))
    }

    fn has_parent_of(&self, spot: &AnchoredName) -> bool {
        let id = dir_id(&spot.dir).ok();
        id.is_some_and(|id| self.dirs.iter().any(|locked| locked.id == id))
    }

    fn lock_dir(&mut self, id: (u64, u64), handle: OwnedFd) -> Result<(), ToolError> {
        let mut pause = LOCK_POLL_INTERVALS.0;
        loop {
            match rustix::fs::flock(&handle, FlockOperation::NonBlockingLockExclusive) {
                Err(Errno::WOULDBLOCK | Errno::INTR) => {}
                // It is locked now, or does not support locks.
                locked => {
                    self.dirs.push(LockedDir::new(id, handle, locked.is_ok()));
                    return Ok(());
                }
            }
            if held_dirs().contains(&id) {
                // Waiting for this process's own locks does not count.
                let now = Instant::now();
                if now < self.deadline.until_in_process {
                    self.deadline.until = self.deadline.until.max(now + LOCK_POLL_INTERVALS.1 * 2);
                }
            }
            self.deadline.check_expired().map_err(|error| with_holder(error, id))?;
            thread::sleep(pause);
            pause = (pause * 2).min(LOCK_POLL_INTERVALS.1);
        }
    }
}

impl LockDeadline {
    fn check_expired(&self) -> Result<(), ToolError> {
        if self.cancel.is_cancelled() {
            return Err(ToolError::cancelled());
        }
        if Instant::now() < self.until {
            return Ok(());
        }
        Err(ToolError::conflict("Another process is changing files in the same directory")
            .with_hint("Nothing was changed. Retry in a moment."))
    }
}

/// Resolves the deepest ancestor of a path whose parent directory exists.
fn nearest_existing(place: &Path, walk: WalkMode) -> io::Result<Option<AnchoredName>> {
    for part in place.ancestors() {
        match AnchoredName::resolve(part, walk) {
            Ok(spot) => return Ok(Some(spot)),
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// Returns the parent directory of a name: its identity and a handle to lock,
/// if it can be opened.
fn lockable_parent(spot: &AnchoredName) -> io::Result<Option<((u64, u64), OwnedFd)>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    match rustix::fs::openat(&spot.dir, ".", flags, Mode::empty()) {
        Ok(handle) => Ok(Some((dir_id(&handle)?, handle))),
        Err(Errno::ACCESS | Errno::PERM) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn dir_id(dir: &OwnedFd) -> io::Result<(u64, u64)> {
    let FileIdentity { dev, ino, .. } = FileMetadata::from_stat(&rustix::fs::fstat(dir)?).identity;
    Ok((dev, ino))
}

/// Adds the lock holder to the error, if the system reports it.
fn with_holder(error: ToolError, (_, ino): (u64, u64)) -> ToolError {
    let Some(process) = lock_holder(ino) else { return error };
    let name = fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
    let message = format!("{} (process {process}, {})", error.message(), name.trim());
    error.with_message(message).with("held_by", process)
}

/// Returns the process that holds a lock on this inode.
fn lock_holder(ino: u64) -> Option<u32> {
    let locks = fs::read_to_string("/proc/locks").ok()?;
    let line = locks.lines().find_map(|line| {
        let mut words = line.split_whitespace().skip(1);
        let is_held = words.next() == Some("FLOCK");
        let process: u32 = words.nth(2)?.parse().ok()?;
        let number: u64 = words.next()?.rsplit(':').next()?.parse().ok()?;
        (is_held && number == ino).then_some(process)
    });
    line.filter(|process| *process > 0)
}
