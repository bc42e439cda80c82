//! Whether an interpreter that runs is held as the rules of now demand.

use std::path::{Path, PathBuf};

use hermes_core::Confinement;

/// Why an interpreter cannot go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Breach {
    /// The rules have changed.
    Rules,
    /// What nobody may see was not there when its walls were made, so that
    /// there is nothing in them that hides it.
    Appeared(PathBuf),
}

impl Breach {
    /// What is said of it.
    pub(crate) fn told(&self) -> String {
        let why = match self {
            Self::Rules => "What this session may touch has been narrowed".to_owned(),
            Self::Appeared(path) => format!(
                "{} is protected and came to be after the interpreter was started, which nothing \
                 keeps from reading it",
                path.display()
            ),
        };
        format!("{why}, so a new interpreter was started; the earlier state is lost.")
    }
}

/// Why somebody who was held like `then` might do what is not allowed `now`;
/// none if that cannot be. What came to be meanwhile and is only kept from
/// being written, such as repositories, is no reason to lose what it
/// remembers: it might have made that itself. What is secret is one.
pub(crate) fn breach(
    then: Option<&Confinement>,
    now: Option<&Confinement>,
    is_new: impl Fn(&Path) -> bool,
) -> Option<Breach> {
    let (then, now) = match (then, now) {
        (_, None) => return None,
        (None, Some(_)) => return Some(Breach::Rules),
        (Some(then), Some(now)) => (then, now),
    };
    let readable = |path: &Path| covers(&now.read, path) || covers(&now.write, path);
    let reachable = |path: &Path| covers(&then.read, path) || covers(&then.write, path);
    let read = then.read.iter().chain(&then.write).all(|path| readable(path));
    let written = then.write.iter().all(|path| covers(&now.write, path));
    // Of a directory that is a view, it sees what was in the view.
    let is_out_of_view = |path: &Path| {
        let views = then.partial_dirs.iter().filter(|view| path.starts_with(&view.folder));
        views.into_iter().any(|view| !covers(&view.open, path))
    };
    let is_closed = |path: &Path| covers(&then.hidden, path) || is_out_of_view(path);
    let mut seen = now.hidden.iter().filter(|path| !is_closed(path) && reachable(path)).peekable();
    let appeared = seen.peek().map(|path| path.to_path_buf());
    let hidden = seen.all(|path| is_new(path));
    let guarded = now.read_only.iter().all(|path| {
        let lists = [&then.read_only, &then.hidden, &then.masked_missing];
        let closed = lists.into_iter().any(|list| covers(list, path));
        closed || !covers(&then.write, path) || is_new(path)
    });
    let served = then.services.iter().all(|service| now.services.contains(service))
        && then.sockets.iter().all(|path| covers(&now.sockets, path));
    let walls = now.network >= then.network && (then.bubblewrap || !now.bubblewrap);
    let is_held =
        read && written && hidden && guarded && served && walls && then.limits == now.limits;
    if is_held { appeared.map(Breach::Appeared) } else { Some(Breach::Rules) }
}

fn covers(trees: &[PathBuf], path: &Path) -> bool {
    trees.iter().any(|tree| path.starts_with(tree))
}

#[cfg(test)]
#[path = "walls_tests.rs"]
mod tests;
