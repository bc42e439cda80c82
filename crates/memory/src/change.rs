//! What can be done to a list and its archive, in memory.

use hermes_threats::{ScanLevel, scan};
use serde::{Deserialize, Serialize};

use crate::error::MemoryError;
use crate::form::{clean, preview, size, size_of};

/// The most characters of one entry. What is longer belongs in a file.
const LONGEST: usize = 16_384;

/// How many matches an error shows.
const SHOWN: usize = 10;

/// One change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Operation {
    /// A new entry.
    Add {
        /// Its text.
        content: String,
    },
    /// Another text for an entry.
    Replace {
        /// A part of the entry that no other has.
        old_text: String,
        /// The new text.
        content: String,
    },
    /// No more of an entry.
    Remove {
        /// A part of the entry that no other has.
        old_text: String,
    },
    /// An entry moves to the archive.
    Archive {
        /// A part of the entry that no other has.
        old_text: String,
    },
}

/// A list and its archive.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct State {
    /// What is shown, the oldest first.
    pub(crate) entries: Vec<String>,
    /// What is searched, the oldest first.
    pub(crate) archive: Vec<String>,
}

/// What came of the operations.
#[derive(Debug, Default)]
pub(crate) struct Effect {
    /// What was written just now.
    fresh: Vec<String>,
    /// What was done, in sentences.
    pub(crate) notes: Vec<String>,
    /// What moved to the archive for want of room.
    pub(crate) moved: Vec<String>,
    /// What was taken out of the archive for good.
    pub(crate) dropped: Vec<String>,
}

impl Effect {
    /// Nothing but a sentence.
    pub(crate) fn noting(note: &str) -> Self {
        Self { notes: vec![note.to_owned()], ..Self::default() }
    }
}

impl State {
    /// Carries out all operations and then makes room. Of several, a wrong one is named by its place.
    pub(crate) fn apply(
        &mut self,
        operations: &[Operation],
        limit: usize,
    ) -> Result<Effect, MemoryError> {
        let mut effect = Effect::default();
        for (at, operation) in operations.iter().enumerate() {
            self.step(operation, &mut effect).map_err(|cause| match operations.len() {
                1 => cause,
                _ => MemoryError::Batch { index: at + 1, cause: Box::new(cause) },
            })?;
        }
        self.fit(limit, &mut effect);
        Ok(effect)
    }

    fn step(&mut self, operation: &Operation, effect: &mut Effect) -> Result<(), MemoryError> {
        match operation {
            Operation::Add { content } => {
                let content = admit(content)?;
                self.add(content, effect);
            }
            Operation::Replace { old_text, content } => {
                let content = admit(content)?;
                match self.find(old_text)? {
                    Place::Entry(at) => {
                        let old = std::mem::take(&mut self.entries[at]);
                        // The new text may be that of another entry.
                        self.archive.retain(|entry| *entry != content);
                        if self.entries.contains(&content) && old != content {
                            self.entries.remove(at);
                            effect.notes.push("The new text was there already.".into());
                        } else {
                            self.entries[at].clone_from(&content);
                            effect.notes.push("Entry replaced.".into());
                        }
                        effect.fresh.retain(|entry| *entry != old);
                        effect.fresh.push(content);
                    }
                    Place::Archive(at) => {
                        effect.dropped.push(self.archive.remove(at));
                        self.add(content, effect);
                        effect.notes.push("The old text was in the archive.".into());
                    }
                }
            }
            Operation::Remove { old_text } => match self.find(old_text)? {
                Place::Entry(at) => {
                    let old = self.entries.remove(at);
                    effect.fresh.retain(|entry| *entry != old);
                    effect.notes.push("Entry removed.".into());
                }
                Place::Archive(at) => {
                    effect.dropped.push(self.archive.remove(at));
                    effect.notes.push("Entry removed from the archive.".into());
                }
            },
            Operation::Archive { old_text } => match self.find(old_text)? {
                Place::Entry(at) => {
                    let old = self.entries.remove(at);
                    effect.fresh.retain(|entry| *entry != old);
                    self.keep(old);
                    effect.notes.push("Entry moved to the archive.".into());
                }
                Place::Archive(_) => {
                    effect.notes.push("The entry is in the archive already.".into());
                }
            },
        }
        Ok(())
    }

    fn add(&mut self, content: String, effect: &mut Effect) {
        if self.entries.contains(&content) {
            effect.notes.push("The entry already exists.".into());
            return;
        }
        let before = self.archive.len();
        self.archive.retain(|entry| *entry != content);
        effect.notes.push(match self.archive.len() == before {
            true => "Entry added.".into(),
            false => "Entry brought back from the archive.".into(),
        });
        effect.fresh.push(content.clone());
        self.entries.push(content);
    }

    /// Puts an entry into the archive, once.
    fn keep(&mut self, entry: String) {
        if !self.archive.contains(&entry) {
            self.archive.push(entry);
        }
    }

    /// The entry that contains a text: one that is shown before one that is archived.
    fn find(&self, wanted: &str) -> Result<Place, MemoryError> {
        let wanted = clean(wanted);
        if wanted.is_empty() {
            return Err(MemoryError::Invalid(
                "old_text is missing: give a part of the entry that is meant".into(),
            ));
        }
        for (list, place) in
            [(&self.entries, Place::Entry as fn(usize) -> Place), (&self.archive, Place::Archive)]
        {
            if let Some(at) = list.iter().position(|entry| *entry == wanted) {
                return Ok(place(at));
            }
            let found: Vec<usize> =
                (0..list.len()).filter(|&at| list[at].contains(&wanted)).collect();
            match found.as_slice() {
                [] => {}
                [at] => return Ok(place(*at)),
                several => {
                    let matches =
                        several.iter().take(SHOWN).map(|&at| preview(&list[at])).collect();
                    return Err(MemoryError::Ambiguous { wanted: preview(&wanted), matches });
                }
            }
        }
        Err(MemoryError::NoMatch(preview(&wanted)))
    }

    /// Moves what has no room to the archive: the oldest first, what was just written last. An entry that is
    /// longer than all the room was put there by hand and stays; then the new ones go to the archive.
    fn fit(&mut self, limit: usize, effect: &mut Effect) {
        let fresh = std::mem::take(&mut effect.fresh);
        if fresh.is_empty() {
            return;
        }
        let is_fresh = |entry: &String| fresh.contains(entry);
        let is_long = |entry: &String| size(entry) > limit;
        let stuck = self.entries.iter().any(|entry| is_long(entry) && !is_fresh(entry));
        loop {
            let long = self.entries.iter().position(|entry| is_long(entry) && is_fresh(entry));
            let next = match long {
                Some(at) => Some(at),
                None if size_of(&self.entries) <= limit => None,
                None if stuck => self.entries.iter().position(is_fresh),
                None => {
                    let old = self.entries.iter().position(|entry| !is_fresh(entry));
                    old.or(if self.entries.is_empty() { None } else { Some(0) })
                }
            };
            let Some(at) = next else { break };
            let entry = self.entries.remove(at);
            effect.moved.push(entry.clone());
            self.keep(entry);
        }
    }
}

enum Place {
    Entry(usize),
    Archive(usize),
}

/// The content as it is kept, if it may be.
fn admit(content: &str) -> Result<String, MemoryError> {
    let content = clean(content);
    if content.is_empty() {
        return Err(MemoryError::Invalid("content is missing or blank".into()));
    }
    let chars = content.chars().count();
    if chars > LONGEST {
        return Err(MemoryError::TooLong { chars, most: LONGEST });
    }
    match scan(&content, ScanLevel::Strict).into_iter().next() {
        Some(found) => Err(MemoryError::Threat { rule: found.id, excerpt: found.excerpt }),
        None => Ok(content),
    }
}

#[cfg(test)]
#[path = "change_tests.rs"]
mod tests;
