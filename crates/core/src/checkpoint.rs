//! Checkpoints: interfaces for saving files before calls change them, and for
//! reading the saved content.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Instant, SystemTime};

use tokio_util::sync::CancellationToken;

use crate::{ToolError, WorkingDir};

/// The id of a checkpoint.
pub type CheckpointId = String;

/// A call that may change files and is about to run, or has just run.
#[derive(Debug, Clone, Copy)]
pub struct PendingChange<'a> {
    /// The session that makes the call.
    pub session: &'a str,
    /// The turn that the call belongs to; a turn is undone as a whole.
    pub turn: &'a str,
    /// The task that the call belongs to.
    pub task: &'a str,
    /// The caller's id for the call.
    pub call_id: &'a str,
    /// The canonical name of the tool.
    pub tool: &'a str,
    /// The real paths of the files and directories that it writes or deletes.
    pub paths: &'a [PathBuf],
    /// Directories in which it creates and replaces files whose names are not
    /// known in advance.
    pub output_dirs: &'a [PathBuf],
    /// Whether it may write anywhere in the working directory, as a command or
    /// a script can.
    pub open_ended: bool,
    /// Paths that an open-ended call cannot write, which are therefore not
    /// saved.
    pub unwritable_paths: &'a [PathBuf],
    /// Where the call runs.
    pub working_dir: &'a WorkingDir,
    /// The workspace of the turn, determined once per call.
    pub workspace: &'a OnceLock<PathBuf>,
    /// The deadline of the call.
    pub deadline: Option<Instant>,
    /// Cancelled when the call must stop.
    pub cancel: &'a CancellationToken,
}

/// Saves what a call is about to change, so it can be undone.
///
/// Called on threads that may block. For a call, either `before_call` and
/// `after_call` are called, or, if its tool reports its changes,
/// `before_change` and `after_change` around each change, and `after_call` if
/// the call was interrupted between them.
pub trait CheckpointHooks: Send + Sync {
    /// Called before the call runs. Returns none if there is nothing to save.
    /// An error means that the call cannot be undone.
    fn before_call(&self, change: &PendingChange<'_>) -> Result<Option<CheckpointId>, ToolError>;

    /// Called after the call, however it ended, to record the changed files.
    fn after_call(&self, change: &PendingChange<'_>) -> Result<(), ToolError>;

    /// Called while the call runs, before it changes these paths, which it has
    /// locked.
    fn before_change(
        &self,
        _change: &PendingChange<'_>,
        _places: &[PathBuf],
    ) -> Result<(), ToolError> {
        Ok(())
    }

    /// Called while the call runs and waits; may remove old checkpoints.
    fn prune(&self, _change: &PendingChange<'_>) {}

    /// Called while the call runs, after it changed these paths.
    fn after_change(
        &self,
        _change: &PendingChange<'_>,
        _made: &[FileWritten<'_>],
    ) -> Result<(), ToolError> {
        Ok(())
    }
}

/// The state in which a call left a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileWritten<'a> {
    /// The path.
    pub path: &'a Path,
    /// Its state.
    pub state: PathState<'a>,
}

/// The state of a path that a call changed. Another process may change it again
/// before it can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathState<'a> {
    /// Nothing.
    Absent,
    /// A file with this content.
    File {
        /// The size in bytes.
        len: u64,
        /// The BLAKE3 hash of the content.
        hash: [u8; 32],
    },
    /// The entry that was moved here from another path.
    MovedFrom(&'a Path),
    /// Unknown; to be read from the file system.
    Unspecified,
}

/// Receives the changes that a call makes. A port (`cx.ports`), separate for
/// each call, of tools that report their changes.
///
/// Such a tool is trusted: paths that it does not report count as unchanged.
pub trait ChangeReporter: Send + Sync {
    /// Called before these paths are changed, while they are locked.
    fn before_change(&self, places: &[PathBuf]);

    /// Called after [`Self::before_change`], when there is time to remove old
    /// checkpoints.
    fn prune(&self);

    /// Called after the paths were changed.
    fn after_change(&self, made: &[FileWritten<'_>]);
}

/// Summary of a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckpointSummary {
    /// The checkpoint's id.
    pub id: CheckpointId,
    /// The workspace of the turn.
    pub workspace: PathBuf,
    /// The session that made the changes.
    pub session: String,
    /// When the turn made its first change.
    pub created_at: SystemTime,
    /// What changed the files: the tools, or `undo`, `redo`, `restore`.
    pub changed_by: Vec<String>,
    /// Number of files and directories in it.
    pub files: usize,
}

/// Reads files as of a checkpoint. A port (`cx.ports`).
pub trait CheckpointReader: Send + Sync {
    /// Returns the content of a file at the time of the checkpoint; none if it
    /// did not exist. `latest` is the newest checkpoint that includes the path.
    /// The error is `not_found` if the checkpoint does not include the path.
    fn file_content(&self, checkpoint: &str, path: &Path) -> Result<Option<Vec<u8>>, ToolError>;

    /// Returns the checkpoints, newest first.
    fn list(&self, limit: usize) -> Result<Vec<CheckpointSummary>, ToolError>;
}
