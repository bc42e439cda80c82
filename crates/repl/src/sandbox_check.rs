//! Checks whether a running interpreter still satisfies the current
//! confinement.

use std::path::{Path, PathBuf};

use hermes_core::Confinement;

/// Why a running interpreter must be replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SandboxBreach {
    /// The rules were narrowed.
    RulesNarrowed,
    /// A secret appeared after the sandbox was set up, so nothing hides it.
    SecretAppeared(PathBuf),
}

impl SandboxBreach {
    /// Returns the note for the result.
    pub(crate) fn message(&self) -> String {
        let why = match self {
            Self::RulesNarrowed => "The permissions of this session were narrowed".to_owned(),
            Self::SecretAppeared(path) => format!(
                "{} is protected but was created after the interpreter started and is not \
                 hidden from it",
                path.display()
            ),
        };
        format!("{why}, so a new interpreter was started; the earlier state is lost.")
    }
}

/// Returns why a process confined by `then` could exceed `now`, or `None` if it
/// cannot. A new path that is only write-protected, such as a repository, is no
/// reason to lose the interpreter's state: the interpreter may have created it.
/// A new secret is.
pub(crate) fn find_breach(
    then: Option<&Confinement>,
    now: Option<&Confinement>,
    is_new: impl Fn(&Path) -> bool,
) -> Option<SandboxBreach> {
    let (then, now) = match (then, now) {
        (_, None) => return None,
        (None, Some(_)) => return Some(SandboxBreach::RulesNarrowed),
        (Some(then), Some(now)) => (then, now),
    };
    let readable = |path: &Path| is_covered(&now.read, path) || is_covered(&now.write, path);
    let reachable = |path: &Path| is_covered(&then.read, path) || is_covered(&then.write, path);
    let read = then.read.iter().chain(&then.write).all(|path| readable(path));
    let written = then.write.iter().all(|path| is_covered(&now.write, path));
    // In a partial directory, the process sees only what was exposed then.
    let is_out_of_view = |path: &Path| {
        let views = then.partial_dirs.iter().filter(|view| path.starts_with(&view.dir));
        views.into_iter().any(|view| !is_covered(&view.open, path))
    };
    let is_closed = |path: &Path| is_covered(&then.hidden, path) || is_out_of_view(path);
    let mut seen = now.hidden.iter().filter(|path| !is_closed(path) && reachable(path)).peekable();
    let appeared = seen.peek().map(|path| path.to_path_buf());
    let hidden = seen.all(|path| is_new(path));
    let guarded = now.read_only.iter().all(|path| {
        let lists = [&then.read_only, &then.hidden, &then.masked_missing];
        let closed = lists.into_iter().any(|list| is_covered(list, path));
        closed || !is_covered(&then.write, path) || is_new(path)
    });
    let served = then.services.iter().all(|service| now.services.contains(service))
        && then.sockets.iter().all(|path| is_covered(&now.sockets, path));
    let walls = now.network >= then.network && (then.bubblewrap || !now.bubblewrap);
    let is_held =
        read && written && hidden && guarded && served && walls && then.limits == now.limits;
    if is_held {
        appeared.map(SandboxBreach::SecretAppeared)
    } else {
        Some(SandboxBreach::RulesNarrowed)
    }
}

fn is_covered(trees: &[PathBuf], path: &Path) -> bool {
    trees.iter().any(|tree| path.starts_with(tree))
}

#[cfg(test)]
#[path = "sandbox_check_tests.rs"]
mod tests;
