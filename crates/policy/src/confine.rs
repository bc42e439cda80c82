//! Derives the confinement of child processes from the rules. It is never wider
//! than the rules: what cannot be expressed as a tree stays closed.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hermes_core::{
    CallProposal, Confinement, Effect, HostService, OverlayMount, PartialDir, PendingSecrets,
    Resource, Scope,
};

use crate::approved_writes::ApprovedWrites;
use crate::judge::{CallExamination, PolicyFinding};
use crate::level::{PolicyAnswer, PolicyLevel, ResourceSelectors, ScopeRestriction};
use crate::pattern::{PathPattern, is_within};
use crate::permissions::{PermissionPolicy, working_dir};
use crate::repositories::{self, FrozenPaths, FrozenPathsKey, RepositoryUse};
use crate::scan_cache::FsScanCache;
use crate::sensitive_places::SensitivePlaces;

/// Directories that programs need to run, added where reading is restricted.
const SYSTEM_DIRS: &[&str] = &[
    "/bin",
    "/sbin",
    "/usr",
    "/lib",
    "/lib32",
    "/lib64",
    "/etc",
    "/opt",
    "/proc",
    "/sys",
    "/dev",
    "/nix",
    "/run/current-system",
    "/var/lib/dpkg",
];

/// Directory below a writable tree whose contents hermes itself trusts.
const HERMES_DIR: &str = ".hermes";

impl PermissionPolicy {
    /// Builds the confinement for the child processes of a call.
    pub(crate) fn confine(
        &self,
        proposal: &CallProposal<'_>,
        exam: &CallExamination,
    ) -> Option<Confinement> {
        let settings = self.sandbox();
        if !settings.enabled || !exam.spawns {
            return None;
        }
        let tainted = self.taint(proposal).is_some();
        let levels: Vec<&PolicyLevel> = self.levels(proposal.tool, tainted).collect();
        let mut write = allowed_trees(&levels, &Scope::FILE_WRITE, self.scan_cache());
        let mut read = allowed_trees(&levels, &Scope::FILE_READ, self.scan_cache());
        let delete = self.deletable_trees(&levels, &write, exam, working_dir(proposal));
        // Paths outside of the rules' trees that an approval covers.
        let lasts =
            |effect: &Effect| matches!(&effect.resource, Resource::Script(s) if s.fresh_shell);
        let lasts = proposal.effects.iter().any(lasts);
        let agreed = if lasts { Vec::new() } else { changed_paths(exam) };
        // Protected places that the user is asked about: approving the call
        // gives its child processes access to them.
        let asked = if lasts { Vec::new() } else { exam.asked_places() };
        let opened =
            if lasts { ApprovedWrites::default() } else { ApprovedWrites::for_call(exam, &write) };
        let delete = delete.map(|mut delete| {
            delete.extend(opened.write.iter().cloned());
            delete
        });
        write.extend(opened.write);
        read.extend(
            exam.findings
                .iter()
                .filter(|f| f.effect.scope == Scope::FILE_READ && !(lasts && f.leaf.is_some()))
                .filter_map(finding_path),
        );
        write.extend(linked_repository(&write, working_dir(proposal)));
        dedupe_nested(&mut write);
        dedupe_nested(&mut read);
        if read != [PathBuf::from("/")] {
            read.extend(SYSTEM_DIRS.iter().map(PathBuf::from));
            dedupe_nested(&mut read);
        }
        let cwd = working_dir(proposal);
        let services = exam.clients.reachable_services();
        let sockets = self.open_sockets();
        let mut kept = self.frozen_paths(&write, exam, cwd);
        kept.quarantined.extend(self.quarantined_paths(&levels, &write, &agreed));
        kept.retain(|path| !asked.iter().any(|place| place.starts_with(path)));
        let around = self.nearby_secrets(cwd);
        // Where the home directory itself is worked in, each secret is hidden
        // individually.
        let ours = &self.path_variables().hermes;
        let is_worked_in = |it: &PartialDir| {
            let is_view = it.dir != *ours;
            let is_open = |tree: &PathBuf| is_within(&it.dir, tree);
            cwd == it.dir || write.contains(&it.dir) || is_view && write.iter().any(is_open)
        };
        let is_written_in = |it: &OverlayMount| {
            write.iter().any(|tree| is_within(&it.target, tree) || is_within(tree, &it.target))
        };
        Some(Confinement {
            read,
            read_only: exclude_asked(
                self.read_only_paths(&levels, &write, &agreed, kept.read_only, cwd),
                &asked,
            ),
            frozen: opened.frozen,
            frozen_nested: kept.frozen_nested,
            masked_missing: kept.masked_missing,
            quarantined: kept.quarantined,
            hidden: exclude_asked(
                self.hidden_paths(&levels, around.present, &services, &sockets),
                &asked,
            ),
            pending_secrets: exclude_asked_pending(
                self.pending_secrets(&levels, around.pending),
                &asked,
            ),
            partial_dirs: around.partial_dirs.into_iter().filter(|it| !is_worked_in(it)).collect(),
            redacted: around.redacted.clone(),
            overlays: around.overlays.into_iter().filter(|it| !is_written_in(it)).collect(),
            delete,
            write,
            network: settings.network,
            session: proposal.session.id().to_owned(),
            host_ports: settings.host_ports,
            services,
            denied_services: exam.clients.denied_services(),
            sockets,
            limits: settings.limits,
            bubblewrap: settings.bubblewrap,
            reduced: settings.is_reduced,
        })
    }

    /// Returns the paths of repositories, and of hermes files in projects, that
    /// stay read-only.
    fn frozen_paths(&self, write: &[PathBuf], exam: &CallExamination, cwd: &Path) -> FrozenPaths {
        let deletes = |finding: &&PolicyFinding| finding.effect.scope == Scope::FILE_DELETE;
        let case = FrozenPathsKey {
            write: write.to_vec(),
            cwd: cwd.to_path_buf(),
            deleted: change_findings(exam).filter(deletes).filter_map(finding_path).collect(),
            git_runs: exam.command_effects.iter().any(|e| e.scope == Scope::GIT_WRITE),
            may_change_settings: exam.clients.may_write_git_settings(),
            only_git_clean: only_git_clean(exam),
        };
        self.scan_cache().frozen_paths(case, |case| self.compute_frozen_paths(case))
    }

    fn compute_frozen_paths(&self, case: &FrozenPathsKey) -> FrozenPaths {
        let FrozenPathsKey {
            write,
            cwd,
            deleted,
            git_runs,
            may_change_settings: settings,
            only_git_clean: sweeps,
        } = case;
        let seen = self.scan_cache();
        let within = |path: &Path| write.iter().any(|tree| is_within(path, tree));
        let is_open =
            |path: &Path| self.opened_sensitive_paths().iter().any(|pattern| pattern.matches(path));
        // Any child process may commit; only git may change settings that start
        // programs.
        let used = if *git_runs && *settings {
            RepositoryUse::ChangeSettings
        } else {
            RepositoryUse::Commit
        };
        let mut kept = FrozenPaths::default();
        let above = cwd.ancestors().filter(|dir| within(dir));
        let mut dirs: Vec<PathBuf> = above.map(Path::to_path_buf).collect();
        dirs.extend(write.iter().cloned());
        dedupe_exact(&mut dirs);
        for dir in &dirs {
            let git = dir.join(".git");
            kept.freeze_enclosing(&git, used, seen);
            let ours = dir.join(HERMES_DIR);
            if seen.exists(&ours) {
                kept.read_only.push(ours);
            }
        }
        // Repositories of linked working trees, whether or not the `.git` file
        // that names them is writable.
        let linked = || {
            let all = cwd.ancestors().map(|dir| dir.join(".git"));
            all.flat_map(|git| repositories::linked_repositories(&git)).collect()
        };
        for git in seen.linked_repositories(cwd, linked) {
            kept.freeze_enclosing(&git, used, seen);
        }
        let searched = self.repository_search_roots(cwd);
        for dir in searched.iter().filter(|dir| within(dir)) {
            let look = || repositories::repositories_below(dir, repositories::MAX_SEARCH_DEPTH);
            for git in seen.found_paths(dir, look) {
                if !dirs.iter().any(|dir| git.parent() == Some(dir)) {
                    kept.freeze_below(&git, used, seen);
                }
            }
        }
        for dir in self.path_variables().temp.iter().filter(|dir| within(dir)) {
            let look =
                || repositories::repositories_below(dir, repositories::MAX_TEMP_SEARCH_DEPTH);
            let is_known = |git: &Path| {
                let around = dirs.iter().any(|dir| git.parent() == Some(dir));
                around || searched.iter().any(|dir| git.starts_with(dir))
            };
            for git in seen.found_paths(dir, look).iter().filter(|git| !is_known(git)) {
                kept.freeze_temporary(git, used, *git_runs, seen);
            }
        }
        // Skip an empty workspace, which may be the target of a command, and
        // commands such as `git clean`, which remove empty directories.
        let workspace = self.path_variables().workspace.as_ref().filter(|_| !*sweeps);
        if let Some(workspace) = workspace.filter(|it| within(it) && !seen.is_empty_dir(it)) {
            let ours = workspace.join(HERMES_DIR);
            if !seen.exists(&ours) {
                kept.masked_missing.push(ours);
            }
        }
        // Deleting a directory includes its contents.
        let is_left = |path: &Path| deleted.iter().any(|gone| path.starts_with(gone));
        kept.retain(|path| within(path) && !is_open(path) && !is_left(path));
        kept
    }

    /// Returns the directories to search for repositories: those of projects,
    /// not the root, home or temporary directory.
    pub(crate) fn repository_search_roots(&self, cwd: &Path) -> Vec<PathBuf> {
        let places = self.path_variables();
        let mut dirs: Vec<PathBuf> = places.workspace.iter().cloned().collect();
        let is_of_everything = cwd.parent().is_none()
            || places.home.as_deref() == Some(cwd)
            || places.temp.contains(&cwd.to_path_buf());
        if !is_of_everything && !dirs.iter().any(|dir| is_within(cwd, dir)) {
            dirs.push(cwd.to_path_buf());
        }
        dirs
    }

    /// Returns the paths in writable trees that stay read-only.
    fn read_only_paths(
        &self,
        levels: &[&PolicyLevel],
        write: &[PathBuf],
        agreed: &[PathBuf],
        kept: Vec<PathBuf>,
        cwd: &Path,
    ) -> Vec<PathBuf> {
        let within = |path: &Path| write.iter().any(|tree| is_within(path, tree));
        let mut guarded: Vec<PathBuf> = Vec::new();
        let aliases = self.rules().aliases();
        let named = self.sensitive().guarded_places();
        let twice =
            named.iter().flat_map(|path| aliases.other_paths(path)).filter(|path| within(path));
        guarded.extend(named.iter().filter(|path| within(path)).cloned().chain(twice));
        let open = self.opened_sensitive_paths();
        guarded.retain(|path| !open.iter().any(|pattern| pattern.matches(path)));
        for level in levels {
            guarded.extend(fixed_paths(denied_selectors(level, &Scope::FILE_WRITE)));
            // A writable file can be truncated, which is as good as deleting
            // it. A command that names what it writes was judged by that.
            let undeletable = fixed_paths(denied_selectors(level, &Scope::FILE_DELETE));
            let is_named = |path: &PathBuf| agreed.iter().any(|own| own.starts_with(path));
            guarded.extend(undeletable.filter(|path| !is_named(path)));
            // Skip paths that the approval covers by name.
            let asked = fixed_paths(asked_selectors(level, &Scope::FILE_WRITE));
            guarded.extend(asked.filter(|path| !agreed.iter().any(|own| own.starts_with(path))));
        }
        let patterns = levels.iter().flat_map(|level| &level.restrictions);
        let patterns =
            patterns.filter_map(|r| r.allowed.as_ref()).flat_map(|allowed| &allowed.paths);
        // A workspace inside must stay writable, and a tree has no holes.
        let apart = |home: &&Path| !is_within(cwd, home);
        guarded
            .extend(patterns.filter_map(PathPattern::except).filter(apart).map(Path::to_path_buf));
        guarded.retain(|path| within(path) && self.scan_cache().exists(path));
        // Added after the existence check: missing paths among these must not
        // be created.
        guarded.extend(kept);
        dedupe_nested(&mut guarded);
        guarded
    }

    /// Returns missing paths that must not be created: places in a writable
    /// home that programs trust, and paths that the rules deny by a fixed name.
    fn quarantined_paths(
        &self,
        levels: &[&PolicyLevel],
        write: &[PathBuf],
        agreed: &[PathBuf],
    ) -> Vec<PathBuf> {
        let within = |path: &Path| write.iter().any(|tree| is_within(path, tree) && path != tree);
        let is_open =
            |path: &Path| self.opened_sensitive_paths().iter().any(|pattern| pattern.matches(path));
        let places = self.path_variables();
        let is_personal = |path: &Path| {
            let home = places.home.as_ref().filter(|home| within(&home.join(HERMES_DIR)));
            home.is_some_and(|home| is_within(path, home)) && !is_within(path, &places.hermes)
        };
        let personal = self.sensitive().trusted_places().filter(|path| is_personal(path));
        let mut found: Vec<PathBuf> = personal.filter(|path| !is_open(path)).cloned().collect();
        for level in levels {
            found.extend(fixed_paths(denied_selectors(level, &Scope::FILE_WRITE)));
            found.extend(fixed_paths(asked_selectors(level, &Scope::FILE_WRITE)));
        }
        // Skip paths that the approval covers by name.
        let is_agreed = |path: &Path| agreed.iter().any(|own| own.starts_with(path));
        found.retain(|path| within(path) && !is_agreed(path) && !self.scan_cache().exists(path));
        dedupe_nested(&mut found);
        found
    }

    /// Returns the paths that child processes cannot see.
    fn hidden_paths(
        &self,
        levels: &[&PolicyLevel],
        present: Vec<PathBuf>,
        services: &[HostService],
        sockets: &[PathBuf],
    ) -> Vec<PathBuf> {
        let mut hidden = present;
        let open = self.opened_sensitive_paths();
        let sockets: Vec<PathBuf> =
            sockets.iter().filter_map(|path| std::fs::canonicalize(path).ok()).collect();
        let is_served = |path: &Path| {
            let real = || std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
            let engine = services.contains(&HostService::Containers)
                && SensitivePlaces::is_container_socket(path);
            engine || !sockets.is_empty() && sockets.iter().any(|it| real().starts_with(it))
        };
        let is_open = |path: &Path| open.iter().any(|pattern| pattern.matches(path));
        hidden.retain(|path| !is_open(path) && !is_served(path));
        let aliases = self.rules().aliases();
        let twice = hidden.iter().chain([&self.path_variables().hermes]);
        let twice: Vec<PathBuf> = twice.flat_map(|path| aliases.other_paths(path)).collect();
        hidden.extend(twice.into_iter().filter(|path| !is_open(path) && path.exists()));
        for level in levels {
            hidden.extend(
                fixed_paths(denied_selectors(level, &Scope::FILE_READ))
                    .filter(|path| self.scan_cache().exists(path)),
            );
        }
        dedupe_nested(&mut hidden);
        hidden
    }

    /// Returns the secrets that may appear later, including paths that the
    /// rules deny by a fixed name.
    fn pending_secrets(
        &self,
        levels: &[&PolicyLevel],
        known: Arc<PendingSecrets>,
    ) -> Arc<PendingSecrets> {
        let refused =
            levels.iter().flat_map(|level| fixed_paths(denied_selectors(level, &Scope::FILE_READ)));
        let missing: Vec<PathBuf> =
            refused.filter(|path| !self.scan_cache().exists(path)).collect();
        if missing.is_empty() {
            return known;
        }
        let mut awaited = PendingSecrets::clone(&known);
        awaited.paths.extend(missing);
        dedupe_exact(&mut awaited.paths);
        Arc::new(awaited)
    }

    /// Returns where child processes may delete; `None` if that is wherever
    /// they may write. What git does in its own repository is subject to the
    /// git rules.
    fn deletable_trees(
        &self,
        levels: &[&PolicyLevel],
        write: &[PathBuf],
        exam: &CallExamination,
        cwd: &Path,
    ) -> Option<Vec<PathBuf>> {
        let open = allowed_trees(levels, &Scope::FILE_DELETE, self.scan_cache());
        if write.iter().all(|tree| open.iter().any(|open| is_within(tree, open))) {
            return None;
        }
        let mut open = intersect_trees(write, &open);
        // Deleting a name requires access to its parent directory.
        let agreed =
            change_findings(exam).filter(|finding| finding.effect.scope == Scope::FILE_DELETE);
        let agreed = agreed.filter_map(finding_path);
        open.extend(agreed.filter_map(|place| place.parent().map(Path::to_path_buf)));
        if exam.command_effects.iter().any(|effect| effect.scope == Scope::GIT_WRITE) {
            open.extend(cwd.ancestors().map(|dir| dir.join(".git")).find(|git| git.is_dir()));
        }
        dedupe_nested(&mut open);
        Some(open)
    }

    /// Returns the sockets that the profile opens to every child process.
    fn open_sockets(&self) -> Vec<PathBuf> {
        let patterns = self.profile().sockets.iter();
        let mut sockets: Vec<PathBuf> = patterns
            .flat_map(|pattern| [pattern.trees(), pattern.single_paths()].concat())
            .collect();
        dedupe_nested(&mut sockets);
        sockets
    }

    pub(crate) fn opened_sensitive_paths(&self) -> &[PathPattern] {
        &self.profile().sensitive_paths
    }
}

/// Removes the paths that the user is asked about, under any name.
fn exclude_asked(mut paths: Vec<PathBuf>, asked: &[PathBuf]) -> Vec<PathBuf> {
    if !asked.is_empty() {
        let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let asked: Vec<PathBuf> = asked.iter().flat_map(|it| [it.clone(), real(it)]).collect();
        paths.retain(|path| !asked.contains(path) && !asked.contains(&real(path)));
    }
    paths
}

/// Removes the paths that the user is asked about from the pending secrets.
fn exclude_asked_pending(awaited: Arc<PendingSecrets>, asked: &[PathBuf]) -> Arc<PendingSecrets> {
    if asked.is_empty() {
        return awaited;
    }
    let mut awaited = PendingSecrets::clone(&awaited);
    let names = asked.iter().filter_map(|path| path.file_name());
    awaited.excluded_patterns.extend(names.map(|name| name.to_string_lossy().to_lowercase()));
    awaited.paths.retain(|path| !asked.contains(path));
    Arc::new(awaited)
}

/// Returns the repository of the working directory if it is elsewhere: without
/// it, a writable linked working tree could not commit.
fn linked_repository(write: &[PathBuf], cwd: &Path) -> Option<PathBuf> {
    let is_written = |git: &Path| write.iter().any(|tree| is_within(git, tree));
    // Above the topmost directory whose repository is writable, no `.git`
    // matters.
    let is_own = |dir: &Path, tree: &Path| {
        tree.as_os_str().as_bytes().ends_with(b"/.git") && tree.parent() == Some(dir)
    };
    let may_be = |dir: &&Path| write.iter().any(|tree| is_within(dir, tree) || is_own(dir, tree));
    let dirs: Vec<&Path> = cwd.ancestors().collect();
    let last = dirs.iter().rposition(may_be)?;
    let mut all = dirs.iter().take(last + 1).map(|dir| dir.join(".git"));
    let git = all.find(|git| git.exists())?;
    is_written(&git).then(|| repositories::linked_worktree_dir(&git)).flatten()
}

/// Whether the call runs only git, to remove untracked files.
fn only_git_clean(exam: &CallExamination) -> bool {
    let leaves = || exam.findings.iter().filter_map(|finding| finding.leaf.as_deref());
    let clears = |leaf: &str| leaf.split(' ').any(|word| matches!(word, "clean" | "stash"));
    leaves().any(clears) && leaves().all(|leaf| leaf.starts_with("git "))
}

/// Returns the paths outside of the rules' trees that the call would change if
/// approved.
fn changed_paths(exam: &CallExamination) -> Vec<PathBuf> {
    change_findings(exam).filter_map(finding_path).collect()
}

fn change_findings(exam: &CallExamination) -> impl Iterator<Item = &PolicyFinding> {
    let about = [Scope::FILE_WRITE, Scope::FILE_DELETE];
    exam.findings.iter().filter(move |finding| about.contains(&finding.effect.scope))
}

/// Returns the path of a finding's effect, unless it is denied.
fn finding_path(finding: &PolicyFinding) -> Option<PathBuf> {
    finding.real.clone().filter(|_| finding.answer != PolicyAnswer::Deny)
}

/// Returns the trees in which all levels allow this scope without asking.
fn allowed_trees(levels: &[&PolicyLevel], scope: &Scope, seen: &FsScanCache) -> Vec<PathBuf> {
    let mut trees = vec![PathBuf::from("/")];
    for level in levels {
        let mut all = level.deny.iter().chain(&level.ask);
        if all.any(|rule| rule.selectors.is_none() && rule.scope.matches(scope)) {
            return Vec::new();
        }
        if let Some(allow) = &level.allow {
            let about = || allow.iter().filter(|rule| rule.scope.matches(scope));
            if !about().any(|rule| rule.selectors.is_none()) {
                // A rule for specific commands opens nothing to others.
                let whoever = about().filter_map(|rule| rule.selectors.as_ref());
                let whoever = whoever.filter(|selectors| selectors.commands.is_empty());
                trees = intersect_trees(&trees, &opened_paths(whoever, seen));
            }
        }
        for restriction in level.restrictions.iter().filter(|r| r.scope.matches(scope)) {
            if let Some(allowed) = restricted_to(restriction) {
                trees = intersect_trees(&trees, &opened_paths([allowed], seen));
            }
        }
    }
    dedupe_nested(&mut trees);
    trees
}

fn restricted_to(restriction: &ScopeRestriction) -> Option<&ResourceSelectors> {
    let allowed = restriction
        .allowed
        .as_ref()
        .filter(|_| restriction.default_answer != PolicyAnswer::Allow)?;
    (!allowed.paths.is_empty() || !allowed.commands.is_empty()).then_some(allowed)
}

/// Returns the trees and files that patterns open. Only real paths: one that
/// became a symlink after the rules were read leads elsewhere.
fn opened_paths<'a>(
    selectors: impl IntoIterator<Item = &'a ResourceSelectors>,
    seen: &FsScanCache,
) -> Vec<PathBuf> {
    let is_real = |path: &&PathBuf| seen.is_real_path(path);
    let mut open = Vec::new();
    for pattern in selectors.into_iter().flat_map(|selectors| &selectors.paths) {
        open.extend(pattern.trees().iter().filter(is_real).cloned());
        // A directory path alone does not cover its contents.
        let files = pattern.single_paths().iter().filter(|path| path.is_file());
        open.extend(files.filter(is_real).cloned());
    }
    open
}

/// Returns what a level denies in a scope.
fn denied_selectors<'a>(
    level: &'a PolicyLevel,
    scope: &'a Scope,
) -> impl Iterator<Item = &'a ResourceSelectors> {
    let rules = level.deny.iter().filter(|rule| rule.scope.matches(scope));
    let restrictions = level.restrictions.iter().filter(|r| r.scope.matches(scope));
    rules.filter_map(|rule| rule.selectors.as_ref()).chain(restrictions.map(|r| &r.denied))
}

/// Returns what a level asks about in a scope.
fn asked_selectors<'a>(
    level: &'a PolicyLevel,
    scope: &'a Scope,
) -> impl Iterator<Item = &'a ResourceSelectors> {
    let rules = level.ask.iter().filter(|rule| rule.scope.matches(scope));
    let restrictions = level.restrictions.iter().filter(|r| r.scope.matches(scope));
    rules.filter_map(|rule| rule.selectors.as_ref()).chain(restrictions.map(|r| &r.asked))
}

/// Returns the paths with a fixed name.
fn fixed_paths<'a>(
    selectors: impl Iterator<Item = &'a ResourceSelectors>,
) -> impl Iterator<Item = PathBuf> {
    let patterns = selectors.flat_map(|selectors| &selectors.paths);
    patterns.flat_map(|pattern| [pattern.trees(), pattern.single_paths()].concat())
}

/// Returns the trees that are in both lists.
fn intersect_trees(a: &[PathBuf], b: &[PathBuf]) -> Vec<PathBuf> {
    let mut common = Vec::new();
    for x in a {
        for y in b {
            if is_within(y, x) {
                common.push(y.clone());
            } else if is_within(x, y) {
                common.push(x.clone());
            }
        }
    }
    common
}

fn dedupe_exact(paths: &mut Vec<PathBuf>) {
    paths.sort();
    paths.dedup();
}

/// Removes entries that another entry contains.
fn dedupe_nested(trees: &mut Vec<PathBuf>) {
    sort_parents_first(trees);
    trees.dedup_by(|tree, last| is_within(tree, last));
}

/// Sorts every directory before its contents.
fn sort_parents_first(trees: &mut [PathBuf]) {
    let order = |byte: &u8| if *byte == b'/' { 0 } else { *byte };
    trees.sort_by(|a, b| {
        let (a, b) = (a.as_os_str().as_bytes(), b.as_os_str().as_bytes());
        match a.iter().zip(b).find(|(a, b)| a != b) {
            Some((a, b)) => order(a).cmp(&order(b)),
            None => a.len().cmp(&b.len()),
        }
    });
}
