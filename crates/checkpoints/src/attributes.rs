//! Metadata of files and directories: owner, ACLs and other extended
//! attributes. A restored file takes them from the file it replaces, except for
//! those to be undone; if there is no such file, it gets the saved ones.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use hermes_files::{ACL_XATTR, LostAttributes, read_xattr, remove_acl, xattr_names};
use rustix::fs::Mode;
use rustix::io::Errno;

use crate::names::{hex, unhex};
use crate::path_handle::{PathHandle, PathStat};
use crate::state::AttributeMask;

/// Limit on the total size of saved extended attributes.
const MAX_XATTR_BYTES: usize = 16 * 1024;

/// Extended attribute with a directory's default ACL.
const DEFAULT_ACL_XATTR: &str = "system.posix_acl_default";

/// Saved metadata of a file or directory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SavedAttributes<'a> {
    pub(crate) mode: u32,
    /// User and group.
    pub(crate) owner: Option<(u32, u32)>,
    /// As returned by [`read_xattrs`].
    pub(crate) attributes: &'a BTreeMap<String, String>,
    /// Which saved values take precedence over those on disk.
    pub(crate) overrides: AttributeMask,
}

/// The file being replaced.
#[derive(Debug)]
pub(crate) struct ReplacedFile {
    pub(crate) stat: PathStat,
    /// The open file, if it could be opened.
    pub(crate) file: Option<File>,
}

impl SavedAttributes<'_> {
    /// Applies the metadata of the replaced file and the saved metadata to a
    /// new file, the mode last. Returns the names of attributes that could not
    /// be set.
    pub(crate) fn apply_to(
        &self,
        new: &File,
        there: Option<&ReplacedFile>,
    ) -> io::Result<Vec<String>> {
        let mut unlike = LostAttributes::default();
        let found = there.map(|there| there.stat.owner);
        let owner = if self.overrides.owner { self.owner.or(found) } else { found.or(self.owner) };
        if let Some(owner) = owner {
            unlike.set_owner(new, owner)?;
        }
        match there {
            Some(there) => unlike.copy_xattrs(there.file.as_ref(), new),
            None => remove_acl(new),
        }
        // An ACL changed since the checkpoint is kept.
        let is_open = there.is_some_and(|there| there.file.is_some());
        let passes = |name: &str| self.overrides.attributes || !is_open || name != ACL_XATTR;
        self.set_xattrs(new, &mut unlike, passes);
        self.finish(new, unlike)
    }

    /// Whether only the mode is to be restored.
    pub(crate) fn is_plain(&self) -> bool {
        self.overrides == AttributeMask::default()
    }

    /// Restores the overriding metadata of a file or directory whose content is
    /// already restored.
    pub(crate) fn reapply_to(&self, file: &File) -> io::Result<Vec<String>> {
        let mut unlike = LostAttributes::default();
        if let Some(owner) = self.owner.filter(|_| self.overrides.owner) {
            unlike.set_owner(file, owner)?;
        }
        self.set_xattrs(file, &mut unlike, |_| self.overrides.attributes);
        self.finish(file, unlike)
    }

    fn set_xattrs(&self, to: &File, unlike: &mut LostAttributes, passes: impl Fn(&str) -> bool) {
        if self.overrides.attributes {
            let there = read_xattrs(to);
            for name in there.keys().filter(|name| !self.attributes.contains_key(*name)) {
                // An attribute that could not be removed is found by the next
                // check.
                let _ = rustix::fs::fremovexattr(to, name.as_str());
            }
        }
        for (name, value) in self.attributes.iter().filter(|(name, _)| passes(name)) {
            unlike.set_xattr(to, name, unhex(value).as_deref());
        }
    }

    fn finish(&self, file: &File, unlike: LostAttributes) -> io::Result<Vec<String>> {
        rustix::fs::fchmod(file, Mode::from_raw_mode(unlike.safe_mode(self.mode)))?;
        Ok(unlike.into_names())
    }
}

/// Returns the `user.` extended attributes and the ACLs, with values in
/// hexadecimal; skips those that cannot be read.
pub(crate) fn read_xattrs(file: impl AsFd) -> BTreeMap<String, String> {
    let mut room = MAX_XATTR_BYTES;
    let mut kept = BTreeMap::new();
    let names = xattr_names(&file).unwrap_or_default();
    for name in names.into_iter().filter(|name| is_saved_xattr(name.as_bytes())) {
        if let Ok(value) = read_xattr(&file, &name)
            && value.len() <= room
        {
            room -= value.len();
            kept.insert(name, hex(&value));
        }
    }
    kept
}

/// [`read_xattrs`] for a directory; `None` if unknown. Nearly every directory
/// has none, which is detected without opening it.
pub(crate) fn read_dir_xattrs(path: &Path) -> Option<BTreeMap<String, String>> {
    let mut list = [0; 512];
    match rustix::fs::llistxattr(path, &mut list) {
        Ok(len) => {
            let mut names = list.get(..len)?.split(|byte| *byte == 0);
            if names.any(is_saved_xattr) {
                PathHandle::resolve(path).ok()??.dir_xattrs()
            } else {
                no_xattrs()
            }
        }
        Err(Errno::NOTSUP | Errno::NOSYS) => no_xattrs(),
        Err(Errno::RANGE) => PathHandle::resolve(path).ok()??.dir_xattrs(),
        Err(_) => None,
    }
}

/// Known to have none.
fn no_xattrs() -> Option<BTreeMap<String, String>> {
    Some(BTreeMap::new())
}

fn is_saved_xattr(name: &[u8]) -> bool {
    let lists = [ACL_XATTR, DEFAULT_ACL_XATTR].map(str::as_bytes);
    name.starts_with(b"user.") || lists.contains(&name)
}

#[cfg(test)]
#[path = "attributes_tests.rs"]
mod tests;
