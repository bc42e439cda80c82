//! What a call was allowed to touch. Ports hold a call to it: whatever the
//! tool did not declare, or the policy did not allow, is refused at the door.

use std::fmt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::{Effect, Resource, Scope, ToolError};

/// One effect that was declared and allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// The effect, as the tool declared it.
    pub effect: Effect,
    /// For a path: where it really is, every link followed. The policy judged
    /// that place, so that place, and no other, may be opened.
    pub real_path: Option<PathBuf>,
}

/// What stays closed although it lies below a folder that was granted. Who
/// judged the folder did not look at everything in it.
pub trait GrantExceptions: Send + Sync {
    /// Whether this real place may not be touched so.
    fn denies(&self, scope: &Scope, real: &Path) -> bool;

    /// Whether a file that has several names may not be touched so under this
    /// one either: it may be a closed one under another. It comes by its file
    /// system and its number there.
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

/// Everything that a call may touch.
#[derive(Clone)]
pub struct Grants {
    /// None stands for no bounds at all.
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
    /// No bounds: for programs that run a tool by hand.
    pub const ALLOW_ALL: Self = Self { list: None, exceptions: None };

    /// No bounds: for programs that run a tool by hand.
    pub fn allow_all() -> Self {
        Self::ALLOW_ALL
    }

    /// Exactly these.
    pub fn new(list: Vec<Grant>) -> Self {
        Self { list: Some(list), exceptions: None }
    }

    /// The same, but for these.
    #[must_use]
    pub fn with_exceptions(self, exceptions: Arc<dyn GrantExceptions>) -> Self {
        Self { exceptions: Some(exceptions), ..self }
    }

    /// What stays closed below granted folders, if anything does.
    pub fn exceptions(&self) -> Option<&Arc<dyn GrantExceptions>> {
        self.exceptions.as_ref()
    }

    /// Whether a real place below a granted folder stays closed.
    pub fn denies(&self, scope: &Scope, real: &Path) -> bool {
        self.exceptions.as_ref().is_some_and(|exceptions| exceptions.denies(scope, real))
    }

    /// Whether a file with several names stays closed under this one.
    pub fn denies_hard_linked(&self, scope: &Scope, real: &Path, file: (u64, u64)) -> bool {
        let exceptions = self.exceptions.as_ref();
        exceptions.is_some_and(|exceptions| exceptions.denies_hard_linked(scope, real, file))
    }

    /// These effects, their paths not yet looked up.
    pub fn from_effects(effects: &[Effect]) -> Self {
        Self::new(effects.iter().map(|e| Grant { effect: e.clone(), real_path: None }).collect())
    }

    /// The grants one by one; none if there are no bounds.
    pub fn list(&self) -> Option<&[Grant]> {
        self.list.as_deref()
    }

    /// An error unless this was declared and allowed.
    pub fn check(&self, scope: &Scope, resource: &Resource) -> Result<(), ToolError> {
        let Some(list) = &self.list else { return Ok(()) };
        let covered = list
            .iter()
            .any(|grant| grant.effect.scope == *scope && covers(&grant.effect.resource, resource));
        if covered { Ok(()) } else { Err(undeclared_effect_error(scope, resource)) }
    }

    /// Where a path really is that the call wants to touch. A path below a
    /// granted folder is looked for below that folder's real place. None means
    /// that nobody has looked yet.
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

/// What of a path is below another. One that climbs is below nothing.
fn relative_below<'p>(path: &'p Path, folder: &Path) -> Option<&'p Path> {
    let climbs = path.components().any(|part| part == Component::ParentDir);
    if climbs { None } else { path.strip_prefix(folder).ok() }
}

fn undeclared_effect_error(scope: &Scope, resource: &Resource) -> ToolError {
    ToolError::denied(format!("The call reaches for {scope} {resource}, which it did not declare"))
        .with("rule", "undeclared-effect")
        .with_hint("This is a defect of the tool; report it to its author.")
}

#[cfg(test)]
#[path = "grants_tests.rs"]
mod tests;
