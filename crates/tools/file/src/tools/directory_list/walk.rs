//! The walk through a folder, from handle to handle.

use std::path::{Path, PathBuf};
use std::vec::IntoIter;

use hermes_core::{ToolContext, ToolError};
use hermes_files::{Entry, Folder, Kind};

use super::entry::Found;
use super::rules::Rules;
use super::{Args, Pattern, Sort};

/// Matches after which a walk stops.
const MATCHES: usize = 100_000;
/// Folders that could not be read, of which the names are kept.
const UNREADABLE: usize = 20;
/// Levels that a walk descends.
const LEVELS: u64 = 10;

/// All that matches, in no particular order.
#[derive(Debug, Default)]
pub(super) struct Survey {
    pub(super) found: Vec<Found>,
    /// Paths that could not be looked into.
    pub(super) unreadable: Vec<String>,
    /// The walk stopped before its end.
    pub(super) is_partial: bool,
}

/// A folder on the way down, and what is left of it.
struct Level {
    relative: PathBuf,
    folder: Folder,
    left: IntoIter<Entry>,
    rules: Option<Rules>,
}

impl Survey {
    /// `rules` are those of the folders above.
    pub(super) fn take(
        args: &Args,
        root: Folder,
        rules: Option<Rules>,
        pattern: Option<&Pattern>,
        cx: &ToolContext,
    ) -> Result<Self, ToolError> {
        let mut survey = Self::default();
        let mut levels = Vec::new();
        survey.enter(&mut levels, root, PathBuf::new(), rules.as_ref());
        let most = usize::try_from(args.depth.clamp(1, LEVELS)).unwrap_or(usize::MAX);
        while let Some(level) = levels.last_mut() {
            cx.check()?;
            let Some(entry) = level.left.next() else {
                levels.pop();
                continue;
            };
            let relative = level.relative.join(&entry.name);
            if is_left_out(args, level.rules.as_ref(), &relative, &entry) {
                continue;
            }
            if pattern.is_none_or(|pattern| pattern.matches(&relative)) {
                let wants_facts = args.sort != Sort::Name;
                let facts = || level.folder.facts(Path::new(&entry.name)).ok();
                let facts = if wants_facts { facts() } else { None };
                survey.found.push(Found::new(relative.clone(), levels.len(), entry.kind, facts));
            }
            if survey.found.len() >= MATCHES {
                survey.is_partial = true;
                break;
            }
            // Git's own objects are never what somebody looks for.
            let is_closed = args.gitignore && entry.name == ".git";
            if entry.kind == Kind::Folder && !is_closed && levels.len() < most {
                survey.descend(&mut levels, &entry, relative);
            }
        }
        Ok(survey)
    }

    fn descend(&mut self, levels: &mut Vec<Level>, entry: &Entry, relative: PathBuf) {
        let Some(above) = levels.last() else { return };
        let rules = above.rules.clone();
        match above.folder.folder(Path::new(&entry.name)) {
            Ok(folder) => self.enter(levels, folder, relative, rules.as_ref()),
            Err(_) => self.skip(&relative),
        }
    }

    fn enter(
        &mut self,
        levels: &mut Vec<Level>,
        folder: Folder,
        relative: PathBuf,
        above: Option<&Rules>,
    ) {
        let Ok(entries) = folder.entries() else { return self.skip(&relative) };
        let mut left = Vec::new();
        for entry in entries {
            match entry {
                Ok(entry) => left.push(entry),
                Err(_) => {
                    self.skip(&relative);
                    break;
                }
            }
        }
        // A walk that stops early gives the same answer every time.
        left.sort_by(|a, b| a.name.cmp(&b.name));
        let rules = above.map(|above| above.within(&folder, &relative));
        levels.push(Level { relative, folder, left: left.into_iter(), rules });
    }

    fn skip(&mut self, relative: &Path) {
        let path = relative.to_string_lossy().into_owned();
        if self.unreadable.len() < UNREADABLE && !self.unreadable.contains(&path) {
            self.unreadable.push(path);
        }
    }
}

/// A rule may show what is hidden, as it may leave out what is not.
fn is_left_out(args: &Args, rules: Option<&Rules>, relative: &Path, entry: &Entry) -> bool {
    let is_folder = entry.kind == Kind::Folder;
    let by_rule = rules.and_then(|rules| rules.leave_out(relative, is_folder));
    let is_hidden = || entry.name.as_encoded_bytes().starts_with(b".");
    by_rule.unwrap_or_else(|| !args.hidden && is_hidden())
}

#[cfg(test)]
#[path = "walk_tests.rs"]
mod tests;
