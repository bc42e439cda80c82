//! Several changes of files at once: all of them, or none.
//!
//! Everything that is new is first made complete beside its place, so that a
//! full disk is met before anything has changed. Then the names are changed
//! one by one, and what they stood for is kept aside until the last of them
//! is done.

use std::path::{Path, PathBuf};

use hermes_core::ToolError;

use crate::beside::beside;
use crate::content::Content;
use crate::hold::{Hold, Locked};
use crate::write::Existing;

mod step;
mod work;

use work::Work;

/// Bytes from which on a thread of its own pays, and room that is made before.
const LARGE: usize = 64 * 1024;

/// One change of one file. Paths are absolute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The file has these bytes from now on. Missing folders are made.
    Write {
        /// Which file.
        path: PathBuf,
        /// All of its content.
        bytes: Content,
        /// If it exists.
        existing: Existing,
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
        bytes: Option<Content>,
    },
}

/// What became of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// The file; its new name if it was moved.
    pub path: PathBuf,
    /// Whether there was no file of that name before.
    pub created: bool,
    /// The folders that were made for it, from the top down.
    pub made_folders: Vec<PathBuf>,
    /// What the file had and could not be kept, such as an attribute that the
    /// system reserves for others.
    pub lost: Vec<String>,
}

impl Change {
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

impl<'a> Hold<'a> {
    /// Makes changes, in this order. Each new content is read back and
    /// compared. If one of them fails, the others are taken back.
    ///
    /// A file that was read through the hold must still be the one that was
    /// read; a file that a change creates must not have come there meanwhile.
    pub fn change(self, changes: &[Change]) -> Result<Vec<Changed>, ToolError> {
        self.secure(changes, || (), || Ok(()))?.0.make()
    }

    /// The first half of [`Self::change`], and the longer one: all that is new
    /// is written aside, read back and brought to the disk. Nothing has changed
    /// yet, and nothing will if the answer is dropped.
    ///
    /// There is work for two meanwhile. `aside` is for what can be done at any
    /// moment, and begins at once on a thread of its own if much is written.
    /// `meanwhile` is for the time that the disk takes, and has the last word:
    /// its error is that of all.
    pub fn secure<'c, A: Send, M>(
        mut self,
        changes: &'c [Change],
        aside: impl FnOnce() -> A + Send,
        meanwhile: impl FnOnce() -> Result<M, ToolError>,
    ) -> Result<(Secured<'a, 'c>, A, M), ToolError> {
        let size: usize = changes.iter().filter_map(Change::content).map(<[u8]>::len).sum();
        let (written, done) = if size < LARGE {
            let staged = self.stage(changes)?;
            let meant = meanwhile()?;
            let done = aside();
            (self.bring_to_disk(staged).map(|staged| (staged, meant)), Some(done))
        } else {
            beside(aside, || {
                let staged = self.stage(changes)?;
                let meant = meanwhile()?;
                Ok((self.bring_to_disk(staged)?, meant))
            })
        };
        let (staged, meant) = written?;
        let done = done.ok_or_else(|| ToolError::internal("The work broke off"))?;
        Ok((Secured { changes, staged, _hold: self }, done, meant))
    }

    /// Reads back what is written aside, and waits for the disk.
    fn bring_to_disk<'c>(&self, staged: Staged<'c>) -> Result<Staged<'c>, ToolError> {
        staged.verify()?;
        staged.sync()?;
        self.folders.iter().for_each(Locked::sweep);
        Ok(staged)
    }

    /// Writes all that is new aside, and has the disk begin with it.
    fn stage<'c>(&mut self, changes: &'c [Change]) -> Result<Staged<'c>, ToolError> {
        let mut work = Work::new(self.files.walk(), self.journals.clone());
        match work.stage_all(self, changes) {
            Ok(()) => {
                work.send_off();
                Ok(Staged { work: Some(work) })
            }
            Err(error) => {
                // The disk may be full of what others have left.
                self.folders.iter().for_each(Locked::sweep);
                Err(work.take_back(error))
            }
        }
    }
}

/// What is written aside. Dropped, it takes back what was made.
#[derive(Debug)]
struct Staged<'c> {
    /// None once it is done.
    work: Option<Work<'c>>,
}

impl Staged<'_> {
    /// Reads back what was written.
    fn verify(&self) -> Result<(), ToolError> {
        self.work.as_ref().map_or(Ok(()), Work::verify)
    }

    /// Waits for the disk.
    fn sync(&self) -> Result<(), ToolError> {
        self.work.as_ref().map_or(Ok(()), Work::sync)
    }
}

impl Drop for Staged<'_> {
    fn drop(&mut self) {
        if let Some(work) = self.work.take() {
            work.take_back(ToolError::cancelled());
        }
    }
}

/// Changes that are ready to be made, on files that are still held: what is
/// taken back is taken back before they are let go.
#[derive(Debug)]
pub struct Secured<'a, 'c> {
    changes: &'c [Change],
    staged: Staged<'c>,
    _hold: Hold<'a>,
}

impl Secured<'_, '_> {
    /// Makes the changes: all of them, or none.
    pub fn make(mut self) -> Result<Vec<Changed>, ToolError> {
        let Some(mut work) = self.staged.work.take() else { return Ok(Vec::new()) };
        match work.apply_all(self.changes) {
            Ok(changed) => {
                work.settle();
                Ok(changed)
            }
            Err(error) => Err(work.take_back(error)),
        }
    }
}
