//! Resolves the grants of a call on this host. The rules judged paths as
//! written and could not see the symlinks here, so a path must not lead to an
//! unjudged place.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hermes_core::{Effect, Grant, Grants, Scope, ToolError, WorkingDir};

use crate::closed_paths::{ClosedPathQuery, ClosedPaths, HostProtectedPaths};

/// The input for resolving what a call may touch here.
pub(crate) struct GrantResolver {
    pub(crate) effects: Vec<Effect>,
    pub(crate) workplace: WorkingDir,
    pub(crate) protected: Arc<HostProtectedPaths>,
    /// `None` if the rules close nothing below granted directories; what this
    /// host protects is closed all the same.
    pub(crate) query: Option<Arc<dyn ClosedPathQuery>>,
}

impl GrantResolver {
    /// Returns the grants with canonical paths.
    ///
    /// # Errors
    /// If a path leads out of what was judged, or to a protected place.
    pub(crate) fn resolve_grants(self) -> Result<Grants, ToolError> {
        let mut reals = Vec::with_capacity(self.effects.len());
        for effect in &self.effects {
            let path = effect.resource.as_path();
            let found = path.map(|path| (path, real_location(&effect.scope, path)));
            reals.push(match found {
                Some((path, real)) => Some(real.map_err(|error| unresolvable_error(path, &error))?),
                None => None,
            });
        }
        let working = self.working_dirs();
        let closed = ClosedPaths::new(
            Arc::clone(&self.protected),
            self.workplace.home().map(Path::to_path_buf),
            working.clone(),
            self.query.clone(),
        );
        for (effect, real) in self.effects.iter().zip(&reals) {
            if let (Some(path), Some(real)) = (effect.resource.as_path(), real) {
                Self::check_path(&closed, &working, &effect.scope, path, real)?;
            }
        }
        let list = self.effects.into_iter().zip(reals);
        let grants =
            Grants::new(list.map(|(effect, real)| Grant { effect, real_path: real }).collect());
        Ok(grants.with_exceptions(Arc::new(closed)))
    }

    /// Returns the working directory, as written and canonicalized.
    fn working_dirs(&self) -> (PathBuf, PathBuf) {
        let cwd = self.workplace.cwd();
        let real = hermes_files::real_path(cwd).unwrap_or_else(|_| cwd.to_path_buf());
        (cwd.to_path_buf(), real)
    }

    fn check_path(
        closed: &ClosedPaths,
        (cwd, real_cwd): &(PathBuf, PathBuf),
        scope: &Scope,
        path: &Path,
        real: &Path,
    ) -> Result<(), ToolError> {
        if closed.is_closed_locally(scope, real, path) {
            return Err(protected_error(path, real));
        }
        if real == path {
            return Ok(());
        }
        // The only symlinks are in the path of the working directory.
        if path.strip_prefix(cwd).is_ok_and(|rest| is_same_below(real, real_cwd, rest)) {
            return Ok(());
        }
        // The rules may answer differently for the target.
        if real.starts_with(real_cwd) && !closed.is_closed_by_rule(scope, &[real.to_path_buf()]) {
            return Ok(());
        }
        Err(unjudged_link_error(path, real))
    }
}

fn is_same_below(real: &Path, dir: &Path, rest: &Path) -> bool {
    real.strip_prefix(dir).is_ok_and(|below| below == rest)
}

/// Returns the canonical path. Deleting a symlink does not follow it.
fn real_location(scope: &Scope, path: &Path) -> io::Result<PathBuf> {
    if *scope == Scope::FILE_DELETE {
        hermes_files::real_entry(path)
    } else {
        hermes_files::real_path(path)
    }
}

fn unresolvable_error(path: &Path, error: &io::Error) -> ToolError {
    ToolError::io(format!("{} cannot be resolved", path.display()), error)
}

fn unjudged_link_error(path: &Path, real: &Path) -> ToolError {
    let (path, real) = (path.display(), real.display());
    ToolError::denied(format!(
        "{path} is a symlink there to {real}, which the policy has not \
        judged"
    ))
    .with("rule", "link")
    .with("leads_to", real.to_string())
    .with_hint(format!("Call again with {real} itself so the policy can judge it."))
}

fn protected_error(path: &Path, real: &Path) -> ToolError {
    let led = if path == real {
        String::new()
    } else {
        format!(", which resolves to {},", real.display())
    };
    ToolError::denied(format!(
        "{}{led} is protected there: a private key, a credential store or part of the \
         configuration",
        path.display()
    ))
    .with("rule", "protected path")
}

#[cfg(test)]
#[path = "grant_resolver_tests.rs"]
mod tests;
