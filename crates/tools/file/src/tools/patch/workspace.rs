//! In-memory state of the files of a call. Every step is applied here first;
//! nothing is written until all of them succeed.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use encoding_rs::Encoding;
use hermes_core::{ToolContext, ToolError};
use hermes_files::{FileAccess, FileContent};
use hermes_text::codec::{TextFormat, UnencodableChar};
use hermes_text::matching::{
    EditMap, MatchStrictness, MovedRange, PatchHunk, ReplaceError, ReplaceRequest, apply_edits,
    apply_hunks, compose_edits, replace_text,
};
use hermes_text::patch_formats::PatchFormat;
use hermes_text::{TextDocument, TextEdit};

use super::around_secrets;
use super::links::{self, PatchLinks};
use super::outcome::{ChangedSpot, FileFate, FileText, PatchOutcome, PatchedFile};
use super::refusal;
use super::request::PatchStep;
use crate::change::{ExistingFile, FileChange, LockedFiles};
use crate::charset;
use crate::original::OriginalFile;
use crate::path_text::display_path;
use crate::seen_files::FileHash;

/// A file's state after the steps so far.
#[derive(Debug, Clone)]
struct PendingFile {
    /// The file that the content comes from; `None` for a new file.
    from: Option<PathBuf>,
    body: PendingBody,
}

#[derive(Debug, Clone)]
enum PendingBody {
    Unchanged,
    /// Edits of the original, and the resulting text.
    Edited(Vec<TextEdit>, Arc<String>),
    New(Arc<String>),
}

/// Limit on bytes of text copied for steps that build on each other.
const MAX_COPIED_BYTES: usize = 2 << 30;

pub(super) struct PatchWorkspace<'a> {
    cx: &'a ToolContext,
    locked: &'a LockedFiles<'a>,
    /// The encoding that the caller set.
    encoding: Option<&'static Encoding>,
    /// Format of the patch; `None` in replace mode.
    format: Option<PatchFormat>,
    originals: HashMap<PathBuf, Option<Arc<OriginalFile>>>,
    pending: HashMap<PathBuf, Option<PendingFile>>,
    /// Paths in the order in which the steps name them.
    order: Vec<PathBuf>,
    /// Files whose executable bit is set (`true`) or cleared.
    programs: HashMap<PathBuf, bool>,
    links: PatchLinks,
    spots: Vec<ChangedSpot>,
    /// Files changed by several steps, whose line numbers are counted at the
    /// end.
    to_recount: HashSet<PathBuf>,
    warnings: Vec<String>,
    copied: usize,
}

impl<'a> PatchWorkspace<'a> {
    pub(super) fn new(
        cx: &'a ToolContext,
        held: &'a LockedFiles<'a>,
        shown: Option<&'static Encoding>,
        format: Option<PatchFormat>,
    ) -> Self {
        Self {
            cx,
            locked: held,
            encoding: shown,
            format,
            originals: HashMap::new(),
            pending: HashMap::new(),
            order: Vec::new(),
            programs: HashMap::new(),
            links: PatchLinks::default(),
            spots: Vec::new(),
            to_recount: HashSet::new(),
            warnings: Vec::new(),
            copied: 0,
        }
    }

    /// Fails unless the file has the expected version.
    pub(super) fn expect(&mut self, path: &Path, expected: &FileHash) -> Result<(), ToolError> {
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

    /// Applies one step.
    pub(super) fn apply_step(
        &mut self,
        step: &PatchStep,
        rigour: MatchStrictness,
    ) -> Result<(), ToolError> {
        match step {
            PatchStep::Replace { path, old, new, all } => {
                let request = ReplaceRequest { old, new, all: *all, strictness: rigour };
                self.replace(path, &request)
            }
            PatchStep::Add { path, text } => {
                self.open(path)?;
                if self.current(path).is_some()
                    && self.text(path).is_ok_and(|now| *now == *text.as_str())
                {
                    return Err(refusal::no_change());
                }
                self.require_absent(path, refusal::IncomingFile::New)?;
                let body = PendingBody::New(Arc::new(text.clone()));
                self.pending.insert(path.clone(), Some(PendingFile { from: None, body }));
                Ok(())
            }
            PatchStep::Update { path, hunks, to } => {
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
                    self.require_absent(to, refusal::IncomingFile::Moved)?;
                }
                if !hunks.is_empty() {
                    self.apply(path, hunks, rigour)?;
                }
                if let Some(to) = to.as_ref().filter(|to| *to != path) {
                    let moved = self.pending.insert(path.clone(), None).flatten();
                    self.pending.insert(to.clone(), moved);
                    let spots = self.spots.iter_mut().filter(|spot| spot.path == *path);
                    spots.for_each(|spot| spot.path.clone_from(to));
                    if self.to_recount.remove(path) {
                        self.to_recount.insert(to.clone());
                    }
                }
                Ok(())
            }
            PatchStep::Delete { path, hunks } => {
                if let Some(target) = links::target(self.cx, path) {
                    if self.pending.contains_key(path) {
                        return Err(refusal::link_twice(path));
                    }
                    // In a diff, the target of a symlink is its only line.
                    require_full_deletion(path, &target.to_string_lossy(), hunks, rigour)?;
                    return self.links.delete(path);
                }
                self.open(path)?;
                if self.current(path).is_none() {
                    return Err(refusal::missing(path, self.cx));
                }
                if !hunks.is_empty() {
                    require_full_deletion(path, &self.text(path)?, hunks, rigour)?;
                }
                self.pending.insert(path.clone(), None);
                Ok(())
            }
        }
    }

    /// Sets or clears the executable bit of a file when it is written.
    pub(super) fn set_executable(&mut self, path: &Path, runs: bool) -> Result<(), ToolError> {
        self.open(path)?;
        let Some(now) = self.current(path) else {
            return Err(refusal::missing(path, self.cx));
        };
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
        if self.pending.contains_key(path) {
            return Err(refusal::link_twice(path));
        }
        if !hunks.is_empty() {
            return Err(refusal::moved_link(path, target));
        }
        self.require_absent(to, refusal::IncomingFile::Moved)?;
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
        let made = replace_text(&text, request)
            .or_else(|mismatch| match mismatch {
                ReplaceError::NotFound => around_secrets::replace(&text, request).ok_or(mismatch),
                mismatch => Err(mismatch),
            })
            .map_err(|mismatch| {
                let hash = self.original(path).map(|found| found.hash().to_string());
                refusal::mismatch(path, &text, request, mismatch, hash)
            })?;
        let changed = apply_edits(&text, &made.edits);
        let lines = made.lines.iter().zip(&made.after);
        let spots = made.places.into_iter().zip(lines).map(|(trace, (before, after))| {
            let (path, strategy) = (path.to_path_buf(), made.strategy);
            ChangedSpot { path, strategy, before: *before, after: *after, trace }
        });
        self.warnings.extend(made.warnings);
        self.push_edits(path, &text, made.edits, changed, spots.collect())
    }

    fn apply(
        &mut self,
        path: &Path,
        hunks: &[PatchHunk],
        rigour: MatchStrictness,
    ) -> Result<(), ToolError> {
        let text = self.text(path)?;
        let made = apply_hunks(&text, hunks, rigour)
            .or_else(|failure| around_secrets::apply(&text, hunks, rigour).ok_or(failure))
            .map_err(|failure| {
                let hash = self.original(path).map(|found| found.hash().to_string());
                refusal::with_hash(
                    refusal::hunk_mismatch(path, &text, hunks, &failure, self.format),
                    hash,
                )
            })?;
        let changed = apply_edits(&text, &made.edits);
        let spots = made.placed.into_iter().map(|placed| ChangedSpot {
            path: path.to_path_buf(),
            strategy: placed.strategy,
            before: placed.before,
            after: placed.after,
            trace: placed.trace,
        });
        self.warnings.extend(made.warnings);
        self.push_edits(path, &text, made.edits, changed, spots.collect())
    }

    /// Composes edits of the current text with the earlier ones.
    fn push_edits(
        &mut self,
        path: &Path,
        text: &str,
        edits: Vec<TextEdit>,
        changed: String,
        spots: Vec<ChangedSpot>,
    ) -> Result<(), ToolError> {
        self.copied += changed.len();
        if self.copied > MAX_COPIED_BYTES {
            return Err(refusal::too_long());
        }
        let mut spots = spots;
        if let Some(Some(PendingFile { body: PendingBody::Edited(first, _), .. })) =
            self.pending.get(path)
        {
            let (first, second) = (EditMap::from_edits(first), EditMap::from_edits(&edits));
            let earlier = self.spots.iter_mut().filter(|spot| spot.path == *path);
            earlier.for_each(|spot| spot.trace.map_after(&second));
            spots.iter_mut().for_each(|spot| spot.trace.map_before(&first));
            self.to_recount.insert(path.into());
        }
        self.spots.extend(spots);
        if let Some(Some(now)) = self.pending.get_mut(path) {
            now.body = match &now.body {
                PendingBody::Unchanged => PendingBody::Edited(edits, Arc::new(changed)),
                PendingBody::Edited(first, _) => {
                    PendingBody::Edited(compose_edits(text, first, &edits), Arc::new(changed))
                }
                PendingBody::New(_) => PendingBody::New(Arc::new(changed)),
            };
        }
        Ok(())
    }

    /// Loads a file, once.
    fn open(&mut self, path: &Path) -> Result<(), ToolError> {
        self.links.require_none(path)?;
        if self.pending.contains_key(path) {
            return Ok(());
        }
        self.links.register(self.cx, path)?;
        let found = self.locked.current(path)?;
        let found =
            found.map(|bytes| Arc::new(OriginalFile::read_as(self.cx, path, bytes, self.encoding)));
        let now = found
            .as_ref()
            .map(|_| PendingFile { from: Some(path.into()), body: PendingBody::Unchanged });
        self.originals.insert(path.into(), found);
        self.pending.insert(path.into(), now);
        self.order.push(path.into());
        Ok(())
    }

    /// Fails if a file exists at this path.
    fn require_absent(
        &mut self,
        path: &Path,
        what: refusal::IncomingFile,
    ) -> Result<(), ToolError> {
        self.open(path)?;
        match self.current(path) {
            None => Ok(()),
            Some(_) => Err(refusal::occupied(path, what, self.format)),
        }
    }

    fn original(&self, path: &Path) -> Option<&Arc<OriginalFile>> {
        self.originals.get(path)?.as_ref()
    }

    fn current(&self, path: &Path) -> Option<&PendingFile> {
        self.pending.get(path)?.as_ref()
    }

    fn document(&self, path: &Path) -> Result<&TextDocument, ToolError> {
        match self.original(path).map(|found| found.document()) {
            Some(Ok(document)) => Ok(document),
            Some(Err(reason)) => Err(refusal::not_text(path, reason)),
            None => Err(ToolError::internal(format!("{} was not opened", display_path(path)))),
        }
    }

    /// The current text of a file.
    fn text(&self, path: &Path) -> Result<FileText, ToolError> {
        match self.current(path) {
            Some(PendingFile {
                body: PendingBody::Edited(_, text) | PendingBody::New(text),
                ..
            }) => Ok(FileText::New(Arc::clone(text))),
            Some(PendingFile { from: Some(from), .. }) => {
                self.document(from)?;
                self.old_text(from).ok_or_else(|| refusal::missing(path, self.cx))
            }
            _ => Err(refusal::missing(path, self.cx)),
        }
    }

    /// The original text of a file; `None` if it did not exist or is not text.
    fn old_text(&self, path: &Path) -> Option<FileText> {
        self.original(path).cloned().and_then(FileText::old)
    }

    /// The current bytes of a file.
    fn bytes(&self, path: &Path, now: &PendingFile) -> Result<FileContent, ToolError> {
        let bytes = match (&now.body, &now.from) {
            (PendingBody::New(text), _) => {
                let named = self.encoding.map(|encoding| TextFormat::new(encoding, false));
                let format = named.unwrap_or_else(|| charset::new_file_format(self.cx, path));
                encode(format, text).map_err(|error| refusal::unencodable(path, &error))
            }
            (PendingBody::Edited(edits, text), Some(from)) => {
                let document = self.document(from)?;
                // The bytes are the text; a BOM produced by an edit is rejected
                // below.
                if document.format() == TextFormat::PLAIN_UTF8
                    && !text.starts_with(charset::BYTE_ORDER_MARK)
                {
                    return Ok(FileContent::Text(Arc::clone(text)));
                }
                document.splice(edits).map_err(|error| refusal::splice_error(from, &error))
            }
            (_, Some(from)) => Ok(self.document(from)?.bytes().to_vec()),
            (_, None) => Err(ToolError::internal("A new file has no text")),
        };
        bytes.map(FileContent::from)
    }

    /// Counts the lines of spots in files changed by several steps: from the
    /// original to the final text.
    fn recount_lines(&mut self) {
        for path in std::mem::take(&mut self.to_recount) {
            let Some(PendingFile { body: PendingBody::Edited(_, text), from: Some(from) }) =
                self.current(&path)
            else {
                continue;
            };
            let (new, old) = (Arc::clone(text), self.old_text(from));
            let mut spots: Vec<&mut ChangedSpot> =
                self.spots.iter_mut().filter(|spot| spot.path == path).collect();
            let traces: Vec<MovedRange> = spots.iter().map(|spot| spot.trace.clone()).collect();
            let lines = MovedRange::lines(&traces, old.as_deref().unwrap_or_default(), &new);
            for (spot, lines) in spots.iter_mut().zip(lines) {
                (spot.before, spot.after) = lines;
            }
        }
    }

    /// Returns the changes to write.
    pub(super) fn finish(mut self) -> Result<PatchOutcome, ToolError> {
        self.recount_lines();
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
                // The file is rewritten whether it is text or not.
                (PendingBody::Unchanged, Some(from)) if is_marked => {
                    self.locked.current(from)?.map(FileContent::from)
                }
                (PendingBody::Unchanged, _) => None,
                _ => Some(self.bytes(path, now)?),
            };
            let turned = |fate: FileFate| self.patched_file(path, fate, now);
            match (&now.from, bytes) {
                (Some(_), None) if stayed => {}
                (Some(_), Some(bytes)) if stayed => {
                    if is_marked || self.document(path)?.bytes() != &*bytes {
                        let existing = ExistingFile::Replace;
                        changes.push(FileChange::Write { path: path.clone(), bytes, existing });
                        files.push(turned(FileFate::Modified));
                    }
                }
                (Some(from), bytes) if !existed && self.current(from).is_none() => {
                    moved.insert(from);
                    changes.push(FileChange::Move { from: from.clone(), to: path.clone(), bytes });
                    files.push(turned(FileFate::Moved(from.clone())));
                }
                (from, bytes) => {
                    let bytes = match bytes {
                        Some(bytes) => bytes,
                        None => self.bytes(path, now)?,
                    };
                    let existing =
                        if existed { ExistingFile::Replace } else { ExistingFile::Refuse };
                    changes.push(FileChange::Write { path: path.clone(), bytes, existing });
                    let fate = match from {
                        Some(from) => FileFate::Moved(from.clone()),
                        None if existed => FileFate::Modified,
                        None => FileFate::Created,
                    };
                    files.push(turned(fate));
                }
            }
        }
        // Files whose content continues under another name without a rename.
        let kept = self.order.iter().filter_map(|path| self.current(path)?.from.as_deref());
        let carried: HashSet<&Path> = kept.collect();
        for path in &self.order {
            let gone = self.current(path).is_none() && self.original(path).is_some();
            if gone && !moved.contains(path.as_path()) {
                changes.push(FileChange::Remove { path: path.clone() });
                if !carried.contains(path.as_path()) {
                    let old = self.old_text(path);
                    let path = path.clone();
                    let fate = FileFate::Deleted;
                    files.push(PatchedFile {
                        path,
                        fate,
                        old,
                        new: None,
                        hash: None,
                        is_executable: None,
                    });
                }
            }
        }
        for (change, turned) in self.links.finish() {
            changes.push(change);
            files.push(turned);
        }
        if changes.is_empty() {
            return Err(refusal::no_change());
        }
        let seen = self.originals.into_iter().filter_map(|(path, found)| Some((path, found?)));
        let seen = seen.collect();
        let (spots, programs, warnings) = (self.spots, self.programs, self.warnings);
        Ok(PatchOutcome { changes, files, programs, spots, warnings, seen })
    }

    fn patched_file(&self, path: &Path, fate: FileFate, now: &PendingFile) -> PatchedFile {
        let before = match &fate {
            FileFate::Moved(from) => Some(from.as_path()),
            FileFate::Created => None,
            _ => Some(path),
        };
        let old = before.and_then(|path| self.old_text(path));
        let (new, hash) = match &now.body {
            PendingBody::Unchanged => {
                let from = now.from.as_deref().and_then(|from| self.original(from));
                (old.clone(), from.map(|found| found.hash().clone()))
            }
            PendingBody::Edited(_, text) | PendingBody::New(text) => {
                (Some(FileText::New(Arc::clone(text))), None)
            }
        };
        let runs = self.programs.get(path).copied();
        PatchedFile { path: path.into(), fate, old, new, hash, is_executable: runs }
    }
}

/// Fails unless the hunks, if any, delete the whole text.
fn require_full_deletion(
    path: &Path,
    text: &str,
    hunks: &[PatchHunk],
    rigour: MatchStrictness,
) -> Result<(), ToolError> {
    if hunks.iter().all(|hunk| hunk.lines.is_empty()) {
        let fits = hunks.is_empty() || text.is_empty();
        return if fits { Ok(()) } else { Err(refusal::not_empty(path, text)) };
    }
    match apply_hunks(text, hunks, rigour).map(|made| apply_edits(text, &made.edits)) {
        Ok(left) if left.is_empty() => Ok(()),
        _ => Err(refusal::other_content(path)),
    }
}

/// Encodes a new file. Fails if decoding would not give the same text.
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
