//! Operations on a list and its archive, in memory.

use hermes_threats::{ScanLevel, scan};
use serde::{Deserialize, Serialize};

use crate::error::MemoryError;
use crate::list_format::{list_width, normalize_entry, preview, text_width};

/// Maximum length of an entry. Longer text belongs in a file.
const MAX_ENTRY_CHARS: usize = 16_384;

/// Maximum number of matches in an error.
const MAX_LISTED_MATCHES: usize = 10;

/// A change to a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum MemoryOperation {
    /// Adds an entry.
    Add {
        /// Its text.
        content: String,
    },
    /// Replaces the text of an entry.
    Replace {
        /// A part of the entry that is unique to it.
        old_text: String,
        /// The new text.
        content: String,
    },
    /// Removes an entry.
    Remove {
        /// A part of the entry that is unique to it.
        old_text: String,
    },
    /// Moves an entry to the archive.
    Archive {
        /// A part of the entry that is unique to it.
        old_text: String,
    },
}

/// A list and its archive.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct MemoryListState {
    /// Entries shown to the model, oldest first.
    pub(crate) entries: Vec<String>,
    /// Archived entries, oldest first.
    pub(crate) archive: Vec<String>,
}

/// Outcome of the operations.
#[derive(Debug, Default)]
pub(crate) struct ListChange {
    /// Entries written by these operations.
    fresh: Vec<String>,
    /// What was done, as sentences.
    pub(crate) notes: Vec<String>,
    /// Entries that moved to the archive for lack of space.
    pub(crate) moved: Vec<String>,
    /// Entries removed from the archive.
    pub(crate) dropped: Vec<String>,
}

impl ListChange {
    /// A change with only a note.
    pub(crate) fn with_note(note: &str) -> Self {
        Self { notes: vec![note.to_owned()], ..Self::default() }
    }
}

impl MemoryListState {
    /// Applies all operations, then evicts entries beyond the limit. An error
    /// in a batch names the operation's position.
    pub(crate) fn apply(
        &mut self,
        operations: &[MemoryOperation],
        limit: usize,
    ) -> Result<ListChange, MemoryError> {
        let mut effect = ListChange::default();
        for (at, operation) in operations.iter().enumerate() {
            self.apply_one(operation, &mut effect).map_err(|cause| match operations.len() {
                1 => cause,
                _ => MemoryError::Batch { index: at + 1, cause: Box::new(cause) },
            })?;
        }
        self.evict_overflow(limit, &mut effect);
        Ok(effect)
    }

    fn apply_one(
        &mut self,
        operation: &MemoryOperation,
        effect: &mut ListChange,
    ) -> Result<(), MemoryError> {
        match operation {
            MemoryOperation::Add { content } => {
                let content = validate_content(content)?;
                self.add(content, effect);
            }
            MemoryOperation::Replace { old_text, content } => {
                let content = validate_content(content)?;
                match self.locate(old_text)? {
                    EntryLocation::Entry(at) => {
                        let old = std::mem::take(&mut self.entries[at]);
                        // The new text may equal another entry.
                        self.archive.retain(|entry| *entry != content);
                        if self.entries.contains(&content) && old != content {
                            self.entries.remove(at);
                            effect.notes.push("The new text already exists.".into());
                        } else {
                            self.entries[at].clone_from(&content);
                            effect.notes.push("Entry replaced.".into());
                        }
                        effect.fresh.retain(|entry| *entry != old);
                        effect.fresh.push(content);
                    }
                    EntryLocation::Archive(at) => {
                        effect.dropped.push(self.archive.remove(at));
                        self.add(content, effect);
                        effect.notes.push("The old text was in the archive.".into());
                    }
                }
            }
            MemoryOperation::Remove { old_text } => match self.locate(old_text)? {
                EntryLocation::Entry(at) => {
                    let old = self.entries.remove(at);
                    effect.fresh.retain(|entry| *entry != old);
                    effect.notes.push("Entry removed.".into());
                }
                EntryLocation::Archive(at) => {
                    effect.dropped.push(self.archive.remove(at));
                    effect.notes.push("Entry removed from the archive.".into());
                }
            },
            MemoryOperation::Archive { old_text } => match self.locate(old_text)? {
                EntryLocation::Entry(at) => {
                    let old = self.entries.remove(at);
                    effect.fresh.retain(|entry| *entry != old);
                    self.archive_entry(old);
                    effect.notes.push("Entry moved to the archive.".into());
                }
                EntryLocation::Archive(_) => {
                    effect.notes.push("The entry is already in the archive.".into());
                }
            },
        }
        Ok(())
    }

    fn add(&mut self, content: String, effect: &mut ListChange) {
        if self.entries.contains(&content) {
            effect.notes.push("The entry already exists.".into());
            return;
        }
        let before = self.archive.len();
        self.archive.retain(|entry| *entry != content);
        effect.notes.push(match self.archive.len() == before {
            true => "Entry added.".into(),
            false => "Entry restored from the archive.".into(),
        });
        effect.fresh.push(content.clone());
        self.entries.push(content);
    }

    /// Adds an entry to the archive, unless it is already in it.
    fn archive_entry(&mut self, entry: String) {
        if !self.archive.contains(&entry) {
            self.archive.push(entry);
        }
    }

    /// Finds the entry that contains a text; shown entries take precedence over
    /// archived ones.
    fn locate(&self, wanted: &str) -> Result<EntryLocation, MemoryError> {
        let wanted = normalize_entry(wanted);
        if wanted.is_empty() {
            return Err(MemoryError::Invalid(
                "old_text is missing: give a unique part of the entry".into(),
            ));
        }
        for (list, place) in [
            (&self.entries, EntryLocation::Entry as fn(usize) -> EntryLocation),
            (&self.archive, EntryLocation::Archive),
        ] {
            if let Some(at) = list.iter().position(|entry| *entry == wanted) {
                return Ok(place(at));
            }
            let found: Vec<usize> =
                (0..list.len()).filter(|&at| list[at].contains(&wanted)).collect();
            match found.as_slice() {
                [] => {}
                [at] => return Ok(place(*at)),
                several => {
                    let matches = several
                        .iter()
                        .take(MAX_LISTED_MATCHES)
                        .map(|&at| preview(&list[at]))
                        .collect();
                    return Err(MemoryError::Ambiguous { wanted: preview(&wanted), matches });
                }
            }
        }
        Err(MemoryError::NoMatch(preview(&wanted)))
    }

    /// Moves entries beyond the limit to the archive: oldest first, those just
    /// written last. An entry that alone exceeds the limit was written by hand
    /// and stays; then the new entries are archived instead.
    fn evict_overflow(&mut self, limit: usize, effect: &mut ListChange) {
        let fresh = std::mem::take(&mut effect.fresh);
        if fresh.is_empty() {
            return;
        }
        let is_fresh = |entry: &String| fresh.contains(entry);
        let is_long = |entry: &String| text_width(entry) > limit;
        let stuck = self.entries.iter().any(|entry| is_long(entry) && !is_fresh(entry));
        loop {
            let long = self.entries.iter().position(|entry| is_long(entry) && is_fresh(entry));
            let next = match long {
                Some(at) => Some(at),
                None if list_width(&self.entries) <= limit => None,
                None if stuck => self.entries.iter().position(is_fresh),
                None => {
                    let old = self.entries.iter().position(|entry| !is_fresh(entry));
                    old.or(if self.entries.is_empty() { None } else { Some(0) })
                }
            };
            let Some(at) = next else { break };
            let entry = self.entries.remove(at);
            effect.moved.push(entry.clone());
            self.archive_entry(entry);
        }
    }
}

enum EntryLocation {
    Entry(usize),
    Archive(usize),
}

/// Returns the normalized content, if it is allowed.
fn validate_content(content: &str) -> Result<String, MemoryError> {
    let content = normalize_entry(content);
    if content.is_empty() {
        return Err(MemoryError::Invalid("content is missing or blank".into()));
    }
    let chars = content.chars().count();
    if chars > MAX_ENTRY_CHARS {
        return Err(MemoryError::TooLong { chars, most: MAX_ENTRY_CHARS });
    }
    match scan(&content, ScanLevel::Strict).into_iter().next() {
        Some(found) => Err(MemoryError::Threat { rule: found.id, excerpt: found.excerpt }),
        None => Ok(content),
    }
}

#[cfg(test)]
#[path = "operations_tests.rs"]
mod tests;
