//! Paths that commands write, as far as they name them. Checkpoints need them
//! outside the working directory, and inside it for files that git ignores.

use std::path::{Path, PathBuf};

use hermes_core::{CommandWrites, Scope};
use hermes_shell::{LeafCommand, TargetMode, Transfer};

use crate::glob_expansion::{self, GlobExpander};

/// Collects the paths that simple commands write or delete.
pub(crate) fn writes_of_leaves<'a>(leaves: impl Iterator<Item = &'a LeafCommand>) -> CommandWrites {
    let mut collector = WriteCollector::default();
    leaves.for_each(|leaf| collector.add_leaf(leaf));
    let mut writes = collector.writes;
    for list in [&mut writes.paths, &mut writes.opaque_dirs] {
        list.retain(|path| can_hold_files(path));
        list.sort();
        list.dedup();
    }
    writes
}

#[derive(Default)]
struct WriteCollector {
    writes: CommandWrites,
    patterns: GlobExpander,
}

impl WriteCollector {
    fn add_leaf(&mut self, leaf: &LeafCommand) {
        // Effects contain only the base directory of a pattern. If the pattern
        // could be expanded, the rest is unchanged.
        let mut bases = Vec::new();
        for (scope, pattern) in leaf.globs.iter().chain(&leaf.runtime_globs) {
            if let Some(places) = self.patterns.expand(pattern) {
                bases.push(glob_expansion::literal_prefix(pattern));
                places.into_iter().for_each(|place| self.add_write(scope, place));
            }
        }
        for effect in &leaf.effects {
            let path = effect.resource.as_path().map(Path::to_path_buf);
            let is_base = |path: &PathBuf| bases.contains(path) && !leaf.deletes.contains(path);
            if let Some(path) = path.filter(|path| !is_base(path)) {
                self.add_write(&effect.scope, path);
            }
        }
        leaf.transfers.iter().for_each(|transfer| self.add_transfer(transfer));
    }

    fn add_write(&mut self, scope: &Scope, place: PathBuf) {
        if *scope == Scope::FILE_DELETE || *scope == Scope::FILE_WRITE && !place.is_dir() {
            self.writes.paths.push(place);
        }
    }

    /// Adds the paths that a transfer creates or replaces: for a directory,
    /// every path in the target that matches one in the source.
    fn add_transfer(&mut self, arrival: &Transfer) {
        let target = &arrival.target;
        let sources = arrival.source.as_ref().and_then(|source| self.patterns.expand(source));
        let Some(sources) = sources else { return self.writes.opaque_dirs.push(target.clone()) };
        for source in sources {
            let is_inside = match arrival.target_mode {
                TargetMode::Into => true,
                TargetMode::IntoIfDir => target.is_dir(),
                TargetMode::Replace => false,
            };
            let top = match source.file_name().filter(|_| is_inside) {
                Some(name) => target.join(name),
                None => target.clone(),
            };
            if !source.is_dir() {
                self.writes.paths.push(top);
                continue;
            }
            match self.patterns.descendants(&source) {
                None => self.writes.opaque_dirs.push(top),
                Some(below) => {
                    let twins = below.into_iter().map(|name| top.join(name));
                    self.writes.paths.extend(twins.filter(|twin| !twin.is_dir()));
                    // A missing target is created.
                    self.writes.paths.extend(Some(top).filter(|top| !top.is_dir()));
                }
            }
        }
    }
}

fn can_hold_files(path: &Path) -> bool {
    let is_apart = ["/dev", "/proc", "/sys"].iter().any(|top| path.starts_with(top));
    !is_apart && path.parent().is_some()
}

#[cfg(test)]
#[path = "command_writes_tests.rs"]
mod tests;
