//! Errors for paths that do not exist: the part that exists, and similar names.
//! Only names are read, and only around a path that the call may read.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use hermes_core::{ErrorKind, ToolContext, ToolError};
use hermes_files::{DirEntry, FileAccess, FileKind, real_path};
use serde_json::Value;

use crate::path_text::{self, display_path};
use crate::similar::nearest;

/// Maximum number of suggested names.
const MAX_SUGGESTIONS: usize = 5;
/// Maximum number of directory entries compared.
const MAX_COMPARED_ENTRIES: usize = 1000;
/// Maximum number of parent directories searched for the same name.
const MAX_PARENT_DIRS: usize = 4;
/// Maximum number of child directories searched for the same name.
const MAX_CHILD_DIRS: usize = 100;

const BROKEN_LINK_HINT: &str = "Fix the symlink, or use another path.";

/// The expected kind of entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MissingKind {
    File,
    Directory,
}

impl MissingKind {
    fn name(self) -> &'static str {
        match self {
            Self::File => "File",
            Self::Directory => "Directory",
        }
    }

    fn suggestions(self) -> &'static str {
        match self {
            Self::File => "similar_files",
            Self::Directory => "similar_folders",
        }
    }
}

/// Explains why nothing exists at `path`.
pub(crate) fn explain_missing(wanted: MissingKind, path: &Path, cx: &ToolContext) -> ToolError {
    explain_missing_near(wanted, path, path, cx)
}

/// Like [`explain_missing`], for a call that may read `known` but not `path`:
/// reads only the ancestors of `known`.
pub(crate) fn explain_missing_near(
    wanted: MissingKind,
    path: &Path,
    known: &Path,
    cx: &ToolContext,
) -> ToolError {
    let what = format!("{} not found: {}", wanted.name(), display_path(path));
    let Ok(files) = FileAccess::new(cx).names_around(known) else {
        return ToolError::not_found(what);
    };
    let is_near = |(dir, _): &(&Path, &Path)| known.starts_with(dir);
    if path != known && !split_existing(&files, path).as_ref().is_some_and(is_near) {
        return ToolError::not_found(what)
            .with_hint("Check the path; directory_list lists a directory.");
    }
    if let Some(way) = broken_link(&files, path) {
        return ToolError::not_found(format!("{what} (a symlink {way})"))
            .with_hint(BROKEN_LINK_HINT);
    }
    let Some((dir, rest)) = split_existing(&files, path) else {
        return ToolError::not_found(what)
            .with_hint("Check the path; directory_list lists a directory.");
    };
    if let Some(way) = broken_link(&files, dir) {
        let what = format!("{what} ({} is a symlink {way})", display_path(dir));
        return ToolError::not_found(what).with_hint(BROKEN_LINK_HINT);
    }
    if !is_directory(&files, dir) {
        return ToolError::not_found(format!("{what} ({} is not a directory)", display_path(dir)))
            .with_hint("It cannot contain files; check the path.");
    }
    let mut parts = rest.iter();
    let missing = parts.next().unwrap_or_default();
    let below: PathBuf = parts.collect();
    let in_place = below.as_os_str().is_empty();
    let only_folders = wanted == MissingKind::Directory || !in_place;
    let mut found: Vec<PathBuf> = similar_names(&files, dir, missing, only_folders)
        .into_iter()
        .map(|near| match in_place || !exists(&files, &near.join(&below)) {
            true => near,
            false => near.join(&below),
        })
        .collect();
    for other in same_name_nearby(&files, wanted, path, dir, cx.working_dir.cwd()) {
        if found.len() < MAX_SUGGESTIONS && !found.contains(&other) {
            found.push(other);
        }
    }
    let found: Vec<Value> = found
        .iter()
        .map(|near| path_text::display_relative(near, &cx.working_dir).into())
        .collect();
    let error = if in_place {
        ToolError::not_found(what)
    } else {
        let gap = missing.to_string_lossy();
        ToolError::not_found(format!("{what} ({} exists, but has no '{gap}')", display_path(dir)))
            .with("existing_folder", display_path(dir))
    };
    if found.is_empty() {
        return error.with_hint("Check the path; directory_list lists a directory.");
    }
    error
        .with_hint("One of the similar names may be the intended one.")
        .with(wanted.suggestions(), found)
}

fn exists(files: &FileAccess<'_>, path: &Path) -> bool {
    files.exists(path).unwrap_or(false)
}

fn is_directory(files: &FileAccess<'_>, path: &Path) -> bool {
    files.metadata(path).is_ok_and(|found| found.kind == FileKind::Directory)
}

/// Describes the target of the link at `path`, if the link is broken.
fn broken_link(files: &FileAccess<'_>, path: &Path) -> Option<String> {
    if exists(files, path) {
        return None;
    }
    let first = files.read_link(path).ok().flatten()?;
    let shown = first.display();
    let Ok(end) = real_path(path) else {
        return Some(format!("to {shown}, which cannot be resolved"));
    };
    let direct = path.parent().is_some_and(|dir| dir.join(&first) == end);
    Some(if direct {
        format!("to {shown}, which does not exist")
    } else {
        format!("to {shown}, in the end to {}, which does not exist", display_path(&end))
    })
}

/// Splits a path into its deepest readable part that exists and the rest.
fn split_existing<'a>(files: &FileAccess<'_>, path: &'a Path) -> Option<(&'a Path, &'a Path)> {
    let parts: Vec<&Path> = path.ancestors().skip(1).collect();
    let mut deepest = None;
    for part in parts.into_iter().rev() {
        // A broken link still exists.
        match files.read_link(part) {
            Ok(_) => deepest = Some(part),
            Err(error) if error.kind() == ErrorKind::Denied => {}
            Err(_) => break,
        }
    }
    let dir = deepest?;
    Some((dir, path.strip_prefix(dir).ok()?))
}

/// Finds the same name in ancestors up to the working directory, or one level
/// below.
fn same_name_nearby(
    files: &FileAccess<'_>,
    wanted: MissingKind,
    path: &Path,
    dir: &Path,
    cwd: &Path,
) -> Vec<PathBuf> {
    let Some(name) = path.file_name() else { return Vec::new() };
    let entries = files.open_dir(dir).map(|opened| opened.entries());
    let entries = entries.into_iter().flatten().flatten().take(MAX_COMPARED_ENTRIES).flatten();
    let below = entries.filter(|entry| entry.kind == FileKind::Directory).take(MAX_CHILD_DIRS);
    let mut below: Vec<PathBuf> = below.map(|entry| dir.join(entry.name)).collect();
    below.sort();
    let above = dir.ancestors().take(MAX_PARENT_DIRS).take_while(|above| above.starts_with(cwd));
    let above = above.map(Path::to_path_buf);
    let fits = |place: &PathBuf| {
        place != path
            && exists(files, place)
            && is_directory(files, place) == (wanted == MissingKind::Directory)
    };
    above.chain(below).map(|dir| dir.join(name)).filter(fits).take(MAX_SUGGESTIONS).collect()
}

fn similar_names(
    files: &FileAccess<'_>,
    dir: &Path,
    missing: &OsStr,
    only_folders: bool,
) -> Vec<PathBuf> {
    let Ok(entries) = files.open_dir(dir).map(|opened| opened.entries()) else {
        return Vec::new();
    };
    let fits = |entry: &DirEntry| match entry.kind {
        FileKind::Link if only_folders => is_directory(files, &dir.join(&entry.name)),
        kind => !only_folders || kind == FileKind::Directory,
    };
    let names = entries.into_iter().flatten().take(MAX_COMPARED_ENTRIES).flatten().filter(fits);
    // Names that are not UTF-8 are compared by their lossy form.
    let mut odd = HashMap::new();
    let names = names.map(|entry| {
        entry.name.into_string().unwrap_or_else(|name| {
            let shown = name.to_string_lossy().into_owned();
            odd.insert(shown.clone(), name);
            shown
        })
    });
    let names = nearest(&missing.to_string_lossy(), names, MAX_SUGGESTIONS);
    names
        .into_iter()
        .map(|name| dir.join(odd.remove(&name).unwrap_or_else(|| name.into())))
        .collect()
}

#[cfg(test)]
#[path = "missing_tests.rs"]
mod tests;
