//! Places that are protected in every profile, unless one opens them by name:
//! keys, credential stores, devices, start-up files and our own state. Most are
//! always denied; some require the user's approval.

use std::borrow::Cow;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use hermes_core::protected_places::{
    AUTO_RUN_FILES, DOTENV_EXAMPLES, DOTENV_FILES, HARMLESS_DEVICES, HERMES_HOME_OPEN,
    HERMES_HOME_SECRET, HERMES_HOME_TRANSIENT, HOME_AUTOSTART, HOME_CREDENTIALS,
    HOME_PROGRAM_SETTINGS, HOME_SHELL_STARTUP, SECRET_FILES, SYSTEM_SETUP,
};

use crate::globs::LazyGlobs;
use crate::level::PolicyAnswer;
use crate::linked_places::{LinkCache, LinkSurvey, LinkTargets};
use crate::pattern::{PathVariables, escape_glob, fold_path, is_within};
use crate::place_tree::PlaceTree;
use crate::wildcard_places::{expand_wildcard, is_wildcard_place};

/// Below the home directory: written only with approval.
const HOME_STARTUP: [&[&str]; 3] = [HOME_SHELL_STARTUP, HOME_AUTOSTART, HOME_PROGRAM_SETTINGS];

/// Limits of the search for symlinks in the workspace: depth, directories and
/// names visited.
const MAX_WORKSPACE_DEPTH: usize = 2;
const MAX_WORKSPACE_DIRECTORIES: usize = 64;
const MAX_WORKSPACE_NAMES: usize = 4096;

/// Directories not worth searching.
const SKIPPED_DIRS: &[&str] = &[".git", "node_modules", "target", "__pycache__", ".venv", "venv"];

/// The kind of a protected place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProtectedKind {
    /// Keys, credentials, devices and our own state: neither read nor written.
    Secret,
    /// Settings of the system and of hermes: never written.
    Setup,
    /// A project's environment variables, which may include secrets: access
    /// needs approval.
    Dotenv,
    /// Files that the user's programs run at start: writing needs approval.
    Startup,
    /// Files that programs run when they open the directory: writing needs
    /// approval.
    AutoRun,
}

impl ProtectedKind {
    /// Returns the answer to an effect on such a place.
    pub fn answer(self) -> PolicyAnswer {
        match self {
            Self::Secret | Self::Setup => PolicyAnswer::Deny,
            Self::Dotenv | Self::Startup | Self::AutoRun => PolicyAnswer::Ask,
        }
    }

    /// Returns the name of this kind in saved approvals.
    pub(crate) fn category(self) -> &'static str {
        match self {
            Self::Secret => "secret",
            Self::Setup => "set-up",
            Self::Dotenv => "dotenv",
            Self::Startup => "start-up file",
            Self::AutoRun => "self-running file",
        }
    }

    /// Returns the rule name shown in messages.
    pub(crate) fn rule(self) -> &'static str {
        match self {
            Self::AutoRun => "self-running file",
            _ => "protected path",
        }
    }
}

/// Why a place is protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlaceProtection {
    /// The kind of the place.
    pub kind: ProtectedKind,
    /// What the place is, phrased to follow "is".
    pub reason: &'static str,
}

impl PlaceProtection {
    pub(crate) fn secret(reason: &'static str) -> Self {
        Self { kind: ProtectedKind::Secret, reason }
    }

    pub(crate) fn setup(reason: &'static str) -> Self {
        Self { kind: ProtectedKind::Setup, reason }
    }

    /// Returns the stricter of two, or the first if they are equal.
    pub(crate) fn strictest(a: Option<Self>, b: impl FnOnce() -> Option<Self>) -> Option<Self> {
        match a {
            Some(first) if first.kind.answer() == PolicyAnswer::Deny => Some(first),
            None => b(),
            Some(first) => {
                b().filter(|second| second.kind.answer() == PolicyAnswer::Deny).or(Some(first))
            }
        }
    }
}

const HOLDS_PROTECTED_PLACE: PlaceProtection = PlaceProtection {
    kind: ProtectedKind::Setup,
    reason: "a directory that contains a protected place",
};
const DOTENV_PROTECTION: PlaceProtection = PlaceProtection {
    kind: ProtectedKind::Dotenv,
    reason: "a file of environment variables, which may contain secrets",
};
const STARTUP_PROTECTION: PlaceProtection = PlaceProtection {
    kind: ProtectedKind::Startup,
    reason: "run or trusted by your other programs when they start",
};
const AUTO_RUN_PROTECTION: PlaceProtection = PlaceProtection {
    kind: ProtectedKind::AutoRun,
    reason: "run or obeyed automatically by other programs, outside the sandbox",
};

/// Matcher for the protected places.
#[derive(Debug, Clone)]
pub struct SensitivePlaces {
    places: PathVariables,
    /// Everything whose reading is restricted. Nearly every path is in none of
    /// the sets, so two lookups suffice.
    unreadable: LazyGlobs,
    /// Everything else whose writing is restricted.
    unwritable: LazyGlobs,
    open: LazyGlobs,
    /// The sets by kind, built only once a path has matched.
    sets: OnceLock<ProtectedSets>,
    hermes: PathBuf,
    workspace: Option<PathBuf>,
    /// The directories searched for protected names, each with its names.
    roots: OnceLock<Vec<(PathBuf, PlaceTree)>>,
    links: Arc<LinkCache>,
    name_directories: OnceLock<Vec<PathBuf>>,
    /// Secret places with a fixed path, for the sandbox.
    named: Vec<PathBuf>,
    /// Those of `named` that may be created at any time.
    transient: Vec<PathBuf>,
    /// Patterns with a wildcard below a fixed directory.
    wildcard: Vec<String>,
    /// Readable places that must not be written; first those that no approval
    /// covers.
    guarded: Vec<PathBuf>,
    setup_count: usize,
}

/// The pattern sets by kind.
#[derive(Debug, Clone)]
struct ProtectedSets {
    secret: LazyGlobs,
    setup: LazyGlobs,
    startup: LazyGlobs,
}

/// The patterns of all lists, by base directory.
struct PlacePatterns {
    home: Option<String>,
    hermes: String,
    /// The default hermes home: it may be in use again next time.
    usual_hermes: Option<String>,
}

impl PlacePatterns {
    fn new(places: &PathVariables) -> Self {
        let pattern =
            |base: &Path| escape_glob(fold_path(base).to_string_lossy().trim_end_matches('/'));
        Self {
            home: places.home.as_deref().map(pattern),
            hermes: pattern(&places.hermes),
            usual_hermes: default_hermes_home(places).as_deref().map(pattern),
        }
    }

    fn secret(&self) -> Vec<String> {
        [
            to_strings(SECRET_FILES),
            prefix_all(self.home.as_deref(), HOME_CREDENTIALS),
            prefix_all(Some(&self.hermes), HERMES_HOME_SECRET),
            prefix_all(self.usual_hermes.as_deref(), HERMES_HOME_SECRET),
        ]
        .concat()
    }

    fn setup(&self) -> Vec<String> {
        [to_strings(SYSTEM_SETUP), prefix_all(Some(&self.hermes), &["**"])].concat()
    }

    fn startup(&self) -> Vec<String> {
        HOME_STARTUP.iter().flat_map(|list| prefix_all(self.home.as_deref(), list)).collect()
    }

    /// Returns the common prefixes of most patterns.
    fn bases(&self) -> Vec<String> {
        self.home.iter().chain([&self.hermes]).cloned().collect()
    }
}

fn to_strings(list: &[&str]) -> Vec<String> {
    list.iter().map(|item| (*item).to_owned()).collect()
}

fn prefix_all(base: Option<&str>, list: &[&str]) -> Vec<String> {
    let items = |base: &str| list.iter().map(|item| format!("{base}/{item}")).collect();
    base.map(items).unwrap_or_default()
}

fn default_hermes_home(places: &PathVariables) -> Option<PathBuf> {
    let usual = places.home.as_ref().map(|home| home.join(".hermes"));
    usual.filter(|usual| *usual != places.hermes)
}

impl SensitivePlaces {
    /// Returns the protected places of this user on this machine.
    pub fn new(places: &PathVariables) -> Self {
        let patterns = PlacePatterns::new(places);
        let bases = patterns.bases();
        let unread = [patterns.secret(), to_strings(DOTENV_FILES)].concat();
        let unwritten = [patterns.setup(), patterns.startup(), to_strings(AUTO_RUN_FILES)].concat();
        let open = prefix_all(Some(&patterns.hermes), HERMES_HOME_OPEN);
        let of_home = |list| named_places(places.home.as_deref(), list);
        let mut guarded = named_places(None, SYSTEM_SETUP);
        guarded.push(places.hermes.clone());
        let setup_count = guarded.len();
        guarded.extend(HOME_STARTUP.iter().flat_map(|list| of_home(list)));
        let usual = default_hermes_home(places);
        let named_secrets = [
            named_places(None, SECRET_FILES),
            of_home(HOME_CREDENTIALS),
            named_places(Some(&places.hermes), HERMES_HOME_SECRET),
            usual
                .as_deref()
                .map(|usual| named_places(Some(usual), HERMES_HOME_SECRET))
                .unwrap_or_default(),
        ];
        // Matched against names on disk, so not folded.
        let spelled = |base: &Path, list: &[&'static str]| {
            let starred: Vec<&str> =
                list.iter().copied().filter(|item| item.contains('*')).collect();
            prefix_all(Some(&escape_glob(base.to_string_lossy().trim_end_matches('/'))), &starred)
        };
        let of_home = places.home.as_deref().map(|home| spelled(home, HOME_CREDENTIALS));
        let of_hermes = spelled(&places.hermes, HERMES_HOME_SECRET);
        let scattered = [to_strings(SECRET_FILES), of_home.unwrap_or_default(), of_hermes].concat();
        let scattered = scattered.into_iter().filter(|item| is_wildcard_place(item)).collect();
        Self {
            unreadable: LazyGlobs::new(unread, &bases),
            unwritable: LazyGlobs::new(unwritten, &bases),
            open: LazyGlobs::new(open, &bases),
            sets: OnceLock::new(),
            hermes: fold_path(&places.hermes).into_owned(),
            workspace: places.workspace.as_deref().map(|it| fold_path(it).into_owned()),
            roots: OnceLock::new(),
            links: Arc::default(),
            name_directories: OnceLock::new(),
            named: named_secrets.concat(),
            transient: named_places(Some(&places.hermes), HERMES_HOME_TRANSIENT),
            wildcard: scattered,
            guarded,
            setup_count,
            places: places.clone(),
        }
    }

    fn sets(&self) -> &ProtectedSets {
        self.sets.get_or_init(|| {
            let patterns = PlacePatterns::new(&self.places);
            let bases = patterns.bases();
            ProtectedSets {
                secret: LazyGlobs::new(patterns.secret(), &bases),
                setup: LazyGlobs::new(patterns.setup(), &bases),
                startup: LazyGlobs::new(patterns.startup(), &bases),
            }
        })
    }

    /// Returns the directories searched for protected names, each with its
    /// names.
    fn roots(&self) -> &[(PathBuf, PlaceTree)] {
        self.roots.get_or_init(|| {
            let PathVariables { home, hermes, .. } = &self.places;
            let is_apart = !home.as_ref().is_some_and(|home| is_within(hermes, home));
            let roots = home.iter().chain(is_apart.then_some(hermes));
            let all = || self.named.iter().chain(&self.guarded);
            roots.map(|root| (root.clone(), PlaceTree::new(root, all()))).collect()
        })
    }

    /// Whether the path is a device that anyone may read and write.
    pub fn is_harmless_device(path: &Path) -> bool {
        device_name(path).is_some_and(|name| HARMLESS_DEVICES.contains(&&*name))
    }

    /// Whether the path is the socket of a container engine.
    pub(crate) fn is_container_socket(path: &Path) -> bool {
        let listed = SECRET_FILES.iter().filter(|place| place.ends_with(".sock"));
        listed.into_iter().any(|place| path == Path::new(place))
    }

    /// Returns why reading a file is restricted, if it is. The path is
    /// canonical and [folded](crate::fold_path).
    pub fn read_protection(&self, folded: &Path) -> Option<PlaceProtection> {
        let own = self.read_protection_by_name(folded);
        PlaceProtection::strictest(own, || {
            self.protection_by_link(folded, |name| self.read_protection_by_name(name))
        })
    }

    /// Returns why writing or deleting a file is restricted, if it is. The path
    /// is canonical and folded.
    pub fn write_protection(&self, folded: &Path) -> Option<PlaceProtection> {
        let own = self.write_protection_by_name(folded);
        PlaceProtection::strictest(own, || {
            self.protection_by_link(folded, |name| self.write_protection_by_name(name))
        })
    }

    /// Whether other programs run or obey a file automatically.
    pub fn is_auto_run(&self, path: &Path) -> bool {
        self.write_protection(&fold_path(path)) == Some(AUTO_RUN_PROTECTION)
    }

    fn read_protection_by_name(&self, folded: &Path) -> Option<PlaceProtection> {
        if let Some(device) = device_name(folded) {
            // Listing a directory does not open its entries.
            let is_harmless = HARMLESS_DEVICES.contains(&&*device) || folded.is_dir();
            return (!is_harmless).then_some(PlaceProtection::secret("a device"));
        }
        // A set that failed to build matches everything.
        if is_dotenv_example(folded) || !self.unreadable.is_match(folded).unwrap_or(true) {
            return None;
        }
        match self.sets().secret.is_match(folded).unwrap_or(true) {
            true => Some(PlaceProtection::secret("a private key, a credential store or a secret")),
            false => Some(DOTENV_PROTECTION),
        }
    }

    fn write_protection_by_name(&self, folded: &Path) -> Option<PlaceProtection> {
        let unread = self.read_protection_by_name(folded);
        if unread.is_some_and(|found| found.kind.answer() == PolicyAnswer::Deny) {
            return unread;
        }
        if device_name(folded).is_some_and(|device| HARMLESS_DEVICES.contains(&&*device)) {
            return None;
        }
        let is_open = || self.open.is_match(folded).unwrap_or(false);
        if is_within(folded, &self.hermes) && is_open() {
            return unread;
        }
        if !self.unwritable.is_match(folded).unwrap_or(true) {
            return unread;
        }
        if self.sets().setup.is_match(folded).unwrap_or(true) {
            let reason = "part of the configuration of the system, the shell or hermes";
            return Some(PlaceProtection::setup(reason));
        }
        let is_startup = self.sets().startup.is_match(folded).unwrap_or(true);
        unread.or(Some(if is_startup { STARTUP_PROTECTION } else { AUTO_RUN_PROTECTION }))
    }

    /// Returns why a path is protected because a protected name is a symlink to
    /// it or to one of its parent directories.
    fn protection_by_link(
        &self,
        folded: &Path,
        by_name: impl Fn(&Path) -> Option<PlaceProtection>,
    ) -> Option<PlaceProtection> {
        if device_name(folded).is_some() {
            return None;
        }
        let targets = self.link_targets();
        let mut found = None;
        for (target, name) in targets.names(folded) {
            // A user who works in the directory intends to change it, unless it
            // is secret.
            let is_worked_in = || self.workspace.as_deref().is_some_and(|it| is_within(it, target));
            let is_meant = |it: &PlaceProtection| {
                matches!(it.kind, ProtectedKind::Startup | ProtectedKind::AutoRun) && is_worked_in()
            };
            let by_name = || by_name(&name).filter(|it| !is_meant(it));
            found = PlaceProtection::strictest(found, by_name);
        }
        found
    }

    /// Returns the canonical paths of secret names that are symlinks or are in
    /// symlinked directories: they must be hidden in addition to the names.
    pub fn linked_targets(&self) -> Vec<PathBuf> {
        let targets = self.link_targets();
        let mut found: Vec<PathBuf> = Vec::new();
        for (real, name) in &targets.pairs {
            if self.read_protection_by_name(&fold_path(name)).is_some() {
                found.push(real.clone());
                continue;
            }
            // Only these entries of the directory are secret.
            let within = self.named.iter().filter_map(|place| place.strip_prefix(name).ok());
            found.extend(within.map(|below| real.join(below)).filter(|place| place.exists()));
        }
        found.sort();
        found.dedup();
        found
    }

    fn link_targets(&self) -> Arc<LinkTargets> {
        self.links.targets(Instant::now(), || self.survey_links())
    }

    fn survey_links(&self) -> (LinkSurvey, LinkTargets) {
        let mut survey = LinkSurvey::default();
        for (root, tree) in self.roots() {
            let found = tree.survey(root);
            survey.links.extend(found.links);
            survey.directories.extend(found.directories);
        }
        if let Some(workspace) = &self.places.workspace {
            let is_protected =
                |path: &Path| self.write_protection_by_name(&fold_path(path)).is_some();
            search_links(workspace, &mut survey, is_protected);
        }
        // A symlink to a parent of the home directory must not close all of it.
        let holds_home =
            |real: &Path| self.places.home.as_ref().is_some_and(|it| it.starts_with(real));
        let targets = LinkTargets::new(&survey.links, |real| !holds_home(real));
        (survey, targets)
    }

    /// Returns why a file must not be created here, if so: a `.git` file
    /// locates the repository, and with it the settings and hooks that apply. A
    /// directory of that name is a repository, which git itself manages.
    pub fn git_pointer_protection(real: &Path) -> Option<PlaceProtection> {
        let named = real.file_name().is_some_and(|name| name.eq_ignore_ascii_case(".git"));
        let reason = "where git looks for a repository and its settings";
        (named && !real.is_dir()).then_some(PlaceProtection::setup(reason))
    }

    /// Returns the secret places with a fixed path.
    pub fn named_secrets(&self) -> &[PathBuf] {
        &self.named
    }

    /// Returns the directories below the home directory that directly contain a
    /// secret name, without duplicates. Cached, since every judged command
    /// visits all of them.
    pub fn name_directories(&self) -> &[PathBuf] {
        self.name_directories.get_or_init(|| {
            let home = self.places.home.as_deref();
            let is_in_home = |path: &&Path| home.is_some_and(|home| path.starts_with(home));
            let parents = self.named.iter().filter_map(|path| path.parent()).filter(is_in_home);
            let mut directories: Vec<PathBuf> = parents.map(Path::to_path_buf).collect();
            directories.sort();
            directories.dedup();
            directories
        })
    }

    /// Returns the secret places that exist or may soon, except those that
    /// match in any directory.
    pub fn present_secrets(&self) -> Vec<PathBuf> {
        let mut present: Vec<PathBuf> = Vec::new();
        let is_below_root =
            |path: &Path| self.roots().iter().any(|(root, _)| is_within(path, root));
        present.extend(
            self.named.iter().filter(|path| !is_below_root(path) && path.exists()).cloned(),
        );
        for (root, tree) in self.roots() {
            let found = tree.survey(root).present;
            let is_secret = |path: &PathBuf| self.named.contains(path);
            present.extend(found.into_iter().filter(is_secret));
        }
        present.extend(self.transient.iter().cloned());
        present.extend(self.wildcard.iter().flat_map(|pattern| expand_wildcard(pattern)));
        present
    }

    /// Returns the name patterns of secrets in any directory, with at most one
    /// star each, and the names that only look like secrets.
    pub(crate) fn secret_name_patterns() -> (Vec<String>, Vec<String>) {
        let names =
            SECRET_FILES.iter().chain(DOTENV_FILES).filter_map(|item| item.strip_prefix("**/"));
        let names = names.filter(|name| !name.contains('/') && name.matches('*').count() <= 1);
        let owned = |name: &str| name.to_owned();
        (names.map(owned).collect(), DOTENV_EXAMPLES.iter().map(|name| owned(name)).collect())
    }

    /// Returns the places with a fixed path that programs trust once they
    /// exist. History files are excluded: no program trusts them.
    pub(crate) fn trusted_places(&self) -> impl Iterator<Item = &PathBuf> {
        let is_history = |path: &Path| path.as_os_str().as_bytes().ends_with(b"_history");
        self.named.iter().chain(&self.guarded).filter(move |path| !is_history(path))
    }

    /// Returns the places with a fixed path that may be read but not written.
    pub fn guarded_places(&self) -> &[PathBuf] {
        &self.guarded
    }

    /// Returns why deleting a directory is restricted: it contains an existing
    /// protected place, or is the symlink target of one.
    pub fn removal_protection(&self, directory: &Path) -> Option<PlaceProtection> {
        let targets = self.link_targets();
        let is_in = |path: &Path| path != directory && path.starts_with(directory);
        let mut linked = targets.pairs.iter().filter(|(real, _)| is_in(real));
        if linked.any(|(_, name)| self.read_protection_by_name(&fold_path(name)).is_some()) {
            return Some(HOLDS_PROTECTED_PLACE);
        }
        let names = targets.pairs.iter().filter(|(real, _)| real == directory);
        let names = names.map(|(_, name)| name.as_path());
        names.chain([directory]).fold(None, |found, name| {
            PlaceProtection::strictest(found, || self.holds_protected(name))
        })
    }

    fn holds_protected(&self, directory: &Path) -> Option<PlaceProtection> {
        let is_in = |path: &&PathBuf| *path != directory && path.starts_with(directory);
        let holds = |list: &[PathBuf]| list.iter().filter(is_in).any(|path| path.exists());
        let (setup, startup) = self.guarded.split_at_checked(self.setup_count)?;
        if holds(&self.named) || holds(setup) {
            return Some(HOLDS_PROTECTED_PLACE);
        }
        let reason = "a directory that contains start-up files";
        holds(startup).then_some(PlaceProtection { reason, ..STARTUP_PROTECTION })
    }
}

/// Adds the protected symlinks in the top levels of a directory.
fn search_links(directory: &Path, survey: &mut LinkSurvey, is_protected: impl Fn(&Path) -> bool) {
    let (mut names, mut directories) = (MAX_WORKSPACE_NAMES, MAX_WORKSPACE_DIRECTORIES);
    let mut level = vec![directory.to_owned()];
    survey.directories.push(directory.to_owned());
    for depth in 0..=MAX_WORKSPACE_DEPTH {
        let mut deeper = Vec::new();
        for place in level {
            for entry in fs::read_dir(&place).into_iter().flatten().flatten() {
                let Some(left) = names.checked_sub(1) else { return };
                names = left;
                let Ok(kind) = entry.file_type() else { continue };
                if kind.is_symlink() {
                    let path = entry.path();
                    survey.links.extend(is_protected(&path).then_some(path));
                } else if kind.is_dir() && depth < MAX_WORKSPACE_DEPTH && directories > 0 {
                    let name = entry.file_name();
                    if !SKIPPED_DIRS.iter().any(|own| name == *own) {
                        directories -= 1;
                        deeper.push(entry.path());
                    }
                }
            }
        }
        level = deeper;
    }
}

fn is_dotenv_example(path: &Path) -> bool {
    let name = path.as_os_str().as_bytes().rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    DOTENV_EXAMPLES.iter().any(|example| example.as_bytes().eq_ignore_ascii_case(name))
}

/// Returns the part of a path below `/dev`.
fn device_name(path: &Path) -> Option<Cow<'_, str>> {
    let name = path.as_os_str().as_bytes().strip_prefix(b"/dev")?;
    let name = if name.is_empty() { name } else { name.strip_prefix(b"/")? };
    Some(String::from_utf8_lossy(name))
}

/// Returns the places of a list that have a fixed path. Kernel files in `/proc`
/// and `/dev` are left out.
fn named_places(base: Option<&Path>, list: &[&str]) -> Vec<PathBuf> {
    let plain = list.iter().filter_map(|item| {
        let item = item.strip_suffix("/**").unwrap_or(item);
        let is_plain = !item.contains(['*', '?', '[', '{']);
        match base {
            Some(base) if is_plain => Some(base.join(item)),
            None if is_plain && item.starts_with('/') => Some(PathBuf::from(item)),
            _ => None,
        }
    });
    plain.filter(|path| !path.starts_with("/proc") && !path.starts_with("/dev")).collect()
}

#[cfg(test)]
#[path = "sensitive_places_tests.rs"]
mod tests;
