//! Paths that commands write, as far as they name them. Checkpoints need them
//! outside the working directory, and inside it for files that git ignores.

use std::path::{Path, PathBuf};

use hermes_core::{Resource, Scope, WorkingDir};
use hermes_shell::{LeafCommand, TargetMode, Transfer};
use serde::Deserialize;
use serde_json::Value;

use crate::glob_expansion::{self, GlobExpander};
use crate::pipeline::{BatchContext, ResolvedCall};

/// State of the session's shell, as text to prepend to a command.
#[derive(Default, Deserialize)]
struct ShellPrelude {
    #[serde(default)]
    text: String,
}

/// Paths that commands write.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct CommandWrites {
    /// Paths written or deleted. Directories are listed only if removed, since
    /// writing in one leaves the rest unchanged.
    pub(crate) paths: Vec<PathBuf>,
    /// Directories with writes that cannot be determined.
    pub(crate) opaque_dirs: Vec<PathBuf>,
}

/// Collects the paths that the commands of a call write or delete.
pub(crate) fn collect_writes(batch: &BatchContext, call: &ResolvedCall) -> CommandWrites {
    let is_command = |resource: &Resource| *resource != Resource::Any;
    let mut commands = call
        .effects
        .iter()
        .filter(|effect| effect.scope == Scope::TERMINAL_EXECUTE && is_command(&effect.resource))
        .peekable();
    if commands.peek().is_none() {
        return CommandWrites::default();
    }
    let usual = batch.workplace.load();
    let dir = call.arguments.get("workdir").and_then(Value::as_str);
    let there =
        dir.map(|dir| WorkingDir::new(usual.resolve(dir), usual.home().map(Path::to_path_buf)));
    let at = there.as_ref().unwrap_or(&usual);
    let shell: ShellPrelude = batch.caller.session.read("shell").unwrap_or_default();
    let leaves = commands.flat_map(|effect| {
        hermes_shell::analyze_after(&shell.text, &effect.resource.as_text(), at).leaves
    });
    CommandWrites::from_leaves(leaves)
}

impl CommandWrites {
    fn from_leaves(leaves: impl Iterator<Item = LeafCommand>) -> Self {
        let mut named = Self::default();
        let mut patterns = GlobExpander::default();
        for leaf in leaves {
            // Effects contain only the base directory of a pattern. If the
            // pattern could be expanded, the rest is unchanged.
            let mut bases = Vec::new();
            for (scope, pattern) in leaf.globs.iter().chain(&leaf.runtime_globs) {
                if let Some(places) = patterns.expand(pattern) {
                    bases.push(glob_expansion::literal_prefix(pattern));
                    places.into_iter().for_each(|place| named.add_write(scope, place));
                }
            }
            for effect in &leaf.effects {
                let path = effect.resource.as_path().map(Path::to_path_buf);
                let is_base = |path: &PathBuf| bases.contains(path) && !leaf.deletes.contains(path);
                if let Some(path) = path.filter(|path| !is_base(path)) {
                    named.add_write(&effect.scope, path);
                }
            }
            leaf.transfers.iter().for_each(|arrival| named.add_transfer(arrival, &mut patterns));
        }
        for list in [&mut named.paths, &mut named.opaque_dirs] {
            list.retain(|path| can_hold_files(path));
            list.sort();
            list.dedup();
        }
        named
    }

    fn add_write(&mut self, scope: &Scope, place: PathBuf) {
        if *scope == Scope::FILE_DELETE || *scope == Scope::FILE_WRITE && !place.is_dir() {
            self.paths.push(place);
        }
    }

    /// Adds the paths that a transfer creates or replaces: for a directory,
    /// every path in the target that matches one in the source.
    fn add_transfer(&mut self, arrival: &Transfer, patterns: &mut GlobExpander) {
        let target = &arrival.target;
        let sources = arrival.source.as_ref().and_then(|source| patterns.expand(source));
        let Some(sources) = sources else { return self.opaque_dirs.push(target.clone()) };
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
                self.paths.push(top);
                continue;
            }
            match patterns.descendants(&source) {
                None => self.opaque_dirs.push(top),
                Some(below) => {
                    let twins = below.into_iter().map(|name| top.join(name));
                    self.paths.extend(twins.filter(|twin| !twin.is_dir()));
                    // A missing target is created.
                    self.paths.extend(Some(top).filter(|top| !top.is_dir()));
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
