//! What programs do, family by family.

mod aliases;
mod archives;
mod calls;
mod cloud;
mod code;
mod containers;
mod databases;
mod disclosure;
mod edits;
mod environment;
mod expression;
mod files;
mod fixers;
mod frameworks;
mod git;
mod gitloss;
mod gitmade;
mod gitoptions;
mod gitsettings;
mod given;
mod inline;
mod installed;
mod installs;
mod interpreters;
mod known;
mod languages;
mod listeners;
mod loading;
mod loss;
mod network;
mod openings;
mod options;
mod outputs;
mod outside;
mod packages;
mod readers;
pub(crate) mod recipes;
mod remote;
mod runners;
mod scripts;
mod search;
mod secrets;
mod sed;
mod sends;
mod sequels;
mod strangers;
mod system;
mod toolbox;
mod tools;
mod trees;
mod variables;
mod versions;
mod vocabulary;
mod web;
mod wget;
pub(crate) mod wholesale;
mod workbench;

use std::path::Path;
use std::sync::LazyLock;

use hermes_core::{Effect, Scope};

use crate::leaf::{Finding, Word};
use crate::sensitive;
use crate::site::{Act, Inner};
use crate::table::Names;
use crate::text::glob_match;

pub(crate) use aliases::is_same_verb;
pub(crate) use environment::{environment_override, proxy_effect};
pub use git::{changes_settings, pushed_to};
pub(crate) use given::describe as describe_given;
pub(crate) use loading::is_elsewhere;
pub(crate) use loss::{bounds as bounds_output, is_endless, never_ends};
pub(crate) use sequels::over_several;
pub(crate) use strangers::{doubt_name, is_command, is_local, without_name};

/// A family: true if the program is one of its own.
type Family = fn(&mut Act<'_>, &[Word]) -> bool;

const FAMILIES: &[Family] = &[
    files::describe,
    readers::describe,
    search::describe,
    git::describe,
    interpreters::describe,
    languages::describe,
    network::describe,
    web::describe,
    packages::describe,
    containers::describe,
    databases::describe,
    cloud::describe,
    archives::describe,
    system::describe,
];

/// Fills in effects and findings of a leaf.
pub(crate) fn describe(act: &mut Act<'_>) {
    if let Some(first) = act.words.first().filter(|first| first.text.contains('/')) {
        match &first.content {
            Some(text) => runs_script(act, text),
            None => act.leaf.runs.extend(act.site.absolute(first)),
        }
        system::init_script(act, first);
    }
    let words = act.arguments();
    if is_named_only(act, words) {
        return act.only_reads();
    }
    options::describe(act, words);
    openings::describe(act, words);
    secrets::describe(act);
    runners::describe(act);
    runners::wrapped(act);
    let home = strangers::home_of(act);
    if home == strangers::Home::Project {
        environment::own_libraries(act.leaf);
    }
    let known = FAMILIES.iter().any(|family| family(act, words));
    let known = (known || tools::describe(act) || strangers::by_kind(act))
        && home != strangers::Home::Elsewhere;
    outputs::of_its_own(act);
    web::opened(act, words);
    loading::describe(act, words);
    outside::describe(act, words);
    loss::describe(act, words);
    wholesale::describe(act, words);
    versions::describe(act, words);
    disclosure::describe(act, words);
    fixers::describe(act, words);
    listeners::describe(act, words);
    if !known {
        strangers::describe(act, home);
    }
    frameworks::describe(act);
    remote::describe(act);
    sends::describe(act);
    tells_of_secrets(act);
}

/// Whether a program that the shell looks up says nothing but what it is.
fn is_named_only(act: &Act<'_>, words: &[Word]) -> bool {
    matches!(words, [only] if matches!(only.text.as_str(), "--version" | "--help"))
        && !act.program.starts_with('-')
        && act.words.first().is_some_and(|first| !first.text.contains('/') && first.known)
}

/// Programs that do not read what their arguments name, or say so themselves.
const NAMES_ONLY: &[&str] = &[
    "",
    "echo",
    "printf",
    "test",
    "[",
    "[[",
    "ls",
    "tree",
    "du",
    "cd",
    "pushd",
    "popd",
    "mkdir",
    "rmdir",
    "touch",
    "rm",
    "unlink",
    "mv",
    "chmod",
    "chown",
    "chgrp",
    "find",
    "fd",
    "basename",
    "dirname",
    "realpath",
    "readlink",
    "stat",
    "which",
    "type",
    "export",
    "declare",
    "local",
    "readonly",
    "unset",
    "alias",
    "true",
    "false",
    ":",
    "set",
    "git",
    "ssh-keygen",
    "hermes",
];

/// An argument that names a secret counts as read, whatever the program is:
/// nobody knows them all.
fn tells_of_secrets(act: &mut Act<'_>) {
    static QUIET: LazyLock<Names> = LazyLock::new(|| NAMES_ONLY.iter().copied().collect());
    if QUIET.contains(act.program) {
        return;
    }
    for word in act.arguments().iter().filter(|word| word.known && !word.glob) {
        // Every such name has one of these in it.
        if !word.text.contains(['.', '/', '_']) || word.text.contains(['(', '"', ';', '`']) {
            continue;
        }
        let after = |c: char| word.text.split_once(c).map(|(_, rest)| rest);
        let last = word.text.rsplit([':', '=', '@']).next();
        let last = last.filter(|last| last.len() < word.text.len());
        let texts = [Some(word.text.as_str()), after('='), after('@'), last];
        for text in texts.into_iter().flatten() {
            if sensitive::tells(text) && !text.contains(char::is_whitespace) {
                let resource = act.site.resource(&Word::literal(text));
                act.leaf.effect(Effect { scope: Scope::FILE_READ, resource });
            }
        }
    }
}

/// A script that the same command wrote and now starts.
fn runs_script(act: &mut Act<'_>, text: &str) {
    let first = text.lines().next().unwrap_or("");
    let shell = !first.starts_with("#!") || first.trim_end().ends_with("sh");
    if shell {
        act.inner.push(Inner::Source(Word::literal(text)));
    } else {
        act.ask("written-then-run", "Runs a file that the same command writes");
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

/// Programs that can do what is never done, on their own or by running another.
pub(crate) const CAN_BE_BLOCKED: &[&str] = &[
    "rm",
    "find",
    "mv",
    "chmod",
    "chown",
    "chgrp",
    "dd",
    "shred",
    "truncate",
    "cp",
    "tee",
    "rsync",
    "tar",
    "zip",
    "mkfs",
    "mkfs.ext4",
    "mkswap",
    "wipefs",
    "blkdiscard",
    "fdisk",
    "sfdisk",
    "parted",
    "sgdisk",
    "shutdown",
    "reboot",
    "halt",
    "poweroff",
    "init",
    "telinit",
    "systemctl",
    "kill",
    "killall5",
    "sh",
    "bash",
    "dash",
    "zsh",
    "env",
    "sudo",
    "xargs",
    "nohup",
    "busybox",
];

/// Whether a glob may be the name of a program, or the path of one where the
/// system has them. One that says nothing of the name means no program.
pub(crate) fn may_be_named(glob: &str, program: &str) -> bool {
    const FOLDERS: &[&str] =
        &["/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"];
    let (folder, name) = match glob.rsplit_once('/') {
        Some((folder, name)) => (Some(folder), name),
        None => (None, glob),
    };
    let is_in = |own: &&str| {
        let parts = || folder.unwrap_or_default().split('/').zip(own.split('/'));
        let depth = |path: &str| path.matches('/').count();
        depth(folder.unwrap_or_default()) == depth(own)
            && parts().all(|(glob, own)| glob_match(glob, own))
    };
    name.contains(|c: char| c.is_ascii_alphanumeric())
        && glob_match(name, program)
        && (folder.is_none() || FOLDERS.iter().any(is_in))
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
    let starts = |path: &Path, starts: &[&str]| {
        let bytes = path.as_os_str().as_encoded_bytes();
        starts.iter().any(|start| bytes.starts_with(start.as_bytes()))
    };
    let below = home.and_then(|home| path.strip_prefix(home).ok());
    if let Some(below) = below.filter(|below| starts(below, &[".", "Library"])) {
        if STARTUP.iter().any(|name| below == Path::new(name)) {
            let reason = format!("Changes what every new shell runs ({})", path.display());
            return Some(Finding::ask("shell-startup", reason));
        }
        let services = [".config/systemd", ".config/autostart", "Library/LaunchAgents"];
        if services.iter().any(|folder| below.starts_with(folder)) {
            return Some(Finding::ask("persistence", "Makes something start by itself"));
        }
        if below.starts_with(".ssh") {
            return Some(Finding::ask("persistence", "Changes who may log in, or where to"));
        }
    }
    // All that follows is in one of these.
    if !starts(path, &["/etc", "/lib", "/usr/lib", "/var/spool", "/Library"]) {
        return None;
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

/// The options of git itself, and the rest.
pub(crate) fn split_git(words: &[Word]) -> (&[Word], &[Word]) {
    git::split_global(words)
}
