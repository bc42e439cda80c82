//! The one way in which tools of this family change files: under a lock, all
//! or nothing, read back, and known to the session.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hermes_core::{ChangeReporter, FileWritten, PathState, ToolContext, ToolError};
use hermes_files::{FileAccess, FileLocks, JournalDir, RecoveredChange};

pub(crate) use hermes_files::{ExistingFile, FileChange};

use crate::seen_files::{self, FileHash, FileSighting};
use crate::versions;

/// How long a call waits for others to be done with a file.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// What became of a change. The bytes that were written have been read back
/// and compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AppliedChange {
    /// The file; its new name if it was moved.
    pub(crate) path: PathBuf,
    /// The version that is there now; none if it was removed, or moved as it
    /// was.
    pub(crate) hash: Option<FileHash>,
    /// Whether there was no file of that name before.
    pub(crate) created: bool,
    /// The folders that were made for it, from the top down.
    pub(crate) created_dirs: Vec<PathBuf>,
    /// What the file had and could not be kept: attributes, the owner.
    pub(crate) not_kept: Vec<String>,
}

/// Files that nobody else changes meanwhile who asks in the same way, be it
/// another thread or another process.
#[derive(Debug)]
pub(crate) struct LockedFiles<'a> {
    cx: &'a ToolContext,
    hold: FileLocks<'a>,
}

/// Holds the files at these paths, which are absolute and need not exist.
/// Waits for whoever holds one of them.
pub(crate) fn lock_files<'a>(
    cx: &'a ToolContext,
    paths: &[&Path],
) -> Result<LockedFiles<'a>, ToolError> {
    let wait = cx.remaining().map_or(LOCK_TIMEOUT, |left| left.min(LOCK_TIMEOUT));
    let journals = cx.ports.get::<JournalDir>();
    let hold = FileAccess::new(cx).lock(paths, wait, &cx.cancel)?;
    // Whoever had the files before may have been killed on the way.
    let mut recovered = journals.as_ref().map(|journals| journals.recover()).unwrap_or_default();
    let folders: Vec<_> = paths.iter().filter_map(|path| path.parent()).collect();
    let is_here = |file: &PathBuf| file.parent().is_some_and(|folder| folders.contains(&folder));
    recovered.retain(|change| change.files.iter().any(is_here));
    match recovered.as_slice() {
        [] => Ok(LockedFiles { cx, hold: hold.with_journals(journals) }),
        recovered => Err(recovered_error(recovered)),
    }
}

/// The files are no longer what the caller has seen of them.
fn recovered_error(recovered: &[RecoveredChange]) -> ToolError {
    let files: usize = recovered.iter().map(|change| change.files.len()).sum();
    let left = recovered.iter().flat_map(|change| &change.not_restored);
    let left: Vec<String> = left.map(|path| path.display().to_string()).collect();
    let mut message = format!(
        "An earlier change of {files} files here was cut off in the middle. It was taken back, and \
         nothing else was done"
    );
    if !left.is_empty() {
        message +=
            &format!("; somebody has changed these since, so they stay: {}", left.join(", "));
    }
    ToolError::conflict(message)
        .with("taken_back", files)
        .with_hint("Read the files again, then make the change again.")
}

/// Who keeps what the call replaces, if anybody does.
pub(crate) fn change_reporter(cx: &ToolContext) -> Option<Arc<dyn ChangeReporter>> {
    cx.ports.get::<dyn ChangeReporter>()
}

impl<'a> LockedFiles<'a> {
    /// Those of the files that are written shall be programs, or none.
    pub(crate) fn with_programs(self, programs: HashMap<PathBuf, bool>) -> Self {
        Self { hold: self.hold.with_executables(programs), ..self }
    }

    /// What the file holds now; none if there is no file.
    pub(crate) fn current(&self, path: &Path) -> Result<Option<Vec<u8>>, ToolError> {
        self.hold.read(path)
    }

    /// Makes the changes, in this order: all of them or none, and only if
    /// `permit` agrees. Both it and `look`, which is told the new versions, do
    /// their work while the disk does its own.
    ///
    /// A file that was looked at with [`Self::current`] must still be the one
    /// that was seen then.
    pub(crate) fn commit<T: Send, P>(
        self,
        changes: &[FileChange],
        permit: impl FnOnce() -> Result<P, ToolError>,
        look: impl FnOnce(&[Option<FileHash>]) -> Result<T, ToolError> + Send,
    ) -> Result<(Vec<AppliedChange>, P, T), ToolError> {
        let Self { cx, hold } = self;
        let keeper = change_reporter(cx);
        let keep = || {
            if let Some(keeper) = &keeper {
                let places = changes.iter().flat_map(FileChange::paths).map(PathBuf::from);
                keeper.before_change(&places.collect::<Vec<_>>());
            }
        };
        let tidy = || {
            if let Some(keeper) = &keeper {
                keeper.prune();
            }
        };
        let is_permitted = AtomicBool::new(false);
        // Folders that are made for a file go with it when it is undone, so
        // somebody has to look before they are there.
        let makes_folders = changes.iter().flat_map(FileChange::paths).any(|path| {
            path.parent().is_some_and(|folder| std::fs::symlink_metadata(folder).is_err())
        });
        if makes_folders {
            keep();
        }
        let aside = || {
            let digests: Vec<_> = changes.iter().map(|c| c.content().map(blake3::hash)).collect();
            let hashes: Vec<_> = digests.iter().map(|d| d.map(FileHash::from)).collect();
            let answer = look(&hashes)?;
            if !makes_folders {
                keep();
            }
            // Nothing that is old goes for a change that is refused.
            let is_tidy = is_permitted.load(Ordering::Acquire);
            if is_tidy {
                tidy();
            }
            Ok::<_, ToolError>((answer, digests, hashes, is_tidy))
        };
        let meanwhile = || {
            let permitted = permit()?;
            is_permitted.store(true, Ordering::Release);
            // There is time for it now, and none when the answer is due.
            versions::make_room(
                changes.iter().filter_map(FileChange::content).map(<[u8]>::len).sum(),
            );
            Ok(permitted)
        };
        let (secured, looked, permitted) = hold.prepare(changes, aside, meanwhile)?;
        let (answer, digests, hashes, is_tidy) = looked?;
        if !is_tidy {
            tidy();
        }
        cx.check_cancelled()?;
        let changed = secured.commit()?;
        if let Some(keeper) = &keeper {
            let made = changes
                .iter()
                .zip(digests)
                .flat_map(|(change, digest)| written_files(change, digest));
            keeper.after_change(&made.collect::<Vec<_>>());
        }
        let done = changes.iter().zip(hashes).zip(changed).map(|((change, hash), changed)| {
            record_in_session(cx, change, hash.as_ref());
            AppliedChange {
                path: changed.path,
                hash,
                created: changed.created,
                created_dirs: changed.created_dirs,
                not_kept: changed.lost_attributes,
            }
        });
        Ok((done.collect(), permitted, answer))
    }
}

/// Keeps what was written for a while: see [`versions`].
pub(crate) fn cache_versions(
    changes: impl IntoIterator<Item = FileChange>,
    done: &[AppliedChange],
) {
    for (change, done) in changes.into_iter().zip(done) {
        if let FileChange::Write { bytes, .. } | FileChange::Move { bytes: Some(bytes), .. } =
            change
            && let Some(hash) = &done.hash
        {
            versions::keep(hash, bytes.len(), || bytes);
        }
    }
}

/// What a change has left where.
fn written_files(change: &FileChange, digest: Option<blake3::Hash>) -> Vec<FileWritten<'_>> {
    let left = change
        .content()
        .zip(digest)
        .map(|(bytes, digest)| PathState::File { len: bytes.len() as u64, hash: digest.into() });
    match change {
        FileChange::Write { path, .. } | FileChange::Remove { path } => {
            vec![FileWritten { path, state: left.unwrap_or(PathState::Absent) }]
        }
        FileChange::Move { from, to, .. } => {
            let left = left.unwrap_or(PathState::MovedFrom(from));
            vec![
                FileWritten { path: from, state: PathState::Absent },
                FileWritten { path: to, state: left },
            ]
        }
    }
}

/// Tells the session.
fn record_in_session(cx: &ToolContext, change: &FileChange, hash: Option<&FileHash>) {
    // The encoding that was named for a file goes with it.
    let named = match change {
        FileChange::Move { from, .. } => seen_files::recorded_encoding(cx, from),
        _ => None,
    };
    let path = match change {
        FileChange::Write { path, .. } | FileChange::Remove { path } => path,
        FileChange::Move { from, to, .. } => {
            seen_files::forget(cx, from);
            to
        }
    };
    match (hash, change.content()) {
        (Some(hash), Some(bytes)) => {
            let seen = FileSighting { len: bytes.len() as u64, modified: None, whole: true };
            seen_files::record_written(cx, path, hash.clone(), seen);
        }
        _ => seen_files::forget(cx, path),
    }
    if named.is_some() {
        seen_files::record_encoding(cx, path, named);
    }
}
