//! Results of `file_diff`.

use std::time::Duration;

use serde::Serialize;

use super::pair::{DiffRequest, PairComparison};
use super::side::{DiffSide, SideSummary};

/// Time limit for an optimal diff of one pair.
const DIFF_TIME_LIMIT: Duration = Duration::from_secs(3);

#[derive(Debug, Serialize)]
pub(crate) struct Output {
    pub(super) identical: bool,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) diff: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) added_lines: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) removed_lines: Option<usize>,
    pub(super) old: SideSummary,
    pub(super) new: SideSummary,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) summary: Option<DirDiffSummary>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) files: Vec<DiffEntry>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) unreadable: Vec<String>,
    pub(super) truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) note: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hint: Option<String>,
}

/// Number of entries per kind of difference between two directories.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(super) struct DirDiffSummary {
    pub(super) added: usize,
    pub(super) removed: usize,
    pub(super) changed: usize,
    pub(super) type_changed: usize,
    pub(super) identical: usize,
}

/// Kind of difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum DiffStatus {
    Added,
    Removed,
    Changed,
    TypeChanged,
}

/// An entry that differs between two directories.
#[derive(Debug, Serialize)]
pub(super) struct DiffEntry {
    pub(super) path: String,
    pub(super) status: DiffStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) added_lines: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) removed_lines: Option<usize>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) binary: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) note: Option<String>,
}

impl Output {
    pub(super) fn from_pair(old: &DiffSide, new: &DiffSide, request: &DiffRequest) -> Self {
        let compared = request.compare(old, new, request.room, DIFF_TIME_LIMIT);
        let note = match &compared {
            PairComparison { identical: true, .. } => Some("The two are the same.".to_owned()),
            PairComparison { is_binary: true, .. } => {
                Some("They differ and cannot be compared as text.".to_owned())
            }
            _ => join_notes(&compared),
        };
        let left_out = compared.shown.omitted_lines;
        Self {
            identical: compared.identical,
            added_lines: compared.stat.map(|stat| stat.added),
            removed_lines: compared.stat.map(|stat| stat.removed),
            truncated: left_out > 0 || compared.shown.truncated_lines > 0,
            hint: hint(&compared),
            diff: compared.shown.text,
            old: old.summary(),
            new: new.summary(),
            summary: None,
            files: Vec::new(),
            unreadable: Vec::new(),
            note,
        }
    }
}

/// Joins the notes.
pub(super) fn join_notes(compared: &PairComparison) -> Option<String> {
    let mut notes = compared.notes.clone();
    if compared.is_coarse {
        notes.push(
            "Too much changed for a minimal diff; this one is correct but longer.".to_owned(),
        );
    }
    (!notes.is_empty()).then(|| notes.join(" "))
}

fn hint(compared: &PairComparison) -> Option<String> {
    let (left_out, cut) = (compared.shown.omitted_lines, compared.shown.truncated_lines);
    match (left_out, cut) {
        (0, 0) => None,
        (0, cut) => Some(format!(
            "{cut} long lines are cut; the diff cannot be applied. format=words marks the \
             changes in them."
        )),
        (left_out, _) => Some(format!(
            "{left_out} more lines of the diff do not fit; use a smaller context or \
             format=stat, or read the rest with read_file."
        )),
    }
}
