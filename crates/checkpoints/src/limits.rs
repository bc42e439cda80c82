//! How much is kept, and for how long.

use std::time::Duration;

/// How much is kept, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckpointLimits {
    /// Checkpoints of one workspace.
    pub per_workspace: usize,
    /// Bytes of everything that is kept, as it lies on the disk.
    pub total_bytes: u64,
    /// Bytes of a file; a larger one is not kept.
    pub file_bytes: u64,
    /// How old a checkpoint may become.
    pub max_age: Duration,
    /// Files and folders of a tree; of a larger one not all are kept.
    pub tree_entries: usize,
    /// How long a call waits while a tree is looked at; of one that takes
    /// longer not all is kept.
    pub walk_timeout: Duration,
}

/// Entries below a folder of which not all will be lost, or that was built and
/// can be built again.
const MAX_DISPOSABLE_ENTRIES: usize = 2_000;

impl CheckpointLimits {
    /// For what git ignores, and for folders in which something is replaced:
    /// keeping much of them would take longer than it is worth.
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
