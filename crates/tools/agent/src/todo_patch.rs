//! Lenient parsing of changes to the task list: a malformed item becomes a
//! visible item, not a failed call.

use std::fmt;

use serde::de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::notes::{TodoNotes, shorten_word};
use crate::tasks::{TodoStatus, TodoTask};

/// Maximum number of characters in an item, including the truncation marker.
pub(crate) const MAX_CONTENT_CHARS: usize = 4_000;

const TRUNCATION_MARK: &str = "… [truncated]";
const NO_CONTENT: &str = "(no description)";
const NOT_AN_ITEM: &str = "(invalid item)";

/// A read or a write of the list.
#[derive(Debug, Default)]
pub(crate) enum TodoRequest {
    /// No items were given.
    #[default]
    Read,
    /// Items to write, given as a list or as JSON text.
    Write(Vec<TodoPatch>),
}

impl<'de> Deserialize<'de> for TodoRequest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TodoRequestVisitor)
    }
}

struct TodoRequestVisitor;

impl<'de> Visitor<'de> for TodoRequestVisitor {
    type Value = TodoRequest;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("todos as a list of {id, content, status}")
    }

    fn visit_unit<E: Error>(self) -> Result<TodoRequest, E> {
        Ok(TodoRequest::Read)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<TodoRequest, E> {
        let patches = serde_json::from_str(text).map_err(|_| {
            E::custom(
                "todos is text that contains no list; expected a list of \
                {id, content, status}",
            )
        })?;
        write_request(patches)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<TodoRequest, A::Error> {
        let mut patches = Vec::new();
        while let Some(patch) = seq.next_element()? {
            patches.push(patch);
        }
        write_request(patches)
    }
}

/// Rejects a list without a single object: it describes no task, and writing it
/// would only erase the existing ones.
fn write_request<E: Error>(patches: Vec<TodoPatch>) -> Result<TodoRequest, E> {
    if !patches.is_empty() && patches.iter().all(|patch| patch.is_not_object) {
        return Err(E::custom("todos must be a list of objects: {id, content, status}"));
    }
    Ok(TodoRequest::Write(patches))
}

/// A partial description of one task.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct TodoPatch {
    /// The id of the task.
    pub(crate) id: Option<String>,
    content: Option<String>,
    status: Option<TodoStatus>,
    /// An unrecognized status, as the caller wrote it.
    unknown_status: Option<String>,
    /// Whether the item was not an object.
    is_not_object: bool,
}

impl TodoPatch {
    fn invalid() -> Self {
        Self { content: Some(NOT_AN_ITEM.to_owned()), is_not_object: true, ..Self::default() }
    }

    fn set_status(&mut self, name: Option<String>) {
        self.status = name.as_deref().and_then(TodoStatus::from_name);
        self.unknown_status = name.filter(|_| self.status.is_none());
    }

    /// The content of the task that the item creates.
    pub(crate) fn content(&self) -> &str {
        self.content.as_deref().unwrap_or(NO_CONTENT)
    }

    /// Adds notes about problems of the `number`th item, which creates a task
    /// if `is_new` and otherwise changes one.
    pub(crate) fn note_problems(&self, number: usize, is_new: bool, notes: &mut TodoNotes) {
        if self.is_not_object {
            return notes.add(|| format!("Item {number} is not an object."));
        }
        if is_new && self.content.is_none() {
            notes.add(|| format!("Item {number} has no content."));
        }
        if let Some(name) = &self.unknown_status {
            let became = if is_new { "set to pending" } else { "left as it was" };
            notes.add(|| {
                format!("Item {number}: unknown status '{}', {became}.", shorten_word(name))
            });
        }
    }

    /// Returns the task it describes, with defaults for missing fields.
    pub(crate) fn into_task(self, id: String) -> TodoTask {
        TodoTask {
            id,
            content: self.content.unwrap_or_else(|| NO_CONTENT.to_owned()),
            status: self.status.unwrap_or_default(),
        }
    }

    /// Changes only the given fields.
    pub(crate) fn apply(self, task: &mut TodoTask) {
        if let Some(content) = self.content {
            task.content = content;
        }
        if let Some(status) = self.status {
            task.status = status;
        }
    }
}

impl<'de> Deserialize<'de> for TodoPatch {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TodoPatchVisitor)
    }
}

struct TodoPatchVisitor;

impl<'de> Visitor<'de> for TodoPatchVisitor {
    type Value = TodoPatch;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an item")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<TodoPatch, A::Error> {
        let mut patch = TodoPatch::default();
        let mut description = None;
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "id" => patch.id = map.next_value::<LenientText>()?.0,
                "content" => {
                    patch.content = map.next_value::<LenientText>()?.0.map(truncate_content)
                }
                // The name in Gemini CLI.
                "description" => {
                    description = map.next_value::<LenientText>()?.0.map(truncate_content)
                }
                "status" => patch.set_status(map.next_value::<LenientText>()?.0),
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        patch.content = patch.content.or(description);
        Ok(patch)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<TodoPatch, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(TodoPatch::invalid())
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<TodoPatch, E> {
        Ok(TodoPatch::invalid())
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<TodoPatch, E> {
        Ok(TodoPatch::invalid())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<TodoPatch, E> {
        Ok(TodoPatch::invalid())
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<TodoPatch, E> {
        Ok(TodoPatch::invalid())
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<TodoPatch, E> {
        Ok(TodoPatch::invalid())
    }

    fn visit_unit<E: Error>(self) -> Result<TodoPatch, E> {
        Ok(TodoPatch::invalid())
    }
}

/// A field as text, if it is not empty. Nested values are skipped rather than
/// copied, however deep they are.
struct LenientText(Option<String>);

impl<'de> Deserialize<'de> for LenientText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LenientTextVisitor)
    }
}

struct LenientTextVisitor;

impl<'de> Visitor<'de> for LenientTextVisitor {
    type Value = LenientText;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<LenientText, E> {
        let text = text.trim();
        Ok(LenientText((!text.is_empty()).then(|| text.to_owned())))
    }

    fn visit_bool<E: Error>(self, flag: bool) -> Result<LenientText, E> {
        Ok(LenientText(Some(flag.to_string())))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<LenientText, E> {
        Ok(LenientText(Some(number.to_string())))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<LenientText, E> {
        Ok(LenientText(Some(number.to_string())))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<LenientText, E> {
        Ok(LenientText(Some(number.to_string())))
    }

    fn visit_unit<E: Error>(self) -> Result<LenientText, E> {
        Ok(LenientText(None))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<LenientText, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(LenientText(None))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<LenientText, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(LenientText(None))
    }
}

fn truncate_content(content: String) -> String {
    if content.char_indices().nth(MAX_CONTENT_CHARS).is_none() {
        return content;
    }
    let kept = MAX_CONTENT_CHARS - TRUNCATION_MARK.chars().count();
    content.chars().take(kept).chain(TRUNCATION_MARK.chars()).collect()
}

#[cfg(test)]
#[path = "todo_patch_tests.rs"]
mod tests;
