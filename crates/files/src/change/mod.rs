//! Atomic changes of several files.
//!
//! All new content is first written beside its target, so a full disk is
//! detected before anything has changed. Then the names are changed one by one,
//! and the files they replace stay parked until the last change is done.

use std::path::{Path, PathBuf};

use hermes_core::ToolError;

use crate::content::FileContent;
use crate::file_locks::{FileLocks, LockedDir};
use crate::parallel::run_in_parallel;
use crate::write::ExistingFile;

mod step;
mod transaction;

use transaction::ChangeTransaction;

/// Minimum size for which a separate thread and preallocation pay off.
const PARALLEL_MIN_BYTES: usize = 64 * 1024;

/// A change of one file. Paths are absolute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileChange {
    /// Writes these bytes to the file. Creates missing directories.
    Write {
        /// The file to write.
        path: PathBuf,
        /// Its complete content.
        bytes: FileContent,
        /// What to do if it exists.
        existing: ExistingFile,
    },
    /// Removes the file; for a symlink, the link itself.
    Remove {
        /// The file to remove.
        path: PathBuf,
    },
    /// Moves the file to a path that must not exist, with new content if given.
    /// Creates missing directories.
    Move {
        /// The old path.
        from: PathBuf,
        /// The new path.
        to: PathBuf,
        /// The new content, if it changes.
        bytes: Option<FileContent>,
    },
}

/// Result of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChangeResult {
    /// The file; its new path if it was moved.
    pub path: PathBuf,
    /// Whether no file of that name existed before.
    pub created: bool,
    /// The directories created for it, from the top down.
    pub created_dirs: Vec<PathBuf>,
    /// Attributes of the old file that could not be kept, such as one reserved
    /// by the system.
    pub lost_attributes: Vec<String>,
}

impl FileChange {
    /// Returns the paths it touches.
    pub fn paths(&self) -> Vec<&Path> {
        match self {
            Self::Write { path, .. } | Self::Remove { path } => vec![path],
            Self::Move { from, to, .. } => vec![from, to],
        }
    }

    /// Returns the new content of the file, if it has any.
    pub fn content(&self) -> Option<&[u8]> {
        match self {
            Self::Write { bytes, .. } | Self::Move { bytes: Some(bytes), .. } => Some(bytes),
            Self::Remove { .. } | Self::Move { bytes: None, .. } => None,
        }
    }

    /// Returns the path of the file after the change, or of the removed file.
    fn target(&self) -> &Path {
        match self {
            Self::Write { path, .. } | Self::Remove { path } => path,
            Self::Move { to, .. } => to,
        }
    }
}

impl<'a> FileLocks<'a> {
    /// Applies changes in this order. New content is read back and compared. If
    /// one change fails, the others are rolled back.
    ///
    /// A file that was read through these locks must be unchanged since; a file
    /// that a change creates must not have appeared meanwhile.
    pub fn change(self, changes: &[FileChange]) -> Result<Vec<FileChangeResult>, ToolError> {
        self.prepare(changes, || (), || Ok(()))?.0.commit()
    }

    /// The first and longer half of [`Self::change`]: writes all new content to
    /// temporary files, reads it back and syncs it. No file has changed yet,
    /// and none will if the result is dropped.
    ///
    /// Two closures run meanwhile. `aside` can run at any time, and starts
    /// immediately on another thread if much is written. `meanwhile` runs while
    /// the disk is busy and can veto the changes: its error is returned.
    pub fn prepare<'c, A: Send, M>(
        mut self,
        changes: &'c [FileChange],
        aside: impl FnOnce() -> A + Send,
        meanwhile: impl FnOnce() -> Result<M, ToolError>,
    ) -> Result<(PreparedChanges<'a, 'c>, A, M), ToolError> {
        let size: usize = changes.iter().filter_map(FileChange::content).map(<[u8]>::len).sum();
        let (written, done) = if size < PARALLEL_MIN_BYTES {
            let staged = self.stage(changes)?;
            let meant = meanwhile()?;
            let done = aside();
            (self.flush_to_disk(staged).map(|staged| (staged, meant)), Some(done))
        } else {
            run_in_parallel(aside, || {
                let staged = self.stage(changes)?;
                let meant = meanwhile()?;
                Ok((self.flush_to_disk(staged)?, meant))
            })
        };
        let (staged, meant) = written?;
        let done = done.ok_or_else(|| ToolError::internal("The parallel task did not finish"))?;
        Ok((PreparedChanges { changes, staged, _hold: self }, done, meant))
    }

    /// Reads back the temporary files and syncs them.
    fn flush_to_disk<'c>(&self, staged: StagedChanges<'c>) -> Result<StagedChanges<'c>, ToolError> {
        staged.verify()?;
        staged.sync()?;
        self.dirs.iter().for_each(LockedDir::sweep);
        Ok(staged)
    }

    /// Writes all new content to temporary files and starts writeback.
    fn stage<'c>(&mut self, changes: &'c [FileChange]) -> Result<StagedChanges<'c>, ToolError> {
        let mut work = ChangeTransaction::new(self.files.walk(), self.journals.clone());
        match work.stage_all(self, changes) {
            Ok(()) => {
                work.start_writeback();
                Ok(StagedChanges { transaction: Some(work) })
            }
            Err(error) => {
                // Leftovers of other processes may fill the disk.
                self.dirs.iter().for_each(LockedDir::sweep);
                Err(work.roll_back(error))
            }
        }
    }
}

/// New content in temporary files. Rolled back when dropped.
#[derive(Debug)]
struct StagedChanges<'c> {
    /// `None` once committed.
    transaction: Option<ChangeTransaction<'c>>,
}

impl StagedChanges<'_> {
    /// Reads back and compares what was written.
    fn verify(&self) -> Result<(), ToolError> {
        self.transaction.as_ref().map_or(Ok(()), ChangeTransaction::verify)
    }

    /// Syncs what was written.
    fn sync(&self) -> Result<(), ToolError> {
        self.transaction.as_ref().map_or(Ok(()), ChangeTransaction::sync)
    }
}

impl Drop for StagedChanges<'_> {
    fn drop(&mut self) {
        if let Some(work) = self.transaction.take() {
            work.roll_back(ToolError::cancelled());
        }
    }
}

/// Changes ready to commit, on files that are still locked: a rollback happens
/// before the locks are released.
#[derive(Debug)]
pub struct PreparedChanges<'a, 'c> {
    changes: &'c [FileChange],
    staged: StagedChanges<'c>,
    _hold: FileLocks<'a>,
}

impl PreparedChanges<'_, '_> {
    /// Applies the changes: all of them, or none.
    pub fn commit(mut self) -> Result<Vec<FileChangeResult>, ToolError> {
        let Some(mut work) = self.staged.transaction.take() else { return Ok(Vec::new()) };
        match work.apply_all(self.changes) {
            Ok(changed) => {
                work.remove_parked();
                Ok(changed)
            }
            Err(error) => Err(work.roll_back(error)),
        }
    }
}
