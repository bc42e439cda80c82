//! Checkpoints that cannot be read. What they changed is unknown, so nothing
//! older is undone as if they did not exist.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hermes_core::ToolError;

use crate::history::CheckpointKind;
use crate::manifest::CheckpointManifest;
use crate::prune::log_time;
use crate::store::{CheckpointStore, logs};

/// A checkpoint that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DamagedCheckpoint {
    /// Checkpoint id.
    pub id: String,
    /// Path of its log.
    pub path: PathBuf,
    /// What is wrong with it.
    pub why: String,
    /// Nanoseconds since 1970.
    pub(crate) at: i64,
}

impl DamagedCheckpoint {
    /// Returns the damaged checkpoint at a log path, or `None` if the log is
    /// readable.
    fn from_log(path: &Path) -> Option<Self> {
        let why = match CheckpointManifest::load(path) {
            Ok(Some(_)) => return None,
            // Another process has pruned it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Ok(None) => "it is empty".to_owned(),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => "it is damaged".to_owned(),
            Err(error) => error.to_string(),
        };
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let id = name.split_once('-').map_or(&*name, |(_, id)| id).to_owned();
        // If the time is unknown, assume that it is the newest.
        let at = log_time(path).unwrap_or(i64::MAX);
        Some(Self { id, path: path.to_path_buf(), why, at })
    }

    /// When the checkpoint was started.
    pub fn started_at(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_nanos(u64::try_from(self.at).unwrap_or(0))
    }

    /// Describes the checkpoint and its damage.
    pub fn describe(&self) -> String {
        format!("{} ({}: {})", self.id, self.path.display(), self.why)
    }

    /// Whether a forced undo has gone past it.
    fn was_forced_past(&self, all: &[CheckpointManifest]) -> bool {
        let is_older = |id: &String| all.iter().any(|m| m.id() == id && m.at_nanos() < self.at);
        all.iter().filter(|m| m.is_finished && m.at_nanos() > self.at).any(|m| match m.kind() {
            CheckpointKind::Undo(turns) => turns.iter().any(is_older),
            _ => false,
        })
    }
}

impl CheckpointStore {
    /// Returns the unreadable checkpoints of one workspace, oldest first.
    pub fn damaged(&self, workspace: &Path) -> Result<Vec<DamagedCheckpoint>, ToolError> {
        self.damaged_in(&self.workspace_dir(workspace))
    }

    /// Returns all unreadable checkpoints, oldest first.
    pub fn all_damaged(&self) -> Result<Vec<DamagedCheckpoint>, ToolError> {
        let mut all = Vec::new();
        for dir in self.workspace_dirs()? {
            all.extend(self.damaged_in(&dir)?);
        }
        all.sort_by_key(|damaged| damaged.at);
        Ok(all)
    }

    fn damaged_in(&self, dir: &Path) -> Result<Vec<DamagedCheckpoint>, ToolError> {
        let there = logs(dir).map_err(|error| self.io_error("list", dir, &error))?;
        Ok(there.iter().filter_map(|path| DamagedCheckpoint::from_log(path)).collect())
    }

    /// Returns those newer than `since` that no forced undo has gone past.
    pub(crate) fn damaged_since(
        &self,
        workspace: &Path,
        since: i64,
        all: &[CheckpointManifest],
    ) -> Result<Vec<DamagedCheckpoint>, ToolError> {
        let mut damaged = self.damaged(workspace)?;
        damaged.retain(|damaged| damaged.at > since && !damaged.was_forced_past(all));
        Ok(damaged)
    }
}

/// Error for a plan that would go past unreadable checkpoints.
pub(crate) fn damage_error(
    damaged: &[DamagedCheckpoint],
    kind: Option<&CheckpointKind>,
) -> ToolError {
    let what = match kind {
        Some(CheckpointKind::Undo(turns)) if turns.len() > 1 => {
            "One of the newest turns cannot be read"
        }
        Some(CheckpointKind::Redo(_)) => "The last operation cannot be read",
        Some(CheckpointKind::Restore(_)) => "A later turn cannot be read",
        _ => "The newest turn cannot be read",
    };
    let shown: Vec<String> = damaged.iter().map(DamagedCheckpoint::describe).collect();
    ToolError::conflict(format!("{what}, so nothing was changed: {}", shown.join("; ")))
        .with("files", shown)
}
