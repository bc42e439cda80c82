//! The rules of a program, and what they close below a granted folder.

use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use hermes_core::{PendingSecrets, Effect, GrantExceptions, Scope};

use crate::aliases::{Aliases, Look};
use crate::level::{Answer, Level, Subject};
use crate::pattern::{Places, fold};
use crate::profile::Profile;
use crate::repositories::{LEVELS, search};
use crate::sensitive::{PlaceProtection, ProtectedKind, Sensitive};

/// How long a look at the secrets of the project counts. It is only made for
/// files with several names, of which some folders are full.
const FRESH: Duration = Duration::from_secs(2);
/// How many of them are kept.
const MOST: usize = 256;

/// Files by their file system and their number there, each with what it is.
type SecretFiles = Vec<((u64, u64), PlaceProtection)>;

/// A profile, what narrows it, and the places that they speak of.
#[derive(Debug)]
pub(crate) struct Rules {
    pub(crate) profile: Profile,
    pub(crate) narrowing: Vec<Profile>,
    pub(crate) places: Places,
    pub(crate) sensitive: Sensitive,
    /// The secrets that have a file, each by its file system and its number
    /// there; looked up once.
    secret_files: OnceLock<SecretFiles>,
    /// Those of the project, which come and go.
    project_files: Mutex<Option<(Instant, SecretFiles)>>,
    /// What is mounted twice.
    mounts: Look,
}

impl Rules {
    pub(crate) fn new(
        profile: Profile,
        narrowing: Vec<Profile>,
        places: Places,
        sensitive: Sensitive,
    ) -> Self {
        let (secret_files, project_files, mounts) = Default::default();
        Self { profile, narrowing, places, sensitive, secret_files, project_files, mounts }
    }

    /// Why a file is protected that is one of the secrets under another name.
    pub(crate) fn protects_file(&self, file: (u64, u64)) -> Option<PlaceProtection> {
        let find = |files: &SecretFiles| {
            files.iter().find(|(own, _)| *own == file).map(|(_, protection)| *protection)
        };
        let own = find(self.secret_files.get_or_init(|| secret_files(&self.sensitive)));
        PlaceProtection::strictest(own, || {
            let mut known = self.project_files.lock().unwrap_or_else(PoisonError::into_inner);
            known.take_if(|(since, _)| since.elapsed() >= FRESH);
            find(&known.get_or_insert_with(|| (Instant::now(), self.project_secrets())).1)
        })
    }

    /// The secrets at the top of the workspace and some way down, but for those
    /// that the profile lays open.
    fn project_secrets(&self) -> SecretFiles {
        let (names, except) = Sensitive::anywhere();
        let awaited = PendingSecrets { name_patterns: names, excluded_patterns: except, ..PendingSecrets::default() };
        let mut paths = Vec::new();
        if let Some(folder) = &self.places.workspace {
            search(folder, LEVELS, |place, _, name| {
                if awaited.matches_name(name) {
                    paths.push(place.join(name));
                }
                if paths.len() < MOST { Some(name != ".git") } else { None }
            });
        }
        let is_open = |path: &Path| self.profile.sensitive_paths.iter().any(|it| it.matches(path));
        let file = |path: &PathBuf| {
            let identity = hermes_files::file_identity(path).ok()?;
            let protection = self.sensitive.refuses_read(&fold(path))?;
            Some(((identity.dev, identity.ino), another_name(protection)))
        };
        paths.iter().filter(|path| !is_open(path)).filter_map(file).collect()
    }

    /// The profile, then everything that narrows it.
    pub(crate) fn layers(&self) -> impl Iterator<Item = &Profile> {
        std::iter::once(&self.profile).chain(&self.narrowing)
    }

    /// Everybody who has a say in the calls of a tool.
    pub(crate) fn levels(&self, tool: &str, tainted: bool) -> impl Iterator<Item = &Level> {
        self.layers().flat_map(move |profile| {
            let own = profile.tools.iter().filter(move |own| own.tool.matches(tool));
            let after = profile.after_untrusted.iter().filter(move |_| tainted);
            let after = after.map(|after| &after.level);
            std::iter::once(&profile.level).chain(own.map(|own| &own.level)).chain(after)
        })
    }

    /// Why a place is protected, if it is and no profile lays it open. The
    /// path comes as it really is and folded.
    pub(crate) fn protects(
        &self,
        scope: &Scope,
        real: &Path,
        folded: &Path,
    ) -> Option<PlaceProtection> {
        if self.profile.sensitive_paths.iter().any(|pattern| pattern.matches(real)) {
            return None;
        }
        if scope.verb() == "read" {
            let named = self.sensitive.refuses_read(folded);
            let holds_key =
                || holds_private_key(real).then_some(PlaceProtection::secret("a private key"));
            PlaceProtection::strictest(named, holds_key)
        } else {
            let points = *scope == Scope::FILE_WRITE;
            let named = self.sensitive.refuses_write(folded);
            // To run such a file is not to change it.
            let is_kept = |it: &PlaceProtection| {
                it.kind != ProtectedKind::SelfRunning || scope.family() == "file"
            };
            PlaceProtection::strictest(named.filter(is_kept), || {
                points.then(|| Sensitive::refuses_pointer(real)).flatten()
            })
        }
    }
}

impl Rules {
    /// What is mounted twice.
    pub(crate) fn aliases(&self) -> Arc<Aliases> {
        self.mounts.aliases()
    }

    /// Why a place is protected under another path that a mount gives it.
    pub(crate) fn protects_elsewhere(&self, scope: &Scope, real: &Path) -> Option<PlaceProtection> {
        let aliases = self.aliases();
        aliases.others(real).fold(None, |found, other| {
            PlaceProtection::strictest(found, || self.protects(scope, &other, &fold(&other)))
        })
    }
}

/// The same protection under another name.
fn another_name(protection: PlaceProtection) -> PlaceProtection {
    PlaceProtection { reason: "another name of a secret", ..protection }
}

/// The secrets that are there.
fn secret_files(sensitive: &Sensitive) -> SecretFiles {
    const MOST: usize = 2000;
    let mut found = Vec::new();
    for path in &sensitive.present() {
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten().map(|e| e.path());
        for file in entries.chain([path.clone()]).take(MOST) {
            let is_file = std::fs::metadata(&file).is_ok_and(|found| found.is_file());
            if let (true, Ok(identity)) = (is_file, hermes_files::file_identity(&file)) {
                let protection = another_name(PlaceProtection::secret(""));
                found.push(((identity.dev, identity.ino), protection));
            }
        }
    }
    found
}

/// Whether a file whose name speaks of keys has a private one in it. A
/// certificate has the same ending and may be read.
fn holds_private_key(real: &Path) -> bool {
    const FIRST: u64 = 4096;
    let name = real.as_os_str().as_bytes().rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    let speaks = [&b".pem"[..], b".key", b".ppk", b"_key", b"-key"];
    if !speaks.iter().any(|end| name.ends_with(end)) {
        return false;
    }
    let is_file = std::fs::symlink_metadata(real).is_ok_and(|found| found.is_file());
    let mut head = Vec::new();
    let read = is_file
        && std::fs::File::open(real)
            .is_ok_and(|file| file.take(FIRST).read_to_end(&mut head).is_ok());
    read && (memmem(&head, b"PRIVATE KEY-----") || head.starts_with(b"PuTTY-User-Key-File"))
}

fn memmem(text: &[u8], wanted: &[u8]) -> bool {
    text.windows(wanted.len()).any(|window| window == wanted)
}

/// What a tool may not touch below a folder that it was granted.
pub(crate) struct Closed {
    rules: Arc<Rules>,
    tool: Box<str>,
    tainted: bool,
    /// Whether any level says something of single paths; if not, only the
    /// protected places are closed.
    by_path: OnceLock<[bool; 3]>,
    /// What the rules may say of a place that is open all the same.
    tolerated: Answer,
    /// The real places that the call named, and that were judged one by one.
    judged: Vec<PathBuf>,
    /// Whether questions count as answered with yes.
    is_unasked: bool,
}

const FILES: [Scope; 3] = [Scope::FILE_READ, Scope::FILE_WRITE, Scope::FILE_DELETE];

impl Closed {
    pub(crate) fn new(rules: Arc<Rules>, tool: &str, tainted: bool, tolerated: Answer) -> Self {
        let (by_path, judged, is_unasked) = Default::default();
        Self { rules, tool: tool.into(), tainted, by_path, tolerated, judged, is_unasked }
    }

    /// The same, but for what the call named itself.
    pub(crate) fn but_for(self, judged: Vec<PathBuf>) -> Self {
        Self { judged, ..self }
    }

    /// The same, where questions count as answered with yes.
    pub(crate) fn unasked(self, is_unasked: bool) -> Self {
        Self { is_unasked, ..self }
    }

    /// Whether a protected place stays closed. Nobody is asked about what lies
    /// in a folder, so that what would be asked about is closed.
    fn stays_closed(&self, real: &Path, protection: Option<PlaceProtection>) -> bool {
        let is_judged = || self.judged.iter().any(|own| own == real);
        match protection.map(|protection| protection.kind.answer()) {
            None | Some(Answer::Allow) => false,
            Some(Answer::Ask) => !self.is_unasked && !is_judged(),
            Some(Answer::Deny) => true,
        }
    }

    fn levels(&self) -> impl Iterator<Item = &Level> {
        self.rules.levels(&self.tool, self.tainted)
    }

    fn judges_paths(&self, scope: &Scope) -> bool {
        let by_path = self.by_path.get_or_init(|| {
            FILES.each_ref().map(|scope| self.levels().any(|level| level.judges_paths(scope)))
        });
        let about = FILES.iter().position(|file| file == scope);
        about.and_then(|at| by_path.get(at)).is_some_and(|by_path| *by_path)
    }
}

impl GrantExceptions for Closed {
    fn denies_hard_linked(&self, _: &Scope, real: &Path, file: (u64, u64)) -> bool {
        let is_open = || self.rules.profile.sensitive_paths.iter().any(|open| open.matches(real));
        self.stays_closed(real, self.rules.protects_file(file)) && !is_open()
    }

    fn denies(&self, scope: &Scope, real: &Path) -> bool {
        let folded = fold(real);
        if self.stays_closed(real, self.rules.protects(scope, real, &folded)) {
            return true;
        }
        let is_open = || self.rules.profile.sensitive_paths.iter().any(|open| open.matches(real));
        if self.stays_closed(real, self.rules.protects_elsewhere(scope, real)) && !is_open() {
            return true;
        }
        if !self.judges_paths(scope) {
            return false;
        }
        let effect = Effect::path(scope.clone(), real);
        let subject = Subject {
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
