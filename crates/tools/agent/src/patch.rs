//! The lenient reading of what a caller wants done to a list of tasks: an item
//! that is badly written becomes a visible item, not a failed call.

use std::fmt;

use serde::de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::notes::{Notes, brief};
use crate::tasks::{Status, Task};

/// The most characters in an item, the marker among them.
pub(crate) const MAX_CONTENT: usize = 4_000;

const CUT: &str = "… [truncated]";
const NO_ID: &str = "?";
const NO_CONTENT: &str = "(no description)";
const NOT_AN_ITEM: &str = "(invalid item)";

/// Look at the list, or change it.
#[derive(Debug, Default)]
pub(crate) enum Wish {
    /// Nothing was given.
    #[default]
    Read,
    /// These were, perhaps as text.
    Write(Vec<Patch>),
}

impl<'de> Deserialize<'de> for Wish {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(WishVisitor)
    }
}

struct WishVisitor;

impl<'de> Visitor<'de> for WishVisitor {
    type Value = Wish;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("todos as a list of {id, content, status}")
    }

    fn visit_unit<E: Error>(self) -> Result<Wish, E> {
        Ok(Wish::Read)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Wish, E> {
        let patches = serde_json::from_str(text).map_err(|_| {
            E::custom("todos is text that holds no list; expected a list of {id, content, status}")
        })?;
        write(patches)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Wish, A::Error> {
        let mut patches = Vec::new();
        while let Some(patch) = seq.next_element()? {
            patches.push(patch);
        }
        write(patches)
    }
}

/// A list without a single object says nothing about tasks; written, it would
/// only wipe out those that are there.
fn write<E: Error>(patches: Vec<Patch>) -> Result<Wish, E> {
    if !patches.is_empty() && patches.iter().all(|patch| patch.is_stray) {
        return Err(E::custom("todos must be a list of objects: {id, content, status}"));
    }
    Ok(Wish::Write(patches))
}

/// What a caller says about one task: any part of it may be missing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Patch {
    /// What the task is known by.
    pub(crate) id: Option<String>,
    content: Option<String>,
    status: Option<Status>,
    /// A status that has no meaning, as the caller wrote it.
    unknown_status: Option<String>,
    /// It was no object.
    is_stray: bool,
}

impl Patch {
    fn invalid() -> Self {
        Self { content: Some(NOT_AN_ITEM.to_owned()), is_stray: true, ..Self::default() }
    }

    fn set_status(&mut self, name: Option<String>) {
        self.status = name.as_deref().and_then(Status::from_name);
        self.unknown_status = name.filter(|_| self.status.is_none());
    }

    /// The id by which the task is found.
    pub(crate) fn key(&self) -> &str {
        self.id.as_deref().unwrap_or(NO_ID)
    }

    /// Notes what is odd about it: the `number`th item, which is a task of its
    /// own if `is_new`, and otherwise changes one.
    pub(crate) fn remark(&self, number: usize, is_new: bool, notes: &mut Notes) {
        if self.is_stray {
            return notes.add(|| format!("Item {number} is no object."));
        }
        if self.id.is_none() {
            notes.add(|| format!("Item {number} has no id and got '{NO_ID}'."));
        }
        if is_new && self.content.is_none() {
            notes.add(|| format!("Item {number} has no content."));
        }
        if let Some(name) = &self.unknown_status {
            let became = if is_new { "set to pending" } else { "left as it was" };
            notes.add(|| format!("Item {number}: unknown status '{}', {became}.", brief(name)));
        }
    }

    /// The task that it describes, with what is missing filled in.
    pub(crate) fn into_task(self) -> Task {
        Task {
            id: self.id.unwrap_or_else(|| NO_ID.to_owned()),
            content: self.content.unwrap_or_else(|| NO_CONTENT.to_owned()),
            status: self.status.unwrap_or_default(),
        }
    }

    /// Changes what is given, and nothing else.
    pub(crate) fn apply(self, task: &mut Task) {
        if let Some(content) = self.content {
            task.content = content;
        }
        if let Some(status) = self.status {
            task.status = status;
        }
    }
}

impl<'de> Deserialize<'de> for Patch {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PatchVisitor)
    }
}

struct PatchVisitor;

impl<'de> Visitor<'de> for PatchVisitor {
    type Value = Patch;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an item")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Patch, A::Error> {
        let mut patch = Patch::default();
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "id" => patch.id = map.next_value::<Word>()?.0,
                "content" => patch.content = map.next_value::<Word>()?.0.map(shorten),
                "status" => patch.set_status(map.next_value::<Word>()?.0),
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(patch)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Patch, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Patch::invalid())
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<Patch, E> {
        Ok(Patch::invalid())
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Patch, E> {
        Ok(Patch::invalid())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Patch, E> {
        Ok(Patch::invalid())
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Patch, E> {
        Ok(Patch::invalid())
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Patch, E> {
        Ok(Patch::invalid())
    }

    fn visit_unit<E: Error>(self) -> Result<Patch, E> {
        Ok(Patch::invalid())
    }
}

/// A field as text, if it says anything. What is nested is passed over rather
/// than copied, however deep it is.
struct Word(Option<String>);

impl<'de> Deserialize<'de> for Word {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(WordVisitor)
    }
}

struct WordVisitor;

impl<'de> Visitor<'de> for WordVisitor {
    type Value = Word;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Word, E> {
        let text = text.trim();
        Ok(Word((!text.is_empty()).then(|| text.to_owned())))
    }

    fn visit_bool<E: Error>(self, flag: bool) -> Result<Word, E> {
        Ok(Word(Some(flag.to_string())))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Word, E> {
        Ok(Word(Some(number.to_string())))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Word, E> {
        Ok(Word(Some(number.to_string())))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Word, E> {
        Ok(Word(Some(number.to_string())))
    }

    fn visit_unit<E: Error>(self) -> Result<Word, E> {
        Ok(Word(None))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Word, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Word(None))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Word, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Word(None))
    }
}

fn shorten(content: String) -> String {
    if content.char_indices().nth(MAX_CONTENT).is_none() {
        return content;
    }
    let kept = MAX_CONTENT - CUT.chars().count();
    content.chars().take(kept).chain(CUT.chars()).collect()
}

#[cfg(test)]
#[path = "patch_tests.rs"]
mod tests;
