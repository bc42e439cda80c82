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

/// What a new file may have got from its folder, and the old one did not have.
const INHERITED: [&str; 1] = ["system.posix_acl_access"];

/// A file that another is made to resemble.
#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) facts: Facts,
    /// Open, if that was possible.
    pub(crate) file: Option<File>,
}

impl Model {
    /// Gives its owner and its attributes to another file, and says which of
    /// them could not be kept. The mode is not among them.
    pub(crate) fn dress(&self, new: &File) -> io::Result<Vec<String>> {
        let mut lost = Vec::new();
        let made = Facts::of(&rustix::fs::fstat(new)?);
        let (user, group) = self.facts.owner;
        if made.owner != self.facts.owner {
            // Only root gives files away, but the group may be one's own.
            let user = (made.owner.0 != user).then(|| Uid::from_raw(user));
            let group = (made.owner.1 != group).then(|| Gid::from_raw(group));
            if user.is_some() && rustix::fs::fchown(new, user, None).is_err() {
                lost.push("owner".to_owned());
            }
            if group.is_some() && rustix::fs::fchown(new, None, group).is_err() {
                lost.push("group".to_owned());
            }
        }
        match &self.file {
            Some(old) => copy_attributes(old, new, &mut lost),
            None => lost.push("extended attributes".to_owned()),
        }
        Ok(lost)
    }
}

fn copy_attributes(old: &File, new: &File, lost: &mut Vec<String>) {
    let (wanted, found) = match (names(old), names(new)) {
        (Ok(wanted), Ok(found)) => (wanted, found),
        // A file system without attributes has none to lose.
        (Err(Errno::NOTSUP | Errno::NOSYS), _) => return,
        _ => return lost.push("extended attributes".to_owned()),
    };
    for name in found.difference(&wanted).filter(|name| INHERITED.contains(&name.as_str())) {
        let _ = rustix::fs::fremovexattr(new, name.as_str());
    }
    for name in wanted.iter().filter(|name| !OF_THE_CONTENT.contains(&name.as_str())) {
        if copy(old, new, name).is_err() {
            lost.push(name.clone());
        }
    }
}

fn copy(old: &File, new: &File, name: &str) -> Result<(), Errno> {
    let value = value(old, name)?;
    match rustix::fs::fsetxattr(new, name, &value, XattrFlags::empty()) {
        // It may have it already, by way of its folder or of a policy.
        Err(error) if self::value(new, name) != Ok(value) => Err(error),
        _ => Ok(()),
    }
}

fn value(file: &File, name: &str) -> Result<Vec<u8>, Errno> {
    filled(|buffer| rustix::fs::fgetxattr(file.as_fd(), name, buffer))
}

/// The names of a file's attributes. One that is not text is not kept: no
/// program that we know of makes such names.
fn names(file: &File) -> Result<BTreeSet<String>, Errno> {
    let list = filled(|buffer| rustix::fs::flistxattr(file.as_fd(), buffer))?;
    let names = list.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    Ok(names.filter_map(|name| String::from_utf8(name.to_vec()).ok()).collect())
}

fn filled(fill: impl Fn(&mut [u8]) -> Result<usize, Errno>) -> Result<Vec<u8>, Errno> {
    // Nearly all are short.
    for room in [1024, LONGEST] {
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
