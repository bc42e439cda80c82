//! One entry of a folder: as it is found, and as it is told.

use std::cmp::{Ordering, Reverse};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use hermes_files::{FileMetadata, OpenDir};
use schemars::JsonSchema;
use serde::Serialize;

use super::Sort;
use crate::spelling::show_below;
use crate::stamp::stamp;

/// The kind of an entry. A link is a link, whatever it leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    Dir,
    File,
    Symlink,
    Other,
}

impl From<hermes_files::FileKind> for Kind {
    fn from(kind: hermes_files::FileKind) -> Self {
        match kind {
            hermes_files::FileKind::Link => Self::Symlink,
            hermes_files::FileKind::Directory => Self::Dir,
            hermes_files::FileKind::File => Self::File,
            _ => Self::Other,
        }
    }
}

/// What is known of an entry, ordered as it is listed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found {
    sort: Sort,
    path: PathBuf,
    depth: usize,
    kind: Kind,
    /// None for what is gone meanwhile, and for folders that were not summed.
    size: Option<u64>,
    modified: Option<SystemTime>,
    /// The size of a folder is only a part of it.
    is_partial: bool,
}

/// The size of a folder: all files below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sum {
    pub(super) bytes: u64,
    pub(super) is_partial: bool,
}

/// What the caller gets to know.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Entry {
    path: String,
    #[serde(rename = "type")]
    kind: Kind,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    /// There are at least so many bytes.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    size_at_least: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    modified: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
}

impl Found {
    pub(super) fn new(sort: Sort, path: PathBuf, depth: usize, kind: Kind) -> Self {
        Self { sort, path, depth, kind, size: None, modified: None, is_partial: false }
    }

    pub(super) fn with_facts(mut self, facts: Option<FileMetadata>) -> Self {
        self.size = facts.filter(|_| self.kind == Kind::File).map(|facts| facts.len);
        self.modified = facts.and_then(|facts| facts.modified);
        self
    }

    pub(super) fn with_sum(mut self, sum: Sum) -> Self {
        self.size = Some(sum.bytes);
        self.is_partial = sum.is_partial;
        self
    }

    pub(super) fn size(&self) -> Option<u64> {
        self.size
    }

    /// The entry for the answer. The folder is at `place`.
    pub(super) fn describe(&self, root: &OpenDir, place: &Path, with_time: bool) -> Entry {
        let target = || root.read_link(&self.path).ok().flatten();
        Entry {
            path: show_below("", place, &self.path),
            kind: self.kind,
            size: self.size,
            size_at_least: self.is_partial,
            modified: if with_time { self.modified.and_then(stamp) } else { None },
            target: if self.kind == Kind::Symlink {
                let folder = place.join(self.path.parent().unwrap_or(Path::new("")));
                target().map(|target| show_below("", &folder, &target))
            } else {
                None
            },
        }
    }
}

impl Ord for Found {
    /// Near ones before deep ones where names decide, so that a cut takes away
    /// the deepest.
    fn cmp(&self, other: &Self) -> Ordering {
        let by_name = || {
            let name = |found: &Self| (found.depth, found.kind != Kind::Dir);
            name(self).cmp(&name(other)).then_with(|| self.path.cmp(&other.path))
        };
        let size = |found: &Self| Reverse(found.size.unwrap_or(0));
        match self.sort {
            Sort::Name => by_name(),
            Sort::Size => size(self).cmp(&size(other)).then_with(by_name),
            Sort::Modified => {
                Reverse(self.modified).cmp(&Reverse(other.modified)).then_with(by_name)
            }
        }
    }
}

impl PartialOrd for Found {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
