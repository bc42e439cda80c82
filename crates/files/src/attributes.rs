//! What a file carries besides its content: owner, access lists and other
//! extended attributes. A file that takes the place of another takes these
//! over.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;

use rustix::fs::{Gid, Uid, XattrFlags};
use rustix::io::Errno;

use crate::metadata::FileMetadata;

/// The longest list of names and the longest value that Linux knows.
const MAX_XATTR_BYTES: usize = 64 * 1024;

/// They speak of the very content, or let it run with more rights than its
/// reader: new content does not get them, as the system sees to when a file is
/// written in place.
const CONTENT_BOUND_XATTRS: [&str; 3] = ["security.capability", "security.ima", "security.evm"];

/// The extended attribute that is the access list. With one, the group bits of
/// the mode are its mask and no longer what the group may do.
pub const ACL_XATTR: &str = "system.posix_acl_access";

/// What is said to be lost where nobody knows what there was.
const ALL_ATTRIBUTES: &str = "extended attributes";

/// A file that another is made to resemble.
#[derive(Debug)]
pub(crate) struct AttributeSource {
    pub(crate) metadata: FileMetadata,
    /// Open, if that was possible.
    pub(crate) file: Option<File>,
}

impl AttributeSource {
    /// Gives its owner and its attributes to another file. The mode is not
    /// among them.
    pub(crate) fn apply_to(&self, new: &File) -> io::Result<LostAttributes> {
        let mut unlike = LostAttributes::default();
        unlike.set_owner(new, self.metadata.owner)?;
        unlike.copy_xattrs(self.file.as_ref(), new);
        Ok(unlike)
    }
}

/// What a new file could not be given of what another had.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LostAttributes {
    owner: bool,
    group: bool,
    xattrs: BTreeSet<String>,
}

impl LostAttributes {
    /// Gives a file to a user and a group. That takes bits off its mode, so it
    /// comes first.
    pub fn set_owner(&mut self, new: &File, (user, group): (u32, u32)) -> io::Result<()> {
        let made = FileMetadata::from_stat(&rustix::fs::fstat(new)?).owner;
        // Only root gives files away, but the group may be one's own.
        if made.0 != user {
            self.owner = rustix::fs::fchown(new, Some(Uid::from_raw(user)), None).is_err();
        }
        if made.1 != group {
            self.group = rustix::fs::fchown(new, None, Some(Gid::from_raw(group))).is_err();
        }
        Ok(())
    }

    /// Gives a file the attributes of another; all are lost if that one could
    /// not be opened. An access list that only the new one has goes.
    pub fn copy_xattrs(&mut self, old: Option<&File>, new: &File) {
        let wanted = match old.map(list_xattrs) {
            Some(Ok(wanted)) => wanted,
            // A file system without attributes has none to lose.
            Some(Err(Errno::NOTSUP | Errno::NOSYS)) => return,
            Some(Err(_)) | None => {
                self.xattrs.insert(ALL_ATTRIBUTES.to_owned());
                return;
            }
        };
        if !wanted.contains(ACL_XATTR) {
            remove_acl(new);
        }
        let passes = |name: &String| !CONTENT_BOUND_XATTRS.contains(&name.as_str());
        for name in wanted.into_iter().filter(passes) {
            let value = old.and_then(|old| read_xattr(old, &name).ok());
            self.set_xattr(new, &name, value.as_deref());
        }
    }

    /// Gives a file one attribute; it is lost if there is no value.
    pub fn set_xattr(&mut self, new: &File, name: &str, value: Option<&[u8]>) {
        let is_set = value.is_some_and(|value| {
            rustix::fs::fsetxattr(new, name, value, XattrFlags::empty()).is_ok()
                // It may have it already, by way of its folder or of a policy.
                || read_xattr(new, name).is_ok_and(|there| there == value)
        });
        if !is_set {
            self.xattrs.insert(name.to_owned());
        }
    }

    /// The bits that do no harm: where the group or the access list is not the
    /// one that they were meant for, the group may do what all others may.
    pub fn safe_mode(&self, mode: u32) -> u32 {
        let mut mode = mode;
        if self.owner {
            mode &= !0o4000;
        }
        if self.group {
            mode &= !0o2000;
        }
        if self.group || self.xattrs.contains(ACL_XATTR) {
            mode &= !0o070 | (mode & 0o007) << 3;
        }
        mode
    }

    /// What is lost, in words.
    pub fn into_names(self) -> Vec<String> {
        let named = [(self.owner, "owner"), (self.group, "group")];
        let named = named.into_iter().filter(|(is_lost, _)| *is_lost);
        named.map(|(_, name)| name.to_owned()).chain(self.xattrs).collect()
    }
}

/// Takes the access list off a new file, which may have got one from its
/// folder.
pub fn remove_acl(new: &File) {
    // A look is cheaper than a removal that finds nothing.
    if list_xattrs(new).map_or(true, |names| names.contains(ACL_XATTR)) {
        let _ = rustix::fs::fremovexattr(new, ACL_XATTR);
    }
}

/// The value of an extended attribute.
pub fn read_xattr(file: impl AsFd, name: &str) -> io::Result<Vec<u8>> {
    Ok(read_with_growing_buffer(|buffer| rustix::fs::fgetxattr(&file, name, buffer))?)
}

/// The names of a file's extended attributes. One that is not text is not
/// among them: no program that we know of makes such names.
pub fn xattr_names(file: impl AsFd) -> io::Result<BTreeSet<String>> {
    Ok(list_xattrs(file)?)
}

fn list_xattrs(file: impl AsFd) -> Result<BTreeSet<String>, Errno> {
    let list = read_with_growing_buffer(|buffer| rustix::fs::flistxattr(&file, buffer))?;
    let names = list.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    Ok(names.filter_map(|name| String::from_utf8(name.to_vec()).ok()).collect())
}

fn read_with_growing_buffer(
    fill: impl Fn(&mut [u8]) -> Result<usize, Errno>,
) -> Result<Vec<u8>, Errno> {
    // Nearly all are short.
    for room in [512, MAX_XATTR_BYTES] {
        let mut buffer = vec![0; room];
        match fill(&mut buffer) {
            Ok(len) => {
                buffer.truncate(len);
                return Ok(buffer);
            }
            Err(Errno::RANGE) => {}
            Err(error) => return Err(error),
        }
    }
    Err(Errno::RANGE)
}

#[cfg(test)]
#[path = "attributes_tests.rs"]
mod tests;
