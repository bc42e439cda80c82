//! Files that hold secrets by their well-known names. A glob is held against
//! them, since what it will match cannot be looked up here.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use crate::static_names::StaticNameMap;
use crate::text::glob_match;

/// Names that hold secrets wherever they are.
const SECRET_FILE_NAMES: &[&str] = &[
    ".env",
    ".env.local",
    ".env.production",
    ".env.development",
    ".env.prod",
    ".envrc",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
];

/// Files and folders below the home folder: the folders above, the name.
const HOME_SECRETS: &[(&str, &str)] = &[
    ("", ".ssh"),
    ("", ".aws"),
    ("", ".gnupg"),
    ("", ".kube"),
    ("", ".azure"),
    (".docker", "config.json"),
    (".config", "gh"),
    (".config", "gcloud"),
    (".config", "op"),
    ("", ".netrc"),
    ("", ".pgpass"),
    ("", ".my.cnf"),
    ("", ".npmrc"),
    ("", ".pypirc"),
    ("", ".git-credentials"),
    (".cargo", "credentials.toml"),
    (".gem", "credentials"),
    ("", ".vault-token"),
    ("", ".password-store"),
    (".local/share", "keyrings"),
    (".hermes", "secrets.json"),
    ("", ".bashrc"),
    ("", ".bash_profile"),
    ("", ".profile"),
    ("", ".zshrc"),
    ("", ".gitconfig"),
];

/// What git runs or follows in a repository.
const GIT_CONTROL_FILES: &[&str] = &[
    ".git/config",
    ".git/config.worktree",
    ".git/commondir",
    ".git/hooks",
    ".git/info/attributes",
];

/// Files of the system, likewise.
const SYSTEM_SECRETS: &[(&str, &str)] = &[
    ("/etc", "shadow"),
    ("/etc", "shadow-"),
    ("/etc", "gshadow"),
    ("/etc", "sudoers"),
    ("/etc", "sudoers.d"),
    ("/etc", "krb5.keytab"),
    ("/etc/ssl", "private"),
    ("/etc/ssh", "ssh_host_rsa_key"),
    ("/etc/ssh", "ssh_host_ed25519_key"),
    ("/root", ".ssh"),
    ("/run", "secrets"),
    ("/var/run", "secrets"),
    ("/proc/self", "environ"),
    ("/proc/1", "environ"),
    ("/proc", "kcore"),
];

/// Names that hold a secret only in the right folder, but say so themselves.
const TELLING_FILE_NAMES: &[&str] =
    &["credentials", "credentials.json", "secrets.json", "environ", "shadow"];

/// Files that show how the ones with secrets are written.
const SAMPLE_EXTENSIONS: &[&str] = &["example", "sample", "template", "dist", "defaults", "schema"];

/// All these names, each with the folders that it holds a secret in; an empty
/// one stands for all of them.
static SECRET_DIRS_BY_NAME: LazyLock<StaticNameMap<Vec<&'static str>>> = LazyLock::new(|| {
    let mut names: StaticNameMap<Vec<&'static str>> = StaticNameMap::default();
    let anywhere = SECRET_FILE_NAMES.iter().map(|name| ("", *name));
    for (above, name) in anywhere.chain(HOME_SECRETS.iter().chain(SYSTEM_SECRETS).copied()) {
        names.entry(name).or_default().push(above);
    }
    names
});

/// Whether a path has the name of a secret in it, wherever that leads.
pub(crate) fn names_secret(path: &str) -> bool {
    parts_name_secret(path.split(['/', '(', ')', '|']))
}

/// The same of the parts of a path.
fn parts_name_secret<'p>(parts: impl Iterator<Item = &'p str>) -> bool {
    let mut before = "";
    parts.filter(|part| !part.is_empty()).any(|part| {
        let folder = std::mem::replace(&mut before, part);
        let sample = || part.rsplit('.').next().is_some_and(|end| SAMPLE_EXTENSIONS.contains(&end));
        let placed =
            |above: &&str| above.is_empty() || !folder.is_empty() && above.ends_with(folder);
        (part.starts_with(".env.")
            || SECRET_DIRS_BY_NAME.get(part).is_some_and(|all| all.iter().any(placed)))
            && !sample()
    })
}

/// Whether a path whose folder nobody knows ends like one of a secret.
pub(crate) fn may_name_secret(path: &str) -> bool {
    names_secret(path) || ends_like_secret(path)
}

fn ends_like_secret(path: &str) -> bool {
    path.contains(['.', '_']) && SECRET_FILE_NAMES.iter().any(|name| path.ends_with(name))
        || path.rsplit('/').next().is_some_and(|name| TELLING_FILE_NAMES.contains(&name))
}

/// Whether a secret is named anywhere in the source of a command.
pub(crate) fn mentions_secret(source: &str) -> bool {
    let source = source.as_bytes();
    let mut start = 0;
    let mut kinds = 0;
    for (at, byte) in source.iter().enumerate() {
        let kind = BYTE_KINDS[usize::from(*byte)];
        kinds |= kind;
        if kind == 0 {
            if is_secret_word(source.get(start..at).unwrap_or_default(), kinds) {
                return true;
            }
            (start, kinds) = (at + 1, 0);
        }
    }
    is_secret_word(source.get(start..).unwrap_or_default(), kinds)
}

/// Whether a word that has bytes of these kinds in it names a secret.
fn is_secret_word(word: &[u8], kinds: u8) -> bool {
    if kinds & QUOTE_BYTE != 0 {
        // Mostly they are around it.
        let is_quote = |byte: &u8| byte_kind(*byte) == QUOTE_BYTE;
        let start = word.iter().position(|byte| !is_quote(byte)).unwrap_or(word.len());
        let end = word.iter().rposition(|byte| !is_quote(byte)).map_or(start, |last| last + 1);
        let within = word.get(start..end).unwrap_or_default();
        if !within.iter().any(is_quote) {
            return is_secret_word(within, kinds & !QUOTE_BYTE);
        }
        let plain: Vec<u8> =
            word.iter().copied().filter(|byte| byte_kind(*byte) != QUOTE_BYTE).collect();
        return is_secret_word(&plain, kinds & !QUOTE_BYTE);
    }
    match kinds & MARK_BYTE != 0 {
        true => {
            let names = |word: &str| parts_name_secret(word.split('/')) || ends_like_secret(word);
            str::from_utf8(word).is_ok_and(names)
        }
        // All others have one of these in them, or need a folder.
        false => TELLING_FILE_NAMES.iter().any(|name| name.as_bytes() == word),
    }
}

/// May stand in the name of a secret, all of which are ASCII, or is a part of a
/// letter that another name begins or ends with.
const NAME_BYTE: u8 = 1;
/// The same, and nearly every such name has one of these.
const MARK_BYTE: u8 = 2;
/// May stand anywhere in a name, and is not of it.
const QUOTE_BYTE: u8 = 4;

const fn byte_kind(byte: u8) -> u8 {
    match byte {
        b'.' | b'/' | b'_' => MARK_BYTE,
        b'\'' | b'"' | b'\\' => QUOTE_BYTE,
        b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'-' | b'~' | 128.. => NAME_BYTE,
        _ => 0,
    }
}

static BYTE_KINDS: [u8; 256] = {
    let mut kinds = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        kinds[byte] = byte_kind(byte as u8);
        byte += 1;
    }
    kinds
};

/// What a glob, as an absolute path, may match.
pub(crate) fn matched_secrets(glob: &Path, home: Option<&Path>, hidden: bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    if let (Some(name), Some(folder)) = (glob.file_name(), glob.parent()) {
        let name = name.to_string_lossy();
        if constrains_name(&name) {
            let names = SECRET_FILE_NAMES.iter().filter(|known| matches_name(&name, known, hidden));
            found.extend(names.map(|known| folder.join(known)));
        }
    }
    for known in known_places(home) {
        found.extend(match_known_place(glob, &known, hidden));
    }
    found
}

/// What of a repository a glob that is written to may match: `.g?t/config`.
/// Only folders of the glob that have no star can be told.
pub(crate) fn matched_git_files(glob: &Path, hidden: bool) -> Vec<PathBuf> {
    // The repository may be in any of the folders above.
    let folders = || glob.ancestors().skip(1);
    let known =
        GIT_CONTROL_FILES.iter().flat_map(|name| folders().map(move |folder| folder.join(name)));
    known.filter_map(|known| match_known_place(glob, &known, hidden)).collect()
}

/// What is known below `roots` by a name that matches the glob.
pub(crate) fn secrets_named(name: &str, root: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = SECRET_FILE_NAMES
        .iter()
        .filter(|known| constrains_name(name) && glob_match(name, known))
        .map(|known| root.join(known))
        .collect();
    found.extend(known_places(home).filter(|known| {
        known.starts_with(root)
            && constrains_name(name)
            && known.file_name().is_some_and(|own| glob_match(name, &own.to_string_lossy()))
    }));
    found
}

fn known_places(home: Option<&Path>) -> impl Iterator<Item = PathBuf> {
    let at_home = HOME_SECRETS
        .iter()
        .filter_map(move |(above, name)| home.map(|home| home.join(above).join(name)));
    at_home.chain(SYSTEM_SECRETS.iter().map(|(above, name)| Path::new(above).join(name)))
}

/// Whether a glob says anything about the name at all.
fn constrains_name(glob: &str) -> bool {
    glob.contains(|c: char| !matches!(c, '*' | '?'))
}

/// Whether a shell would find this name: a hidden one only if the dot is written.
fn matches_name(glob: &str, name: &str, hidden: bool) -> bool {
    (hidden || !name.starts_with('.') || glob.starts_with('.')) && glob_match(glob, name)
}

/// The known place, or what the glob names below it.
fn match_known_place(glob: &Path, known: &Path, hidden: bool) -> Option<PathBuf> {
    let mut wanted = glob.components();
    let mut literal = true;
    for own in known.components() {
        let Some(part) = wanted.next() else {
            // The glob ends above the place: a folder that holds it is matched.
            return (!literal).then(|| known.to_path_buf());
        };
        let (part, own) = (part.as_os_str().to_string_lossy(), own.as_os_str().to_string_lossy());
        if part != own {
            literal = false;
            // Two stars go through any number of folders.
            if part == "**" && hidden {
                return Some(known.to_path_buf());
            }
            if !matches_name(&part, &own, hidden) {
                return None;
            }
        }
    }
    // A path without a glob up to here is judged as it stands.
    let rest = wanted.as_path();
    let below = |known: &Path| {
        if rest.as_os_str().is_empty() { known.to_path_buf() } else { known.join(rest) }
    };
    (!literal).then(|| below(known))
}

#[cfg(test)]
#[path = "secret_paths_tests.rs"]
mod tests;
