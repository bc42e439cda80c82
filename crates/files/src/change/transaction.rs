//! Execution and rollback of several changes.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hermes_core::{Scope, ToolError};
use rustix::fs::AtFlags;
use rustix::io::Errno;

use super::step::{ChangeStep, UndoAction, require_removable};
use super::{FileChange, FileChangeResult};
use crate::error_text::explain_path_error;
use crate::file_locks::FileLocks;
use crate::journal::{
    ChangeJournal, InodeId, JournalDir, NewFileStamp, RollbackEntry, anchored_path_bytes,
};
use crate::locate::LinkMode;
use crate::metadata::FileMetadata;
use crate::open::{AnchoredName, WalkMode};
use crate::scratch::ScratchKind;
use crate::temp_file::{ParkedFile, move_entry, sync_dir};
use crate::write::{ExistingFile, require_writable};

#[derive(Debug)]
pub(super) struct ChangeTransaction<'c> {
    walk: WalkMode,
    steps: Vec<ChangeStep<'c>>,
    created_dirs: Vec<PathBuf>,
    /// Step indexes with their undo actions, in order of execution.
    undo_log: Vec<(usize, UndoAction)>,
    journals: Option<Arc<JournalDir>>,
    /// Exists from the first change to the last, if there are several.
    journal: Option<ChangeJournal>,
}

impl<'c> ChangeTransaction<'c> {
    pub(super) fn new(walk: WalkMode, journals: Option<Arc<JournalDir>>) -> Self {
        let (steps, made, done) = (Vec::new(), Vec::new(), Vec::new());
        Self { walk, steps, created_dirs: made, undo_log: done, journals, journal: None }
    }

    pub(super) fn stage_all(
        &mut self,
        hold: &mut FileLocks<'_>,
        changes: &'c [FileChange],
    ) -> Result<(), ToolError> {
        for (at, change) in changes.iter().enumerate() {
            let earlier = changes.get(..at).unwrap_or_default();
            let step = self.stage(hold, change, earlier)?;
            self.steps.push(step);
        }
        Ok(())
    }

    pub(super) fn start_writeback(&self) {
        self.steps.iter().for_each(ChangeStep::start_writeback);
    }

    pub(super) fn verify(&self) -> Result<(), ToolError> {
        self.steps.iter().try_for_each(ChangeStep::verify)
    }

    pub(super) fn sync(&self) -> Result<(), ToolError> {
        self.steps.iter().try_for_each(ChangeStep::sync)
    }

    pub(super) fn apply_all(
        &mut self,
        changes: &[FileChange],
    ) -> Result<Vec<FileChangeResult>, ToolError> {
        let is_one = changes.len() == 1;
        if !is_one {
            self.write_journal()?;
        }
        for at in 0..self.steps.len() {
            self.apply(at, is_one)?;
        }
        let changed = self.steps.iter().map(|step| FileChangeResult {
            path: step.change.target().to_path_buf(),
            created: step.old_metadata.is_none()
                && !matches!(step.change, FileChange::Remove { .. }),
            created_dirs: step.created_dirs.clone(),
            lost_attributes: step.lost_attributes.clone(),
        });
        Ok(changed.collect())
    }

    /// Writes the journal of the planned changes, if a journal directory is
    /// set.
    fn write_journal(&mut self) -> Result<(), ToolError> {
        let (Some(journals), Some(first)) = (&self.journals, self.steps.first()) else {
            return Ok(());
        };
        let path = first.change.target();
        // Without /proc the path of a directory is unknown.
        if anchored_path_bytes(&first.target).is_err() {
            return Ok(());
        }
        let mut entries = Vec::new();
        let mut dirs = Vec::new();
        for step in &self.steps {
            entries
                .extend(journal_entries(step).map_err(|e| explain_path_error("write", path, &e))?);
            dirs.push(&step.target);
            dirs.extend(&step.from);
        }
        let journal = journals.write(entries, &self.created_dirs, &dirs);
        self.journal = Some(journal.map_err(|error| explain_path_error("write", path, &error))?);
        Ok(())
    }

    fn stage(
        &mut self,
        hold: &mut FileLocks<'_>,
        change: &'c FileChange,
        earlier: &[FileChange],
    ) -> Result<ChangeStep<'c>, ToolError> {
        let is_touched = |path: &Path| earlier.iter().any(|change| change.paths().contains(&path));
        let path = change.target();
        let failed = |error: io::Error| explain_path_error(verb(change), path, &error);
        let (spot, made) = match change {
            FileChange::Remove { .. } => (
                hold.files.anchor("remove", &Scope::FILE_DELETE, path, LinkMode::NoFollow)?,
                Vec::new(),
            ),
            _ => self.resolve_target(hold, path)?,
        };
        let before = spot.metadata_if_exists().map_err(failed)?;
        let mut step = ChangeStep {
            change,
            target: spot,
            from: None,
            new: None,
            old_metadata: before,
            is_touched: is_touched(path),
            created_dirs: made,
            lost_attributes: Vec::new(),
            parked_name: ScratchKind::File.new_name(),
            executable: hold.executables.get(path).copied(),
        };
        if !step.is_touched
            && hold.metadata_when_read(path).is_some_and(|seen| differs(seen, before))
        {
            return Err(changed_meanwhile_error(path));
        }
        match change {
            FileChange::Write { bytes, existing, .. } => {
                let old = match before {
                    Some(_) if *existing == ExistingFile::Refuse && !step.is_touched => {
                        return Err(failed(Errno::EXIST.into()));
                    }
                    Some(old) => Some(require_writable(&step.target, old).map_err(failed)?),
                    None => None,
                };
                step.write_new(old.as_ref(), bytes).map_err(failed)?;
            }
            FileChange::Remove { .. } => {
                let found = before.ok_or_else(|| failed(io::ErrorKind::NotFound.into()))?;
                require_removable(&found).map_err(failed)?;
            }
            FileChange::Move { from, bytes, .. } => {
                if before.is_some() && !step.is_touched {
                    return Err(failed(Errno::EXIST.into()));
                }
                let source =
                    hold.files.anchor("move", &Scope::FILE_DELETE, from, LinkMode::NoFollow)?;
                // It would replace itself, or the result of an earlier change.
                if source.is_same(&step.target).map_err(failed)? {
                    return Err(failed(Errno::EXIST.into()));
                }
                let found =
                    source.metadata().map_err(|error| explain_path_error("move", from, &error))?;
                if !is_touched(from)
                    && hold.metadata_when_read(from).is_some_and(|s| differs(s, Some(found)))
                {
                    return Err(changed_meanwhile_error(from));
                }
                let staged = step.write_moved(&source, &found, bytes.as_deref());
                staged.map_err(|error| explain_path_error("move", from, &error))?;
                step.from = Some(source);
            }
        }
        Ok(step)
    }

    /// Resolves the target of a file, and creates and locks missing
    /// directories.
    fn resolve_target(
        &mut self,
        hold: &mut FileLocks<'_>,
        path: &Path,
    ) -> Result<(AnchoredName, Vec<PathBuf>), ToolError> {
        let files = hold.files;
        let place = files.locate("write", &Scope::FILE_WRITE, path, LinkMode::Follow)?;
        let mut made = Vec::new();
        let reached = AnchoredName::resolve_recording(&place, files.walk(), &mut made);
        self.created_dirs.extend(made.iter().cloned());
        let spot = reached.map_err(|error| explain_path_error("write", path, &error))?;
        // The directory may be new, created here or by another process.
        hold.lock_parent(&spot, path)?;
        Ok((spot, made))
    }

    fn apply(&mut self, at: usize, is_one: bool) -> Result<(), ToolError> {
        let Some(step) = self.steps.get_mut(at) else { return Ok(()) };
        let path = step.change.target();
        let failed = |error: io::Error| explain_path_error(verb(step.change), path, &error);
        let now = step.target.metadata_if_exists().map_err(failed)?;
        if !step.is_touched && differs(step.old_metadata, now) {
            return Err(changed_meanwhile_error(path));
        }
        let AnchoredName { dir: directory, name } = &step.target;
        let new = step.new.take();
        let is_new = new.is_some();
        if let Some((new, identity)) = new {
            let may_replace =
                matches!(step.change, FileChange::Write { existing: ExistingFile::Replace, .. });
            match (may_replace && now.is_some(), is_one) {
                (true, true) => {
                    let _noted = self.journals.as_ref().and_then(|it| it.note_parent(&step.target));
                    new.persist_over(name).map_err(failed)?;
                }
                (true, false) => {
                    let old = new.persist_parking_old(name, &step.parked_name).map_err(failed)?;
                    self.undo_log.push((at, UndoAction::Restore(old)));
                }
                (false, _) => {
                    new.persist(name, ExistingFile::Refuse).map_err(failed)?;
                    self.undo_log.push((at, UndoAction::RemoveNew(identity)));
                }
            }
        }
        let undo = match (step.change, &step.from) {
            (FileChange::Remove { .. }, _) if is_one => {
                rustix::fs::unlinkat(directory, name, AtFlags::empty())
                    .map_err(|error| failed(error.into()))?;
                return Ok(());
            }
            (FileChange::Remove { .. }, _) => UndoAction::RestoreMissing(
                ParkedFile::park(&step.target, &step.parked_name).map_err(failed)?,
            ),
            (FileChange::Move { .. }, Some(from)) if is_new => UndoAction::RestoreMissing(
                ParkedFile::park(from, &step.parked_name).map_err(failed)?,
            ),
            (FileChange::Move { .. }, Some(from)) => {
                move_entry(&from.dir, &from.name, directory, name, ExistingFile::Refuse)
                    .map_err(failed)?;
                UndoAction::Rename
            }
            _ => return Ok(()),
        };
        self.undo_log.push((at, undo));
        Ok(())
    }

    /// Finishes the transaction: removes the parked files.
    pub(super) fn remove_parked(self) {
        let Self { mut journal, undo_log: done, steps, .. } = self;
        // The change is committed. Remove the parked files while the journal
        // still lists them.
        if let Some(journal) = &mut journal {
            journal.complete();
        }
        drop(done);
        drop(journal);
        for step in &steps {
            // The content of a new file is on disk; its name follows with the
            // next file system commit, as with editors.
            if matches!(step.change, FileChange::Remove { .. }) {
                sync_dir(&step.target);
            }
            if let Some(from) = &step.from {
                sync_dir(&step.target);
                sync_dir(from);
            }
        }
    }

    /// Undoes everything done so far, and adds to the error what could not be
    /// undone.
    pub(super) fn roll_back(mut self, error: ToolError) -> ToolError {
        let mut left = Vec::new();
        for (at, undo) in self.undo_log.drain(..).rev() {
            let Some(step) = self.steps.get(at) else { continue };
            if let Err(cause) = step.undo(undo) {
                left.push(format!("{} ({cause})", step.change.target().display()));
            }
        }
        self.steps.clear();
        self.journal = None;
        for dir in self.created_dirs.iter().rev() {
            // A directory that is in use is not empty and stays.
            if let Ok(spot) = AnchoredName::resolve(dir, self.walk) {
                let _ = rustix::fs::unlinkat(&spot.dir, &spot.name, AtFlags::REMOVEDIR);
            }
        }
        if left.is_empty() {
            return error;
        }
        let message = format!("{}; rollback failed for: {}", error.message(), left.join(", "));
        error.with_message(message).with("not_put_back", left)
    }
}

/// Returns the journal entries of a step.
fn journal_entries(step: &ChangeStep<'_>) -> io::Result<Vec<RollbackEntry>> {
    let aside = || step.parked_name.to_string_lossy().into_owned();
    let old = |facts: Option<FileMetadata>| {
        facts.filter(|_| !step.is_touched).map(|old| InodeId::from_metadata(&old))
    };
    let mut entries = Vec::new();
    if let Some((new, _)) = &step.new {
        let new =
            NewFileStamp::from_metadata(&FileMetadata::from_stat(&rustix::fs::fstat(&new.file)?));
        let is_new = step.old_metadata.is_none() || step.is_touched || step.from.is_some();
        let path = anchored_path_bytes(&step.target)?;
        let old = if step.from.is_some() { None } else { old(step.old_metadata) };
        // The parked name belongs to the source of the move.
        let aside = if step.from.is_some() {
            ScratchKind::File.new_name().to_string_lossy().into_owned()
        } else {
            aside()
        };
        entries.push(RollbackEntry::Write { path, aside, old, new, is_new });
    }
    match (step.change, &step.from) {
        (FileChange::Remove { .. }, _) => {
            let (path, old) = (anchored_path_bytes(&step.target)?, old(step.old_metadata));
            entries.push(RollbackEntry::Remove { path, aside: aside(), old });
        }
        (FileChange::Move { .. }, Some(from)) if step.new.is_some() => {
            entries.push(RollbackEntry::Remove {
                path: anchored_path_bytes(from)?,
                aside: aside(),
                old: None,
            });
        }
        (FileChange::Move { .. }, Some(from)) => {
            let (to, old) =
                (anchored_path_bytes(&step.target)?, InodeId::from_metadata(&from.metadata()?));
            entries.push(RollbackEntry::Rename { from: anchored_path_bytes(from)?, to, old });
        }
        _ => {}
    }
    Ok(entries)
}

fn verb(change: &FileChange) -> &'static str {
    match change {
        FileChange::Write { .. } => "write",
        FileChange::Remove { .. } => "remove",
        FileChange::Move { .. } => "move to",
    }
}

/// Whether the file was replaced or modified.
fn differs(before: Option<FileMetadata>, now: Option<FileMetadata>) -> bool {
    let state = |facts: FileMetadata| {
        (facts.identity.dev, facts.identity.ino, facts.kind, facts.len, facts.modified)
    };
    before.map(state) != now.map(state)
}

fn changed_meanwhile_error(path: &Path) -> ToolError {
    ToolError::conflict(format!(
        "{} was changed by another process in the meantime; nothing was done",
        path.display()
    ))
    .with_hint("Read the file again, then retry.")
}
