//! Whether an interpreter that runs is held as the rules of now demand.

use std::path::{Path, PathBuf};

use hermes_core::Confinement;

/// Whether somebody who was held like `then` may do nothing that is not
/// allowed `now`. Repositories that came to be meanwhile are no reason to
/// lose what it remembers.
pub(crate) fn still_hold(then: Option<&Confinement>, now: Option<&Confinement>) -> bool {
    let (then, now) = match (then, now) {
        (_, None) => return true,
        (None, Some(_)) => return false,
        (Some(then), Some(now)) => (then, now),
    };
    let readable = |path: &Path| covers(&now.read, path) || covers(&now.write, path);
    let reachable = |path: &Path| covers(&then.read, path) || covers(&then.write, path);
    let read = then.read.iter().chain(&then.write).all(|path| readable(path));
    let written = then.write.iter().all(|path| covers(&now.write, path));
    let hidden = now.hidden.iter().all(|path| covers(&then.hidden, path) || !reachable(path));
    let guarded = now.read_only.iter().all(|path| {
        let lists = [&then.read_only, &then.hidden, &then.absent];
        let closed = lists.into_iter().any(|list| covers(list, path));
        closed || !covers(&then.write, path)
    });
    let served = then.services.iter().all(|service| now.services.contains(service))
        && then.sockets.iter().all(|path| covers(&now.sockets, path));
    let walls = (now.network || !then.network) && (then.bubblewrap || !now.bubblewrap);
    read && written && hidden && guarded && served && walls && then.limits == now.limits
}

fn covers(trees: &[PathBuf], path: &Path) -> bool {
    trees.iter().any(|tree| path.starts_with(tree))
}

#[cfg(test)]
#[path = "walls_tests.rs"]
mod tests;
