//! Words that are only known at run time, or are globs, and may turn out to be
//! options or subcommands. Most programs need no question, because the sandbox limits
//! them; for some, an option makes all the difference.

use crate::eval_context::EffectBuilder;
use crate::leaf::{CommandFinding, RuntimeExtent, ShellWord, TextTaint};
use crate::text::has_glob;

/// Programs with options that delete, overwrite or run something.
const OPTION_SENSITIVE_PROGRAMS: &[&str] = &[
    "find", "gfind", "bfs", "fd", "fdfind", "tar", "gtar", "bsdtar", "dd", "rsync", "gdb", "lldb",
    "sort", "gsort", "rg", "man", "zip", "ssh", "scp", "chmod", "chown", "xargs", "env",
];

/// Git subcommands with such options.
const OPTION_SENSITIVE_GIT_VERBS: &[&str] = &[
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

/// Programs that only print or inspect their arguments.
const HARMLESS_PROGRAMS: &[&str] = &[
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

/// Programs without an option that writes, deletes or runs something.
const PRINTING_PROGRAMS: &[&str] = &[
    "echo", "printf", "test", "[", "[[", "expr", "basename", "dirname", "cat", "ls", "wc", "head",
    "tail", "grep", "egrep", "fgrep", "stat", "du", "cut", "tr", "export", "local", "declare",
];

/// Asks about globs among the arguments that may expand to options.
pub(crate) fn glob_finding(program: &str, arguments: &[ShellWord]) -> Option<CommandFinding> {
    if PRINTING_PROGRAMS.contains(&program) {
        return None;
    }
    let mut own = arguments.iter().take_while(|word| word.text != "--");
    let word = own.find(|word| may_expand_to_option(word))?;
    let reason = format!("{program} receives a glob that may expand to options ({})", word.text);
    Some(CommandFinding::ask("dynamic-option", reason))
}

/// Asks about words that are only known at run time.
pub(super) fn describe(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    if words.iter().all(|word| word.known) {
        return;
    }
    if matches!(act.program, "gh" | "glab") {
        return describe_forge(act, words);
    }
    let own = words.iter().take_while(|word| word.text != "--");
    let mut open = own.clone().filter(|word| may_be_option(word));
    let unread = TextTaint::REMOTE.with(TextTaint::DECODED);
    let found = match act.program {
        program if HARMLESS_PROGRAMS.contains(&program) => None,
        "git" if is_sensitive_git_verb(words) => open.next(),
        "chmod" | "chown" => own.clone().next().filter(|word| may_be_option(word)),
        program if OPTION_SENSITIVE_PROGRAMS.contains(&program) => open.next(),
        _ => {
            open.find(|word| word.taint.has(unread) && word.runtime_extent == RuntimeExtent::Whole)
        }
    };
    if let Some(word) = found {
        let reason = format!(
            "{} receives words that are only known at run time ({})",
            act.program, word.text
        );
        act.ask("dynamic-option", reason);
    }
}

/// Whether a word may start with a dash: its text comes from outside the
/// command, and is not known to be a number, a name or a path.
fn may_be_option(word: &ShellWord) -> bool {
    let written = TextTaint::COMPUTED
        .with(TextTaint::FOREIGN)
        .with(TextTaint::REMOTE)
        .with(TextTaint::DECODED);
    !word.known
        && !word.named
        && word.runtime_extent != RuntimeExtent::NotAtStart
        && word.taint.has(written)
}

/// Whether a glob is written to match an option: `-del*`, `-[d]elete`,
/// `[-]delete`, `?delete`. The glob `*` is for files, and the value of an
/// option (`--exclude=*.o`) does not change which option it is.
fn may_expand_to_option(word: &ShellWord) -> bool {
    if !word.glob {
        return false;
    }
    let text = word.text.as_str();
    let name = text.split('=').next().unwrap_or(text);
    let class = text.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    match class {
        Some((class, _)) if !class.starts_with(['!', '^']) => {
            class.starts_with('-') || class.ends_with('-') || class.contains("+--")
        }
        Some(_) => false,
        None if text.starts_with('?') => text
            .get(1..)
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_alphabetic() || c == '-')),
        None => text.starts_with('-') && has_glob(name),
    }
}

fn is_sensitive_git_verb(words: &[ShellWord]) -> bool {
    let verb = super::git::split_global(words).1.first();
    verb.is_some_and(|verb| OPTION_SENSITIVE_GIT_VERBS.contains(&verb.text.as_str()))
}

/// Describes the client of a code forge, whose first two words name the
/// operation.
fn describe_forge(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    let verbs = || words.iter().filter(|word| !word.text.starts_with('-')).take(2);
    let tells = verbs().all(|word| word.known);
    let orders = verbs().next().is_some_and(|word| word.text == "api");
    if !tells || (orders && words.iter().any(may_be_option)) {
        let reason = format!("The operation of {} is only known at run time", act.program);
        act.ask("dynamic-option", reason);
    }
}
