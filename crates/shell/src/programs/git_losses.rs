//! Irreversible git operations, and the files that git reads and writes besides
//! its own.

use std::sync::LazyLock;

use hermes_core::Scope;

use crate::args::CommandArgs;
use crate::eval_context::EffectBuilder;
use crate::leaf::ShellWord;
use crate::secret_paths;
use crate::static_names::StaticNameMap;

/// Known subcommands that change the repository or the working tree.
const WRITING_VERBS: &str = "add am apply archive bisect branch bundle checkout checkout-index cherry-pick \
    citool clean clone commit commit-graph commit-tree difftool fetch filter-branch filter-repo \
    format-patch gc gui hash-object index-pack init instaweb daemon lfs ls-remote maintenance merge \
    merge-file merge-index mergetool multi-pack-index mv notes pack-objects pack-refs prune \
    prune-packed pull push read-tree rebase reflog remote repack replace request-pull rerere reset \
    restore revert rm send-email sparse-checkout stage stash submodule svn switch symbolic-ref tag \
    update-index update-ref update-server-info worktree write-tree scalar backfill \
    absorb flow town branchless cliff machete revise p4";

/// Known subcommands that only read.
const READ_ONLY_VERBS: &str = "bugreport check-mailmap check-ref-format column diagnose diff-pairs \
    for-each-ref fmt-merge-msg get-tar-commit-id interpret-trailers mailinfo merge-tree patch-id \
    show-index stripspace verify-pack last-modified repo refs";

static KNOWN_VERBS: LazyLock<StaticNameMap<bool>> = LazyLock::new(|| {
    let writing = WRITING_VERBS.split_whitespace().map(|verb| (verb, false));
    writing.chain(READ_ONLY_VERBS.split_whitespace().map(|verb| (verb, true))).collect()
});

/// Whether a subcommand belongs to git or to one of its well-known extensions.
pub(super) fn is_known_verb(verb: &str) -> bool {
    KNOWN_VERBS.contains_key(verb)
}

/// Whether a subcommand only reads.
pub(super) fn is_read_only_verb(verb: &str) -> bool {
    KNOWN_VERBS.get(verb).is_some_and(|looks| *looks)
}

/// Resolves a word against a directory, such as that of `git -C`.
pub(super) fn in_dir(dir: Option<&ShellWord>, word: &ShellWord) -> ShellWord {
    match dir {
        Some(dir) if !word.text.starts_with('/') => ShellWord {
            text: format!("{}/{}", dir.text.trim_end_matches('/'), word.text),
            known: word.known && dir.known,
            named: word.named && dir.known,
            ..word.clone()
        },
        _ => word.clone(),
    }
}

/// Adds the files that options of a subcommand read or write, and secrets in
/// the repository itself.
pub(super) fn describe_files(
    act: &mut EffectBuilder<'_>,
    verb: &str,
    arguments: &[ShellWord],
    dir: Option<&ShellWord>,
) {
    const MESSAGE_OPTIONS: &[&str] = &["-F", "--file", "-t", "--template", "-m", "--message"];
    let args = CommandArgs::parse(
        arguments,
        &[
            "-F",
            "--file",
            "-f",
            "--contents",
            "--prefix",
            "--separate-git-dir",
            "-m",
            "--message",
            "-b",
            "-B",
            "--pathspec-from-file",
            "--blob",
            "-L",
            "-S",
            "-G",
            "--author",
            "--since",
            "--until",
            "--grep",
            "-n",
        ],
    );
    let here = |word: &ShellWord| in_dir(dir, word);
    let read = |act: &mut EffectBuilder<'_>, words: &[ShellWord]| {
        words.iter().for_each(|w| act.read(&here(w)))
    };
    match verb {
        "commit" | "tag" | "notes" | "merge" => {
            let args = CommandArgs::parse(arguments, MESSAGE_OPTIONS);
            read(act, &args.values(&["-F", "--file"]));
            if verb == "commit" {
                read(act, &args.values(&["-t", "--template"]));
            }
        }
        "config" => {
            for file in args.values(&["-f", "--file"]) {
                if super::git_settings::changes_config(arguments) {
                    act.write(&here(&file));
                } else {
                    act.read(&here(&file));
                }
            }
        }
        "blame" | "annotate" => read(act, &args.values(&["--contents"])),
        "apply" | "am" | "mailinfo" => {
            let tainted =
                args.operands.iter().any(|word| word.taint.has(crate::leaf::TextTaint::REMOTE));
            if tainted || act.context.input.taint.has(crate::leaf::TextTaint::REMOTE) {
                act.ask("remote-to-shell", "Changes files according to downloaded content");
            }
            read(act, &args.operands);
        }
        "bundle" => {
            let file = args.operands.get(1).cloned();
            match (args.operand(0), file) {
                ("create", Some(file)) => act.write(&here(&file)),
                (_, Some(file)) => act.read(&here(&file)),
                _ => {}
            }
        }
        "checkout-index" => {
            args.values(&["--prefix"]).iter().for_each(|word| act.write(&here(word)));
        }
        "init" => {
            args.values(&["--separate-git-dir"]).iter().for_each(|word| act.write(&here(word)));
            args.operands.iter().for_each(|word| act.write(&here(word)));
            if let (true, Some(dir)) = (args.operands.is_empty(), dir) {
                act.write(dir);
            }
        }
        "worktree" if args.operand(0) == "add" => {
            args.operands.iter().skip(1).take(1).for_each(|word| act.write(&here(word)));
        }
        _ => {}
    }
    read(act, &args.values(&["--pathspec-from-file"]));
    stored_secrets(act, verb, &args, dir);
}

/// Adds reads of secrets that the repository itself stores.
fn stored_secrets(
    act: &mut EffectBuilder<'_>,
    verb: &str,
    args: &CommandArgs,
    dir: Option<&ShellWord>,
) {
    let shows = matches!(
        verb,
        "show"
            | "diff"
            | "log"
            | "cat-file"
            | "archive"
            | "blame"
            | "annotate"
            | "grep"
            | "whatchanged"
            | "add"
            | "stage"
            | "update-index"
            | "hash-object"
            | "mv"
            | "diff-index"
            | "diff-files"
            | "checkout-index"
            | "stash"
            | "diff-tree"
            | "commit"
    );
    for word in args.operands.iter().filter(|_| shows) {
        // `HEAD:.env` and `:0:.env` name the file as stored in the repository.
        let path = word.text.rsplit(':').next().unwrap_or(&word.text);
        if secret_paths::names_secret(path) {
            act.read(&in_dir(dir, &ShellWord { text: path.to_owned(), ..word.clone() }));
        }
    }
}

/// Adds findings for what cannot be restored.
pub(super) fn describe_losses(act: &mut EffectBuilder<'_>, verb: &str, arguments: &[ShellWord]) {
    // The most common subcommands lose nothing.
    if matches!(verb, "add" | "commit" | "status" | "log" | "diff" | "show" | "ls-files") {
        return;
    }
    let args =
        CommandArgs::parse(arguments, &["-m", "-b", "-B", "-c", "-C", "-u", "-o", "--exec", "-x"]);
    let first = args.operand(0);
    if verb == "remote" && first == "set-url" {
        act.ask("git-remote", "Changes where this repository pushes to and pulls from");
    }
    if verb == "clean" && loses_untracked(arguments) {
        act.ask("recursive-delete", "Deletes all untracked files");
        act.affect_cwd(Scope::FILE_DELETE);
    }
    let reason =
        tree_loss(verb, arguments, &args).or_else(|| reference_loss(verb, arguments, &args));
    if let Some(reason) = reason {
        act.ask("git-history-loss", reason);
    }
}

/// Whether an option is given. Long names may be abbreviated.
fn has_option(arguments: &[ShellWord], names: &[&str]) -> bool {
    let options = arguments.iter().map(|word| word.text.as_str());
    let mut options = options.filter(|text| text.starts_with('-'));
    options.any(|text| {
        let cut = text.len() > 3 && text.starts_with("--");
        names.iter().any(|name| text == *name || cut && name.starts_with(text))
    })
}

fn has_short_option(arguments: &[ShellWord], letter: char) -> bool {
    arguments.iter().any(|word| {
        word.text.starts_with('-') && !word.text.starts_with("--") && word.text.contains(letter)
    })
}

/// Whether `git clean` may delete untracked files. A setting can allow that
/// without `--force`, so only a dry run is safe.
fn loses_untracked(arguments: &[ShellWord]) -> bool {
    !CommandArgs::parse(arguments, &["-e", "--exclude"]).has(&["-n", "--dry-run", "-h"])
}

/// Reason if uncommitted changes are lost.
fn tree_loss(verb: &str, arguments: &[ShellWord], args: &CommandArgs) -> Option<&'static str> {
    const LOST_CHANGES_REASON: &str = "Discards uncommitted changes";
    let forced = has_short_option(arguments, 'f') || has_option(arguments, &["--force"]);
    let lost = match verb {
        "reset" => args.has(&["--hard"]) || has_option(arguments, &["--merge", "--keep"]),
        "clean" => loses_untracked(arguments),
        "checkout" => forced || checks_out_files(arguments, args),
        "switch" => forced || has_option(arguments, &["--discard-changes"]),
        "restore" => {
            !has_option(arguments, &["--staged", "-S"])
                || has_option(arguments, &["--worktree", "-W", "-SW"])
        }
        "checkout-index" => forced,
        "read-tree" => has_option(arguments, &["--reset", "-u"]),
        "submodule" => {
            forced && matches!(args.operand(0), "deinit" | "update")
                || args.operand(0) == "deinit" && has_option(arguments, &["--all"])
        }
        "rm" => {
            forced && !has_option(arguments, &["--cached"])
                || args.has(&["-r"]) && !has_option(arguments, &["--cached", "-n", "--dry-run"])
        }
        _ => false,
    };
    lost.then_some(if verb == "clean" {
        "Deletes all untracked files"
    } else {
        LOST_CHANGES_REASON
    })
}

/// Whether `checkout` gets files rather than a branch.
fn checks_out_files(arguments: &[ShellWord], args: &CommandArgs) -> bool {
    let dashes = arguments.iter().position(|word| word.text == "--");
    if has_option(arguments.get(..dashes.unwrap_or(arguments.len())).unwrap_or(&[]), &["--orphan"])
    {
        return false;
    }
    let branches = args.has(&["-b", "-t", "--track", "--detach", "-d"]);
    if dashes.is_some_and(|at| at + 1 < arguments.len())
        || has_option(arguments, &["-p", "--patch", "--ours", "--theirs"])
        || args.has(&["--pathspec-from-file"])
    {
        return true;
    }
    if args.has(&["-b", "-B"]) || branches {
        return false;
    }
    args.operands.len() > 1 || args.operands.iter().any(looks_like_file)
}

/// Whether a word looks like a file rather than a branch or a tag.
fn looks_like_file(word: &ShellWord) -> bool {
    let text = word.text.as_str();
    let name = text.rsplit('/').next().unwrap_or(text);
    let ends = name.rsplit_once('.').is_some_and(|(stem, end)| {
        !stem.is_empty()
            && (1..=5).contains(&end.len())
            && end.starts_with(|c: char| c.is_ascii_alphabetic())
            && end.bytes().all(|b| b.is_ascii_alphanumeric())
            && !(end == "x" && stem.ends_with(|c: char| c.is_ascii_digit()))
    });
    word.glob
        || ends
        || matches!(text, "." | ":/" | "*" | ":/*")
        || text.starts_with("./")
        || text.ends_with('/')
        || text.starts_with("../")
}

/// Reason if branches, tags or unreachable objects are lost.
fn reference_loss(verb: &str, arguments: &[ShellWord], args: &CommandArgs) -> Option<&'static str> {
    let first = args.operand(0);
    let forced = has_short_option(arguments, 'f') || has_option(arguments, &["--force"]);
    let deletes = has_short_option(arguments, 'd') || has_option(arguments, &["--delete"]);
    let is_first_branch = || match &*args.operands {
        [only] => matches!(only.text.as_str(), "main" | "master" | "trunk"),
        _ => false,
    };
    let reason = match verb {
        "push"
            if forced
                || deletes
                || has_option(arguments, &["--mirror", "--prune"])
                || args.operands.iter().skip(1).any(|word| {
                    word.text.starts_with('+')
                        || (word.text.starts_with(':') && word.text.len() > 1)
                }) =>
        {
            "Overwrites or deletes branches on the remote"
        }
        "branch" if has_short_option(arguments, 'D') || (deletes && forced) => {
            "Deletes unmerged branches"
        }
        // The rename that every forge recommends for a new repository.
        "branch" if has_short_option(arguments, 'M') && is_first_branch() => return None,
        "branch"
            if forced || has_short_option(arguments, 'C') || has_short_option(arguments, 'M') =>
        {
            "Moves a branch away from its commits"
        }
        "branch"
            if deletes
                && (has_short_option(arguments, 'r') || has_option(arguments, &["--remotes"])) =>
        {
            "Deletes a remote-tracking branch"
        }
        "checkout" if args.has(&["-B"]) => "Moves a branch away from its commits",
        "switch" if args.has(&["-C", "--force-create"]) => "Moves a branch away from its commits",
        "stash" if matches!(first, "drop" | "clear") => "Deletes stashed changes",
        "reflog" if matches!(first, "expire" | "delete") => "Deletes reflog entries",
        "filter-branch" | "filter-repo" => "Rewrites the whole history",
        "gc" if arguments
            .iter()
            .any(|word| matches!(word.text.as_str(), "--prune=now" | "--prune=all")) =>
        {
            "Deletes all unreachable objects"
        }
        "prune" if !has_option(arguments, &["-n", "--dry-run"]) => {
            "Deletes all unreachable objects"
        }
        "lfs" if first == "prune" => "Deletes unreachable LFS files",
        "update-ref" => "Moves or deletes a reference",
        "replace" if deletes => "Deletes a reference",
        "replace" if !args.operands.is_empty() || has_option(arguments, &["--graft", "--edit"]) => {
            "Replaces commits with others"
        }
        "symbolic-ref" if deletes || args.operands.len() > 1 => "Points a reference elsewhere",
        "sparse-checkout" if first == "set" => "Removes files from the working tree",
        "remote" if matches!(first, "remove" | "rm") => "Removes a remote with all its branches",
        "update-index" if has_option(arguments, &["--force-remove", "--index-info"]) => {
            "Removes files from the index"
        }
        "notes" if matches!(first, "remove" | "prune") => "Deletes notes",
        "worktree" if first == "remove" && forced => "Deletes a worktree with its changes",
        "tag" if deletes || forced => "Deletes or moves tags",
        _ => return None,
    };
    Some(reason)
}
