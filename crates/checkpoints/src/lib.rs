//! What files were before they were changed, so that it can be undone.
//!
//! A [`Keeper`] is told by the engine of every call that may change files. It
//! keeps what the call is about to change in a [`Store`]: contents by their
//! hash, and one log for each turn and workspace that says what each file was
//! before and after. A call that holds its files tells it again when it changes
//! them, so that what others do to them meanwhile is not taken for its own.
//! [`Store::plan`] and [`Store::carry_out`] bring files back,
//! and keep what they replace in the same way.
//!
//! Nothing is synced to the disk: what was kept outlives the process, not a
//! power cut. What a power cut damages is found by its hash.

mod account;
mod capture;
mod commons;
mod cutoff;
mod damage;
mod deep;
mod halfway;
mod history;
mod ignored;
mod keeper;
mod likeness;
mod limits;
mod linked;
mod manifest;
mod moved;
mod names;
mod objects;
mod others;
mod plan;
mod prune;
mod restore;
mod snapshots;
mod spot;
mod state;
mod store;
mod tracked;
mod tree;
mod turn;
mod written;

pub use damage::Damaged;
pub use history::{Kind, Undoable};
pub use keeper::Keeper;
pub use limits::Limits;
pub use manifest::{CallLine, Change, Manifest};
pub use plan::{Obstacle, Plan, Step, Target, Why};
pub use prune::{Pruned, Usage};
pub use restore::Restored;
pub use snapshots::LATEST;
pub use state::{Carried, Hash, Linked, State, Unkept};
pub use store::{Store, workspace_of};
pub use written::{meant, written, written_below};
