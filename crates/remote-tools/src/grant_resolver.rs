//! The grants of a call in this place. The rules judged paths as they are
//! written and could not see the links here; so a path may not lead to where
//! nobody looked.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hermes_core::{Effect, Grant, Grants, Scope, ToolError, WorkingDir};

use crate::closed_paths::{ClosedPathQuery, ClosedPaths, HostProtectedPaths};

/// What is needed to find out what a call may touch here.
pub(crate) struct GrantResolver {
    pub(crate) effects: Vec<Effect>,
    pub(crate) workplace: WorkingDir,
    pub(crate) protected: Arc<HostProtectedPaths>,
    /// None if nothing is closed below granted folders.
    pub(crate) query: Option<Arc<dyn ClosedPathQuery>>,
}

impl GrantResolver {
    /// The grants, with the real places.
    ///
    /// # Errors
    /// If a path leads out of what was judged, or to what is protected.
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
        Ok(match self.query {
            Some(_) => grants.with_exceptions(Arc::new(closed)),
            None => grants,
        })
    }

    /// The working folder, as written and as it really is.
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
        // The only links are on the way to the working folder.
        if path.strip_prefix(cwd).is_ok_and(|rest| is_same_below(real, real_cwd, rest)) {
            return Ok(());
        }
        // By the name of the end of the way, the rules may see it otherwise.
        if real.starts_with(real_cwd) && !closed.is_closed_by_rule(scope, &[real.to_path_buf()]) {
            return Ok(());
        }
        Err(unjudged_link_error(path, real))
    }
}

fn is_same_below(real: &Path, folder: &Path, rest: &Path) -> bool {
    real.strip_prefix(folder).is_ok_and(|below| below == rest)
}

/// A link is deleted, not what it leads to.
fn real_location(scope: &Scope, path: &Path) -> io::Result<PathBuf> {
    if *scope == Scope::FILE_DELETE {
        hermes_files::real_entry(path)
    } else {
        hermes_files::real_path(path)
    }
}

fn unresolvable_error(path: &Path, error: &io::Error) -> ToolError {
    ToolError::io(format!("{} cannot be followed", path.display()), error)
}

fn unjudged_link_error(path: &Path, real: &Path) -> ToolError {
    let (path, real) = (path.display(), real.display());
    ToolError::denied(format!("{path} is a link there and leads to {real}, which was not judged"))
        .with("rule", "link")
        .with("leads_to", real.to_string())
        .with_hint(format!("Call again with {real} itself, so that it can be judged."))
}

fn protected_error(path: &Path, real: &Path) -> ToolError {
    let led =
        if path == real { String::new() } else { format!(", which leads to {},", real.display()) };
    ToolError::denied(format!(
        "{}{led} is protected there: a private key, a credential store or part of the set-up",
        path.display()
    ))
    .with("rule", "protected path")
}

#[cfg(test)]
#[path = "grant_resolver_tests.rs"]
mod tests;
