//! Saves the state of files before they are changed, so changes can be undone.
//!
//! The engine calls a [`FileCheckpointer`] before every call that may change
//! files. It saves what the call is about to change in a [`CheckpointStore`]:
//! contents by their hash, and one log per turn and workspace with the state of
//! each file before and after. A call that holds its files reports again when
//! it changes them, so concurrent changes are not attributed to it.
//! [`CheckpointStore::plan`] and [`CheckpointStore::apply_plan`] restore files,
//! and save what they replace in the same way.
//!
//! Nothing is synced to disk: checkpoints survive the process, not a power
//! failure. Damage from a power failure is detected by hash.

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
