//! What a call may write outside the trees of the rules because it was
//! approved. An existing file becomes writable itself. To create, replace or
//! delete a file, its directory becomes writable, with all existing entries
//! frozen except those that the call names.

use std::fs;
use std::path::{Path, PathBuf};

use hermes_core::{Confinement, Scope};
use hermes_shell::{TargetMode, Transfer, is_pattern};

use crate::judge::{CallExamination, PolicyFinding};
use crate::level::PolicyAnswer;
use crate::pattern::is_within;

/// Maximum number of entries in such directories, including those on the way to
/// a tree that is writable anyway. Each entry is frozen with its own mount.
const MAX_LISTED_NAMES: usize = 4096;

/// Programs that replace an existing file with a new one.
const REPLACING_PROGRAMS: &[&str] = &["install", "ln", "mv", "patch", "perl", "rsync", "sed"];

/// Paths that an approval makes writable.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ApprovedWrites {
    /// Writable files and trees.
    pub(crate) write: Vec<PathBuf>,
    /// Paths within them that stay read-only.
    pub(crate) frozen: Vec<PathBuf>,
}

impl ApprovedWrites {
    /// Collects what a call changes outside of these trees.
    pub(crate) fn for_call(exam: &CallExamination, trees: &[PathBuf]) -> Self {
        let mut found = Self::default();
        let mut dirs: Vec<PathBuf> = Vec::new();
        let mut meant: Vec<PathBuf> = Vec::new();
        for (finding, place) in approved_changes(exam) {
            if trees.iter().any(|tree| is_within(place, tree)) {
                continue;
            }
            match WriteNeed::for_finding(finding, place, &exam.transfers) {
                WriteNeed::Itself => {
                    meant.push(place.to_owned());
                    found.write.push(place.to_owned());
                }
                WriteNeed::NewNames(dir, names) => {
                    dirs.push(dir);
                    meant.extend(names);
                }
                WriteNeed::Nothing => {}
            }
        }
        if dirs.is_empty() {
            return found;
        }
        dirs.sort();
        dirs.dedup_by(|dir, above| dir.starts_with(above));
        dirs.retain(|dir| !found.write.iter().any(|tree| dir.starts_with(tree)));
        meant.extend(trees.iter().cloned());
        let mut left = MAX_LISTED_NAMES;
        for dir in dirs {
            let mut beside = Vec::new();
            if list_others(&dir, &meant, &mut left, &mut beside).is_some() {
                found.write.push(dir);
                found.frozen.append(&mut beside);
            }
        }
        found
    }
}

/// What has to be writable for one change.
#[derive(Debug, PartialEq, Eq)]
enum WriteNeed {
    /// The file or the tree itself.
    Itself,
    /// The directory, to create these names.
    NewNames(PathBuf, Vec<PathBuf>),
    /// Nothing can be made writable.
    Nothing,
}

impl WriteNeed {
    fn for_finding(finding: &PolicyFinding, place: &Path, arrivals: &[Transfer]) -> Self {
        let about = fs::symlink_metadata(place);
        let deletes = finding.effect.scope == Scope::FILE_DELETE;
        if about.as_ref().is_ok_and(|about| about.is_dir()) && !deletes {
            return match arriving_names(place, arrivals) {
                Some(names) => Self::NewNames(place.to_owned(), names),
                None => Self::Itself,
            };
        }
        match about.is_ok() {
            true if !deletes && !replaces_file(finding) => return Self::Itself,
            false if deletes => return Self::Nothing,
            _ => {}
        }
        let mut above = place.ancestors().skip(1);
        match above.find(|dir| dir.is_dir()).filter(|dir| dir.parent().is_some()) {
            Some(dir) => Self::NewNames(dir.to_owned(), vec![place.to_owned()]),
            None => Self::Nothing,
        }
    }
}

/// Returns a note if approving a change allows more than it names: every
/// program of the command can create other files in that directory.
pub(crate) fn wider_extent_reason(
    finding: &PolicyFinding,
    arrivals: &[Transfer],
    confinement: Option<&Confinement>,
) -> Option<String> {
    let beside = &confinement.filter(|it| !it.frozen.is_empty())?.frozen;
    let place = changed_path(finding).filter(|_| is_change(finding))?;
    let WriteNeed::NewNames(dir, _) = WriteNeed::for_finding(finding, place, arrivals) else {
        return None;
    };
    beside
        .iter()
        .any(|path| path.starts_with(&dir))
        .then(|| format!("; the command can also create other new files in {}", dir.display()))
}

/// Returns the changes of a call that are not denied, with their paths.
fn approved_changes(exam: &CallExamination) -> impl Iterator<Item = (&PolicyFinding, &Path)> {
    let changes = exam.findings.iter().filter(|finding| is_change(finding));
    changes.filter_map(|finding| Some((finding, changed_path(finding)?)))
}

fn is_change(finding: &PolicyFinding) -> bool {
    [Scope::FILE_WRITE, Scope::FILE_DELETE].contains(&finding.effect.scope)
}

fn changed_path(finding: &PolicyFinding) -> Option<&Path> {
    finding.real.as_deref().filter(|_| finding.answer != PolicyAnswer::Deny)
}

/// Whether the program replaces an existing file instead of writing into it.
fn replaces_file(finding: &PolicyFinding) -> bool {
    let first = finding.leaf.as_deref().and_then(|leaf| leaf.split(' ').next());
    first.is_some_and(|first| REPLACING_PROGRAMS.contains(&first))
}

/// Returns the names that transfers create in a directory, if all are known.
fn arriving_names(dir: &Path, arrivals: &[Transfer]) -> Option<Vec<PathBuf>> {
    let is_here = |arrival: &&Transfer| {
        hermes_files::real_path(&arrival.target).is_ok_and(|target| target == dir)
    };
    let mut here = arrivals.iter().filter(is_here).peekable();
    here.peek()?;
    let name = |arrival: &Transfer| {
        let source =
            arrival.source.as_ref().filter(|_| arrival.target_mode != TargetMode::Replace)?;
        let name = source.file_name()?;
        let is_known = !is_pattern(&source.to_string_lossy());
        is_known.then(|| dir.join(name))
    };
    here.map(name).collect()
}

/// Collects the entries of a directory that the call does not name; `None` if
/// they cannot be listed or are too many.
fn list_others(
    dir: &Path,
    meant: &[PathBuf],
    left: &mut usize,
    found: &mut Vec<PathBuf>,
) -> Option<()> {
    for entry in fs::read_dir(dir).ok()? {
        let entry = entry.ok()?;
        *left = left.checked_sub(1)?;
        let path = entry.path();
        if meant.iter().any(|open| path.starts_with(open)) {
            continue;
        }
        let leads_on = meant.iter().any(|open| open.starts_with(&path));
        match leads_on && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            true => list_others(&path, meant, left, found)?,
            false => found.push(path),
        }
    }
    Some(())
}

#[cfg(test)]
#[path = "approved_writes_tests.rs"]
mod tests;
