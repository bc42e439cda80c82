//! How long what programs have written is kept: long outputs, pictures, what
//! detached jobs have left among the temporary files.

use std::collections::hash_map::RandomState;
use std::fs::{self, DirBuilder, File, Metadata};
use std::hash::BuildHasher as _;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::job_records::{JobRecord, JobRecords};
use crate::tree;

/// The beginning of the name of a detached job's folder.
pub(crate) const DETACHED_PREFIX: &str = "hermes-detached-";
/// The same of a program that embeds tools; its id follows.
const OWNED_TEMP_PREFIX: &str = "hermes-jobs-";
/// The file in such a folder that is locked for as long as the program runs.
const OWNER_FILE: &str = ".owner";

/// Nothing is looked for more often.
const CLEANUP_INTERVAL: Duration = Duration::from_secs(60 * 60);
/// What was written so recently may still be wanted, however much it is.
const MIN_AGE: Duration = Duration::from_secs(60 * 60);
/// Folders within folders.
const MAX_DEPTH: usize = 6;

/// How long, and how much of it, is kept of what programs have written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetentionPolicy {
    /// What was not written to for longer is thrown away; none for never.
    pub max_age: Option<Duration>,
    /// Of more bytes the oldest are thrown away; none for any number.
    pub max_bytes: Option<u64>,
}

impl Default for RetentionPolicy {
    fn default() -> Self {
        Self { max_age: Some(Duration::from_secs(7 * 24 * 60 * 60)), max_bytes: Some(4 << 30) }
    }
}

/// A folder for a program that has none, under a name that nobody can guess.
pub(crate) fn owned_temp_path() -> PathBuf {
    let word = RandomState::new().hash_one(SystemTime::now());
    std::env::temp_dir().join(format!("{OWNED_TEMP_PREFIX}{}-{word:016x}", std::process::id()))
}

/// Such a folder, which goes with this.
#[derive(Debug)]
pub(crate) struct OwnedTempDir {
    directory: PathBuf,
    /// Tells others that it is in use, also those that count processes in
    /// another way.
    _lock: File,
}

impl OwnedTempDir {
    pub(crate) fn create(folder: &Path) -> io::Result<Self> {
        // One that is there already is somebody else's.
        DirBuilder::new().mode(0o700).create(folder)?;
        let lock = File::create(folder.join(OWNER_FILE))?;
        lock.lock()?;
        Ok(Self { directory: folder.to_owned(), _lock: lock })
    }

    /// Leaves the folder to what runs on.
    pub(crate) fn persist(mut self) {
        self.directory = PathBuf::new();
    }
}

impl Drop for OwnedTempDir {
    fn drop(&mut self) {
        if !self.directory.as_os_str().is_empty() {
            let _ = fs::remove_dir_all(&self.directory);
        }
    }
}

/// Throws away what has grown old in a folder of jobs, and among the temporary
/// files. Does nothing if that was done lately.
pub(crate) fn remove_expired(folder: &Path, keep: RetentionPolicy) {
    let stamp = folder.join("output/.tidied");
    let age = |path: &Path| fs::metadata(path).and_then(|found| found.modified()).ok();
    if age(&stamp).is_some_and(|at| at.elapsed().is_ok_and(|since| since < CLEANUP_INTERVAL)) {
        return;
    }
    remove_expired_in(folder, keep);
    if let Some(age) = keep.max_age {
        remove_expired_temporary(&std::env::temp_dir(), folder, age);
    }
    // Nobody makes a folder to note that there is nothing in it.
    let _ = File::create(stamp);
}

/// A file that may be thrown away.
struct ExpiryCandidate {
    path: PathBuf,
    bytes: u64,
    idle: Duration,
}

fn remove_expired_in(folder: &Path, keep: RetentionPolicy) {
    let mut files = Vec::new();
    for part in ["output", "repl"] {
        collect(&folder.join(part), MAX_DEPTH, &mut files);
    }
    // The youngest first.
    files.sort_by_key(|file| file.idle);
    let mut kept = 0_u64;
    for file in files {
        let is_old = keep.max_age.is_some_and(|age| file.idle > age);
        let is_much = keep.max_bytes.is_some_and(|most| kept.saturating_add(file.bytes) > most);
        if is_old || (is_much && file.idle > MIN_AGE) {
            let _ = fs::remove_file(&file.path);
            // Only one that is empty goes with it.
            let above = file.path.ancestors().skip(1).take_while(|at| *at != folder);
            for at in above {
                if at.parent() == Some(folder) || fs::remove_dir(at).is_err() {
                    break;
                }
            }
        } else {
            kept = kept.saturating_add(file.bytes);
        }
    }
}

/// All files of a folder; links lead nowhere.
fn collect(folder: &Path, depth: usize, files: &mut Vec<ExpiryCandidate>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let Ok(found) = entry.metadata() else { continue };
        if found.is_dir() && depth > 0 {
            collect(&entry.path(), depth - 1, files);
        } else if found.is_file() {
            files.push(ExpiryCandidate {
                path: entry.path(),
                bytes: found.blocks() * 512,
                idle: idle_time(&found),
            });
        }
    }
}

fn idle_time(found: &Metadata) -> Duration {
    let at = found.modified().unwrap_or_else(|_| SystemTime::now());
    at.elapsed().unwrap_or_default()
}

/// What detached jobs, and programs that ended without a word, have left.
fn remove_expired_temporary(temporary: &Path, jobs: &Path, age: Duration) {
    let us = rustix::process::getuid().as_raw();
    let Ok(entries) = fs::read_dir(temporary) else { return };
    let mut used: Option<Vec<PathBuf>> = None;
    for entry in entries.flatten() {
        let (name, path) = (entry.file_name(), entry.path());
        let Some(name) = name.to_str() else { continue };
        let owner = name.strip_prefix(OWNED_TEMP_PREFIX);
        if !name.starts_with(DETACHED_PREFIX) && owner.is_none() {
            continue;
        }
        // Not followed: only a folder of our own is ours to empty.
        let Ok(found) = entry.metadata() else { continue };
        if !found.is_dir() || found.uid() != us {
            continue;
        }
        let is_done = match owner {
            // Nobody will ask for what it holds, unless something runs on.
            Some(owner) => is_abandoned(&path, owner) && orphan_records(&path).is_empty(),
            None => is_expired(&path, &found, age),
        };
        if !is_done {
            continue;
        }
        // One that still runs may have nothing to say for weeks.
        let used =
            used.get_or_insert_with(|| [running_outputs(jobs), open_files(temporary)].concat());
        if !used.iter().any(|file| file.starts_with(&path)) {
            let _ = fs::remove_dir_all(&path);
        }
    }
}

fn is_expired(folder: &Path, found: &Metadata, age: Duration) -> bool {
    let mut files = Vec::new();
    collect(folder, MAX_DEPTH, &mut files);
    idle_time(found) > age && files.iter().all(|file| file.idle > age)
}

/// Whether the program that has made a folder is gone.
fn is_abandoned(folder: &Path, owner: &str) -> bool {
    match File::open(folder.join(OWNER_FILE)) {
        Ok(lock) => lock.try_lock().is_ok(),
        // It was just made, or by an earlier version.
        Err(_) => {
            let id = owner.split('-').next().and_then(|id| id.parse().ok());
            id.is_some_and(|id| tree::start_time(id).is_none())
        }
    }
}

/// The files of detached jobs that still run.
fn running_outputs(jobs: &Path) -> Vec<PathBuf> {
    orphan_records(jobs).into_iter().filter_map(|entry| entry.output).collect()
}

fn orphan_records(jobs: &Path) -> Vec<JobRecord> {
    let folder = jobs.join("running");
    let list = folder.is_dir().then(|| JobRecords::open(folder).ok()).flatten();
    list.map(|list| list.orphans()).unwrap_or_default()
}

/// The files below a folder that a process of ours has open, where the system
/// tells: a detached job may be another home's.
pub(crate) fn open_files(folder: &Path) -> Vec<PathBuf> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let files = processes.flat_map(|process| fs::read_dir(process.path().join("fd")));
    let files = files.flat_map(Iterator::flatten);
    let targets = files.filter_map(|file| fs::read_link(file.path()).ok());
    targets.filter(|target| target.starts_with(folder)).collect()
}

#[cfg(test)]
#[path = "retention_tests.rs"]
mod tests;
