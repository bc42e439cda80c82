//! What files were before they were changed, so that it can be undone.
//!
//! A [`FileCheckpointer`] is told by the engine of every call that may change files. It
//! keeps what the call is about to change in a [`CheckpointStore`]: contents by their
//! hash, and one log for each turn and workspace that says what each file was
//! before and after. A call that holds its files tells it again when it changes
//! them, so that what others do to them meanwhile is not taken for its own.
//! [`CheckpointStore::plan`] and [`CheckpointStore::carry_out`] bring files back,
//! and keep what they replace in the same way.
//!
//! Nothing is synced to the disk: what was kept outlives the process, not a
//! power cut. What a power cut damages is found by its hash.

mod attributes;
mod call_reports;
mod capture;
mod checkpointer;
mod concurrent;
mod damage;
mod deep_paths;
mod hard_links;
mod history;
mod ignored;
mod interrupted_restores;
mod interrupted_turns;
mod limits;
mod manifest;
mod moved;
mod names;
mod objects;
mod path_handle;
mod path_text;
mod plan;
mod prune;
mod restore;
mod shared_dirs;
mod snapshots;
mod state;
mod store;
mod tracked;
mod tree;
mod turn;

pub use checkpointer::FileCheckpointer;
pub use damage::DamagedCheckpoint;
pub use history::{CheckpointKind, UndoStack};
pub use limits::CheckpointLimits;
pub use manifest::{CallLine, CheckpointManifest, PathChange};
pub use path_text::{path_from_text, path_to_text, relative_path_text};
pub use plan::{ObstacleReason, RestoreObstacle, RestorePlan, RestoreStep, RestoreTarget};
pub use prune::{DiskUsage, PruneReport};
pub use restore::RestoreReport;
pub use snapshots::LATEST_CHECKPOINT;
pub use state::{AttributeMask, ContentHash, HardLinks, SavedState, UnsavedReason};
pub use store::{CheckpointStore, workspace_for};
