//! Symlinks that a patch deletes or moves: the links themselves, not their
//! targets.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use hermes_core::{ToolContext, ToolError};
use hermes_files::FileAccess;

use super::outcome::{FileFate, PatchedFile};
use super::refusal;
use crate::change::FileChange;
use crate::path_text::display_path;

/// Symlinks changed by a call, and the canonical paths of its files.
#[derive(Debug, Default)]
pub(super) struct PatchLinks {
    /// Changes to links, in order.
    done: Vec<(PathBuf, FileFate)>,
    /// Old and new names of changed links.
    names: HashSet<PathBuf>,
    /// Maps a canonical path to the name the file was opened by.
    places: HashMap<PathBuf, PathBuf>,
}

/// Returns the target of the link at a path, as stored; `None` if it is not a
/// link.
pub(super) fn target(cx: &ToolContext, path: &Path) -> Option<PathBuf> {
    // An unreadable path is reported when it is opened.
    FileAccess::new(cx).read_link(path).ok().flatten()
}

impl PatchLinks {
    /// Returns an error if a changed link has or had this name.
    pub(super) fn require_none(&self, path: &Path) -> Result<(), ToolError> {
        if self.names.contains(path) { Err(refusal::link_twice(path)) } else { Ok(()) }
    }

    /// Records the canonical path of a file. Returns an error if it was opened
    /// by another name.
    pub(super) fn register(&mut self, cx: &ToolContext, path: &Path) -> Result<(), ToolError> {
        let real = FileAccess::new(cx).real_path(path)?;
        match self.places.insert(real, path.to_path_buf()) {
            Some(other) if other != path => Err(refusal::same_file(path, &other)),
            _ => Ok(()),
        }
    }

    pub(super) fn delete(&mut self, path: &Path) -> Result<(), ToolError> {
        self.claim_name(path)?;
        self.done.push((path.to_path_buf(), FileFate::Deleted));
        Ok(())
    }

    /// Moves a link; returns a warning if its target changes with the new
    /// location.
    pub(super) fn rename(
        &mut self,
        path: &Path,
        to: &Path,
        target: &Path,
    ) -> Result<Option<String>, ToolError> {
        self.claim_name(path)?;
        self.claim_name(to)?;
        self.done.push((to.to_path_buf(), FileFate::Moved(path.to_path_buf())));
        let strays = target.is_relative() && path.parent() != to.parent();
        Ok(strays.then(|| {
            format!(
                "{} is a symbolic link to '{}', which leads elsewhere from the new directory.",
                display_path(to),
                display_path(target)
            )
        }))
    }

    fn claim_name(&mut self, path: &Path) -> Result<(), ToolError> {
        let is_new = self.names.insert(path.to_path_buf());
        if is_new { Ok(()) } else { Err(refusal::link_twice(path)) }
    }

    /// Returns the changes and how to report them.
    pub(super) fn finish(self) -> impl Iterator<Item = (FileChange, PatchedFile)> {
        self.done.into_iter().map(|(path, fate)| {
            let change = match &fate {
                FileFate::Moved(from) => {
                    FileChange::Move { from: from.clone(), to: path.clone(), bytes: None }
                }
                _ => FileChange::Remove { path: path.clone() },
            };
            (
                change,
                PatchedFile { path, fate, old: None, new: None, hash: None, is_executable: None },
            )
        })
    }
}
