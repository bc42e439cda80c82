//! A list of tasks, and what can be done to it.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::notes::{Notes, brief};
use crate::patch::Patch;

/// The session document that holds the list.
pub(crate) const DOCUMENT: &str = "todo";

/// The most items in a list.
pub(crate) const MAX_TASKS: usize = 256;

/// How far a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Status {
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

impl Status {
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
pub(crate) struct Task {
    /// What it is known by.
    pub(crate) id: String,
    /// What is to be done.
    pub(crate) content: String,
    /// How far it is.
    pub(crate) status: Status,
}

/// What there is to say about a change, beside the list.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// How many items were over the limit.
    pub(crate) dropped: usize,
    /// What had to be changed to make sense of it.
    pub(crate) notes: Vec<String>,
}

/// Makes the list what the caller says. Of items with the same id the last
/// one counts, where it stands; items without an id are all kept.
pub(crate) fn replace(list: &mut Vec<Task>, patches: Vec<Patch>) -> Outcome {
    let mut notes = Notes::default();
    list.clear();
    for (number, patch) in last_of_each(patches, &mut notes) {
        patch.remark(number, true, &mut notes);
        list.push(patch.into_task());
    }
    Outcome { dropped: cap(list), notes: notes.into_sentences() }
}

/// Changes the items that the caller names, in the parts that are given, and
/// appends those that are new.
pub(crate) fn merge(list: &mut Vec<Task>, patches: Vec<Patch>) -> Outcome {
    let mut notes = Notes::default();
    collapse(list);
    let mut places: HashMap<String, usize> =
        list.iter().enumerate().map(|(place, task)| (task.id.clone(), place)).collect();
    for (number, patch) in last_of_each(patches, &mut notes) {
        let known = places.get(patch.key()).and_then(|&place| list.get_mut(place));
        patch.remark(number, known.is_none(), &mut notes);
        match known {
            Some(task) => patch.apply(task),
            None => {
                places.insert(patch.key().to_owned(), list.len());
                list.push(patch.into_task());
            }
        }
    }
    Outcome { dropped: cap(list), notes: notes.into_sentences() }
}

/// The items that count, with their numbers in the request, from 1.
fn last_of_each(patches: Vec<Patch>, notes: &mut Notes) -> Vec<(usize, Patch)> {
    let last: HashMap<String, usize> = (1..)
        .zip(&patches)
        .filter_map(|(number, patch)| Some((patch.id.clone()?, number)))
        .collect();
    let mut kept = Vec::with_capacity(patches.len());
    for (number, patch) in (1..).zip(patches) {
        match patch.id.as_ref().and_then(|id| Some((id, *last.get(id)?))) {
            Some((id, later)) if later != number => notes.add(|| {
                format!("Item {number} dropped: item {later} has the same id '{}'.", brief(id))
            }),
            _ => kept.push((number, patch)),
        }
    }
    kept
}

/// Leaves one task per id, the last, at the place of the first, so that every
/// task can be addressed.
fn collapse(list: &mut Vec<Task>) {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut kept: Vec<Task> = Vec::with_capacity(list.len());
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

fn cap(list: &mut Vec<Task>) -> usize {
    let over = list.len().saturating_sub(MAX_TASKS);
    list.truncate(MAX_TASKS);
    over
}

#[cfg(test)]
#[path = "tasks_tests.rs"]
mod tests;
