//! What a file or a folder carries besides its content: owner, access lists and
//! other extended attributes. A file that is brought back takes them over from the
//! one in its place, but for what is to be undone of them; if there is none, it
//! gets what was kept.

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

/// Extended attributes that are larger than this together are not kept.
const MAX_XATTR_BYTES: usize = 16 * 1024;

/// The extended attribute of a folder that is the access list of what is made
/// in it.
const DEFAULT_ACL_XATTR: &str = "system.posix_acl_default";

/// What was kept of a file or a folder besides its content.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SavedAttributes<'a> {
    pub(crate) mode: u32,
    /// User and group.
    pub(crate) owner: Option<(u32, u32)>,
    /// As [`kept_attributes`] gives them.
    pub(crate) attributes: &'a BTreeMap<String, String>,
    /// What of it counts more than what is there.
    pub(crate) overrides: AttributeMask,
}

/// The file in whose place another is put.
#[derive(Debug)]
pub(crate) struct ReplacedFile {
    pub(crate) stat: PathStat,
    /// Open, if that was possible.
    pub(crate) file: Option<File>,
}

impl SavedAttributes<'_> {
    /// Makes a new file like the one in its place and like what was kept, the
    /// mode last. Says what could not be kept, in words.
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
        // The one who has changed an access list since has the last word.
        let is_open = there.is_some_and(|there| there.file.is_some());
        let passes = |name: &str| self.overrides.attributes || !is_open || name != ACL_XATTR;
        self.set_xattrs(new, &mut unlike, passes);
        self.finish(new, unlike)
    }

    /// Whether there is nothing to it but the mode.
    pub(crate) fn is_plain(&self) -> bool {
        self.overrides == AttributeMask::default()
    }

    /// Gives a file or a folder that has its content back what else counts of it.
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
                // One that stays is seen by the next look.
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

/// The user's extended attributes and the access lists, each value in
/// hexadecimal; those that cannot be had are left out.
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

/// [`kept_attributes`] of a folder; none if nobody can tell. Nearly every folder
/// has none, and that is seen without opening it.
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

/// It is known that there are none.
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
