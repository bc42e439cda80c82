//! The lists on disk: read without waiting, changed by one process at a time.

use std::fmt;
use std::path::{Path, PathBuf};

use hermes_threats::{ScanLevel, scan};
use serde::{Deserialize, Serialize};

use crate::error::MemoryError;
use crate::files::{self, DecodedFile};
use crate::list_format::{is_list, join, list_width, parse, preview};
use crate::operations::{ListChange, MemoryListState, MemoryOperation};
use crate::search::{MemoryHit, search_entries};
use crate::snapshot::{MemorySnapshot, render_block};
use crate::versions::{ListVersion, VersionStore};

/// Which list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryTarget {
    /// Notes on the work: `MEMORY.md`.
    Memory,
    /// What is known of the user: `USER.md`.
    User,
}

impl MemoryTarget {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Memory, Self::User];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::User => "user",
        }
    }

    fn stem(self) -> &'static str {
        match self {
            Self::Memory => "MEMORY",
            Self::User => "USER",
        }
    }

    fn heading(self) -> &'static str {
        match self {
            Self::Memory => "MEMORY (notes from earlier sessions)",
            Self::User => "USER PROFILE (what is known of the user)",
        }
    }
}

impl fmt::Display for MemoryTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How many characters the lists may have; none for one that is switched off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryLimits {
    /// The notes.
    pub memory: Option<usize>,
    /// The user.
    pub user: Option<usize>,
}

impl Default for MemoryLimits {
    fn default() -> Self {
        Self { memory: Some(2_200), user: Some(1_375) }
    }
}

/// A list as it is now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MemoryEntries {
    /// What is shown to the model, the oldest first.
    pub entries: Vec<String>,
    /// How many more are in the archive.
    pub archived: usize,
    /// How full the list is: `67% — 1474/2200 chars`.
    pub usage: String,
    /// The rules that entries meet and why they are kept from the prompt: place from 0, rule.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub suspicious: Vec<(usize, &'static str)>,
}

/// What came of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryWriteReport {
    /// The list now.
    pub entry_count: usize,
    /// The archive now.
    pub archived_count: usize,
    /// How full the list is.
    pub usage: String,
    /// What was done, in sentences.
    pub notes: Vec<String>,
    /// How the entries begin that moved to the archive for want of room.
    pub moved: Vec<String>,
    /// The number of the new version; none if nothing has changed.
    pub version: Option<u64>,
}

/// The lists of one home folder.
#[derive(Debug, Clone)]
pub struct MemoryStore {
    dir: PathBuf,
    limits: MemoryLimits,
}

impl MemoryStore {
    /// The lists in `folder`, which is made when first written to.
    pub fn new(folder: impl Into<PathBuf>, limits: MemoryLimits) -> Self {
        Self { dir: folder.into(), limits }
    }

    /// The file of a list.
    pub fn file(&self, target: MemoryTarget) -> PathBuf {
        self.dir.join(format!("{}.md", target.stem()))
    }

    /// The file of a list's archive.
    pub fn archive_file(&self, target: MemoryTarget) -> PathBuf {
        self.dir.join(format!("{}.archive.md", target.stem()))
    }

    fn versions(&self, target: MemoryTarget) -> VersionStore {
        VersionStore::new(self.dir.join(".history").join(target.stem()))
    }

    /// Whether a list is in use.
    pub fn is_enabled(&self, target: MemoryTarget) -> bool {
        self.limit(target).is_ok()
    }

    fn limit(&self, target: MemoryTarget) -> Result<usize, MemoryError> {
        let limit = match target {
            MemoryTarget::Memory => self.limits.memory,
            MemoryTarget::User => self.limits.user,
        };
        limit.ok_or(MemoryError::Disabled(target))
    }

    /// A list as it is now.
    pub fn read(&self, target: MemoryTarget) -> Result<MemoryEntries, MemoryError> {
        let limit = self.limit(target)?;
        let MemoryListState { entries, archive } = self.read_state(target)?;
        let rule = |entry: &String| scan(entry, ScanLevel::Strict).first().map(|found| found.id);
        let suspicious =
            entries.iter().enumerate().filter_map(|(at, entry)| Some((at, rule(entry)?))).collect();
        Ok(MemoryEntries {
            usage: format_usage(&entries, limit),
            archived: archive.len(),
            entries,
            suspicious,
        })
    }

    /// The entries that match a query, shown or archived, the best first.
    pub fn search(&self, target: MemoryTarget, query: &str) -> Result<Vec<MemoryHit>, MemoryError> {
        self.limit(target)?;
        let state = self.read_state(target)?;
        Ok(search_entries(&state.entries, &state.archive, query))
    }

    /// The lists as a model is shown them at the start of a session.
    pub fn snapshot(&self) -> MemorySnapshot {
        let mut snapshot = MemorySnapshot::default();
        for target in MemoryTarget::ALL {
            let Ok(limit) = self.limit(target) else { continue };
            let shown = match self.read_state(target) {
                Ok(MemoryListState { entries, archive }) => {
                    snapshot.warnings.extend(self.encoding_warning(target));
                    let usage = format_usage(&entries, limit);
                    let warnings = &mut snapshot.warnings;
                    render_block(target.heading(), &usage, &entries, archive.len(), warnings)
                }
                Err(error) => {
                    snapshot.warnings.push(error.to_string());
                    None
                }
            };
            match target {
                MemoryTarget::Memory => snapshot.memory = shown,
                MemoryTarget::User => snapshot.user = shown,
            }
        }
        snapshot
    }

    /// Carries out operations, all or none. What then has no room moves to the archive.
    pub fn apply(
        &self,
        target: MemoryTarget,
        operations: &[MemoryOperation],
    ) -> Result<MemoryWriteReport, MemoryError> {
        let cause = match operations {
            [] => return Err(MemoryError::Invalid("There is nothing to do".into())),
            [MemoryOperation::Add { .. }] => "add",
            [MemoryOperation::Replace { .. }] => "replace",
            [MemoryOperation::Remove { .. }] => "remove",
            [MemoryOperation::Archive { .. }] => "archive",
            _ => "batch",
        };
        let limit = self.limit(target)?;
        self.change(target, cause, |raw, state| {
            // One more entry harms no text, whatever it is.
            if cause != "add" {
                self.check_drift(target, raw, state, limit)?;
            }
            state.apply(operations, limit)
        })
    }

    /// Puts another text in place of a list, as a person wrote it. What has no room stays all the same.
    pub fn edit(&self, target: MemoryTarget, text: &str) -> Result<MemoryWriteReport, MemoryError> {
        self.change(target, "edit", |_, state| {
            state.entries = parse(text);
            state.archive.retain(|entry| !state.entries.contains(entry));
            Ok(ListChange::with_note("List written."))
        })
    }

    /// The versions of a list, the latest first.
    pub fn history(&self, target: MemoryTarget) -> Result<Vec<ListVersion>, MemoryError> {
        self.versions(target).all()
    }

    /// Makes a list again what it was in an earlier version. What later changes took out of the archive comes
    /// back; what they archived and is shown again leaves it.
    pub fn roll_back(
        &self,
        target: MemoryTarget,
        number: u64,
    ) -> Result<MemoryWriteReport, MemoryError> {
        let versions = self.versions(target);
        let version = versions.get(number)?;
        let later = versions.all()?.into_iter().filter(|later| later.number > number);
        let dropped: Vec<String> = later.flat_map(|later| later.dropped).collect();
        self.change(target, &format!("rollback to {number}"), |_, state| {
            state.entries = parse(&version.text);
            for entry in dropped {
                if !state.archive.contains(&entry) {
                    state.archive.push(entry);
                }
            }
            state.archive.retain(|entry| !state.entries.contains(entry));
            Ok(ListChange::with_note(&format!(
                "The list is again what it was in version {number}."
            )))
        })
    }

    /// A sentence on a list that another program has written as no list is.
    fn encoding_warning(&self, target: MemoryTarget) -> Option<String> {
        let file = self.file(target);
        let encoding = files::read_decoded(&file).ok()??.encoding?;
        Some(format!(
            "{} is not UTF-8 and was read as {encoding}; save it as UTF-8 if it is shown wrongly",
            file.display()
        ))
    }

    fn read_state(&self, target: MemoryTarget) -> Result<MemoryListState, MemoryError> {
        let entries = parse(&files::read(&self.file(target))?.unwrap_or_default());
        let mut archive = parse(&files::read(&self.archive_file(target))?.unwrap_or_default());
        // A process that ended between two writes has left an entry in both.
        archive.retain(|entry| !entries.contains(entry));
        Ok(MemoryListState { entries, archive })
    }

    /// Reads, changes and writes a list while nobody else does.
    fn change(
        &self,
        target: MemoryTarget,
        cause: &str,
        change: impl FnOnce(&str, &mut MemoryListState) -> Result<ListChange, MemoryError>,
    ) -> Result<MemoryWriteReport, MemoryError> {
        let file = self.file(target);
        let lock = files::lock(&file)?;
        let DecodedFile { text: raw, encoding } = files::read_decoded(&file)?.unwrap_or_default();
        let before = self.read_state(target)?;
        let mut after = before.clone();
        let mut effect = change(&raw, &mut after)?;
        if let Some(encoding) = encoding.filter(|_| before != after) {
            // What is written is UTF-8; how it was written can be looked up.
            let backup = files::back_up(&file)?;
            effect.notes.push(format!(
                "The file was {encoding} and is UTF-8 now; a copy of it as it was is {}.",
                backup.display()
            ));
        }
        let version = if before == after {
            None
        } else {
            Some(self.write_lists(target, cause, &raw, &before, &after, &effect)?)
        };
        drop(lock);
        let limit = self.limit(target).unwrap_or_default();
        Ok(MemoryWriteReport {
            entry_count: after.entries.len(),
            archived_count: after.archive.len(),
            usage: format_usage(&after.entries, limit),
            notes: effect.notes,
            moved: effect.moved.iter().map(|entry| preview(entry)).collect(),
            version,
        })
    }

    /// Writes in an order in which an end at any moment loses no entry: what comes into the archive before it
    /// leaves the list, what leaves the archive after.
    fn write_lists(
        &self,
        target: MemoryTarget,
        cause: &str,
        raw: &str,
        before: &MemoryListState,
        after: &MemoryListState,
        effect: &ListChange,
    ) -> Result<u64, MemoryError> {
        let (file, archive_file) = (self.file(target), self.archive_file(target));
        let versions = self.versions(target);
        let latest = versions.latest()?;
        let is_known = latest.is_some_and(|latest| latest.text == raw);
        if !is_known && !raw.is_empty() {
            versions.save("another program", raw, Vec::new())?;
        }
        if after.archive.iter().any(|entry| !before.archive.contains(entry)) {
            let mut both = before.archive.clone();
            both.extend(after.archive.iter().filter(|e| !before.archive.contains(e)).cloned());
            files::write(&archive_file, &join(&both))?;
        }
        let text = join(&after.entries);
        let number = versions.save(cause, &text, effect.dropped.clone())?;
        if let Err(error) = files::write(&file, &text) {
            versions.discard(number);
            return Err(error);
        }
        if before.archive.iter().any(|entry| !after.archive.contains(entry)) {
            files::write(&archive_file, &join(&after.archive))?;
        }
        Ok(number)
    }

    /// An error if somebody has written text into the file that is not a list of entries: a change would
    /// reshape what they wrote. A copy is made beside it.
    fn check_drift(
        &self,
        target: MemoryTarget,
        raw: &str,
        state: &MemoryListState,
        limit: usize,
    ) -> Result<(), MemoryError> {
        let why = if !is_list(raw) {
            "there are blank entries or blanks around the marks".to_owned()
        } else if let Some(long) = state.entries.iter().find(|e| e.chars().count() > limit) {
            format!("one entry is longer than the whole list may be: '{}'", preview(long))
        } else {
            return Ok(());
        };
        let path = self.file(target);
        let backup = files::back_up(&path)?;
        Err(MemoryError::Drift { path, why, backup })
    }

    /// The folder of the lists.
    pub fn dir(&self) -> &Path {
        &self.dir
    }
}

/// How full a list is.
fn format_usage(entries: &[String], limit: usize) -> String {
    let used = list_width(entries);
    let percent = used.saturating_mul(100).checked_div(limit).unwrap_or(100);
    format!("{percent}% — {used}/{limit} chars")
}
