//! The way of several changes, and the way back.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hermes_core::{Scope, ToolError};
use rustix::fs::AtFlags;
use rustix::io::Errno;

use super::step::{Step, Undo, require_removable};
use super::{Change, Changed};
use crate::facts::Facts;
use crate::hold::Hold;
use crate::journal::{Entry, Fresh, Id, Journal, Journals, path_of};
use crate::open::{Spot, Walk};
use crate::place::Last;
use crate::scratch::Scratch;
use crate::temporary::{Parked, move_entry, sync_folder};
use crate::words::explain_way;
use crate::write::{Existing, require_writable};

#[derive(Debug)]
pub(super) struct Work<'c> {
    walk: Walk,
    steps: Vec<Step<'c>>,
    made: Vec<PathBuf>,
    /// By step, in the order in which it was done.
    done: Vec<(usize, Undo)>,
    journals: Option<Arc<Journals>>,
    /// From the first change to the last, if there are several.
    journal: Option<Journal>,
}

impl<'c> Work<'c> {
    pub(super) fn new(walk: Walk, journals: Option<Arc<Journals>>) -> Self {
        let (steps, made, done) = (Vec::new(), Vec::new(), Vec::new());
        Self { walk, steps, made, done, journals, journal: None }
    }

    pub(super) fn stage_all(
        &mut self,
        hold: &mut Hold<'_>,
        changes: &'c [Change],
    ) -> Result<(), ToolError> {
        for (at, change) in changes.iter().enumerate() {
            let earlier = changes.get(..at).unwrap_or_default();
            let step = self.stage(hold, change, earlier)?;
            self.steps.push(step);
        }
        Ok(())
    }

    pub(super) fn send_off(&self) {
        self.steps.iter().for_each(Step::send_off);
    }

    pub(super) fn verify(&self) -> Result<(), ToolError> {
        self.steps.iter().try_for_each(Step::verify)
    }

    pub(super) fn sync(&self) -> Result<(), ToolError> {
        self.steps.iter().try_for_each(Step::sync)
    }

    pub(super) fn apply_all(&mut self, changes: &[Change]) -> Result<Vec<Changed>, ToolError> {
        let is_one = changes.len() == 1;
        if !is_one {
            self.write_down()?;
        }
        for at in 0..self.steps.len() {
            self.apply(at, is_one)?;
        }
        let changed = self.steps.iter().map(|step| Changed {
            path: step.change.target().to_path_buf(),
            created: step.before.is_none() && !matches!(step.change, Change::Remove { .. }),
            made_folders: step.made.clone(),
            lost: step.lost.clone(),
        });
        Ok(changed.collect())
    }

    /// Writes down what will be done, if there is a place for that.
    fn write_down(&mut self) -> Result<(), ToolError> {
        let (Some(journals), Some(first)) = (&self.journals, self.steps.first()) else {
            return Ok(());
        };
        let path = first.change.target();
        // Without /proc nobody can say where a folder is.
        if path_of(&first.spot).is_err() {
            return Ok(());
        }
        let mut entries = Vec::new();
        let mut folders = Vec::new();
        for step in &self.steps {
            entries.extend(entries_of(step).map_err(|e| explain_way("write", path, &e))?);
            folders.push(&step.spot);
            folders.extend(&step.from);
        }
        let journal = journals.write(entries, &self.made, &folders);
        self.journal = Some(journal.map_err(|error| explain_way("write", path, &error))?);
        Ok(())
    }

    fn stage(
        &mut self,
        hold: &mut Hold<'_>,
        change: &'c Change,
        earlier: &[Change],
    ) -> Result<Step<'c>, ToolError> {
        let is_touched = |path: &Path| earlier.iter().any(|change| change.paths().contains(&path));
        let path = change.target();
        let failed = |error: io::Error| explain_way(verb(change), path, &error);
        let (spot, made) = match change {
            Change::Remove { .. } => {
                (hold.files.spot("remove", &Scope::FILE_DELETE, path, Last::Keep)?, Vec::new())
            }
            _ => self.reach(hold, path)?,
        };
        let before = spot.look().map_err(failed)?;
        let mut step = Step {
            change,
            spot,
            from: None,
            new: None,
            before,
            is_touched: is_touched(path),
            made,
            lost: Vec::new(),
            aside: Scratch::File.name(),
            runs: hold.programs.get(path).copied(),
        };
        if !step.is_touched && hold.seen(path).is_some_and(|seen| differs(seen, before)) {
            return Err(changed_meanwhile(path));
        }
        match change {
            Change::Write { bytes, existing, .. } => {
                let old = match before {
                    Some(_) if *existing == Existing::Refuse && !step.is_touched => {
                        return Err(failed(Errno::EXIST.into()));
                    }
                    Some(old) => Some(require_writable(&step.spot, old).map_err(failed)?),
                    None => None,
                };
                step.make(old.as_ref(), bytes).map_err(failed)?;
            }
            Change::Remove { .. } => {
                let found = before.ok_or_else(|| failed(io::ErrorKind::NotFound.into()))?;
                require_removable(&found).map_err(failed)?;
            }
            Change::Move { from, bytes, .. } => {
                if before.is_some() && !step.is_touched {
                    return Err(failed(Errno::EXIST.into()));
                }
                let source = hold.files.spot("move", &Scope::FILE_DELETE, from, Last::Keep)?;
                // It would replace itself, or what an earlier change put there.
                if source.is_same(&step.spot).map_err(failed)? {
                    return Err(failed(Errno::EXIST.into()));
                }
                let found = source.facts().map_err(|error| explain_way("move", from, &error))?;
                if !is_touched(from) && hold.seen(from).is_some_and(|s| differs(s, Some(found))) {
                    return Err(changed_meanwhile(from));
                }
                let staged = step.make_moved(&source, &found, bytes.as_deref());
                staged.map_err(|error| explain_way("move", from, &error))?;
                step.from = Some(source);
            }
        }
        Ok(step)
    }

    /// The spot of a file, its missing folders made and held.
    fn reach(
        &mut self,
        hold: &mut Hold<'_>,
        path: &Path,
    ) -> Result<(Spot, Vec<PathBuf>), ToolError> {
        let files = hold.files;
        let place = files.place("write", &Scope::FILE_WRITE, path, Last::Follow)?;
        let mut made = Vec::new();
        let reached = Spot::reach_noting(&place, files.walk(), &mut made);
        self.made.extend(made.iter().cloned());
        let spot = reached.map_err(|error| explain_way("write", path, &error))?;
        // The folder may be a new one, made here or by somebody else.
        hold.add(&spot, path)?;
        Ok((spot, made))
    }

    fn apply(&mut self, at: usize, is_one: bool) -> Result<(), ToolError> {
        let Some(step) = self.steps.get_mut(at) else { return Ok(()) };
        let path = step.change.target();
        let failed = |error: io::Error| explain_way(verb(step.change), path, &error);
        let now = step.spot.look().map_err(failed)?;
        if !step.is_touched && differs(step.before, now) {
            return Err(changed_meanwhile(path));
        }
        let Spot { folder, name } = &step.spot;
        let new = step.new.take();
        let is_new = new.is_some();
        if let Some((new, identity)) = new {
            let may_replace =
                matches!(step.change, Change::Write { existing: Existing::Replace, .. });
            match (may_replace && now.is_some(), is_one) {
                (true, true) => {
                    let _noted = self.journals.as_ref().and_then(|it| it.note(&step.spot));
                    new.replace(name).map_err(failed)?;
                }
                (true, false) => {
                    let old = new.swap(name, &step.aside).map_err(failed)?;
                    self.done.push((at, Undo::Restore(old)));
                }
                (false, _) => {
                    new.keep(name, Existing::Refuse).map_err(failed)?;
                    self.done.push((at, Undo::Withdraw(identity)));
                }
            }
        }
        let undo = match (step.change, &step.from) {
            (Change::Remove { .. }, _) if is_one => {
                rustix::fs::unlinkat(folder, name, AtFlags::empty())
                    .map_err(|error| failed(error.into()))?;
                return Ok(());
            }
            (Change::Remove { .. }, _) => {
                Undo::Return(Parked::park(&step.spot, &step.aside).map_err(failed)?)
            }
            (Change::Move { .. }, Some(from)) if is_new => {
                Undo::Return(Parked::park(from, &step.aside).map_err(failed)?)
            }
            (Change::Move { .. }, Some(from)) => {
                move_entry(&from.folder, &from.name, folder, name, Existing::Refuse)
                    .map_err(failed)?;
                Undo::Rename
            }
            _ => return Ok(()),
        };
        self.done.push((at, undo));
        Ok(())
    }

    /// The last of it: what was kept aside goes.
    pub(super) fn settle(self) {
        let Self { mut journal, done, steps, .. } = self;
        // From here on it is done. What was put aside goes while the journal
        // still tells of it.
        if let Some(journal) = &mut journal {
            journal.complete();
        }
        drop(done);
        drop(journal);
        for step in &steps {
            // The content of a new file is on the disk; its name follows with
            // the next commit of the file system, as it does for editors.
            if matches!(step.change, Change::Remove { .. }) {
                sync_folder(&step.spot);
            }
            if let Some(from) = &step.from {
                sync_folder(&step.spot);
                sync_folder(from);
            }
        }
    }

    /// Takes everything back that was done, and tells if that failed.
    pub(super) fn take_back(mut self, error: ToolError) -> ToolError {
        let mut left = Vec::new();
        for (at, undo) in self.done.drain(..).rev() {
            let Some(step) = self.steps.get(at) else { continue };
            if let Err(cause) = step.undo(undo) {
                left.push(format!("{} ({cause})", step.change.target().display()));
            }
        }
        self.steps.clear();
        self.journal = None;
        for folder in self.made.iter().rev() {
            // One that somebody uses by now is not empty, and stays.
            if let Ok(spot) = Spot::reach(folder, self.walk) {
                let _ = rustix::fs::unlinkat(&spot.folder, &spot.name, AtFlags::REMOVEDIR);
            }
        }
        if left.is_empty() {
            return error;
        }
        let message = format!("{}; could not be put back: {}", error.message(), left.join(", "));
        error.with_message(message).with("not_put_back", left)
    }
}

/// What a step does to names.
fn entries_of(step: &Step<'_>) -> io::Result<Vec<Entry>> {
    let aside = || step.aside.to_string_lossy().into_owned();
    let old = |facts: Option<Facts>| facts.filter(|_| !step.is_touched).map(|old| Id::of(&old));
    let mut entries = Vec::new();
    if let Some((new, _)) = &step.new {
        let new = Fresh::of(&Facts::of(&rustix::fs::fstat(&new.file)?));
        let is_new = step.before.is_none() || step.is_touched || step.from.is_some();
        let path = path_of(&step.spot)?;
        let old = if step.from.is_some() { None } else { old(step.before) };
        // The name beside is for the file that a move takes away.
        let aside = if step.from.is_some() {
            Scratch::File.name().to_string_lossy().into_owned()
        } else {
            aside()
        };
        entries.push(Entry::Write { path, aside, old, new, is_new });
    }
    match (step.change, &step.from) {
        (Change::Remove { .. }, _) => {
            let (path, old) = (path_of(&step.spot)?, old(step.before));
            entries.push(Entry::Remove { path, aside: aside(), old });
        }
        (Change::Move { .. }, Some(from)) if step.new.is_some() => {
            entries.push(Entry::Remove { path: path_of(from)?, aside: aside(), old: None });
        }
        (Change::Move { .. }, Some(from)) => {
            let (to, old) = (path_of(&step.spot)?, Id::of(&from.facts()?));
            entries.push(Entry::Rename { from: path_of(from)?, to, old });
        }
        _ => {}
    }
    Ok(entries)
}

fn verb(change: &Change) -> &'static str {
    match change {
        Change::Write { .. } => "write",
        Change::Remove { .. } => "remove",
        Change::Move { .. } => "move to",
    }
}

/// Whether another file, or another state of it, is there.
fn differs(before: Option<Facts>, now: Option<Facts>) -> bool {
    let state = |facts: Facts| {
        (facts.identity.dev, facts.identity.ino, facts.kind, facts.len, facts.modified)
    };
    before.map(state) != now.map(state)
}

fn changed_meanwhile(path: &Path) -> ToolError {
    ToolError::conflict(format!(
        "{} was changed by somebody else at this very moment; nothing was done",
        path.display()
    ))
    .with_hint("Read it again, then decide again.")
}
