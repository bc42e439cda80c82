//! Retention of process output: long outputs, images, and temporary files of
//! detached jobs.

use std::collections::hash_map::RandomState;
use std::fs::{self, DirBuilder, File, Metadata};
use std::hash::BuildHasher as _;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::job_records::{JobRecord, JobRecords};
use crate::tree;

/// Name prefix of the directory of a detached job.
pub(crate) const DETACHED_PREFIX: &str = "hermes-detached-";
/// Name prefix of the directory of an embedding program; its process id
/// follows.
const OWNED_TEMP_PREFIX: &str = "hermes-jobs-";
/// File in such a directory that is locked while the program runs.
const OWNER_FILE: &str = ".owner";

/// Minimum time between two cleanups.
const CLEANUP_INTERVAL: Duration = Duration::from_secs(60 * 60);
/// Younger files are kept, whatever the size limit: they may still be needed.
const MIN_AGE: Duration = Duration::from_secs(60 * 60);
/// Maximum directory nesting.
const MAX_DEPTH: usize = 6;

/// Age and size limits of retained process output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetentionPolicy {
    /// Files not modified for longer are deleted; `None` for no limit.
    pub max_age: Option<Duration>,
    /// Beyond this total the oldest files are deleted; `None` for no limit.
    pub max_bytes: Option<u64>,
}

impl Default for RetentionPolicy {
    fn default() -> Self {
        Self { max_age: Some(Duration::from_secs(7 * 24 * 60 * 60)), max_bytes: Some(4 << 30) }
    }
}

/// Returns an unguessable path for a program without a directory.
pub(crate) fn owned_temp_path() -> PathBuf {
    let word = RandomState::new().hash_one(SystemTime::now());
    std::env::temp_dir().join(format!("{OWNED_TEMP_PREFIX}{}-{word:016x}", std::process::id()))
}

/// Directory of an embedding program, removed on drop.
#[derive(Debug)]
pub(crate) struct OwnedTempDir {
    directory: PathBuf,
    /// Marks the directory as in use, also across PID namespaces.
    _lock: File,
}

impl OwnedTempDir {
    pub(crate) fn create(dir: &Path) -> io::Result<Self> {
        // An existing directory belongs to another process.
        DirBuilder::new().mode(0o700).create(dir)?;
        let lock = File::create(dir.join(OWNER_FILE))?;
        lock.lock()?;
        Ok(Self { directory: dir.to_owned(), _lock: lock })
    }

    /// Keeps the directory for jobs that outlive this process.
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

/// Deletes expired files of the jobs directory and the temporary directory.
/// Does nothing if the last cleanup was recent.
pub(crate) fn remove_expired(dir: &Path, keep: RetentionPolicy) {
    let stamp = dir.join("output/.tidied");
    let age = |path: &Path| fs::metadata(path).and_then(|found| found.modified()).ok();
    if age(&stamp).is_some_and(|at| at.elapsed().is_ok_and(|since| since < CLEANUP_INTERVAL)) {
        return;
    }
    remove_expired_in(dir, keep);
    if let Some(age) = keep.max_age {
        remove_expired_temporary(&std::env::temp_dir(), dir, age);
    }
    // Fails if there is no output directory, and then there is nothing to clean
    // up.
    let _ = File::create(stamp);
}

/// A file that may be deleted.
struct ExpiryCandidate {
    path: PathBuf,
    bytes: u64,
    idle: Duration,
}

fn remove_expired_in(dir: &Path, keep: RetentionPolicy) {
    let mut files = Vec::new();
    for part in ["output", "repl"] {
        collect(&dir.join(part), MAX_DEPTH, &mut files);
    }
    // Newest first.
    files.sort_by_key(|file| file.idle);
    let mut kept = 0_u64;
    for file in files {
        let is_old = keep.max_age.is_some_and(|age| file.idle > age);
        let is_much = keep.max_bytes.is_some_and(|most| kept.saturating_add(file.bytes) > most);
        if is_old || (is_much && file.idle > MIN_AGE) {
            let _ = fs::remove_file(&file.path);
            // Removes parent directories that are now empty.
            let above = file.path.ancestors().skip(1).take_while(|at| *at != dir);
            for at in above {
                if at.parent() == Some(dir) || fs::remove_dir(at).is_err() {
                    break;
                }
            }
        } else {
            kept = kept.saturating_add(file.bytes);
        }
    }
}

/// Collects all files of a directory; symlinks are not followed.
fn collect(dir: &Path, depth: usize, files: &mut Vec<ExpiryCandidate>) {
    let Ok(entries) = fs::read_dir(dir) else { return };
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

/// Removes the directories of detached jobs and of programs that crashed.
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
        // Does not follow symlinks: only directories of this user may be
        // removed.
        let Ok(found) = entry.metadata() else { continue };
        if !found.is_dir() || found.uid() != us {
            continue;
        }
        let is_done = match owner {
            // No process will read its contents, unless a job is still running.
            Some(owner) => is_abandoned(&path, owner) && orphan_records(&path).is_empty(),
            None => is_expired(&path, &found, age),
        };
        if !is_done {
            continue;
        }
        // A running job may print nothing for weeks.
        let used =
            used.get_or_insert_with(|| [running_outputs(jobs), open_files(temporary)].concat());
        if !used.iter().any(|file| file.starts_with(&path)) {
            let _ = fs::remove_dir_all(&path);
        }
    }
}

fn is_expired(dir: &Path, found: &Metadata, age: Duration) -> bool {
    let mut files = Vec::new();
    collect(dir, MAX_DEPTH, &mut files);
    idle_time(found) > age && files.iter().all(|file| file.idle > age)
}

/// Whether the program that created a directory has ended.
fn is_abandoned(dir: &Path, owner: &str) -> bool {
    match File::open(dir.join(OWNER_FILE)) {
        Ok(lock) => lock.try_lock().is_ok(),
        // The directory is new, or was created by an earlier version.
        Err(_) => {
            let id = owner.split('-').next().and_then(|id| id.parse().ok());
            id.is_some_and(|id| tree::start_time(id).is_none())
        }
    }
}

/// Returns the output files of detached jobs that are still running.
fn running_outputs(jobs: &Path) -> Vec<PathBuf> {
    orphan_records(jobs).into_iter().filter_map(|entry| entry.output).collect()
}

fn orphan_records(jobs: &Path) -> Vec<JobRecord> {
    let dir = jobs.join("running");
    let list = dir.is_dir().then(|| JobRecords::open(dir).ok()).flatten();
    list.map(|list| list.orphans()).unwrap_or_default()
}

/// Returns the files below a directory that a process of this user has open,
/// where `/proc` shows it: a detached job may belong to another home.
pub(crate) fn open_files(dir: &Path) -> Vec<PathBuf> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let files = processes.flat_map(|process| fs::read_dir(process.path().join("fd")));
    let files = files.flat_map(Iterator::flatten);
    let targets = files.filter_map(|file| fs::read_link(file.path()).ok());
    targets.filter(|target| target.starts_with(dir)).collect()
}

#[cfg(test)]
#[path = "retention_tests.rs"]
mod tests;
