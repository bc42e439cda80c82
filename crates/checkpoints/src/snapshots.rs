//! Read access to saved file states for tools.

use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use hermes_core::{CheckpointReader, CheckpointSummary, ToolError};

use crate::manifest::CheckpointManifest;
use crate::state::SavedState;
use crate::store::CheckpointStore;

/// Selects the newest checkpoint, or the newest that covers the given path.
pub const LATEST_CHECKPOINT: &str = "latest";

impl CheckpointManifest {
    /// Summarizes the checkpoint.
    pub fn info(&self) -> CheckpointSummary {
        let since = Duration::from_nanos(u64::try_from(self.at_nanos()).unwrap_or(0));
        CheckpointSummary {
            id: self.id().to_owned(),
            workspace: self.workspace().to_path_buf(),
            session: self.session().to_owned(),
            created_at: UNIX_EPOCH + since,
            changed_by: self.changed_by(),
            files: self.changes().count(),
        }
    }
}

impl CheckpointReader for CheckpointStore {
    fn file_content(&self, checkpoint: &str, path: &Path) -> Result<Option<Vec<u8>>, ToolError> {
        let place = hermes_files::real_path(path).unwrap_or_else(|_| path.to_path_buf());
        let manifest = if checkpoint == LATEST_CHECKPOINT {
            let mut all = self.all()?;
            let at = all.iter().rposition(|m| m.changes().any(|(known, _)| known == place));
            at.map(|at| all.swap_remove(at)).ok_or_else(|| {
                ToolError::not_found(format!("No checkpoint has a record of {}", path.display()))
                    .with_hint("Only files that hermes has changed are saved.")
            })?
        } else {
            self.find(checkpoint)?
        };
        let state = self.state_at(&manifest, &place)?.ok_or_else(|| {
            let id = manifest.id();
            ToolError::not_found(format!("Checkpoint {id} has no record of {}", path.display()))
                .with_hint(format!("`hermes checkpoints show {id}` lists its files."))
        })?;
        match state {
            SavedState::Absent => Ok(None),
            kept => self.read_content(&kept).map(Some),
        }
    }

    fn list(&self, limit: usize) -> Result<Vec<CheckpointSummary>, ToolError> {
        Ok(self.all()?.iter().rev().take(limit).map(CheckpointManifest::info).collect())
    }
}
