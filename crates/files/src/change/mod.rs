//! Several changes of files at once: all of them, or none.
//!
//! Everything that is new is first made complete beside its place, so that a
//! full disk is met before anything has changed. Then the names are changed
//! one by one, and what they stood for is kept aside until the last of them
//! is done.

use std::path::{Path, PathBuf};

use hermes_core::ToolError;

use crate::content::FileContent;
use crate::file_locks::{FileLocks, LockedDir};
use crate::parallel::run_in_parallel;
use crate::write::ExistingFile;

mod step;
mod transaction;

use transaction::ChangeTransaction;

/// Bytes from which on a thread of its own pays, and room that is made before.
const PARALLEL_MIN_BYTES: usize = 64 * 1024;

/// One change of one file. Paths are absolute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileChange {
    /// The file has these bytes from now on. Missing folders are made.
    Write {
        /// Which file.
        path: PathBuf,
        /// All of its content.
        bytes: FileContent,
        /// If it exists.
        existing: ExistingFile,
    },
    /// The file goes; of a link, the link.
    Remove {
        /// Which file.
        path: PathBuf,
    },
    /// The file gets another name, which must be free, and other content if
    /// there is any. Missing folders are made.
    Move {
        /// The old name.
        from: PathBuf,
        /// The new name.
        to: PathBuf,
        /// The new content.
        bytes: Option<FileContent>,
    },
}

/// What became of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChangeResult {
    /// The file; its new name if it was moved.
    pub path: PathBuf,
    /// Whether there was no file of that name before.
    pub created: bool,
    /// The folders that were made for it, from the top down.
    pub created_dirs: Vec<PathBuf>,
    /// What the file had and could not be kept, such as an attribute that the
    /// system reserves for others.
    pub lost_attributes: Vec<String>,
}

impl FileChange {
    /// The paths that it touches.
    pub fn paths(&self) -> Vec<&Path> {
        match self {
            Self::Write { path, .. } | Self::Remove { path } => vec![path],
            Self::Move { from, to, .. } => vec![from, to],
        }
    }

    /// The new content of the file, if it gets one.
    pub fn content(&self) -> Option<&[u8]> {
        match self {
            Self::Write { bytes, .. } | Self::Move { bytes: Some(bytes), .. } => Some(bytes),
            Self::Remove { .. } | Self::Move { bytes: None, .. } => None,
        }
    }

    /// The path of the file that is there afterwards, or was there before.
    fn target(&self) -> &Path {
        match self {
            Self::Write { path, .. } | Self::Remove { path } => path,
            Self::Move { to, .. } => to,
        }
    }
}

impl<'a> FileLocks<'a> {
    /// Makes changes, in this order. Each new content is read back and
    /// compared. If one of them fails, the others are taken back.
    ///
    /// A file that was read through the hold must still be the one that was
    /// read; a file that a change creates must not have come there meanwhile.
    pub fn change(self, changes: &[FileChange]) -> Result<Vec<FileChangeResult>, ToolError> {
        self.prepare(changes, || (), || Ok(()))?.0.commit()
    }

    /// The first half of [`Self::change`], and the longer one: all that is new
    /// is written aside, read back and brought to the disk. Nothing has changed
    /// yet, and nothing will if the answer is dropped.
    ///
    /// There is work for two meanwhile. `aside` is for what can be done at any
    /// moment, and begins at once on a thread of its own if much is written.
    /// `meanwhile` is for the time that the disk takes, and has the last word:
    /// its error is that of all.
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
        let done = done.ok_or_else(|| ToolError::internal("The work broke off"))?;
        Ok((PreparedChanges { changes, staged, _hold: self }, done, meant))
    }

    /// Reads back what is written aside, and waits for the disk.
    fn flush_to_disk<'c>(&self, staged: StagedChanges<'c>) -> Result<StagedChanges<'c>, ToolError> {
        staged.verify()?;
        staged.sync()?;
        self.dirs.iter().for_each(LockedDir::sweep);
        Ok(staged)
    }

    /// Writes all that is new aside, and has the disk begin with it.
    fn stage<'c>(&mut self, changes: &'c [FileChange]) -> Result<StagedChanges<'c>, ToolError> {
        let mut work = ChangeTransaction::new(self.files.walk(), self.journals.clone());
        match work.stage_all(self, changes) {
            Ok(()) => {
                work.start_writeback();
                Ok(StagedChanges { transaction: Some(work) })
            }
            Err(error) => {
                // The disk may be full of what others have left.
                self.dirs.iter().for_each(LockedDir::sweep);
                Err(work.roll_back(error))
            }
        }
    }
}

/// What is written aside. Dropped, it takes back what was made.
#[derive(Debug)]
struct StagedChanges<'c> {
    /// None once it is done.
    transaction: Option<ChangeTransaction<'c>>,
}

impl StagedChanges<'_> {
    /// Reads back what was written.
    fn verify(&self) -> Result<(), ToolError> {
        self.transaction.as_ref().map_or(Ok(()), ChangeTransaction::verify)
    }

    /// Waits for the disk.
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

/// Changes that are ready to be made, on files that are still held: what is
/// taken back is taken back before they are let go.
#[derive(Debug)]
pub struct PreparedChanges<'a, 'c> {
    changes: &'c [FileChange],
    staged: StagedChanges<'c>,
    _hold: FileLocks<'a>,
}

impl PreparedChanges<'_, '_> {
    /// Makes the changes: all of them, or none.
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
