//! What a file carries besides its content: owner, access lists and other
//! extended attributes. A file that takes the place of another takes these
//! over.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;

use rustix::fs::{Gid, Uid, XattrFlags};
use rustix::io::Errno;

use crate::facts::Facts;

/// The longest list of names and the longest value that Linux knows.
const LONGEST: usize = 64 * 1024;

/// They speak of the very content, or let it run with more rights than its
/// reader: new content does not get them, as the system sees to when a file is
/// written in place.
const OF_THE_CONTENT: [&str; 3] = ["security.capability", "security.ima", "security.evm"];

/// The extended attribute that is the access list. With one, the group bits of
/// the mode are its mask and no longer what the group may do.
pub const ACCESS_LIST: &str = "system.posix_acl_access";

/// What is said to be lost where nobody knows what there was.
const ALL: &str = "extended attributes";

/// A file that another is made to resemble.
#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) facts: Facts,
    /// Open, if that was possible.
    pub(crate) file: Option<File>,
}

impl Model {
    /// Gives its owner and its attributes to another file. The mode is not
    /// among them.
    pub(crate) fn dress(&self, new: &File) -> io::Result<Unlike> {
        let mut unlike = Unlike::default();
        unlike.give_away(new, self.facts.owner)?;
        unlike.copy_attributes(self.file.as_ref(), new);
        Ok(unlike)
    }
}

/// What a new file could not be given of what another had.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unlike {
    owner: bool,
    group: bool,
    attributes: BTreeSet<String>,
}

impl Unlike {
    /// Gives a file to a user and a group. That takes bits off its mode, so it
    /// comes first.
    pub fn give_away(&mut self, new: &File, (user, group): (u32, u32)) -> io::Result<()> {
        let made = Facts::of(&rustix::fs::fstat(new)?).owner;
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
    pub fn copy_attributes(&mut self, old: Option<&File>, new: &File) {
        let wanted = match old.map(names) {
            Some(Ok(wanted)) => wanted,
            // A file system without attributes has none to lose.
            Some(Err(Errno::NOTSUP | Errno::NOSYS)) => return,
            Some(Err(_)) | None => {
                self.attributes.insert(ALL.to_owned());
                return;
            }
        };
        if !wanted.contains(ACCESS_LIST) {
            remove_access_list(new);
        }
        let passes = |name: &String| !OF_THE_CONTENT.contains(&name.as_str());
        for name in wanted.into_iter().filter(passes) {
            let value = old.and_then(|old| attribute(old, &name).ok());
            self.set_attribute(new, &name, value.as_deref());
        }
    }

    /// Gives a file one attribute; it is lost if there is no value.
    pub fn set_attribute(&mut self, new: &File, name: &str, value: Option<&[u8]>) {
        let is_set = value.is_some_and(|value| {
            rustix::fs::fsetxattr(new, name, value, XattrFlags::empty()).is_ok()
                // It may have it already, by way of its folder or of a policy.
                || attribute(new, name).is_ok_and(|there| there == value)
        });
        if !is_set {
            self.attributes.insert(name.to_owned());
        }
    }

    /// The bits that do no harm: where the group or the access list is not the
    /// one that they were meant for, the group may do what all others may.
    pub fn narrow(&self, mode: u32) -> u32 {
        let mut mode = mode;
        if self.owner {
            mode &= !0o4000;
        }
        if self.group {
            mode &= !0o2000;
        }
        if self.group || self.attributes.contains(ACCESS_LIST) {
            mode &= !0o070 | (mode & 0o007) << 3;
        }
        mode
    }

    /// What is lost, in words.
    pub fn told(self) -> Vec<String> {
        let named = [(self.owner, "owner"), (self.group, "group")];
        let named = named.into_iter().filter(|(is_lost, _)| *is_lost);
        named.map(|(_, name)| name.to_owned()).chain(self.attributes).collect()
    }
}

/// Takes the access list off a new file, which may have got one from its
/// folder.
pub fn remove_access_list(new: &File) {
    // A look is cheaper than a removal that finds nothing.
    if names(new).map_or(true, |names| names.contains(ACCESS_LIST)) {
        let _ = rustix::fs::fremovexattr(new, ACCESS_LIST);
    }
}

/// The value of an extended attribute.
pub fn attribute(file: impl AsFd, name: &str) -> io::Result<Vec<u8>> {
    Ok(filled(|buffer| rustix::fs::fgetxattr(&file, name, buffer))?)
}

/// The names of a file's extended attributes. One that is not text is not
/// among them: no program that we know of makes such names.
pub fn attribute_names(file: impl AsFd) -> io::Result<BTreeSet<String>> {
    Ok(names(file)?)
}

fn names(file: impl AsFd) -> Result<BTreeSet<String>, Errno> {
    let list = filled(|buffer| rustix::fs::flistxattr(&file, buffer))?;
    let names = list.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    Ok(names.filter_map(|name| String::from_utf8(name.to_vec()).ok()).collect())
}

fn filled(fill: impl Fn(&mut [u8]) -> Result<usize, Errno>) -> Result<Vec<u8>, Errno> {
    // Nearly all are short.
    for room in [512, LONGEST] {
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
