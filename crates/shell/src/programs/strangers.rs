//! Programs that nobody here has heard of: they may run what they are given.

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

/// Looks for a command among the words of a program that is not known.
pub(super) fn describe(act: &mut Act<'_>) {
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
        return text.starts_with('/') && COMMANDS.contains(&name.as_str());
    };
    if SHELLS.contains(&name.as_str()) {
        return next.text.starts_with('-') && next.text.contains('c');
    }
    let known = COMMANDS.contains(&name.as_str()) || name.starts_with("mkfs.");
    known && next.text.contains(['-', '/', '.', '=', '*', '~', '$'])
}
