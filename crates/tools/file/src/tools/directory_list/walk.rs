//! The walk through a folder.

use std::path::{Path, PathBuf};

use hermes_core::{ToolContext, ToolError};
use ignore::{DirEntry, WalkBuilder};

use super::entry::Found;
use super::{Args, Pattern, Sort};

/// Matches after which a walk stops.
const MATCHES: usize = 100_000;
/// Folders that could not be read, of which the names are kept.
const UNREADABLE: usize = 20;

/// All that matches, in no particular order.
#[derive(Debug, Default)]
pub(super) struct Survey {
    pub(super) found: Vec<Found>,
    /// Paths that could not be looked into.
    pub(super) unreadable: Vec<String>,
    /// The walk stopped before its end.
    pub(super) is_partial: bool,
}

impl Survey {
    pub(super) fn take(
        args: &Args,
        root: &Path,
        pattern: Option<&Pattern>,
        cx: &ToolContext,
    ) -> Result<Self, ToolError> {
        let mut survey = Self::default();
        for item in builder(args, root).build() {
            cx.check()?;
            match item {
                Ok(entry) => survey.add(&entry, args, root, pattern),
                Err(error) => survey.skip(&error, root),
            }
            if survey.found.len() >= MATCHES {
                survey.is_partial = true;
                break;
            }
        }
        Ok(survey)
    }

    fn add(&mut self, entry: &DirEntry, args: &Args, root: &Path, pattern: Option<&Pattern>) {
        let Ok(relative) = entry.path().strip_prefix(root) else {
            return;
        };
        if entry.depth() == 0 || pattern.is_some_and(|pattern| !pattern.matches(relative)) {
            return;
        }
        let metadata = if args.sort == Sort::Name { None } else { entry.metadata().ok() };
        self.found.push(Found::new(relative, entry.depth(), entry.file_type(), metadata.as_ref()));
    }

    fn skip(&mut self, error: &ignore::Error, root: &Path) {
        let Some(path) = path_of(error) else { return };
        let path = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
        if self.unreadable.len() < UNREADABLE && !self.unreadable.contains(&path) {
            self.unreadable.push(path);
        }
    }
}

fn builder(args: &Args, root: &Path) -> WalkBuilder {
    let mut builder = WalkBuilder::new(root);
    builder
        .max_depth(usize::try_from(args.depth.clamp(1, 10)).ok())
        .follow_links(false)
        .hidden(!args.hidden)
        .ignore(args.gitignore)
        .git_ignore(args.gitignore)
        .git_global(args.gitignore)
        .git_exclude(args.gitignore)
        .parents(args.gitignore)
        // A walk that stops early gives the same answer every time.
        .sort_by_file_name(Ord::cmp);
    if args.gitignore {
        // Git's own objects are never what somebody looks for.
        builder.filter_entry(|entry| entry.depth() < 2 || !is_inside_git(entry.path()));
    }
    builder
}

fn is_inside_git(path: &Path) -> bool {
    path.parent().and_then(Path::file_name).is_some_and(|folder| folder == ".git")
}

/// The path that an error of the walk is about.
fn path_of(error: &ignore::Error) -> Option<PathBuf> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path.clone()),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => {
            path_of(err)
        }
        ignore::Error::Partial(errors) => errors.iter().find_map(path_of),
        _ => None,
    }
}

#[cfg(test)]
#[path = "walk_tests.rs"]
mod tests;
