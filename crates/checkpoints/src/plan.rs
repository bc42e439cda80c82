//! What it would take to bring files back, and what stands in the way.

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

/// What is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestoreTarget<'a> {
    /// The last turns of a workspace undone.
    Undo {
        /// The workspace.
        workspace: &'a Path,
        /// How many turns.
        turns: usize,
    },
    /// The last undo of a workspace taken back.
    Redo {
        /// The workspace.
        workspace: &'a Path,
    },
    /// Files as they were at a checkpoint.
    Restore {
        /// Its name.
        checkpoint: &'a str,
        /// These files, and what is below these folders; everything that was
        /// changed since if there are none.
        paths: &'a [PathBuf],
    },
}

impl RestoreTarget<'_> {
    /// The command that does it.
    pub fn command_name(&self) -> &'static str {
        match self {
            Self::Undo { .. } => "undo",
            Self::Redo { .. } => "redo",
            Self::Restore { .. } => "restore",
        }
    }
}

/// What would be done.
#[derive(Debug, Clone)]
pub struct RestorePlan {
    /// What it is called in the list of checkpoints.
    pub kind: CheckpointKind,
    /// Where.
    pub workspace: PathBuf,
    /// The checkpoints that it is about, the oldest first.
    pub checkpoints: Vec<String>,
    /// Path by path. Files that are already as wanted are not named.
    pub steps: Vec<RestoreStep>,
    /// What the turns have deleted that git ignores and nobody kept: it does
    /// not come back.
    pub missing: Vec<PathBuf>,
    /// The turns that it is about, in brief, the oldest first.
    pub turns: Vec<CheckpointSummary>,
    /// Checkpoints that it goes past, since they cannot be read.
    pub damaged: Vec<DamagedCheckpoint>,
    /// What is as wanted, of what was begun before and cut off.
    pub(crate) already_done: Vec<RestoreStep>,
    /// What it was made from.
    pub(crate) history: WorkspaceHistory,
}

/// What was done in a workspace up to a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WorkspaceHistory {
    logs: Vec<PathBuf>,
    /// Those that did not get to their end, or have not yet.
    interrupted: Vec<String>,
}

impl WorkspaceHistory {
    /// From a workspace's logs and the checkpoints that were read from them.
    pub(crate) fn new(logs: Vec<PathBuf>, all: &[CheckpointManifest]) -> Self {
        let mut interrupted: Vec<String> =
            all.iter().filter(|m| m.is_interrupted()).map(|m| m.id().to_owned()).collect();
        interrupted.sort();
        Self { logs, interrupted }
    }
}

/// What would be done with one path.
#[derive(Debug, Clone)]
pub struct RestoreStep {
    /// Where.
    pub path: PathBuf,
    /// What is there.
    pub from: SavedState,
    /// What will be there.
    pub to: SavedState,
    /// What of it besides content and mode has to come back as well, since the
    /// turns have changed it. The rest is as it is now, whoever changed it.
    pub attributes: AttributeMask,
    /// What stands in the way.
    pub obstacle: Option<RestoreObstacle>,
    /// What was there when the same was begun before, and cut off.
    pub(crate) resumed_from: Option<SavedState>,
}

/// What stands in the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RestoreObstacle {
    /// What it is.
    pub reason: ObstacleReason,
    /// Whether it can be done nevertheless.
    pub can_be_forced: bool,
}

/// Why a path is not simply brought back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObstacleReason {
    /// Somebody else has changed it since.
    ChangedSince,
    /// Somebody else has changed it between two of the turns.
    ChangedBetween,
    /// The turn was cut off, so nobody knows what it left.
    CutOff,
    /// What was there was not kept.
    NotKept(UnsavedReason),
    /// What was kept is gone or damaged.
    Lost,
    /// What is there now cannot be kept, so this could not be undone.
    CannotBeKept(UnsavedReason),
    /// There is a link on the way to it now.
    LinkOnTheWay,
    /// It cannot be looked at.
    Unreadable,
}

impl ObstacleReason {
    /// The reason in words.
    pub fn describe(self) -> String {
        match self {
            Self::ChangedSince => "it was changed since".into(),
            Self::ChangedBetween => "somebody else has changed it in between".into(),
            Self::CutOff => "the turn was cut off, so it is not known what it left".into(),
            Self::NotKept(why) => format!("it was not kept: {}", why.describe()),
            Self::Lost => "what was kept of it is gone or damaged".into(),
            Self::CannotBeKept(why) => {
                format!("what is there now would be lost for good: {}", why.describe())
            }
            Self::LinkOnTheWay => "there is a link on the way to it".into(),
            Self::Unreadable => "it cannot be looked at".into(),
        }
    }

    fn can_be_forced(self) -> bool {
        !matches!(self, Self::NotKept(_) | Self::Lost | Self::LinkOnTheWay | Self::Unreadable)
    }
}

impl RestoreStep {
    /// Why what is there now would be lost for good, if it would be.
    pub fn loss_reason(&self) -> Option<UnsavedReason> {
        let can_be_done = self.obstacle.is_none_or(|obstacle| obstacle.can_be_forced);
        self.from.unsaved_reason().filter(|_| can_be_done)
    }

    /// What stands in the way, in words.
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
    /// The steps that something stands in the way of.
    pub fn obstacles(&self) -> impl Iterator<Item = (&RestoreStep, RestoreObstacle)> {
        self.steps.iter().filter_map(|step| Some((step, step.obstacle?)))
    }

    /// Whether a part of it was done before it was cut off.
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

/// A path that is not as it was when the plan was first carried out.
enum PlannedPath {
    /// It is to be brought back.
    Pending(RestoreStep),
    /// It is as wanted: what was cut off has brought it back already, or not
    /// yet begun with it.
    Done(RestoreStep),
}

/// What a plan is about.
struct PlanSubject<'a> {
    kind: CheckpointKind,
    workspace: &'a Path,
    history: WorkspaceHistory,
    interrupted: &'a InterruptedRestores<'a>,
}

/// What several checkpoints together say of a path.
struct StateSpan<'a> {
    /// Before the first of them.
    first: &'a SavedState,
    /// After the last.
    last: Option<&'a SavedState>,
    /// Each began where the one before it ended.
    is_unbroken: bool,
    /// What they have changed besides content and mode.
    attributes: AttributeMask,
}

impl<'a> StateSpan<'a> {
    /// What none of the checkpoints has touched.
    fn unchanged(state: &'a SavedState) -> Self {
        let (first, carried) = (state, AttributeMask::default());
        Self { first, last: Some(state), is_unbroken: true, attributes: carried }
    }
}

impl CheckpointStore {
    /// The past and the checkpoints of a workspace. What comes after the logs
    /// were listed is found when the plan is carried out.
    fn load_history(
        &self,
        workspace: &Path,
    ) -> Result<(WorkspaceHistory, Vec<CheckpointManifest>), ToolError> {
        let folder = self.workspace_dir(workspace);
        let there = logs(&folder).map_err(|error| self.io_error("list", &folder, &error))?;
        let all = self.checkpoints(workspace)?;
        Ok((WorkspaceHistory::new(there, &all), all))
    }

    /// What it would take to get there. Nothing is changed.
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
        // What was cut off before it changed anything goes with the next one.
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
            return Err(damage_error(&damaged, None).with_hint("No other turn is left to undo."));
        }
        if chosen.is_empty() {
            return Err(ToolError::not_found(format!(
                "Nothing is left to undo in {}",
                workspace.display()
            ))
            .with_hint("`hermes checkpoints list --all` shows what was changed elsewhere."));
        }
        let kind = CheckpointKind::Undo(ids);
        let oldest_first: Vec<&CheckpointManifest> = chosen.into_iter().rev().collect();
        let matter = PlanSubject { kind, workspace, history: past, interrupted: halfway };
        Ok(RestorePlan { damaged, ..self.plan_for(matter, &oldest_first, &|_| true)? })
    }

    /// Whether a turn was cut off before it had changed anything, or what it
    /// had deleted is there again.
    fn is_empty_turn(turn: &CheckpointManifest) -> bool {
        let has_changed = turn.changes().next().is_some() || turn.missing_paths().next().is_some();
        *turn.kind() == CheckpointKind::Turn && !turn.is_lost && !has_changed
    }

    fn plan_redo(&self, workspace: &Path) -> Result<RestorePlan, ToolError> {
        let (past, all) = self.load_history(workspace)?;
        let undone = UndoStack::from_checkpoints(&all).redoable;
        let Some(undo) = undone.first().and_then(|at| all.get(*at)) else {
            return Err(ToolError::not_found(format!(
                "Nothing is left to redo in {}",
                workspace.display()
            ))
            .with_hint("An undo can be taken back until the next turn changes something."));
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
        // What was cut off goes on, or is still to be done.
        let counts = |m: &&CheckpointManifest| !m.is_interrupted() || m.id() == wanted.id();
        let since = all.iter().filter(|m| m.at_nanos() >= wanted.at_nanos()).filter(counts);
        let since: Vec<&CheckpointManifest> = since.collect();
        let is_chosen =
            |path: &Path| paths.is_empty() || paths.iter().any(|chosen| path.starts_with(chosen));
        let kind = CheckpointKind::Restore(wanted.id().to_owned());
        let matter = PlanSubject { kind, workspace, history: past, interrupted: halfway };
        let mut plan = self.plan_for(matter, &since, &is_chosen)?;
        let touched = |path: &Path| since.iter().any(|m| m.changes.contains_key(path));
        // What nobody of ours has touched is brought back if it is asked for.
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
                "Checkpoint {} knows nothing of {}",
                wanted.id(),
                unknown.display()
            ))
            .with_hint(format!("`hermes checkpoints show {}` lists what it knows.", wanted.id())));
        }
        // Nobody knows what else happened since.
        plan.damaged = self.damaged_since(workspace, wanted.at_nanos(), &all)?;
        plan.damaged.extend(self.unrecoverable_among(&since));
        Ok(plan)
    }

    /// What the trees of a checkpoint say of these paths and what is below.
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

    /// What was at a path when a checkpoint was made, as far as it is known.
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
                    // Nobody has seen what it left.
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

    /// What is to be done with one path; none if it is as wanted.
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
        // Who takes back what was cut off keeps what is there now.
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
        // Nobody but us has left it like this.
        if way.is_some() {
            return unkept;
        }
        let Some(last) = span.last else { return Some(ObstacleReason::CutOff) };
        if !span.is_unbroken {
            return Some(ObstacleReason::ChangedBetween);
        }
        // Where a folder gave way to a file, or a file to a folder, and nothing
        // is by now, nothing is lost.
        let is_gone = *from == SavedState::Absent && last.is_dir() != to.is_dir();
        // Only what the turns have changed themselves would be overwritten.
        let others = from.attribute_differences(last).intersection(span.attributes);
        let is_theirs = from.is_same(last) && others == AttributeMask::default();
        // A folder loses nothing, since it goes only when it is empty; one that
        // stays may have been closed to somebody.
        let is_closed = to.is_dir() && others.attributes;
        let are_folders = from.is_dir() && last.is_dir() && !is_closed;
        if !is_theirs && !are_folders && !is_gone {
            Some(ObstacleReason::ChangedSince)
        } else {
            unkept
        }
    }
}

/// A redo that was cut off, if it was the last that was done: until it is
/// through or taken back, no turn before it can be undone.
fn interrupted_redo(all: &[CheckpointManifest]) -> Option<&CheckpointManifest> {
    let of = |redo: &CheckpointManifest| match redo.kind() {
        CheckpointKind::Redo(other) if redo.is_interrupted() => {
            all.iter().find(|m| m.id() == other)
        }
        _ => None,
    };
    let last = all.last()?;
    match of(last)? {
        // Taking it back was cut off as well.
        other if of(other).is_some() => Some(other),
        // So was the undo: the turn was not undone in the first place.
        other if other.is_interrupted() => None,
        _ => Some(last),
    }
}

fn redo_first_error() -> ToolError {
    ToolError::conflict("Nothing was changed. A redo was cut off before this")
        .with_hint("`hermes redo` goes on with it, `hermes undo` takes it back.")
}

/// Nothing is brought back by way of a link, unless the link itself gives way.
fn mark_link_obstacles(steps: &mut [RestoreStep]) {
    let going: BTreeSet<PathBuf> = steps.iter().map(|step| step.path.clone()).collect();
    let mut links: BTreeMap<PathBuf, bool> = BTreeMap::new();
    for step in steps.iter_mut().filter(|step| step.to != SavedState::Absent) {
        let mut above = step.path.ancestors().skip(1);
        let is_barred = above.any(|folder| {
            let is_link = *links
                .entry(folder.to_path_buf())
                .or_insert_with(|| folder.symlink_metadata().is_ok_and(|found| found.is_symlink()));
            is_link && !going.contains(folder)
        });
        if is_barred {
            step.obstacle = Some(RestoreObstacle {
                reason: ObstacleReason::LinkOnTheWay,
                can_be_forced: false,
            });
        }
    }
}
