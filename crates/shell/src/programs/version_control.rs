//! Version control other than git: commands that lose work for good.

use crate::eval_context::EffectBuilder;
use crate::leaf::ShellWord;

/// Asks about commands that discard uncommitted work.
pub(super) fn describe(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    let verb = words.iter().find(|word| !word.text.starts_with('-'));
    let verb = verb.map_or("", |word| word.text.as_str());
    let has = |names: &[&str]| words.iter().any(|word| names.contains(&word.text.as_str()));
    let short = |letter: char| {
        words.iter().any(|word| {
            word.text.starts_with('-') && !word.text.starts_with("--") && word.text.contains(letter)
        })
    };
    let is_lost = match act.program {
        "hg" | "chg" => match verb {
            "update" | "up" | "checkout" | "co" | "goto" | "clone" => {
                short('C') || has(&["--clean"])
            }
            "revert" | "shelve" => {
                short('a') || short('C') || has(&["--all", "--no-backup", "--cleanup"])
            }
            "purge" | "clean" | "strip" | "rollback" => !has(&["-n", "--dry-run", "-p", "--print"]),
            _ => false,
        },
        "svn" => match verb {
            "revert" => short('R') || has(&["--recursive", "--remove-added"]),
            "cleanup" => has(&["--remove-unversioned", "--remove-ignored"]),
            _ => false,
        },
        "fossil" => verb == "clean" || (verb == "revert" && words.len() == 1) || has(&["--force"]),
        "bzr" | "brz" => matches!(verb, "revert" | "clean-tree" | "uncommit"),
        "darcs" => matches!(verb, "revert" | "obliterate" | "unpull"),
        "p4" => matches!(verb, "revert" | "clean" | "obliterate"),
        _ => false,
    };
    if is_lost {
        act.ask("data-loss", "Discards uncommitted changes");
    }
}
