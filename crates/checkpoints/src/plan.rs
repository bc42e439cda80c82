//! Plans for undo, redo and restore: the steps and their obstacles.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use hermes_core::{CheckpointSummary, ToolError};

use crate::capture::FileCapture;
use crate::damage::{DamagedCheckpoint, damage_error};
use crate::history::{CheckpointKind, UndoStack};
use crate::interrupted_restores::{InterruptedRestores, InterruptedStep};
use crate::manifest::CheckpointManifest;
use crate::state::{AttributeMask, SavedState, UnsavedReason};
use crate::store::{CheckpointStore, logs};
use crate::tree::TreeListing;

/// The requested operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestoreTarget<'a> {
    /// Undoes the last turns of a workspace.
    Undo {
        /// The workspace.
        workspace: &'a Path,
        /// Number of turns.
        turns: usize,
    },
    /// Reverts the last undo of a workspace.
    Redo {
        /// The workspace.
        workspace: &'a Path,
    },
    /// Restores files to their state at a checkpoint.
    Restore {
        /// Checkpoint id.
        checkpoint: &'a str,
        /// Files to restore, and directories with everything below; if empty,
        /// everything changed since.
        paths: &'a [PathBuf],
    },
}

impl RestoreTarget<'_> {
    /// Returns the command that performs it.
    pub fn command_name(&self) -> &'static str {
        match self {
            Self::Undo { .. } => "undo",
            Self::Redo { .. } => "redo",
            Self::Restore { .. } => "restore",
        }
    }
}

/// The planned changes.
#[derive(Debug, Clone)]
pub struct RestorePlan {
    /// Kind of the checkpoint that will record it.
    pub kind: CheckpointKind,
    /// Where.
    pub workspace: PathBuf,
    /// Ids of the affected checkpoints, oldest first.
    pub checkpoints: Vec<String>,
    /// One step per path that is not yet in its target state.
    pub steps: Vec<RestoreStep>,
    /// Git-ignored paths that the turns deleted unsaved; they cannot be
    /// restored.
    pub missing: Vec<PathBuf>,
    /// Summaries of the affected turns, oldest first.
    pub turns: Vec<CheckpointSummary>,
    /// Unreadable checkpoints that the plan goes past.
    pub damaged: Vec<DamagedCheckpoint>,
    /// Paths already in their target state because of an interrupted operation.
    pub(crate) already_done: Vec<RestoreStep>,
    /// The history that the plan is based on.
    pub(crate) history: WorkspaceHistory,
}

/// The history of a workspace at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WorkspaceHistory {
    logs: Vec<PathBuf>,
    /// Operations that were interrupted or are still running.
    interrupted: Vec<String>,
}

impl WorkspaceHistory {
    /// Builds the history from a workspace's logs and their checkpoints.
    pub(crate) fn new(logs: Vec<PathBuf>, all: &[CheckpointManifest]) -> Self {
        let mut interrupted: Vec<String> =
            all.iter().filter(|m| m.is_interrupted()).map(|m| m.id().to_owned()).collect();
        interrupted.sort();
        Self { logs, interrupted }
    }
}

/// The planned change of one path.
#[derive(Debug, Clone)]
pub struct RestoreStep {
    /// Where.
    pub path: PathBuf,
    /// Current state.
    pub from: SavedState,
    /// Target state.
    pub to: SavedState,
    /// Attributes besides content and mode to restore, because the turns
    /// changed them. All others keep their current value.
    pub attributes: AttributeMask,
    /// What prevents the step.
    pub obstacle: Option<RestoreObstacle>,
    /// State before an interrupted operation that this one resumes.
    pub(crate) resumed_from: Option<SavedState>,
}

/// An obstacle to a restore step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RestoreObstacle {
    /// Why the step is blocked.
    pub reason: ObstacleReason,
    /// Whether `force` overrides it.
    pub can_be_forced: bool,
}

/// Why a path cannot be restored directly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObstacleReason {
    /// Changed by another writer since.
    ChangedSince,
    /// Changed by another writer between two of the turns.
    ChangedBetween,
    /// The turn was interrupted, so its result is unknown.
    CutOff,
    /// The target state was not saved.
    NotKept(UnsavedReason),
    /// The saved content is missing or damaged.
    Lost,
    /// The current state cannot be saved, so the step could not be undone.
    CannotBeKept(UnsavedReason),
    /// A parent directory is now a symlink.
    LinkOnTheWay,
    /// The path cannot be read.
    Unreadable,
}

impl ObstacleReason {
    /// Describes the reason.
    pub fn describe(self) -> String {
        match self {
            Self::ChangedSince => "it was changed since".into(),
            Self::ChangedBetween => "another program changed it in between".into(),
            Self::CutOff => "the turn was interrupted, so its result is unknown".into(),
            Self::NotKept(why) => format!("it was not saved: {}", why.describe()),
            Self::Lost => "its saved content is gone or damaged".into(),
            Self::CannotBeKept(why) => {
                format!("its current content would be lost for good: {}", why.describe())
            }
            Self::LinkOnTheWay => "a parent directory is a symlink".into(),
            Self::Unreadable => "it cannot be read".into(),
        }
    }

    fn can_be_forced(self) -> bool {
        !matches!(self, Self::NotKept(_) | Self::Lost | Self::LinkOnTheWay | Self::Unreadable)
    }
}

impl RestoreStep {
    /// Returns why the current content would be permanently lost, if it would.
    pub fn loss_reason(&self) -> Option<UnsavedReason> {
        let can_be_done = self.obstacle.is_none_or(|obstacle| obstacle.can_be_forced);
        self.from.unsaved_reason().filter(|_| can_be_done)
    }

    /// Describes the obstacle.
    pub fn describe_obstacle(&self) -> Option<String> {
        let why = self.obstacle?.reason;
        Some(match self.loss_reason() {
            Some(unkept) if !matches!(why, ObstacleReason::CannotBeKept(_)) => {
                format!(
                    "{}, and {}",
                    why.describe(),
                    ObstacleReason::CannotBeKept(unkept).describe()
                )
            }
            _ => why.describe(),
        })
    }
}

impl RestorePlan {
    /// Yields the steps that have an obstacle.
    pub fn obstacles(&self) -> impl Iterator<Item = (&RestoreStep, RestoreObstacle)> {
        self.steps.iter().filter_map(|step| Some((step, step.obstacle?)))
    }

    /// Whether an interrupted operation already did a part of it.
    pub(crate) fn is_resumed(&self) -> bool {
        let is_moved =
            |step: &RestoreStep| step.resumed_from.as_ref().is_some_and(|b| !b.is_same(&step.from));
        self.already_done.iter().chain(&self.steps).any(is_moved)
    }

    fn push(&mut self, seen: Option<PlannedPath>) {
        match seen {
            Some(PlannedPath::Pending(step)) => self.steps.push(step),
            Some(PlannedPath::Done(step)) => self.already_done.push(step),
            None => {}
        }
    }
}

/// A path that differs from its target state, or did before an interruption.
enum PlannedPath {
    /// The path is to be restored.
    Pending(RestoreStep),
    /// The path is in its target state: the interrupted operation restored it
    /// or had not changed it yet.
    Done(RestoreStep),
}

/// The context of a plan.
struct PlanSubject<'a> {
    kind: CheckpointKind,
    workspace: &'a Path,
    history: WorkspaceHistory,
    interrupted: &'a InterruptedRestores<'a>,
}

/// The combined change of a path over several checkpoints.
struct StateSpan<'a> {
    /// State before the first.
    first: &'a SavedState,
    /// State after the last.
    last: Option<&'a SavedState>,
    /// Whether each began with the state that the previous one left.
    is_unbroken: bool,
    /// Attributes changed besides content and mode.
    attributes: AttributeMask,
}

impl<'a> StateSpan<'a> {
    /// Span of a path that no checkpoint changed.
    fn unchanged(state: &'a SavedState) -> Self {
        let (first, carried) = (state, AttributeMask::default());
        Self { first, last: Some(state), is_unbroken: true, attributes: carried }
    }
}

impl CheckpointStore {
    /// Loads the history and checkpoints of a workspace. Logs added after the
    /// listing are detected when the plan is applied.
    fn load_history(
        &self,
        workspace: &Path,
    ) -> Result<(WorkspaceHistory, Vec<CheckpointManifest>), ToolError> {
        let dir = self.workspace_dir(workspace);
        let there = logs(&dir).map_err(|error| self.io_error("list", &dir, &error))?;
        let all = self.checkpoints(workspace)?;
        Ok((WorkspaceHistory::new(there, &all), all))
    }

    /// Plans an operation without changing anything.
    pub fn plan(&self, target: RestoreTarget<'_>) -> Result<RestorePlan, ToolError> {
        match target {
            RestoreTarget::Undo { workspace, turns } => self.plan_undo(workspace, turns),
            RestoreTarget::Redo { workspace } => self.plan_redo(workspace),
            RestoreTarget::Restore { checkpoint, paths } => self.plan_restore(checkpoint, paths),
        }
    }

    fn plan_undo(&self, workspace: &Path, turns: usize) -> Result<RestorePlan, ToolError> {
        let (past, all) = self.load_history(workspace)?;
        let halfway = &InterruptedRestores::from_checkpoints(&all);
        if let Some(redo) = interrupted_redo(&all) {
            if turns > 1 {
                return Err(redo_first_error());
            }
            let kind = CheckpointKind::Redo(redo.id().to_owned());
            let matter = PlanSubject { kind, workspace, history: past, interrupted: halfway };
            return self.plan_for(matter, &[redo], &|_| true);
        }
        let done = UndoStack::from_checkpoints(&all).undoable;
        // Turns interrupted before any change are undone together with the next
        // one.
        let (mut chosen, mut ids): (Vec<&CheckpointManifest>, Vec<String>) = Default::default();
        for turn in done.iter().filter_map(|at| all.get(*at)) {
            if chosen.len() >= turns.max(1) {
                break;
            }
            ids.push(turn.id().to_owned());
            if !Self::is_empty_turn(turn) {
                chosen.push(turn);
            }
        }
        let oldest = chosen.iter().map(|m| m.at_nanos()).min();
        let mut damaged = self.damaged_since(workspace, oldest.unwrap_or(i64::MIN), &all)?;
        damaged.extend(self.unrecoverable_among(&chosen));
        if chosen.is_empty() && !damaged.is_empty() {
            return Err(damage_error(&damaged, None).with_hint("There is no other turn to undo."));
        }
        if chosen.is_empty() {
            return Err(ToolError::not_found(format!(
                "Nothing to undo in {}",
                workspace.display()
            ))
            .with_hint("`hermes checkpoints list --all` shows changes in other workspaces."));
        }
        let kind = CheckpointKind::Undo(ids);
        let oldest_first: Vec<&CheckpointManifest> = chosen.into_iter().rev().collect();
        let matter = PlanSubject { kind, workspace, history: past, interrupted: halfway };
        Ok(RestorePlan { damaged, ..self.plan_for(matter, &oldest_first, &|_| true)? })
    }

    /// Whether a turn changed nothing, or all that it deleted exists again.
    fn is_empty_turn(turn: &CheckpointManifest) -> bool {
        let has_changed = turn.changes().next().is_some() || turn.missing_paths().next().is_some();
        *turn.kind() == CheckpointKind::Turn && !turn.is_lost && !has_changed
    }

    fn plan_redo(&self, workspace: &Path) -> Result<RestorePlan, ToolError> {
        let (past, all) = self.load_history(workspace)?;
        let undone = UndoStack::from_checkpoints(&all).redoable;
        let Some(undo) = undone.first().and_then(|at| all.get(*at)) else {
            return Err(ToolError::not_found(format!(
                "Nothing to redo in {}",
                workspace.display()
            ))
            .with_hint("An undo can be reverted until the next turn changes something."));
        };
        let kind = CheckpointKind::Redo(undo.id().to_owned());
        let damaged = self.damaged_since(workspace, undo.at_nanos(), &all)?;
        let matter = PlanSubject {
            kind,
            workspace,
            history: past,
            interrupted: &InterruptedRestores::from_checkpoints(&all),
        };
        Ok(RestorePlan { damaged, ..self.plan_for(matter, &[undo], &|_| true)? })
    }

    fn plan_restore(&self, checkpoint: &str, paths: &[PathBuf]) -> Result<RestorePlan, ToolError> {
        let wanted = self.find(checkpoint)?;
        let workspace = wanted.workspace();
        let (past, all) = self.load_history(workspace)?;
        let halfway = &InterruptedRestores::from_checkpoints(&all);
        // Interrupted operations are resumed or have not taken effect.
        let counts = |m: &&CheckpointManifest| !m.is_interrupted() || m.id() == wanted.id();
        let since = all.iter().filter(|m| m.at_nanos() >= wanted.at_nanos()).filter(counts);
        let since: Vec<&CheckpointManifest> = since.collect();
        let is_chosen =
            |path: &Path| paths.is_empty() || paths.iter().any(|chosen| path.starts_with(chosen));
        let kind = CheckpointKind::Restore(wanted.id().to_owned());
        let matter = PlanSubject { kind, workspace, history: past, interrupted: halfway };
        let mut plan = self.plan_for(matter, &since, &is_chosen)?;
        let touched = |path: &Path| since.iter().any(|m| m.changes.contains_key(path));
        // Paths that no turn changed are restored on explicit request.
        for (path, state) in self.tree_states(&wanted, paths) {
            if !touched(&path) {
                plan.push(self.plan_path(&path, &StateSpan::unchanged(&state), halfway));
            }
        }
        let is_known = |path: &PathBuf| {
            plan.steps.iter().any(|step| step.path.starts_with(path))
                || since.iter().any(|m| m.changes.keys().any(|known| known.starts_with(path)))
                || self.tree_states(&wanted, std::slice::from_ref(path)).next().is_some()
        };
        if let Some(unknown) = paths.iter().find(|path| !is_known(path)) {
            return Err(ToolError::not_found(format!(
                "Checkpoint {} has no record of {}",
                wanted.id(),
                unknown.display()
            ))
            .with_hint(format!("`hermes checkpoints show {}` lists its files.", wanted.id())));
        }
        // Damaged checkpoints may hide further changes since.
        plan.damaged = self.damaged_since(workspace, wanted.at_nanos(), &all)?;
        plan.damaged.extend(self.unrecoverable_among(&since));
        Ok(plan)
    }

    /// Yields the states of these paths, and everything below, in the trees of
    /// a checkpoint.
    fn tree_states<'a>(
        &'a self,
        manifest: &'a CheckpointManifest,
        paths: &'a [PathBuf],
    ) -> impl Iterator<Item = (PathBuf, SavedState)> + 'a {
        let trees = manifest.trees.iter().take(if paths.is_empty() { 0 } else { 1 });
        trees.flat_map(move |tree| {
            let listing = TreeListing::load(&self.objects, tree.listing).unwrap_or_default();
            listing.entries.into_iter().filter_map(move |(path, leaf)| {
                let path = tree.root.join(path);
                paths.iter().any(|chosen| path.starts_with(chosen)).then_some((path, leaf.state))
            })
        })
    }

    /// Returns the state of a path at a checkpoint, if known.
    pub fn state_at(
        &self,
        manifest: &CheckpointManifest,
        path: &Path,
    ) -> Result<Option<SavedState>, ToolError> {
        let all = self.checkpoints(manifest.workspace())?;
        let since = all.iter().filter(|m| m.at_nanos() >= manifest.at_nanos());
        if let Some(change) = since.into_iter().find_map(|m| m.changes.get(path)) {
            return Ok(Some(change.before.clone()));
        }
        let paths = [path.to_path_buf()];
        let found = self.tree_states(manifest, &paths).find(|(found, _)| found == path);
        Ok(found.map(|(_, state)| state))
    }

    fn plan_for(
        &self,
        matter: PlanSubject<'_>,
        checkpoints: &[&CheckpointManifest],
        is_chosen: &dyn Fn(&Path) -> bool,
    ) -> Result<RestorePlan, ToolError> {
        let PlanSubject { kind, workspace, history: past, interrupted: halfway } = matter;
        let mut spans: BTreeMap<&Path, StateSpan<'_>> = BTreeMap::new();
        for manifest in checkpoints {
            for (path, change) in &manifest.changes {
                if !is_chosen(path) {
                    continue;
                }
                let last = change.after.as_ref();
                let carried = match last {
                    Some(last) => last.attribute_differences(&change.before),
                    // The result was never recorded.
                    None => AttributeMask::ALL,
                };
                spans
                    .entry(path)
                    .and_modify(|span| {
                        let joins = span.last.is_none_or(|last| last.is_same(&change.before))
                            || halfway.could_have_left(path, &change.before);
                        span.is_unbroken &= joins && !change.is_interleaved;
                        span.last = last;
                        span.attributes = span.attributes.union(carried);
                    })
                    .or_insert(StateSpan {
                        first: &change.before,
                        last,
                        is_unbroken: !change.is_interleaved,
                        attributes: carried,
                    });
            }
        }
        let paths: Vec<&Path> = spans.keys().copied().collect();
        for (above, made) in paths.into_iter().flat_map(|path| halfway.created_parents(path)) {
            spans.entry(above).or_insert(StateSpan::unchanged(made));
        }
        let missing =
            checkpoints.iter().flat_map(|m| m.missing_paths()).filter(|path| is_chosen(path));
        let missing: BTreeSet<PathBuf> = missing.map(Path::to_path_buf).collect();
        let missing = missing.into_iter().collect();
        let turns = checkpoints.iter().map(|m| m.info()).collect();
        let checkpoints = checkpoints.iter().map(|m| m.id().to_owned()).collect();
        let (workspace, damaged) = (workspace.to_path_buf(), Vec::new());
        let (steps, back) = (Vec::new(), Vec::new());
        let mut plan = RestorePlan {
            kind,
            workspace,
            checkpoints,
            steps,
            missing,
            turns,
            damaged,
            already_done: back,
            history: past,
        };
        spans.iter().for_each(|(path, span)| plan.push(self.plan_path(path, span, halfway)));
        mark_link_obstacles(&mut plan.steps);
        Ok(plan)
    }

    /// Plans the change of one path; `None` if it is in its target state.
    fn plan_path(
        &self,
        path: &Path,
        span: &StateSpan<'_>,
        halfway: &InterruptedRestores<'_>,
    ) -> Option<PlannedPath> {
        let to = span.first.clone();
        let mut capture = FileCapture::inspecting(self.limits);
        let Ok(from) = capture.state_since(path, span.last.unwrap_or(&to)) else {
            let obstacle =
                RestoreObstacle { reason: ObstacleReason::Unreadable, can_be_forced: false };
            let (path, from, carried) = (path.to_path_buf(), SavedState::Absent, span.attributes);
            let (obstacle, begun) = (Some(obstacle), None);
            return Some(PlannedPath::Pending(RestoreStep {
                path,
                from,
                to,
                attributes: carried,
                obstacle,
                resumed_from: begun,
            }));
        };
        let way = halfway.step_at(path).filter(|way| way.could_produce(&from, &to));
        // Reverting an interrupted operation saves the current state instead.
        let begun = way.map(|way| way.from).filter(|begun| !begun.is_same(&to)).cloned();
        let is_as_wanted = |now: &SavedState| {
            now.is_same(&to)
                && now.attribute_differences(&to).intersection(span.attributes)
                    == AttributeMask::default()
        };
        let settled = is_as_wanted(&from)
            || matches!(capture.state_since(path, &to), Ok(now) if is_as_wanted(&now));
        let (path, carried) = (path.to_path_buf(), span.attributes);
        if settled {
            let back = RestoreStep {
                path,
                from,
                to,
                attributes: carried,
                obstacle: None,
                resumed_from: begun,
            };
            return way.map(|_| PlannedPath::Done(back));
        }
        let why = self.find_obstacle(&from, &to, span, way);
        let obstacle =
            why.map(|why| RestoreObstacle { reason: why, can_be_forced: why.can_be_forced() });
        Some(PlannedPath::Pending(RestoreStep {
            path,
            from,
            to,
            attributes: carried,
            obstacle,
            resumed_from: begun,
        }))
    }

    fn find_obstacle(
        &self,
        from: &SavedState,
        to: &SavedState,
        span: &StateSpan<'_>,
        way: Option<InterruptedStep<'_>>,
    ) -> Option<ObstacleReason> {
        if let SavedState::Unkept { why, .. } = to {
            return Some(ObstacleReason::NotKept(*why));
        }
        if !self.is_intact(to) {
            return Some(ObstacleReason::Lost);
        }
        let unkept = from.unsaved_reason().map(ObstacleReason::CannotBeKept);
        // An interrupted operation of ours left this state.
        if way.is_some() {
            return unkept;
        }
        let Some(last) = span.last else { return Some(ObstacleReason::CutOff) };
        if !span.is_unbroken {
            return Some(ObstacleReason::ChangedBetween);
        }
        // A directory was replaced by a file or vice versa, and neither exists
        // now: nothing is lost.
        let is_gone = *from == SavedState::Absent && last.is_dir() != to.is_dir();
        // Only attributes that the turns changed would be overwritten.
        let others = from.attribute_differences(last).intersection(span.attributes);
        let is_theirs = from.is_same(last) && others == AttributeMask::default();
        // Restoring a directory loses nothing, since only empty ones are
        // removed. One that stays may have had its access restricted since.
        let is_closed = to.is_dir() && others.attributes;
        let are_folders = from.is_dir() && last.is_dir() && !is_closed;
        if !is_theirs && !are_folders && !is_gone {
            Some(ObstacleReason::ChangedSince)
        } else {
            unkept
        }
    }
}

/// Returns the last operation if it is an interrupted redo: until it is
/// completed or reverted, no earlier turn can be undone.
fn interrupted_redo(all: &[CheckpointManifest]) -> Option<&CheckpointManifest> {
    let of = |redo: &CheckpointManifest| match redo.kind() {
        CheckpointKind::Redo(other) if redo.is_interrupted() => {
            all.iter().find(|m| m.id() == other)
        }
        _ => None,
    };
    let last = all.last()?;
    match of(last)? {
        // Its reversal was interrupted as well.
        other if of(other).is_some() => Some(other),
        // The undo was interrupted too, so the turn was never undone.
        other if other.is_interrupted() => None,
        _ => Some(last),
    }
}

fn redo_first_error() -> ToolError {
    ToolError::conflict("Nothing was changed. An earlier redo was interrupted")
        .with_hint("`hermes redo` resumes it, `hermes undo` reverts it.")
}

/// Blocks steps below a symlink, unless the plan replaces that symlink.
fn mark_link_obstacles(steps: &mut [RestoreStep]) {
    let going: BTreeSet<PathBuf> = steps.iter().map(|step| step.path.clone()).collect();
    let mut links: BTreeMap<PathBuf, bool> = BTreeMap::new();
    for step in steps.iter_mut().filter(|step| step.to != SavedState::Absent) {
        let mut above = step.path.ancestors().skip(1);
        let is_barred = above.any(|dir| {
            let is_link = *links
                .entry(dir.to_path_buf())
                .or_insert_with(|| dir.symlink_metadata().is_ok_and(|found| found.is_symlink()));
            is_link && !going.contains(dir)
        });
        if is_barred {
            step.obstacle = Some(RestoreObstacle {
                reason: ObstacleReason::LinkOnTheWay,
                can_be_forced: false,
            });
        }
    }
}
