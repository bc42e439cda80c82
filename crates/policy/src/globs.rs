//! Many patterns, asked as one. Nearly every path lies where none of them can
//! match, which a look at its parts tells: the patterns are kept in groups by
//! what a path must have to match any of a group, and only groups whose need is
//! met are matched at all.

use std::collections::HashMap;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::sync::OnceLock;

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};

use crate::pattern::{fold_text, plain};

/// Patterns for [folded](crate::fold) paths, made ready when somebody first
/// asks: that takes longer than the rest of many a program.
#[derive(Debug, Clone)]
pub(crate) struct Globs {
    patterns: Vec<String>,
    /// Folders that many of the patterns begin with, as patterns.
    bases: Vec<String>,
    groups: OnceLock<Option<Groups>>,
}

/// The patterns by what a path needs.
#[derive(Debug, Clone, Default)]
struct Groups {
    /// To lie in a folder.
    below: Vec<Below>,
    /// To have a part of this name.
    part: Vec<(Vec<u8>, Group)>,
    /// What these names begin with.
    firsts: u128,
    /// To have a last part that begins so.
    start: Vec<(Vec<u8>, Group)>,
    /// To have a last part that ends so.
    end: Vec<(Vec<u8>, Group)>,
    /// Nothing that could be told at a glance.
    any: Group,
}

/// The patterns that begin with one folder.
#[derive(Debug, Clone)]
struct Below {
    folder: Vec<u8>,
    /// By the name that comes next.
    next: HashMap<Vec<u8>, Group>,
    /// Those that say less of it.
    any: Group,
}

/// A few patterns that are matched together. Most groups never are, so they
/// are read when they are first asked.
#[derive(Debug, Clone, Default)]
struct Group {
    patterns: Vec<String>,
    made: OnceLock<Option<GlobSet>>,
}

impl Globs {
    /// Patterns, and the folders, as patterns, that many of them begin with.
    pub(crate) fn new(patterns: Vec<String>, bases: &[String]) -> Self {
        Self { patterns, bases: bases.to_vec(), groups: OnceLock::new() }
    }

    /// Whether one of them matches. Nothing if they cannot be had.
    pub(crate) fn is_match(&self, folded: &Path) -> Option<bool> {
        let groups = self.groups.get_or_init(|| Groups::of(&self.patterns, &self.bases));
        let met = groups.as_ref()?.met(folded.as_os_str().as_bytes());
        // Every other group says no.
        let mut answers = met.map(|group| group.is_match(folded));
        answers.find(|answer| *answer != Some(false)).unwrap_or(Some(false))
    }
}

impl Groups {
    fn of(patterns: &[String], bases: &[String]) -> Option<Self> {
        // Folded as the paths are: a set that is blind to case would be one
        // large regular expression.
        let bases = bases.iter().filter(|base| !base.is_empty());
        let bases: Vec<String> = bases.map(|base| fold_text(base)).collect();
        let mut groups = Self::default();
        for pattern in patterns {
            let pattern = fold_text(pattern);
            if !is_simple(&pattern) {
                globs(&pattern)?;
            }
            groups.place(&pattern, &bases).patterns.push(pattern);
        }
        Some(groups)
    }

    /// Where a pattern belongs.
    fn place(&mut self, pattern: &str, bases: &[String]) -> &mut Group {
        if let Some((folder, rest)) = divide(pattern, bases) {
            return self.below(folder, rest.split('/').next().and_then(literal));
        }
        // Braces and brackets may have a slash in them.
        let anywhere = pattern.strip_prefix("**/").filter(|it| !it.contains(['{', '[', '\\']));
        let Some(rest) = anywhere else { return &mut self.any };
        if let Some(name) = rest.split('/').find_map(literal) {
            self.firsts |= first(&name);
            return named(&mut self.part, name);
        }
        let last = rest.rsplit('/').next().unwrap_or(rest);
        let start = last.split(['*', '?']).next().unwrap_or_default();
        match last.strip_prefix('*').and_then(literal) {
            _ if !start.is_empty() => named(&mut self.start, start.into()),
            Some(end) => named(&mut self.end, end),
            None => &mut self.any,
        }
    }

    fn below(&mut self, folder: Vec<u8>, next: Option<Vec<u8>>) -> &mut Group {
        let known = self.below.iter().position(|below| below.folder == folder);
        let at = known.unwrap_or(self.below.len());
        if known.is_none() {
            self.below.push(Below { folder, next: HashMap::new(), any: Group::default() });
        }
        let below = &mut self.below[at];
        match next {
            Some(next) => below.next.entry(next).or_default(),
            None => &mut below.any,
        }
    }

    /// The groups whose need a path meets.
    fn met<'a>(&'a self, path: &'a [u8]) -> impl Iterator<Item = &'a Group> {
        let below = self.below.iter().filter_map(|below| below.met(path)).flatten();
        let parts = path.split(|byte| *byte == b'/');
        // Hardly any part begins like one of the names.
        let parts = parts.filter(|part| self.firsts & first(part) != 0);
        let part = parts.flat_map(|part| self.part.iter().filter(move |(name, _)| name == part));
        let last = path.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
        let last = path.get(last..).unwrap_or_default();
        let start = self.start.iter().filter(|(start, _)| last.starts_with(start));
        let end = self.end.iter().filter(|(end, _)| last.ends_with(end));
        let named = part.chain(start).chain(end).map(|(_, group)| group);
        below.chain(named).chain([&self.any])
    }
}

impl Below {
    fn met(&self, path: &[u8]) -> Option<impl Iterator<Item = &Group>> {
        let next = match path.strip_prefix(self.folder.as_slice())? {
            [] => None,
            [b'/', rest @ ..] => rest.split(|byte| *byte == b'/').next(),
            _ => return None,
        };
        Some(next.and_then(|next| self.next.get(next)).into_iter().chain([&self.any]))
    }
}

impl Group {
    fn is_match(&self, folded: &Path) -> Option<bool> {
        if self.patterns.is_empty() {
            return Some(false);
        }
        let made = self.made.get_or_init(|| {
            let all: Option<Vec<Vec<Glob>>> = self.patterns.iter().map(|it| globs(it)).collect();
            set(&all?.concat())
        });
        made.as_ref().map(|set| set.is_match(folded))
    }
}

/// Whether a pattern has nothing in it that could be wrong: plain names, stars,
/// and two stars as a part of their own.
fn is_simple(pattern: &str) -> bool {
    let is_fine = |part: &str| part == "**" || !part.contains("**");
    !pattern.contains(['[', ']', '{', '}', '\\', '?']) && pattern.split('/').all(is_fine)
}

fn set(globs: &[Glob]) -> Option<GlobSet> {
    let mut builder = GlobSetBuilder::new();
    globs.iter().for_each(|glob| {
        builder.add(glob.clone());
    });
    builder.build().ok()
}

/// What a pattern means: a tree has its own root in it.
fn globs(pattern: &str) -> Option<Vec<Glob>> {
    let texts = [Some(pattern), pattern.strip_suffix("/**")].into_iter().flatten();
    texts.map(|text| GlobBuilder::new(text).literal_separator(true).build().ok()).collect()
}

/// The folder that a pattern begins with, and the rest of it.
fn divide<'p>(pattern: &'p str, bases: &'p [String]) -> Option<(Vec<u8>, &'p str)> {
    let below = |base: &str| pattern.strip_prefix(base)?.strip_prefix('/');
    let bases = bases.iter().filter_map(|base| Some((base.as_str(), below(base)?)));
    let top = || {
        let (top, rest) = pattern.strip_prefix('/')?.split_once('/')?;
        Some((pattern.get(..=top.len())?, rest))
    };
    let longest = bases.max_by_key(|(base, _)| base.len());
    let (folder, rest) = longest.or_else(top)?;
    Some((literal(folder)?, rest))
}

/// The text that a part of a pattern is, if it has no wildcards.
fn literal(part: &str) -> Option<Vec<u8>> {
    let path = plain(part).filter(|_| !part.is_empty())?;
    Some(path.into_os_string().into_vec())
}

fn named(groups: &mut Vec<(Vec<u8>, Group)>, name: Vec<u8>) -> &mut Group {
    let at = groups.iter().position(|(own, _)| *own == name).unwrap_or(groups.len());
    if at == groups.len() {
        groups.push((name, Group::default()));
    }
    &mut groups[at].1
}

/// The first letter of a name, as a bit; all that are not ASCII share one.
fn first(name: &[u8]) -> u128 {
    name.first().map_or(0, |byte| 1 << (*byte).min(127))
}

#[cfg(test)]
#[path = "globs_tests.rs"]
mod tests;
