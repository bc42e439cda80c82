//! The only path by which tools of this crate change files: under a lock, all
//! or nothing, verified, and recorded in the session.

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

/// How long a call waits for a file lock.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// The outcome of a change. The written bytes have been read back and compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AppliedChange {
    /// The file; its new name if it was moved.
    pub(crate) path: PathBuf,
    /// The hash of the new content; none if the file was removed, or moved
    /// unchanged.
    pub(crate) hash: Option<FileHash>,
    /// Whether the file did not exist before.
    pub(crate) created: bool,
    /// The directories created for it, from the top down.
    pub(crate) created_dirs: Vec<PathBuf>,
    /// What could not be preserved of the file: attributes, the owner.
    pub(crate) not_kept: Vec<String>,
}

/// Files locked against other threads and processes that use the same locks.
#[derive(Debug)]
pub(crate) struct LockedFiles<'a> {
    cx: &'a ToolContext,
    hold: FileLocks<'a>,
}

/// Locks the files at these paths, which are absolute and need not exist. Waits
/// for current lock holders.
pub(crate) fn lock_files<'a>(
    cx: &'a ToolContext,
    paths: &[&Path],
) -> Result<LockedFiles<'a>, ToolError> {
    let wait = cx.remaining().map_or(LOCK_TIMEOUT, |left| left.min(LOCK_TIMEOUT));
    let journals = cx.ports.get::<JournalDir>();
    let hold = FileAccess::new(cx).lock(paths, wait, &cx.cancel)?;
    // The previous lock holder may have been killed during a change.
    let mut recovered = journals.as_ref().map(|journals| journals.recover()).unwrap_or_default();
    let dirs: Vec<_> = paths.iter().filter_map(|path| path.parent()).collect();
    let is_here = |file: &PathBuf| file.parent().is_some_and(|dir| dirs.contains(&dir));
    recovered.retain(|change| change.files.iter().any(is_here));
    match recovered.as_slice() {
        [] => Ok(LockedFiles { cx, hold: hold.with_journals(journals) }),
        recovered => Err(recovered_error(recovered)),
    }
}

/// Reports a recovery: the files no longer have the content that the caller
/// saw.
fn recovered_error(recovered: &[RecoveredChange]) -> ToolError {
    let files: usize = recovered.iter().map(|change| change.files.len()).sum();
    let left = recovered.iter().flat_map(|change| &change.not_restored);
    let left: Vec<String> = left.map(|path| path.display().to_string()).collect();
    let mut message = format!(
        "An earlier change of {files} files here was interrupted. It was rolled back, and \
         nothing else was done"
    );
    if !left.is_empty() {
        message +=
            &format!("; these were changed since, so they were left alone: {}", left.join(", "));
    }
    ToolError::conflict(message)
        .with("taken_back", files)
        .with_hint("Read the files again, then repeat the change.")
}

/// Returns the reporter that saves what the call replaces, if there is one.
pub(crate) fn change_reporter(cx: &ToolContext) -> Option<Arc<dyn ChangeReporter>> {
    cx.ports.get::<dyn ChangeReporter>()
}

impl<'a> LockedFiles<'a> {
    /// Sets or clears the executable bit of these files when they are written.
    pub(crate) fn with_programs(self, programs: HashMap<PathBuf, bool>) -> Self {
        Self { hold: self.hold.with_executables(programs), ..self }
    }

    /// Reads the current content; none if the file does not exist.
    pub(crate) fn current(&self, path: &Path) -> Result<Option<Vec<u8>>, ToolError> {
        self.hold.read(path)
    }

    /// Applies the changes in this order: all of them or none, and only if
    /// `permit` agrees. `permit` and `look`, which receives the new hashes, run
    /// while the disk writes.
    ///
    /// A file read with [`Self::current`] must not have changed since.
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
        // Undo also removes directories created for a file, so the reporter
        // must look before they exist.
        let makes_folders = changes
            .iter()
            .flat_map(FileChange::paths)
            .any(|path| path.parent().is_some_and(|dir| std::fs::symlink_metadata(dir).is_err()));
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
            // A refused change must not prune old checkpoints.
            let is_tidy = is_permitted.load(Ordering::Acquire);
            if is_tidy {
                tidy();
            }
            Ok::<_, ToolError>((answer, digests, hashes, is_tidy))
        };
        let meanwhile = || {
            let permitted = permit()?;
            is_permitted.store(true, Ordering::Release);
            // Done here, where there is time, rather than when the result is
            // due.
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

/// Caches what was written for a while: see [`versions`].
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

/// Returns the state of each path after a change.
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

/// Records the change in the session.
fn record_in_session(cx: &ToolContext, change: &FileChange, hash: Option<&FileHash>) {
    // A recorded encoding moves with its file.
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
