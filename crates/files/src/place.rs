//! From a path as a tool says it to the place that was judged.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use hermes_core::{Grants, Scope, ToolError};

use crate::real::{real_entry, real_path};
use crate::words::{changed, explain};

/// What a link at the end of a path stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Last {
    /// What it leads to.
    Follow,
    /// Itself.
    Keep,
    /// Itself, only to see where it leads.
    Peek,
}

impl Last {
    fn look_up(self, path: &Path) -> io::Result<PathBuf> {
        match self {
            Self::Follow => real_path(path),
            Self::Keep | Self::Peek => real_entry(path),
        }
    }
}

/// How far the grants reach.
enum Bound<'a> {
    /// Anywhere.
    Free,
    /// This very path, which was found there.
    Exact(Option<&'a Path>),
    /// Below a folder, which was found there.
    Below(&'a Path, Option<&'a Path>),
}

/// The real place of `path` that the call may touch. A link below a granted
/// folder may be used as long as it stays in that folder.
pub(crate) fn locate(
    grants: &Grants,
    scope: &Scope,
    path: &Path,
    last: Last,
    verb: &str,
) -> Result<PathBuf, ToolError> {
    let look_up = |path: &Path| last.look_up(path).map_err(|error| explain(verb, path, &error));
    match bound(grants, scope, path)? {
        Bound::Free | Bound::Exact(None) => look_up(path),
        Bound::Exact(Some(real)) if last == Last::Follow => Ok(real.to_path_buf()),
        // Whoever judged the path has followed the link, too.
        Bound::Exact(Some(_)) if last == Last::Peek => look_up(path),
        Bound::Exact(Some(real)) => {
            let entry = look_up(path)?;
            if entry == real {
                return Ok(entry);
            }
            let is_link = fs::symlink_metadata(&entry).is_ok_and(|found| found.is_symlink());
            let leads_there = || real_path(&entry).is_ok_and(|end| end == real);
            Err(if is_link && leads_there() { only_its_target(path, real) } else { changed(path) })
        }
        Bound::Below(granted, real) => {
            let base = match real {
                Some(real) => real.to_path_buf(),
                None => real_path(granted).map_err(|error| explain(verb, granted, &error))?,
            };
            let below = path.strip_prefix(granted).unwrap_or(path);
            let place = look_up(&base.join(below))?;
            if !place.starts_with(&base) {
                return Err(leads_out(path, granted));
            }
            if place != base && grants.denies(scope, &place) {
                return Err(protected(path));
            }
            Ok(place)
        }
    }
}

fn protected(path: &Path) -> ToolError {
    ToolError::denied(format!("{} is protected, although its folder is not", path.display()))
        .with("rule", "protected path")
        .with_hint("`hermes permissions check read_file path=…` says by which rule.")
}

/// The narrowest grant decides.
fn bound<'a>(grants: &'a Grants, scope: &Scope, path: &Path) -> Result<Bound<'a>, ToolError> {
    let Some(list) = grants.list() else { return Ok(Bound::Free) };
    let narrowest = list
        .iter()
        .filter(|grant| grant.effect.scope == *scope)
        .filter_map(|grant| Some((grant.effect.resource.as_path()?, grant.real_path.as_deref())))
        .filter(|(granted, _)| path.starts_with(granted))
        .max_by_key(|(granted, _)| granted.components().count());
    match narrowest {
        Some((granted, real)) if granted == path => Ok(Bound::Exact(real)),
        Some((granted, real)) => Ok(Bound::Below(granted, real)),
        None => grants.real_path(scope, path).map(|_| Bound::Free),
    }
}

fn only_its_target(path: &Path, real: &Path) -> ToolError {
    let (path, real) = (path.display(), real.display());
    ToolError::denied(format!("{path} is a link, and only its target {real} was allowed"))
        .with("rule", "link")
        .with_hint("Name the target itself if that is meant; the link is left as it is.")
}

fn leads_out(path: &Path, granted: &Path) -> ToolError {
    let (path, granted) = (path.display(), granted.display());
    ToolError::denied(format!("{path} leads out of {granted}, which is all that was allowed"))
        .with("rule", "link")
        .with_hint("Name the place that it leads to, so that it can be judged by itself.")
}
