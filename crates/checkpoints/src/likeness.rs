//! What a file carries besides its content: owner, access list and other
//! extended attributes. A file that is brought back takes them over from the
//! one in its place; if there is none, it gets what was kept of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::os::fd::AsFd;

use rustix::fs::{Gid, Mode, Uid, XattrFlags};
use rustix::io::Errno;

use crate::names::{hex, unhex};
use crate::spot::{Look, look};

/// Extended attributes that are larger than this together are not kept.
const ROOM: usize = 16 * 1024;

/// The longest list of names and the longest value that Linux knows.
const LONGEST: usize = 64 * 1024;

/// The access list. With one, the group bits of the mode are its mask and no
/// longer what the group may do.
const ACCESS_LIST: &str = "system.posix_acl_access";

/// These speak of the very content, or let it run with more rights than its
/// reader: they do not pass to another content.
const OF_THE_CONTENT: [&str; 3] = ["security.capability", "security.ima", "security.evm"];

/// What was kept of a file besides its content.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kept<'a> {
    pub(crate) mode: u32,
    /// User and group.
    pub(crate) owner: Option<(u32, u32)>,
    /// As [`kept_attributes`] gives them.
    pub(crate) attributes: &'a BTreeMap<String, String>,
}

/// The file in whose place another is put.
#[derive(Debug)]
pub(crate) struct There {
    pub(crate) found: Look,
    /// Open, if that was possible.
    pub(crate) file: Option<File>,
}

/// What could not be given to a file.
#[derive(Debug, Default)]
struct Lost {
    owner: bool,
    group: bool,
    attributes: BTreeSet<String>,
}

impl Kept<'_> {
    /// Makes a new file like the one in its place and like what was kept, the
    /// mode last. Says what could not be kept, in words.
    pub(crate) fn dress(&self, new: &File, there: Option<&There>) -> io::Result<Vec<String>> {
        let mut lost = Lost::default();
        // A change of owner takes bits off the mode, so it comes first.
        if let Some(owner) = there.map(|there| there.found.owner).or(self.owner) {
            lost.give_away(new, owner)?;
        }
        match there {
            Some(There { file: Some(old), .. }) => lost.copy_attributes(old, new),
            Some(_) => lost.attributes.extend(["extended attributes".to_owned()]),
            None => remove_access_list(new),
        }
        // The one who has changed an access list since has the last word.
        let is_open = there.is_some_and(|there| there.file.is_some());
        for (name, value) in self.attributes.iter().filter(|(n, _)| !is_open || *n != ACCESS_LIST) {
            let set = |value: Vec<u8>| {
                rustix::fs::fsetxattr(new, name.as_str(), &value, XattrFlags::empty()).is_ok()
            };
            if !unhex(value).is_some_and(set) {
                lost.attributes.insert(name.clone());
            }
        }
        rustix::fs::fchmod(new, Mode::from_raw_mode(lost.narrow(self.mode)))?;
        Ok(lost.told())
    }
}

impl Lost {
    fn give_away(&mut self, new: &File, (user, group): (u32, u32)) -> io::Result<()> {
        let made = look(&rustix::fs::fstat(new)?).owner;
        // Only root gives files away, but the group may be one's own.
        if made.0 != user {
            self.owner = rustix::fs::fchown(new, Some(Uid::from_raw(user)), None).is_err();
        }
        if made.1 != group {
            self.group = rustix::fs::fchown(new, None, Some(Gid::from_raw(group))).is_err();
        }
        Ok(())
    }

    fn copy_attributes(&mut self, old: &File, new: &File) {
        let wanted = match names(old) {
            Ok(wanted) => wanted,
            // A file system without attributes has none to lose.
            Err(Errno::NOTSUP | Errno::NOSYS) => return,
            Err(_) => return self.attributes.extend(["extended attributes".to_owned()]),
        };
        if !wanted.contains(ACCESS_LIST) {
            remove_access_list(new);
        }
        for name in wanted.into_iter().filter(|name| !OF_THE_CONTENT.contains(&name.as_str())) {
            let is_copied = value(old, &name).is_ok_and(|wanted| {
                rustix::fs::fsetxattr(new, name.as_str(), &wanted, XattrFlags::empty()).is_ok()
                    // It may have it already, by a policy.
                    || value(new, &name) == Ok(wanted)
            });
            if !is_copied {
                self.attributes.insert(name);
            }
        }
    }

    /// The bits that do no harm: where the group or the access list is not the
    /// one that they were meant for, the group may do what all others may.
    fn narrow(&self, mode: u32) -> u32 {
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

    fn told(self) -> Vec<String> {
        let named = [(self.owner, "owner"), (self.group, "group")];
        let named = named.into_iter().filter(|(is_lost, _)| *is_lost);
        named.map(|(_, name)| name.to_owned()).chain(self.attributes).collect()
    }
}

/// The user's extended attributes and the access list, each value in
/// hexadecimal; those that cannot be had are left out.
pub(crate) fn kept_attributes(file: impl AsFd) -> BTreeMap<String, String> {
    let mut room = ROOM;
    let mut kept = BTreeMap::new();
    let is_kept = |name: &String| name.starts_with("user.") || name == ACCESS_LIST;
    for name in names(&file).unwrap_or_default().into_iter().filter(is_kept) {
        if let Ok(value) = value(&file, &name)
            && value.len() <= room
        {
            room -= value.len();
            kept.insert(name, hex(&value));
        }
    }
    kept
}

/// A new file may have got one from its folder.
fn remove_access_list(new: &File) {
    let _ = rustix::fs::fremovexattr(new, ACCESS_LIST);
}

fn value(file: impl AsFd, name: &str) -> Result<Vec<u8>, Errno> {
    filled(|buffer| rustix::fs::fgetxattr(&file, name, buffer))
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
#[path = "likeness_tests.rs"]
mod tests;
