//! What it would take to bring files back, and what stands in the way.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use hermes_core::{CheckpointSummary, ToolError};

use crate::capture::Capture;
use crate::damage::{Damaged, refusal};
use crate::halfway::{Halfway, Way};
use crate::history::{Kind, Undoable};
use crate::manifest::Manifest;
use crate::state::{Carried, State, Unkept};
use crate::store::{Store, logs};
use crate::tree::Listing;

/// What is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target<'a> {
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

impl Target<'_> {
    /// The command that does it.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Undo { .. } => "undo",
            Self::Redo { .. } => "redo",
            Self::Restore { .. } => "restore",
        }
    }
}

/// What would be done.
#[derive(Debug, Clone)]
pub struct Plan {
    /// What it is called in the list of checkpoints.
    pub kind: Kind,
    /// Where.
    pub workspace: PathBuf,
    /// The checkpoints that it is about, the oldest first.
    pub checkpoints: Vec<String>,
    /// Path by path. Files that are already as wanted are not named.
    pub steps: Vec<Step>,
    /// What the turns have deleted that git ignores and nobody kept: it does
    /// not come back.
    pub missing: Vec<PathBuf>,
    /// The turns that it is about, in brief, the oldest first.
    pub turns: Vec<CheckpointSummary>,
    /// Checkpoints that it goes past, since they cannot be read.
    pub damaged: Vec<Damaged>,
    /// What is as wanted, of what was begun before and cut off.
    pub(crate) back: Vec<Step>,
    /// What it was made from.
    pub(crate) past: Past,
}

/// What was done in a workspace up to a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Past {
    logs: Vec<PathBuf>,
    /// Those that did not get to their end, or have not yet.
    interrupted: Vec<String>,
}

impl Past {
    /// From a workspace's logs and the checkpoints that were read from them.
    pub(crate) fn of(logs: Vec<PathBuf>, all: &[Manifest]) -> Self {
        let mut interrupted: Vec<String> =
            all.iter().filter(|m| m.is_interrupted()).map(|m| m.id().to_owned()).collect();
        interrupted.sort();
        Self { logs, interrupted }
    }
}

/// What would be done with one path.
#[derive(Debug, Clone)]
pub struct Step {
    /// Where.
    pub path: PathBuf,
    /// What is there.
    pub from: State,
    /// What will be there.
    pub to: State,
    /// What of it besides content and mode has to come back as well, since the
    /// turns have changed it. The rest is as it is now, whoever changed it.
    pub carried: Carried,
    /// What stands in the way.
    pub obstacle: Option<Obstacle>,
    /// What was there when the same was begun before, and cut off.
    pub(crate) begun: Option<State>,
}

/// What stands in the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Obstacle {
    /// What it is.
    pub why: Why,
    /// Whether it can be done nevertheless.
    pub can_be_forced: bool,
}

/// Why a path is not simply brought back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// Somebody else has changed it since.
    ChangedSince,
    /// Somebody else has changed it between two of the turns.
    ChangedBetween,
    /// The turn was cut off, so nobody knows what it left.
    CutOff,
    /// What was there was not kept.
    NotKept(Unkept),
    /// What was kept is gone or damaged.
    Lost,
    /// What is there now cannot be kept, so this could not be undone.
    CannotBeKept(Unkept),
    /// There is a link on the way to it now.
    LinkOnTheWay,
    /// It cannot be looked at.
    Unreadable,
}

impl Why {
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

impl Step {
    /// Why what is there now would be lost for good, if it would be.
    pub fn loses(&self) -> Option<Unkept> {
        let can_be_done = self.obstacle.is_none_or(|obstacle| obstacle.can_be_forced);
        self.from.why_unkept().filter(|_| can_be_done)
    }

    /// What stands in the way, in words.
    pub fn describe_obstacle(&self) -> Option<String> {
        let why = self.obstacle?.why;
        Some(match self.loses() {
            Some(unkept) if !matches!(why, Why::CannotBeKept(_)) => {
                format!("{}, and {}", why.describe(), Why::CannotBeKept(unkept).describe())
            }
            _ => why.describe(),
        })
    }
}

impl Plan {
    /// The steps that something stands in the way of.
    pub fn obstacles(&self) -> impl Iterator<Item = (&Step, Obstacle)> {
        self.steps.iter().filter_map(|step| Some((step, step.obstacle?)))
    }

    /// Whether a part of it was done before it was cut off.
    pub(crate) fn is_resumed(&self) -> bool {
        let is_moved = |step: &Step| step.begun.as_ref().is_some_and(|b| !b.is_same(&step.from));
        self.back.iter().chain(&self.steps).any(is_moved)
    }

    fn add(&mut self, seen: Option<Sighted>) {
        match seen {
            Some(Sighted::Ahead(step)) => self.steps.push(step),
            Some(Sighted::Back(step)) => self.back.push(step),
            None => {}
        }
    }
}

/// A path that is not as it was when the plan was first carried out.
enum Sighted {
    /// It is to be brought back.
    Ahead(Step),
    /// It is as wanted: what was cut off has brought it back already, or not
    /// yet begun with it.
    Back(Step),
}

/// What a plan is about.
struct Matter<'a> {
    kind: Kind,
    workspace: &'a Path,
    past: Past,
    halfway: &'a Halfway<'a>,
}

/// What several checkpoints together say of a path.
struct Span<'a> {
    /// Before the first of them.
    first: &'a State,
    /// After the last.
    last: Option<&'a State>,
    /// Each began where the one before it ended.
    is_unbroken: bool,
    /// What they have changed besides content and mode.
    carried: Carried,
}

impl<'a> Span<'a> {
    /// What none of the checkpoints has touched.
    fn left_alone(state: &'a State) -> Self {
        let (first, carried) = (state, Carried::default());
        Self { first, last: Some(state), is_unbroken: true, carried }
    }
}

impl Store {
    /// The past and the checkpoints of a workspace. What comes after the logs
    /// were listed is found when the plan is carried out.
    fn history(&self, workspace: &Path) -> Result<(Past, Vec<Manifest>), ToolError> {
        let folder = self.folder_of(workspace);
        let there = logs(&folder).map_err(|error| self.failed("list", &folder, &error))?;
        let all = self.checkpoints(workspace)?;
        Ok((Past::of(there, &all), all))
    }

    /// What it would take to get there. Nothing is changed.
    pub fn plan(&self, target: Target<'_>) -> Result<Plan, ToolError> {
        match target {
            Target::Undo { workspace, turns } => self.plan_undo(workspace, turns),
            Target::Redo { workspace } => self.plan_redo(workspace),
            Target::Restore { checkpoint, paths } => self.plan_restore(checkpoint, paths),
        }
    }

    fn plan_undo(&self, workspace: &Path, turns: usize) -> Result<Plan, ToolError> {
        let (past, all) = self.history(workspace)?;
        let halfway = &Halfway::of(&all);
        if let Some(redo) = redo_in_the_way(&all) {
            if turns > 1 {
                return Err(first_the_redo());
            }
            let kind = Kind::Redo(redo.id().to_owned());
            let matter = Matter { kind, workspace, past, halfway };
            return self.plan_for(matter, &[redo], &|_| true);
        }
        let done = Undoable::of(&all).done;
        // What was cut off before it changed anything goes with the next one.
        let (mut chosen, mut ids): (Vec<&Manifest>, Vec<String>) = Default::default();
        for turn in done.iter().filter_map(|at| all.get(*at)) {
            if chosen.len() >= turns.max(1) {
                break;
            }
            ids.push(turn.id().to_owned());
            if !Self::is_void(turn) {
                chosen.push(turn);
            }
        }
        let oldest = chosen.iter().map(|m| m.at()).min();
        let mut damaged = self.damaged_since(workspace, oldest.unwrap_or(i64::MIN), &all)?;
        damaged.extend(self.lost_among(&chosen));
        if chosen.is_empty() && !damaged.is_empty() {
            return Err(refusal(&damaged, None).with_hint("No other turn is left to undo."));
        }
        if chosen.is_empty() {
            return Err(ToolError::not_found(format!(
                "Nothing is left to undo in {}",
                workspace.display()
            ))
            .with_hint("`hermes checkpoints list --all` shows what was changed elsewhere."));
        }
        let kind = Kind::Undo(ids);
        let oldest_first: Vec<&Manifest> = chosen.into_iter().rev().collect();
        let matter = Matter { kind, workspace, past, halfway };
        Ok(Plan { damaged, ..self.plan_for(matter, &oldest_first, &|_| true)? })
    }

    /// Whether a turn was cut off before it had changed anything, or what it
    /// had deleted is there again.
    fn is_void(turn: &Manifest) -> bool {
        let has_changed = turn.changes().next().is_some() || turn.missing().next().is_some();
        *turn.kind() == Kind::Turn && !turn.is_lost && !has_changed
    }

    fn plan_redo(&self, workspace: &Path) -> Result<Plan, ToolError> {
        let (past, all) = self.history(workspace)?;
        let undone = Undoable::of(&all).undone;
        let Some(undo) = undone.first().and_then(|at| all.get(*at)) else {
            return Err(ToolError::not_found(format!(
                "Nothing is left to redo in {}",
                workspace.display()
            ))
            .with_hint("An undo can be taken back until the next turn changes something."));
        };
        let kind = Kind::Redo(undo.id().to_owned());
        let damaged = self.damaged_since(workspace, undo.at(), &all)?;
        let matter = Matter { kind, workspace, past, halfway: &Halfway::of(&all) };
        Ok(Plan { damaged, ..self.plan_for(matter, &[undo], &|_| true)? })
    }

    fn plan_restore(&self, checkpoint: &str, paths: &[PathBuf]) -> Result<Plan, ToolError> {
        let wanted = self.find(checkpoint)?;
        let workspace = wanted.workspace();
        let (past, all) = self.history(workspace)?;
        let halfway = &Halfway::of(&all);
        // What was cut off goes on, or is still to be done.
        let counts = |m: &&Manifest| !m.is_interrupted() || m.id() == wanted.id();
        let since = all.iter().filter(|m| m.at() >= wanted.at()).filter(counts);
        let since: Vec<&Manifest> = since.collect();
        let is_chosen =
            |path: &Path| paths.is_empty() || paths.iter().any(|chosen| path.starts_with(chosen));
        let kind = Kind::Restore(wanted.id().to_owned());
        let matter = Matter { kind, workspace, past, halfway };
        let mut plan = self.plan_for(matter, &since, &is_chosen)?;
        let touched = |path: &Path| since.iter().any(|m| m.changes.contains_key(path));
        // What nobody of ours has touched is brought back if it is asked for.
        for (path, state) in self.tree_of(&wanted, paths) {
            if !touched(&path) {
                plan.add(self.step(&path, &Span::left_alone(&state), halfway));
            }
        }
        let is_known = |path: &PathBuf| {
            plan.steps.iter().any(|step| step.path.starts_with(path))
                || since.iter().any(|m| m.changes.keys().any(|known| known.starts_with(path)))
                || self.tree_of(&wanted, std::slice::from_ref(path)).next().is_some()
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
        plan.damaged = self.damaged_since(workspace, wanted.at(), &all)?;
        plan.damaged.extend(self.lost_among(&since));
        Ok(plan)
    }

    /// What the trees of a checkpoint say of these paths and what is below.
    fn tree_of<'a>(
        &'a self,
        manifest: &'a Manifest,
        paths: &'a [PathBuf],
    ) -> impl Iterator<Item = (PathBuf, State)> + 'a {
        let trees = manifest.trees.iter().take(if paths.is_empty() { 0 } else { 1 });
        trees.flat_map(move |tree| {
            let listing = Listing::load(&self.objects, tree.listing).unwrap_or_default();
            listing.entries.into_iter().filter_map(move |(path, leaf)| {
                let path = tree.root.join(path);
                paths.iter().any(|chosen| path.starts_with(chosen)).then_some((path, leaf.state))
            })
        })
    }

    /// What was at a path when a checkpoint was made, as far as it is known.
    pub fn state_at(&self, manifest: &Manifest, path: &Path) -> Result<Option<State>, ToolError> {
        let all = self.checkpoints(manifest.workspace())?;
        let since = all.iter().filter(|m| m.at() >= manifest.at());
        if let Some(change) = since.into_iter().find_map(|m| m.changes.get(path)) {
            return Ok(Some(change.before.clone()));
        }
        let paths = [path.to_path_buf()];
        let found = self.tree_of(manifest, &paths).find(|(found, _)| found == path);
        Ok(found.map(|(_, state)| state))
    }

    fn plan_for(
        &self,
        matter: Matter<'_>,
        checkpoints: &[&Manifest],
        is_chosen: &dyn Fn(&Path) -> bool,
    ) -> Result<Plan, ToolError> {
        let Matter { kind, workspace, past, halfway } = matter;
        let mut spans: BTreeMap<&Path, Span<'_>> = BTreeMap::new();
        for manifest in checkpoints {
            for (path, change) in &manifest.changes {
                if !is_chosen(path) {
                    continue;
                }
                let last = change.after.as_ref();
                let carried = match last {
                    Some(last) => last.differs_in(&change.before),
                    // Nobody has seen what it left.
                    None => Carried::ALL,
                };
                spans
                    .entry(path)
                    .and_modify(|span| {
                        let joins = span.last.is_none_or(|last| last.is_same(&change.before))
                            || halfway.may_have_left(path, &change.before);
                        span.is_unbroken &= joins && !change.is_broken;
                        span.last = last;
                        span.carried = span.carried.or(carried);
                    })
                    .or_insert(Span {
                        first: &change.before,
                        last,
                        is_unbroken: !change.is_broken,
                        carried,
                    });
            }
        }
        let paths: Vec<&Path> = spans.keys().copied().collect();
        for (above, made) in paths.into_iter().flat_map(|path| halfway.made_above(path)) {
            spans.entry(above).or_insert(Span::left_alone(made));
        }
        let missing = checkpoints.iter().flat_map(|m| m.missing()).filter(|path| is_chosen(path));
        let missing: BTreeSet<PathBuf> = missing.map(Path::to_path_buf).collect();
        let missing = missing.into_iter().collect();
        let turns = checkpoints.iter().map(|m| m.info()).collect();
        let checkpoints = checkpoints.iter().map(|m| m.id().to_owned()).collect();
        let (workspace, damaged) = (workspace.to_path_buf(), Vec::new());
        let (steps, back) = (Vec::new(), Vec::new());
        let mut plan =
            Plan { kind, workspace, checkpoints, steps, missing, turns, damaged, back, past };
        spans.iter().for_each(|(path, span)| plan.add(self.step(path, span, halfway)));
        mark_links(&mut plan.steps);
        Ok(plan)
    }

    /// What is to be done with one path; none if it is as wanted.
    fn step(&self, path: &Path, span: &Span<'_>, halfway: &Halfway<'_>) -> Option<Sighted> {
        let to = span.first.clone();
        let mut capture = Capture::looking(self.limits);
        let Ok(from) = capture.state_since(path, span.last.unwrap_or(&to)) else {
            let obstacle = Obstacle { why: Why::Unreadable, can_be_forced: false };
            let (path, from, carried) = (path.to_path_buf(), State::Absent, span.carried);
            let (obstacle, begun) = (Some(obstacle), None);
            return Some(Sighted::Ahead(Step { path, from, to, carried, obstacle, begun }));
        };
        let way = halfway.at(path).filter(|way| way.may_leave(&from, &to));
        // Who takes back what was cut off keeps what is there now.
        let begun = way.map(|way| way.from).filter(|begun| !begun.is_same(&to)).cloned();
        let is_as_wanted = |now: &State| {
            now.is_same(&to) && now.differs_in(&to).and(span.carried) == Carried::default()
        };
        let settled = is_as_wanted(&from)
            || matches!(capture.state_since(path, &to), Ok(now) if is_as_wanted(&now));
        let (path, carried) = (path.to_path_buf(), span.carried);
        if settled {
            let back = Step { path, from, to, carried, obstacle: None, begun };
            return way.map(|_| Sighted::Back(back));
        }
        let why = self.trouble(&from, &to, span, way);
        let obstacle = why.map(|why| Obstacle { why, can_be_forced: why.can_be_forced() });
        Some(Sighted::Ahead(Step { path, from, to, carried, obstacle, begun }))
    }

    fn trouble(
        &self,
        from: &State,
        to: &State,
        span: &Span<'_>,
        way: Option<Way<'_>>,
    ) -> Option<Why> {
        if let State::Unkept { why, .. } = to {
            return Some(Why::NotKept(*why));
        }
        if !self.is_sound(to) {
            return Some(Why::Lost);
        }
        let unkept = from.why_unkept().map(Why::CannotBeKept);
        // Nobody but us has left it like this.
        if way.is_some() {
            return unkept;
        }
        let Some(last) = span.last else { return Some(Why::CutOff) };
        if !span.is_unbroken {
            return Some(Why::ChangedBetween);
        }
        // Where a folder gave way to a file, or a file to a folder, and nothing
        // is by now, nothing is lost.
        let is_gone = *from == State::Absent && last.is_folder() != to.is_folder();
        // Only what the turns have changed themselves would be overwritten.
        let others = from.differs_in(last).and(span.carried);
        let is_theirs = from.is_same(last) && others == Carried::default();
        // A folder loses nothing, since it goes only when it is empty; one that
        // stays may have been closed to somebody.
        let is_closed = to.is_folder() && others.attributes;
        let are_folders = from.is_folder() && last.is_folder() && !is_closed;
        if !is_theirs && !are_folders && !is_gone { Some(Why::ChangedSince) } else { unkept }
    }
}

/// A redo that was cut off, if it was the last that was done: until it is
/// through or taken back, no turn before it can be undone.
fn redo_in_the_way(all: &[Manifest]) -> Option<&Manifest> {
    let of = |redo: &Manifest| match redo.kind() {
        Kind::Redo(other) if redo.is_interrupted() => all.iter().find(|m| m.id() == other),
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

fn first_the_redo() -> ToolError {
    ToolError::conflict("Nothing was changed. A redo was cut off before this")
        .with_hint("`hermes redo` goes on with it, `hermes undo` takes it back.")
}

/// Nothing is brought back by way of a link, unless the link itself gives way.
fn mark_links(steps: &mut [Step]) {
    let going: BTreeSet<PathBuf> = steps.iter().map(|step| step.path.clone()).collect();
    let mut links: BTreeMap<PathBuf, bool> = BTreeMap::new();
    for step in steps.iter_mut().filter(|step| step.to != State::Absent) {
        let mut above = step.path.ancestors().skip(1);
        let is_barred = above.any(|folder| {
            let is_link = *links
                .entry(folder.to_path_buf())
                .or_insert_with(|| folder.symlink_metadata().is_ok_and(|found| found.is_symlink()));
            is_link && !going.contains(folder)
        });
        if is_barred {
            step.obstacle = Some(Obstacle { why: Why::LinkOnTheWay, can_be_forced: false });
        }
    }
}
