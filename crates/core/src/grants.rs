//! What a call may touch. Ports enforce it: they refuse whatever the tool did
//! not declare or the policy did not allow.

use std::fmt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::{Effect, Resource, Scope, ToolError};

/// One effect that was declared and allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// The effect, as the tool declared it.
    pub effect: Effect,
    /// For a path: its real path, with all symlinks resolved. The policy judged
    /// this path, so only this path may be opened.
    pub real_path: Option<PathBuf>,
}

/// Paths excluded from a directory grant, checked on access. The policy judged
/// the directory without looking at everything in it.
pub trait GrantExceptions: Send + Sync {
    /// Whether access in this scope to a real path is denied.
    fn denies(&self, scope: &Scope, real: &Path) -> bool;

    /// Whether access to a file with several hard links is denied under this
    /// path too: another of its paths may be excluded. `file` is its device
    /// and inode number.
    fn denies_hard_linked(&self, scope: &Scope, real: &Path, file: (u64, u64)) -> bool {
        let _ = (scope, real, file);
        false
    }
}

impl<F: Fn(&Scope, &Path) -> bool + Send + Sync> GrantExceptions for F {
    fn denies(&self, scope: &Scope, real: &Path) -> bool {
        self(scope, real)
    }
}

/// Everything a call may touch.
#[derive(Clone)]
pub struct Grants {
    /// None means unrestricted.
    list: Option<Vec<Grant>>,
    exceptions: Option<Arc<dyn GrantExceptions>>,
}

impl fmt::Debug for Grants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grants").field("list", &self.list).finish_non_exhaustive()
    }
}

/// Exceptions are not compared.
impl PartialEq for Grants {
    fn eq(&self, other: &Self) -> bool {
        self.list == other.list
    }
}

impl Eq for Grants {}

impl Grants {
    /// Unrestricted: for programs that run a tool directly.
    pub const ALLOW_ALL: Self = Self { list: None, exceptions: None };

    /// Unrestricted: for programs that run a tool directly.
    pub fn allow_all() -> Self {
        Self::ALLOW_ALL
    }

    /// Exactly these grants.
    pub fn new(list: Vec<Grant>) -> Self {
        Self { list: Some(list), exceptions: None }
    }

    /// Adds exceptions to the grants.
    #[must_use]
    pub fn with_exceptions(self, exceptions: Arc<dyn GrantExceptions>) -> Self {
        Self { exceptions: Some(exceptions), ..self }
    }

    /// The exceptions to directory grants, if any.
    pub fn exceptions(&self) -> Option<&Arc<dyn GrantExceptions>> {
        self.exceptions.as_ref()
    }

    /// Whether a real path below a granted directory is excluded.
    pub fn denies(&self, scope: &Scope, real: &Path) -> bool {
        self.exceptions.as_ref().is_some_and(|exceptions| exceptions.denies(scope, real))
    }

    /// Whether a file with several hard links is excluded under this path.
    pub fn denies_hard_linked(&self, scope: &Scope, real: &Path, file: (u64, u64)) -> bool {
        let exceptions = self.exceptions.as_ref();
        exceptions.is_some_and(|exceptions| exceptions.denies_hard_linked(scope, real, file))
    }

    /// Grants for these effects, their paths not yet resolved.
    pub fn from_effects(effects: &[Effect]) -> Self {
        Self::new(effects.iter().map(|e| Grant { effect: e.clone(), real_path: None }).collect())
    }

    /// The individual grants; none if unrestricted.
    pub fn list(&self) -> Option<&[Grant]> {
        self.list.as_deref()
    }

    /// Returns an error unless the effect was declared and allowed.
    pub fn check(&self, scope: &Scope, resource: &Resource) -> Result<(), ToolError> {
        let Some(list) = &self.list else { return Ok(()) };
        let covered = list
            .iter()
            .any(|grant| grant.effect.scope == *scope && covers(&grant.effect.resource, resource));
        if covered { Ok(()) } else { Err(undeclared_effect_error(scope, resource)) }
    }

    /// Returns the real path of a path that the call wants to touch. A path
    /// below a granted directory is resolved below that directory's real path.
    /// None means that the path has not been resolved.
    pub fn real_path(&self, scope: &Scope, path: &Path) -> Result<Option<PathBuf>, ToolError> {
        let Some(list) = &self.list else { return Ok(None) };
        let found = list.iter().filter(|grant| grant.effect.scope == *scope).find_map(|grant| {
            let granted = grant.effect.resource.as_path();
            match (granted, &grant.real_path) {
                (None, _) => matches!(grant.effect.resource, Resource::Any).then_some(None),
                (Some(granted), real) => {
                    let below = relative_below(path, granted)?;
                    let joined = |real: &PathBuf| {
                        if below.as_os_str().is_empty() { real.clone() } else { real.join(below) }
                    };
                    Some(real.as_ref().map(joined))
                }
            }
        });
        found.ok_or_else(|| undeclared_effect_error(scope, &Resource::Path(path.to_path_buf())))
    }
}

impl Default for Grants {
    fn default() -> Self {
        Self::allow_all()
    }
}

fn covers(granted: &Resource, wanted: &Resource) -> bool {
    match (granted, wanted) {
        (Resource::Any, _) => true,
        (Resource::Path(granted), Resource::Path(wanted)) => {
            relative_below(wanted, granted).is_some()
        }
        (granted, wanted) => granted == wanted,
    }
}

/// The part of `path` below `dir`; none for a path with `..`.
fn relative_below<'p>(path: &'p Path, dir: &Path) -> Option<&'p Path> {
    let climbs = path.components().any(|part| part == Component::ParentDir);
    if climbs { None } else { path.strip_prefix(dir).ok() }
}

fn undeclared_effect_error(scope: &Scope, resource: &Resource) -> ToolError {
    ToolError::denied(format!("The call uses {scope} {resource}, which it did not declare"))
        .with("rule", "undeclared-effect")
        .with_hint("This is a bug in the tool; report it to its author.")
}

#[cfg(test)]
#[path = "grants_tests.rs"]
mod tests;
