//! Moves a complete tree into place, entry by entry. A failure is rolled back
//! here; after a kill, the journal allows the next process to roll back.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use hermes_core::ToolError;
use hermes_files::{IncomingTree, JournalDir, explain_error};
use rustix::fs::{AtFlags, FileType, Mode, RenameFlags};
use rustix::io::Errno;

use super::merge_plan::{MergePlan, MoveKind, PlannedMove};
use super::staging::StagingDir;
use super::target::{join_parts, kind_at, open_subdir};
use super::{UnpackConflictPolicy, UnpackReport};
use crate::member::SkippedEntry;

/// Attempts if another process changes the target meanwhile.
const MAX_COMMIT_ATTEMPTS: usize = 4;

/// Outcome of a merge.
#[derive(Debug, Default)]
pub(super) struct MergeReport {
    pub(super) replaced: u64,
    pub(super) renamed: Vec<(PathBuf, PathBuf)>,
    pub(super) skipped: Vec<PathBuf>,
}

/// A step that can be undone.
enum UndoStep {
    /// Moved from the staging directory to the target.
    Put { from: PathBuf, to: PathBuf },
    /// Exchanged with the existing file.
    Swapped { path: PathBuf },
    /// Created a parent directory of the target.
    MadeDir { path: PathBuf },
}

/// Why a move failed.
enum MoveError {
    /// Another process has changed the target meanwhile.
    TargetChanged,
    Failed(Errno),
}

impl From<Errno> for MoveError {
    fn from(error: Errno) -> Self {
        Self::Failed(error)
    }
}

/// Open directories of the last move, in the tree and in the target. Moves
/// within one directory are consecutive.
struct CurrentDirs {
    path: PathBuf,
    from: OwnedFd,
    to: OwnedFd,
}

impl StagingDir {
    /// Moves everything into place, or nothing.
    pub(super) fn commit(
        &mut self,
        existing: UnpackConflictPolicy,
        target: &Path,
        journals: Option<&JournalDir>,
    ) -> Result<MergeReport, ToolError> {
        let moved = if self.missing.is_empty() {
            self.merge_into_target(existing, target, journals)
        } else {
            self.move_as_target(target, journals).map(|()| MergeReport::default())
        };
        if let Some(journal) = &mut self.journal {
            journal.complete();
        }
        moved
    }

    /// Moves the tree to a target that does not exist.
    fn move_as_target(
        &mut self,
        target: &Path,
        journals: Option<&JournalDir>,
    ) -> Result<(), ToolError> {
        let Some((name, above)) = self.missing.split_last() else { return Ok(()) };
        if !above.is_empty() {
            // The rename is atomic, but the parent directories created for it
            // need a rollback.
            let ways =
                (1..=above.len()).map(|depth| join_parts(above.get(..depth).unwrap_or(above)));
            let ways: Vec<PathBuf> = ways.collect();
            let journal = self.write_journal(journals, |_, arrival| {
                ways.iter().for_each(|path| arrival.add_dir(path));
                Ok(())
            });
            self.journal = journal.map_err(|error| explain_error("unpack into", target, &error))?;
        }
        let mut made = Vec::new();
        let done = self.move_tree(above, name, target, &mut made);
        if done.is_err() {
            made.into_iter().rev().for_each(|step: UndoStep| step.undo(self));
        }
        done
    }

    fn move_tree(
        &self,
        above: &[std::ffi::OsString],
        name: &OsStr,
        target: &Path,
        made: &mut Vec<UndoStep>,
    ) -> Result<(), ToolError> {
        let failed = |error: Errno| explain_error("unpack into", target, &error.into());
        let mut here = duplicate_handle(&self.base).map_err(failed)?;
        let mut path = PathBuf::new();
        for part in above {
            path.push(part);
            match rustix::fs::mkdirat(&here, part, Mode::from_raw_mode(0o777)) {
                Ok(()) => made.push(UndoStep::MadeDir { path: path.clone() }),
                Err(Errno::EXIST) => {}
                Err(error) => return Err(failed(error)),
            }
            here = open_subdir(&here, part).map_err(failed)?;
        }
        match rename_noreplace(&self.base, &self.name, &here, name) {
            Err(Errno::EXIST) => Err(ToolError::conflict(format!(
                "{} appeared while the archive was being unpacked (expected {} to be missing); \
                 nothing was unpacked",
                target.display(),
                join_parts(&self.missing).display()
            ))),
            put => put.map_err(failed),
        }
    }

    /// Merges the tree into an existing target.
    fn merge_into_target(
        &mut self,
        existing: UnpackConflictPolicy,
        target: &Path,
        journals: Option<&JournalDir>,
    ) -> Result<MergeReport, ToolError> {
        for _ in 0..MAX_COMMIT_ATTEMPTS {
            let route = self.plan_merge(existing, target)?;
            // A single move is atomic and needs no journal.
            if route.moves.len() > 1 {
                let journal = self.write_journal(journals, |staging, arrival| {
                    staging.record_moves(&route, arrival)
                });
                self.journal = match journal {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    journal => {
                        journal.map_err(|error| explain_error("unpack into", target, &error))?
                    }
                };
            }
            match self.run_moves(&route) {
                Ok(()) => return Ok(route.report),
                Err((_, MoveError::TargetChanged)) => self.journal = None,
                Err((path, MoveError::Failed(error))) => {
                    return Err(explain_error("unpack", &target.join(path), &error.into()));
                }
            }
        }
        Err(ToolError::conflict(format!(
            "{} keeps being changed by another process; nothing was unpacked",
            target.display()
        ))
        .with_hint("Retry later, or choose another target."))
    }

    /// Journals the planned changes, if a journal directory is given.
    fn write_journal(
        &self,
        journals: Option<&JournalDir>,
        tell: impl FnOnce(&Self, &mut IncomingTree) -> io::Result<()>,
    ) -> io::Result<Option<hermes_files::ChangeJournal>> {
        let Some(journals) = journals else { return Ok(None) };
        let Some(mut arrival) = IncomingTree::new(&self.base, &self.name)? else { return Ok(None) };
        tell(self, &mut arrival)?;
        journals.record_incoming(arrival).map(Some)
    }

    /// Runs all moves; undoes them if one fails.
    fn run_moves(&self, route: &MergePlan) -> Result<(), (PathBuf, MoveError)> {
        let mut done = Vec::new();
        let mut here = None;
        for step in &route.moves {
            if let Err(trouble) = self.run_move(step, &mut here, &mut done) {
                done.into_iter().rev().for_each(|step: UndoStep| step.undo(self));
                return Err((step.to.clone(), trouble));
            }
        }
        Ok(())
    }

    fn run_move(
        &self,
        PlannedMove { from, to, kind: way }: &PlannedMove,
        here: &mut Option<CurrentDirs>,
        done: &mut Vec<UndoStep>,
    ) -> Result<(), MoveError> {
        let path = from.parent().unwrap_or(Path::new(""));
        if here.as_ref().is_none_or(|here| here.path != path) {
            let (tree, _) = open_parent(&self.root, from)?;
            let (target, _) = open_parent(&self.base, to)?;
            *here = Some(CurrentDirs { path: path.to_path_buf(), from: tree, to: target });
        }
        let Some(CurrentDirs { from: tree, to: target, .. }) = here else { return Ok(()) };
        let (old, new) = (file_name(from), file_name(to));
        if matches!(way, MoveKind::Put | MoveKind::PutDir) {
            return match rename_noreplace(&*tree, old, &*target, new) {
                Err(Errno::EXIST) => Err(MoveError::TargetChanged),
                put => {
                    put?;
                    done.push(UndoStep::Put { from: from.clone(), to: to.clone() });
                    Ok(())
                }
            };
        }
        if matches!(kind_at(&*target, new)?, None | Some(FileType::Directory)) {
            return Err(MoveError::TargetChanged);
        }
        match rustix::fs::renameat_with(&*tree, old, &*target, new, RenameFlags::EXCHANGE) {
            Ok(()) => done.push(UndoStep::Swapped { path: to.clone() }),
            // The file system does not support the exchange: this move cannot
            // be undone.
            Err(Errno::INVAL | Errno::NOSYS) => rustix::fs::renameat(&*tree, old, &*target, new)?,
            Err(Errno::NOENT) => return Err(MoveError::TargetChanged),
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }
}

impl UndoStep {
    /// Undoes the step, if possible.
    fn undo(self, staging: &StagingDir) {
        let _ = match &self {
            Self::Put { from, to } => open_parent(&staging.base, to).and_then(|(here, name)| {
                let (there, old) = open_parent(&staging.root, from)?;
                rename_noreplace(here, name, there, old)
            }),
            Self::Swapped { path } => open_parent(&staging.base, path).and_then(|(here, name)| {
                let (there, _) = open_parent(&staging.root, path)?;
                rustix::fs::renameat_with(there, name, here, name, RenameFlags::EXCHANGE)
            }),
            Self::MadeDir { path } => open_parent(&staging.base, path)
                .and_then(|(here, name)| rustix::fs::unlinkat(here, name, AtFlags::REMOVEDIR)),
        };
    }
}

fn file_name(path: &Path) -> &OsStr {
    path.file_name().unwrap_or_default()
}

/// Opens the parent directory of a path below `base`; returns it with the file
/// name.
pub(super) fn open_parent<'p>(
    base: &OwnedFd,
    path: &'p Path,
) -> Result<(OwnedFd, &'p OsStr), Errno> {
    let mut here = duplicate_handle(base)?;
    for part in path.parent().unwrap_or(Path::new("")) {
        here = open_subdir(&here, part)?;
    }
    Ok((here, file_name(path)))
}

impl MergeReport {
    /// Adds the outcome to the unpack report.
    pub(super) fn add_to_report(self, out: &mut UnpackReport) {
        out.replaced = self.replaced;
        for path in self.skipped {
            out.names.retain(|name| *name != path);
            out.skipped.push(SkippedEntry { path, reason: "it already exists".into() });
        }
        for (old, new) in &self.renamed {
            if let Some(name) = out.names.iter_mut().find(|name| *name == old) {
                name.clone_from(new);
            }
        }
        out.renamed = self.renamed;
        out.names.sort();
    }
}

/// Renames without replacing an existing entry.
fn rename_noreplace(
    from: impl AsFd,
    name: &OsStr,
    to: impl AsFd,
    new: &OsStr,
) -> Result<(), Errno> {
    let (from, to) = (from.as_fd(), to.as_fd());
    match rustix::fs::renameat_with(from, name, to, new, RenameFlags::NOREPLACE) {
        // The file system does not support that flag.
        Err(Errno::INVAL | Errno::NOSYS) => match kind_at(to, new)? {
            Some(_) => Err(Errno::EXIST),
            None => rustix::fs::renameat(from, name, to, new),
        },
        moved => moved,
    }
}

pub(super) fn duplicate_handle(handle: &OwnedFd) -> Result<OwnedFd, Errno> {
    rustix::io::fcntl_dupfd_cloexec(handle, 0)
}
