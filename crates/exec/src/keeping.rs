//! How long what programs have written is kept: long outputs, pictures, what
//! detached jobs have left among the temporary files.

use std::fs::{self, File, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::leftovers::Leftovers;
use crate::tree;

/// The beginning of the name of a detached job's folder.
pub(crate) const DETACHED: &str = "hermes-detached-";
/// The same of a program that embeds tools; its id follows.
pub(crate) const PASSING: &str = "hermes-jobs-";

/// Nothing is looked for more often.
const SELDOM: Duration = Duration::from_secs(60 * 60);
/// What was written so recently may still be wanted, however much it is.
const FRESH: Duration = Duration::from_secs(60 * 60);
/// Folders within folders.
const DEEPEST: usize = 6;

/// How long, and how much of it, is kept of what programs have written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keep {
    /// What was not written to for longer is thrown away; none for never.
    pub age: Option<Duration>,
    /// Of more bytes the oldest are thrown away; none for any number.
    pub bytes: Option<u64>,
}

impl Default for Keep {
    fn default() -> Self {
        Self { age: Some(Duration::from_secs(7 * 24 * 60 * 60)), bytes: Some(4 << 30) }
    }
}

/// Throws away what has grown old in a folder of jobs, and among the temporary
/// files. Does nothing if that was done lately.
pub(crate) fn tidy(folder: &Path, keep: Keep) {
    let stamp = folder.join("output/.tidied");
    let age = |path: &Path| fs::metadata(path).and_then(|found| found.modified()).ok();
    if age(&stamp).is_some_and(|at| at.elapsed().is_ok_and(|since| since < SELDOM)) {
        return;
    }
    tidy_folder(folder, keep);
    if let Some(age) = keep.age {
        tidy_temporary(&std::env::temp_dir(), folder, age);
    }
    // Nobody makes a folder to note that there is nothing in it.
    let _ = File::create(stamp);
}

/// A file that may be thrown away.
struct Old {
    path: PathBuf,
    bytes: u64,
    since: Duration,
}

fn tidy_folder(folder: &Path, keep: Keep) {
    let mut files = Vec::new();
    for part in ["output", "repl"] {
        collect(&folder.join(part), DEEPEST, &mut files);
    }
    // The youngest first.
    files.sort_by_key(|file| file.since);
    let mut kept = 0_u64;
    for file in files {
        let is_old = keep.age.is_some_and(|age| file.since > age);
        let is_much = keep.bytes.is_some_and(|most| kept.saturating_add(file.bytes) > most);
        if is_old || (is_much && file.since > FRESH) {
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
fn collect(folder: &Path, depth: usize, files: &mut Vec<Old>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let Ok(found) = entry.metadata() else { continue };
        if found.is_dir() && depth > 0 {
            collect(&entry.path(), depth - 1, files);
        } else if found.is_file() {
            files.push(Old {
                path: entry.path(),
                bytes: found.blocks() * 512,
                since: idle(&found),
            });
        }
    }
}

fn idle(found: &Metadata) -> Duration {
    let at = found.modified().unwrap_or_else(|_| SystemTime::now());
    at.elapsed().unwrap_or_default()
}

/// What detached jobs, and programs that ended without a word, have left.
fn tidy_temporary(temporary: &Path, jobs: &Path, age: Duration) {
    let us = rustix::process::getuid().as_raw();
    let Ok(entries) = fs::read_dir(temporary) else { return };
    let mut used: Option<Vec<PathBuf>> = None;
    for entry in entries.flatten() {
        let Ok(name) = entry.file_name().into_string() else { continue };
        let is_passed = name.strip_prefix(PASSING).and_then(|id| id.parse().ok()).map(is_gone);
        if !name.starts_with(DETACHED) && is_passed != Some(true) {
            continue;
        }
        // Not followed: only a folder of our own is ours to empty.
        let is_ours = entry.metadata().is_ok_and(|found| found.is_dir() && found.uid() == us);
        let mut files = Vec::new();
        collect(&entry.path(), DEEPEST, &mut files);
        let is_old = files.iter().all(|file| file.since > age)
            && entry.metadata().is_ok_and(|found| idle(&found) > age);
        if !is_ours || !is_old {
            continue;
        }
        // One that still runs may have nothing to say for weeks.
        let used = used.get_or_insert_with(|| [outputs(jobs), held(temporary)].concat());
        if !used.iter().any(|file| file.starts_with(entry.path())) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn is_gone(id: u32) -> bool {
    tree::started(id).is_none()
}

/// The files of detached jobs that still run.
fn outputs(jobs: &Path) -> Vec<PathBuf> {
    let folder = jobs.join("running");
    let list = folder.is_dir().then(|| Leftovers::open(folder).ok()).flatten();
    let left = list.map(|list| list.orphans()).unwrap_or_default();
    left.into_iter().filter_map(|entry| entry.output).collect()
}

/// The files below a folder that a process of ours has open, where the system
/// tells: a detached job may be another home's.
fn held(folder: &Path) -> Vec<PathBuf> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let files = processes.flat_map(|process| fs::read_dir(process.path().join("fd")));
    let files = files.flat_map(Iterator::flatten);
    let targets = files.filter_map(|file| fs::read_link(file.path()).ok());
    targets.filter(|target| target.starts_with(folder)).collect()
}

#[cfg(test)]
#[path = "keeping_tests.rs"]
mod tests;
