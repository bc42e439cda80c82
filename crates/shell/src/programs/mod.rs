//! Effects and findings of programs, by family.

mod archives;
pub(crate) mod build_files;
pub(crate) mod bulk_delete;
mod cloud;
mod code_calls;
mod code_check;
mod code_loading;
mod code_names;
mod containers;
mod databases;
mod dataflow;
mod destructive;
mod disclosure;
pub(crate) mod dynamic_options;
mod env_overrides;
mod env_var_tables;
mod exec_options;
mod external_code;
mod file_search;
mod files;
mod find_expression;
mod formatters;
mod frameworks;
mod git;
mod git_losses;
mod git_new_repos;
mod git_options;
mod git_settings;
mod http_clients;
mod inline_code;
mod inline_writes;
mod install_sources;
mod installed_dirs;
mod interpreters;
mod known_programs;
mod listeners;
mod network;
mod other_languages;
mod output_options;
mod packages;
mod program_env;
mod project_tool_table;
mod readers;
mod recursive_reads;
mod remote_input;
mod remote_tool_table;
mod request_payloads;
mod runners;
mod secrets;
mod sed_awk;
mod sed_script;
mod system;
mod unknown;
mod verb_aliases;
mod verb_tools;
mod version_control;
mod wget;

use std::path::Path;
use std::sync::LazyLock;

use hermes_core::{Effect, Scope};

use crate::eval_context::{EffectBuilder, InnerCommand};
use crate::leaf::{CommandFinding, ShellWord};
use crate::secret_paths::{self, StartupPlace};
use crate::static_names::StaticNameSet;
use crate::text::glob_match;

pub(crate) use code_loading::is_outside_code;
pub(crate) use dataflow::analyze_dataflow;
pub(crate) use destructive::{bounds as bounds_output, is_endless, never_ends};
pub(crate) use env_overrides::{environment_override, proxy_effect};
pub use git::{changes_settings, push_remote};
pub(crate) use program_env::describe as describe_given;
pub(crate) use unknown::{check_shadowing, drop_name_trust, is_command, is_local};
pub(crate) use verb_aliases::is_same_verb;

/// Describes a program; returns whether it belongs to the family.
type ProgramFamily = fn(&mut EffectBuilder<'_>, &[ShellWord]) -> bool;

const PROGRAM_FAMILIES: &[ProgramFamily] = &[
    files::describe,
    readers::describe,
    file_search::describe,
    git::describe,
    interpreters::describe,
    other_languages::describe,
    network::describe,
    http_clients::describe,
    packages::describe,
    containers::describe,
    databases::describe,
    cloud::describe,
    archives::describe,
    system::describe,
];

/// Fills in the effects and findings of a leaf.
pub(crate) fn describe(act: &mut EffectBuilder<'_>) {
    if let Some(first) = act.words.first().filter(|first| first.text.contains('/')) {
        match &first.content {
            Some(text) => runs_script(act, text),
            None => act.leaf.run_files.extend(act.context.absolute(first)),
        }
        system::init_script(act, first);
    }
    let words = act.arguments();
    if only_asks_version(act, words) {
        return act.mark_read_only();
    }
    exec_options::describe(act, words);
    dynamic_options::describe(act, words);
    secrets::describe(act);
    runners::describe(act);
    runners::describe_wrapper_outputs(act);
    let home = unknown::program_location(act);
    if home == unknown::ProgramLocation::Project {
        env_overrides::allow_own_libraries(act.leaf);
    }
    let known = PROGRAM_FAMILIES.iter().any(|family| family(act, words));
    let known = (known || verb_tools::describe(act) || unknown::describe_by_kind(act))
        && home != unknown::ProgramLocation::Outside;
    output_options::describe_own(act);
    http_clients::describe_opened_urls(act, words);
    code_loading::describe(act, words);
    external_code::describe(act, words);
    destructive::describe(act, words);
    bulk_delete::describe(act, words);
    version_control::describe(act, words);
    disclosure::describe(act, words);
    formatters::describe(act, words);
    listeners::describe(act, words);
    if !known {
        unknown::describe(act, home);
    }
    frameworks::describe(act);
    remote_input::describe(act);
    request_payloads::describe(act);
    read_named_secrets(act);
}

/// Whether a program found on `PATH` only prints its version or help.
fn only_asks_version(act: &EffectBuilder<'_>, words: &[ShellWord]) -> bool {
    matches!(words, [only] if matches!(only.text.as_str(), "--version" | "--help"))
        && !act.program.starts_with('-')
        && act.words.first().is_some_and(|first| !first.text.contains('/') && first.known)
}

/// Programs that do not read the files named in their arguments, or whose own
/// description covers it.
const NON_READING_PROGRAMS: &[&str] = &[
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

/// Treats an argument that names a secret as read, whatever the program, since
/// no table of programs is complete.
fn read_named_secrets(act: &mut EffectBuilder<'_>) {
    static NON_READING_SET: LazyLock<StaticNameSet> =
        LazyLock::new(|| NON_READING_PROGRAMS.iter().copied().collect());
    if NON_READING_SET.contains(act.program) {
        return;
    }
    for word in act.arguments().iter().filter(|word| word.known && !word.glob) {
        // Every secret name contains one of these.
        if !word.text.contains(['.', '/', '_']) || word.text.contains(['(', '"', ';', '`']) {
            continue;
        }
        let after = |c: char| word.text.split_once(c).map(|(_, rest)| rest);
        let last = word.text.rsplit([':', '=', '@']).next();
        let last = last.filter(|last| last.len() < word.text.len());
        let texts = [Some(word.text.as_str()), after('='), after('@'), last];
        for text in texts.into_iter().flatten() {
            if secret_paths::names_secret(text) && !text.contains(char::is_whitespace) {
                let resource = act.context.resource(&ShellWord::literal(text));
                act.leaf.add_effect(Effect { scope: Scope::FILE_READ, resource });
            }
        }
    }
}

/// Handles a script that the same command wrote and now runs.
fn runs_script(act: &mut EffectBuilder<'_>, text: &str) {
    let first = text.lines().next().unwrap_or("");
    let shell = !first.starts_with("#!") || first.trim_end().ends_with("sh");
    if shell {
        act.inner.push(InnerCommand::Source(ShellWord::literal(text)));
    } else {
        act.ask("written-then-run", "Runs a file that the same command writes");
    }
}

/// Whether users rely on this command to have its usual meaning.
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

/// Programs that can perform a blocked operation, directly or by running
/// another program.
pub(crate) const BLOCKABLE_PROGRAMS: &[&str] = &[
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

/// Whether a glob may match a program name, or its path in a system program
/// directory. A glob without letters or digits in the name matches no program.
pub(crate) fn may_be_named(glob: &str, program: &str) -> bool {
    const BIN_DIRS: &[&str] =
        &["/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"];
    let (dir, name) = match glob.rsplit_once('/') {
        Some((dir, name)) => (Some(dir), name),
        None => (None, glob),
    };
    let is_in = |own: &&str| {
        let parts = || dir.unwrap_or_default().split('/').zip(own.split('/'));
        let depth = |path: &str| path.matches('/').count();
        depth(dir.unwrap_or_default()) == depth(own)
            && parts().all(|(glob, own)| glob_match(glob, own))
    };
    name.contains(|c: char| c.is_ascii_alphanumeric())
        && glob_match(name, program)
        && (dir.is_none() || BIN_DIRS.iter().any(is_in))
}

/// A finding if writing to this path makes something run later.
pub(crate) fn sensitive_write(path: &Path, home: Option<&Path>) -> Option<CommandFinding> {
    let place = secret_paths::startup_place(path, home)?;
    let path = path.display();
    Some(match place {
        StartupPlace::Shell => CommandFinding::ask(
            "shell-startup",
            format!("Changes what every new shell runs ({path})"),
        ),
        StartupPlace::Autostart => CommandFinding::ask(
            "persistence",
            format!("Makes a program start automatically ({path})"),
        ),
        StartupPlace::Login => {
            CommandFinding::ask("persistence", "Changes who may log in, or where to")
        }
        StartupPlace::Accounts => {
            CommandFinding::ask("users", format!("Changes accounts ({path})"))
        }
    })
}

/// Splits git's global options from the rest.
pub(crate) fn split_git(words: &[ShellWord]) -> (&[ShellWord], &[ShellWord]) {
    git::split_global(words)
}
