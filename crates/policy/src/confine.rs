//! From rules to the bounds of child processes.

use std::path::{Path, PathBuf};

use hermes_core::{Confinement, Effect, Scope};

use crate::judge::Examination;
use crate::level::Answer;
use crate::permissions::Permissions;

/// What programs need to run at all, where reading is restricted.
const SYSTEM: &[&str] = &[
    "/bin", "/sbin", "/usr", "/lib", "/lib32", "/lib64", "/etc", "/opt", "/proc", "/sys", "/dev",
    "/nix", "/run/current-system", "/var/lib/dpkg",
];

/// Below a writable tree: what a later program would run or trust.
const GUARDED: &[&str] = &[".git/hooks", ".hermes"];

/// The same, unless git itself is what runs: it keeps its own books there.
const GIT_BOOKS: &str = ".git/config";

/// Names of secret files that are looked for in the workspace itself.
const SECRET_NAMES: &[&str] = &[
    ".env", ".env.local", ".env.development", ".env.production", ".env.test", ".env.staging", ".envrc",
];

impl Permissions {
    /// What the child processes of a call are held to.
    pub(crate) fn confine(&self, exam: &Examination) -> Option<Confinement> {
        let settings = self.sandbox();
        if !settings.enabled || !exam.spawns {
            return None;
        }
        let mut write = self.trees(&Scope::FILE_WRITE);
        // What somebody agreed to, although it is elsewhere.
        for finding in &exam.findings {
            let wants = [Scope::FILE_WRITE, Scope::FILE_DELETE].contains(&finding.effect.scope);
            if let (true, Some(path)) = (wants, finding.effect.resource.as_path())
                && finding.answer != Answer::Deny
            {
                write.extend(existing(path));
            }
        }
        dedupe(&mut write);
        let network = exam.command_effects.iter().any(is_network);
        Some(Confinement {
            read: self.readable(),
            read_only: self.guarded(&write, exam),
            hidden: self.hidden(),
            write,
            network,
            limits: settings.limits,
            bubblewrap: settings.bubblewrap,
        })
    }

    fn readable(&self) -> Vec<PathBuf> {
        let trees = self.trees(&Scope::FILE_READ);
        if trees == [PathBuf::from("/")] {
            return trees;
        }
        let mut all: Vec<PathBuf> = SYSTEM.iter().map(PathBuf::from).collect();
        all.extend(trees);
        dedupe(&mut all);
        all
    }

    /// The trees in which this may be done without a question.
    fn trees(&self, scope: &Scope) -> Vec<PathBuf> {
        let mut trees = vec![PathBuf::from("/")];
        for profile in self.layers() {
            let level = &profile.level;
            let denied = level.deny.iter().any(|r| r.selectors.is_none() && r.scope.matches(scope));
            let listed = level.allow.as_ref().is_none_or(|allow| {
                allow.iter().any(|rule| rule.scope.matches(scope))
            });
            if denied || !listed {
                return Vec::new();
            }
            for restriction in level.restrictions.iter().filter(|r| r.scope.matches(scope)) {
                if let Some(allowed) = &restriction.allowed
                    && !allowed.paths.is_empty()
                {
                    let own = allowed.paths.iter().flat_map(|p| p.trees().to_vec()).collect();
                    trees = both(&trees, own);
                }
            }
        }
        dedupe(&mut trees);
        trees
    }

    /// What stays as it is although it lies in a writable tree.
    fn guarded(&self, write: &[PathBuf], exam: &Examination) -> Vec<PathBuf> {
        let places = self.places();
        let mut guarded: Vec<PathBuf> = Vec::new();
        let git_writes = exam.command_effects.iter().any(|e| e.scope == Scope::GIT_WRITE);
        for tree in write {
            guarded.extend(GUARDED.iter().map(|name| tree.join(name)));
            if !git_writes {
                guarded.push(tree.join(GIT_BOOKS));
            }
        }
        guarded.push(places.hermes.clone());
        for profile in self.layers() {
            let restrictions = &profile.level.restrictions;
            let of_writing = restrictions.iter().filter(|r| r.scope.matches(&Scope::FILE_WRITE));
            let denied = of_writing.flat_map(|r| &r.denied.paths);
            guarded.extend(denied.flat_map(|pattern| pattern.trees().to_vec()));
        }
        // What is not there yet is guarded if its folder is: nobody may make it.
        let could_be = |path: &PathBuf| {
            path.exists() || path.ends_with(".git/hooks") && path.parent().is_some_and(Path::is_dir)
        };
        guarded.retain(|path| could_be(path) && write.iter().any(|tree| path.starts_with(tree)));
        dedupe(&mut guarded);
        guarded
    }

    /// What may not even be seen.
    fn hidden(&self) -> Vec<PathBuf> {
        let mut hidden: Vec<PathBuf> = self.sensitive().named().to_vec();
        if let Some(workspace) = &self.places().workspace {
            hidden.extend(SECRET_NAMES.iter().map(|name| workspace.join(name)));
        }
        for profile in self.layers() {
            let restrictions = &profile.level.restrictions;
            let of_reading = restrictions.iter().filter(|r| r.scope.matches(&Scope::FILE_READ));
            let denied = of_reading.flat_map(|r| &r.denied.paths);
            hidden.extend(denied.flat_map(|pattern| pattern.trees().to_vec()));
        }
        let open = self.layers().next().map(|p| p.sensitive_paths.as_slice()).unwrap_or_default();
        hidden.retain(|path| path.exists() && !open.iter().any(|pattern| pattern.matches(path)));
        dedupe(&mut hidden);
        hidden
    }
}

fn is_network(effect: &Effect) -> bool {
    matches!(effect.scope.family(), "network" | "docker" | "cloud" | "database" | "email")
}

/// The path, or the nearest folder above it that is there.
fn existing(path: &Path) -> Option<PathBuf> {
    let real = hermes_files::real_path(path).ok()?;
    if real.exists() {
        return Some(real);
    }
    real.parent().filter(|folder| folder.is_dir()).map(Path::to_path_buf)
}

/// The trees that lie in both lists.
fn both(a: &[PathBuf], b: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut common = Vec::new();
    for x in a {
        for y in &b {
            if y.starts_with(x) {
                common.push(y.clone());
            } else if x.starts_with(y) {
                common.push(x.clone());
            }
        }
    }
    common
}

/// Leaves out what another entry contains.
fn dedupe(trees: &mut Vec<PathBuf>) {
    trees.sort();
    trees.dedup();
    let all = trees.clone();
    trees.retain(|tree| !all.iter().any(|other| other != tree && tree.starts_with(other)));
}
