//! What a repository is made of, and what takes a part of it away.

use std::borrow::Cow;
use std::path::{Component, Path};

use hermes_core::Scope;

use crate::text::{glob_match, has_glob};

/// The folder of a repository.
const GIT_DIR_NAME: &str = ".git";

/// What holds the history and what is staged. Git alone writes it.
const HISTORY_ENTRIES: &[&str] =
    &["HEAD", "index", "logs", "objects", "packed-refs", "refs", "reftable", "shallow"];

/// Programs that keep these books, or change nothing of what is in a file.
const HARMLESS_PROGRAMS: &[&str] =
    &["git", "touch", "mkdir", "chmod", "chown", "chgrp", "setfacl", "chattr", "gchmod", "gchown"];

/// Whether a program that changes this place takes something of a repository
/// away. The path may have globs in it. A lock that was left behind is none of
/// it, and neither is what git had not finished.
pub fn damages_history(program: &str, scope: &Scope, path: &Path) -> bool {
    damages(program, scope, path, false)
}

/// The same where a glob may find hidden files, even if it has no dot.
pub(crate) fn damages(program: &str, scope: &Scope, path: &Path, hidden: bool) -> bool {
    // Only a name with a dot can be that of a repository's folder.
    if HARMLESS_PROGRAMS.contains(&program) || !(hidden || has_dotted_part(path)) {
        return false;
    }
    let parts = parts(path);
    let Some(at) = parts.iter().position(|part| is_git(part, hidden)) else { return false };
    let within = parts.get(at + 1..).unwrap_or_default();
    if within.last().is_some_and(|name| name.ends_with(".lock")) {
        return false;
    }
    match *scope == Scope::FILE_DELETE {
        true => !within.iter().any(|part| part.starts_with("tmp")),
        // What is put into the folder itself may be anything.
        false => within.is_empty() || within.iter().any(|part| is_history_entry(part)),
    }
}

/// Whether this is the name of a part of a repository that holds its history,
/// or a glob that finds one.
pub fn is_history_entry(name: &str) -> bool {
    HISTORY_ENTRIES.contains(&name)
        || has_glob(name) && HISTORY_ENTRIES.iter().any(|own| glob_match(name, own))
}

fn has_dotted_part(path: &Path) -> bool {
    let bytes = path.as_os_str().as_encoded_bytes();
    bytes.first() == Some(&b'.') || bytes.windows(2).any(|pair| pair == b"/.")
}

fn is_git(part: &str, hidden: bool) -> bool {
    part.eq_ignore_ascii_case(GIT_DIR_NAME)
        || (hidden || part.starts_with('.')) && glob_match(part, GIT_DIR_NAME)
}

/// The parts of a path, without those that are taken back.
fn parts(path: &Path) -> Vec<Cow<'_, str>> {
    let mut parts = Vec::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => parts.push(name.to_string_lossy()),
            Component::ParentDir => {
                parts.pop();
            }
            _ => {}
        }
    }
    parts
}

#[cfg(test)]
#[path = "git_history_tests.rs"]
mod tests;
