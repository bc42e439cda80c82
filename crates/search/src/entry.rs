//! The entries of a folder while it is decided which of them are kept.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use hermes_files::FileKind;

use crate::ignore_rules::IgnoreMarkers;

/// One entry, as it is looked at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WalkEntry<'a> {
    /// Relative to the root.
    pub(crate) path: &'a Path,
    pub(crate) name: &'a OsStr,
    pub(crate) kind: FileKind,
}

/// The entries of a folder before any is chosen. Many of them are not kept,
/// so that none gets a place of its own.
#[derive(Debug, Default)]
pub(crate) struct RawEntries {
    names: Vec<u8>,
    /// Where each name ends.
    ends: Vec<(usize, FileKind)>,
    /// Which of them speak of what is ignored.
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

/// The real path of one entry after the other.
#[derive(Debug)]
pub(crate) struct PathBuffer {
    bytes: Vec<u8>,
    /// Up to the name.
    dir_len: usize,
    /// Up to what is relative to the root.
    root_len: usize,
}

impl PathBuffer {
    pub(crate) fn new(root: &Path, folder: &Path) -> Self {
        let mut bytes = Vec::new();
        let mut add = |part: &Path| {
            bytes.extend_from_slice(part.as_os_str().as_bytes());
            if !bytes.is_empty() && !bytes.ends_with(b"/") {
                bytes.push(b'/');
            }
            bytes.len()
        };
        let (root, folder) = (add(root), add(folder));
        Self { bytes, dir_len: folder, root_len: root }
    }

    /// The real path of a name, and the one relative to the root.
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
