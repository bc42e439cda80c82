//! Directory entries: as found, and as returned.

use std::cmp::{Ordering, Reverse};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use hermes_files::{FileMetadata, OpenDir};
use schemars::JsonSchema;
use serde::Serialize;

use super::ListingSort;
use crate::path_text::display_below;
use crate::timestamp::to_rfc3339;

/// Kind of an entry. Links are not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum ListedKind {
    Dir,
    File,
    Symlink,
    Other,
}

impl From<hermes_files::FileKind> for ListedKind {
    fn from(kind: hermes_files::FileKind) -> Self {
        match kind {
            hermes_files::FileKind::Link => Self::Symlink,
            hermes_files::FileKind::Directory => Self::Dir,
            hermes_files::FileKind::File => Self::File,
            _ => Self::Other,
        }
    }
}

/// An entry, ordered as it is listed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SortableEntry {
    sort: ListingSort,
    path: PathBuf,
    depth: usize,
    kind: ListedKind,
    /// `None` if the entry vanished, and for directories that were not summed.
    size: Option<u64>,
    modified: Option<SystemTime>,
    /// Whether the size of a directory is incomplete.
    is_partial: bool,
}

/// Total size of all files below a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DirectorySize {
    pub(super) bytes: u64,
    pub(super) is_partial: bool,
}

/// An entry as returned to the caller.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct DirListEntry {
    path: String,
    #[serde(rename = "type")]
    kind: ListedKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    /// `size` is a lower bound.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    size_at_least: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    modified: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
}

impl SortableEntry {
    pub(super) fn new(sort: ListingSort, path: PathBuf, depth: usize, kind: ListedKind) -> Self {
        Self { sort, path, depth, kind, size: None, modified: None, is_partial: false }
    }

    pub(super) fn with_facts(mut self, facts: Option<FileMetadata>) -> Self {
        self.size = facts.filter(|_| self.kind == ListedKind::File).map(|facts| facts.len);
        self.modified = facts.and_then(|facts| facts.modified);
        self
    }

    pub(super) fn with_sum(mut self, sum: DirectorySize) -> Self {
        self.size = Some(sum.bytes);
        self.is_partial = sum.is_partial;
        self
    }

    pub(super) fn size(&self) -> Option<u64> {
        self.size
    }

    /// Converts to the returned form. The directory is at `place`.
    pub(super) fn describe(&self, root: &OpenDir, place: &Path, with_time: bool) -> DirListEntry {
        let target = || root.read_link(&self.path).ok().flatten();
        DirListEntry {
            path: display_below("", place, &self.path),
            kind: self.kind,
            size: self.size,
            size_at_least: self.is_partial,
            modified: if with_time { self.modified.and_then(to_rfc3339) } else { None },
            target: if self.kind == ListedKind::Symlink {
                let dir = place.join(self.path.parent().unwrap_or(Path::new("")));
                target().map(|target| display_below("", &dir, &target))
            } else {
                None
            },
        }
    }
}

impl Ord for SortableEntry {
    /// When sorting by name, shallow entries come first, so truncation drops
    /// the deepest.
    fn cmp(&self, other: &Self) -> Ordering {
        let by_name = || {
            let name = |found: &Self| (found.depth, found.kind != ListedKind::Dir);
            name(self).cmp(&name(other)).then_with(|| self.path.cmp(&other.path))
        };
        let size = |found: &Self| Reverse(found.size.unwrap_or(0));
        match self.sort {
            ListingSort::Name => by_name(),
            ListingSort::Size => size(self).cmp(&size(other)).then_with(by_name),
            ListingSort::Modified => {
                Reverse(self.modified).cmp(&Reverse(other.modified)).then_with(by_name)
            }
        }
    }
}

impl PartialOrd for SortableEntry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
