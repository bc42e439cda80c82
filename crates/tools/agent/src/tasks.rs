//! A list of tasks, and what can be done to it.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::notes::{TodoNotes, shorten_word};
use crate::todo_patch::TodoPatch;

/// The session document that holds the list.
pub(crate) const TODO_DOCUMENT: &str = "todo";

/// The most items in a list.
pub(crate) const MAX_TASKS: usize = 256;

/// How far a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TodoStatus {
    /// Not begun.
    #[default]
    Pending,
    /// Being worked on.
    InProgress,
    /// Done.
    Completed,
    /// Not to be done any more.
    Cancelled,
}

impl TodoStatus {
    /// The status of that name or of a word that means the same. Case, blanks,
    /// hyphens and underscores do not matter.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        let letters = name.chars().filter(|c| !c.is_whitespace() && !matches!(c, '-' | '_'));
        match letters.collect::<String>().to_ascii_lowercase().as_str() {
            "pending" | "todo" | "open" | "new" | "notstarted" => Some(Self::Pending),
            "inprogress" | "doing" | "started" | "active" | "wip" => Some(Self::InProgress),
            "completed" | "complete" | "done" | "finished" | "closed" => Some(Self::Completed),
            "cancelled" | "canceled" | "dropped" | "skipped" => Some(Self::Cancelled),
            _ => None,
        }
    }
}

/// One task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct TodoTask {
    /// What it is known by.
    pub(crate) id: String,
    /// What is to be done.
    pub(crate) content: String,
    /// How far it is.
    pub(crate) status: TodoStatus,
}

/// What there is to say about a change, beside the list.
#[derive(Debug, Default)]
pub(crate) struct TodoChangeReport {
    /// How many items were over the limit.
    pub(crate) dropped: usize,
    /// What had to be changed to make sense of it.
    pub(crate) notes: Vec<String>,
}

/// Makes the list what the caller says. Of items with the same id the last
/// one counts, where it stands; items without an id are all kept.
pub(crate) fn replace(list: &mut Vec<TodoTask>, patches: Vec<TodoPatch>) -> TodoChangeReport {
    let mut notes = TodoNotes::default();
    list.clear();
    for (number, patch) in last_per_id(patches, &mut notes) {
        patch.note_problems(number, true, &mut notes);
        list.push(patch.into_task());
    }
    TodoChangeReport { dropped: truncate_to_limit(list), notes: notes.into_sentences() }
}

/// Changes the items that the caller names, in the parts that are given, and
/// appends those that are new.
pub(crate) fn merge(list: &mut Vec<TodoTask>, patches: Vec<TodoPatch>) -> TodoChangeReport {
    let mut notes = TodoNotes::default();
    dedup_by_id(list);
    let mut places: HashMap<String, usize> =
        list.iter().enumerate().map(|(place, task)| (task.id.clone(), place)).collect();
    for (number, patch) in last_per_id(patches, &mut notes) {
        let known = places.get(patch.key()).and_then(|&place| list.get_mut(place));
        patch.note_problems(number, known.is_none(), &mut notes);
        match known {
            Some(task) => patch.apply(task),
            None => {
                places.insert(patch.key().to_owned(), list.len());
                list.push(patch.into_task());
            }
        }
    }
    TodoChangeReport { dropped: truncate_to_limit(list), notes: notes.into_sentences() }
}

/// The items that count, with their numbers in the request, from 1.
fn last_per_id(patches: Vec<TodoPatch>, notes: &mut TodoNotes) -> Vec<(usize, TodoPatch)> {
    let last: HashMap<String, usize> = (1..)
        .zip(&patches)
        .filter_map(|(number, patch)| Some((patch.id.clone()?, number)))
        .collect();
    let mut kept = Vec::with_capacity(patches.len());
    for (number, patch) in (1..).zip(patches) {
        match patch.id.as_ref().and_then(|id| Some((id, *last.get(id)?))) {
            Some((id, later)) if later != number => notes.add(|| {
                format!(
                    "Item {number} dropped: item {later} has the same id '{}'.",
                    shorten_word(id)
                )
            }),
            _ => kept.push((number, patch)),
        }
    }
    kept
}

/// Leaves one task per id, the last, at the place of the first, so that every
/// task can be addressed.
fn dedup_by_id(list: &mut Vec<TodoTask>) {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut kept: Vec<TodoTask> = Vec::with_capacity(list.len());
    for task in list.drain(..) {
        match places.get(&task.id).and_then(|&place| kept.get_mut(place)) {
            Some(earlier) => *earlier = task,
            None => {
                places.insert(task.id.clone(), kept.len());
                kept.push(task);
            }
        }
    }
    *list = kept;
}

fn truncate_to_limit(list: &mut Vec<TodoTask>) -> usize {
    let over = list.len().saturating_sub(MAX_TASKS);
    list.truncate(MAX_TASKS);
    over
}

#[cfg(test)]
#[path = "tasks_tests.rs"]
mod tests;
