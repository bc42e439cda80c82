//! One turn in one workspace: what its calls have met so far.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hermes_core::PendingChange;

use crate::capture::{Capture, below, not_as_a_whole};
use crate::history::Kind;
use crate::limits::Limits;
use crate::manifest::{CallLine, Change, Head, Line, Log, Manifest, Seen, TreeLine, is_absent};
use crate::objects::make_folder;
use crate::prune::{Pointer, remove};
use crate::state::{Hash, State, Unkept};
use crate::store::{LOG, Store, log_of, now};
use crate::tree::{Ground, Listing};

/// Entries below one folder that is about to change.
const FOLDER_ENTRIES: usize = 50_000;

/// Times of files are this coarse.
pub(crate) const COARSE: i64 = 20_000_000;

/// A tree that was kept.
#[derive(Debug, Clone)]
pub(crate) struct Sight {
    pub(crate) listing: Arc<Listing>,
    pub(crate) hash: Hash,
    pub(crate) generation: u64,
    /// When the walk began.
    pub(crate) started: i64,
    /// What was passed over in it.
    pub(crate) spared: Vec<PathBuf>,
}

impl Sight {
    /// Keeps a listing, and remembers it as the last one of its workspace.
    pub(crate) fn keep(
        store: &Store,
        folder: &Path,
        listing: Listing,
        generation: u64,
        started: i64,
        spared: Vec<PathBuf>,
    ) -> io::Result<Self> {
        let hash = listing.keep(&store.objects)?;
        let known = store.pointer(folder);
        if known.is_none_or(|known| (known.listing, known.generation) != (hash, generation)) {
            make_folder(folder)?;
            store.write_pointer(folder, &Pointer { listing: hash, generation })?;
        }
        Ok(Self { listing: Arc::new(listing), hash, generation, started, spared })
    }
}

/// A call that is under way.
#[derive(Debug, Default)]
pub(crate) struct Running {
    id: String,
    /// When it was about to begin.
    pub(crate) since: i64,
    /// What it began with, if it is open-ended.
    pub(crate) tree: Option<Sight>,
    /// Whether it tells itself what it changes.
    pub(crate) announces: bool,
    /// What was there when it was about to change it.
    pub(crate) held: BTreeMap<PathBuf, State>,
    /// What it has told to be done.
    pub(crate) told: HashSet<PathBuf>,
}

/// One turn in one workspace.
#[derive(Debug)]
pub(crate) struct Turn {
    pub(crate) manifest: Manifest,
    /// None as long as nothing was written.
    log: Option<Log>,
    is_new: bool,
    /// How many logs there were beside it.
    others: usize,
    running: Vec<Running>,
}

impl Turn {
    /// The turn as it was left, or a new one.
    pub(crate) fn find(store: &Store, id: &str, change: &PendingChange<'_>, workspace: &Path) -> Self {
        let folder = store.folder_of(workspace);
        let (there, others) = log_of(&folder, id).unwrap_or_default();
        let left = there.and_then(|path| {
            let manifest = Manifest::load(&path).ok().flatten()?;
            Some((manifest, Log::reopen(path).ok()?))
        });
        let (manifest, log) = match left {
            Some((manifest, log)) => (manifest, Some(log)),
            None => {
                let workspace = workspace.to_path_buf();
                let (session, turn) = (change.session, change.turn);
                (Manifest::new(id.into(), workspace, session, turn, Kind::Turn, now()), None)
            }
        };
        Self { manifest, log, is_new: false, others, running: Vec::new() }
    }

    pub(crate) fn is_running(&self) -> bool {
        !self.running.is_empty()
    }

    /// A call is through; what is known of it.
    pub(crate) fn end(&mut self, call_id: &str) -> Option<Running> {
        let at = self.running.iter().position(|running| running.id == call_id)?;
        Some(self.running.remove(at))
    }

    /// What is known of a call; nothing of one for which nobody waits any
    /// more.
    pub(crate) fn running(&mut self, call_id: &str) -> Option<&mut Running> {
        self.running.iter_mut().find(|running| running.id == call_id)
    }

    /// Whether there is no log yet.
    pub(crate) fn is_unwritten(&self) -> bool {
        self.log.is_none()
    }

    /// Whether a path is in the tree of another call that is still running.
    pub(crate) fn is_enclosed(&self, path: &Path, call_id: &str) -> bool {
        let is_other = |running: &Running| running.id != call_id && running.tree.is_some();
        path.starts_with(self.manifest.workspace()) && self.running.iter().any(is_other)
    }

    /// What another call that is still running began with at a path.
    pub(crate) fn enclosing_leaf(&self, path: &Path, call_id: &str) -> Option<State> {
        let path = path.strip_prefix(self.manifest.workspace()).ok()?;
        let others = self.running.iter().filter(|running| running.id != call_id);
        let mut trees = others.filter_map(|running| running.tree.as_ref());
        trees.find_map(|sight| Some(sight.listing.entries.get(path)?.state.clone()))
    }

    /// Whether the checkpoint was begun by the last call; asked once.
    pub(crate) fn is_new(&mut self) -> bool {
        std::mem::take(&mut self.is_new)
    }

    /// Bytes that were added to its log since this was last asked.
    pub(crate) fn take_added(&mut self) -> u64 {
        self.log.as_mut().map_or(0, Log::take_added)
    }

    /// How many checkpoints its workspace had beside it when it was begun.
    pub(crate) fn others(&self) -> usize {
        self.others
    }

    /// Keeps what is at a place that is about to change, and below it.
    pub(crate) fn meet(
        &self,
        place: &Path,
        capture: &mut Capture<'_>,
        limits: Limits,
        met: &mut Vec<Seen>,
    ) -> io::Result<()> {
        // Folders on the way that will be made are taken away again.
        for above in place.ancestors().skip(1) {
            if fs::symlink_metadata(above).is_ok() || self.manifest.changes.contains_key(above) {
                break;
            }
            met.push(Seen { path: above.to_path_buf(), state: State::Absent });
        }
        let state = self.first_state(place, capture)?;
        let target = match &state {
            State::Link { .. } => hermes_files::real_path(place).ok(),
            _ => None,
        };
        let is_folder = state.is_folder();
        let inside = if is_folder {
            below(place, FOLDER_ENTRIES.min(limits.tree_entries))
        } else {
            Some(Vec::new())
        };
        match inside {
            None => {
                let state = not_as_a_whole(place, Unkept::TooMany)?;
                met.push(Seen { path: place.to_path_buf(), state });
            }
            Some(inside) => {
                met.push(Seen { path: place.to_path_buf(), state });
                for path in inside {
                    let state = self.first_state(&path, capture)?;
                    met.push(Seen { path, state });
                }
            }
        }
        match target {
            Some(target) if target != place => self.meet(&target, capture, limits, met),
            _ => Ok(()),
        }
    }

    /// [`Self::meet`] for a place in the workspace, of which the listing has
    /// kept what it names.
    pub(crate) fn meet_unlisted(
        &self,
        place: &Path,
        listing: Option<&Listing>,
        capture: &mut Capture<'_>,
        limits: Limits,
        met: &mut Vec<Seen>,
    ) -> io::Result<()> {
        let workspace = self.manifest.workspace();
        let is_listed = |path: &Path| {
            let path = path.strip_prefix(workspace).unwrap_or(path);
            listing.is_some_and(|listing| listing.entries.contains_key(path))
        };
        let mut ahead = vec![place.to_path_buf()];
        while let Some(path) = ahead.pop() {
            // Who takes a repository's history away is asked about that.
            if path.iter().any(|part| part == ".git") {
                continue;
            }
            if !is_listed(&path) {
                self.meet(&path, capture, limits, met)?;
            } else if fs::symlink_metadata(&path).is_ok_and(|found| found.is_dir()) {
                let inside = fs::read_dir(&path).into_iter().flatten().flatten();
                ahead.extend(inside.map(|entry| entry.path()));
            }
        }
        Ok(())
    }

    /// What was at a path when the turn began, as far as that is known.
    fn first_state(&self, path: &Path, capture: &mut Capture<'_>) -> io::Result<State> {
        if let Some(change) = self.manifest.changes.get(path) {
            return Ok(change.before.clone());
        }
        // Inside a command that is still running, the tree that it began with
        // tells; the command may have changed the file already.
        match self.enclosing_leaf(path, "") {
            Some(state) => Ok(state),
            None => capture.state(path),
        }
    }

    /// Writes down what was met, before the call runs.
    pub(crate) fn note(
        &mut self,
        store: &Store,
        change: &PendingChange<'_>,
        met: Vec<Seen>,
        tree: Option<Sight>,
        workspace: &Path,
        since: i64,
    ) -> io::Result<()> {
        let mut lines = vec![Line::Call(call_line(change))];
        let is_new = |seen: &Seen| !self.manifest.changes.contains_key(&seen.path);
        lines.extend(met.into_iter().filter(is_new).map(Line::Before));
        if let Some(sight) = &tree {
            lines.push(Line::Tree(TreeLine {
                root: workspace.to_path_buf(),
                listing: sight.hash,
                is_partial: sight.listing.is_partial,
                call: change.call_id.to_owned(),
                at: sight.started,
                spared: sight.spared.clone(),
                is_open: true,
            }));
        }
        self.write(store, lines)?;
        let id = change.call_id.to_owned();
        self.running.push(Running { id, since, tree, ..Running::default() });
        Ok(())
    }

    /// A call is about to change what it holds.
    pub(crate) fn announce(&mut self, call_id: &str, held: BTreeMap<PathBuf, State>) {
        match self.running(call_id) {
            Some(running) => running.held.extend(held),
            None => {
                let id = call_id.to_owned();
                self.running.push(Running { id, announces: true, held, ..Running::default() });
            }
        }
    }

    pub(crate) fn write(&mut self, store: &Store, lines: Vec<Line>) -> io::Result<()> {
        match &mut self.log {
            Some(log) => log.write(&lines)?,
            None => {
                self.log = Some(begin_log(store, &self.manifest.head, &lines)?);
                self.is_new = true;
            }
        }
        lines.into_iter().for_each(|line| self.manifest.take(line));
        Ok(())
    }

    /// What a call has made of a place, and of what is below it.
    pub(crate) fn revisit(
        &self,
        place: &Path,
        capture: &mut Capture<'_>,
        limits: Limits,
        seen: &mut Vec<(PathBuf, Change)>,
    ) -> io::Result<()> {
        let changes = &self.manifest.changes;
        let mut look = |path: &Path, before: &State| -> io::Result<State> {
            let after = capture.state_since(path, before)?;
            seen.push((path.to_path_buf(), Change::new(before.clone(), Some(after.clone()))));
            Ok(after)
        };
        let made = place.ancestors().skip(1).map_while(|above| Some((above, changes.get(above)?)));
        for (above, change) in made.filter(|(_, change)| change.before == State::Absent) {
            look(above, &change.before)?;
        }
        let mut target = None;
        for (path, change) in changes.range(place.to_path_buf()..) {
            if !path.starts_with(place) {
                break;
            }
            look(path, &change.before)?;
            if path == place && matches!(change.before, State::Link { .. }) {
                target = hermes_files::real_path(path).ok();
            }
        }
        let is_whole =
            changes.get(place).is_some_and(|c| !matches!(c.before, State::Unkept { .. }));
        let is_folder = fs::symlink_metadata(place).is_ok_and(|found| found.is_dir());
        if is_whole && is_folder {
            let inside = below(place, FOLDER_ENTRIES.min(limits.tree_entries)).unwrap_or_default();
            for path in inside.iter().filter(|path| !changes.contains_key(*path)) {
                look(path, &State::Absent)?;
            }
        }
        match target {
            Some(target) if target != place => self.revisit(&target, capture, limits, seen),
            _ => Ok(()),
        }
    }

    /// What became of what a call was at when it was cut off.
    pub(crate) fn conclude(
        &self,
        call: &Running,
        capture: &mut Capture<'_>,
        seen: &mut Vec<(PathBuf, Change)>,
    ) -> io::Result<()> {
        let changes = &self.manifest.changes;
        for (path, change) in call.held.keys().filter_map(|path| changes.get_key_value(path)) {
            let after = capture.state_since(path, &change.before)?;
            seen.push((path.clone(), Change::new(change.before.clone(), Some(after))));
        }
        Ok(())
    }

    /// What is different between two sights of the workspace.
    pub(crate) fn compare(
        &self,
        ground: &Ground<'_>,
        before: &Sight,
        after: &Listing,
        capture: &mut Capture<'_>,
        seen: &mut Vec<(PathBuf, Change)>,
    ) -> io::Result<()> {
        let workspace = ground.root;
        let old = &before.listing.entries;
        let is_rule = |path: &Path| path.file_name().is_some_and(|name| name == ".gitignore");
        let rules_changed = old
            .iter()
            .filter(|(path, _)| is_rule(path))
            .any(|(path, leaf)| after.entries.get(path).is_none_or(|now| now.state != leaf.state));
        let mut told = HashSet::new();
        let mut tell = |path: PathBuf, was: &State, is: State| {
            let was = self.manifest.changes.get(&path).map_or(was, |change| &change.before);
            seen.push((path.clone(), Change::new(was.clone(), Some(is))));
            told.insert(path);
        };
        for (path, leaf) in old {
            let is = match after.entries.get(path) {
                Some(now) => now.state.clone(),
                None if after.is_partial && ground.is_late() => continue,
                // It may be there and ignored now.
                None => capture.state_since(&workspace.join(path), &leaf.state)?,
            };
            if !is.is_alike(&leaf.state) {
                tell(workspace.join(path), &leaf.state, is);
            }
        }
        for (path, leaf) in &after.entries {
            if before.listing.is_partial {
                break;
            }
            // One that was there and ignored was not made by the call.
            let is_older = || {
                let found = crate::spot::Spot::reach(&workspace.join(path));
                let found = found.ok().flatten().and_then(|spot| spot.look().ok().flatten());
                found.is_some_and(|found| found.stamp.changed < before.started - COARSE)
            };
            let is_made = || match before.listing.has_ignored(path) {
                Some(is_there) => !is_there && (!rules_changed || !is_older()),
                // Git may have come to track it.
                None => !is_older(),
            };
            if !old.contains_key(path) && is_made() {
                tell(workspace.join(path), &State::Absent, leaf.state.clone());
            }
        }
        // Calls that the command made in turn have told of these.
        for (path, change) in self.manifest.changes.iter().filter(|(p, _)| p.starts_with(workspace))
        {
            if !told.contains(path) {
                let after = capture.state_since(path, &change.before)?;
                seen.push((path.clone(), Change::new(change.before.clone(), Some(after))));
            }
        }
        Ok(())
    }

    /// What git ignores that was there before and is gone, and was not kept.
    pub(crate) fn gone(&self, workspace: &Path, before: &Listing, after: &Listing) -> Vec<PathBuf> {
        let changes = &self.manifest.changes;
        let is_unkept = |above: &Path| {
            changes.get(above).is_some_and(|change| change.before.why_unkept().is_some())
        };
        // What was named is known to be gone, kept or not.
        let is_known =
            |place: &Path| changes.contains_key(place) || place.ancestors().skip(1).any(is_unkept);
        let missing = before.ignored.difference(&after.ignored);
        let missing = missing.filter(|path| !after.entries.contains_key(*path));
        let places = missing.map(|path| workspace.join(path));
        places.filter(|place| !is_known(place) && is_absent(place)).collect()
    }

    /// Writes down what a call has made of the files, and that it is through.
    pub(crate) fn settle(
        &mut self,
        call_id: &str,
        mut seen: Vec<(PathBuf, Change)>,
        gone: Vec<PathBuf>,
        capture: &mut Capture<'_>,
    ) -> io::Result<()> {
        if self.running.is_empty() {
            // A link that was on the way and is not any more has hidden these.
            let told: HashSet<PathBuf> = seen.iter().map(|(path, _)| path.clone()).collect();
            for (path, change) in &self.manifest.changes {
                if change.after.is_none() && !told.contains(path) {
                    let after = Some(capture.state_since(path, &change.before)?);
                    seen.push((path.clone(), Change::new(change.before.clone(), after)));
                }
            }
        }
        let mut lines = Vec::new();
        for (path, change) in seen {
            let known = self.manifest.changes.get(&path);
            let Some(after) = change.after else { continue };
            if known.is_none() {
                lines.push(Line::Before(Seen { path: path.clone(), state: change.before }));
            }
            if change.is_broken {
                lines.push(Line::Broken(Seen { path: path.clone(), state: after.clone() }));
            }
            if known.is_none_or(|known| known.after.as_ref() != Some(&after)) {
                lines.push(Line::After(Seen { path, state: after }));
            }
        }
        lines.extend(gone.into_iter().map(Line::Gone));
        if self.manifest.trees.iter().any(|tree| tree.is_open && tree.call == call_id) {
            lines.push(Line::Through(call_id.to_owned()));
        }
        if let Some(log) = &mut self.log {
            log.write(&lines)?;
        }
        lines.into_iter().for_each(|line| self.manifest.take(line));
        self.vanish_if_void()
    }

    /// A turn that has changed nothing leaves no checkpoint. One that has
    /// deleted what nobody kept does: an undo must not take the turn before
    /// it for it.
    pub(crate) fn vanish_if_void(&mut self) -> io::Result<()> {
        let has_changed = self.manifest.is_cut_off()
            || self.manifest.changes().next().is_some()
            || self.manifest.missing().next().is_some();
        if self.running.is_empty() && !has_changed {
            if let Some(log) = self.log.take() {
                remove(&log.path)?;
            }
            self.manifest.changes.clear();
            self.manifest.calls.clear();
            self.manifest.trees.clear();
            self.manifest.gone.clear();
            self.manifest.begun = None;
        }
        Ok(())
    }
}

/// What is written down of a call.
pub(crate) fn call_line(change: &PendingChange<'_>) -> CallLine {
    CallLine {
        id: change.call_id.to_owned(),
        tool: change.tool.to_owned(),
        task: change.task.to_owned(),
    }
}

/// A new log in its workspace's folder, with its first lines.
pub(crate) fn begin_log(store: &Store, head: &Head, first: &[Line]) -> io::Result<Log> {
    let folder = store.folder_of(&head.workspace);
    let path = folder.join(format!("{:020}-{}.{LOG}", head.at, head.id));
    match Log::create(path.clone(), head, first) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            make_folder(&folder)?;
            Log::create(path, head, first)
        }
        made => made,
    }
}
