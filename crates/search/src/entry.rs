//! Entries of a directory before they are filtered.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use hermes_files::FileKind;

use crate::ignore_rules::IgnoreMarkers;

/// An entry under consideration.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WalkEntry<'a> {
    /// Relative to the root.
    pub(crate) path: &'a Path,
    pub(crate) name: &'a OsStr,
    pub(crate) kind: FileKind,
}

/// The unfiltered entries of a directory. Names share one buffer, since most
/// entries are discarded.
#[derive(Debug, Default)]
pub(crate) struct RawEntries {
    names: Vec<u8>,
    /// The end offset of each name.
    ends: Vec<(usize, FileKind)>,
    /// The ignore files and repositories among them.
    pub(crate) markers: IgnoreMarkers,
}

impl RawEntries {
    pub(crate) fn push(&mut self, name: &OsStr, kind: FileKind) {
        self.markers.note(name.as_bytes());
        self.names.extend_from_slice(name.as_bytes());
        self.ends.push((self.names.len(), kind));
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = (&OsStr, FileKind)> {
        let mut start = 0;
        self.ends.iter().map(move |&(end, kind)| {
            let name = self.names.get(start..end).unwrap_or_default();
            start = end;
            (OsStr::from_bytes(name), kind)
        })
    }
}

/// A reusable buffer for the canonical paths of entries.
#[derive(Debug)]
pub(crate) struct PathBuffer {
    bytes: Vec<u8>,
    /// Length up to the name.
    dir_len: usize,
    /// Length of the root prefix.
    root_len: usize,
}

impl PathBuffer {
    pub(crate) fn new(root: &Path, dir: &Path) -> Self {
        let mut bytes = Vec::new();
        let mut add = |part: &Path| {
            bytes.extend_from_slice(part.as_os_str().as_bytes());
            if !bytes.is_empty() && !bytes.ends_with(b"/") {
                bytes.push(b'/');
            }
            bytes.len()
        };
        let (root, dir) = (add(root), add(dir));
        Self { bytes, dir_len: dir, root_len: root }
    }

    /// Sets the name. Returns the canonical path, and the one relative to the
    /// root.
    pub(crate) fn set_name(&mut self, name: &OsStr) -> (&Path, &Path) {
        self.bytes.truncate(self.dir_len);
        self.bytes.extend_from_slice(name.as_bytes());
        let relative = self.bytes.get(self.root_len..).unwrap_or_default();
        (Path::new(OsStr::from_bytes(&self.bytes)), Path::new(OsStr::from_bytes(relative)))
    }
}

#[cfg(test)]
#[path = "entry_tests.rs"]
mod tests;
