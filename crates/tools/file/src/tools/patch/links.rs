//! Symbolic links that a patch deletes or moves: the links themselves, not
//! what they lead to.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use hermes_core::{ToolContext, ToolError};
use hermes_files::FileAccess;

use super::outcome::{FileFate, PatchedFile};
use super::refusal;
use crate::change::FileChange;
use crate::path_text::display_path;

/// The links of a call, and the real places of its files.
#[derive(Debug, Default)]
pub(super) struct PatchLinks {
    /// What is done to links, in order.
    done: Vec<(PathBuf, FileFate)>,
    /// The names that a link had or gets.
    names: HashSet<PathBuf>,
    /// By the real place: the name under which a file was opened.
    places: HashMap<PathBuf, PathBuf>,
}

/// Where the link at a path leads, as it is written; none if there is no link.
pub(super) fn target(cx: &ToolContext, path: &Path) -> Option<PathBuf> {
    // What cannot be looked at is told when it is opened.
    FileAccess::new(cx).read_link(path).ok().flatten()
}

impl PatchLinks {
    /// An error if a link had or gets this name.
    pub(super) fn require_none(&self, path: &Path) -> Result<(), ToolError> {
        if self.names.contains(path) { Err(refusal::link_twice(path)) } else { Ok(()) }
    }

    /// Notes the real place of a file. An error if it was opened under another
    /// name.
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

    /// Moves a link; gives a warning if it leads elsewhere from its new place.
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
                "{} is a symbolic link to '{}', which leads elsewhere from the new folder.",
                display_path(to),
                display_path(target)
            )
        }))
    }

    fn claim_name(&mut self, path: &Path) -> Result<(), ToolError> {
        let is_new = self.names.insert(path.to_path_buf());
        if is_new { Ok(()) } else { Err(refusal::link_twice(path)) }
    }

    /// What has to be done, and what there is to tell of it.
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
