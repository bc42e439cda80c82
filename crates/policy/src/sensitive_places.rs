//! Places that are protected in every profile, unless one lays them open by
//! name: keys, credential stores, devices, start-up files, our own state. Most
//! are never touched; some are touched if a person agrees.

use std::borrow::Cow;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use crate::globs::LazyGlobs;
use crate::level::PolicyAnswer;
use crate::linked_places::{LinkCache, LinkSurvey, LinkTargets};
use crate::pattern::{PathVariables, escape_glob, fold_path, is_within};
use crate::place_tree::PlaceTree;
use crate::protected_places::{
    AUTO_RUN_FILES, DOTENV_EXAMPLES, DOTENV_FILES, HARMLESS_DEVICES, HERMES_HOME_OPEN,
    HERMES_HOME_SECRET, HERMES_HOME_TRANSIENT, HOME_CREDENTIALS, HOME_STARTUP, SECRET_FILES,
    SYSTEM_SETUP,
};
use crate::wildcard_places::{expand_wildcard, is_wildcard_place};

/// How far down in the workspace links are looked for, and in how many
/// directories and among how many names.
const MAX_WORKSPACE_DEPTH: usize = 2;
const MAX_WORKSPACE_DIRECTORIES: usize = 64;
const MAX_WORKSPACE_NAMES: usize = 4096;

/// Directories that are full of other things.
const SKIPPED_DIRS: &[&str] = &[".git", "node_modules", "target", "__pycache__", ".venv", "venv"];

/// What kind of place is protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProtectedKind {
    /// Keys, credentials, devices, our own state: neither read nor written.
    Secret,
    /// Settings of the system and of hermes: not written.
    Setup,
    /// Variables of a project, with secrets among them: asked about.
    Dotenv,
    /// What programs of the user run when they start: asked about if written.
    Startup,
    /// What programs run that open the directory: asked about if written.
    AutoRun,
}

impl ProtectedKind {
    /// What becomes of an effect on such a place.
    pub fn answer(self) -> PolicyAnswer {
        match self {
            Self::Secret | Self::Setup => PolicyAnswer::Deny,
            Self::Dotenv | Self::Startup | Self::AutoRun => PolicyAnswer::Ask,
        }
    }

    /// The word for it in approvals that last.
    pub(crate) fn category(self) -> &'static str {
        match self {
            Self::Secret => "secret",
            Self::Setup => "set-up",
            Self::Dotenv => "dotenv",
            Self::Startup => "start-up file",
            Self::AutoRun => "self-running file",
        }
    }

    /// The rule that messages quote.
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
    /// What kind of place it is.
    pub kind: ProtectedKind,
    /// What it is, as the end of a sentence.
    pub reason: &'static str,
}

impl PlaceProtection {
    pub(crate) fn secret(reason: &'static str) -> Self {
        Self { kind: ProtectedKind::Secret, reason }
    }

    pub(crate) fn setup(reason: &'static str) -> Self {
        Self { kind: ProtectedKind::Setup, reason }
    }

    /// The stricter of two; the first of equals.
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

const HOLDS_PROTECTED_PLACE: PlaceProtection =
    PlaceProtection { kind: ProtectedKind::Setup, reason: "a folder with a protected place in it" };
const DOTENV_PROTECTION: PlaceProtection = PlaceProtection {
    kind: ProtectedKind::Dotenv,
    reason: "a file of variables, which may have secrets among their values",
};
const STARTUP_PROTECTION: PlaceProtection = PlaceProtection {
    kind: ProtectedKind::Startup,
    reason: "run or trusted by other programs of yours when they start",
};
const AUTO_RUN_PROTECTION: PlaceProtection = PlaceProtection {
    kind: ProtectedKind::AutoRun,
    reason: "run or obeyed by other programs by themselves, outside of the sandbox",
};

/// The protected places, ready to be asked.
#[derive(Debug, Clone)]
pub struct SensitivePlaces {
    places: PathVariables,
    /// All that is not simply read. Nearly every path is in none of the sets,
    /// so that two questions are enough.
    unreadable: LazyGlobs,
    /// All that is not simply written besides.
    unwritable: LazyGlobs,
    open: LazyGlobs,
    /// What is protected how; only of interest once something is.
    sets: OnceLock<ProtectedSets>,
    hermes: PathBuf,
    workspace: Option<PathBuf>,
    /// The directories below which names are looked for, each with its names.
    roots: OnceLock<Vec<(PathBuf, PlaceTree)>>,
    links: Arc<LinkCache>,
    name_directories: OnceLock<Vec<PathBuf>>,
    /// What can be named one by one, for the sandbox.
    named: Vec<PathBuf>,
    /// What of these may come to be at any time.
    transient: Vec<PathBuf>,
    /// What has a star in its name, but a fixed place to look for it.
    wildcard: Vec<String>,
    /// What is read, but not written; first what nobody may agree to.
    guarded: Vec<PathBuf>,
    setup_count: usize,
}

/// The sets apart.
#[derive(Debug, Clone)]
struct ProtectedSets {
    secret: LazyGlobs,
    setup: LazyGlobs,
    startup: LazyGlobs,
}

/// The patterns of all lists, by the directories that they are below.
struct PlacePatterns {
    home: Option<String>,
    hermes: String,
    /// Our home may be elsewhere this time, and be here the next.
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
        prefix_all(self.home.as_deref(), HOME_STARTUP)
    }

    /// Many of the patterns begin with these.
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
    /// The protected places of this user on this machine.
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
        guarded.extend(of_home(HOME_STARTUP));
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
        // Looked for on the disk, so spelled as it is there.
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

    /// The directories below which names are looked for, each with its names.
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

    /// Whether the path is where a container engine listens.
    pub(crate) fn is_container_socket(path: &Path) -> bool {
        let listed = SECRET_FILES.iter().filter(|place| place.ends_with(".sock"));
        listed.into_iter().any(|place| path == Path::new(place))
    }

    /// Why a file is not simply read, if so. The path is real and
    /// [folded](crate::fold).
    pub fn read_protection(&self, folded: &Path) -> Option<PlaceProtection> {
        let own = self.read_protection_by_name(folded);
        PlaceProtection::strictest(own, || {
            self.protection_by_link(folded, |name| self.read_protection_by_name(name))
        })
    }

    /// Why a file is not simply written or deleted, if so; the same of the
    /// path.
    pub fn write_protection(&self, folded: &Path) -> Option<PlaceProtection> {
        let own = self.write_protection_by_name(folded);
        PlaceProtection::strictest(own, || {
            self.protection_by_link(folded, |name| self.write_protection_by_name(name))
        })
    }

    /// Whether other programs run or obey a file by themselves.
    pub fn is_auto_run(&self, path: &Path) -> bool {
        self.write_protection(&fold_path(path)) == Some(AUTO_RUN_PROTECTION)
    }

    fn read_protection_by_name(&self, folded: &Path) -> Option<PlaceProtection> {
        if let Some(device) = device_name(folded) {
            // To list a folder is not to open what is in it.
            let is_harmless = HARMLESS_DEVICES.contains(&&*device) || folded.is_dir();
            return (!is_harmless).then_some(PlaceProtection::secret("a device"));
        }
        // A set that could not be made holds everything.
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
            let reason = "part of the system's, the shell's or hermes's own set-up";
            return Some(PlaceProtection::setup(reason));
        }
        let is_startup = self.sets().startup.is_match(folded).unwrap_or(true);
        unread.or(Some(if is_startup { STARTUP_PROTECTION } else { AUTO_RUN_PROTECTION }))
    }

    /// Why a place is protected by a name that is a link to it, or to a
    /// directory that it is in.
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
            // Somebody who works in the directory means it, unless it is secret.
            let is_worked_in = || self.workspace.as_deref().is_some_and(|it| is_within(it, target));
            let is_meant = |it: &PlaceProtection| {
                matches!(it.kind, ProtectedKind::Startup | ProtectedKind::AutoRun) && is_worked_in()
            };
            let by_name = || by_name(&name).filter(|it| !is_meant(it));
            found = PlaceProtection::strictest(found, by_name);
        }
        found
    }

    /// The real places of secret names that are symbolic links, or lie in
    /// directories that are: what has to be hidden besides the names.
    pub fn linked_targets(&self) -> Vec<PathBuf> {
        let targets = self.link_targets();
        let mut found: Vec<PathBuf> = Vec::new();
        for (real, name) in &targets.pairs {
            if self.read_protection_by_name(&fold_path(name)).is_some() {
                found.push(real.clone());
                continue;
            }
            // A directory of many things, of which these are secret.
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
        // What the home itself lies in is not for one name of it to close.
        let holds_home =
            |real: &Path| self.places.home.as_ref().is_some_and(|it| it.starts_with(real));
        let targets = LinkTargets::new(&survey.links, |real| !holds_home(real));
        (survey, targets)
    }

    /// Why a file must not be made here, if so: a file called `.git` says
    /// where the repository is, and with it whose settings and hooks count. A
    /// folder of that name is a repository, which git itself keeps.
    pub fn git_pointer_protection(real: &Path) -> Option<PlaceProtection> {
        let named = real.file_name().is_some_and(|name| name.eq_ignore_ascii_case(".git"));
        let reason = "where git looks for a repository and its settings";
        (named && !real.is_dir()).then_some(PlaceProtection::setup(reason))
    }

    /// The secret places that have a fixed name.
    pub fn named_secrets(&self) -> &[PathBuf] {
        &self.named
    }

    /// The directories below the home that a secret name lies right in, each
    /// once. Made only once: whoever judges a command looks at all of them.
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

    /// The secret places that are there now or may be soon, but for those that
    /// can be anywhere.
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

    /// Names by which secrets are known in any folder, with at most one star
    /// each, and those that only look like one.
    pub(crate) fn secret_name_patterns() -> (Vec<String>, Vec<String>) {
        let names =
            SECRET_FILES.iter().chain(DOTENV_FILES).filter_map(|item| item.strip_prefix("**/"));
        let names = names.filter(|name| !name.contains('/') && name.matches('*').count() <= 1);
        let owned = |name: &str| name.to_owned();
        (names.map(owned).collect(), DOTENV_EXAMPLES.iter().map(|name| owned(name)).collect())
    }

    /// The places with a fixed name that programs trust once they are there.
    /// Nobody trusts what a program remembers of what was typed.
    pub(crate) fn trusted_places(&self) -> impl Iterator<Item = &PathBuf> {
        let is_history = |path: &Path| path.as_os_str().as_bytes().ends_with(b"_history");
        self.named.iter().chain(&self.guarded).filter(move |path| !is_history(path))
    }

    /// The places with a fixed name that are read, but not written.
    pub fn guarded_places(&self) -> &[PathBuf] {
        &self.guarded
    }

    /// Why a directory is not simply deleted, if it holds one of the protected
    /// places that are there, or is one of them by a link.
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
        let reason = "a folder with start-up files in it";
        holds(startup).then_some(PlaceProtection { reason, ..STARTUP_PROTECTION })
    }
}

/// Adds the protected links in a directory and some way down.
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

/// What of a path is below `/dev`.
fn device_name(path: &Path) -> Option<Cow<'_, str>> {
    let name = path.as_os_str().as_bytes().strip_prefix(b"/dev")?;
    let name = if name.is_empty() { name } else { name.strip_prefix(b"/")? };
    Some(String::from_utf8_lossy(name))
}

/// The places of a list that have a fixed name. What the kernel shows in
/// `/proc` and `/dev` is not kept with the others.
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
