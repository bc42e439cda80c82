//! One entry of a folder: as it is found, and as it is told.

use std::cmp::Reverse;
use std::path::PathBuf;
use std::time::SystemTime;

use hermes_files::{Facts, Folder};
use jiff::Timestamp;
use serde::Serialize;

use super::Sort;

/// The kind of an entry. A link is a link, whatever it leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    Dir,
    File,
    Symlink,
    Other,
}

/// What the order needs to know.
#[derive(Debug)]
pub(super) struct Found {
    path: PathBuf,
    depth: usize,
    kind: Kind,
    size: u64,
    modified: Option<SystemTime>,
}

/// What the caller gets to know.
#[derive(Debug, Serialize)]
pub(super) struct Entry {
    path: String,
    #[serde(rename = "type")]
    kind: Kind,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    modified: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
    /// The name is not valid UTF-8 and is shown with U+FFFD.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    lossy: bool,
}

impl Found {
    /// `facts` are needed only where the order depends on them.
    pub(super) fn new(
        path: PathBuf,
        depth: usize,
        kind: hermes_files::Kind,
        facts: Option<Facts>,
    ) -> Self {
        let kind = match kind {
            hermes_files::Kind::Link => Kind::Symlink,
            hermes_files::Kind::Folder => Kind::Dir,
            hermes_files::Kind::File => Kind::File,
            _ => Kind::Other,
        };
        let size = facts.filter(|_| kind == Kind::File).map_or(0, |facts| facts.len);
        let modified = facts.and_then(|facts| facts.modified);
        Self { path, depth, kind, size, modified }
    }

    /// Puts them in order: near ones before deep ones where names decide, so
    /// that a cut takes away the deepest.
    pub(super) fn sort(found: &mut [Self], by: Sort) {
        found.sort_by(|a, b| {
            let by_name = || {
                (a.depth, a.kind != Kind::Dir, &a.path).cmp(&(
                    b.depth,
                    b.kind != Kind::Dir,
                    &b.path,
                ))
            };
            match by {
                Sort::Name => by_name(),
                Sort::Size => Reverse(a.size).cmp(&Reverse(b.size)).then_with(by_name),
                Sort::Modified => Reverse(a.modified).cmp(&Reverse(b.modified)).then_with(by_name),
            }
        });
    }

    /// The entry for the answer; what is gone meanwhile has no size.
    pub(super) fn describe(&self, root: &Folder, with_time: bool) -> Entry {
        let size = || root.facts(&self.path).ok().map(|facts| facts.len);
        let target = || root.read_link(&self.path).ok().flatten();
        Entry {
            path: self.path.to_string_lossy().into_owned(),
            kind: self.kind,
            size: if self.kind == Kind::File { size() } else { None },
            modified: if with_time { self.modified.and_then(to_text) } else { None },
            target: if self.kind == Kind::Symlink {
                target().map(|target| target.to_string_lossy().into_owned())
            } else {
                None
            },
            lossy: self.path.to_str().is_none(),
        }
    }
}

/// RFC 3339, to the second.
fn to_text(time: SystemTime) -> Option<String> {
    let seconds = Timestamp::try_from(time).ok()?.as_second();
    Some(Timestamp::from_second(seconds).ok()?.to_string())
}
