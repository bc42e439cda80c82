//! Recognizes git commands that write settings. Most commands that change a
//! repository do not.

use hermes_shell::{LeafCommand, ShellWord};

/// Subcommands that write settings only with one of these options, or never.
const SETTINGS_WITH_OPTION: &[(&str, &[&str])] = &[
    ("clone", &[]),
    ("fast-import", &[]),
    ("fetch", &["--set-upstream"]),
    ("filter-branch", &[]),
    ("ls-remote", &[]),
    ("mv", &[]),
    ("pull", &["--set-upstream"]),
    ("push", &["-u", "--set-upstream"]),
    ("rm", &[]),
    ("symbolic-ref", &[]),
];

/// Words after a subcommand that only read, or change something other than
/// settings.
const SETTINGS_UNLESS_WORD: &[(&str, &[&str])] = &[
    ("checkout", &["--"]),
    ("lfs", &["fetch", "pull", "push", "checkout", "status", "ls-files", "prune", "fsck"]),
    ("maintenance", &["run"]),
    ("worktree", &["list", "prune", "lock", "unlock"]),
];

/// Whether a simple command is a git command that writes settings.
pub(crate) fn writes_git_settings(leaf: &LeafCommand) -> bool {
    if leaf.program != "git" || !hermes_shell::changes_settings(leaf) {
        return false;
    }
    let words = leaf.words.get(1..).unwrap_or_default();
    // A word known only at run time may be anything.
    if !words.iter().all(|word| word.known) {
        return true;
    }
    let prefix = leaf.prefix();
    let verb = prefix.iter().skip_while(|part| *part != "git").nth(1);
    let verb = verb.map_or("", String::as_str);
    let after = words.iter().skip_while(|word| word.text != verb).skip(1);
    let of = |list: &[(&str, &'static [&'static str])]| {
        list.iter().find(|(name, _)| *name == verb).map(|(_, words)| *words)
    };
    let has = |listed: &[&str]| after.clone().any(|word| matches_word_or_flag(word, listed));
    match (of(SETTINGS_WITH_OPTION), of(SETTINGS_UNLESS_WORD)) {
        (Some(options), _) => has(options),
        (None, Some(listed)) => !has(listed),
        (None, None) => true,
    }
}

/// Whether a word is one of these, or its short options contain one of them.
fn matches_word_or_flag(word: &ShellWord, listed: &[&str]) -> bool {
    let flags = word.text.strip_prefix('-').filter(|flags| !flags.starts_with('-'));
    let is_flag = |one: &str| {
        let letter = one.strip_prefix('-').filter(|letter| letter.len() == 1 && *letter != "-");
        letter.is_some_and(|letter| flags.is_some_and(|flags| flags.contains(letter)))
    };
    listed.iter().any(|one| word.text == *one || is_flag(one))
}

#[cfg(test)]
#[path = "git_settings_tests.rs"]
mod tests;
