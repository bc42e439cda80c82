//! Names and paths of secrets, from the project's list of protected places.
//!
//! A glob is compared with the list, because the analysis does not read the
//! disk to learn what it matches.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use hermes_core::protected_places::{
    AUTO_RUN_FILES, DOTENV_EXAMPLES, DOTENV_NAMES, HERMES_HOME_SECRET, HOME_AUTOSTART,
    HOME_CREDENTIALS, HOME_PROGRAM_SETTINGS, HOME_SHELL_STARTUP, SECRET_FILES, SYSTEM_ACCOUNTS,
    SYSTEM_AUTOSTART, SYSTEM_SETUP, SYSTEM_SHELL_STARTUP,
};

use crate::static_names::StaticNameMap;
use crate::text::glob_match;

/// Names that hold a secret only in certain directories, but suggest it
/// anywhere.
const TELLING_FILE_NAMES: &[&str] =
    &["credentials", "credentials.json", "secrets.json", "environ", "shadow"];

/// Names that hold secrets in any directory.
static SECRET_FILE_NAMES: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let anywhere = SECRET_FILES.iter().filter_map(|place| place.strip_prefix("**/"));
    let named = anywhere.filter(|name| !name.contains(['*', '/']));
    DOTENV_NAMES.iter().copied().chain(named).collect()
});

/// Places below the home directory that are protected from reading or writing.
static HOME_PLACES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let lists = [HOME_CREDENTIALS, HOME_SHELL_STARTUP, HOME_AUTOSTART, HOME_PROGRAM_SETTINGS];
    let own = HERMES_HOME_SECRET.iter().map(|place| format!(".hermes/{place}"));
    let home = lists.into_iter().flatten().map(|place| (*place).to_owned());
    home.chain(own).filter_map(|place| literal_place(&place).map(str::to_owned)).collect()
});

/// System files that hold secrets. A place per process stands for this process
/// and the first one.
static SYSTEM_PLACES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let absolute = SECRET_FILES.iter().filter(|place| place.starts_with('/'));
    let spelled = absolute.flat_map(|place| match place.strip_prefix("/proc/*/") {
        Some(file) => vec![format!("/proc/self/{file}"), format!("/proc/1/{file}")],
        None => vec![(*place).to_owned()],
    });
    spelled.filter_map(|place| literal_place(&place).map(str::to_owned)).collect()
});

/// Files by which git runs programs or follows settings, below a repository.
static GIT_CONTROL_FILES: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let places = AUTO_RUN_FILES.iter().chain(SYSTEM_SETUP);
    let of_git = places.filter_map(|place| place.strip_prefix("**/"));
    of_git.filter(|place| place.starts_with(".git/")).filter_map(literal_place).collect()
});

/// The path of an entry of the lists: a tree is its root, a final star is left
/// out. None if the entry has a wildcard elsewhere.
fn literal_place(place: &str) -> Option<&str> {
    let place = place.strip_suffix("/**").or_else(|| place.strip_suffix('*')).unwrap_or(place);
    (!place.contains('*') && !place.ends_with('/')).then_some(place)
}

/// All names, each with the directories in which it holds a secret; an empty
/// one stands for all directories.
static SECRET_DIRS_BY_NAME: LazyLock<StaticNameMap<Vec<&'static str>>> = LazyLock::new(|| {
    let mut names: StaticNameMap<Vec<&'static str>> = StaticNameMap::default();
    for name in SECRET_FILE_NAMES.iter() {
        names.entry(*name).or_default().push("");
    }
    let startup = HOME_SHELL_STARTUP.iter().copied().chain([".gitconfig"]);
    let startup = startup.filter(|name| !name.contains('/'));
    let home = HOME_CREDENTIALS.iter().copied().chain(startup).filter_map(literal_place);
    let own = std::iter::once(".hermes/secrets.json");
    let system = SYSTEM_PLACES.iter().map(String::as_str);
    for place in home.chain(own).chain(system) {
        let (dirs, name) = place.rsplit_once('/').unwrap_or(("", place));
        let dir = dirs.rsplit('/').next().unwrap_or_default();
        names.entry(name).or_default().push(dir);
    }
    names
});

/// A finding's kind: what writing to a place changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StartupPlace {
    /// What every new shell runs.
    Shell,
    /// What starts automatically.
    Autostart,
    /// Who may log in, or where to.
    Login,
    /// Accounts and their rights.
    Accounts,
}

/// What a write to this path changes, if it makes something run later.
pub(crate) fn startup_place(path: &Path, home: Option<&Path>) -> Option<StartupPlace> {
    let below_home = home.and_then(|home| path.strip_prefix(home).ok()).and_then(|below| {
        let is_in = |list| is_in_list(below, list);
        is_in(HOME_SHELL_STARTUP)
            .then_some(StartupPlace::Shell)
            .or_else(|| is_in(HOME_AUTOSTART).then_some(StartupPlace::Autostart))
            .or_else(|| is_in(&[".ssh"]).then_some(StartupPlace::Login))
    });
    let is_in = |list| is_in_list(path, list);
    below_home
        .or_else(|| is_in(SYSTEM_SHELL_STARTUP).then_some(StartupPlace::Shell))
        .or_else(|| is_in(SYSTEM_AUTOSTART).then_some(StartupPlace::Autostart))
        .or_else(|| is_in(SYSTEM_ACCOUNTS).then_some(StartupPlace::Accounts))
}

/// Whether a path is one of the places, or below one.
fn is_in_list(path: &Path, list: &[&str]) -> bool {
    let path = path.as_os_str().as_encoded_bytes();
    list.iter().filter_map(|place| literal_place(place)).any(|place| {
        let rest = path.strip_prefix(place.as_bytes());
        rest.is_some_and(|rest| matches!(rest, [] | [b'/', ..]))
    })
}

/// Whether a part of a path is the name of a secret.
pub(crate) fn names_secret(path: &str) -> bool {
    parts_name_secret(path.split(['/', '(', ')', '|']))
}

fn parts_name_secret<'p>(parts: impl Iterator<Item = &'p str>) -> bool {
    let mut before = "";
    parts.filter(|part| !part.is_empty()).any(|part| {
        let dir = std::mem::replace(&mut before, part);
        let sample = || DOTENV_EXAMPLES.iter().any(|it| shares_extension(it, part));
        let placed = |above: &&str| above.is_empty() || *above == dir;
        (part.starts_with(".env.")
            || SECRET_DIRS_BY_NAME.get(part).is_some_and(|all| all.iter().any(placed)))
            && !sample()
    })
}

/// Whether a file has the extension of an example.
fn shares_extension(example: &str, name: &str) -> bool {
    example.rsplit('.').next() == name.rsplit('.').next()
}

/// Whether a path ends like one of a secret; its directory is unknown.
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
        // Usually the quotes surround the word.
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
        // All other names have one of these, or depend on their directory.
        false => TELLING_FILE_NAMES.iter().any(|name| name.as_bytes() == word),
    }
}

/// A byte that may occur in the name of a secret, all of which are ASCII, or a
/// non-ASCII byte, which belongs to another name.
const NAME_BYTE: u8 = 1;
/// Like `NAME_BYTE`; nearly every such name has one of these.
const MARK_BYTE: u8 = 2;
/// A byte that may occur anywhere in a word without being part of the name.
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

/// The protected places that a glob, as an absolute path, may match.
pub(crate) fn matched_secrets(glob: &Path, home: Option<&Path>, hidden: bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    if let (Some(name), Some(dir)) = (glob.file_name(), glob.parent()) {
        let name = name.to_string_lossy();
        if constrains_name(&name) {
            let names = SECRET_FILE_NAMES.iter().filter(|known| matches_name(&name, known, hidden));
            found.extend(names.map(|known| dir.join(known)));
        }
    }
    let prefix = literal_prefix(glob);
    // `~/*` names no place in particular; with hidden names it does.
    let mut rest = glob.iter().skip(prefix.iter().count());
    if hidden || rest.any(|part| constrains_name(&part.to_string_lossy())) {
        let known = known_places(home, &prefix);
        found.extend(known.filter_map(|known| match_known_place(glob, &known, hidden)));
    }
    found
}

/// The files of a repository that a written glob may match: `.g?t/config`. Only
/// directories of the glob without a wildcard are considered.
pub(crate) fn matched_git_files(glob: &Path, hidden: bool) -> Vec<PathBuf> {
    // The repository may be any of the directories above.
    let dirs = || glob.ancestors().skip(1);
    let known = GIT_CONTROL_FILES.iter().flat_map(|name| dirs().map(move |dir| dir.join(name)));
    known.filter_map(|known| match_known_place(glob, &known, hidden)).collect()
}

/// The secrets below `root` whose names match the glob.
pub(crate) fn secrets_named(name: &str, root: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = SECRET_FILE_NAMES
        .iter()
        .filter(|known| constrains_name(name) && glob_match(name, known))
        .map(|known| root.join(known))
        .collect();
    found.extend(known_places(home, root).filter(|known| {
        constrains_name(name)
            && known.file_name().is_some_and(|own| glob_match(name, &own.to_string_lossy()))
    }));
    found
}

/// The protected places below a directory.
fn known_places(home: Option<&Path>, root: &Path) -> impl Iterator<Item = PathBuf> {
    // Most globs are below a directory of the home that is in no list.
    let below_home = home.and_then(|home| root.strip_prefix(home).ok());
    let first = below_home.and_then(|below| below.iter().next());
    let may_contain = move |place: &&String| match first {
        Some(first) => place.split('/').next().is_some_and(|part| first == part),
        None => true,
    };
    let at_home = home.filter(|home| below_home.is_some() || home.starts_with(root));
    let home_places = at_home
        .into_iter()
        .flat_map(move |home| HOME_PLACES.iter().filter(may_contain).map(|it| home.join(it)));
    let system_places = SYSTEM_PLACES.iter().map(PathBuf::from);
    home_places.chain(system_places).filter(move |known| known.starts_with(root))
}

/// The directories of a glob up to the first wildcard.
fn literal_prefix(glob: &Path) -> PathBuf {
    let is_literal =
        |part: &std::path::Component<'_>| !part.as_os_str().to_string_lossy().contains(GLOB_CHARS);
    let parent = glob.parent().unwrap_or(Path::new("/"));
    parent.components().take_while(is_literal).collect()
}

const GLOB_CHARS: [char; 8] = ['*', '?', '[', ']', '(', '{', '|', '!'];

/// Whether a glob has a character that is not a wildcard.
fn constrains_name(glob: &str) -> bool {
    glob.contains(|c: char| !matches!(c, '*' | '?'))
}

/// Whether the shell expands the glob to this name: to a hidden one only if the
/// glob has the dot.
fn matches_name(glob: &str, name: &str, hidden: bool) -> bool {
    (hidden || !name.starts_with('.') || glob.starts_with('.')) && glob_match(glob, name)
}

/// The known place, or the path that the glob names below it.
fn match_known_place(glob: &Path, known: &Path, hidden: bool) -> Option<PathBuf> {
    let mut wanted = glob.components();
    let mut literal = true;
    for own in known.components() {
        let Some(part) = wanted.next() else {
            // The glob ends above the place, so it matches a parent directory.
            return (!literal).then(|| known.to_path_buf());
        };
        let (part, own) = (part.as_os_str().to_string_lossy(), own.as_os_str().to_string_lossy());
        if part != own {
            literal = false;
            // Two stars match any number of directories.
            if part == "**" && hidden {
                return Some(known.to_path_buf());
            }
            if !matches_name(&part, &own, hidden) {
                return None;
            }
        }
    }
    // A path that is literal up to here is judged unchanged.
    let rest = wanted.as_path();
    let below = |known: &Path| {
        if rest.as_os_str().is_empty() { known.to_path_buf() } else { known.join(rest) }
    };
    (!literal).then(|| below(known))
}

#[cfg(test)]
#[path = "secret_paths_tests.rs"]
mod tests;
