//! What a file carries besides its content: owner, access list and other
//! extended attributes. A file that is brought back takes them over from the
//! one in its place; if there is none, it gets what was kept of them.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;

use hermes_files::{ACCESS_LIST, Unlike, attribute, attribute_names, remove_access_list};
use rustix::fs::Mode;

use crate::names::{hex, unhex};
use crate::spot::Look;

/// Extended attributes that are larger than this together are not kept.
const ROOM: usize = 16 * 1024;

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

impl Kept<'_> {
    /// Makes a new file like the one in its place and like what was kept, the
    /// mode last. Says what could not be kept, in words.
    pub(crate) fn dress(&self, new: &File, there: Option<&There>) -> io::Result<Vec<String>> {
        let mut unlike = Unlike::default();
        if let Some(owner) = there.map(|there| there.found.owner).or(self.owner) {
            unlike.give_away(new, owner)?;
        }
        match there {
            Some(there) => unlike.copy_attributes(there.file.as_ref(), new),
            None => remove_access_list(new),
        }
        // The one who has changed an access list since has the last word.
        let is_open = there.is_some_and(|there| there.file.is_some());
        for (name, value) in self.attributes.iter().filter(|(n, _)| !is_open || *n != ACCESS_LIST) {
            unlike.set_attribute(new, name, unhex(value).as_deref());
        }
        rustix::fs::fchmod(new, Mode::from_raw_mode(unlike.narrow(self.mode)))?;
        Ok(unlike.told())
    }
}

/// The user's extended attributes and the access list, each value in
/// hexadecimal; those that cannot be had are left out.
pub(crate) fn kept_attributes(file: impl AsFd) -> BTreeMap<String, String> {
    let mut room = ROOM;
    let mut kept = BTreeMap::new();
    let is_kept = |name: &String| name.starts_with("user.") || name == ACCESS_LIST;
    for name in attribute_names(&file).unwrap_or_default().into_iter().filter(is_kept) {
        if let Ok(value) = attribute(&file, &name)
            && value.len() <= room
        {
            room -= value.len();
            kept.insert(name, hex(&value));
        }
    }
    kept
}
