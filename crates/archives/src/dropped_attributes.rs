//! Permission bits dropped when packing or unpacking.

use std::path::{Path, PathBuf};

/// Set-user-ID, set-group-ID and sticky bits.
pub(crate) const SPECIAL_MODE_BITS: u32 = 0o7000;

/// An attribute that was dropped from some entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DroppedAttribute {
    /// Description of the attribute.
    pub what: &'static str,
    /// First affected entry.
    pub first: PathBuf,
    /// Number of affected entries.
    pub count: u64,
}

/// Dropped attributes, one item per kind.
#[derive(Debug, Default)]
pub(crate) struct DroppedAttributes(Vec<DroppedAttribute>);

impl DroppedAttributes {
    /// Records special mode bits, which are never kept.
    pub(crate) fn note_special(&mut self, path: &Path, mode: u32) {
        if mode & SPECIAL_MODE_BITS != 0 {
            self.add("the set-user-ID, set-group-ID or sticky bit", path);
        }
    }

    /// Records the mode of a directory that locks its owner out.
    pub(crate) fn note_closed_dir(&mut self, path: &Path, mode: u32) {
        if mode & 0o700 != 0o700 {
            self.add("a mode that locks the owner out of the directory", path);
        }
    }

    /// Records permission bits removed from a new file or directory.
    pub(crate) fn note_masked(&mut self, path: &Path, wanted: u32, given: u32) {
        if wanted & !given & 0o777 != 0 {
            self.add("permission bits removed by the umask", path);
        }
    }

    fn add(&mut self, what: &'static str, path: &Path) {
        match self.0.iter_mut().find(|known| known.what == what) {
            Some(known) => known.count += 1,
            None => self.0.push(DroppedAttribute { what, first: path.to_path_buf(), count: 1 }),
        }
    }

    pub(crate) fn into_list(self) -> Vec<DroppedAttribute> {
        self.0
    }
}
