//! Matches a path against many globs at once. Nearly every path can be ruled
//! out by its components: globs are grouped by what a path must contain to
//! match any of the group, and only groups whose condition holds are matched.

use std::collections::HashMap;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::sync::OnceLock;

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};

use crate::pattern::{fold_text, literal_path};

/// Globs for [folded](crate::pattern::fold_path) paths, compiled on first use:
/// compiling takes longer than many programs run.
#[derive(Debug, Clone)]
pub(crate) struct LazyGlobs {
    patterns: Vec<String>,
    /// Directories that many of the globs begin with, in glob syntax.
    bases: Vec<String>,
    groups: OnceLock<Option<GlobGroups>>,
}

/// Globs grouped by the condition that a path must meet.
#[derive(Debug, Clone, Default)]
struct GlobGroups {
    /// The path is below a directory.
    below: Vec<DirectoryGlobs>,
    /// The path has a component with this name.
    part: Vec<(Vec<u8>, GlobGroup)>,
    /// Bit set of the first letters of these names.
    first_letters: u128,
    /// The last component has this prefix.
    start: Vec<(Vec<u8>, GlobGroup)>,
    /// The last component has this suffix.
    end: Vec<(Vec<u8>, GlobGroup)>,
    /// No condition that is cheap to check.
    any: GlobGroup,
}

/// The globs that begin with one directory.
#[derive(Debug, Clone)]
struct DirectoryGlobs {
    directory: Vec<u8>,
    /// By the name of the next component.
    next: HashMap<Vec<u8>, GlobGroup>,
    /// Globs whose next component is not literal.
    any: GlobGroup,
}

/// A few globs that are matched together. Compiled on first use, since most
/// groups never match.
#[derive(Debug, Clone, Default)]
struct GlobGroup {
    patterns: Vec<String>,
    compiled: OnceLock<Option<GlobSet>>,
}

impl LazyGlobs {
    /// Creates the set from globs and the directories, in glob syntax, that
    /// many of them begin with.
    pub(crate) fn new(patterns: Vec<String>, bases: &[String]) -> Self {
        Self { patterns, bases: bases.to_vec(), groups: OnceLock::new() }
    }

    /// Whether a glob matches; `None` if the globs cannot be compiled.
    pub(crate) fn is_match(&self, folded: &Path) -> Option<bool> {
        let groups =
            self.groups.get_or_init(|| GlobGroups::from_patterns(&self.patterns, &self.bases));
        let met = groups.as_ref()?.candidate_groups(folded.as_os_str().as_bytes());
        // All other groups cannot match.
        let mut answers = met.map(|group| group.is_match(folded));
        answers.find(|answer| *answer != Some(false)).unwrap_or(Some(false))
    }
}

impl GlobGroups {
    fn from_patterns(patterns: &[String], bases: &[String]) -> Option<Self> {
        // Folded like the paths: a case-insensitive set would be one large
        // regular expression.
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

    /// Returns the group that a glob belongs to.
    fn group_for(&mut self, pattern: &str, bases: &[String]) -> &mut GlobGroup {
        if let Some((dir, rest)) = split_base(pattern, bases) {
            return self.directory_group(dir, rest.split('/').next().and_then(literal));
        }
        // Braces and brackets may contain a slash.
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

    fn directory_group(&mut self, dir: Vec<u8>, next: Option<Vec<u8>>) -> &mut GlobGroup {
        let known = self.below.iter().position(|below| below.directory == dir);
        let at = known.unwrap_or(self.below.len());
        if known.is_none() {
            self.below.push(DirectoryGlobs {
                directory: dir,
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

    /// Returns the groups whose condition a path meets.
    fn candidate_groups<'a>(&'a self, path: &'a [u8]) -> impl Iterator<Item = &'a GlobGroup> {
        let below = self.below.iter().filter_map(|below| below.candidate_groups(path)).flatten();
        let parts = path.split(|byte| *byte == b'/');
        // Hardly any component begins like one of the names.
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

/// Whether a glob is certainly valid: plain names, `*`, and `**` as a whole
/// component.
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

/// Parses a glob; a tree includes its own root.
fn parse_globs(pattern: &str) -> Option<Vec<Glob>> {
    let texts = [Some(pattern), pattern.strip_suffix("/**")].into_iter().flatten();
    texts.map(|text| GlobBuilder::new(text).literal_separator(true).build().ok()).collect()
}

/// Splits a glob into the directory that it begins with and the rest.
fn split_base<'p>(pattern: &'p str, bases: &'p [String]) -> Option<(Vec<u8>, &'p str)> {
    let below = |base: &str| pattern.strip_prefix(base)?.strip_prefix('/');
    let bases = bases.iter().filter_map(|base| Some((base.as_str(), below(base)?)));
    let top = || {
        let (top, rest) = pattern.strip_prefix('/')?.split_once('/')?;
        Some((pattern.get(..=top.len())?, rest))
    };
    let longest = bases.max_by_key(|(base, _)| base.len());
    let (dir, rest) = longest.or_else(top)?;
    Some((literal(dir)?, rest))
}

/// Returns the text of a component, if it has no wildcards.
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

/// Returns the first letter of a name as a bit; all non-ASCII letters share
/// one.
fn first_letter_bit(name: &[u8]) -> u128 {
    name.first().map_or(0, |byte| 1 << (*byte).min(127))
}

#[cfg(test)]
#[path = "globs_tests.rs"]
mod tests;
