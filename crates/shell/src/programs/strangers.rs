//! Programs by their name alone, and those that nobody here has heard of:
//! they may do anything, so somebody is asked.

use hermes_core::Scope;

use super::installed::is_installed;
use super::known::{self, Kind};
use super::tools::asks_about_itself;
use crate::leaf::Word;
use crate::site::{Act, Inner};
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
    let Some(first) = act.words.first().filter(|word| word.text.contains('/')) else {
        return Home::Searched;
    };
    if first.text.contains("://") {
        return Home::Elsewhere;
    }
    let Some(path) = act.site.absolute(first) else { return Home::Elsewhere };
    if path.starts_with(act.site.at.cwd()) {
        return Home::Project;
    }
    // Scripts that start services are run by their paths.
    let installed = is_installed(act.site.at, &path) || path.starts_with("/etc/init.d");
    if installed { Home::Installed } else { Home::Elsewhere }
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
        act.ask("unknown-program", reason);
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
