//! From rules to the bounds of child processes. They are never wider than the
//! rules: what cannot be said as a tree stays closed.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hermes_core::{
    PendingSecrets, Confinement, Effect, PartialDir, OverlayMount, CallProposal, Resource, Scope, HostService,
};

use crate::judge::{Examination, Finding};
use crate::level::{Answer, Level, Restriction, Selectors};
use crate::openings::Openings;
use crate::pattern::{PathPattern, is_within};
use crate::permissions::{Permissions, folder};
use crate::repositories::{self, Case, Kept, Use};
use crate::sensitive::Sensitive;
use crate::sightings::Sightings;

/// What programs need to run at all, where reading is restricted.
const SYSTEM: &[&str] = &[
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

/// Below a writable tree: what we ourselves would trust later.
const OURS: &str = ".hermes";

impl Permissions {
    /// What the child processes of a call are held to.
    pub(crate) fn confine(
        &self,
        proposal: &CallProposal<'_>,
        exam: &Examination,
    ) -> Option<Confinement> {
        let settings = self.sandbox();
        if !settings.enabled || !exam.spawns {
            return None;
        }
        let tainted = self.taint(proposal).is_some();
        let levels: Vec<&Level> = self.levels(proposal.tool, tainted).collect();
        let mut write = trees(&levels, &Scope::FILE_WRITE, self.sightings());
        let mut read = trees(&levels, &Scope::FILE_READ, self.sightings());
        let delete = self.removable(&levels, &write, exam, folder(proposal));
        // What somebody agreed to, although it is elsewhere.
        let lasts = |effect: &Effect| matches!(&effect.resource, Resource::Script(s) if s.fresh_shell);
        let lasts = proposal.effects.iter().any(lasts);
        let agreed = if lasts { Vec::new() } else { agreed(exam) };
        // Protected places that a person is asked about: whoever agrees to the
        // call means that its children reach them.
        let asked = if lasts { Vec::new() } else { exam.asked_places() };
        let opened = if lasts { Openings::default() } else { Openings::of(exam, &write) };
        let delete = delete.map(|mut delete| {
            delete.extend(opened.write.iter().cloned());
            delete
        });
        write.extend(opened.write);
        read.extend(
            exam.findings
                .iter()
                .filter(|f| f.effect.scope == Scope::FILE_READ && !(lasts && f.leaf.is_some()))
                .filter_map(place),
        );
        write.extend(repository_elsewhere(&write, folder(proposal)));
        dedupe(&mut write);
        dedupe(&mut read);
        if read != [PathBuf::from("/")] {
            read.extend(SYSTEM.iter().map(PathBuf::from));
            dedupe(&mut read);
        }
        let cwd = folder(proposal);
        let services = exam.clients.served();
        let sockets = self.sockets();
        let mut kept = self.kept(&write, exam, cwd);
        kept.unwelcome.extend(self.unwelcome(&levels, &write, &agreed));
        kept.retain(|path| !asked.iter().any(|place| place.starts_with(path)));
        let around = self.around(cwd);
        // Where the home is itself a place to work in, each secret is hidden for
        // itself.
        let ours = &self.places().hermes;
        let is_worked_in = |it: &PartialDir| {
            let is_view = it.folder != *ours;
            let is_open = |tree: &PathBuf| is_within(&it.folder, tree);
            cwd == it.folder || write.contains(&it.folder) || is_view && write.iter().any(is_open)
        };
        let is_written_in = |it: &OverlayMount| {
            write.iter().any(|tree| is_within(&it.target, tree) || is_within(tree, &it.target))
        };
        Some(Confinement {
            read,
            read_only: without(self.guarded(&levels, &write, &agreed, kept.read_only, cwd), &asked),
            frozen: opened.beside,
            frozen_nested: kept.nested,
            masked_missing: kept.absent,
            quarantined: kept.unwelcome,
            hidden: without(self.hidden(&levels, around.present, &services, &sockets), &asked),
            pending_secrets: except(self.awaited(&levels, around.awaited), &asked),
            partial_dirs: around.enclosed.into_iter().filter(|it| !is_worked_in(it)).collect(),
            redacted: around.redacted.clone(),
            overlays: around.overlays.into_iter().filter(|it| !is_written_in(it)).collect(),
            delete,
            write,
            network: settings.network,
            session: proposal.session.id().to_owned(),
            host_ports: settings.host_ports,
            services,
            denied_services: exam.clients.withheld(),
            sockets,
            limits: settings.limits,
            bubblewrap: settings.bubblewrap,
            reduced: settings.is_reduced,
        })
    }

    /// What stays as it is of repositories, and of our own files in projects.
    fn kept(&self, write: &[PathBuf], exam: &Examination, cwd: &Path) -> Kept {
        let deletes = |finding: &&Finding| finding.effect.scope == Scope::FILE_DELETE;
        let case = Case {
            write: write.to_vec(),
            cwd: cwd.to_path_buf(),
            deleted: changes(exam).filter(deletes).filter_map(place).collect(),
            git_runs: exam.command_effects.iter().any(|e| e.scope == Scope::GIT_WRITE),
            settings: exam.clients.keeps_books(),
            sweeps: sweeps(exam),
        };
        self.sightings().kept(case, |case| self.kept_in(case))
    }

    fn kept_in(&self, case: &Case) -> Kept {
        let Case { write, cwd, deleted, git_runs, settings, sweeps } = case;
        let seen = self.sightings();
        let within = |path: &Path| write.iter().any(|tree| is_within(path, tree));
        let is_open = |path: &Path| self.laid_open().iter().any(|pattern| pattern.matches(path));
        // Any child may commit; what starts programs is for git alone.
        let used = if *git_runs && *settings { Use::Git } else { Use::Some };
        let mut kept = Kept::default();
        let above = cwd.ancestors().filter(|folder| within(folder));
        let mut folders: Vec<PathBuf> = above.map(Path::to_path_buf).collect();
        folders.extend(write.iter().cloned());
        dedupe_exact(&mut folders);
        for folder in &folders {
            let git = folder.join(".git");
            kept.around(&git, used, seen);
            let ours = folder.join(OURS);
            if seen.exists(&ours) {
                kept.read_only.push(ours);
            }
        }
        // Where a working tree has its repository, whether or not the file that
        // says so can be written.
        let linked = || {
            let all = cwd.ancestors().map(|folder| folder.join(".git"));
            all.flat_map(|git| repositories::linked(&git)).collect()
        };
        for git in seen.linked(cwd, linked) {
            kept.around(&git, used, seen);
        }
        let searched = self.searched(cwd);
        for folder in searched.iter().filter(|folder| within(folder)) {
            let look = || repositories::below(folder, repositories::LEVELS);
            for git in seen.places(folder, look) {
                if !folders.iter().any(|folder| git.parent() == Some(folder)) {
                    kept.within(&git, used, seen);
                }
            }
        }
        for folder in self.places().temp.iter().filter(|folder| within(folder)) {
            let look = || repositories::below(folder, repositories::TEMPORARY_LEVELS);
            let is_known = |git: &Path| {
                let around = folders.iter().any(|folder| git.parent() == Some(folder));
                around || searched.iter().any(|folder| git.starts_with(folder))
            };
            for git in seen.places(folder, look).iter().filter(|git| !is_known(git)) {
                kept.among(git, used, *git_runs, seen);
            }
        }
        // What is empty may be a place to put something, and some of git sweeps
        // away what is empty in there.
        let workspace = self.places().workspace.as_ref().filter(|_| !*sweeps);
        if let Some(workspace) = workspace.filter(|it| within(it) && !seen.is_empty(it)) {
            let ours = workspace.join(OURS);
            if !seen.exists(&ours) {
                kept.absent.push(ours);
            }
        }
        // Whoever deletes a folder means what is in it.
        let is_left = |path: &Path| deleted.iter().any(|gone| path.starts_with(gone));
        kept.retain(|path| within(path) && !is_open(path) && !is_left(path));
        kept
    }

    /// The folders whose repositories are looked for: those of projects, not
    /// those of everything.
    pub(crate) fn searched(&self, cwd: &Path) -> Vec<PathBuf> {
        let places = self.places();
        let mut folders: Vec<PathBuf> = places.workspace.iter().cloned().collect();
        let is_of_everything = cwd.parent().is_none()
            || places.home.as_deref() == Some(cwd)
            || places.temp.contains(&cwd.to_path_buf());
        if !is_of_everything && !folders.iter().any(|folder| is_within(cwd, folder)) {
            folders.push(cwd.to_path_buf());
        }
        folders
    }

    /// What stays as it is although it lies in a writable tree.
    fn guarded(
        &self,
        levels: &[&Level],
        write: &[PathBuf],
        agreed: &[PathBuf],
        kept: Vec<PathBuf>,
        cwd: &Path,
    ) -> Vec<PathBuf> {
        let within = |path: &Path| write.iter().any(|tree| is_within(path, tree));
        let mut guarded: Vec<PathBuf> = Vec::new();
        let aliases = self.rules().aliases();
        let named = self.sensitive().guarded();
        let twice = named.iter().flat_map(|path| aliases.others(path)).filter(|path| within(path));
        guarded.extend(named.iter().filter(|path| within(path)).cloned().chain(twice));
        let open = self.laid_open();
        guarded.retain(|path| !open.iter().any(|pattern| pattern.matches(path)));
        for level in levels {
            guarded.extend(fixed(refused(level, &Scope::FILE_WRITE)));
            // What can be written can be emptied, which is as good as deleted. A
            // command that says what it writes was judged by that.
            let undeletable = fixed(refused(level, &Scope::FILE_DELETE));
            let is_named = |path: &PathBuf| agreed.iter().any(|own| own.starts_with(path));
            guarded.extend(undeletable.filter(|path| !is_named(path)));
            // Whoever agreed to this very place meant it.
            let asked = fixed(asked(level, &Scope::FILE_WRITE));
            guarded.extend(asked.filter(|path| !agreed.iter().any(|own| own.starts_with(path))));
        }
        let patterns = levels.iter().flat_map(|level| &level.restrictions);
        let patterns =
            patterns.filter_map(|r| r.allowed.as_ref()).flat_map(|allowed| &allowed.paths);
        // A workspace in there has to stay writable, and a tree has no holes.
        let apart = |home: &&Path| !is_within(cwd, home);
        guarded
            .extend(patterns.filter_map(PathPattern::except).filter(apart).map(Path::to_path_buf));
        guarded.retain(|path| within(path) && self.sightings().exists(path));
        // What is not there yet may be among these: nobody may make it.
        guarded.extend(kept);
        dedupe(&mut guarded);
        guarded
    }

    /// What is not there, and is neither to be made: places in the home that
    /// programs trust, where that can be written, and what the rules refuse by
    /// a fixed name.
    fn unwelcome(&self, levels: &[&Level], write: &[PathBuf], agreed: &[PathBuf]) -> Vec<PathBuf> {
        let within = |path: &Path| write.iter().any(|tree| is_within(path, tree) && path != tree);
        let is_open = |path: &Path| self.laid_open().iter().any(|pattern| pattern.matches(path));
        let places = self.places();
        let is_personal = |path: &Path| {
            let home = places.home.as_ref().filter(|home| within(&home.join(OURS)));
            home.is_some_and(|home| is_within(path, home)) && !is_within(path, &places.hermes)
        };
        let personal = self.sensitive().trusted().filter(|path| is_personal(path));
        let mut found: Vec<PathBuf> = personal.filter(|path| !is_open(path)).cloned().collect();
        for level in levels {
            found.extend(fixed(refused(level, &Scope::FILE_WRITE)));
            found.extend(fixed(asked(level, &Scope::FILE_WRITE)));
        }
        // Whoever agreed to a place meant it.
        let is_agreed = |path: &Path| agreed.iter().any(|own| own.starts_with(path));
        found.retain(|path| within(path) && !is_agreed(path) && !self.sightings().exists(path));
        dedupe(&mut found);
        found
    }

    /// What may not even be seen.
    fn hidden(
        &self,
        levels: &[&Level],
        present: Vec<PathBuf>,
        services: &[HostService],
        sockets: &[PathBuf],
    ) -> Vec<PathBuf> {
        let mut hidden = present;
        let open = self.laid_open();
        let sockets: Vec<PathBuf> =
            sockets.iter().filter_map(|path| std::fs::canonicalize(path).ok()).collect();
        let is_served = |path: &Path| {
            let real = || std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
            let engine = services.contains(&HostService::Containers) && Sensitive::is_engine(path);
            engine || !sockets.is_empty() && sockets.iter().any(|it| real().starts_with(it))
        };
        let is_open = |path: &Path| open.iter().any(|pattern| pattern.matches(path));
        hidden.retain(|path| !is_open(path) && !is_served(path));
        let aliases = self.rules().aliases();
        let twice = hidden.iter().chain([&self.places().hermes]);
        let twice: Vec<PathBuf> = twice.flat_map(|path| aliases.others(path)).collect();
        hidden.extend(twice.into_iter().filter(|path| !is_open(path) && path.exists()));
        for level in levels {
            hidden.extend(
                fixed(refused(level, &Scope::FILE_READ))
                    .filter(|path| self.sightings().exists(path)),
            );
        }
        dedupe(&mut hidden);
        hidden
    }

    /// The secrets that may come to be, with what the rules refuse by a fixed
    /// name.
    fn awaited(&self, levels: &[&Level], known: Arc<PendingSecrets>) -> Arc<PendingSecrets> {
        let refused = levels.iter().flat_map(|level| fixed(refused(level, &Scope::FILE_READ)));
        let missing: Vec<PathBuf> = refused.filter(|path| !self.sightings().exists(path)).collect();
        if missing.is_empty() {
            return known;
        }
        let mut awaited = PendingSecrets::clone(&known);
        awaited.paths.extend(missing);
        dedupe_exact(&mut awaited.paths);
        Arc::new(awaited)
    }

    /// Where children may delete, unless that is wherever they may write. What
    /// git does in its own repository is for the rules on git.
    fn removable(
        &self,
        levels: &[&Level],
        write: &[PathBuf],
        exam: &Examination,
        cwd: &Path,
    ) -> Option<Vec<PathBuf>> {
        let open = trees(levels, &Scope::FILE_DELETE, self.sightings());
        if write.iter().all(|tree| open.iter().any(|open| is_within(tree, open))) {
            return None;
        }
        let mut open = both(write, &open);
        // A name is deleted in the folder that it is in.
        let agreed = changes(exam).filter(|finding| finding.effect.scope == Scope::FILE_DELETE);
        let agreed = agreed.filter_map(place);
        open.extend(agreed.filter_map(|place| place.parent().map(Path::to_path_buf)));
        if exam.command_effects.iter().any(|effect| effect.scope == Scope::GIT_WRITE) {
            open.extend(cwd.ancestors().map(|folder| folder.join(".git")).find(|git| git.is_dir()));
        }
        dedupe(&mut open);
        Some(open)
    }

    /// The sockets that the profile lays open to every child.
    fn sockets(&self) -> Vec<PathBuf> {
        let patterns = self.profile().sockets.iter();
        let mut sockets: Vec<PathBuf> =
            patterns.flat_map(|pattern| [pattern.trees(), pattern.single()].concat()).collect();
        dedupe(&mut sockets);
        sockets
    }

    pub(crate) fn laid_open(&self) -> &[PathPattern] {
        &self.profile().sensitive_paths
    }
}

/// These paths but for those that somebody is asked about, under whatever name.
fn without(mut paths: Vec<PathBuf>, asked: &[PathBuf]) -> Vec<PathBuf> {
    if !asked.is_empty() {
        let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let asked: Vec<PathBuf> = asked.iter().flat_map(|it| [it.clone(), real(it)]).collect();
        paths.retain(|path| !asked.contains(path) && !asked.contains(&real(path)));
    }
    paths
}

/// What may come to be and is to be hidden, but for what somebody is asked
/// about.
fn except(awaited: Arc<PendingSecrets>, asked: &[PathBuf]) -> Arc<PendingSecrets> {
    if asked.is_empty() {
        return awaited;
    }
    let mut awaited = PendingSecrets::clone(&awaited);
    let names = asked.iter().filter_map(|path| path.file_name());
    awaited.excluded_patterns.extend(names.map(|name| name.to_string_lossy().to_lowercase()));
    awaited.paths.retain(|path| !asked.contains(path));
    Arc::new(awaited)
}

/// The repository of the working folder, where it lies elsewhere: without it, nothing could be committed in a linked working tree that
/// may itself be written.
fn repository_elsewhere(write: &[PathBuf], cwd: &Path) -> Option<PathBuf> {
    let is_written = |git: &Path| write.iter().any(|tree| is_within(git, tree));
    // Above the last folder whose repository can be written, nothing that may be
    // there makes a difference.
    let is_own = |folder: &Path, tree: &Path| {
        tree.as_os_str().as_bytes().ends_with(b"/.git") && tree.parent() == Some(folder)
    };
    let may_be =
        |folder: &&Path| write.iter().any(|tree| is_within(folder, tree) || is_own(folder, tree));
    let folders: Vec<&Path> = cwd.ancestors().collect();
    let last = folders.iter().rposition(may_be)?;
    let mut all = folders.iter().take(last + 1).map(|folder| folder.join(".git"));
    let git = all.find(|git| git.exists())?;
    is_written(&git).then(|| repositories::elsewhere(&git)).flatten()
}

/// Whether nothing but git runs, to clear away what it does not know.
fn sweeps(exam: &Examination) -> bool {
    let leaves = || exam.findings.iter().filter_map(|finding| finding.leaf.as_deref());
    let clears = |leaf: &str| leaf.split(' ').any(|word| matches!(word, "clean" | "stash"));
    leaves().any(clears) && leaves().all(|leaf| leaf.starts_with("git "))
}

/// The places outside of the rules' trees that the call would change if
/// somebody agrees.
fn agreed(exam: &Examination) -> Vec<PathBuf> {
    changes(exam).filter_map(place).collect()
}

fn changes(exam: &Examination) -> impl Iterator<Item = &Finding> {
    let about = [Scope::FILE_WRITE, Scope::FILE_DELETE];
    exam.findings.iter().filter(move |finding| about.contains(&finding.effect.scope))
}

/// Where the effect of a finding is, unless it is denied.
fn place(finding: &Finding) -> Option<PathBuf> {
    finding.real.clone().filter(|_| finding.answer != Answer::Deny)
}

/// The trees in which all levels let this be done without a question.
fn trees(levels: &[&Level], scope: &Scope, seen: &Sightings) -> Vec<PathBuf> {
    let mut trees = vec![PathBuf::from("/")];
    for level in levels {
        let mut all = level.deny.iter().chain(&level.ask);
        if all.any(|rule| rule.selectors.is_none() && rule.scope.matches(scope)) {
            return Vec::new();
        }
        if let Some(allow) = &level.allow {
            let about = || allow.iter().filter(|rule| rule.scope.matches(scope));
            if !about().any(|rule| rule.selectors.is_none()) {
                // What is allowed to some commands is not laid open to others.
                let whoever = about().filter_map(|rule| rule.selectors.as_ref());
                let whoever = whoever.filter(|selectors| selectors.commands.is_empty());
                trees = both(&trees, &openings(whoever, seen));
            }
        }
        for restriction in level.restrictions.iter().filter(|r| r.scope.matches(scope)) {
            if let Some(allowed) = restricted_to(restriction) {
                trees = both(&trees, &openings([allowed], seen));
            }
        }
    }
    dedupe(&mut trees);
    trees
}

fn restricted_to(restriction: &Restriction) -> Option<&Selectors> {
    let allowed =
        restriction.allowed.as_ref().filter(|_| restriction.elsewhere != Answer::Allow)?;
    (!allowed.paths.is_empty() || !allowed.commands.is_empty()).then_some(allowed)
}

/// The trees and the files that patterns lay open. Only real places: what has
/// become a link since the rules were read leads elsewhere.
fn openings<'a>(
    selectors: impl IntoIterator<Item = &'a Selectors>,
    seen: &Sightings,
) -> Vec<PathBuf> {
    let is_real = |path: &&PathBuf| seen.is_real(path);
    let mut open = Vec::new();
    for pattern in selectors.into_iter().flat_map(|selectors| &selectors.paths) {
        open.extend(pattern.trees().iter().filter(is_real).cloned());
        // A folder by itself is not what is in it.
        let files = pattern.single().iter().filter(|path| path.is_file());
        open.extend(files.filter(is_real).cloned());
    }
    open
}

/// What a level refuses in a scope.
fn refused<'a>(level: &'a Level, scope: &'a Scope) -> impl Iterator<Item = &'a Selectors> {
    let rules = level.deny.iter().filter(|rule| rule.scope.matches(scope));
    let restrictions = level.restrictions.iter().filter(|r| r.scope.matches(scope));
    rules.filter_map(|rule| rule.selectors.as_ref()).chain(restrictions.map(|r| &r.denied))
}

/// What a level asks about in a scope.
fn asked<'a>(level: &'a Level, scope: &'a Scope) -> impl Iterator<Item = &'a Selectors> {
    let rules = level.ask.iter().filter(|rule| rule.scope.matches(scope));
    let restrictions = level.restrictions.iter().filter(|r| r.scope.matches(scope));
    rules.filter_map(|rule| rule.selectors.as_ref()).chain(restrictions.map(|r| &r.asked))
}

/// The places among them that have a fixed name.
fn fixed<'a>(selectors: impl Iterator<Item = &'a Selectors>) -> impl Iterator<Item = PathBuf> {
    let patterns = selectors.flat_map(|selectors| &selectors.paths);
    patterns.flat_map(|pattern| [pattern.trees(), pattern.single()].concat())
}

/// The trees that lie in both lists.
fn both(a: &[PathBuf], b: &[PathBuf]) -> Vec<PathBuf> {
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

/// Leaves out what another entry contains.
fn dedupe(trees: &mut Vec<PathBuf>) {
    sort(trees);
    trees.dedup_by(|tree, last| is_within(tree, last));
}

/// Puts every folder before what is in it.
fn sort(trees: &mut [PathBuf]) {
    let order = |byte: &u8| if *byte == b'/' { 0 } else { *byte };
    trees.sort_by(|a, b| {
        let (a, b) = (a.as_os_str().as_bytes(), b.as_os_str().as_bytes());
        match a.iter().zip(b).find(|(a, b)| a != b) {
            Some((a, b)) => order(a).cmp(&order(b)),
            None => a.len().cmp(&b.len()),
        }
    });
}
