//! Checkpoints that cannot be read. Nobody knows what they changed, so nothing
//! older is undone as if they were not there.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hermes_core::ToolError;

use crate::history::Kind;
use crate::manifest::Manifest;
use crate::prune::time_of;
use crate::store::{Store, logs};

/// A checkpoint that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damaged {
    /// Its name.
    pub id: String,
    /// Its log.
    pub path: PathBuf,
    /// What is wrong with it.
    pub why: String,
    /// Nanoseconds since 1970.
    pub(crate) at: i64,
}

impl Damaged {
    /// The log at a path, if it is one.
    fn at(path: &Path) -> Option<Self> {
        let why = match Manifest::load(path) {
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
        let at = time_of(path).unwrap_or(i64::MAX);
        Some(Self { id, path: path.to_path_buf(), why, at })
    }

    /// When it was begun.
    pub fn moment(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_nanos(u64::try_from(self.at).unwrap_or(0))
    }

    /// Which one it is and what is wrong, in words.
    pub fn describe(&self) -> String {
        format!("{} ({}: {})", self.id, self.path.display(), self.why)
    }

    /// Whether an undo has gone past it by force.
    fn is_passed(&self, all: &[Manifest]) -> bool {
        let is_older = |id: &String| all.iter().any(|m| m.id() == id && m.at() < self.at);
        all.iter().filter(|m| m.is_finished && m.at() > self.at).any(|m| match m.kind() {
            Kind::Undo(turns) => turns.iter().any(is_older),
            _ => false,
        })
    }
}

impl Store {
    /// The checkpoints of one workspace that cannot be read, the oldest first.
    pub fn damaged(&self, workspace: &Path) -> Result<Vec<Damaged>, ToolError> {
        self.damaged_in(&self.folder_of(workspace))
    }

    /// All that cannot be read, the oldest first.
    pub fn all_damaged(&self) -> Result<Vec<Damaged>, ToolError> {
        let mut all = Vec::new();
        for folder in self.folders()? {
            all.extend(self.damaged_in(&folder)?);
        }
        all.sort_by_key(|damaged| damaged.at);
        Ok(all)
    }

    fn damaged_in(&self, folder: &Path) -> Result<Vec<Damaged>, ToolError> {
        let there = logs(folder).map_err(|error| self.failed("list", folder, &error))?;
        Ok(there.iter().filter_map(|path| Damaged::at(path)).collect())
    }

    /// Those that are newer than a moment and that nobody has gone past yet.
    pub(crate) fn damaged_since(
        &self,
        workspace: &Path,
        since: i64,
        all: &[Manifest],
    ) -> Result<Vec<Damaged>, ToolError> {
        let mut damaged = self.damaged(workspace)?;
        damaged.retain(|damaged| damaged.at > since && !damaged.is_passed(all));
        Ok(damaged)
    }
}

/// What says that a plan would go past checkpoints that cannot be read.
pub(crate) fn refusal(damaged: &[Damaged], kind: Option<&Kind>) -> ToolError {
    let what = match kind {
        Some(Kind::Undo(turns)) if turns.len() > 1 => "One of the newest turns cannot be read",
        Some(Kind::Redo(_)) => "What was done last cannot be read",
        Some(Kind::Restore(_)) => "A later turn cannot be read",
        _ => "The newest turn cannot be read",
    };
    let told: Vec<String> = damaged.iter().map(Damaged::describe).collect();
    ToolError::conflict(format!("{what}, so nothing was changed: {}", told.join("; ")))
        .with("files", told)
}
