//! The files that hold a repository's history, and what damages them.

use std::borrow::Cow;
use std::path::{Component, Path};

use hermes_core::Scope;

use crate::text::{glob_match, has_glob};

/// Name of a repository's directory.
const GIT_DIR_NAME: &str = ".git";

/// Entries that hold the history and the index. Only git writes them.
const HISTORY_ENTRIES: &[&str] =
    &["HEAD", "index", "logs", "objects", "packed-refs", "refs", "reftable", "shallow"];

/// Programs that maintain these files, or do not change file contents.
const HARMLESS_PROGRAMS: &[&str] =
    &["git", "touch", "mkdir", "chmod", "chown", "chgrp", "setfacl", "chattr", "gchmod", "gchown"];

/// Whether a program that changes this path damages a repository. The path may
/// contain globs. Stale locks and unfinished temporary files of git do not
/// count.
pub fn damages_history(program: &str, scope: &Scope, path: &Path) -> bool {
    damages(program, scope, path, false)
}

/// Like [`damages_history`], with globs that may match hidden files without a
/// dot.
pub(crate) fn damages(program: &str, scope: &Scope, path: &Path, hidden: bool) -> bool {
    // Only a name with a dot can be a repository's directory.
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
        // A write to the directory itself may hit anything in it.
        false => within.is_empty() || within.iter().any(|part| is_history_entry(part)),
    }
}

/// Whether the name is an entry that holds history, or a glob that matches one.
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

/// The components of a path, with `..` resolved.
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
