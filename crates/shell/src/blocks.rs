//! What is never done, whoever asks: losing the system, the home folder or a
//! disk, and bringing the machine down.

use std::path::Path;

use crate::leaf::{Finding, Word};
use crate::site::{Act, Site};
use crate::syntax::{Command, Part, Raw, Redirect, RedirectKind, Simple};
use crate::text::glob_match;

const SYSTEM_FOLDERS: &[&str] = &[
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

/// Globs that match all that is in a folder, or all that is hidden in it.
const EVERYTHING: &[&str] = &[
    "*", "**", ".*", "?*", "*.*", ".??*", ".?*", ".[!.]*", ".[^.]*", "..?*", "*/", "[!.]*", "[^.]*",
];

/// The name of the place, if a word means the root, a system folder, the home
/// folder, or all that is in one of them.
pub(crate) fn protected(site: &Site<'_>, word: &Word) -> Option<String> {
    let path = site.absolute(word)?;
    let mut path = path.as_path();
    if word.glob {
        while let (Some(name), Some(parent)) = (path.file_name(), path.parent()) {
            if !EVERYTHING.contains(&name.to_string_lossy().as_ref()) {
                break;
            }
            path = parent;
        }
        if let (Some(name), Some(parent)) = (path.file_name(), path.parent()) {
            let name = name.to_string_lossy();
            let matched = SYSTEM_FOLDERS.iter().find(|folder| glob_match(&name, folder));
            if let (true, Some(folder)) = (parent == Path::new("/"), matched) {
                return Some(format!("/{folder}"));
            }
            let home = site.at.home().filter(|home| home.parent() == Some(parent));
            if let Some(home) = home
                && home.file_name().is_some_and(|own| glob_match(&name, &own.to_string_lossy()))
            {
                return Some("the home folder".to_owned());
            }
        }
    }
    place(path, site.at.home())
}

fn place(path: &Path, home: Option<&Path>) -> Option<String> {
    if path == Path::new("/") {
        return Some("the whole system (/)".to_owned());
    }
    if home == Some(path) {
        return Some("the home folder".to_owned());
    }
    let name = path.file_name()?.to_str()?;
    let system = path.parent() == Some(Path::new("/")) && SYSTEM_FOLDERS.contains(&name);
    system.then(|| path.to_string_lossy().into_owned())
}

/// Blocks what is done to `words` if one of them is protected.
pub(crate) fn guard(act: &mut Act<'_>, words: &[Word], category: &'static str, verb: &str) -> bool {
    for word in words {
        if let Some(place) = protected(act.site, word) {
            act.block(category, format!("{verb} {place}"));
            return true;
        }
    }
    false
}

/// Whether a path is a disk or a part of one.
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
pub(crate) fn device_write(word: &Word) -> Option<Finding> {
    let path = word.known()?;
    if is_disk(path) {
        return Some(Finding::block("raw-device", format!("Overwrites the disk {path}")));
    }
    match path {
        "/dev/mem" | "/dev/kmem" | "/dev/port" => {
            Some(Finding::block("raw-device", format!("Writes to the machine's memory ({path})")))
        }
        "/proc/sysrq-trigger" | "/proc/kcore" => {
            Some(Finding::block("kernel-trigger", format!("Gives the kernel an order ({path})")))
        }
        _ => None,
    }
}

/// Whether a function starts itself more than once, or in the background.
pub(crate) fn is_fork_bomb(name: &str, body: &Command) -> bool {
    match body {
        Command::Simple(_) | Command::Function { .. } => false,
        Command::Pipeline(stages) => {
            stages.iter().filter(|stage| starts(name, stage).is_some()).count() > 1
                || stages.iter().any(|stage| is_fork_bomb(name, stage))
        }
        Command::Sequence(all) => all.iter().any(|next| is_fork_bomb(name, next)),
        Command::Background(inner) | Command::Coproc(inner) => {
            starts(name, inner) == Some(1) || is_fork_bomb(name, inner)
        }
        Command::Maybe(inner) | Command::Then(inner) | Command::Subshell(inner, _) => {
            is_fork_bomb(name, inner)
        }
        Command::Loop { body, .. } | Command::Compound { body, .. } | Command::For { body, .. } => {
            is_fork_bomb(name, body)
        }
    }
}

/// Whether a loop that nothing ends leaves a process behind every time.
pub(crate) fn multiplies(condition: &Command, body: &Command) -> bool {
    always(condition) && leaves_process(body)
}

/// Whether a loop that nothing ends writes to a file every time, without a
/// pause.
pub(crate) fn piles_up(condition: &Command, body: &Command) -> bool {
    let pauses = |name: &str| contains(body, name) || contains(condition, name);
    always(condition)
        && appends(body)
        && !["sleep", "break", "exit", "read"].into_iter().any(pauses)
}

fn contains(command: &Command, name: &str) -> bool {
    match command {
        Command::Sequence(all) | Command::Pipeline(all) => {
            all.iter().any(|next| contains(next, name))
        }
        Command::Maybe(inner) | Command::Then(inner) | Command::Background(inner) => {
            contains(inner, name)
        }
        Command::Compound { body, .. } => contains(body, name),
        other => starts(name, other).is_some(),
    }
}

fn appends(body: &Command) -> bool {
    match body {
        Command::Simple(simple) => {
            let kinds = |kind| simple.redirects.iter().filter(move |it| it.kind == kind);
            let is_fresh = |redirect: &Redirect| redirect.target.get().is_some_and(is_computed);
            kinds(RedirectKind::Append).next().is_some()
                || kinds(RedirectKind::Write).any(is_fresh)
                || makes_new(simple)
        }
        Command::Sequence(all) | Command::Pipeline(all) => all.iter().any(appends),
        Command::Maybe(inner) | Command::Then(inner) | Command::Subshell(inner, _) => {
            appends(inner)
        }
        Command::Compound { body, .. } => appends(body),
        _ => false,
    }
}

/// Whether a program makes a file or a folder under another name each time.
fn makes_new(simple: &Simple) -> bool {
    const MAKERS: &[&str] =
        &["cp", "mkdir", "touch", "tee", "tar", "zip", "dd", "rsync", "install", "fallocate"];
    let program = simple.words.first().and_then(Raw::bare);
    program.is_some_and(|name| MAKERS.contains(&name)) && simple.words.iter().any(is_computed)
}

/// Whether a word is another one each time.
fn is_computed(word: &Raw) -> bool {
    const CHANGING: &[&str] = &["RANDOM", "SECONDS", "EPOCHSECONDS", "EPOCHREALTIME", "BASHPID"];
    word.parts.iter().any(|part| match part {
        Part::Parameter(parameter) => CHANGING.contains(&parameter.name.as_str()),
        Part::Output { .. } | Part::Arithmetic(_) => true,
        _ => false,
    })
}

fn always(condition: &Command) -> bool {
    match condition {
        Command::Simple(Simple { words, .. }) => {
            matches!(words.first().and_then(Raw::bare), Some(":" | "true" | "sleep" | "echo"))
        }
        Command::Sequence(all) => all.last().is_none_or(always),
        _ => false,
    }
}

fn leaves_process(body: &Command) -> bool {
    match body {
        Command::Background(_) => true,
        Command::Sequence(all) => {
            all.iter().any(leaves_process) && !all.iter().any(|next| starts("wait", next).is_some())
        }
        Command::Maybe(inner) | Command::Then(inner) | Command::Subshell(inner, _) => {
            leaves_process(inner)
        }
        Command::Compound { body, .. } => leaves_process(body),
        _ => false,
    }
}

/// With how many words a command starts the function, if it does.
fn starts(name: &str, command: &Command) -> Option<usize> {
    match command {
        Command::Simple(Simple { words, .. }) => {
            (words.first().and_then(Raw::bare) == Some(name)).then_some(words.len())
        }
        Command::Subshell(inner, _) | Command::Background(inner) => starts(name, inner),
        Command::Compound { body, .. } => starts(name, body),
        _ => None,
    }
}

#[cfg(test)]
#[path = "blocks_tests.rs"]
mod tests;
