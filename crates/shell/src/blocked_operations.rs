//! Operations that are always blocked: destroying the system, the home
//! directory or a disk, and bringing the machine down.

use std::path::Path;

use crate::eval_context::{EffectBuilder, EvalContext};
use crate::leaf::{CommandFinding, ShellWord};
use crate::syntax::{RawWord, RedirectKind, ShellCommand, ShellRedirect, SimpleCommand, WordPart};
use crate::text::glob_match;

const SYSTEM_DIRS: &[&str] = &[
    "home",
    "root",
    "etc",
    "usr",
    "var",
    "bin",
    "sbin",
    "boot",
    "lib",
    "lib32",
    "lib64",
    "libx32",
    "opt",
    "dev",
    "proc",
    "sys",
    "Users",
    "System",
    "Library",
    "Applications",
];

/// Globs that match everything in a directory, or everything hidden in it.
const MATCH_ALL_GLOBS: &[&str] = &[
    "*", "**", ".*", "?*", "*.*", ".??*", ".?*", ".[!.]*", ".[^.]*", "..?*", "*/", "[!.]*", "[^.]*",
];

/// The name of the place if a word denotes the root, a system directory, the
/// home directory, or everything in one of them.
pub(crate) fn protected_place(site: &EvalContext<'_>, word: &ShellWord) -> Option<String> {
    let path = site.absolute(word)?;
    let mut path = path.as_path();
    if word.glob {
        while let (Some(name), Some(parent)) = (path.file_name(), path.parent()) {
            if !MATCH_ALL_GLOBS.contains(&name.to_string_lossy().as_ref()) {
                break;
            }
            path = parent;
        }
        if let (Some(name), Some(parent)) = (path.file_name(), path.parent()) {
            let name = name.to_string_lossy();
            let matched = SYSTEM_DIRS.iter().find(|dir| glob_match(&name, dir));
            if let (true, Some(dir)) = (parent == Path::new("/"), matched) {
                return Some(format!("/{dir}"));
            }
            let home = site.at.home().filter(|home| home.parent() == Some(parent));
            if let Some(home) = home
                && home.file_name().is_some_and(|own| glob_match(&name, &own.to_string_lossy()))
            {
                return Some("the home directory".to_owned());
            }
        }
    }
    place_name(path, site.at.home())
}

fn place_name(path: &Path, home: Option<&Path>) -> Option<String> {
    if path == Path::new("/") {
        return Some("the whole system (/)".to_owned());
    }
    if home == Some(path) {
        return Some("the home directory".to_owned());
    }
    let name = path.file_name()?.to_str()?;
    let system = path.parent() == Some(Path::new("/")) && SYSTEM_DIRS.contains(&name);
    system.then(|| path.to_string_lossy().into_owned())
}

/// Blocks an operation on `words` if one of them is protected.
pub(crate) fn block_if_protected(
    act: &mut EffectBuilder<'_>,
    words: &[ShellWord],
    category: &'static str,
    verb: &str,
) -> bool {
    for word in words {
        if let Some(place) = protected_place(act.context, word) {
            act.block(category, format!("{verb} {place}"));
            return true;
        }
    }
    false
}

/// Whether a path is a disk or a partition.
pub(crate) fn is_disk(path: &str) -> bool {
    let Some(name) = path.strip_prefix("/dev/") else { return false };
    let lettered = |prefix: &str| {
        name.strip_prefix(prefix).is_some_and(|rest| {
            rest.starts_with(|c: char| c.is_ascii_lowercase() || "*?[".contains(c))
                && rest.chars().all(|c| c.is_ascii_alphanumeric() || "*?[]-".contains(c))
        })
    };
    let numbered = |prefix: &str| {
        name.strip_prefix(prefix)
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit() || "*?[".contains(c)))
    };
    ["sd", "hd", "vd", "xvd"].iter().any(|prefix| lettered(prefix))
        || ["nvme", "mmcblk", "disk", "rdisk", "dm-", "md", "nbd"]
            .iter()
            .any(|prefix| numbered(prefix))
        || (name.starts_with("mapper/") && name != "mapper/control" && name.len() > 7)
        || name.starts_with("disk/by-")
}

/// A finding if writing to this path overwrites a disk, memory or the kernel.
pub(crate) fn device_write(word: &ShellWord) -> Option<CommandFinding> {
    let path = word.known_text()?;
    if is_disk(path) {
        return Some(CommandFinding::block("raw-device", format!("Overwrites the disk {path}")));
    }
    match path {
        "/dev/mem" | "/dev/kmem" | "/dev/port" => Some(CommandFinding::block(
            "raw-device",
            format!("Writes to the machine's memory ({path})"),
        )),
        "/proc/sysrq-trigger" | "/proc/kcore" => Some(CommandFinding::block(
            "kernel-trigger",
            format!("Sends a command to the kernel ({path})"),
        )),
        _ => None,
    }
}

/// Whether a function calls itself more than once, or in the background.
pub(crate) fn is_fork_bomb(name: &str, body: &ShellCommand) -> bool {
    match body {
        ShellCommand::Simple(_) | ShellCommand::Function { .. } => false,
        ShellCommand::Pipeline(stages) => {
            stages.iter().filter(|stage| function_call_words(name, stage).is_some()).count() > 1
                || stages.iter().any(|stage| is_fork_bomb(name, stage))
        }
        ShellCommand::Sequence(all) => all.iter().any(|next| is_fork_bomb(name, next)),
        ShellCommand::Background(inner) | ShellCommand::Coproc(inner) => {
            function_call_words(name, inner) == Some(1) || is_fork_bomb(name, inner)
        }
        ShellCommand::Conditional(inner)
        | ShellCommand::AndThen(inner)
        | ShellCommand::Subshell(inner, _) => is_fork_bomb(name, inner),
        ShellCommand::Loop { body, .. }
        | ShellCommand::Compound { body, .. }
        | ShellCommand::For { body, .. } => is_fork_bomb(name, body),
    }
}

/// Whether an infinite loop leaves a process behind in each iteration.
pub(crate) fn spawns_endlessly(condition: &ShellCommand, body: &ShellCommand) -> bool {
    is_always_true(condition) && leaves_process(body)
}

/// Whether an infinite loop writes to a file in each iteration without a pause.
pub(crate) fn writes_endlessly(condition: &ShellCommand, body: &ShellCommand) -> bool {
    let pauses = |name: &str| contains_command(body, name) || contains_command(condition, name);
    is_always_true(condition)
        && writes_files(body)
        && !["sleep", "break", "exit", "read"].into_iter().any(pauses)
}

fn contains_command(command: &ShellCommand, name: &str) -> bool {
    match command {
        ShellCommand::Sequence(all) | ShellCommand::Pipeline(all) => {
            all.iter().any(|next| contains_command(next, name))
        }
        ShellCommand::Conditional(inner)
        | ShellCommand::AndThen(inner)
        | ShellCommand::Background(inner) => contains_command(inner, name),
        ShellCommand::Compound { body, .. } => contains_command(body, name),
        other => function_call_words(name, other).is_some(),
    }
}

fn writes_files(body: &ShellCommand) -> bool {
    match body {
        ShellCommand::Simple(simple) => {
            let kinds = |kind| simple.redirects.iter().filter(move |it| it.kind == kind);
            let is_fresh =
                |redirect: &ShellRedirect| redirect.target.get().is_some_and(is_computed);
            kinds(RedirectKind::Append).next().is_some()
                || kinds(RedirectKind::Write).any(is_fresh)
                || creates_new_file(simple)
        }
        ShellCommand::Sequence(all) | ShellCommand::Pipeline(all) => all.iter().any(writes_files),
        ShellCommand::Conditional(inner)
        | ShellCommand::AndThen(inner)
        | ShellCommand::Subshell(inner, _) => writes_files(inner),
        ShellCommand::Compound { body, .. } => writes_files(body),
        _ => false,
    }
}

/// Whether a program creates a file or directory with a new name on each run.
fn creates_new_file(simple: &SimpleCommand) -> bool {
    const FILE_CREATING_PROGRAMS: &[&str] =
        &["cp", "mkdir", "touch", "tee", "tar", "zip", "dd", "rsync", "install", "fallocate"];
    let program = simple.words.first().and_then(RawWord::unquoted_text);
    program.is_some_and(|name| FILE_CREATING_PROGRAMS.contains(&name))
        && simple.words.iter().any(is_computed)
}

/// Whether a word expands to something different each time.
fn is_computed(word: &RawWord) -> bool {
    const CHANGING_VARIABLES: &[&str] =
        &["RANDOM", "SECONDS", "EPOCHSECONDS", "EPOCHREALTIME", "BASHPID"];
    word.parts.iter().any(|part| match part {
        WordPart::Parameter(parameter) => CHANGING_VARIABLES.contains(&parameter.name.as_str()),
        WordPart::CommandSubstitution { .. } | WordPart::Arithmetic(_) => true,
        _ => false,
    })
}

fn is_always_true(condition: &ShellCommand) -> bool {
    match condition {
        ShellCommand::Simple(SimpleCommand { words, .. }) => {
            matches!(
                words.first().and_then(RawWord::unquoted_text),
                Some(":" | "true" | "sleep" | "echo")
            )
        }
        ShellCommand::Sequence(all) => all.last().is_none_or(is_always_true),
        _ => false,
    }
}

fn leaves_process(body: &ShellCommand) -> bool {
    match body {
        ShellCommand::Background(_) => true,
        ShellCommand::Sequence(all) => {
            all.iter().any(leaves_process)
                && !all.iter().any(|next| function_call_words("wait", next).is_some())
        }
        ShellCommand::Conditional(inner)
        | ShellCommand::AndThen(inner)
        | ShellCommand::Subshell(inner, _) => leaves_process(inner),
        ShellCommand::Compound { body, .. } => leaves_process(body),
        _ => false,
    }
}

/// The number of words with which a command calls the function, if it does.
fn function_call_words(name: &str, command: &ShellCommand) -> Option<usize> {
    match command {
        ShellCommand::Simple(SimpleCommand { words, .. }) => {
            (words.first().and_then(RawWord::unquoted_text) == Some(name)).then_some(words.len())
        }
        ShellCommand::Subshell(inner, _) | ShellCommand::Background(inner) => {
            function_call_words(name, inner)
        }
        ShellCommand::Compound { body, .. } => function_call_words(name, body),
        _ => None,
    }
}

#[cfg(test)]
#[path = "blocked_operations_tests.rs"]
mod tests;
