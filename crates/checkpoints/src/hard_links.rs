//! Restores hard links. Names that are restored together share one file again;
//! missing links are reported.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use crate::path_handle::PathHandle;
use crate::state::{ContentHash, HardLinks, SavedState};

/// Label reported for a file that lost hard links.
const HARD_LINK_LABEL: &str = "hard link";

/// Names restored so far.
#[derive(Debug, Default)]
pub(crate) struct RestoredLinks {
    /// Restored names by their original link group and content.
    files: HashMap<(HardLinks, ContentHash), Vec<RestoredName>>,
}

#[derive(Debug)]
struct RestoredName {
    path: PathBuf,
    inode: u64,
}

impl RestoredLinks {
    /// Restores a file, as a hard link to one restored already or by calling
    /// `put`. Returns the attributes that could not be restored.
    pub(crate) fn restore(
        &mut self,
        path: &Path,
        spot: &PathHandle,
        was: Option<(HardLinks, ContentHash)>,
        put: impl FnOnce() -> io::Result<Vec<String>>,
    ) -> io::Result<Vec<String>> {
        let Some(was) = was else { return put() };
        let back = self.files.entry(was).or_default();
        if let Some(first) = back.first()
            && let Ok(Some(there)) = PathHandle::resolve(&first.path)
            && spot.put_hard_link(&there, first.inode)
        {
            let inode = first.inode;
            back.push(RestoredName { path: path.to_path_buf(), inode });
            return Ok(Vec::new());
        }
        let lost = put()?;
        if let Some(found) = spot.stat()? {
            back.push(RestoredName { path: path.to_path_buf(), inode: found.stamp.inode });
        }
        Ok(lost)
    }

    /// Registers a file restored earlier, so later names can link to it.
    pub(crate) fn note_restored(&mut self, path: &Path, state: &SavedState) {
        if let SavedState::File { hash, linked: Some(linked), .. } = state
            && let Ok(Some(spot)) = PathHandle::resolve(path)
            && let Ok(Some(found)) = spot.stat()
        {
            let back = RestoredName { path: path.to_path_buf(), inode: found.stamp.inode };
            self.files.entry((*linked, *hash)).or_default().push(back);
        }
    }

    /// Adds the files that have fewer hard links than before to `without`.
    pub(crate) fn report_missing(self, without: &mut Vec<(PathBuf, Vec<String>)>) {
        for ((was, _), back) in self.files {
            for RestoredName { path, .. } in
                back.into_iter().filter(|back| back.has_fewer_links(was))
            {
                match without.iter_mut().find(|(known, _)| *known == path) {
                    Some((_, lost)) => lost.push(HARD_LINK_LABEL.to_owned()),
                    None => without.push((path, vec![HARD_LINK_LABEL.to_owned()])),
                }
            }
        }
        without.sort();
    }
}

impl RestoredName {
    fn has_fewer_links(&self, was: HardLinks) -> bool {
        let found = PathHandle::resolve(&self.path).ok().flatten();
        let found = found.and_then(|spot| spot.stat().ok().flatten());
        found.is_some_and(|found| found.link_count < was.names)
    }
}
