//! The lists on disk. Reads take no lock; writes are serialized across
//! processes.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hermes_threats::{ScanLevel, scan};
use serde::{Deserialize, Serialize};

use crate::error::MemoryError;
use crate::files::{self, DecodedFile};
use crate::list_format::{is_list, join, list_width, parse, preview};
use crate::operations::{ListChange, MemoryListState, MemoryOperation};
use crate::search::{MemoryHit, search_entries};
use crate::snapshot::{MemorySnapshot, render_block};
use crate::versions::{ListVersion, VersionStore};

/// One of the two lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryTarget {
    /// Notes on the work: `MEMORY.md`.
    Memory,
    /// Facts about the user: `USER.md`.
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
            Self::User => "USER PROFILE (what is known about the user)",
        }
    }
}

impl fmt::Display for MemoryTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The rule that an entry with a secret of the user breaks.
const SECRET_RULE: &str = "known-secret";

/// Size limits of the lists in characters; none disables a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryLimits {
    /// Limit of the notes.
    pub memory: Option<usize>,
    /// Limit of the user profile.
    pub user: Option<usize>,
}

impl Default for MemoryLimits {
    fn default() -> Self {
        Self { memory: Some(2_200), user: Some(1_375) }
    }
}

/// The current content of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MemoryEntries {
    /// The entries shown to the model, oldest first.
    pub entries: Vec<String>,
    /// Number of entries in the archive.
    pub archived: usize,
    /// Usage of the limit: `67% — 1474/2200 chars`.
    pub usage: String,
    /// Entries withheld from the prompt: index from 0, and the rule that
    /// matches.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub suspicious: Vec<(usize, &'static str)>,
}

/// Outcome of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryWriteReport {
    /// Entries in the list after the change.
    pub entry_count: usize,
    /// Entries in the archive after the change.
    pub archived_count: usize,
    /// Usage of the limit.
    pub usage: String,
    /// What was done, as sentences.
    pub notes: Vec<String>,
    /// Previews of the entries that moved to the archive for lack of space.
    pub moved: Vec<String>,
    /// Number of the new version; none if nothing changed.
    pub version: Option<u64>,
}

/// Whether a text contains a secret of the user.
pub type SecretCheck = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// The lists of one directory.
#[derive(Clone)]
pub struct MemoryStore {
    dir: PathBuf,
    limits: MemoryLimits,
    secret_check: Option<SecretCheck>,
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore")
            .field("dir", &self.dir)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

impl MemoryStore {
    /// Opens the lists in `folder`, which is created on the first write.
    pub fn new(directory: impl Into<PathBuf>, limits: MemoryLimits) -> Self {
        Self { dir: directory.into(), limits, secret_check: None }
    }

    /// Sets the check for secrets, which are neither written nor shown.
    #[must_use]
    pub fn with_secret_check(mut self, check: SecretCheck) -> Self {
        self.secret_check = Some(check);
        self
    }

    /// Returns the rule that an entry breaks, if any.
    fn broken_rule(&self, entry: &str) -> Option<&'static str> {
        let has_secret = self.secret_check.as_ref().is_some_and(|check| check(entry));
        let rule = scan(entry, ScanLevel::Strict).first().map(|found| found.id);
        if has_secret { Some(SECRET_RULE) } else { rule }
    }

    /// Fails if an operation would write a secret.
    fn check_secrets(&self, operations: &[MemoryOperation]) -> Result<(), MemoryError> {
        let Some(check) = &self.secret_check else { return Ok(()) };
        let has_secret = |operation: &MemoryOperation| match operation {
            MemoryOperation::Add { content } | MemoryOperation::Replace { content, .. } => {
                check(content)
            }
            MemoryOperation::Remove { .. } | MemoryOperation::Archive { .. } => false,
        };
        let refused = MemoryError::Threat { rule: SECRET_RULE, excerpt: "[secret]".to_owned() };
        match operations.iter().position(has_secret) {
            None => Ok(()),
            Some(_) if operations.len() == 1 => Err(refused),
            Some(at) => Err(MemoryError::Batch { index: at + 1, cause: Box::new(refused) }),
        }
    }

    /// Path of a list.
    pub fn file(&self, target: MemoryTarget) -> PathBuf {
        self.dir.join(format!("{}.md", target.stem()))
    }

    /// Path of a list's archive.
    pub fn archive_file(&self, target: MemoryTarget) -> PathBuf {
        self.dir.join(format!("{}.archive.md", target.stem()))
    }

    fn versions(&self, target: MemoryTarget) -> VersionStore {
        VersionStore::new(self.dir.join(".history").join(target.stem()))
    }

    /// Whether a list is enabled.
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

    /// Reads a list.
    pub fn read(&self, target: MemoryTarget) -> Result<MemoryEntries, MemoryError> {
        let limit = self.limit(target)?;
        let MemoryListState { entries, archive } = self.read_state(target)?;
        let rule = |entry: &String| self.broken_rule(entry);
        let suspicious =
            entries.iter().enumerate().filter_map(|(at, entry)| Some((at, rule(entry)?))).collect();
        Ok(MemoryEntries {
            usage: format_usage(&entries, limit),
            archived: archive.len(),
            entries,
            suspicious,
        })
    }

    /// Returns the entries that match a query, shown or archived, best first.
    pub fn search(&self, target: MemoryTarget, query: &str) -> Result<Vec<MemoryHit>, MemoryError> {
        self.limit(target)?;
        let state = self.read_state(target)?;
        Ok(search_entries(&state.entries, &state.archive, query))
    }

    /// Returns the lists as shown to the model at the start of a session.
    pub fn snapshot(&self) -> MemorySnapshot {
        let mut snapshot = MemorySnapshot::default();
        for target in MemoryTarget::ALL {
            let Ok(limit) = self.limit(target) else { continue };
            let shown = match self.read_state(target) {
                Ok(MemoryListState { entries, archive }) => {
                    snapshot.warnings.extend(self.encoding_warning(target));
                    let usage = format_usage(&entries, limit);
                    let warnings = &mut snapshot.warnings;
                    let rule = |entry: &str| self.broken_rule(entry);
                    render_block(target.heading(), &usage, &entries, archive.len(), rule, warnings)
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

    /// Applies all operations or none. Entries that then exceed the limit move
    /// to the archive.
    pub fn apply(
        &self,
        target: MemoryTarget,
        operations: &[MemoryOperation],
    ) -> Result<MemoryWriteReport, MemoryError> {
        let cause = match operations {
            [] => return Err(MemoryError::Invalid("No operations given".into())),
            [MemoryOperation::Add { .. }] => "add",
            [MemoryOperation::Replace { .. }] => "replace",
            [MemoryOperation::Remove { .. }] => "remove",
            [MemoryOperation::Archive { .. }] => "archive",
            _ => "batch",
        };
        let limit = self.limit(target)?;
        self.check_secrets(operations)?;
        self.change(target, cause, |raw, state| {
            // Appending an entry preserves any text.
            if cause != "add" {
                self.check_drift(target, raw, state, limit)?;
            }
            state.apply(operations, limit)
        })
    }

    /// Replaces a list with a text that the user wrote. Entries beyond the
    /// limit stay.
    pub fn edit(&self, target: MemoryTarget, text: &str) -> Result<MemoryWriteReport, MemoryError> {
        self.change(target, "edit", |_, state| {
            state.entries = parse(text);
            state.archive.retain(|entry| !state.entries.contains(entry));
            Ok(ListChange::with_note("List written."))
        })
    }

    /// Returns the versions of a list, latest first.
    pub fn history(&self, target: MemoryTarget) -> Result<Vec<ListVersion>, MemoryError> {
        self.versions(target).all()
    }

    /// Restores an earlier version of a list. Entries that later changes
    /// dropped from the archive return to it; entries that are shown again
    /// leave it.
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
            Ok(ListChange::with_note(&format!("The list was restored to version {number}.")))
        })
    }

    /// Returns a warning if a list is not in UTF-8.
    fn encoding_warning(&self, target: MemoryTarget) -> Option<String> {
        let file = self.file(target);
        let encoding = files::read_decoded(&file).ok()??.encoding?;
        Some(format!(
            "{} is not UTF-8 and was decoded as {encoding}; save it as UTF-8 if it looks wrong",
            file.display()
        ))
    }

    fn read_state(&self, target: MemoryTarget) -> Result<MemoryListState, MemoryError> {
        let entries = parse(&files::read(&self.file(target))?.unwrap_or_default());
        let mut archive = parse(&files::read(&self.archive_file(target))?.unwrap_or_default());
        // A process that was killed between two writes leaves an entry in both.
        archive.retain(|entry| !entries.contains(entry));
        Ok(MemoryListState { entries, archive })
    }

    /// Reads, changes and writes a list under its lock.
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
            // The new file is UTF-8; keep the original bytes.
            let backup = files::back_up(&file)?;
            effect.notes.push(format!(
                "The file was converted from {encoding} to UTF-8; the original was copied to {}.",
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

    /// Writes in an order that loses no entry on a crash: entries are added to
    /// the archive before they leave the list, and removed from it afterwards.
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

    /// Returns an error, and makes a backup, if the file contains text that is
    /// not a list of entries: a change would reformat what the user wrote.
    fn check_drift(
        &self,
        target: MemoryTarget,
        raw: &str,
        state: &MemoryListState,
        limit: usize,
    ) -> Result<(), MemoryError> {
        let why = if !is_list(raw) {
            "there are blank entries, or whitespace around delimiters".to_owned()
        } else if let Some(long) = state.entries.iter().find(|e| e.chars().count() > limit) {
            format!("an entry exceeds the limit of the list: '{}'", preview(long))
        } else {
            return Ok(());
        };
        let path = self.file(target);
        let backup = files::back_up(&path)?;
        Err(MemoryError::Drift { path, why, backup })
    }

    /// Directory of the lists.
    pub fn dir(&self) -> &Path {
        &self.dir
    }
}

/// Formats the usage of the limit.
fn format_usage(entries: &[String], limit: usize) -> String {
    let used = list_width(entries);
    let percent = used.saturating_mul(100).checked_div(limit).unwrap_or(100);
    format!("{percent}% — {used}/{limit} chars")
}
