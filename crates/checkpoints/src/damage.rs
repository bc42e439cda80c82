//! Checkpoints that cannot be read. Nobody knows what they changed, so nothing
//! older is undone as if they were not there.

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
    /// Its name.
    pub id: String,
    /// Its log.
    pub path: PathBuf,
    /// What is wrong with it.
    pub why: String,
    /// Nanoseconds since 1970.
    pub(crate) at: i64,
}

impl DamagedCheckpoint {
    /// The log at a path, if it is one.
    fn from_log(path: &Path) -> Option<Self> {
        let why = match CheckpointManifest::load(path) {
            Ok(Some(_)) => return None,
            // Somebody has cleared it away.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Ok(None) => "it is empty".to_owned(),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => "it is damaged".to_owned(),
            Err(error) => error.to_string(),
        };
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let id = name.split_once('-').map_or(&*name, |(_, id)| id).to_owned();
        // One of unknown age may be the newest.
        let at = log_time(path).unwrap_or(i64::MAX);
        Some(Self { id, path: path.to_path_buf(), why, at })
    }

    /// When it was begun.
    pub fn started_at(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_nanos(u64::try_from(self.at).unwrap_or(0))
    }

    /// Which one it is and what is wrong, in words.
    pub fn describe(&self) -> String {
        format!("{} ({}: {})", self.id, self.path.display(), self.why)
    }

    /// Whether an undo has gone past it by force.
    fn was_forced_past(&self, all: &[CheckpointManifest]) -> bool {
        let is_older = |id: &String| all.iter().any(|m| m.id() == id && m.at_nanos() < self.at);
        all.iter().filter(|m| m.is_finished && m.at_nanos() > self.at).any(|m| match m.kind() {
            CheckpointKind::Undo(turns) => turns.iter().any(is_older),
            _ => false,
        })
    }
}

impl CheckpointStore {
    /// The checkpoints of one workspace that cannot be read, the oldest first.
    pub fn damaged(&self, workspace: &Path) -> Result<Vec<DamagedCheckpoint>, ToolError> {
        self.damaged_in(&self.workspace_dir(workspace))
    }

    /// All that cannot be read, the oldest first.
    pub fn all_damaged(&self) -> Result<Vec<DamagedCheckpoint>, ToolError> {
        let mut all = Vec::new();
        for folder in self.workspace_dirs()? {
            all.extend(self.damaged_in(&folder)?);
        }
        all.sort_by_key(|damaged| damaged.at);
        Ok(all)
    }

    fn damaged_in(&self, folder: &Path) -> Result<Vec<DamagedCheckpoint>, ToolError> {
        let there = logs(folder).map_err(|error| self.io_error("list", folder, &error))?;
        Ok(there.iter().filter_map(|path| DamagedCheckpoint::from_log(path)).collect())
    }

    /// Those that are newer than a moment and that nobody has gone past yet.
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

/// What says that a plan would go past checkpoints that cannot be read.
pub(crate) fn damage_error(
    damaged: &[DamagedCheckpoint],
    kind: Option<&CheckpointKind>,
) -> ToolError {
    let what = match kind {
        Some(CheckpointKind::Undo(turns)) if turns.len() > 1 => {
            "One of the newest turns cannot be read"
        }
        Some(CheckpointKind::Redo(_)) => "What was done last cannot be read",
        Some(CheckpointKind::Restore(_)) => "A later turn cannot be read",
        _ => "The newest turn cannot be read",
    };
    let told: Vec<String> = damaged.iter().map(DamagedCheckpoint::describe).collect();
    ToolError::conflict(format!("{what}, so nothing was changed: {}", told.join("; ")))
        .with("files", told)
}
