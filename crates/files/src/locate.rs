//! From a path as a tool says it to the place that was judged.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use hermes_core::{Grants, Scope, ToolError};

use crate::error_text::{explain_error, path_changed_error};
use crate::resolve::{real_entry, real_path};

/// What a link at the end of a path stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LinkMode {
    /// What it leads to.
    Follow,
    /// Itself.
    NoFollow,
    /// Itself, only to see where it leads.
    ReadTarget,
}

impl LinkMode {
    fn look_up(self, path: &Path) -> io::Result<PathBuf> {
        match self {
            Self::Follow => real_path(path),
            Self::NoFollow | Self::ReadTarget => real_entry(path),
        }
    }
}

/// How far the grants reach.
enum GrantBound<'a> {
    /// Anywhere.
    Unbounded,
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
    last: LinkMode,
    verb: &str,
) -> Result<PathBuf, ToolError> {
    let look_up =
        |path: &Path| last.look_up(path).map_err(|error| explain_error(verb, path, &error));
    match grant_bound(grants, scope, path)? {
        GrantBound::Unbounded | GrantBound::Exact(None) => look_up(path),
        GrantBound::Exact(Some(real)) if last == LinkMode::Follow => Ok(real.to_path_buf()),
        // Whoever judged the path has followed the link, too.
        GrantBound::Exact(Some(_)) if last == LinkMode::ReadTarget => look_up(path),
        GrantBound::Exact(Some(real)) => {
            let entry = look_up(path)?;
            if entry == real {
                return Ok(entry);
            }
            let is_link = fs::symlink_metadata(&entry).is_ok_and(|found| found.is_symlink());
            let leads_there = || real_path(&entry).is_ok_and(|end| end == real);
            Err(if is_link && leads_there() {
                only_target_granted_error(path, real)
            } else {
                path_changed_error(path)
            })
        }
        GrantBound::Below(granted, real) => {
            let base = match real {
                Some(real) => real.to_path_buf(),
                None => real_path(granted).map_err(|error| explain_error(verb, granted, &error))?,
            };
            let below = path.strip_prefix(granted).unwrap_or(path);
            let place = look_up(&base.join(below))?;
            if !place.starts_with(&base) {
                return Err(outside_grant_error(path, granted));
            }
            if place != base && grants.denies(scope, &place) {
                return Err(protected_error(path));
            }
            Ok(place)
        }
    }
}

fn protected_error(path: &Path) -> ToolError {
    ToolError::denied(format!("{} is protected, although its folder is not", path.display()))
        .with("rule", "protected path")
        .with_hint("`hermes permissions check read_file path=…` says by which rule.")
}

/// The narrowest grant decides.
fn grant_bound<'a>(
    grants: &'a Grants,
    scope: &Scope,
    path: &Path,
) -> Result<GrantBound<'a>, ToolError> {
    let Some(list) = grants.list() else { return Ok(GrantBound::Unbounded) };
    let narrowest = list
        .iter()
        .filter(|grant| grant.effect.scope == *scope)
        .filter_map(|grant| Some((grant.effect.resource.as_path()?, grant.real_path.as_deref())))
        .filter(|(granted, _)| path.starts_with(granted))
        .max_by_key(|(granted, _)| granted.components().count());
    match narrowest {
        Some((granted, real)) if granted == path => Ok(GrantBound::Exact(real)),
        Some((granted, real)) => Ok(GrantBound::Below(granted, real)),
        None => grants.real_path(scope, path).map(|_| GrantBound::Unbounded),
    }
}

fn only_target_granted_error(path: &Path, real: &Path) -> ToolError {
    let (path, real) = (path.display(), real.display());
    ToolError::denied(format!("{path} is a link, and only its target {real} was allowed"))
        .with("rule", "link")
        .with_hint("Name the target itself if that is meant; the link is left as it is.")
}

fn outside_grant_error(path: &Path, granted: &Path) -> ToolError {
    let (path, granted) = (path.display(), granted.display());
    ToolError::denied(format!("{path} leads out of {granted}, which is all that was allowed"))
        .with("rule", "link")
        .with_hint("Name the place that it leads to, so that it can be judged by itself.")
}
