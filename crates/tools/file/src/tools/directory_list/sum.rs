//! Total size of directories.

use std::collections::HashSet;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use hermes_core::ToolError;
use hermes_files::{DirEntry, FileKind, OpenDir};
use hermes_search::{DirIgnoreRules, IgnoreMarkers};

use super::entry::DirectorySize;
use super::walk::{WalkOptions, is_excluded};

/// Maximum number of entries summed in one call.
const MAX_SUMMED_ENTRIES: u64 = 2_000_000;

/// Sums file sizes, with the same filters as the listing, so the totals of a
/// deeper listing agree.
#[derive(Debug)]
pub(super) struct SizeCounter<'a> {
    guide: &'a WalkOptions<'a>,
    left: u64,
}

/// A directory still to be summed.
struct UnsummedDir {
    relative: PathBuf,
    /// Rules of the parent directories.
    rules: Option<DirIgnoreRules>,
}

impl<'a> SizeCounter<'a> {
    pub(super) fn new(guide: &'a WalkOptions<'a>) -> Self {
        Self { guide, left: MAX_SUMMED_ENTRIES }
    }

    /// Sums the bytes of the files below an open directory at `real`. Hard
    /// links to one file count once. `rules` are those of the parent
    /// directories.
    pub(super) fn sum(
        &mut self,
        dir: OpenDir,
        real: &Path,
        rules: Option<&DirIgnoreRules>,
    ) -> Result<DirectorySize, ToolError> {
        let mut sum = DirectorySize { bytes: 0, is_partial: false };
        let mut seen = HashSet::new();
        let mut left = vec![UnsummedDir { relative: PathBuf::new(), rules: rules.cloned() }];
        while let Some(UnsummedDir { relative, rules }) = left.pop() {
            self.guide.cx.check_cancelled()?;
            let opened = if relative.as_os_str().is_empty() {
                dir.try_clone()
            } else {
                dir.open_dir(&relative)
            };
            let Ok(here) = opened else {
                sum.is_partial = true;
                continue;
            };
            let entries = self.list(&here, &mut sum);
            let place = real.join(&relative);
            let rules = rules_within(rules.as_ref(), &here, &place, &entries);
            for entry in entries {
                let at = place.join(&entry.name);
                if is_excluded(self.guide.args, rules.as_ref(), &at, &entry) {
                    continue;
                }
                match entry.kind {
                    FileKind::File => {
                        let Ok(facts) = here.metadata(entry.name.as_ref()) else { continue };
                        let identity = facts.identity;
                        let is_new =
                            identity.links < 2 || seen.insert((identity.dev, identity.ino));
                        if is_new {
                            sum.bytes = sum.bytes.saturating_add(facts.len);
                        }
                    }
                    FileKind::Directory if self.guide.is_git_dir(&entry) => {}
                    FileKind::Directory if self.guide.is_veiled(&at) => sum.is_partial = true,
                    FileKind::Directory => {
                        let relative = relative.join(&entry.name);
                        left.push(UnsummedDir { relative, rules: rules.clone() });
                    }
                    _ => {}
                }
            }
            if self.left == 0 {
                return Ok(DirectorySize { is_partial: true, ..sum });
            }
        }
        Ok(sum)
    }

    /// Lists the readable entries of a directory, within the entry limit.
    fn list(&mut self, dir: &OpenDir, sum: &mut DirectorySize) -> Vec<DirEntry> {
        let mut found = Vec::new();
        let Ok(entries) = dir.entries() else {
            sum.is_partial = true;
            return found;
        };
        for entry in entries {
            let (Ok(entry), Some(left)) = (entry, self.left.checked_sub(1)) else {
                sum.is_partial = true;
                break;
            };
            self.left = left;
            found.push(entry);
        }
        found
    }
}

/// Returns the ignore rules that apply in a directory.
fn rules_within(
    above: Option<&DirIgnoreRules>,
    dir: &OpenDir,
    place: &Path,
    entries: &[DirEntry],
) -> Option<DirIgnoreRules> {
    above.map(|above| {
        let mut marks = IgnoreMarkers::default();
        entries.iter().for_each(|entry| marks.note(entry.name.as_bytes()));
        above.for_dir(place, marks, |name| dir.open(name))
    })
}
