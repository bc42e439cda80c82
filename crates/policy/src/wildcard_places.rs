//! Finds protected places whose patterns contain a star on disk.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use globset::{Glob, GlobMatcher};

/// Whether a pattern has a star but a fixed base directory. `/proc` changes all
/// the time, and the sandbox has its own rule for it.
pub(crate) fn is_wildcard_place(pattern: &str) -> bool {
    let stem = pattern.trim_end_matches("/**");
    stem.starts_with('/')
        && stem.contains('*')
        && !stem.contains("**")
        && !stem.starts_with("/proc")
}

/// Returns the existing paths that match such a pattern.
pub(crate) fn expand_wildcard(pattern: &str) -> Vec<PathBuf> {
    let mut found = vec![PathBuf::from("/")];
    for part in pattern.trim_end_matches("/**").split('/').filter(|part| !part.is_empty()) {
        if !part.contains(['*', '[', '\\', '?']) {
            found.iter_mut().for_each(|dir| dir.push(part));
            continue;
        }
        // Usually the directory does not exist, and there is nothing to match.
        found.retain(|dir| dir.is_dir());
        if found.is_empty() {
            return found;
        }
        let Some(part) = GlobPart::parse(part) else { return Vec::new() };
        let step = |dir: &PathBuf| -> Vec<PathBuf> {
            let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
            let names = entries.map(|entry| entry.file_name());
            names.filter(|name| part.matches(name)).map(|name| dir.join(name)).collect()
        };
        found = found.iter().flat_map(step).collect();
    }
    found.retain(|path| path.exists());
    found
}

/// A component of a pattern. One that ends in its only star is matched by
/// prefix: compiling a glob takes longer than the lookup.
enum GlobPart {
    Prefix(Vec<u8>),
    Glob(GlobMatcher),
}

impl GlobPart {
    fn parse(part: &str) -> Option<Self> {
        let plain = part.strip_suffix('*').filter(|it| !it.contains(['*', '[', '\\', '?']));
        match plain {
            Some(start) => Some(Self::Prefix(start.as_bytes().to_owned())),
            None => Some(Self::Glob(Glob::new(part).ok()?.compile_matcher())),
        }
    }

    fn matches(&self, name: &OsStr) -> bool {
        match self {
            Self::Prefix(start) => name.as_bytes().starts_with(start),
            Self::Glob(matcher) => matcher.is_match(name),
        }
    }
}
