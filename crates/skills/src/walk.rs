//! Finds skills below a directory, within limits.

use std::collections::{HashSet, VecDeque};
use std::path::{Path, PathBuf};

use hermes_files::{FileKind, FileMetadata, OpenDir, WalkMode, open_dir, real_path};

use crate::roots::SkillRoot;
use crate::skill::SkillNote;

/// The file that makes a directory a skill; the usual spelling comes first.
pub(crate) const SKILL_FILE_NAMES: [&str; 2] = ["SKILL.md", "skill.md"];
/// Directories of a skill in which a `SKILL.md` is only an example.
const SUPPORT_DIRS: [&str; 4] = ["references", "templates", "scripts", "assets"];
/// Large directories that contain no skills.
const SKIPPED_DIRS: [&str; 16] = [
    ".git",
    ".github",
    ".hub",
    ".archive",
    ".curator_backups",
    ".restore-backups",
    ".venv",
    "venv",
    "node_modules",
    "site-packages",
    "__pycache__",
    ".tox",
    ".nox",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
];
/// Limits of a scan: depth, directories, entries in total, and skills.
const MAX_DEPTH: usize = 8;
const MAX_DIRS: usize = 4_000;
const MAX_ENTRIES: usize = 100_000;
const MAX_SKILLS: usize = 1_000;
/// Limits for the files of one skill.
const MAX_FILE_DEPTH: usize = 5;
const MAX_FILE_DIRS: usize = 100;
const MAX_FILES: usize = 200;

/// A directory with a `SKILL.md`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FoundSkillDir {
    /// Its canonical path.
    pub(crate) dir: PathBuf,
    /// Its path below the root.
    pub(crate) relative: PathBuf,
    /// The name of its `SKILL.md`.
    pub(crate) file: &'static str,
    /// The metadata of that file, to detect changes.
    pub(crate) facts: Option<FileMetadata>,
    /// Its other files.
    pub(crate) files: Vec<String>,
}

/// The result of scanning a root.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct RootScan {
    pub(crate) found: Vec<FoundSkillDir>,
    /// What was skipped, and why.
    pub(crate) notes: Vec<SkillNote>,
}

/// Scans a root. A missing root is empty.
pub(crate) fn scan_root(place: &SkillRoot) -> RootScan {
    let mut walked = RootScan::default();
    let mut open = VecDeque::new();
    let Ok(root) = real_path(&place.dir) else { return walked };
    if is_outside(place, &root) {
        // A dangling symlink is not worth a note.
        if root.is_dir() {
            walked.notes.push(outside_note(&place.dir));
        }
        return walked;
    }
    open.push_back((root, PathBuf::new(), 0));
    let mut seen = HashSet::new();
    let mut entries = 0;
    while let Some((real, relative, depth)) = open.pop_front() {
        let shown = place.dir.join(&relative);
        let Ok(directory) = open_dir(&real, WalkMode::default()) else {
            if depth > 0 || shown.is_dir() {
                walked.notes.push(SkillNote::new(format!("{} cannot be read", shown.display())));
            }
            continue;
        };
        // A directory reached again, by a symlink or another name, is scanned
        // once.
        let Ok(facts) = directory.metadata(Path::new("")) else { continue };
        if !seen.insert((facts.identity.dev, facts.identity.ino)) {
            continue;
        }
        if seen.len() > MAX_DIRS || entries > MAX_ENTRIES || walked.found.len() >= MAX_SKILLS {
            let what =
                format!("{} exceeds the scan limits; the rest is skipped", place.dir.display());
            walked.notes.push(SkillNote::new(what));
            break;
        }
        let names = list_names(&directory, &mut entries);
        let has = |file: &&'static str| {
            names.iter().any(|(name, kind)| {
                name.to_str() == Some(*file) && matches!(kind, FileKind::File | FileKind::Link)
            })
        };
        let file = SKILL_FILE_NAMES.into_iter().find(has);
        if let Some(file) = file {
            walked.found.push(FoundSkillDir {
                dir: real.clone(),
                relative: relative.clone(),
                file,
                facts: directory.metadata(Path::new(file)).ok(),
                files: list_files(&directory, file),
            });
        }
        if depth == MAX_DEPTH {
            continue;
        }
        for (name, kind) in names {
            let is_kept = |list: &[&str]| name.to_str().is_some_and(|name| list.contains(&name));
            if is_kept(&SKIPPED_DIRS) || (file.is_some() && is_kept(&SUPPORT_DIRS)) {
                continue;
            }
            let below = relative.join(&name);
            match kind {
                FileKind::Directory => open.push_back((real.join(&name), below, depth + 1)),
                FileKind::Link => match real_path(&real.join(&name)) {
                    Ok(target) if !target.is_dir() => {}
                    Ok(target) if is_outside(place, &target) => {
                        walked.notes.push(outside_note(&place.dir.join(&below)));
                    }
                    Ok(target) => open.push_back((target, below, depth + 1)),
                    Err(_) => {}
                },
                _ => {}
            }
        }
    }
    walked.found.sort_by(|a, b| a.relative.cmp(&b.relative));
    walked
}

fn is_outside(place: &SkillRoot, real: &Path) -> bool {
    place.link_boundary.as_ref().is_some_and(|bound| !real.starts_with(bound))
}

fn outside_note(path: &Path) -> SkillNote {
    SkillNote::new(format!("{} is skipped: it leads out of the project", path.display()))
}

/// Returns the sorted entries of a directory.
fn list_names(dir: &OpenDir, count: &mut usize) -> Vec<(std::ffi::OsString, FileKind)> {
    let Ok(entries) = dir.entries() else { return Vec::new() };
    let mut names = Vec::new();
    for entry in entries.flatten() {
        *count += 1;
        if *count > MAX_ENTRIES {
            break;
        }
        names.push((entry.name, entry.kind));
    }
    names.sort();
    names
}

/// Returns the other files of a skill, except hidden files and files of nested
/// skills.
fn list_files(dir: &OpenDir, own: &str) -> Vec<String> {
    let mut files = Vec::new();
    let mut open = VecDeque::from([(PathBuf::new(), 0)]);
    let mut dirs = 0;
    let mut entries = 0;
    while let Some((relative, depth)) = open.pop_front() {
        let Ok(here) = dir.open_dir(&relative) else { continue };
        dirs += 1;
        let names = list_names(&here, &mut entries);
        let is_support = |path: &Path| {
            let top = path.iter().next().and_then(|name| name.to_str());
            top.is_some_and(|top| SUPPORT_DIRS.contains(&top))
        };
        let is_skill =
            names.iter().any(|(name, _)| SKILL_FILE_NAMES.iter().any(|file| name == file));
        if depth > 0 && is_skill && !is_support(&relative) {
            continue;
        }
        for (name, kind) in names {
            let Some(text) = name.to_str() else { continue };
            let path = relative.join(&name);
            match kind {
                _ if text.starts_with('.') || text.contains(char::is_control) => {}
                FileKind::Directory if SKIPPED_DIRS.contains(&text) || depth == MAX_FILE_DEPTH => {}
                FileKind::Directory if dirs + open.len() < MAX_FILE_DIRS => {
                    open.push_back((path, depth + 1));
                }
                FileKind::File if !(depth == 0 && text == own) => {
                    files.extend(path.to_str().map(str::to_owned));
                }
                _ => {}
            }
            if files.len() == MAX_FILES {
                files.sort();
                return files;
            }
        }
    }
    files.sort();
    files
}
