//! Resolves a tool's path to the real path that the policy checked.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use hermes_core::{Grants, Scope, ToolError};

use crate::error_text::{explain_error, path_changed_error};
use crate::resolve::{real_entry, real_path};

/// How to treat a symlink at the end of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LinkMode {
    /// Use its target.
    Follow,
    /// Use the link itself.
    NoFollow,
    /// Use the link itself, only to read its target.
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

/// Extent of the grants.
enum GrantBound<'a> {
    /// Anywhere.
    Unbounded,
    /// This exact path, with the real path it resolved to.
    Exact(Option<&'a Path>),
    /// Below a directory, with the real path it resolved to.
    Below(&'a Path, Option<&'a Path>),
}

/// Returns the real path of `path` that the call may touch. A symlink below a
/// granted directory is allowed if it stays in that directory.
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
        // The policy has followed the link, too.
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
    ToolError::denied(format!("{} is protected, although its directory is not", path.display()))
        .with("rule", "protected path")
        .with_hint("`hermes permissions check read_file path=…` shows the rule.")
}

/// Returns the extent of the narrowest grant.
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
    ToolError::denied(format!("{path} is a symlink, and only its target {real} was allowed"))
        .with("rule", "link")
        .with_hint("If the target is meant, specify its path; the symlink is unchanged.")
}

fn outside_grant_error(path: &Path, granted: &Path) -> ToolError {
    let (path, granted) = (path.display(), granted.display());
    ToolError::denied(format!(
        "{path} leads out of {granted}, and only paths within it were \
        allowed"
    ))
    .with("rule", "link")
    .with_hint("Specify the path it leads to, so the policy can check it.")
}
