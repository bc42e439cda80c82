//! Many patterns, asked as one. Nearly every path lies where none of them can
//! match, which a look at its parts tells: the patterns are kept in groups by
//! what a path must have to match any of a group, and only groups whose need is
//! met are matched at all.

use std::collections::HashMap;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::sync::OnceLock;

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};

use crate::pattern::{fold_text, literal_path};

/// Patterns for [folded](crate::fold) paths, made ready when somebody first
/// asks: that takes longer than the rest of many a program.
#[derive(Debug, Clone)]
pub(crate) struct LazyGlobs {
    patterns: Vec<String>,
    /// Folders that many of the patterns begin with, as patterns.
    bases: Vec<String>,
    groups: OnceLock<Option<GlobGroups>>,
}

/// The patterns by what a path needs.
#[derive(Debug, Clone, Default)]
struct GlobGroups {
    /// To lie in a folder.
    below: Vec<DirectoryGlobs>,
    /// To have a part of this name.
    part: Vec<(Vec<u8>, GlobGroup)>,
    /// What these names begin with.
    first_letters: u128,
    /// To have a last part that begins so.
    start: Vec<(Vec<u8>, GlobGroup)>,
    /// To have a last part that ends so.
    end: Vec<(Vec<u8>, GlobGroup)>,
    /// Nothing that could be told at a glance.
    any: GlobGroup,
}

/// The patterns that begin with one folder.
#[derive(Debug, Clone)]
struct DirectoryGlobs {
    directory: Vec<u8>,
    /// By the name that comes next.
    next: HashMap<Vec<u8>, GlobGroup>,
    /// Those that say less of it.
    any: GlobGroup,
}

/// A few patterns that are matched together. Most groups never are, so they
/// are read when they are first asked.
#[derive(Debug, Clone, Default)]
struct GlobGroup {
    patterns: Vec<String>,
    compiled: OnceLock<Option<GlobSet>>,
}

impl LazyGlobs {
    /// Patterns, and the folders, as patterns, that many of them begin with.
    pub(crate) fn new(patterns: Vec<String>, bases: &[String]) -> Self {
        Self { patterns, bases: bases.to_vec(), groups: OnceLock::new() }
    }

    /// Whether one of them matches. Nothing if they cannot be had.
    pub(crate) fn is_match(&self, folded: &Path) -> Option<bool> {
        let groups =
            self.groups.get_or_init(|| GlobGroups::from_patterns(&self.patterns, &self.bases));
        let met = groups.as_ref()?.candidate_groups(folded.as_os_str().as_bytes());
        // Every other group says no.
        let mut answers = met.map(|group| group.is_match(folded));
        answers.find(|answer| *answer != Some(false)).unwrap_or(Some(false))
    }
}

impl GlobGroups {
    fn from_patterns(patterns: &[String], bases: &[String]) -> Option<Self> {
        // Folded as the paths are: a set that is blind to case would be one
        // large regular expression.
        let bases = bases.iter().filter(|base| !base.is_empty());
        let bases: Vec<String> = bases.map(|base| fold_text(base)).collect();
        let mut groups = Self::default();
        for pattern in patterns {
            let pattern = fold_text(pattern);
            if !is_simple(&pattern) {
                parse_globs(&pattern)?;
            }
            groups.group_for(&pattern, &bases).patterns.push(pattern);
        }
        Some(groups)
    }

    /// Where a pattern belongs.
    fn group_for(&mut self, pattern: &str, bases: &[String]) -> &mut GlobGroup {
        if let Some((folder, rest)) = split_base(pattern, bases) {
            return self.directory_group(folder, rest.split('/').next().and_then(literal));
        }
        // Braces and brackets may have a slash in them.
        let anywhere = pattern.strip_prefix("**/").filter(|it| !it.contains(['{', '[', '\\']));
        let Some(rest) = anywhere else { return &mut self.any };
        if let Some(name) = rest.split('/').find_map(literal) {
            self.first_letters |= first_letter_bit(&name);
            return group_named(&mut self.part, name);
        }
        let last = rest.rsplit('/').next().unwrap_or(rest);
        let start = last.split(['*', '?']).next().unwrap_or_default();
        match last.strip_prefix('*').and_then(literal) {
            _ if !start.is_empty() => group_named(&mut self.start, start.into()),
            Some(end) => group_named(&mut self.end, end),
            None => &mut self.any,
        }
    }

    fn directory_group(&mut self, folder: Vec<u8>, next: Option<Vec<u8>>) -> &mut GlobGroup {
        let known = self.below.iter().position(|below| below.directory == folder);
        let at = known.unwrap_or(self.below.len());
        if known.is_none() {
            self.below.push(DirectoryGlobs {
                directory: folder,
                next: HashMap::new(),
                any: GlobGroup::default(),
            });
        }
        let below = &mut self.below[at];
        match next {
            Some(next) => below.next.entry(next).or_default(),
            None => &mut below.any,
        }
    }

    /// The groups whose need a path meets.
    fn candidate_groups<'a>(&'a self, path: &'a [u8]) -> impl Iterator<Item = &'a GlobGroup> {
        let below = self.below.iter().filter_map(|below| below.candidate_groups(path)).flatten();
        let parts = path.split(|byte| *byte == b'/');
        // Hardly any part begins like one of the names.
        let parts = parts.filter(|part| self.first_letters & first_letter_bit(part) != 0);
        let part = parts.flat_map(|part| self.part.iter().filter(move |(name, _)| name == part));
        let last = path.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
        let last = path.get(last..).unwrap_or_default();
        let start = self.start.iter().filter(|(start, _)| last.starts_with(start));
        let end = self.end.iter().filter(|(end, _)| last.ends_with(end));
        let named = part.chain(start).chain(end).map(|(_, group)| group);
        below.chain(named).chain([&self.any])
    }
}

impl DirectoryGlobs {
    fn candidate_groups(&self, path: &[u8]) -> Option<impl Iterator<Item = &GlobGroup>> {
        let next = match path.strip_prefix(self.directory.as_slice())? {
            [] => None,
            [b'/', rest @ ..] => rest.split(|byte| *byte == b'/').next(),
            _ => return None,
        };
        Some(next.and_then(|next| self.next.get(next)).into_iter().chain([&self.any]))
    }
}

impl GlobGroup {
    fn is_match(&self, folded: &Path) -> Option<bool> {
        if self.patterns.is_empty() {
            return Some(false);
        }
        let made = self.compiled.get_or_init(|| {
            let all: Option<Vec<Vec<Glob>>> =
                self.patterns.iter().map(|it| parse_globs(it)).collect();
            build_glob_set(&all?.concat())
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

fn build_glob_set(globs: &[Glob]) -> Option<GlobSet> {
    let mut builder = GlobSetBuilder::new();
    globs.iter().for_each(|glob| {
        builder.add(glob.clone());
    });
    builder.build().ok()
}

/// What a pattern means: a tree has its own root in it.
fn parse_globs(pattern: &str) -> Option<Vec<Glob>> {
    let texts = [Some(pattern), pattern.strip_suffix("/**")].into_iter().flatten();
    texts.map(|text| GlobBuilder::new(text).literal_separator(true).build().ok()).collect()
}

/// The folder that a pattern begins with, and the rest of it.
fn split_base<'p>(pattern: &'p str, bases: &'p [String]) -> Option<(Vec<u8>, &'p str)> {
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
    let path = literal_path(part).filter(|_| !part.is_empty())?;
    Some(path.into_os_string().into_vec())
}

fn group_named(groups: &mut Vec<(Vec<u8>, GlobGroup)>, name: Vec<u8>) -> &mut GlobGroup {
    let at = groups.iter().position(|(own, _)| *own == name).unwrap_or(groups.len());
    if at == groups.len() {
        groups.push((name, GlobGroup::default()));
    }
    &mut groups[at].1
}

/// The first letter of a name, as a bit; all that are not ASCII share one.
fn first_letter_bit(name: &[u8]) -> u128 {
    name.first().map_or(0, |byte| 1 << (*byte).min(127))
}

#[cfg(test)]
#[path = "globs_tests.rs"]
mod tests;
