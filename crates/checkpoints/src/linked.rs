//! Files that had several names. Those names that are brought back together
//! are names of one file again; where others are missing, that is told.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use crate::spot::Spot;
use crate::state::{Hash, Linked, State};

/// What is said to be lost of a file that had more names.
const LOST: &str = "hard link";

/// The names that were brought back so far.
#[derive(Debug, Default)]
pub(crate) struct Names {
    /// By what they were: what is a name of it now.
    files: HashMap<(Linked, Hash), Vec<Back>>,
}

#[derive(Debug)]
struct Back {
    path: PathBuf,
    inode: u64,
}

impl Names {
    /// Brings a file back: as another name of one that is back already, or by
    /// putting it there. Says what it could not be given.
    pub(crate) fn bring(
        &mut self,
        path: &Path,
        spot: &Spot,
        was: Option<(Linked, Hash)>,
        put: impl FnOnce() -> io::Result<Vec<String>>,
    ) -> io::Result<Vec<String>> {
        let Some(was) = was else { return put() };
        let back = self.files.entry(was).or_default();
        if let Some(first) = back.first()
            && let Ok(Some(there)) = Spot::reach(&first.path)
            && spot.put_name(&there, first.inode)
        {
            let inode = first.inode;
            back.push(Back { path: path.to_path_buf(), inode });
            return Ok(Vec::new());
        }
        let lost = put()?;
        if let Some(found) = spot.look()? {
            back.push(Back { path: path.to_path_buf(), inode: found.stamp.inode });
        }
        Ok(lost)
    }

    /// One that was brought back before: it is a name like the others.
    pub(crate) fn know(&mut self, path: &Path, state: &State) {
        if let State::File { hash, linked: Some(linked), .. } = state
            && let Ok(Some(spot)) = Spot::reach(path)
            && let Ok(Some(found)) = spot.look()
        {
            let back = Back { path: path.to_path_buf(), inode: found.stamp.inode };
            self.files.entry((*linked, *hash)).or_default().push(back);
        }
    }

    /// Adds those to what is told that have fewer names than they had.
    pub(crate) fn tell(self, without: &mut Vec<(PathBuf, Vec<String>)>) {
        for ((was, _), back) in self.files {
            for Back { path, .. } in back.into_iter().filter(|back| back.has_fewer(was)) {
                match without.iter_mut().find(|(known, _)| *known == path) {
                    Some((_, lost)) => lost.push(LOST.to_owned()),
                    None => without.push((path, vec![LOST.to_owned()])),
                }
            }
        }
        without.sort();
    }
}

impl Back {
    fn has_fewer(&self, was: Linked) -> bool {
        let found = Spot::reach(&self.path).ok().flatten();
        let found = found.and_then(|spot| spot.look().ok().flatten());
        found.is_some_and(|found| found.names < was.names)
    }
}
