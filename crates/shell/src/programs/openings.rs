//! Words that are only known when a command runs and may turn out to be
//! options or verbs. For most programs that is not worth a question, as what
//! they can do is held by others; for some, an option makes all the difference.

use crate::leaf::{Open, Taint, Word};
use crate::site::Act;

/// Programs with options that delete, overwrite or run something.
const PROGRAMS: &[&str] = &[
    "find", "gfind", "bfs", "fd", "fdfind", "tar", "gtar", "bsdtar", "dd", "rsync", "gdb", "lldb",
    "sort", "gsort", "rg", "man", "zip", "ssh", "scp", "chmod", "chown", "xargs", "env",
];

/// Verbs of git with such options.
const GIT: &[&str] = &[
    "clean",
    "reset",
    "checkout",
    "restore",
    "switch",
    "branch",
    "push",
    "pull",
    "fetch",
    "clone",
    "stash",
    "rm",
    "reflog",
    "gc",
    "update-ref",
    "remote",
    "rebase",
    "config",
    "submodule",
    "bisect",
    "difftool",
    "mergetool",
    "worktree",
    "prune",
    "archive",
    "grep",
    "ls-remote",
];

/// Programs that only show their arguments, or look at them.
const SHOWING: &[&str] = &[
    "echo",
    "printf",
    "test",
    "[",
    "[[",
    "expr",
    "basename",
    "dirname",
    "cat",
    "ls",
    "wc",
    "head",
    "tail",
    "grep",
    "egrep",
    "fgrep",
    "jq",
    "diff",
    "cmp",
    "file",
    "stat",
    "du",
    "sleep",
    "kill",
    "mkdir",
    "touch",
    "rm",
    "cp",
    "mv",
    "export",
    "local",
    "declare",
    "return",
    "exit",
    "date",
    "curl",
    "wget",
    "awk",
    "sed",
    "cut",
    "tr",
    "seq",
    "base64",
    "sha256sum",
    "md5sum",
    "true",
    "xdg-open",
    "jo",
    "yq",
    "tee",
    "python",
    "python3",
    "node",
    "ruby",
    "perl",
    "bash",
    "sh",
];

/// Asks about such words.
pub(super) fn describe(act: &mut Act<'_>, words: &[Word]) {
    if words.iter().all(|word| word.known) {
        return;
    }
    if matches!(act.program, "gh" | "glab") {
        return forge(act, words);
    }
    let own = words.iter().take_while(|word| word.text != "--");
    let mut open = own.clone().filter(|word| may_be_option(word));
    let unread = Taint::REMOTE.with(Taint::DECODED);
    let found = match act.program {
        program if SHOWING.contains(&program) => None,
        "git" if matters_to_git(words) => open.next(),
        "chmod" | "chown" => own.clone().next().filter(|word| may_be_option(word)),
        program if PROGRAMS.contains(&program) => open.next(),
        _ => open.find(|word| word.taint.has(unread) && word.open == Open::Whole),
    };
    if let Some(word) = found {
        let reason = format!(
            "{} is given words that are only known when it runs ({})",
            act.program, word.text
        );
        act.ask("dynamic-option", reason);
    }
}

/// Whether a word may begin with a dash: it comes from what somebody else has
/// written, and is not known to be a number, a name or a path.
fn may_be_option(word: &Word) -> bool {
    let written = Taint::COMPUTED.with(Taint::FOREIGN).with(Taint::REMOTE).with(Taint::DECODED);
    !word.known && !word.named && word.open != Open::Within && word.taint.has(written)
}

fn matters_to_git(words: &[Word]) -> bool {
    let verb = super::git::split_global(words).1.first();
    verb.is_some_and(|verb| GIT.contains(&verb.text.as_str()))
}

/// What a code forge is asked for is said by its first two words.
fn forge(act: &mut Act<'_>, words: &[Word]) {
    let verbs = || words.iter().filter(|word| !word.text.starts_with('-')).take(2);
    let tells = verbs().all(|word| word.known);
    let orders = verbs().next().is_some_and(|word| word.text == "api");
    if !tells || (orders && words.iter().any(may_be_option)) {
        let reason = format!("Which order {} is given is only known when it runs", act.program);
        act.ask("dynamic-option", reason);
    }
}
