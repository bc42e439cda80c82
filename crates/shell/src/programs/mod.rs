//! What programs do, family by family.

mod archives;
mod cloud;
mod code;
mod containers;
mod databases;
mod files;
mod git;
mod interpreters;
mod network;
mod packages;
mod readers;
mod search;
mod system;
mod vocabulary;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use hermes_core::{Effect, Resource, Scope};

use crate::leaf::{Finding, Leaf, Word};
use crate::site::Act;

/// A family: true if the program is one of its own.
type Family = fn(&mut Act<'_>) -> bool;

const FAMILIES: &[Family] = &[
    files::describe,
    readers::describe,
    search::describe,
    git::describe,
    interpreters::describe,
    network::describe,
    packages::describe,
    containers::describe,
    databases::describe,
    cloud::describe,
    archives::describe,
    system::describe,
];

/// Fills in effects and findings of a leaf.
pub(crate) fn describe(act: &mut Act<'_>) {
    let first = act.leaf.words.first().cloned().unwrap_or_default();
    if first.text.contains('/')
        && let Some(path) = act.site.absolute(&first)
    {
        act.leaf.runs.push(path);
    }
    for family in FAMILIES {
        if family(act) {
            return;
        }
    }
}

/// Commands that people rely on to mean what they always mean.
pub(crate) fn is_well_known(name: &str) -> bool {
    matches!(
        name,
        "rm" | "mv"
            | "cp"
            | "dd"
            | "ls"
            | "cat"
            | "cd"
            | "git"
            | "sudo"
            | "su"
            | "ssh"
            | "scp"
            | "grep"
            | "find"
            | "curl"
            | "wget"
            | "echo"
            | "chmod"
            | "chown"
            | "kill"
            | "sh"
            | "bash"
            | "python"
            | "python3"
            | "node"
            | "npm"
            | "cargo"
            | "make"
            | "docker"
            | "ps"
            | "passwd"
            | "eval"
            | "exec"
            | "source"
            | "export"
            | "printf"
            | "test"
            | "true"
            | "false"
            | "hermes"
    )
}

/// Findings about a variable that changes what other programs run.
pub(crate) fn environment_override(name: &str, value: &Word) -> Option<Finding> {
    const LOADERS: &[&str] = &[
        "LD_PRELOAD",
        "LD_AUDIT",
        "DYLD_INSERT_LIBRARIES",
        "BASH_ENV",
        "ENV",
        "PROMPT_COMMAND",
        "GIT_SSH_COMMAND",
        "GIT_SSH",
        "GIT_EXTERNAL_DIFF",
        "GIT_PROXY_COMMAND",
        "GIT_EXEC_PATH",
        "GIT_ASKPASS",
        "SSH_ASKPASS",
        "PERL5OPT",
        "PERL5DB",
        "RUBYOPT",
        "PYTHONSTARTUP",
        "PYTHONINSPECT",
        "BASH_FUNC",
        "SHELLOPTS",
        "PS4",
        "LESSOPEN",
        "LESSCLOSE",
    ];
    const CHOSEN: &[&str] = &[
        "PAGER",
        "GIT_PAGER",
        "MANPAGER",
        "EDITOR",
        "VISUAL",
        "GIT_EDITOR",
        "GIT_SEQUENCE_EDITOR",
        "BROWSER",
        "SHELL",
    ];
    const HARMLESS: &[&str] = &[
        "",
        "cat",
        "true",
        ":",
        "less",
        "more",
        "vim",
        "vi",
        "nano",
        "emacs",
        "code",
        "/bin/sh",
        "/bin/bash",
        "less -R",
        "less -FRX",
        "code --wait",
        "bash",
        "zsh",
        "/bin/true",
        "/bin/cat",
        "sh",
        "none",
        "/usr/bin/vim",
        "nvim",
        "/bin/zsh",
        "/usr/bin/bash",
    ];
    let ask = |reason: String| Some(Finding::ask("env-override", reason));
    if LOADERS.contains(&name) && (name != "ENV" || value.text.contains('/')) {
        return ask(format!("Sets {name}, which makes other programs run something else"));
    }
    if CHOSEN.contains(&name) && !value.known().is_some_and(|text| HARMLESS.contains(&text)) {
        return ask(format!("Sets {name}, which other programs run"));
    }
    let node = name == "NODE_OPTIONS"
        && ["--require", "-r ", "--import", "--loader"].iter().any(|o| value.text.contains(o));
    if node {
        return ask("Sets NODE_OPTIONS, which makes node load other code".to_owned());
    }
    if name == "PATH" {
        let strange = value.text.split(':').any(|part| {
            part.is_empty()
                || part == "."
                || part.starts_with("./")
                || part.starts_with("/tmp")
                || !(part.starts_with('/') || part.starts_with('$') || part.starts_with('~'))
        });
        if strange {
            return ask(
                "Puts a folder that anybody may write to in front of the programs".to_owned()
            );
        }
    }
    let history = matches!(name, "HISTFILE" | "HISTSIZE" | "HISTFILESIZE");
    (history && matches!(value.text.as_str(), "/dev/null" | "0" | ""))
        .then(|| Finding::ask("history-tampering", "Switches the shell's history off"))
}

/// A finding if writing here makes something run later.
pub(crate) fn sensitive_write(path: &Path, home: Option<&Path>) -> Option<Finding> {
    const STARTUP: &[&str] = &[
        ".bashrc",
        ".bash_profile",
        ".bash_login",
        ".profile",
        ".zshrc",
        ".zprofile",
        ".zshenv",
        ".zlogin",
        ".bash_logout",
        ".config/fish/config.fish",
        ".kshrc",
        ".inputrc",
    ];
    if let Some(below) = home.and_then(|home| path.strip_prefix(home).ok()) {
        if STARTUP.iter().any(|name| below == Path::new(name)) {
            let reason = format!("Changes what every new shell runs ({})", path.display());
            return Some(Finding::ask("shell-startup", reason));
        }
        let starts = [".config/systemd", ".config/autostart", "Library/LaunchAgents"];
        if starts.iter().any(|folder| below.starts_with(folder)) {
            return Some(Finding::ask("persistence", "Makes something start by itself"));
        }
        if below.starts_with(".ssh") {
            return Some(Finding::ask("persistence", "Changes who may log in, or where to"));
        }
    }
    let shared = [
        "/etc/profile",
        "/etc/bash.bashrc",
        "/etc/profile.d",
        "/etc/zsh",
        "/etc/environment",
        "/etc/ld.so.preload",
    ];
    if shared.iter().any(|place| path.starts_with(place)) {
        return Some(Finding::ask("shell-startup", "Changes what every new shell runs"));
    }
    let services = [
        "/etc/systemd",
        "/lib/systemd",
        "/usr/lib/systemd",
        "/etc/init.d",
        "/etc/cron.d",
        "/etc/crontab",
        "/etc/cron.daily",
        "/etc/cron.hourly",
        "/var/spool/cron",
        "/Library/LaunchDaemons",
        "/etc/rc.local",
    ];
    if services.iter().any(|place| path.starts_with(place)) {
        return Some(Finding::ask("persistence", "Makes something start by itself"));
    }
    let accounts = ["/etc/passwd", "/etc/shadow", "/etc/sudoers", "/etc/sudoers.d", "/etc/group"];
    accounts
        .iter()
        .any(|place| path.starts_with(place))
        .then(|| Finding::ask("users", format!("Changes accounts ({})", path.display())))
}

/// What only shows over several leaves: a file that is fetched, or made
/// executable, and then run.
pub(crate) fn over_several(leaves: &mut [Leaf]) {
    let mut fetched: HashSet<PathBuf> = HashSet::new();
    let mut enabled: HashSet<PathBuf> = HashSet::new();
    for leaf in leaves {
        if leaf.runs.iter().any(|path| fetched.contains(path)) {
            leaf.find(Finding::ask(
                "remote-to-shell",
                "Runs a file that the same command downloads",
            ));
        } else if leaf.runs.iter().any(|path| enabled.contains(path)) {
            leaf.find(Finding::ask(
                "chmod-then-run",
                "Runs a file that the same command makes executable",
            ));
        }
        enabled.extend(leaf.enables.iter().cloned());
        let fetches = leaf.effects.iter().any(|effect| effect.scope == Scope::NETWORK_FETCH);
        if fetches && matches!(leaf.program.as_str(), "curl" | "wget" | "fetch" | "http" | "aria2c")
        {
            fetched.extend(leaf.effects.iter().filter_map(written));
        }
    }
}

fn written(effect: &Effect) -> Option<PathBuf> {
    match &effect.resource {
        Resource::Path(path) if effect.scope == Scope::FILE_WRITE => Some(path.clone()),
        _ => None,
    }
}

/// The options of git itself, and the rest.
pub(crate) fn split_git(words: &[Word]) -> (&[Word], &[Word]) {
    git::split_global(words)
}
