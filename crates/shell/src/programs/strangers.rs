//! Programs by their name alone, and those that nobody here has heard of:
//! they may do anything, so somebody is asked.

use std::ffi::OsStr;
use std::path::Path;

use hermes_core::{Effect, Scope};

use super::installed::is_installed;
use super::known::{self, Kind};
use super::tools::asks_about_itself;
use crate::leaf::{Finding, Leaf, Word};
use crate::site::{Act, Inner, Site};
use crate::text::program_name;

/// Names that, with arguments after them, are hardly anything but a command.
const COMMANDS: &[&str] = &[
    "rm",
    "dd",
    "shred",
    "wipefs",
    "mkfs",
    "chmod",
    "chown",
    "sudo",
    "doas",
    "su",
    "eval",
    "curl",
    "wget",
    "nc",
    "ncat",
    "reboot",
    "shutdown",
    "poweroff",
    "halt",
    "kill",
    "pkill",
    "killall",
    "systemctl",
    "crontab",
    "scp",
    "ssh",
    "mv",
    "unlink",
    "truncate",
    "python",
    "python3",
    "perl",
    "ruby",
    "node",
    "php",
    "git",
    "docker",
    "kubectl",
    "iptables",
    "mount",
    "umount",
    "useradd",
];
/// Whether a name is hardly anything but a command.
pub(crate) fn is_command(name: &str) -> bool {
    COMMANDS.contains(&&*program_name(name))
}

const SHELLS: &[&str] = &["sh", "bash", "zsh", "dash", "ksh", "ash", "fish"];

/// Options of unknown programs that usually take a command.
const TAKING_CODE: &[&str] =
    &["-c", "-e", "-x", "--command", "--exec", "--execute", "--cmd", "--run", "--shell", "--call"];

/// Reads a program by the kind that its name has; false if it has none.
pub(super) fn by_kind(act: &mut Act<'_>) -> bool {
    let Some(kind) = known::kind(act.program) else { return false };
    let words = act.arguments();
    let plain = |word: &&Word| {
        !word.text.starts_with('-')
            && !word.text.contains("://")
            && !word.text.contains(char::is_whitespace)
    };
    let operands: Vec<Word> = words.iter().filter(plain).cloned().collect();
    super::outputs::describe(act);
    for word in words.iter().filter(|word| word.text.starts_with('|')) {
        let code = word.text.trim_start_matches('|').to_owned();
        act.program_option(&Word { text: code, ..word.clone() });
    }
    match kind {
        Kind::Looks => act.only_reads(),
        Kind::Works => super::packages::runs_here(act),
        Kind::Converts => {
            if let (Some(last), true) = (operands.last(), operands.len() > 1) {
                act.write(last);
            }
        }
        Kind::Changes => operands.iter().for_each(|word| act.write(word)),
        Kind::Asks => {
            let host = words.iter().find_map(|word| super::network::url_host(&word.text));
            act.reach(Scope::NETWORK_FETCH, host.as_deref());
        }
    }
    operands.iter().for_each(|word| act.read(word));
    true
}

/// Where the file of a program is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Home {
    /// Wherever the shell finds the name.
    Searched,
    /// In a folder for programs of the system or of the user.
    Installed,
    /// In the project.
    Project,
    /// Anywhere else.
    Elsewhere,
}

/// Where the program of a leaf is.
pub(super) fn home_of(act: &Act<'_>) -> Home {
    act.words.first().map_or(Home::Searched, |first| home(act.site, first))
}

fn home(site: &Site<'_>, program: &Word) -> Home {
    if !program.text.contains('/') {
        return Home::Searched;
    }
    if program.text.contains("://") {
        return Home::Elsewhere;
    }
    let Some(path) = site.absolute(program) else { return Home::Elsewhere };
    if path.starts_with(site.at.cwd()) {
        return Home::Project;
    }
    // Scripts that start services are run by their paths.
    let installed = is_installed(site.at, &path) || path.starts_with("/etc/init.d");
    if installed { Home::Installed } else { Home::Elsewhere }
}

/// Whether a program is not an installed one, so that its name says nothing.
/// The python of a virtual environment is the project's own python, and
/// installs for it.
pub(crate) fn is_local(site: &Site<'_>, program: &Word) -> bool {
    let lies_apart = matches!(home(site, program), Home::Project | Home::Elsewhere);
    lies_apart && !site.absolute(program).is_some_and(|path| is_of_environment(&path))
}

fn is_of_environment(path: &Path) -> bool {
    fn name(path: Option<&Path>) -> Option<&str> {
        path.and_then(Path::file_name).and_then(OsStr::to_str)
    }
    let folder = path.parent();
    name(Some(path)).is_some_and(is_python)
        && name(folder) == Some("bin")
        && matches!(
            name(folder.and_then(Path::parent)),
            Some(".venv" | "venv" | "env" | "virtualenv" | ".virtualenv")
        )
}

fn is_python(name: &str) -> bool {
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    matches!(plain, "python" | "pypy" | "pip")
}

/// Effects that open something to a program: it is the installed one of that
/// name that is trusted with it.
fn opens(effect: &Effect) -> bool {
    const OPENING: &[&str] =
        &["network", "git", "docker", "database", "cloud", "email", "message", "browser"];
    OPENING.contains(&effect.scope.family())
}

/// Takes from a leaf what it was given for its name.
pub(crate) fn without_name(leaf: &mut Leaf, place: &str) {
    leaf.effects.retain(|effect| !opens(effect));
    leaf.reads_only = false;
    leaf.local = Some(place.to_owned());
}

/// Asks about a leaf that is given something for its name, where a program of
/// the project may have that name.
pub(crate) fn doubt_name(leaf: &mut Leaf) {
    if leaf.effects.iter().any(opens) && !is_python(&leaf.program) {
        let reason = format!(
            "“{}” may be a program of the project, as PATH leads there first",
            leaf.program
        );
        leaf.find(Finding::ask("shadowing", reason));
    }
}

/// A program that is in no table, or not where programs are.
pub(super) fn describe(act: &mut Act<'_>, home: Home) {
    let named = home != Home::Elsewhere && is_only_named(act.arguments());
    if home != Home::Project && !named {
        let reason = match home {
            Home::Elsewhere => format!(
                "Runs a program that is neither installed nor the project's own ({})",
                act.words.first().map_or("", |word| word.text.as_str())
            ),
            _ => format!("Nobody knows what the program “{}” does", act.program),
        };
        act.ask(crate::UNKNOWN_PROGRAM, reason);
    }
    looks_like_hermes(act);
    runs_others(act);
}

fn is_only_named(words: &[Word]) -> bool {
    let last = words.last().map_or("", |word| word.text.as_str());
    let plain = |word: &Word| word.text.starts_with("--") && !word.text.contains('=');
    words.len() == 1 && asks_about_itself(words)
        || (words.len() == 2 && matches!(last, "--version" | "--help") && words.iter().all(plain))
}

/// Hermes itself under another name.
pub(super) fn looks_like_hermes(act: &mut Act<'_>) {
    let words = act.arguments();
    let orders = words.windows(2).any(|pair| {
        matches!(
            (pair[0].text.as_str(), pair[1].text.as_str()),
            ("permissions", "approve") | ("secrets", "set" | "remove") | ("config", "set")
        )
    });
    if orders {
        act.ask("hermes-itself", "May change the settings of hermes");
    }
}

/// Looks for a command among the words of a program that is not known.
fn runs_others(act: &mut Act<'_>) {
    let words = act.arguments();
    for (at, word) in words.iter().enumerate().take(32) {
        let Some(text) = word.known() else { continue };
        if starts_command(text, words.get(at + 1)) {
            let command = words.get(at..).unwrap_or(&[]).to_vec();
            act.inner.push(Inner::Words(command));
            return;
        }
        let (option, glued) = match text.split_once('=') {
            Some((option, value)) => (option, Some(value.to_owned())),
            None => (text, None),
        };
        if !TAKING_CODE.contains(&option) {
            continue;
        }
        let code = match glued {
            Some(value) => Word { text: value, ..word.clone() },
            None => words.get(at + 1).cloned().unwrap_or_default(),
        };
        let mut parts = code.text.split_whitespace();
        let (first, second) = (parts.next().unwrap_or(""), parts.next().map(Word::literal));
        if starts_command(first, second.as_ref()) {
            act.inner.push(Inner::Source(code));
            return;
        }
    }
}

/// Whether a word and the one after it look like the start of a command.
fn starts_command(text: &str, next: Option<&Word>) -> bool {
    if text.starts_with('-') || text.contains(char::is_whitespace) {
        return false;
    }
    let name = program_name(text);
    let Some(next) = next else {
        return text.starts_with('/') && COMMANDS.contains(&&*name);
    };
    if SHELLS.contains(&&*name) {
        return next.text.starts_with('-') && next.text.contains('c');
    }
    let known = COMMANDS.contains(&&*name) || name.starts_with("mkfs.");
    known && next.text.contains(['-', '/', '.', '=', '*', '~', '$'])
}

#[cfg(test)]
#[path = "strangers_tests.rs"]
mod tests;
