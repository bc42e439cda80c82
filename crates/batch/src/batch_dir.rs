//! The directory of a batch: its lock, its plan, and its output lines, which
//! are synced to disk before the batch relies on them.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use hermes_store::atomic::write_atomic;
use serde::{Deserialize, Serialize};

use crate::BatchError;

/// Parameters of a batch. Resuming with different ones would mix two batches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchPlan {
    /// Seed for drawing toolsets.
    pub seed: u64,
    /// The toolset distribution, by name or definition.
    pub distribution: String,
    /// The model.
    pub model: Option<String>,
    /// Maximum number of model requests per conversation.
    pub max_turns: Option<u32>,
    /// Number of prompts per output file.
    pub batch_size: usize,
}

impl BatchPlan {
    /// Fails if a parameter differs.
    fn ensure_same(&self, now: &Self) -> Result<(), BatchError> {
        let show = |value: &Option<String>| value.clone().unwrap_or_else(|| "the usual".into());
        let turns = |value: &Option<u32>| show(&value.map(|n| n.to_string()));
        for (what, before, now) in [
            ("seed", self.seed.to_string(), now.seed.to_string()),
            ("distribution", self.distribution.clone(), now.distribution.clone()),
            ("model", show(&self.model), show(&now.model)),
            ("max-turns", turns(&self.max_turns), turns(&now.max_turns)),
            ("batch-size", self.batch_size.to_string(), now.batch_size.to_string()),
        ] {
            if before != now {
                return Err(BatchError::PlanMismatch { what, before, now });
            }
        }
        Ok(())
    }
}

/// The directory of a batch, locked while this value exists.
#[derive(Debug)]
pub(crate) struct BatchDir {
    path: PathBuf,
    _lock: File,
}

impl BatchDir {
    /// Starts a batch, or resumes one.
    pub(crate) fn open(path: &Path, plan: &BatchPlan, resume: bool) -> Result<Self, BatchError> {
        std::fs::create_dir_all(path).map_err(|e| BatchError::io("make", path, e))?;
        let lock = path.join(".lock");
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(&lock);
        let file = file.map_err(|e| BatchError::io("open", &lock, e))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(BatchError::Busy(path.to_owned())),
            Err(TryLockError::Error(e)) => return Err(BatchError::io("lock", &lock, e)),
        }
        let dir = Self { path: path.to_owned(), _lock: file };
        dir.init_plan(plan, resume)?;
        Ok(dir)
    }

    fn init_plan(&self, plan: &BatchPlan, resume: bool) -> Result<(), BatchError> {
        let file = self.path.join("plan.json");
        match std::fs::read(&file) {
            Ok(bytes) if resume => {
                let before: BatchPlan = serde_json::from_slice(&bytes)
                    .map_err(|e| BatchError::io("read", &file, std::io::Error::other(e)))?;
                before.ensure_same(plan)
            }
            Ok(_) => Err(BatchError::AlreadyExists(self.path.clone())),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                if !self.batch_files()?.is_empty() {
                    return Err(BatchError::AlreadyExists(self.path.clone()));
                }
                self.write_json("plan.json", plan)
            }
            Err(e) => Err(BatchError::io("read", &file, e)),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Lists the output files in order.
    pub(crate) fn batch_files(&self) -> Result<Vec<PathBuf>, BatchError> {
        let entries =
            std::fs::read_dir(&self.path).map_err(|e| BatchError::io("list", &self.path, e))?;
        let number = |path: &Path| -> Option<usize> {
            let name = path.file_name()?.to_str()?;
            name.strip_prefix("batch_")?.strip_suffix(".jsonl")?.parse().ok()
        };
        let paths = entries.flatten().map(|entry| entry.path());
        let mut found: Vec<(usize, PathBuf)> =
            paths.filter_map(|path| Some((number(&path)?, path))).collect();
        found.sort();
        Ok(found.into_iter().map(|(_, path)| path).collect())
    }

    /// Appends a line and syncs it to disk.
    pub(crate) fn append(&self, name: &str, value: &impl Serialize) -> Result<(), BatchError> {
        let path = self.path.join(name);
        let wrong = |e| BatchError::io("write", &path, e);
        let mut line = serde_json::to_vec(value).map_err(|e| wrong(std::io::Error::other(e)))?;
        line.push(b'\n');
        let is_new = !path.exists();
        let mut file = OpenOptions::new().create(true).append(true).open(&path).map_err(wrong)?;
        let before = file.metadata().map_err(wrong)?.len();
        let written = file.write_all(&line).and_then(|()| file.sync_data());
        if let Err(error) = written {
            // A full disk must not leave a partial line before the next one.
            let _ = file.set_len(before);
            return Err(wrong(error));
        }
        if is_new && let Ok(dir) = File::open(&self.path) {
            let _ = dir.sync_all();
        }
        Ok(())
    }

    /// Truncates an incomplete last line left by a crash.
    pub(crate) fn truncate_torn_line(&self, path: &Path) -> Result<(), BatchError> {
        let wrong = |e| BatchError::io("mend", path, e);
        let mut file = OpenOptions::new().read(true).write(true).open(path).map_err(wrong)?;
        let length = file.metadata().map_err(wrong)?.len();
        let mut end = length;
        let mut piece = vec![0; 64 * 1024];
        while end > 0 {
            let start = end.saturating_sub(piece.len() as u64);
            let size = usize::try_from(end - start).unwrap_or_default();
            file.seek(SeekFrom::Start(start)).map_err(wrong)?;
            let Some(part) = piece.get_mut(..size) else { break };
            file.read_exact(part).map_err(wrong)?;
            if let Some(at) = part.iter().rposition(|byte| *byte == b'\n') {
                end = start + at as u64 + 1;
                break;
            }
            end = start;
        }
        if end < length {
            file.set_len(end).and_then(|()| file.sync_all()).map_err(wrong)?;
        }
        Ok(())
    }

    /// Replaces a file atomically.
    pub(crate) fn write_json(&self, name: &str, value: &impl Serialize) -> Result<(), BatchError> {
        let path = self.path.join(name);
        let mut bytes = serde_json::to_vec_pretty(value)
            .map_err(|e| BatchError::io("write", &path, std::io::Error::other(e)))?;
        bytes.push(b'\n');
        write_atomic(&path, &bytes, 0o644).map_err(|e| BatchError::io("write", &path, e))
    }

    /// Removes a file if it exists.
    pub(crate) fn remove(&self, name: &str) -> Result<(), BatchError> {
        let path = self.path.join(name);
        match std::fs::remove_file(&path) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                Err(BatchError::io("remove", &path, e))
            }
            _ => Ok(()),
        }
    }
}
