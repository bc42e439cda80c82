//! Undo and redo history, as in an editor: an undo removes a turn, a redo
//! reapplies it, and a new turn clears the redo stack.

use serde::{Deserialize, Serialize};

use crate::manifest::CheckpointManifest;

/// The operation that made the changes of a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckpointKind {
    /// The calls of a turn.
    Turn,
    /// These turns were undone, newest first.
    Undo(Vec<String>),
    /// This undo was reverted.
    Redo(String),
    /// Files were restored to this checkpoint.
    Restore(String),
}

impl CheckpointKind {
    /// Returns the command that performs it, or `None` for a turn.
    pub fn command_name(&self) -> Option<&'static str> {
        match self {
            Self::Turn => None,
            Self::Undo(_) => Some("undo"),
            Self::Redo(_) => Some("redo"),
            Self::Restore(_) => Some("restore"),
        }
    }
}

/// What can be undone and redone in a workspace, newest first, as indexes into
/// the list of checkpoints.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UndoStack {
    /// Turns and restores in effect.
    pub undoable: Vec<usize>,
    /// Undos that can be redone.
    pub redoable: Vec<usize>,
}

impl UndoStack {
    /// Builds the stack from a workspace's checkpoints, oldest first. An
    /// interrupted undo or redo leaves its turns where they were; an
    /// interrupted undo or restore can still be reverted.
    pub fn from_checkpoints(checkpoints: &[CheckpointManifest]) -> Self {
        let mut history = Self::default();
        let at = |id: &str| checkpoints.iter().position(|m| m.id() == id);
        for (position, checkpoint) in checkpoints.iter().enumerate() {
            match checkpoint.kind() {
                CheckpointKind::Turn => {
                    history.undoable.push(position);
                    history.redoable.clear();
                }
                CheckpointKind::Restore(_) => {
                    history.undoable.push(position);
                    history.redoable.clear();
                }
                CheckpointKind::Undo(_) if !checkpoint.is_finished => {
                    history.redoable.push(position)
                }
                CheckpointKind::Redo(_) if !checkpoint.is_finished => {}
                CheckpointKind::Undo(turns) => {
                    history.undoable.retain(|done| !turns.iter().any(|id| at(id) == Some(*done)));
                    history.redoable.push(position);
                }
                CheckpointKind::Redo(undo) => {
                    let undo = at(undo);
                    history.redoable.retain(|undone| Some(*undone) != undo);
                    if let Some(CheckpointKind::Undo(turns)) =
                        undo.and_then(|at| checkpoints.get(at)).map(CheckpointManifest::kind)
                    {
                        history.undoable.extend(turns.iter().rev().filter_map(|id| at(id)));
                    }
                }
            }
        }
        history.undoable.reverse();
        history.redoable.reverse();
        history
    }
}
