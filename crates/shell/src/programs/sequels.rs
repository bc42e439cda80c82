//! What only shows over several commands: a file that is made and then run, a
//! link that later paths lead through.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use hermes_core::{Effect, Resource, Scope};

use crate::leaf::{Finding, Leaf};

/// Adds what follows from the order of the leaves.
pub(crate) fn over_several(leaves: &mut [Leaf]) {
    let mut fetched: HashSet<PathBuf> = HashSet::new();
    let mut enabled: HashSet<PathBuf> = HashSet::new();
    let mut made: HashSet<PathBuf> = HashSet::new();
    let mut links: HashMap<PathBuf, PathBuf> = HashMap::new();
    for leaf in leaves {
        through_links(leaf, &links);
        let runs = |files: &HashSet<PathBuf>| leaf.runs.iter().any(|path| files.contains(path));
        let found = if runs(&fetched) {
            Some(("remote-to-shell", "Runs a file that the same command downloads"))
        } else if runs(&enabled) {
            Some(("chmod-then-run", "Runs a file that the same command makes executable"))
        } else if runs(&made) {
            Some(("written-then-run", "Runs a file that the same command writes"))
        } else {
            None
        };
        if let Some((category, reason)) = found {
            leaf.find(Finding::ask(category, reason));
        }
        enabled.extend(leaf.enables.iter().cloned());
        let fetches = leaf.effects.iter().any(|effect| effect.scope == Scope::NETWORK_FETCH);
        let written = leaf.effects.iter().filter_map(written);
        if fetches && matches!(leaf.program.as_str(), "curl" | "wget" | "fetch" | "http" | "aria2c")
        {
            fetched.extend(written);
        } else if !builds(&leaf.program) {
            made.extend(written);
        }
        for (link, target) in leaf.links.iter().take(64) {
            made.insert(link.clone());
            if links.len() < 64 {
                links.insert(link.clone(), target.clone());
            }
        }
    }
}

/// Programs whose product is meant to be run, or that change no contents.
fn builds(program: &str) -> bool {
    matches!(
        program,
        "gcc"
            | "g++"
            | "cc"
            | "c++"
            | "clang"
            | "clang++"
            | "rustc"
            | "ld"
            | "as"
            | "go"
            | "make"
            | "cargo"
            | "javac"
            | "tsc"
            | "chmod"
            | "chown"
            | "touch"
            | "mkdir"
            | "git"
            | "tar"
            | "unzip"
            | "python"
            | "python3"
            | "vim"
            | "vi"
            | "nano"
    )
}

/// The same effects where the links that were made before lead to.
fn through_links(leaf: &mut Leaf, links: &HashMap<PathBuf, PathBuf>) {
    if links.is_empty() {
        return;
    }
    let mut more = Vec::new();
    for effect in leaf.effects.iter().take(256) {
        let Resource::Path(path) = &effect.resource else { continue };
        for (link, target) in links {
            if let Ok(below) = path.strip_prefix(link) {
                let path =
                    if below.as_os_str().is_empty() { target.clone() } else { target.join(below) };
                let resource = Resource::Path(path);
                more.push(Effect { scope: effect.scope.clone(), resource });
            }
        }
    }
    more.into_iter().for_each(|effect| leaf.effect(effect));
}

fn written(effect: &Effect) -> Option<PathBuf> {
    match &effect.resource {
        Resource::Path(path) if effect.scope == Scope::FILE_WRITE => Some(path.clone()),
        _ => None,
    }
}
