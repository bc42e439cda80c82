//! What can be undone and what can be done again, as in an editor: an undo
//! takes a turn off, a redo puts it back, and a new turn ends the redoing.

use serde::{Deserialize, Serialize};

use crate::manifest::CheckpointManifest;

/// What made the changes of a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckpointKind {
    /// The calls of a turn.
    Turn,
    /// These turns were undone, the newest first.
    Undo(Vec<String>),
    /// This undo was taken back.
    Redo(String),
    /// Files were brought back to this checkpoint.
    Restore(String),
}

impl CheckpointKind {
    /// The command that does it, if it is no turn.
    pub fn command_name(&self) -> Option<&'static str> {
        match self {
            Self::Turn => None,
            Self::Undo(_) => Some("undo"),
            Self::Redo(_) => Some("redo"),
            Self::Restore(_) => Some("restore"),
        }
    }
}

/// What can be undone and redone in a workspace, each the newest first, as
/// positions in the list that it was made from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UndoStack {
    /// Turns and restores that are in force.
    pub undoable: Vec<usize>,
    /// Undos that can be taken back.
    pub redoable: Vec<usize>,
}

impl UndoStack {
    /// From a workspace's checkpoints, the oldest first. What an undo or a redo
    /// that did not get to its end was to do is still to be done; an undo and
    /// a restore can be taken back all the same.
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
