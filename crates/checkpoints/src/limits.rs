//! Size and age limits of checkpoints.

use std::time::Duration;

/// Size and age limits of checkpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckpointLimits {
    /// Maximum number of checkpoints per workspace.
    pub per_workspace: usize,
    /// Maximum bytes on disk for the whole store.
    pub total_bytes: u64,
    /// Maximum bytes of a file; larger files are not saved.
    pub file_bytes: u64,
    /// Maximum age of a checkpoint.
    pub max_age: Duration,
    /// Maximum number of files and directories in a tree; larger trees are
    /// saved in part.
    pub tree_entries: usize,
    /// How long a call waits for a tree walk; a tree that takes longer is saved
    /// in part.
    pub walk_timeout: Duration,
}

/// Maximum entries saved below a directory that is only partly replaced or can
/// be rebuilt.
const MAX_DISPOSABLE_ENTRIES: usize = 2_000;

impl CheckpointLimits {
    /// Limits for git-ignored paths and output directories, where saving more
    /// would take longer than it is worth.
    pub(crate) fn for_disposable(self) -> Self {
        Self { tree_entries: self.tree_entries.min(MAX_DISPOSABLE_ENTRIES), ..self }
    }
}

impl Default for CheckpointLimits {
    fn default() -> Self {
        Self {
            per_workspace: 20,
            total_bytes: 500_000_000,
            file_bytes: 10_000_000,
            max_age: Duration::from_secs(7 * 24 * 60 * 60),
            tree_entries: 200_000,
            walk_timeout: Duration::from_secs(3),
        }
    }
}
