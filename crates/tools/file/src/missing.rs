//! The answer to a path that leads nowhere: what of it exists, and what may
//! have been meant.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use hermes_core::{ToolError, Workplace};
use serde_json::Value;

use crate::similar::nearest;

/// How many names are suggested.
const SUGGESTED: usize = 5;
/// How many entries of a folder are compared.
const COMPARED: usize = 1000;
/// As many links as the kernel follows.
const HOPS: usize = 40;
/// Linux's number for a path with too many links.
const ELOOP: i32 = 40;

const BROKEN: &str = "Mend the link, or name another path.";

/// What was looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    File,
    Folder,
}

impl Wanted {
    fn name(self) -> &'static str {
        match self {
            Self::File => "File",
            Self::Folder => "Folder",
        }
    }

    fn suggestions(self) -> &'static str {
        match self {
            Self::File => "similar_files",
            Self::Folder => "similar_folders",
        }
    }
}

/// Why there is nothing at `path`.
pub(crate) fn explain(wanted: Wanted, path: &Path, at: &Workplace) -> ToolError {
    let what = format!("{} not found: {}", wanted.name(), path.display());
    if let Some(way) = broken_link(path) {
        return ToolError::not_found(format!("{what} (a link {way})")).with_hint(BROKEN);
    }
    let Some((folder, rest)) = split(path) else {
        return ToolError::not_found(what);
    };
    if let Some(way) = broken_link(&folder) {
        let what = format!("{what} ({} is a link {way})", folder.display());
        return ToolError::not_found(what).with_hint(BROKEN);
    }
    if !folder.is_dir() {
        return ToolError::not_found(format!("{what} ({} is not a folder)", folder.display()));
    }
    let mut parts = rest.iter();
    let missing = parts.next().unwrap_or_default();
    let below: PathBuf = parts.collect();
    let in_place = below.as_os_str().is_empty();
    let only_folders = wanted == Wanted::Folder || !in_place;
    let found: Vec<Value> = similar(&folder, missing, only_folders)
        .into_iter()
        .map(|near| if near.join(&below).exists() { near.join(&below) } else { near })
        .map(|near| shorten(&near, at).into())
        .collect();
    let error = if in_place {
        ToolError::not_found(what)
    } else {
        let gap = missing.to_string_lossy();
        ToolError::not_found(format!("{what} ({} exists, but has no '{gap}')", folder.display()))
            .with("existing_folder", folder.to_string_lossy())
    };
    if found.is_empty() {
        return error.with_hint("Check the path; directory_list shows what a folder holds.");
    }
    error.with_hint("One of the similar names may be meant.").with(wanted.suggestions(), found)
}

/// Where the link at `path` leads, if it leads nowhere.
fn broken_link(path: &Path) -> Option<String> {
    if path.exists() {
        return None;
    }
    let first = fs::read_link(path).ok()?;
    let mut end = path.parent()?.join(&first);
    let mut hops = 0;
    while let (Ok(target), Some(folder)) = (fs::read_link(&end), end.parent()) {
        end = folder.join(target);
        hops += 1;
        if hops > HOPS {
            return Some(format!("to {}, which leads nowhere", first.display()));
        }
    }
    let first = first.display();
    Some(match hops {
        0 => format!("to {first}, which does not exist"),
        _ => format!("to {first}, in the end to {}, which does not exist", end.display()),
    })
}

/// Whether the system gave up following links.
pub(crate) fn is_loop(error: &io::Error) -> bool {
    cfg!(target_os = "linux") && error.raw_os_error() == Some(ELOOP)
}

/// The answer to a path whose links go round.
pub(crate) fn explain_loop(path: &Path) -> ToolError {
    let parts: Vec<&Path> = path.ancestors().collect();
    let goes_round = |part: &&Path| fs::metadata(part).is_err_and(|error| is_loop(&error));
    let link = parts.into_iter().rev().find(goes_round).unwrap_or(path);
    ToolError::invalid(format!("{} is a link that leads back to itself", link.display()))
        .with_hint(BROKEN)
}

/// The deepest part of the path that exists, and the rest.
fn split(path: &Path) -> Option<(PathBuf, PathBuf)> {
    let folder = path.ancestors().skip(1).find(|part| fs::symlink_metadata(part).is_ok())?;
    let rest = path.strip_prefix(folder).ok()?;
    Some((folder.to_path_buf(), rest.to_path_buf()))
}

fn similar(folder: &Path, missing: &OsStr, only_folders: bool) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let names = entries
        .take(COMPARED)
        .flatten()
        .filter(|entry| !only_folders || entry.path().is_dir())
        .filter_map(|entry| entry.file_name().into_string().ok());
    let names = nearest(&missing.to_string_lossy(), names, SUGGESTED);
    names.into_iter().map(|name| folder.join(name)).collect()
}

/// Relative to the working folder where that is shorter.
fn shorten(path: &Path, at: &Workplace) -> String {
    path.strip_prefix(at.cwd()).unwrap_or(path).to_string_lossy().into_owned()
}

#[cfg(test)]
#[path = "missing_tests.rs"]
mod tests;
