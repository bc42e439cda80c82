//! What files were before calls changed them: who keeps it, and who can look
//! it up.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Instant, SystemTime};

use tokio_util::sync::CancellationToken;

use crate::{ToolError, WorkingDir};

/// The name of a checkpoint.
pub type CheckpointId = String;

/// A call that may change files and is about to run, or has just run.
#[derive(Debug, Clone, Copy)]
pub struct PendingChange<'a> {
    /// On whose behalf.
    pub session: &'a str,
    /// The turn that it is part of: what is undone as one.
    pub turn: &'a str,
    /// For which task.
    pub task: &'a str,
    /// The caller's id for the call.
    pub call_id: &'a str,
    /// The canonical name of the tool.
    pub tool: &'a str,
    /// The files and folders that it writes or deletes, where they really are.
    pub paths: &'a [PathBuf],
    /// Folders in which it makes and replaces files that nobody can name
    /// before.
    pub output_dirs: &'a [PathBuf],
    /// Whether it may write anywhere below the working folder, as a command or
    /// a script can.
    pub open_ended: bool,
    /// What an open-ended call cannot write, and so is not kept for it.
    pub unwritable_paths: &'a [PathBuf],
    /// Where it happens.
    pub working_dir: &'a WorkingDir,
    /// The folder that the turn works in, for all that is told of the call.
    pub workspace: &'a OnceLock<PathBuf>,
    /// When its time is up.
    pub deadline: Option<Instant>,
    /// Becomes set when the call must stop.
    pub cancel: &'a CancellationToken,
}

/// Keeps what a call is about to change, so that it can be undone.
///
/// Called from threads that may wait. Of a call, either `before` and `after`
/// are called, or, if its tool announces its changes, `replacing` and
/// `replaced` around each of them, and `after` if it was cut off in between.
pub trait CheckpointHooks: Send + Sync {
    /// Before the call runs. None if there is nothing to keep. An error says
    /// that the call cannot be undone.
    fn before_call(&self, change: &PendingChange<'_>) -> Result<Option<CheckpointId>, ToolError>;

    /// After it ran, however it ended: what it made of the files.
    fn after_call(&self, change: &PendingChange<'_>) -> Result<(), ToolError>;

    /// While it runs: it is about to change these places, and holds them.
    fn before_change(
        &self,
        _change: &PendingChange<'_>,
        _places: &[PathBuf],
    ) -> Result<(), ToolError> {
        Ok(())
    }

    /// While it runs, and waits for something: old checkpoints may be cleared
    /// away.
    fn prune(&self, _change: &PendingChange<'_>) {}

    /// While it runs: it has changed these places.
    fn after_change(
        &self,
        _change: &PendingChange<'_>,
        _made: &[FileWritten<'_>],
    ) -> Result<(), ToolError> {
        Ok(())
    }
}

/// What a call has left at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileWritten<'a> {
    /// The place.
    pub path: &'a Path,
    /// What is there.
    pub state: PathState<'a>,
}

/// What is at a place that a call has changed. Others may be at it again
/// before anybody can look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathState<'a> {
    /// Nothing.
    Absent,
    /// A file with this content.
    File {
        /// How many bytes.
        len: u64,
        /// Their BLAKE3 hash.
        hash: [u8; 32],
    },
    /// What was at another place before.
    MovedFrom(&'a Path),
    /// Whatever is found there.
    Unspecified,
}

/// Tells whoever keeps files what a call really changes. A port (`cx.ports`)
/// of the calls of tools that announce their changes, and of each its own.
///
/// Such a tool is believed: what it does not tell, it has not changed.
pub trait ChangeReporter: Send + Sync {
    /// Before these places are changed, while nobody else changes them.
    fn before_change(&self, places: &[PathBuf]);

    /// After [`Self::before`], when there is time: old checkpoints are cleared
    /// away.
    fn prune(&self);

    /// After they were changed.
    fn after_change(&self, made: &[FileWritten<'_>]);
}

/// A checkpoint in brief.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckpointSummary {
    /// Its name.
    pub id: CheckpointId,
    /// The folder that the turn worked in.
    pub workspace: PathBuf,
    /// The session that made the changes.
    pub session: String,
    /// When the turn first changed something.
    pub created_at: SystemTime,
    /// What changed the files: the tools, or `undo`, `redo`, `restore`.
    pub changed_by: Vec<String>,
    /// How many files and folders it is about.
    pub files: usize,
}

/// Reads what files were at a checkpoint. A port (`cx.ports`).
pub trait CheckpointReader: Send + Sync {
    /// The content of a file when the checkpoint was made; none if it did not
    /// exist. `latest` stands for the newest checkpoint that knows the path.
    /// A path of which the checkpoint knows nothing is `not_found`.
    fn file_content(&self, checkpoint: &str, path: &Path) -> Result<Option<Vec<u8>>, ToolError>;

    /// The checkpoints, the newest first.
    fn list(&self, limit: usize) -> Result<Vec<CheckpointSummary>, ToolError>;
}
