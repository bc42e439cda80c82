//! File attributes besides the content: owner, access lists and other extended
//! attributes. A file that replaces another takes them over.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;

use rustix::fs::{Gid, Uid, XattrFlags};
use rustix::io::Errno;

use crate::metadata::FileMetadata;

/// Linux limit on the list of names and on one value.
const MAX_XATTR_BYTES: usize = 64 * 1024;

/// Attributes bound to the exact content, or that let it run with more rights
/// than its reader has. New content does not get them; the kernel also drops
/// them when a file is written in place.
const CONTENT_BOUND_XATTRS: [&str; 3] = ["security.capability", "security.ima", "security.evm"];

/// The extended attribute that holds the access list. If set, the group bits of
/// the mode are its mask, not the group's permissions.
pub const ACL_XATTR: &str = "system.posix_acl_access";

/// Reported as lost when the attributes could not be read.
const ALL_ATTRIBUTES: &str = "extended attributes";

/// A file whose attributes are copied to another.
#[derive(Debug)]
pub(crate) struct AttributeSource {
    pub(crate) metadata: FileMetadata,
    /// The open file, if it could be opened.
    pub(crate) file: Option<File>,
}

impl AttributeSource {
    /// Copies the owner and the extended attributes to another file, but not
    /// the mode.
    pub(crate) fn apply_to(&self, new: &File) -> io::Result<LostAttributes> {
        let mut unlike = LostAttributes::default();
        unlike.set_owner(new, self.metadata.owner)?;
        unlike.copy_xattrs(self.file.as_ref(), new);
        Ok(unlike)
    }
}

/// Attributes that could not be copied to a new file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LostAttributes {
    owner: bool,
    group: bool,
    xattrs: BTreeSet<String>,
}

impl LostAttributes {
    /// Sets the owner and group of a file. Call it before setting the mode,
    /// since chown clears mode bits.
    pub fn set_owner(&mut self, new: &File, (user, group): (u32, u32)) -> io::Result<()> {
        let made = FileMetadata::from_stat(&rustix::fs::fstat(new)?).owner;
        // Only root can change the owner, but a user may set one of their own
        // groups.
        if made.0 != user {
            self.owner = rustix::fs::fchown(new, Some(Uid::from_raw(user)), None).is_err();
        }
        if made.1 != group {
            self.group = rustix::fs::fchown(new, None, Some(Gid::from_raw(group))).is_err();
        }
        Ok(())
    }

    /// Copies the attributes of one file to another; all count as lost if the
    /// source could not be opened. Removes an access list that only the new
    /// file has.
    pub fn copy_xattrs(&mut self, old: Option<&File>, new: &File) {
        let wanted = match old.map(list_xattrs) {
            Some(Ok(wanted)) => wanted,
            // A file system without extended attributes has none to lose.
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

    /// Sets one attribute of a file; it counts as lost if there is no value.
    pub fn set_xattr(&mut self, new: &File, name: &str, value: Option<&[u8]>) {
        let is_set = value.is_some_and(|value| {
            rustix::fs::fsetxattr(new, name, value, XattrFlags::empty()).is_ok()
                // It may be set already, inherited from the directory or by a
                // policy.
                || read_xattr(new, name).is_ok_and(|there| there == value)
        });
        if !is_set {
            self.xattrs.insert(name.to_owned());
        }
    }

    /// Returns the mode bits that are safe to set: if the group or the access
    /// list could not be copied, the group gets no more than others have.
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

    /// Returns the names of the lost attributes.
    pub fn into_names(self) -> Vec<String> {
        let named = [(self.owner, "owner"), (self.group, "group")];
        let named = named.into_iter().filter(|(is_lost, _)| *is_lost);
        named.map(|(_, name)| name.to_owned()).chain(self.xattrs).collect()
    }
}

/// Removes the access list that a new file may have inherited from its
/// directory.
pub fn remove_acl(new: &File) {
    // Listing is cheaper than a removal that finds nothing.
    if list_xattrs(new).map_or(true, |names| names.contains(ACL_XATTR)) {
        let _ = rustix::fs::fremovexattr(new, ACL_XATTR);
    }
}

/// Returns the value of an extended attribute.
pub fn read_xattr(file: impl AsFd, name: &str) -> io::Result<Vec<u8>> {
    Ok(read_with_growing_buffer(|buffer| rustix::fs::fgetxattr(&file, name, buffer))?)
}

/// Returns the names of a file's extended attributes. Omits names that are not
/// UTF-8; no known program creates such names.
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
    // Nearly all values are short.
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
