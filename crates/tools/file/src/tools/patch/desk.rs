//! The files of a call as they will be: every step is made here first, and
//! nothing is written before all of them fit.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use encoding_rs::Encoding;
use hermes_core::{ToolContext, ToolError};
use hermes_files::{FileContent, FileAccess};
use hermes_text::codec::{TextFormat, UnencodableChar};
use hermes_text::patch_formats::PatchFormat;
use hermes_text::matching::{PatchHunk, EditMap, ReplaceRequest, MatchStrictness, MovedRange, apply_hunks, apply_edits, compose_edits, replace_text};
use hermes_text::{TextDocument, TextEdit};

use super::links::{self, Links};
use super::outcome::{Fate, Outcome, Spot, Text, Turned};
use super::refusal;
use super::request::Step;
use crate::change::{FileChange, ExistingFile, Held};
use crate::charset;
use crate::known::Hash;
use crate::original::Original;
use crate::spelling::show;

/// A file as it will be.
#[derive(Debug, Clone)]
struct Now {
    /// The file that it comes from; none if it is new.
    from: Option<PathBuf>,
    body: Body,
}

#[derive(Debug, Clone)]
enum Body {
    AsItWas,
    /// Edits of the original, and the text that they make.
    Edited(Vec<TextEdit>, Arc<String>),
    New(Arc<String>),
}

/// Bytes of text that are copied at most for steps that build upon each other.
const COPIED: usize = 2 << 30;

pub(super) struct Desk<'a> {
    cx: &'a ToolContext,
    held: &'a Held<'a>,
    /// The encoding of the files, where the caller names it.
    told: Option<&'static Encoding>,
    /// What the patch is written in; none in replace mode.
    format: Option<PatchFormat>,
    originals: HashMap<PathBuf, Option<Arc<Original>>>,
    now: HashMap<PathBuf, Option<Now>>,
    /// In the order in which they were named.
    order: Vec<PathBuf>,
    /// Those that shall be programs, or none.
    programs: HashMap<PathBuf, bool>,
    links: Links,
    spots: Vec<Spot>,
    /// Files that several steps have changed, so that the lines of their spots
    /// are not known yet.
    retraced: HashSet<PathBuf>,
    warnings: Vec<String>,
    copied: usize,
}

impl<'a> Desk<'a> {
    pub(super) fn new(
        cx: &'a ToolContext,
        held: &'a Held<'a>,
        told: Option<&'static Encoding>,
        format: Option<PatchFormat>,
    ) -> Self {
        Self {
            cx,
            held,
            told,
            format,
            originals: HashMap::new(),
            now: HashMap::new(),
            order: Vec::new(),
            programs: HashMap::new(),
            links: Links::default(),
            spots: Vec::new(),
            retraced: HashSet::new(),
            warnings: Vec::new(),
            copied: 0,
        }
    }

    /// An error unless the file is this version.
    pub(super) fn expect(&mut self, path: &Path, expected: &Hash) -> Result<(), ToolError> {
        self.open(path)?;
        match self.original(path) {
            Some(found) if expected.matches(found.hash()) => Ok(()),
            found => Err(refusal::another_version(
                self.cx,
                path,
                expected,
                found.map(|found| found.hash()),
            )),
        }
    }

    /// Makes one step.
    pub(super) fn take(&mut self, step: &Step, rigour: MatchStrictness) -> Result<(), ToolError> {
        match step {
            Step::Replace { path, old, new, all } => {
                let request = ReplaceRequest { old, new, all: *all, strictness: rigour };
                self.replace(path, &request)
            }
            Step::Add { path, text } => {
                self.open(path)?;
                if self.current(path).is_some()
                    && self.text(path).is_ok_and(|now| *now == *text.as_str())
                {
                    return Err(refusal::no_change());
                }
                self.vacant(path, refusal::Onto::New)?;
                let body = Body::New(Arc::new(text.clone()));
                self.now.insert(path.clone(), Some(Now { from: None, body }));
                Ok(())
            }
            Step::Update { path, hunks, to } => {
                if let Some(to) = to.as_ref().filter(|to| *to != path)
                    && let Some(target) = links::target(self.cx, path)
                {
                    return self.rename_link(path, to, &target, hunks);
                }
                self.open(path)?;
                if self.current(path).is_none() {
                    return Err(refusal::missing(path, self.cx));
                }
                if let Some(to) = to.as_ref().filter(|to| *to != path) {
                    self.vacant(to, refusal::Onto::Moved)?;
                }
                if !hunks.is_empty() {
                    self.apply(path, hunks, rigour)?;
                }
                if let Some(to) = to.as_ref().filter(|to| *to != path) {
                    let moved = self.now.insert(path.clone(), None).flatten();
                    self.now.insert(to.clone(), moved);
                    let spots = self.spots.iter_mut().filter(|spot| spot.path == *path);
                    spots.for_each(|spot| spot.path.clone_from(to));
                    if self.retraced.remove(path) {
                        self.retraced.insert(to.clone());
                    }
                }
                Ok(())
            }
            Step::Delete { path, hunks } => {
                if let Some(target) = links::target(self.cx, path) {
                    if self.now.contains_key(path) {
                        return Err(refusal::link_twice(path));
                    }
                    // A diff has the target of a link as its only line.
                    require_all(path, &target.to_string_lossy(), hunks, rigour)?;
                    return self.links.delete(path);
                }
                self.open(path)?;
                if self.current(path).is_none() {
                    return Err(refusal::missing(path, self.cx));
                }
                if !hunks.is_empty() {
                    require_all(path, &self.text(path)?, hunks, rigour)?;
                }
                self.now.insert(path.clone(), None);
                Ok(())
            }
        }
    }

    /// A file shall be a program when it is written, or none.
    pub(super) fn mark(&mut self, path: &Path, runs: bool) -> Result<(), ToolError> {
        self.open(path)?;
        let Some(now) = self.current(path) else {
            return Err(refusal::missing(path, self.cx));
        };
        // What it is already needs no change.
        let is_already = match &now.from {
            Some(from) => (FileAccess::new(self.cx).metadata(from)?.mode & 0o100 != 0) == runs,
            None => !runs,
        };
        if !is_already {
            self.programs.insert(path.to_path_buf(), runs);
        }
        Ok(())
    }

    fn rename_link(
        &mut self,
        path: &Path,
        to: &Path,
        target: &Path,
        hunks: &[PatchHunk],
    ) -> Result<(), ToolError> {
        if self.now.contains_key(path) {
            return Err(refusal::link_twice(path));
        }
        if !hunks.is_empty() {
            return Err(refusal::moved_link(path, target));
        }
        self.vacant(to, refusal::Onto::Moved)?;
        let warning = self.links.rename(path, to, target)?;
        self.warnings.extend(warning);
        Ok(())
    }

    fn replace(&mut self, path: &Path, request: &ReplaceRequest<'_>) -> Result<(), ToolError> {
        self.open(path)?;
        if self.current(path).is_none() {
            if request.old.is_empty() {
                return Err(refusal::empty_old(path, true));
            }
            return Err(refusal::missing(path, self.cx));
        }
        let text = self.text(path)?;
        let made = replace_text(&text, request).map_err(|mismatch| {
            let hash = self.original(path).map(|found| found.hash().to_string());
            refusal::mismatch(path, &text, request, mismatch, hash)
        })?;
        let changed = apply_edits(&text, &made.edits);
        let lines = made.lines.iter().zip(&made.after);
        let spots = made.places.into_iter().zip(lines).map(|(trace, (before, after))| {
            let (path, strategy) = (path.to_path_buf(), made.strategy);
            Spot { path, strategy, before: *before, after: *after, trace }
        });
        self.warnings.extend(made.warnings);
        self.put(path, &text, made.edits, changed, spots.collect())
    }

    fn apply(&mut self, path: &Path, hunks: &[PatchHunk], rigour: MatchStrictness) -> Result<(), ToolError> {
        let text = self.text(path)?;
        let made = apply_hunks(&text, hunks, rigour).map_err(|failure| {
            let hash = self.original(path).map(|found| found.hash().to_string());
            refusal::with_hash(refusal::misfit(path, &text, hunks, &failure, self.format), hash)
        })?;
        let changed = apply_edits(&text, &made.edits);
        let spots = made.placed.into_iter().map(|placed| Spot {
            path: path.to_path_buf(),
            strategy: placed.strategy,
            before: placed.before,
            after: placed.after,
            trace: placed.trace,
        });
        self.warnings.extend(made.warnings);
        self.put(path, &text, made.edits, changed, spots.collect())
    }

    /// Puts edits of the current text on top of those that are there.
    fn put(
        &mut self,
        path: &Path,
        text: &str,
        edits: Vec<TextEdit>,
        changed: String,
        spots: Vec<Spot>,
    ) -> Result<(), ToolError> {
        self.copied += changed.len();
        if self.copied > COPIED {
            return Err(refusal::too_long());
        }
        let mut spots = spots;
        if let Some(Some(Now { body: Body::Edited(first, _), .. })) = self.now.get(path) {
            let (first, second) = (EditMap::from_edits(first), EditMap::from_edits(&edits));
            let earlier = self.spots.iter_mut().filter(|spot| spot.path == *path);
            earlier.for_each(|spot| spot.trace.map_after(&second));
            spots.iter_mut().for_each(|spot| spot.trace.map_before(&first));
            self.retraced.insert(path.into());
        }
        self.spots.extend(spots);
        if let Some(Some(now)) = self.now.get_mut(path) {
            now.body = match &now.body {
                Body::AsItWas => Body::Edited(edits, Arc::new(changed)),
                Body::Edited(first, _) => {
                    Body::Edited(compose_edits(text, first, &edits), Arc::new(changed))
                }
                Body::New(_) => Body::New(Arc::new(changed)),
            };
        }
        Ok(())
    }

    /// Looks at a file, once.
    fn open(&mut self, path: &Path) -> Result<(), ToolError> {
        self.links.require_none(path)?;
        if self.now.contains_key(path) {
            return Ok(());
        }
        self.links.enter(self.cx, path)?;
        let found = self.held.current(path)?;
        let found = found.map(|bytes| Arc::new(Original::read_as(self.cx, path, bytes, self.told)));
        let now = found.as_ref().map(|_| Now { from: Some(path.into()), body: Body::AsItWas });
        self.originals.insert(path.into(), found);
        self.now.insert(path.into(), now);
        self.order.push(path.into());
        Ok(())
    }

    /// An error unless there is no file at this path.
    fn vacant(&mut self, path: &Path, what: refusal::Onto) -> Result<(), ToolError> {
        self.open(path)?;
        match self.current(path) {
            None => Ok(()),
            Some(_) => Err(refusal::occupied(path, what, self.format)),
        }
    }

    fn original(&self, path: &Path) -> Option<&Arc<Original>> {
        self.originals.get(path)?.as_ref()
    }

    fn current(&self, path: &Path) -> Option<&Now> {
        self.now.get(path)?.as_ref()
    }

    fn document(&self, path: &Path) -> Result<&TextDocument, ToolError> {
        match self.original(path).map(|found| found.document()) {
            Some(Ok(document)) => Ok(document),
            Some(Err(reason)) => Err(refusal::not_text(path, reason)),
            None => Err(ToolError::internal(format!("{} was not opened", show(path)))),
        }
    }

    /// The text of a file as it is now.
    fn text(&self, path: &Path) -> Result<Text, ToolError> {
        match self.current(path) {
            Some(Now { body: Body::Edited(_, text) | Body::New(text), .. }) => {
                Ok(Text::New(Arc::clone(text)))
            }
            Some(Now { from: Some(from), .. }) => {
                self.document(from)?;
                self.old_text(from).ok_or_else(|| refusal::missing(path, self.cx))
            }
            _ => Err(refusal::missing(path, self.cx)),
        }
    }

    /// The text of a file as it was; none if it was none.
    fn old_text(&self, path: &Path) -> Option<Text> {
        self.original(path).cloned().and_then(Text::old)
    }

    /// The bytes of a file as it is now.
    fn bytes(&self, path: &Path, now: &Now) -> Result<FileContent, ToolError> {
        let bytes = match (&now.body, &now.from) {
            (Body::New(text), _) => {
                let named = self.told.map(|encoding| TextFormat::new(encoding, false));
                let format = named.unwrap_or_else(|| charset::of_new(self.cx, path));
                encode(format, text).map_err(|error| refusal::unencodable(path, &error))
            }
            (Body::Edited(edits, text), Some(from)) => {
                let document = self.document(from)?;
                // The bytes are the text; a mark that an edit makes is refused below.
                if document.format() == TextFormat::PLAIN_UTF8 && !text.starts_with(charset::MARK) {
                    return Ok(FileContent::Text(Arc::clone(text)));
                }
                document.splice(edits).map_err(|error| refusal::splice(from, &error))
            }
            (_, Some(from)) => Ok(self.document(from)?.bytes().to_vec()),
            (_, None) => Err(ToolError::internal("A new file has no text")),
        };
        bytes.map(FileContent::from)
    }

    /// Counts the lines of what several steps have changed: from the original to
    /// the file as it will be.
    fn retrace(&mut self) {
        for path in std::mem::take(&mut self.retraced) {
            let Some(Now { body: Body::Edited(_, text), from: Some(from) }) = self.current(&path)
            else {
                continue;
            };
            let (new, old) = (Arc::clone(text), self.old_text(from));
            let mut spots: Vec<&mut Spot> =
                self.spots.iter_mut().filter(|spot| spot.path == path).collect();
            let traces: Vec<MovedRange> = spots.iter().map(|spot| spot.trace.clone()).collect();
            let lines = MovedRange::lines(&traces, old.as_deref().unwrap_or_default(), &new);
            for (spot, lines) in spots.iter_mut().zip(lines) {
                (spot.before, spot.after) = lines;
            }
        }
    }

    /// What has to be written.
    pub(super) fn finish(mut self) -> Result<Outcome, ToolError> {
        self.retrace();
        let mut changes = Vec::new();
        let mut files = Vec::new();
        let mut moved: HashSet<&Path> = HashSet::new();
        for path in &self.order {
            self.cx.check_cancelled()?;
            let Some(now) = self.current(path) else { continue };
            let existed = self.original(path).is_some();
            let stayed = now.from.as_ref() == Some(path);
            let is_marked = self.programs.contains_key(path);
            let bytes = match (&now.body, &now.from) {
                // It is written anew, text or not.
                (Body::AsItWas, Some(from)) if is_marked => {
                    self.held.current(from)?.map(FileContent::from)
                }
                (Body::AsItWas, _) => None,
                _ => Some(self.bytes(path, now)?),
            };
            let turned = |fate: Fate| self.turned(path, fate, now);
            match (&now.from, bytes) {
                (Some(_), None) if stayed => {}
                (Some(_), Some(bytes)) if stayed => {
                    if is_marked || self.document(path)?.bytes() != &*bytes {
                        let existing = ExistingFile::Replace;
                        changes.push(FileChange::Write { path: path.clone(), bytes, existing });
                        files.push(turned(Fate::Modified));
                    }
                }
                (Some(from), bytes) if !existed && self.current(from).is_none() => {
                    moved.insert(from);
                    changes.push(FileChange::Move { from: from.clone(), to: path.clone(), bytes });
                    files.push(turned(Fate::Moved(from.clone())));
                }
                (from, bytes) => {
                    let bytes = match bytes {
                        Some(bytes) => bytes,
                        None => self.bytes(path, now)?,
                    };
                    let existing = if existed { ExistingFile::Replace } else { ExistingFile::Refuse };
                    changes.push(FileChange::Write { path: path.clone(), bytes, existing });
                    let fate = match from {
                        Some(from) => Fate::Moved(from.clone()),
                        None if existed => Fate::Modified,
                        None => Fate::Created,
                    };
                    files.push(turned(fate));
                }
            }
        }
        // Those that live on under another name, though not by being renamed.
        let kept = self.order.iter().filter_map(|path| self.current(path)?.from.as_deref());
        let carried: HashSet<&Path> = kept.collect();
        for path in &self.order {
            let gone = self.current(path).is_none() && self.original(path).is_some();
            if gone && !moved.contains(path.as_path()) {
                changes.push(FileChange::Remove { path: path.clone() });
                if !carried.contains(path.as_path()) {
                    let old = self.old_text(path);
                    let path = path.clone();
                    let fate = Fate::Deleted;
                    files.push(Turned { path, fate, old, new: None, hash: None, runs: None });
                }
            }
        }
        for (change, turned) in self.links.finish() {
            changes.push(apply_edits);
            files.push(turned);
        }
        if changes.is_empty() {
            return Err(refusal::no_change());
        }
        let seen = self.originals.into_iter().filter_map(|(path, found)| Some((path, found?)));
        let seen = seen.collect();
        let (spots, programs, warnings) = (self.spots, self.programs, self.warnings);
        Ok(Outcome { changes, files, programs, spots, warnings, seen })
    }

    fn turned(&self, path: &Path, fate: Fate, now: &Now) -> Turned {
        let before = match &fate {
            Fate::Moved(from) => Some(from.as_path()),
            Fate::Created => None,
            _ => Some(path),
        };
        let old = before.and_then(|path| self.old_text(path));
        let (new, hash) = match &now.body {
            Body::AsItWas => {
                let from = now.from.as_deref().and_then(|from| self.original(from));
                (old.clone(), from.map(|found| found.hash().clone()))
            }
            Body::Edited(_, text) | Body::New(text) => (Some(Text::New(Arc::clone(text))), None),
        };
        let runs = self.programs.get(path).copied();
        Turned { path: path.into(), fate, old, new, hash, runs }
    }
}

/// An error unless the hunks, if there are any, take away all of the text.
fn require_all(path: &Path, text: &str, hunks: &[PatchHunk], rigour: MatchStrictness) -> Result<(), ToolError> {
    if hunks.iter().all(|hunk| hunk.lines.is_empty()) {
        let fits = hunks.is_empty() || text.is_empty();
        return if fits { Ok(()) } else { Err(refusal::not_empty(path, text)) };
    }
    match apply_hunks(text, hunks, rigour).map(|made| apply_edits(text, &made.edits)) {
        Ok(left) if left.is_empty() => Ok(()),
        _ => Err(refusal::other_content(path)),
    }
}

/// All bytes of a new file. What would not be read as it was written is
/// refused.
fn encode(format: TextFormat, text: &str) -> Result<Vec<u8>, UnencodableChar> {
    let bytes = [format.bom(), &format.encode(text)?].concat();
    let read = format.decode(&bytes).text;
    let pairs = read.char_indices().zip(text.chars());
    match pairs.into_iter().find(|((_, read), written)| read != written) {
        None => Ok(bytes),
        Some(((offset, _), character)) => {
            Err(UnencodableChar { character, offset, encoding: format.encoding().name() })
        }
    }
}
