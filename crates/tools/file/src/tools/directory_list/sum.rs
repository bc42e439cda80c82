//! How much lies below a folder.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use hermes_core::ToolError;
use hermes_files::{Folder, Kind};

use super::entry::Sum;
use super::walk::Guide;

/// Entries that are added up in one call.
const ENTRIES: u64 = 2_000_000;

/// Adds up files, hidden and ignored ones too.
#[derive(Debug)]
pub(super) struct Summing<'a> {
    guide: &'a Guide<'a>,
    left: u64,
}

impl<'a> Summing<'a> {
    pub(super) fn new(guide: &'a Guide<'a>) -> Self {
        Self { guide, left: ENTRIES }
    }

    /// The bytes of all files below an open folder, which is at `real`. A file
    /// with several names counts once.
    pub(super) fn sum(&mut self, folder: &Folder, real: &Path) -> Result<Sum, ToolError> {
        let mut sum = Sum { bytes: 0, is_partial: false };
        let mut seen = HashSet::new();
        let mut left = vec![PathBuf::new()];
        while let Some(relative) = left.pop() {
            self.guide.cx.check()?;
            let opened = if relative.as_os_str().is_empty() {
                folder.try_clone()
            } else {
                folder.folder(&relative)
            };
            let listed = opened.and_then(|here| here.entries().map(|entries| (here, entries)));
            let Ok((here, entries)) = listed else {
                sum.is_partial = true;
                continue;
            };
            for entry in entries {
                if self.left == 0 {
                    return Ok(Sum { is_partial: true, ..sum });
                }
                self.left -= 1;
                let Ok(entry) = entry else {
                    sum.is_partial = true;
                    break;
                };
                match entry.kind {
                    Kind::File => {
                        let Ok(facts) = here.facts(entry.name.as_ref()) else { continue };
                        let identity = facts.identity;
                        let is_new =
                            identity.links < 2 || seen.insert((identity.dev, identity.ino));
                        if is_new {
                            sum.bytes = sum.bytes.saturating_add(facts.len);
                        }
                    }
                    Kind::Folder => {
                        let below = relative.join(&entry.name);
                        if self.guide.is_veiled(&real.join(&below)) {
                            sum.is_partial = true;
                        } else {
                            left.push(below);
                        }
                    }
                    _ => {}
                }
            }
        }
        Ok(sum)
    }
}
