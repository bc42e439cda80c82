//! The most recent finished runs of each job, one JSON line each.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::run::JobRun;
use crate::{CronError, files};

/// Minimum number of runs kept.
const MIN_KEPT_RUNS: usize = 100;

/// Number of lines at which the file is compacted.
const COMPACT_AT_LINES: usize = 2 * MIN_KEPT_RUNS;

/// Returns the runs of a job, oldest first.
pub(crate) fn read(dir: &Path, job: &str) -> Result<Vec<JobRun>, CronError> {
    let text = files::read(&path(dir, job))?.unwrap_or_default();
    let mut runs: Vec<JobRun> = Vec::new();
    // A partial line from a crash is ignored.
    for run in text.lines().filter_map(|line| serde_json::from_str::<JobRun>(line).ok()) {
        // A run recorded as interrupted may still have finished.
        match runs.iter_mut().find(|known| known.id == run.id) {
            Some(known) => *known = run,
            None => runs.push(run),
        }
    }
    let old = runs.len().saturating_sub(MIN_KEPT_RUNS);
    Ok(runs.split_off(old))
}

/// Appends a run. The caller holds the lock.
pub(crate) fn append(dir: &Path, run: &JobRun) -> Result<(), CronError> {
    let path = path(dir, &run.job);
    files::create_private_dir(&dir.join(HISTORY_DIR))?;
    let line = serde_json::to_string(run)
        .map_err(|e| CronError::io("write", &path, std::io::Error::other(e)))?;
    let text = files::read(&path)?.unwrap_or_default();
    if text.lines().count() >= COMPACT_AT_LINES {
        let mut kept = read(dir, &run.job)?;
        kept.push(run.clone());
        let lines = kept.iter().filter_map(|run| serde_json::to_string(run).ok());
        let text: String = lines.map(|line| line + "\n").collect();
        return files::write(&path, text.as_bytes());
    }
    let torn = !text.is_empty() && !text.ends_with('\n');
    let line = format!("{}{line}\n", if torn { "\n" } else { "" });
    let mut file = files::open(&path)?;
    let end = std::io::Seek::seek(&mut file, std::io::SeekFrom::End(0));
    end.and_then(|_| file.write_all(line.as_bytes()))
        .and_then(|()| file.sync_data())
        .map_err(|e| CronError::io("write", &path, e))
}

/// Returns a run, if it is recorded.
pub(crate) fn find(dir: &Path, job: &str, run: &str) -> Result<Option<JobRun>, CronError> {
    Ok(read(dir, job)?.into_iter().find(|known| known.id == run))
}

/// Removes the history of a job.
pub(crate) fn remove(dir: &Path, job: &str) -> Result<(), CronError> {
    files::remove(&path(dir, job))
}

const HISTORY_DIR: &str = "history";

fn path(dir: &Path, job: &str) -> PathBuf {
    dir.join(HISTORY_DIR).join(format!("{job}.jsonl"))
}
