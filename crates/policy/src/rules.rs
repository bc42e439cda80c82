//! The rules of a profile, and what they exclude from a granted directory.

use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use hermes_core::{Effect, GrantExceptions, PendingSecrets, Scope};
use parking_lot::Mutex;

use crate::level::{PolicyAnswer, PolicyLevel, RuleSubject};
use crate::mount_aliases::{MountAliasCache, MountAliases};
use crate::pattern::{PathVariables, fold_path};
use crate::profile::PermissionProfile;
use crate::repositories::{MAX_SEARCH_DEPTH, search_names};
use crate::sensitive_places::{PlaceProtection, ProtectedKind, SensitivePlaces};

/// How long a scan for the project's secrets is valid. It runs only for files
/// with several hard links, and some directories are full of those.
const SECRET_SCAN_TTL: Duration = Duration::from_secs(2);
/// Maximum number of project secrets kept.
const MAX_PROJECT_SECRETS: usize = 256;

/// Files by device and inode number, each with its protection.
type SecretFiles = Vec<((u64, u64), PlaceProtection)>;

/// A profile, the profiles that narrow it, and the paths they refer to.
#[derive(Debug)]
pub(crate) struct RuleSet {
    pub(crate) profile: PermissionProfile,
    pub(crate) narrowing: Vec<PermissionProfile>,
    pub(crate) places: PathVariables,
    pub(crate) sensitive: SensitivePlaces,
    /// The existing secret files, by device and inode number; looked up once.
    secret_files: OnceLock<SecretFiles>,
    /// The secret files of the project, which change over time.
    project_files: Mutex<Option<(Instant, SecretFiles)>>,
    /// Paths that are mounted more than once.
    mounts: MountAliasCache,
}

impl RuleSet {
    pub(crate) fn new(
        profile: PermissionProfile,
        narrowing: Vec<PermissionProfile>,
        places: PathVariables,
        sensitive: SensitivePlaces,
    ) -> Self {
        let (secret_files, project_files, mounts) = Default::default();
        Self { profile, narrowing, places, sensitive, secret_files, project_files, mounts }
    }

    /// Returns the protection of a file that is a hard link to a secret.
    pub(crate) fn file_protection(&self, file: (u64, u64)) -> Option<PlaceProtection> {
        let find = |files: &SecretFiles| {
            files.iter().find(|(own, _)| *own == file).map(|(_, protection)| *protection)
        };
        let own = find(self.secret_files.get_or_init(|| secret_files(&self.sensitive)));
        PlaceProtection::strictest(own, || {
            let mut known = self.project_files.lock();
            known.take_if(|(since, _)| since.elapsed() >= SECRET_SCAN_TTL);
            find(&known.get_or_insert_with(|| (Instant::now(), self.project_secrets())).1)
        })
    }

    /// Returns the secrets at the top levels of the workspace, except those
    /// that the profile opens.
    fn project_secrets(&self) -> SecretFiles {
        let (names, except) = SensitivePlaces::secret_name_patterns();
        let awaited = PendingSecrets {
            name_patterns: names,
            excluded_patterns: except,
            ..PendingSecrets::default()
        };
        let mut paths = Vec::new();
        if let Some(dir) = &self.places.workspace {
            search_names(dir, MAX_SEARCH_DEPTH, |place, _, name| {
                if awaited.matches_name(name) {
                    paths.push(place.join(name));
                }
                if paths.len() < MAX_PROJECT_SECRETS { Some(name != ".git") } else { None }
            });
        }
        let is_open = |path: &Path| self.profile.sensitive_paths.iter().any(|it| it.matches(path));
        let file = |path: &PathBuf| {
            let identity = hermes_files::file_identity(path).ok()?;
            let protection = self.sensitive.read_protection(&fold_path(path))?;
            Some(((identity.dev, identity.ino), under_another_name(protection)))
        };
        paths.iter().filter(|path| !is_open(path)).filter_map(file).collect()
    }

    /// Returns the profile, then every profile that narrows it.
    pub(crate) fn layers(&self) -> impl Iterator<Item = &PermissionProfile> {
        std::iter::once(&self.profile).chain(&self.narrowing)
    }

    /// Returns every level that applies to the calls of a tool.
    pub(crate) fn levels(&self, tool: &str, tainted: bool) -> impl Iterator<Item = &PolicyLevel> {
        self.layers().flat_map(move |profile| {
            let own = profile.tools.iter().filter(move |own| own.tool.matches(tool));
            let after = profile.after_untrusted.iter().filter(move |_| tainted);
            let after = after.map(|after| &after.level);
            std::iter::once(&profile.level).chain(own.map(|own| &own.level)).chain(after)
        })
    }

    /// Returns why a path is protected, unless a profile opens it. The path is
    /// given both canonicalized and folded.
    pub(crate) fn path_protection(
        &self,
        scope: &Scope,
        real: &Path,
        folded: &Path,
    ) -> Option<PlaceProtection> {
        if self.profile.sensitive_paths.iter().any(|pattern| pattern.matches(real)) {
            return None;
        }
        if scope.verb() == "read" {
            let named = self.sensitive.read_protection(folded);
            let holds_key =
                || holds_private_key(real).then_some(PlaceProtection::secret("a private key"));
            PlaceProtection::strictest(named, holds_key)
        } else {
            let points = *scope == Scope::FILE_WRITE;
            let named = self.sensitive.write_protection(folded);
            // Running such a file does not change it.
            let is_kept = |it: &PlaceProtection| {
                it.kind != ProtectedKind::AutoRun || scope.family() == "file"
            };
            PlaceProtection::strictest(named.filter(is_kept), || {
                points.then(|| SensitivePlaces::git_pointer_protection(real)).flatten()
            })
        }
    }
}

impl RuleSet {
    /// Returns the paths that are mounted more than once.
    pub(crate) fn aliases(&self) -> Arc<MountAliases> {
        self.mounts.aliases()
    }

    /// Returns why a path is protected through another mount of the same file.
    pub(crate) fn alias_protection(&self, scope: &Scope, real: &Path) -> Option<PlaceProtection> {
        let aliases = self.aliases();
        aliases.other_paths(real).fold(None, |found, other| {
            PlaceProtection::strictest(found, || {
                self.path_protection(scope, &other, &fold_path(&other))
            })
        })
    }
}

/// Returns the same protection with the reason for an alias.
fn under_another_name(protection: PlaceProtection) -> PlaceProtection {
    PlaceProtection { reason: "another name for a secret", ..protection }
}

/// Returns the secret files that exist.
fn secret_files(sensitive: &SensitivePlaces) -> SecretFiles {
    const MAX_SECRET_FILES: usize = 2000;
    let mut found = Vec::new();
    for path in &sensitive.present_secrets() {
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten().map(|e| e.path());
        for file in entries.chain([path.clone()]).take(MAX_SECRET_FILES) {
            let is_file = std::fs::metadata(&file).is_ok_and(|found| found.is_file());
            if let (true, Ok(identity)) = (is_file, hermes_files::file_identity(&file)) {
                let protection = under_another_name(PlaceProtection::secret(""));
                found.push(((identity.dev, identity.ino), protection));
            }
        }
    }
    found
}

/// Whether a file whose name suggests a key contains a private one. A
/// certificate has the same extension and may be read.
fn holds_private_key(real: &Path) -> bool {
    const KEY_HEADER_BYTES: u64 = 4096;
    let name = real.as_os_str().as_bytes().rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    let speaks = [&b".pem"[..], b".key", b".ppk", b"_key", b"-key"];
    if !speaks.iter().any(|end| name.ends_with(end)) {
        return false;
    }
    let is_file = std::fs::symlink_metadata(real).is_ok_and(|found| found.is_file());
    let mut head = Vec::new();
    let read = is_file
        && std::fs::File::open(real)
            .is_ok_and(|file| file.take(KEY_HEADER_BYTES).read_to_end(&mut head).is_ok());
    read && (contains_bytes(&head, b"PRIVATE KEY-----") || head.starts_with(b"PuTTY-User-Key-File"))
}

fn contains_bytes(text: &[u8], wanted: &[u8]) -> bool {
    text.windows(wanted.len()).any(|window| window == wanted)
}

/// Paths that a tool may not touch below a granted directory.
pub(crate) struct RuleExceptions {
    rules: Arc<RuleSet>,
    tool: Box<str>,
    tainted: bool,
    /// For each file scope, whether any level judges individual paths; if none
    /// does, only the protected places are closed.
    by_path: OnceLock<[bool; 3]>,
    /// The strictest answer of the rules that still leaves a path open.
    tolerated: PolicyAnswer,
    /// The canonical paths that the call named, judged individually.
    judged: Vec<PathBuf>,
    /// Whether questions count as approved.
    is_auto_approved: bool,
}

const FILE_SCOPES: [Scope; 3] = [Scope::FILE_READ, Scope::FILE_WRITE, Scope::FILE_DELETE];

impl RuleExceptions {
    pub(crate) fn new(
        rules: Arc<RuleSet>,
        tool: &str,
        tainted: bool,
        tolerated: PolicyAnswer,
    ) -> Self {
        let (by_path, judged, is_unasked) = Default::default();
        Self {
            rules,
            tool: tool.into(),
            tainted,
            by_path,
            tolerated,
            judged,
            is_auto_approved: is_unasked,
        }
    }

    /// Exempts the paths that the call itself named.
    pub(crate) fn excluding(self, judged: Vec<PathBuf>) -> Self {
        Self { judged, ..self }
    }

    /// Sets whether questions count as approved.
    pub(crate) fn auto_approved(self, is_unasked: bool) -> Self {
        Self { is_auto_approved: is_unasked, ..self }
    }

    /// Whether a protected place stays closed. The user is not asked about the
    /// contents of a directory, so anything that would need a question is
    /// closed.
    fn stays_closed(&self, real: &Path, protection: Option<PlaceProtection>) -> bool {
        let is_judged = || self.judged.iter().any(|own| own == real);
        match protection.map(|protection| protection.kind.answer()) {
            None | Some(PolicyAnswer::Allow) => false,
            Some(PolicyAnswer::Ask) => !self.is_auto_approved && !is_judged(),
            Some(PolicyAnswer::Deny) => true,
        }
    }

    fn levels(&self) -> impl Iterator<Item = &PolicyLevel> {
        self.rules.levels(&self.tool, self.tainted)
    }

    fn judges_paths(&self, scope: &Scope) -> bool {
        let by_path = self.by_path.get_or_init(|| {
            FILE_SCOPES.each_ref().map(|scope| self.levels().any(|level| level.judges_paths(scope)))
        });
        let about = FILE_SCOPES.iter().position(|file| file == scope);
        about.and_then(|at| by_path.get(at)).is_some_and(|by_path| *by_path)
    }
}

impl GrantExceptions for RuleExceptions {
    fn denies_hard_linked(&self, _: &Scope, real: &Path, file: (u64, u64)) -> bool {
        let is_open = || self.rules.profile.sensitive_paths.iter().any(|open| open.matches(real));
        self.stays_closed(real, self.rules.file_protection(file)) && !is_open()
    }

    fn denies(&self, scope: &Scope, real: &Path) -> bool {
        let folded = fold_path(real);
        if self.stays_closed(real, self.rules.path_protection(scope, real, &folded)) {
            return true;
        }
        let is_open = || self.rules.profile.sensitive_paths.iter().any(|open| open.matches(real));
        if self.stays_closed(real, self.rules.alias_protection(scope, real)) && !is_open() {
            return true;
        }
        if !self.judges_paths(scope) {
            return false;
        }
        let effect = Effect::path(scope.clone(), real);
        let subject = RuleSubject {
            effect: &effect,
            real: Some(real),
            folded: Some((&folded, &folded)),
            leaf: None,
            command: None,
            own_loopback: false,
        };
        self.levels().any(|level| {
            level.judge(&subject).is_some_and(|opinion| opinion.answer > self.tolerated)
        })
    }
}
