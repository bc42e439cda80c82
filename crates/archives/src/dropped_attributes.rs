//! Permission bits that are not kept, on the way in or out.

use std::path::{Path, PathBuf};

/// Bits that let a program run as its owner or group, or guard a folder.
pub(crate) const SPECIAL_MODE_BITS: u32 = 0o7000;

/// Something that some entries had and do not have any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DroppedAttribute {
    /// What they had.
    pub what: &'static str,
    /// The first of them.
    pub first: PathBuf,
    /// How many there are.
    pub count: u64,
}

/// All that was not kept, each kind of it once.
#[derive(Debug, Default)]
pub(crate) struct DroppedAttributes(Vec<DroppedAttribute>);

impl DroppedAttributes {
    /// Notes the special bits of a mode, which are never kept.
    pub(crate) fn note_special(&mut self, path: &Path, mode: u32) {
        if mode & SPECIAL_MODE_BITS != 0 {
            self.add("the set-user-ID, set-group-ID or sticky bit", path);
        }
    }

    /// Notes the mode of a folder that its owner could not use.
    pub(crate) fn note_closed_dir(&mut self, path: &Path, mode: u32) {
        if mode & 0o700 != 0o700 {
            self.add("a mode that shuts out the owner of the folder", path);
        }
    }

    /// Notes the bits for others that a new file or folder was not given.
    pub(crate) fn note_masked(&mut self, path: &Path, wanted: u32, given: u32) {
        if wanted & !given & 0o777 != 0 {
            self.add("permission bits that the umask takes", path);
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
