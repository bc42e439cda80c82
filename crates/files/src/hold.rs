//! Files that one call has for itself for a while: across threads, and across
//! processes that ask in the same way.
//!
//! The lock is on the folder, by its handle. That leaves no lock files among
//! the user's, and it holds for names that do not exist yet and for files that
//! are replaced meanwhile. A process that dies lets go of it.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use hermes_core::{CancellationToken, Scope, ToolError};
use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use crate::facts::{Facts, Identity};
use crate::files::Files;
use crate::journal::Journals;
use crate::open::{Spot, Walk};
use crate::place::Last;
use crate::scratch::{sweep, sweep_locked};
use crate::whole::read_whole;
use crate::words::explain_way;

/// The first and the longest pause between two looks at a lock.
const PAUSE: (Duration, Duration) = (Duration::from_micros(200), Duration::from_millis(20));
/// For how long a folder need not be swept again, and how many are known.
const SWEPT_FOR: Duration = Duration::from_secs(1);
const SWEPT_FOLDERS: usize = 256;
/// The longest file that is changed as a whole.
const LONGEST: u64 = 256 * 1024 * 1024;
/// How many times as long one waits in the queue of this process.
const QUEUE: u32 = 10;
/// How often a file is read anew that changes while it is read.
const READS: usize = 3;

/// Files that are held. Let go when dropped.
#[derive(Debug)]
pub struct Hold<'a> {
    pub(crate) files: Files<'a>,
    pub(crate) folders: Vec<Locked>,
    patience: Patience,
    /// What was at a path when it was read.
    seen: RefCell<HashMap<PathBuf, Option<Facts>>>,
    /// Where changes of several files are written down.
    pub(crate) journals: Option<Arc<Journals>>,
    /// The files that shall be programs when they are written, or none.
    pub(crate) programs: HashMap<PathBuf, bool>,
}

/// A folder that is held.
#[derive(Debug)]
pub(crate) struct Locked {
    id: (u64, u64),
    handle: OwnedFd,
    /// Some file systems know no locks.
    is_locked: bool,
}

impl Locked {
    fn new(id: (u64, u64), handle: OwnedFd, is_locked: bool) -> Self {
        ours().insert(id);
        Self { id, handle, is_locked }
    }

    /// Removes what dead processes have left in the folder, unless that was done
    /// a moment ago: a folder may be long, and many files in it be written.
    pub(crate) fn sweep(&self) {
        if !is_due(self.id) {
            return;
        }
        match self.is_locked {
            true => sweep_locked(&self.handle),
            false => sweep(&self.handle),
        }
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        ours().remove(&self.id);
    }
}

/// Whether a folder was not swept for a while, for somebody who does it now.
fn is_due(folder: (u64, u64)) -> bool {
    static SWEPT: LazyLock<Mutex<HashMap<(u64, u64), Instant>>> = LazyLock::new(Mutex::default);
    let mut swept = SWEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let now = Instant::now();
    if swept.get(&folder).is_some_and(|at| now.duration_since(*at) < SWEPT_FOR) {
        return false;
    }
    if swept.len() >= SWEPT_FOLDERS {
        swept.clear();
    }
    swept.insert(folder, now);
    true
}

/// The folders that this process holds.
fn ours() -> MutexGuard<'static, HashSet<(u64, u64)>> {
    static OURS: LazyLock<Mutex<HashSet<(u64, u64)>>> = LazyLock::new(Mutex::default);
    OURS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How long one waits, and who may put an end to it.
#[derive(Debug, Clone)]
struct Patience {
    until: Instant,
    /// With others of this process, which are sure to go on.
    with_ours: Instant,
    cancel: CancellationToken,
}

impl<'a> Files<'a> {
    /// Holds the files at these paths, which need not exist, and waits for
    /// whoever holds one of them.
    ///
    /// A folder that cannot be locked (some file systems know no locks, and a
    /// folder may not be readable) is used without.
    pub fn hold(
        self,
        paths: &[&Path],
        wait: Duration,
        cancel: &CancellationToken,
    ) -> Result<Hold<'a>, ToolError> {
        let now = Instant::now();
        let (until, with_ours) = (now + wait, now + wait * QUEUE);
        let patience = Patience { until, with_ours, cancel: cancel.clone() };
        let mut hold = Hold {
            files: self,
            folders: Vec::new(),
            patience,
            seen: RefCell::default(),
            journals: None,
            programs: HashMap::new(),
        };
        let places: Vec<PathBuf> =
            paths.iter().map(|path| self.touched(path)).collect::<Result<_, _>>()?;
        loop {
            let mut found = Vec::new();
            for (place, path) in places.iter().zip(paths) {
                let nearest = nearest_spot(place, self.walk())
                    .and_then(|spot| spot.map_or(Ok(None), |spot| readable(&spot)));
                found.extend(nearest.map_err(|error| explain_way("lock", path, &error))?);
            }
            // Everybody takes them in the same order, so nobody waits in a circle.
            found.sort_by_key(|(id, _)| *id);
            found.dedup_by_key(|(id, _)| *id);
            for (id, handle) in found {
                hold.lock(id, handle)?;
            }
            // They may have been moved, removed or made while we waited.
            let still = |place: &PathBuf| match nearest_spot(place, self.walk()) {
                Ok(Some(spot)) => {
                    hold.has_folder_of(&spot) || !matches!(readable(&spot), Ok(Some(_)))
                }
                _ => true,
            };
            if places.iter().all(still) {
                return Ok(hold);
            }
            hold.folders.clear();
            hold.patience.check()?;
        }
    }

    /// The real place of a path that the call may change in one way or other,
    /// or at least read.
    fn touched(&self, path: &Path) -> Result<PathBuf, ToolError> {
        let as_written = self.place("lock", &Scope::FILE_WRITE, path, Last::Follow);
        as_written
            .or_else(|_| self.place("lock", &Scope::FILE_DELETE, path, Last::Follow))
            .or_else(|_| self.place("lock", &Scope::FILE_READ, path, Last::Follow))
    }
}

impl Hold<'_> {
    /// Has changes of several files written down there, so that they can be
    /// taken back if we are killed on the way.
    #[must_use]
    pub fn noting(mut self, journals: Option<Arc<Journals>>) -> Self {
        self.journals = journals;
        self
    }

    /// Those of the files that are written shall be programs, or none; the
    /// others stay what they are.
    #[must_use]
    pub fn with_programs(mut self, programs: HashMap<PathBuf, bool>) -> Self {
        self.programs = programs;
        self
    }

    /// What a file holds now; none if there is no file.
    pub fn read(&self, path: &Path) -> Result<Option<Vec<u8>>, ToolError> {
        let mut last = None;
        for _ in 0..READS {
            let (before, bytes) = match self.files.open_if_there(path)? {
                None => (None, None),
                Some(file) => {
                    let failed = |error: io::Error| explain_way("read", path, &error);
                    let stat = rustix::fs::fstat(&file).map_err(|error| failed(error.into()))?;
                    let facts = Facts::of(&stat);
                    (Some(facts), Some(self.take(path, file, facts.len)?))
                }
            };
            let is_whole = bytes.as_ref().map(|b| b.len() as u64) == before.map(|f| f.len);
            let is_still = self.files.look(path)? == before && is_whole;
            self.seen.borrow_mut().insert(path.to_path_buf(), before);
            last = Some(bytes);
            if is_still {
                break;
            }
        }
        Ok(last.flatten())
    }

    fn take(&self, path: &Path, file: fs::File, len: u64) -> Result<Vec<u8>, ToolError> {
        if len > LONGEST {
            return Err(ToolError::limit(format!(
                "{} has {len} bytes, which is too much to change as a whole",
                path.display()
            ))
            .with("file_size", len)
            .with_hint("Use a program that works on streams, such as sed, or another file."));
        }
        let bytes =
            read_whole(&file, len, LONGEST).map_err(|error| explain_way("read", path, &error))?;
        if self.patience.cancel.is_cancelled() {
            return Err(ToolError::cancelled());
        }
        Ok(bytes)
    }

    /// What was at a path when it was read; none if it was not read.
    pub(crate) fn seen(&self, path: &Path) -> Option<Option<Facts>> {
        self.seen.borrow().get(path).copied()
    }

    /// Holds the folder of a spot as well: one that was made meanwhile.
    pub(crate) fn add(&mut self, spot: &Spot, path: &Path) -> Result<(), ToolError> {
        if self.has_folder_of(spot) {
            return Ok(());
        }
        let found = readable(spot).map_err(|error| explain_way("lock", path, &error))?;
        found.map_or(Ok(()), |(id, handle)| self.lock(id, handle))
    }

    fn has_folder_of(&self, spot: &Spot) -> bool {
        let id = identity(&spot.folder).ok();
        id.is_some_and(|id| self.folders.iter().any(|locked| locked.id == id))
    }

    fn lock(&mut self, id: (u64, u64), handle: OwnedFd) -> Result<(), ToolError> {
        let mut pause = PAUSE.0;
        loop {
            match rustix::fs::flock(&handle, FlockOperation::NonBlockingLockExclusive) {
                Err(Errno::WOULDBLOCK | Errno::INTR) => {}
                // Here it is locked, or cannot be.
                locked => {
                    self.folders.push(Locked::new(id, handle, locked.is_ok()));
                    return Ok(());
                }
            }
            if ours().contains(&id) {
                // Time in our own queue does not count.
                let now = Instant::now();
                if now < self.patience.with_ours {
                    self.patience.until = self.patience.until.max(now + PAUSE.1 * 2);
                }
            }
            self.patience.check().map_err(|error| with_holder(error, id))?;
            thread::sleep(pause);
            pause = (pause * 2).min(PAUSE.1);
        }
    }
}

impl Patience {
    fn check(&self) -> Result<(), ToolError> {
        if self.cancel.is_cancelled() {
            return Err(ToolError::cancelled());
        }
        if Instant::now() < self.until {
            return Ok(());
        }
        Err(ToolError::conflict("Somebody else is changing files in the same folder")
            .with_hint("Nothing was changed. Try again in a moment."))
    }
}

/// A spot in the deepest folder above a place that exists.
fn nearest_spot(place: &Path, walk: Walk) -> io::Result<Option<Spot>> {
    for part in place.ancestors() {
        match Spot::reach(part, walk) {
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

/// The folder of a spot: its identity, and a handle to lock it by, if there can
/// be one.
fn readable(spot: &Spot) -> io::Result<Option<((u64, u64), OwnedFd)>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    match rustix::fs::openat(&spot.folder, ".", flags, Mode::empty()) {
        Ok(handle) => Ok(Some((identity(&handle)?, handle))),
        Err(Errno::ACCESS | Errno::PERM) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn identity(folder: &OwnedFd) -> io::Result<(u64, u64)> {
    let Identity { dev, ino, .. } = Facts::of(&rustix::fs::fstat(folder)?).identity;
    Ok((dev, ino))
}

/// Adds who holds the lock, as far as the system tells.
fn with_holder(error: ToolError, (_, ino): (u64, u64)) -> ToolError {
    let Some(process) = holder(ino) else { return error };
    let name = fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
    let message = format!("{} (process {process}, {})", error.message(), name.trim());
    error.with_message(message).with("held_by", process)
}

/// The process that has a lock on a file of that number.
fn holder(ino: u64) -> Option<u32> {
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
