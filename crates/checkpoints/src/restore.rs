//! Bringing files back. What is replaced is kept first, each file is replaced
//! as a whole, and what was cut off can be carried out again.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use hermes_core::{CheckpointId, ToolError};

use crate::capture::Capture;
use crate::damage::refusal;
use crate::halfway::{overtaken, remove_leftovers};
use crate::history::Kind;
use crate::likeness::Kept;
use crate::linked::Names;
use crate::manifest::{Line, Log, Manifest, Seen};
use crate::plan::{Past, Plan, Step};
use crate::prune::remove;
use crate::spot::Spot;
use crate::state::{Carried, State, Unkept};
use crate::store::{LOG, Store, id_of, lock_alone, logs, now};
use crate::turn::begin_log;
use crate::written::written;

/// The permission bits of a folder that had to be made to hold a file.
const FOLDER: u32 = 0o755;

/// What was done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Restored {
    /// The checkpoint with which it can be undone; none if nothing was done,
    /// and none for a redo, after which the turn itself can be undone again.
    pub checkpoint: Option<CheckpointId>,
    /// What was brought back.
    pub done: Vec<PathBuf>,
    /// What was left as it is, and why.
    pub left: Vec<(PathBuf, String)>,
    /// Whether something is among it that should have been brought back. A
    /// folder that holds something else by now is rightly left.
    pub is_partial: bool,
    /// What was replaced or removed although it could not be kept, and why: it
    /// is lost for good.
    pub lost: Vec<(PathBuf, Unkept)>,
    /// What was brought back without its owner, its group, these extended
    /// attributes or its other names.
    pub without: Vec<(PathBuf, Vec<String>)>,
}

impl Store {
    /// Carries a plan out. What stands in the way is an error, unless `force`
    /// is given: then what can be done is done.
    pub fn carry_out(&self, plan: &Plan, force: bool) -> Result<Restored, ToolError> {
        refuse(plan, force)?;
        let mut restored = Restored::default();
        let mut steps = Vec::new();
        for step in &plan.steps {
            match step.obstacle.filter(|obstacle| !obstacle.can_be_forced) {
                Some(obstacle) => {
                    restored.is_partial = true;
                    restored.left.push((step.path.clone(), obstacle.why.describe()));
                }
                None => steps.push(step),
            }
        }
        // An undo or a redo counts even if all files are as wanted already.
        let is_restore = matches!(plan.kind, Kind::Restore(_));
        if is_restore && steps.is_empty() && !plan.is_resumed() {
            return Ok(restored);
        }
        let folder = self.folder_of(&plan.workspace);
        let failed = |error: io::Error| self.failed("write in", &folder, &error);
        let _alone = lock_alone(&folder).map_err(failed)?;
        let there = logs(&folder).map_err(failed)?;
        let earlier = self.load(&folder)?;
        // Somebody may have done the same while this was planned.
        if Past::of(there, &earlier) != plan.past {
            return Err(outdated(plan));
        }
        earlier.iter().filter(|m| m.is_interrupted()).for_each(remove_leftovers);
        let (mut manifest, mut log) = self.keep(plan, &steps, force)?;
        // Files go before the folders that they are in, and come after them.
        steps.sort_by_key(|step| (phase(step), Depth::of(step)));
        self.take_all(plan, &steps, force, &mut restored)?;
        restored.lost = lost(&steps, &restored.done, &manifest);
        if restored.done.is_empty() && restored.is_partial && !plan.is_resumed() {
            // The turn stands as it stood.
            remove(&log.path).map_err(failed)?;
            return Err(stuck(&restored.left, &plan.kind));
        }
        self.dress_folders(&steps, &mut restored);
        for old in overtaken(&earlier, &manifest) {
            remove_log(&folder, old.id()).map_err(failed)?;
        }
        self.finish(&mut manifest, &mut log).map_err(failed)?;
        self.objects.add(log.take_added());
        restored.done.sort();
        if let Kind::Redo(undo) = &plan.kind {
            // Both together are nothing: the turn stands as it stood. The undo
            // goes first, since alone it would say that the turn is undone.
            remove_log(&folder, undo).map_err(failed)?;
            remove_log(&folder, manifest.id()).map_err(failed)?;
            return Ok(restored);
        }
        restored.checkpoint = Some(manifest.id().to_owned());
        // Everything is in place; what is to be cleared away can wait.
        let _ = logs(&folder).and_then(|there| self.tidy(&folder, there.len()));
        Ok(restored)
    }

    /// Writes down what became of the files, where it is not what was meant.
    fn finish(&self, manifest: &mut Manifest, log: &mut Log) -> io::Result<()> {
        let mut capture = Capture::looking(self.limits);
        let mut lines = Vec::new();
        for (path, change) in &manifest.changes {
            if let Ok(state) = capture.state(path)
                && change.after.as_ref() != Some(&state)
            {
                lines.push(Line::After(Seen { path: path.clone(), state }));
            }
        }
        lines.push(Line::Finished(true));
        log.write(&lines)?;
        lines.into_iter().for_each(|line| manifest.take(line));
        Ok(())
    }

    fn take_all(
        &self,
        plan: &Plan,
        steps: &[&Step],
        force: bool,
        restored: &mut Restored,
    ) -> Result<(), ToolError> {
        let mut names = Names::default();
        plan.back.iter().for_each(|step| names.know(&step.path, &step.to));
        for step in steps {
            match self.take(step, &mut names) {
                Ok(Taken::Done) => restored.done.push(step.path.clone()),
                Ok(Taken::Without(what)) => {
                    restored.done.push(step.path.clone());
                    restored.without.push((step.path.clone(), what));
                }
                Ok(Taken::Left(why)) => {
                    restored.is_partial = true;
                    restored.left.push((step.path.clone(), why.into()));
                }
                Ok(Taken::Stays(why)) => restored.left.push((step.path.clone(), why.into())),
                Err(error) if force => {
                    restored.is_partial = true;
                    restored.left.push((step.path.clone(), error.to_string()));
                }
                Err(error) => {
                    let what = format!("{} cannot be brought back", written(&step.path));
                    return Err(ToolError::io(what, &error)
                        .with("done", restored.done.len())
                        .with_hint("Remove the cause and run the same command again: it goes on where it stopped."));
                }
            }
        }
        names.tell(&mut restored.without);
        Ok(())
    }

    /// Keeps what is about to be replaced, and writes down what will be there:
    /// so that who is cut off can be told from somebody else.
    fn keep(
        &self,
        plan: &Plan,
        steps: &[&Step],
        force: bool,
    ) -> Result<(Manifest, Log), ToolError> {
        let folder = self.folder_of(&plan.workspace);
        let failed = |error: io::Error| self.failed("write in", &folder, &error);
        let _shared = self.share().map_err(failed)?;
        let mut capture = Capture::keeping(&self.objects, self.limits);
        let mut lines = Vec::new();
        let mut note = |path: &Path, before: State, after: State| {
            let path = path.to_path_buf();
            lines.push(Line::Before(Seen { path: path.clone(), state: before }));
            lines.push(Line::After(Seen { path, state: after }));
        };
        let mut told: BTreeSet<PathBuf> = steps.iter().map(|step| step.path.clone()).collect();
        for step in steps {
            for above in missing(&step.path) {
                if told.insert(above.clone()) {
                    note(&above, State::Absent, made_on_the_way());
                }
            }
            let now = self.keep_one(step, &mut capture, force)?;
            note(&step.path, step.begun.clone().unwrap_or(now), step.to.clone());
        }
        for (step, begun) in plan.back.iter().filter_map(|step| Some((step, step.begun.clone()?))) {
            note(&step.path, begun, step.to.clone());
        }
        let at = now();
        let turn = format!("{}-{at}-{}", plan.kind.word().unwrap_or("turn"), std::process::id());
        let id = id_of("", &turn, &plan.workspace);
        let (workspace, kind) = (plan.workspace.clone(), plan.kind.clone());
        let mut manifest = Manifest::new(id, workspace, "", &turn, kind, at);
        let log = begin_log(self, &manifest.head, &lines).map_err(failed)?;
        lines.into_iter().for_each(|line| manifest.take(line));
        Ok((manifest, log))
    }

    /// Keeps what a step replaces; it must be what was planned for.
    fn keep_one(
        &self,
        step: &Step,
        capture: &mut Capture<'_>,
        force: bool,
    ) -> Result<State, ToolError> {
        let state = capture.state_since(&step.path, &step.from);
        let state = state.map_err(|error| ToolError::io(written(&step.path), &error))?;
        match state.why_unkept().filter(|_| step.from.why_unkept().is_none()) {
            // It could be read, but there is no room for it.
            Some(why) if !force => return Err(no_room(&step.path, why)),
            Some(_) => {
                let now = Capture::looking(self.limits).state(&step.path);
                if !now.is_ok_and(|now| now.is_same(&step.from)) {
                    return Err(changed_meanwhile(&step.path));
                }
            }
            None if !state.is_same(&step.from) => return Err(changed_meanwhile(&step.path)),
            None if state.why_unkept().is_some() && !force => {
                return Err(changed_meanwhile(&step.path));
            }
            None => {}
        }
        Ok(state)
    }

    fn take(&self, step: &Step, names: &mut Names) -> io::Result<Taken> {
        make_way(&step.path)?;
        let Some(spot) = Spot::reach(&step.path)? else {
            return Ok(Taken::Left("the folder that it was in is gone"));
        };
        match &step.to {
            State::Absent => {
                return match spot.remove(step.from.is_folder()) {
                    Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
                        Ok(Taken::Stays("it is not empty"))
                    }
                    removed => removed.map(|()| Taken::Done),
                };
            }
            State::Folder { .. } => {
                if !step.from.is_folder() {
                    spot.remove(false)?;
                }
                spot.put_folder()?;
                // Its own bits come last; until then it must take files.
                if matches!(step.from, State::Folder { mode, .. } if mode & 0o300 != 0o300) {
                    spot.set_mode(0o700)?;
                }
            }
            State::File { hash, mode, owner, attributes, linked, .. } => {
                let carried = step.carried;
                let kept = Kept { mode: *mode, owner: *owner, attributes, carried };
                let lost = if is_content_there(step) {
                    spot.dress(kept)?
                } else {
                    if let Some(refused) = clear(&spot, &step.from)? {
                        return Ok(refused);
                    }
                    let put = || spot.put_file(kept, |file| self.objects.copy_to(*hash, file));
                    names.bring(&step.path, &spot, linked.map(|linked| (linked, *hash)), put)?
                };
                if !lost.is_empty() {
                    return Ok(Taken::Without(lost));
                }
            }
            State::Link { target, owner } => {
                if let Some(refused) = clear(&spot, &step.from)? {
                    return Ok(refused);
                }
                let is_link = matches!(step.from, State::Link { .. });
                let found = step.from.owner().filter(|_| is_link);
                let owner = if step.carried.owner { owner.or(found) } else { found.or(*owner) };
                let lost = spot.put_link(target, owner)?;
                if !lost.is_empty() {
                    return Ok(Taken::Without(lost));
                }
            }
            State::Unkept { .. } => return Ok(Taken::Left("it was not kept")),
        }
        Ok(Taken::Done)
    }

    /// Last, and from the inside out: a folder that may not be written to
    /// could not be filled.
    fn dress_folders(&self, steps: &[&Step], restored: &mut Restored) {
        let done: BTreeSet<PathBuf> = restored.done.iter().cloned().collect();
        let none = BTreeMap::new();
        for step in steps.iter().rev().filter(|step| done.contains(&step.path)) {
            if let State::Folder { mode, owner, attributes } = &step.to
                && let Ok(Some(spot)) = Spot::reach(&step.path)
            {
                // A new one has nothing of its own yet, but perhaps lists that
                // the folder around it has given it.
                let meant = if step.from.is_folder() { step.carried } else { Carried::ALL };
                let known = Carried { owner: owner.is_some(), attributes: attributes.is_some() };
                let (mode, owner, carried) = (*mode, *owner, meant.and(known));
                let attributes = attributes.as_ref().unwrap_or(&none);
                // It is there with all that was in it; that counts.
                let lost = spot.dress_folder(Kept { mode, owner, attributes, carried });
                let lost = lost.unwrap_or_else(|_| vec!["mode".into()]);
                if !lost.is_empty() {
                    restored.without.push((step.path.clone(), lost));
                }
            }
        }
    }
}

enum Taken {
    Done,
    /// It is back, but for these of its attributes.
    Without(Vec<String>),
    /// It could not be brought back.
    Left(&'static str),
    /// A folder that has come to hold something else is rightly there.
    Stays(&'static str),
}

/// Whether only the mode, the owner or attributes are others.
fn is_content_there(step: &Step) -> bool {
    matches!((&step.from, &step.to), (State::File { hash: a, .. }, State::File { hash: b, .. }) if a == b)
}

/// What was replaced without having been kept.
fn lost(steps: &[&Step], done: &[PathBuf], manifest: &Manifest) -> Vec<(PathBuf, Unkept)> {
    let done: BTreeSet<&PathBuf> = done.iter().collect();
    let replaced = steps.iter().filter(|step| done.contains(&step.path) && !is_content_there(step));
    replaced
        .filter_map(|step| {
            let why = manifest.changes.get(&step.path)?.before.why_unkept()?;
            Some((step.path.clone(), why))
        })
        .collect()
}

/// A folder gives way to a file only if nothing is in it.
fn clear(spot: &Spot, from: &State) -> io::Result<Option<Taken>> {
    if !from.is_folder() {
        return Ok(None);
    }
    match spot.remove(true) {
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
            Ok(Some(Taken::Left("a folder that is not empty is in its place")))
        }
        removed => removed.map(|()| None),
    }
}

/// What goes, then folders that come, then files and links.
fn phase(step: &Step) -> u8 {
    match &step.to {
        State::Absent if !step.from.is_folder() => 0,
        State::Absent => 1,
        State::Folder { .. } => 2,
        // In the place of a folder, which is empty by now.
        _ => 3,
    }
}

/// From the inside out for what goes, from the outside in for what comes.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Depth {
    Going(Reverse<usize>),
    Coming(usize),
}

impl Depth {
    fn of(step: &Step) -> Self {
        let depth = step.path.components().count();
        if step.to == State::Absent { Self::Going(Reverse(depth)) } else { Self::Coming(depth) }
    }
}

/// The folders on the way to a path that are not there.
fn missing(path: &Path) -> Vec<PathBuf> {
    let is_there = |path: &Path| path.symlink_metadata().is_ok();
    path.ancestors().skip(1).take_while(|above| !is_there(above)).map(PathBuf::from).collect()
}

/// A folder that is made to get to a path.
fn made_on_the_way() -> State {
    State::Folder { mode: FOLDER, owner: None, attributes: None }
}

fn make_way(path: &Path) -> io::Result<()> {
    for folder in missing(path).iter().rev() {
        if let Some(spot) = Spot::reach(folder)? {
            spot.put_folder()?;
            spot.set_mode(FOLDER)?;
        }
    }
    Ok(())
}

fn remove_log(folder: &Path, id: &str) -> io::Result<()> {
    let end = format!("-{id}.{LOG}");
    let there = logs(folder)?;
    there
        .iter()
        .filter(|path| path.to_string_lossy().ends_with(&end))
        .try_for_each(|path| remove(path))
}

/// What forbids a plan to be carried out.
fn refuse(plan: &Plan, force: bool) -> Result<(), ToolError> {
    if !force {
        if !plan.damaged.is_empty() {
            return Err(refusal(&plan.damaged, Some(&plan.kind))
                .with_hint("--force goes past it, to the turns before it."));
        }
        refuse_obstacles(plan)?;
    }
    refuse_the_impossible(plan)
}

fn refuse_obstacles(plan: &Plan) -> Result<(), ToolError> {
    let told: Vec<String> = plan
        .steps
        .iter()
        .filter_map(|step| Some(format!("{}: {}", written(&step.path), step.describe_obstacle()?)))
        .collect();
    if told.is_empty() {
        return Ok(());
    }
    Err(ToolError::conflict(format!("Nothing was changed. {}", first_few(&told)))
        .with("files", told)
        .with_hint("--preview shows everything; --force does what can be done."))
}

fn first_few(told: &[String]) -> String {
    const SHOWN: usize = 5;
    let shown = told.iter().take(SHOWN).cloned().collect::<Vec<_>>().join("; ");
    let more = told.len().saturating_sub(SHOWN);
    if more > 0 { format!("{shown}; and {more} more") } else { shown }
}

/// What nothing can be done about, even by force, does not use a turn up.
fn refuse_the_impossible(plan: &Plan) -> Result<(), ToolError> {
    if let Kind::Undo(_) = plan.kind
        && !plan.missing.is_empty()
        && plan.turns.iter().all(|turn| turn.files == 0)
    {
        return Err(deleted_for_good(plan));
    }
    let left: Vec<(PathBuf, String)> = plan
        .obstacles()
        .filter(|(_, obstacle)| !obstacle.can_be_forced)
        .map(|(step, obstacle)| (step.path.clone(), obstacle.why.describe()))
        .collect();
    if left.is_empty() || left.len() < plan.steps.len() {
        return Ok(());
    }
    Err(stuck(&left, &plan.kind))
}

/// All that the turns did was to delete what nobody had kept.
fn deleted_for_good(plan: &Plan) -> ToolError {
    let told: Vec<String> = plan.missing.iter().map(|path| written(path)).collect();
    let by: BTreeSet<&str> =
        plan.turns.iter().flat_map(|turn| &turn.changed_by).map(String::as_str).collect();
    let by = by.into_iter().collect::<Vec<_>>().join(", ");
    let past = plan.turns.len() + 1;
    ToolError::conflict(format!(
        "Nothing was changed. What was done last ({by}) has deleted what git ignores and was not \
         kept, so it cannot be brought back: {}",
        first_few(&told)
    ))
    .with("files", told)
    .with_hint(format!("`hermes undo {past}` undoes the turn before it."))
}

/// Nothing could be done.
fn stuck(left: &[(PathBuf, String)], kind: &Kind) -> ToolError {
    let told: Vec<String> =
        left.iter().map(|(path, why)| format!("{}: {why}", written(path))).collect();
    let error = ToolError::conflict(format!("Nothing could be brought back. {}", first_few(&told)));
    let error = error.with("files", told);
    match kind {
        Kind::Undo(turns) => {
            let past = turns.len() + 1;
            error.with_hint(format!(
                "The turn was left as it is; `hermes undo {past} --force` goes past it."
            ))
        }
        _ => error,
    }
}

fn no_room(path: &Path, why: Unkept) -> ToolError {
    ToolError::conflict(format!(
        "Nothing was changed. {}: what is there now would be lost for good: {}",
        written(path),
        why.describe()
    ))
    .with_hint("Make room, or use --force.")
}

/// Something was done in the workspace after this was planned.
fn outdated(plan: &Plan) -> ToolError {
    ToolError::conflict(format!(
        "Something else was done in {} just now; nothing was brought back",
        plan.workspace.display()
    ))
    .with_hint("Run the command again.")
}

fn changed_meanwhile(path: &Path) -> ToolError {
    ToolError::conflict(format!("{} was changed just now; nothing was brought back", written(path)))
        .with_hint("Run the command again.")
}
