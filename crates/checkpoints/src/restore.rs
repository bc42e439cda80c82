//! Applies restore plans. Replaced files are saved first, each file is replaced
//! atomically, and an interrupted operation can be resumed.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use hermes_core::{CheckpointId, ToolError};

use crate::attributes::SavedAttributes;
use crate::capture::FileCapture;
use crate::damage::damage_error;
use crate::hard_links::RestoredLinks;
use crate::history::CheckpointKind;
use crate::interrupted_restores::{remove_leftovers, superseded};
use crate::manifest::{CheckpointLine, CheckpointLog, CheckpointManifest, PathRecord};
use crate::path_handle::PathHandle;
use crate::path_text::path_to_text;
use crate::plan::{RestorePlan, RestoreStep, WorkspaceHistory};
use crate::prune::remove;
use crate::state::{AttributeMask, SavedState, UnsavedReason};
use crate::store::{
    CheckpointStore, LOG_EXTENSION, lock_workspace, logs, make_checkpoint_id, now_nanos,
};
use crate::turn::create_log;

/// Permission bits of parent directories created for a restored file.
const DIR_MODE: u32 = 0o755;

/// The outcome of an applied plan.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RestoreReport {
    /// The checkpoint that undoes it; `None` if nothing was done, and for a
    /// redo, after which the turn itself can be undone again.
    pub checkpoint: Option<CheckpointId>,
    /// Restored paths.
    pub restored: Vec<PathBuf>,
    /// Paths left unchanged, with the reason.
    pub skipped: Vec<(PathBuf, String)>,
    /// Whether `skipped` contains paths that should have been restored. A
    /// directory that now holds other files is not one of them.
    pub is_partial: bool,
    /// Paths that were replaced or removed although they could not be saved,
    /// with the reason; their content is permanently lost.
    pub lost: Vec<(PathBuf, UnsavedReason)>,
    /// Paths restored without their owner, group, these extended attributes or
    /// hard links.
    pub missing_attributes: Vec<(PathBuf, Vec<String>)>,
}

impl CheckpointStore {
    /// Applies a plan. Obstacles are an error unless `force` is set, which
    /// applies all feasible steps.
    pub fn apply_plan(&self, plan: &RestorePlan, force: bool) -> Result<RestoreReport, ToolError> {
        check_plan(plan, force)?;
        let mut restored = RestoreReport::default();
        let mut steps = Vec::new();
        for step in &plan.steps {
            match step.obstacle.filter(|obstacle| !obstacle.can_be_forced) {
                Some(obstacle) => {
                    restored.is_partial = true;
                    restored.skipped.push((step.path.clone(), obstacle.reason.describe()));
                }
                None => steps.push(step),
            }
        }
        // An undo or redo counts even if all files are in their target state.
        let is_restore = matches!(plan.kind, CheckpointKind::Restore(_));
        if is_restore && steps.is_empty() && !plan.is_resumed() {
            return Ok(restored);
        }
        let dir = self.workspace_dir(&plan.workspace);
        let failed = |error: io::Error| self.io_error("write in", &dir, &error);
        let _alone = lock_workspace(&dir).map_err(failed)?;
        let there = logs(&dir).map_err(failed)?;
        let earlier = self.load(&dir)?;
        // Another process may have changed the history since the plan was made.
        if WorkspaceHistory::new(there, &earlier) != plan.history {
            return Err(outdated_error(plan));
        }
        earlier.iter().filter(|m| m.is_interrupted()).for_each(remove_leftovers);
        let (mut manifest, mut log) = self.save_replaced(plan, &steps, force)?;
        // Files are removed before their directories, and created after them.
        steps.sort_by_key(|step| (step_phase(step), DepthOrder::for_step(step)));
        self.apply_steps(plan, &steps, force, &mut restored)?;
        restored.lost = lost_paths(&steps, &restored.restored, &manifest);
        if restored.restored.is_empty() && restored.is_partial && !plan.is_resumed() {
            // Keep the turn in effect.
            remove(&log.path).map_err(failed)?;
            return Err(nothing_restored_error(&restored.skipped, &plan.kind));
        }
        self.apply_dir_attributes(&steps, &mut restored);
        for old in superseded(&earlier, &manifest) {
            remove_log(&dir, old.id()).map_err(failed)?;
        }
        self.record_result(&mut manifest, &mut log).map_err(failed)?;
        self.objects.add(log.take_added());
        restored.restored.sort();
        if let CheckpointKind::Redo(undo) = &plan.kind {
            // Undo and redo cancel out. The undo is removed first, since alone
            // it would mark the turn as undone.
            remove_log(&dir, undo).map_err(failed)?;
            remove_log(&dir, manifest.id()).map_err(failed)?;
            return Ok(restored);
        }
        restored.checkpoint = Some(manifest.id().to_owned());
        // All files are restored, so a failed prune is ignored.
        let _ = logs(&dir).and_then(|there| self.prune_after_begin(&dir, there.len()));
        Ok(restored)
    }

    /// Records the resulting states where they differ from the intended ones.
    fn record_result(
        &self,
        manifest: &mut CheckpointManifest,
        log: &mut CheckpointLog,
    ) -> io::Result<()> {
        let mut capture = FileCapture::inspecting(self.limits);
        let mut lines = Vec::new();
        for (path, change) in &manifest.changes {
            if let Ok(state) = capture.state(path)
                && change.after.as_ref() != Some(&state)
            {
                lines.push(CheckpointLine::After(PathRecord { path: path.clone(), state }));
            }
        }
        lines.push(CheckpointLine::Finished(true));
        log.write(&lines)?;
        lines.into_iter().for_each(|line| manifest.apply_line(line));
        Ok(())
    }

    fn apply_steps(
        &self,
        plan: &RestorePlan,
        steps: &[&RestoreStep],
        force: bool,
        restored: &mut RestoreReport,
    ) -> Result<(), ToolError> {
        let mut names = RestoredLinks::default();
        plan.already_done.iter().for_each(|step| names.note_restored(&step.path, &step.to));
        for step in steps {
            match self.apply_step(step, &mut names) {
                Ok(StepResult::Done) => restored.restored.push(step.path.clone()),
                Ok(StepResult::DoneWithout(what)) => {
                    restored.restored.push(step.path.clone());
                    restored.missing_attributes.push((step.path.clone(), what));
                }
                Ok(StepResult::Failed(why)) => {
                    restored.is_partial = true;
                    restored.skipped.push((step.path.clone(), why.into()));
                }
                Ok(StepResult::LeftInPlace(why)) => {
                    restored.skipped.push((step.path.clone(), why.into()))
                }
                Err(error) if force => {
                    restored.is_partial = true;
                    restored.skipped.push((step.path.clone(), error.to_string()));
                }
                Err(error) => {
                    let what = format!("{} cannot be restored", path_to_text(&step.path));
                    return Err(ToolError::io(what, &error)
                        .with("done", restored.restored.len())
                        .with_hint(
                            "Fix the cause and run the same command again; it resumes \
                            where it stopped.",
                        ));
                }
            }
        }
        names.report_missing(&mut restored.missing_attributes);
        Ok(())
    }

    /// Saves what is about to be replaced and records the target states, to
    /// distinguish an interrupted restore from foreign changes.
    fn save_replaced(
        &self,
        plan: &RestorePlan,
        steps: &[&RestoreStep],
        force: bool,
    ) -> Result<(CheckpointManifest, CheckpointLog), ToolError> {
        let dir = self.workspace_dir(&plan.workspace);
        let failed = |error: io::Error| self.io_error("write in", &dir, &error);
        let _shared = self.lock_shared().map_err(failed)?;
        let mut capture = FileCapture::storing(&self.objects, self.limits);
        let mut lines = Vec::new();
        let mut note = |path: &Path, before: SavedState, after: SavedState| {
            let path = path.to_path_buf();
            lines.push(CheckpointLine::Before(PathRecord { path: path.clone(), state: before }));
            lines.push(CheckpointLine::After(PathRecord { path, state: after }));
        };
        let mut shown: BTreeSet<PathBuf> = steps.iter().map(|step| step.path.clone()).collect();
        for step in steps {
            for above in missing_parents(&step.path) {
                if shown.insert(above.clone()) {
                    note(&above, SavedState::Absent, created_dir_state());
                }
            }
            let now = self.save_one(step, &mut capture, force)?;
            note(&step.path, step.resumed_from.clone().unwrap_or(now), step.to.clone());
        }
        for (step, begun) in
            plan.already_done.iter().filter_map(|step| Some((step, step.resumed_from.clone()?)))
        {
            note(&step.path, begun, step.to.clone());
        }
        let at = now_nanos();
        let turn =
            format!("{}-{at}-{}", plan.kind.command_name().unwrap_or("turn"), std::process::id());
        let id = make_checkpoint_id("", &turn, &plan.workspace);
        let (workspace, kind) = (plan.workspace.clone(), plan.kind.clone());
        let mut manifest = CheckpointManifest::new(id, workspace, "", &turn, kind, at);
        let log = create_log(self, &manifest.header, &lines).map_err(failed)?;
        lines.into_iter().for_each(|line| manifest.apply_line(line));
        Ok((manifest, log))
    }

    /// Saves what a step replaces; it must still be in the planned state.
    fn save_one(
        &self,
        step: &RestoreStep,
        capture: &mut FileCapture<'_>,
        force: bool,
    ) -> Result<SavedState, ToolError> {
        let state = capture.state_since(&step.path, &step.from);
        let state = state.map_err(|error| ToolError::io(path_to_text(&step.path), &error))?;
        match state.unsaved_reason().filter(|_| step.from.unsaved_reason().is_none()) {
            // It is readable, but there is no space to save it.
            Some(why) if !force => return Err(out_of_space_error(&step.path, why)),
            Some(_) => {
                let now = FileCapture::inspecting(self.limits).state(&step.path);
                if !now.is_ok_and(|now| now.is_same(&step.from)) {
                    return Err(changed_error(&step.path));
                }
            }
            None if !state.is_same(&step.from) => return Err(changed_error(&step.path)),
            None if state.unsaved_reason().is_some() && !force => {
                return Err(changed_error(&step.path));
            }
            None => {}
        }
        Ok(state)
    }

    fn apply_step(&self, step: &RestoreStep, names: &mut RestoredLinks) -> io::Result<StepResult> {
        create_parents(&step.path)?;
        let Some(spot) = PathHandle::resolve(&step.path)? else {
            return Ok(StepResult::Failed("its parent directory does not exist"));
        };
        match &step.to {
            SavedState::Absent => {
                return match spot.remove(step.from.is_dir()) {
                    Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
                        Ok(StepResult::LeftInPlace("it is not empty"))
                    }
                    removed => removed.map(|()| StepResult::Done),
                };
            }
            SavedState::Folder { .. } => {
                if !step.from.is_dir() {
                    spot.remove(false)?;
                }
                spot.put_dir()?;
                // Its mode is applied last; until then it must be writable.
                if matches!(step.from, SavedState::Folder { mode, .. } if mode & 0o300 != 0o300) {
                    spot.set_mode(0o700)?;
                }
            }
            SavedState::File { hash, mode, owner, attributes, linked, .. } => {
                let carried = step.attributes;
                let kept =
                    SavedAttributes { mode: *mode, owner: *owner, attributes, overrides: carried };
                let lost = if has_same_content(step) {
                    spot.apply_attributes(kept)?
                } else {
                    if let Some(refused) = clear_target(&spot, &step.from)? {
                        return Ok(refused);
                    }
                    let put = || spot.put_file(kept, |file| self.objects.copy_to(*hash, file));
                    names.restore(&step.path, &spot, linked.map(|linked| (linked, *hash)), put)?
                };
                if !lost.is_empty() {
                    return Ok(StepResult::DoneWithout(lost));
                }
            }
            SavedState::Link { target, owner } => {
                if let Some(refused) = clear_target(&spot, &step.from)? {
                    return Ok(refused);
                }
                let is_link = matches!(step.from, SavedState::Link { .. });
                let found = step.from.owner().filter(|_| is_link);
                let owner = if step.attributes.owner { owner.or(found) } else { found.or(*owner) };
                let lost = spot.put_link(target, owner)?;
                if !lost.is_empty() {
                    return Ok(StepResult::DoneWithout(lost));
                }
            }
            SavedState::Unkept { .. } => return Ok(StepResult::Failed("it was not saved")),
        }
        Ok(StepResult::Done)
    }

    /// Applies directory attributes last, innermost first, since a read-only
    /// directory could not be filled.
    fn apply_dir_attributes(&self, steps: &[&RestoreStep], restored: &mut RestoreReport) {
        let done: BTreeSet<PathBuf> = restored.restored.iter().cloned().collect();
        let none = BTreeMap::new();
        for step in steps.iter().rev().filter(|step| done.contains(&step.path)) {
            if let SavedState::Folder { mode, owner, attributes } = &step.to
                && let Ok(Some(spot)) = PathHandle::resolve(&step.path)
            {
                // A new directory may have inherited default ACLs from its
                // parent.
                let meant = if step.from.is_dir() { step.attributes } else { AttributeMask::ALL };
                let known =
                    AttributeMask { owner: owner.is_some(), attributes: attributes.is_some() };
                let (mode, owner, carried) = (*mode, *owner, meant.intersection(known));
                let attributes = attributes.as_ref().unwrap_or(&none);
                // The directory and its contents are restored, so a failure
                // here only counts as missing attributes.
                let lost = spot.apply_dir_attributes(SavedAttributes {
                    mode,
                    owner,
                    attributes,
                    overrides: carried,
                });
                let lost = lost.unwrap_or_else(|_| vec!["mode".into()]);
                if !lost.is_empty() {
                    restored.missing_attributes.push((step.path.clone(), lost));
                }
            }
        }
    }
}

enum StepResult {
    Done,
    /// Restored, except for these attributes.
    DoneWithout(Vec<String>),
    /// Could not be restored.
    Failed(&'static str),
    /// A directory that now holds other files stays in place.
    LeftInPlace(&'static str),
}

/// Whether only mode, owner or attributes differ.
fn has_same_content(step: &RestoreStep) -> bool {
    matches!((&step.from, &step.to), (SavedState::File { hash: a, .. }, SavedState::File { hash: b, .. }) if a == b)
}

/// Returns paths that were replaced without being saved.
fn lost_paths(
    steps: &[&RestoreStep],
    done: &[PathBuf],
    manifest: &CheckpointManifest,
) -> Vec<(PathBuf, UnsavedReason)> {
    let done: BTreeSet<&PathBuf> = done.iter().collect();
    let replaced = steps.iter().filter(|step| done.contains(&step.path) && !has_same_content(step));
    replaced
        .filter_map(|step| {
            let why = manifest.changes.get(&step.path)?.before.unsaved_reason()?;
            Some((step.path.clone(), why))
        })
        .collect()
}

/// Removes a directory that a file replaces; fails the step unless it is empty.
fn clear_target(spot: &PathHandle, from: &SavedState) -> io::Result<Option<StepResult>> {
    if !from.is_dir() {
        return Ok(None);
    }
    match spot.remove(true) {
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
            Ok(Some(StepResult::Failed("a directory that is not empty is in its place")))
        }
        removed => removed.map(|()| None),
    }
}

/// Removals first, then directories, then files and symlinks.
fn step_phase(step: &RestoreStep) -> u8 {
    match &step.to {
        SavedState::Absent if !step.from.is_dir() => 0,
        SavedState::Absent => 1,
        SavedState::Folder { .. } => 2,
        // May replace a directory, which is empty at this point.
        _ => 3,
    }
}

/// Removals innermost first, creations outermost first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum DepthOrder {
    Removal(Reverse<usize>),
    Creation(usize),
}

impl DepthOrder {
    fn for_step(step: &RestoreStep) -> Self {
        let depth = step.path.components().count();
        if step.to == SavedState::Absent {
            Self::Removal(Reverse(depth))
        } else {
            Self::Creation(depth)
        }
    }
}

/// Returns the missing parent directories of a path.
fn missing_parents(path: &Path) -> Vec<PathBuf> {
    let is_there = |path: &Path| path.symlink_metadata().is_ok();
    path.ancestors().skip(1).take_while(|above| !is_there(above)).map(PathBuf::from).collect()
}

/// State of a parent directory created for a path.
fn created_dir_state() -> SavedState {
    SavedState::Folder { mode: DIR_MODE, owner: None, attributes: None }
}

fn create_parents(path: &Path) -> io::Result<()> {
    for dir in missing_parents(path).iter().rev() {
        if let Some(spot) = PathHandle::resolve(dir)? {
            spot.put_dir()?;
            spot.set_mode(DIR_MODE)?;
        }
    }
    Ok(())
}

fn remove_log(dir: &Path, id: &str) -> io::Result<()> {
    let end = format!("-{id}.{LOG_EXTENSION}");
    let there = logs(dir)?;
    there
        .iter()
        .filter(|path| path.to_string_lossy().ends_with(&end))
        .try_for_each(|path| remove(path))
}

/// Checks whether a plan may be applied.
fn check_plan(plan: &RestorePlan, force: bool) -> Result<(), ToolError> {
    if !force {
        if !plan.damaged.is_empty() {
            return Err(damage_error(&plan.damaged, Some(&plan.kind))
                .with_hint("Use --force to skip it and continue with the turns before it."));
        }
        check_obstacles(plan)?;
    }
    check_feasible(plan)
}

fn check_obstacles(plan: &RestorePlan) -> Result<(), ToolError> {
    let shown: Vec<String> = plan
        .steps
        .iter()
        .filter_map(|step| {
            Some(format!("{}: {}", path_to_text(&step.path), step.describe_obstacle()?))
        })
        .collect();
    if shown.is_empty() {
        return Ok(());
    }
    Err(ToolError::conflict(format!("Nothing was changed. {}", join_first_few(&shown)))
        .with("files", shown)
        .with_hint("Use --preview to show everything, --force to apply all feasible steps."))
}

fn join_first_few(reported: &[String]) -> String {
    const MAX_SHOWN: usize = 5;
    let shown = reported.iter().take(MAX_SHOWN).cloned().collect::<Vec<_>>().join("; ");
    let more = reported.len().saturating_sub(MAX_SHOWN);
    if more > 0 { format!("{shown}; and {more} more") } else { shown }
}

/// Rejects plans that cannot do anything, even with force, so no turn is used
/// up.
fn check_feasible(plan: &RestorePlan) -> Result<(), ToolError> {
    if let CheckpointKind::Undo(_) = plan.kind
        && !plan.missing.is_empty()
        && plan.turns.iter().all(|turn| turn.files == 0)
    {
        return Err(deleted_error(plan));
    }
    let left: Vec<(PathBuf, String)> = plan
        .obstacles()
        .filter(|(_, obstacle)| !obstacle.can_be_forced)
        .map(|(step, obstacle)| (step.path.clone(), obstacle.reason.describe()))
        .collect();
    if left.is_empty() || left.len() < plan.steps.len() {
        return Ok(());
    }
    Err(nothing_restored_error(&left, &plan.kind))
}

/// Error for turns that only deleted unsaved files.
fn deleted_error(plan: &RestorePlan) -> ToolError {
    let shown: Vec<String> = plan.missing.iter().map(|path| path_to_text(path)).collect();
    let by: BTreeSet<&str> =
        plan.turns.iter().flat_map(|turn| &turn.changed_by).map(String::as_str).collect();
    let by = by.into_iter().collect::<Vec<_>>().join(", ");
    let past = plan.turns.len() + 1;
    ToolError::conflict(format!(
        "Nothing was changed. The last turn ({by}) deleted git-ignored files that were not \
         saved, so they cannot be restored: {}",
        join_first_few(&shown)
    ))
    .with("files", shown)
    .with_hint(format!("`hermes undo {past}` undoes the turn before it."))
}

/// Error for a plan of which no step succeeded.
fn nothing_restored_error(left: &[(PathBuf, String)], kind: &CheckpointKind) -> ToolError {
    let shown: Vec<String> =
        left.iter().map(|(path, why)| format!("{}: {why}", path_to_text(path))).collect();
    let error =
        ToolError::conflict(format!("Nothing could be restored. {}", join_first_few(&shown)));
    let error = error.with("files", shown);
    match kind {
        CheckpointKind::Undo(turns) => {
            let past = turns.len() + 1;
            error.with_hint(format!(
                "The turn is still in effect; use `hermes undo {past} --force` to skip it."
            ))
        }
        _ => error,
    }
}

fn out_of_space_error(path: &Path, why: UnsavedReason) -> ToolError {
    ToolError::conflict(format!(
        "Nothing was changed. {}: its current content would be lost for good: {}",
        path_to_text(path),
        why.describe()
    ))
    .with_hint("Free disk space, or use --force.")
}

/// Error for a workspace whose history changed after planning.
fn outdated_error(plan: &RestorePlan) -> ToolError {
    ToolError::conflict(format!(
        "The history of {} was changed just now; nothing was restored",
        plan.workspace.display()
    ))
    .with_hint("Run the command again.")
}

fn changed_error(path: &Path) -> ToolError {
    ToolError::conflict(format!(
        "{} was changed just now; nothing was restored",
        path_to_text(path)
    ))
    .with_hint("Run the command again.")
}
