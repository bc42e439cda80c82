//! The task list and its operations.

use std::collections::{HashMap, HashSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::notes::{TodoNotes, shorten_word};
use crate::todo_patch::TodoPatch;

/// The session document that holds the list.
pub(crate) const TODO_DOCUMENT: &str = "todo";

/// Maximum number of items in a list.
pub(crate) const MAX_TASKS: usize = 256;

/// Progress of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TodoStatus {
    /// Not started.
    #[default]
    Pending,
    /// Being worked on.
    InProgress,
    /// Done.
    Completed,
    /// No longer needed.
    Cancelled,
}

impl TodoStatus {
    /// Parses a status name or a synonym. Case, whitespace, hyphens and
    /// underscores are ignored.
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
    /// Its identifier.
    pub(crate) id: String,
    /// What to do.
    pub(crate) content: String,
    /// Its status.
    pub(crate) status: TodoStatus,
}

/// Side information about a change to the list.
#[derive(Debug, Default)]
pub(crate) struct TodoChangeReport {
    /// Number of items over the limit.
    pub(crate) dropped: usize,
    /// Corrections made to the request.
    pub(crate) notes: Vec<String>,
}

/// Replaces the list. Of items with the same id the last one is kept, at its
/// own position; items without an id are all kept and get one.
pub(crate) fn replace(list: &mut Vec<TodoTask>, patches: Vec<TodoPatch>) -> TodoChangeReport {
    let mut notes = TodoNotes::default();
    list.clear();
    let patches = last_per_id(patches, &mut notes);
    let mut ids = UnusedIds::new(named_ids(&patches));
    for (number, patch) in patches {
        patch.note_problems(number, true, &mut notes);
        let id = patch.id.clone().unwrap_or_else(|| ids.take());
        list.push(patch.into_task(id));
    }
    TodoChangeReport { dropped: truncate_to_limit(list), notes: notes.into_sentences() }
}

/// Updates the given fields of existing items, and appends new items. An item
/// without an id is the task with its content that no other item names.
pub(crate) fn merge(list: &mut Vec<TodoTask>, patches: Vec<TodoPatch>) -> TodoChangeReport {
    let mut notes = TodoNotes::default();
    dedup_by_id(list);
    let patches = last_per_id(patches, &mut notes);
    let named = named_ids(&patches);
    let used = list.iter().map(|task| task.id.clone()).chain(named.iter().cloned()).collect();
    let mut ids = UnusedIds::new(used);
    for (number, patch) in patches {
        let known = list.iter_mut().find(|task| match &patch.id {
            Some(id) => task.id == *id,
            None => task.content == patch.content() && !named.contains(&task.id),
        });
        patch.note_problems(number, known.is_none(), &mut notes);
        match known {
            Some(task) => patch.apply(task),
            None => {
                let id = patch.id.clone().unwrap_or_else(|| ids.take());
                list.push(patch.into_task(id));
            }
        }
    }
    TodoChangeReport { dropped: truncate_to_limit(list), notes: notes.into_sentences() }
}

fn named_ids(patches: &[(usize, TodoPatch)]) -> HashSet<String> {
    patches.iter().filter_map(|(_, patch)| patch.id.clone()).collect()
}

/// Ids for items without one: 1, 2, and so on, except those in use.
struct UnusedIds {
    used: HashSet<String>,
    next: u64,
}

impl UnusedIds {
    fn new(used: HashSet<String>) -> Self {
        Self { used, next: 1 }
    }

    fn take(&mut self) -> String {
        loop {
            let id = self.next.to_string();
            self.next += 1;
            if !self.used.contains(&id) {
                return id;
            }
        }
    }
}

/// Returns the items to keep, with their 1-based positions in the request.
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

/// Keeps one task per id, the last, at the position of the first, so every task
/// can be addressed.
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
