//! A list of tasks, and what can be done to it.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

use crate::patch::Patch;

/// The most items in a list.
pub(crate) const MAX_TASKS: usize = 256;

/// How far a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
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
    /// The status of that name, in any case.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        match name.trim().to_ascii_lowercase().as_str() {
            "pending" => Some(Self::Pending),
            "in_progress" => Some(Self::InProgress),
            "completed" => Some(Self::Completed),
            "cancelled" => Some(Self::Cancelled),
            _ => None,
        }
    }
}

/// One task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Task {
    /// What it is known by.
    pub(crate) id: String,
    /// What is to be done.
    pub(crate) content: String,
    /// How far it is.
    pub(crate) status: Status,
}

/// Makes the list what the caller says. Of items with the same id the last
/// one counts, where it stands; items without an id are all kept. Returns how
/// many were over the limit.
pub(crate) fn replace(list: &mut Vec<Task>, patches: Vec<Patch>) -> usize {
    list.clear();
    list.extend(last_of_each(patches).into_iter().map(Patch::into_task));
    cap(list)
}

/// Changes the items that the caller names, in the parts that are given, and
/// appends those that are new. Returns how many were over the limit.
pub(crate) fn merge(list: &mut Vec<Task>, patches: Vec<Patch>) -> usize {
    collapse(list);
    let mut places: HashMap<String, usize> =
        list.iter().enumerate().map(|(place, task)| (task.id.clone(), place)).collect();
    for patch in last_of_each(patches) {
        match places.get(patch.key()).and_then(|&place| list.get_mut(place)) {
            Some(task) => patch.apply(task),
            None => {
                places.insert(patch.key().to_owned(), list.len());
                list.push(patch.into_task());
            }
        }
    }
    cap(list)
}

fn last_of_each(patches: Vec<Patch>) -> Vec<Patch> {
    let mut later = HashSet::new();
    let mut kept: Vec<Patch> = Vec::new();
    for patch in patches.into_iter().rev() {
        if patch.id.as_ref().is_none_or(|id| later.insert(id.clone())) {
            kept.push(patch);
        }
    }
    kept.reverse();
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
