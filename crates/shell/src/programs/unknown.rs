//! Programs known only by their kind, and unknown programs. An unknown program
//! may do anything, so it asks.

use std::ffi::OsStr;
use std::path::Path;

use hermes_core::{Effect, Scope};

use super::installed_dirs::is_installed;
use super::known_programs::{self, KnownProgramKind};
use super::verb_tools::asks_about_itself;
use crate::eval_context::{EffectBuilder, EvalContext, InnerCommand};
use crate::leaf::{CommandFinding, LeafCommand, ShellWord};
use crate::text::program_name;

/// Names that, followed by arguments, are almost certainly a command.
const COMMAND_NAMES: &[&str] = &[
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
/// Whether a name is almost certainly a command.
pub(crate) fn is_command(name: &str) -> bool {
    COMMAND_NAMES.contains(&&*program_name(name))
}

const SHELL_NAMES: &[&str] = &["sh", "bash", "zsh", "dash", "ksh", "ash", "fish"];

/// Options of unknown programs that usually take a command.
const CODE_OPTIONS: &[&str] =
    &["-c", "-e", "-x", "--command", "--exec", "--execute", "--cmd", "--run", "--shell", "--call"];

/// Describes a program by the kind of its name. Returns false if the name has
/// no kind.
pub(super) fn describe_by_kind(act: &mut EffectBuilder<'_>) -> bool {
    let Some(kind) = known_programs::program_kind(act.program) else { return false };
    let words = act.arguments();
    let plain = |word: &&ShellWord| {
        !word.text.starts_with('-')
            && !word.text.contains("://")
            && !word.text.contains(char::is_whitespace)
    };
    let operands: Vec<ShellWord> = words.iter().filter(plain).cloned().collect();
    super::output_options::describe(act);
    for word in words.iter().filter(|word| word.text.starts_with('|')) {
        let code = word.text.trim_start_matches('|').to_owned();
        act.program_option(&ShellWord { text: code, ..word.clone() });
    }
    match kind {
        KnownProgramKind::ReadsOnly => act.mark_read_only(),
        KnownProgramKind::BuildsProject => super::packages::run_project_code(act),
        KnownProgramKind::Converts => {
            if let (Some(last), true) = (operands.last(), operands.len() > 1) {
                act.write(last);
            }
        }
        KnownProgramKind::EditsInPlace => operands.iter().for_each(|word| act.write(word)),
        KnownProgramKind::QueriesNetwork => {
            let host = words.iter().find_map(|word| super::network::url_host(&word.text));
            act.affect_host(Scope::NETWORK_FETCH, host.as_deref());
        }
    }
    operands.iter().for_each(|word| act.read(word));
    true
}

/// Where the file of a program is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProgramLocation {
    /// Where the shell finds the name on PATH.
    OnPath,
    /// In a directory for programs of the system or the user.
    Installed,
    /// In the project.
    Project,
    /// Anywhere else.
    Outside,
}

/// Returns the location of the leaf's program.
pub(super) fn program_location(act: &EffectBuilder<'_>) -> ProgramLocation {
    act.words.first().map_or(ProgramLocation::OnPath, |first| locate(act.context, first))
}

fn locate(site: &EvalContext<'_>, program: &ShellWord) -> ProgramLocation {
    if !program.text.contains('/') {
        return ProgramLocation::OnPath;
    }
    if program.text.contains("://") {
        return ProgramLocation::Outside;
    }
    let Some(path) = site.absolute(program) else { return ProgramLocation::Outside };
    if path.starts_with(site.at.cwd()) {
        return ProgramLocation::Project;
    }
    // Init scripts are run by path.
    let installed = is_installed(site.at, &path) || path.starts_with("/etc/init.d");
    if installed { ProgramLocation::Installed } else { ProgramLocation::Outside }
}

/// Whether a program is not an installed one, so its name proves nothing. The
/// python of a virtual environment counts as installed: it is the project's
/// python and installs packages for the project.
pub(crate) fn is_local(site: &EvalContext<'_>, program: &ShellWord) -> bool {
    let lies_apart =
        matches!(locate(site, program), ProgramLocation::Project | ProgramLocation::Outside);
    lies_apart && !site.absolute(program).is_some_and(|path| is_of_environment(&path))
}

fn is_of_environment(path: &Path) -> bool {
    fn name(path: Option<&Path>) -> Option<&str> {
        path.and_then(Path::file_name).and_then(OsStr::to_str)
    }
    let dir = path.parent();
    name(Some(path)).is_some_and(is_python)
        && name(dir) == Some("bin")
        && matches!(
            name(dir.and_then(Path::parent)),
            Some(".venv" | "venv" | "env" | "virtualenv" | ".virtualenv")
        )
}

fn is_python(name: &str) -> bool {
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    matches!(plain, "python" | "pypy" | "pip")
}

/// Whether an effect gives the program access that only the installed program
/// of that name is trusted with.
fn needs_trust(effect: &Effect) -> bool {
    const TRUSTED_SCOPE_FAMILIES: &[&str] =
        &["network", "git", "docker", "database", "cloud", "email", "message", "browser"];
    TRUSTED_SCOPE_FAMILIES.contains(&effect.scope.family())
}

/// Removes the trust that a leaf got for its program's name.
pub(crate) fn drop_name_trust(leaf: &mut LeafCommand, place: &str) {
    leaf.effects.retain(|effect| !needs_trust(effect));
    leaf.reads_only = false;
    leaf.local_program = Some(place.to_owned());
}

/// Asks about a leaf trusted for its program's name if the project may contain
/// a program of that name.
pub(crate) fn check_shadowing(leaf: &mut LeafCommand) {
    if leaf.effects.iter().any(needs_trust) && !is_python(&leaf.program) {
        let reason = format!(
            "“{}” may be a program of the project, because PATH lists a project directory first",
            leaf.program
        );
        leaf.add_finding(CommandFinding::ask("shadowing", reason));
    }
}

/// Describes a program that is in no table, or outside the usual directories.
pub(super) fn describe(act: &mut EffectBuilder<'_>, home: ProgramLocation) {
    let named = home != ProgramLocation::Outside && only_asks_version(act.arguments());
    if home != ProgramLocation::Project && !named {
        let reason = match home {
            ProgramLocation::Outside => format!(
                "Runs a program that is neither installed nor part of the project ({})",
                act.words.first().map_or("", |word| word.text.as_str())
            ),
            _ => format!("The effects of the program “{}” are unknown", act.program),
        };
        act.ask(crate::UNKNOWN_PROGRAM, reason);
    }
    looks_like_hermes(act);
    runs_others(act);
}

fn only_asks_version(words: &[ShellWord]) -> bool {
    let last = words.last().map_or("", |word| word.text.as_str());
    let plain = |word: &ShellWord| word.text.starts_with("--") && !word.text.contains('=');
    words.len() == 1 && asks_about_itself(words)
        || (words.len() == 2 && matches!(last, "--version" | "--help") && words.iter().all(plain))
}

/// Asks if the arguments look like hermes under another name.
pub(super) fn looks_like_hermes(act: &mut EffectBuilder<'_>) {
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

/// Looks for a command among the arguments of an unknown program.
fn runs_others(act: &mut EffectBuilder<'_>) {
    let words = act.arguments();
    for (at, word) in words.iter().enumerate().take(32) {
        let Some(text) = word.known_text() else { continue };
        if starts_command(text, words.get(at + 1)) {
            let command = words.get(at..).unwrap_or(&[]).to_vec();
            act.inner.push(InnerCommand::Words(command));
            return;
        }
        let (option, glued) = match text.split_once('=') {
            Some((option, value)) => (option, Some(value.to_owned())),
            None => (text, None),
        };
        if !CODE_OPTIONS.contains(&option) {
            continue;
        }
        let code = match glued {
            Some(value) => ShellWord { text: value, ..word.clone() },
            None => words.get(at + 1).cloned().unwrap_or_default(),
        };
        let mut parts = code.text.split_whitespace();
        let (first, second) = (parts.next().unwrap_or(""), parts.next().map(ShellWord::literal));
        if starts_command(first, second.as_ref()) {
            act.inner.push(InnerCommand::Source(code));
            return;
        }
    }
}

/// Whether a word and the one after it look like the start of a command.
fn starts_command(text: &str, next: Option<&ShellWord>) -> bool {
    if text.starts_with('-') || text.contains(char::is_whitespace) {
        return false;
    }
    let name = program_name(text);
    let Some(next) = next else {
        return text.starts_with('/') && COMMAND_NAMES.contains(&&*name);
    };
    if SHELL_NAMES.contains(&&*name) {
        return next.text.starts_with('-') && next.text.contains('c');
    }
    let known = COMMAND_NAMES.contains(&&*name) || name.starts_with("mkfs.");
    known && next.text.contains(['-', '/', '.', '=', '*', '~', '$'])
}

#[cfg(test)]
#[path = "unknown_tests.rs"]
mod tests;
