//! Git.

use hermes_core::Scope;

use super::{git_losses, git_options, git_settings};
use crate::args::CommandArgs;
use crate::eval_context::EffectBuilder;
use crate::leaf::{LeafCommand, ShellWord};

const READ_ONLY_VERBS: &[&str] = &[
    "status",
    "log",
    "diff",
    "show",
    "blame",
    "annotate",
    "grep",
    "ls-files",
    "ls-tree",
    "rev-parse",
    "rev-list",
    "describe",
    "shortlog",
    "cat-file",
    "for-each-ref",
    "show-ref",
    "merge-base",
    "name-rev",
    "whatchanged",
    "count-objects",
    "fsck",
    "verify-commit",
    "verify-tag",
    "check-ignore",
    "check-attr",
    "diff-tree",
    "diff-index",
    "diff-files",
    "var",
    "version",
    "help",
    "range-diff",
    "cherry",
    "show-branch",
    "reflog",
    "config",
    "remote",
    "worktree",
    "submodule",
    "bisect",
    "notes",
    "archive",
    "--version",
    "--help",
    "",
];

const GLOBAL_VALUED_OPTIONS: &[&str] =
    &["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env"];

/// Whether a tool is given as a path, which git runs as a script.
pub(super) fn is_path_of_tool(tool: &ShellWord) -> bool {
    !tool.known || tool.text.contains('/')
}

/// Reason for a repository that another user may have created.
pub(super) const FOREIGN_REPO_REASON: &str =
    "Works in a repository whose settings may run programs (git)";

/// Whether another user may have created the repository.
fn is_foreign_repo(act: &EffectBuilder<'_>, path: &std::path::Path) -> bool {
    let cwd = act.context.at.cwd();
    // Fast path: usually it is the project, spelled the same way.
    let (own, here) = (cwd.as_os_str().as_encoded_bytes(), path.as_os_str().as_encoded_bytes());
    if here.strip_prefix(own).is_some_and(|rest| matches!(rest, [] | [b'/', ..])) {
        return false;
    }
    let shared = ["/tmp", "/var/tmp", "/dev/shm"].iter().any(|place| path.starts_with(place));
    let made = || path.iter().any(|part| part.as_encoded_bytes().starts_with(b"tmp."));
    shared && !path.starts_with(cwd) && !cwd.starts_with(path) && !made()
}

/// Describes git and the clients of code forges.
pub(super) fn describe(act: &mut EffectBuilder<'_>, words: &[ShellWord]) -> bool {
    match act.program {
        "git" => {}
        "gh" | "glab" | "hub" => {
            describe_forge(act);
            return true;
        }
        "tig" | "gitk" => {
            act.affect_cwd(Scope::GIT_READ);
            return true;
        }
        _ => return false,
    }
    let (global, rest) = split_global(words);
    let globals = CommandArgs::parse(global, GLOBAL_VALUED_OPTIONS);
    for setting in globals.values(&["-c", "--config-env"]) {
        git_settings::judge(act, &setting);
    }
    let dir = globals.value(&["-C", "--work-tree"]);
    for path in globals.values(&["--git-dir"]) {
        let far = act.context.absolute(&path).is_none_or(|path| is_foreign_repo(act, &path));
        if !path.text.ends_with(".git") || far {
            act.ask(
                "env-override",
                "Loads settings that may run programs from another \
                repository (git)",
            );
        }
        act.write(&path);
    }
    if globals.has(&["--exec-path"]) && globals.value(&["--exec-path"]).is_some() {
        act.ask("env-override", "Makes git run other programs");
    }
    let verb = rest.first().map_or("", |word| word.text.as_str()).to_owned();
    let arguments = rest.get(1..).unwrap_or(&[]);
    // Further on it may be the value of another option.
    if arguments.first().is_some_and(|word| word.text == "--help") {
        act.mark_read_only();
        return true;
    }
    let looks = READ_ONLY_VERBS.contains(&verb.as_str()) || git_losses::is_read_only_verb(&verb);
    let reads = looks && !changes_repo(&verb, arguments);
    if !looks && !git_losses::is_known_verb(&verb) {
        act.ask("unknown-subcommand", format!("Runs the unknown subcommand “git {verb}”"));
    }
    let place = match &dir {
        Some(dir) => act.context.absolute(dir),
        None => act.context.cwd.map(std::path::Path::to_path_buf),
    };
    let own = matches!(verb.as_str(), "clone" | "init" | "ls-remote" | "version" | "help" | "");
    if !own && place.is_some_and(|path| is_foreign_repo(act, &path)) {
        act.ask("env-override", FOREIGN_REPO_REASON);
    }
    let scope = if reads { Scope::GIT_READ } else { Scope::GIT_WRITE };
    match &dir {
        Some(path) => {
            let resource = act.context.resource(path);
            act.leaf.add_effect(hermes_core::Effect { scope, resource });
            if !reads {
                act.write(path);
            }
        }
        None => act.affect_cwd(scope),
    }
    if reads {
        act.mark_read_only();
    }
    describe_verb(act, &verb, arguments, dir.as_ref());
    if let (Some(dir), "add" | "stage" | "commit" | "stash") = (&dir, verb.as_str()) {
        super::recursive_reads::check_recursive_read(act, std::slice::from_ref(dir));
    }
    git_losses::describe_losses(act, &verb, arguments);
    git_losses::describe_files(act, &verb, arguments, dir.as_ref());
    git_options::options(act, &verb, arguments, dir.as_ref());
    true
}

/// Subcommands that change a repository but not its settings, including those
/// of nested repositories.
const SETTINGS_PRESERVING_VERBS: &[&str] = &[
    "add",
    "am",
    "apply",
    "bisect",
    "cherry-pick",
    "commit",
    "commit-tree",
    "gc",
    "hash-object",
    "merge",
    "notes",
    "pack-refs",
    "prune",
    "rebase",
    "reflog",
    "repack",
    "replace",
    "reset",
    "restore",
    "revert",
    "stage",
    "stash",
    "tag",
    "update-index",
    "update-ref",
    "write-tree",
];

/// Whether a command that changes a repository may also change its settings.
pub fn changes_settings(leaf: &LeafCommand) -> bool {
    let words = leaf.words.get(1..).filter(|_| leaf.program == "git").unwrap_or_default();
    let verb = split_global(words).1.first();
    let is_plain =
        |word: &ShellWord| word.known && SETTINGS_PRESERVING_VERBS.contains(&word.text.as_str());
    leaf.effects.iter().any(|effect| effect.scope == Scope::GIT_WRITE)
        && !verb.is_some_and(is_plain)
}

/// Options of `git push` that take a value.
const PUSH_VALUED_OPTIONS: &[&str] = &["-o", "--push-option", "--receive-pack", "--exec", "--repo"];

/// The remote that a `git push` names, empty if it names none. `None` if this
/// is not a push, or the remote is only known at run time.
pub fn push_remote(leaf: &LeafCommand) -> Option<String> {
    let words = leaf.words.get(1..).filter(|_| leaf.program == "git")?;
    let (global, rest) = split_global(words);
    let (verb, rest) = rest.split_first()?;
    // Settings for this call may redirect it.
    let is_plain = global.iter().all(|word| {
        word.known && !matches!(word.text.as_str(), "-c" | "--config-env" | "--git-dir")
    });
    let is_glued = |start: &str| global.iter().any(|word| word.text.starts_with(start));
    if verb.text != "push" || !is_plain || is_glued("--git-dir=") || is_glued("--config-env=") {
        return None;
    }
    let args = CommandArgs::parse(rest, PUSH_VALUED_OPTIONS);
    let named = args.value(&["--repo"]);
    match args.operands.first().or(named.as_ref()) {
        None => Some(String::new()),
        Some(remote) => remote.known_text().filter(|_| !remote.glob).map(str::to_owned),
    }
}

/// Splits off the global options before the subcommand.
pub(crate) fn split_global(words: &[ShellWord]) -> (&[ShellWord], &[ShellWord]) {
    let mut at = 0;
    while let Some(word) = words.get(at) {
        if !word.text.starts_with('-') || matches!(word.text.as_str(), "--version" | "--help") {
            break;
        }
        at += 1 + usize::from(GLOBAL_VALUED_OPTIONS.contains(&word.text.as_str()));
    }
    words.split_at(at.min(words.len()))
}

/// Whether a mostly reading subcommand changes something.
fn changes_repo(verb: &str, arguments: &[ShellWord]) -> bool {
    let first =
        arguments.iter().find(|word| !word.text.starts_with('-')).map_or("", |word| &word.text);
    let has = |names: &[&str]| arguments.iter().any(|word| names.contains(&word.text.as_str()));
    match verb {
        "reflog" => matches!(first, "expire" | "delete"),
        "config" => git_settings::changes_config(arguments),
        "remote" => !matches!(first, "" | "show" | "get-url"),
        "worktree" => first != "list",
        "submodule" => !matches!(first, "" | "status" | "summary"),
        "bisect" => !matches!(first, "log" | "view"),
        "notes" => !matches!(first, "" | "show" | "list"),
        "archive" => has(&["-o"]) || arguments.iter().any(|word| word.text.starts_with("--output")),
        _ => false,
    }
}

/// Describes the network access and files of a subcommand.
fn describe_verb(
    act: &mut EffectBuilder<'_>,
    verb: &str,
    arguments: &[ShellWord],
    dir: Option<&ShellWord>,
) {
    let host = arguments.iter().find_map(|word| {
        super::network::url_host(&word.text).or_else(|| super::network::remote_host(&word.text))
    });
    match verb {
        "clone" => {
            let unknown = arguments.iter().find(|word| !word.known && !word.text.starts_with('-'));
            if let (None, Some(word)) = (&host, unknown) {
                super::network::ask_dynamic_host(act, &word.text);
            }
            act.affect_host(Scope::NETWORK_FETCH, host.as_deref());
            let args = CommandArgs::parse(
                arguments,
                &[
                    "-b",
                    "--branch",
                    "--depth",
                    "-o",
                    "-c",
                    "--config",
                    "-u",
                    "--reference",
                    "--filter",
                    "-j",
                ],
            );
            for setting in args.values(&["-c", "--config"]) {
                git_settings::judge(act, &setting);
            }
            match args.operands.get(1) {
                Some(target) => act.write(&git_losses::in_dir(dir, target)),
                None => match args.operands.first().filter(|word| word.known) {
                    Some(source) => {
                        let name = source.text.trim_end_matches('/').trim_end_matches(".git");
                        let name = name.rsplit(['/', ':']).next().unwrap_or(name);
                        act.write(&git_losses::in_dir(dir, &ShellWord::literal(name)));
                    }
                    None => act.affect_cwd(Scope::FILE_WRITE),
                },
            }
        }
        "archive" => {
            for remote in CommandArgs::parse(arguments, &["--remote"]).values(&["--remote"]) {
                let host = super::network::url_host(&remote.text)
                    .or_else(|| super::network::remote_host(&remote.text));
                act.affect_host(Scope::NETWORK_FETCH, host.as_deref());
            }
        }
        "fetch" | "pull" | "ls-remote" => act.affect_host(Scope::NETWORK_FETCH, host.as_deref()),
        "lfs" | "svn" | "p4" => describe_bridge(act, verb, arguments, host.as_deref()),
        "submodule"
            if arguments.iter().any(|word| matches!(word.text.as_str(), "update" | "add")) =>
        {
            act.affect_host(Scope::NETWORK_FETCH, host.as_deref());
        }
        "remote" if arguments.iter().any(|word| word.text == "update") => {
            act.affect_host(Scope::NETWORK_FETCH, None);
        }
        "push" => {
            act.affect_named(Scope::NETWORK_SEND, "git push");
            let args = CommandArgs::parse(arguments, PUSH_VALUED_OPTIONS);
            let named = args.value(&["--repo"]);
            // Further operands such as HEAD:main only look like hosts.
            if let Some(remote) = args.operands.first().or(named.as_ref()) {
                let host = super::network::url_host(&remote.text)
                    .or_else(|| super::network::remote_host(&remote.text));
                if host.is_some() || !remote.known {
                    act.affect_host(Scope::NETWORK_SEND, host.as_deref());
                }
            }
        }
        "send-email" => act.affect_named(Scope::NETWORK_SEND, "git push"),
        "rm" => {
            let args = CommandArgs::parse(arguments, &[]);
            if !args.has(&["--cached"]) {
                args.operands.iter().for_each(|word| act.delete(word));
                if args.has(&["-r"]) && args.has(&["-f", "--force"]) {
                    act.ask("recursive-delete", "Deletes directories with all their contents");
                }
            }
        }
        _ => {}
    }
}

/// Describes subcommands of extensions that talk to another machine.
fn describe_bridge(
    act: &mut EffectBuilder<'_>,
    verb: &str,
    arguments: &[ShellWord],
    host: Option<&str>,
) {
    let args =
        CommandArgs::parse(arguments, &["-I", "-X", "--include", "--exclude", "-r", "--revision"]);
    match (verb, args.operand(0)) {
        ("lfs", "push" | "lock" | "unlock")
        | ("svn", "dcommit" | "commit-diff" | "set-tree" | "branch" | "tag")
        | ("p4", "submit" | "unshelve") => {
            act.affect_named(Scope::NETWORK_SEND, "git push");
            if host.is_some() {
                act.affect_host(Scope::NETWORK_SEND, host);
            }
        }
        ("lfs", "pull" | "fetch" | "clone" | "locks")
        | ("svn", "clone" | "fetch" | "rebase" | "info" | "log" | "blame" | "init")
        | ("p4", "clone" | "sync" | "rebase") => act.affect_host(Scope::NETWORK_FETCH, host),
        _ => {}
    }
}

/// Describes the command-line clients of code forges.
fn describe_forge(act: &mut EffectBuilder<'_>) {
    let words = act.arguments();
    let args = CommandArgs::parse(
        words,
        &["-R", "--repo", "-X", "--method", "-f", "-F", "-H", "-b", "-t"],
    );
    let verb = args.operand(1).to_owned();
    let api = args.operand(0) == "api";
    let writes = args.has(&["-X", "--method", "-f", "-F", "--input"])
        && args.value(&["-X", "--method"]).is_none_or(|method| method.text != "GET");
    let reads = matches!(
        verb.as_str(),
        "list"
            | "view"
            | "status"
            | "diff"
            | "checks"
            | "watch"
            | "search"
            | "clone"
            | "download"
            | "checkout"
            | ""
    ) || matches!(args.operand(0), "search" | "status" | "browse" | "help" | "version")
        || (api && !writes);
    if reads {
        act.affect_any(Scope::NETWORK_FETCH);
    } else {
        act.affect_any(Scope::NETWORK_SEND);
    }
    if verb == "delete" {
        act.ask("infrastructure-change", "Deletes something on the code forge");
    }
    if args.operand(0) == "auth" && verb == "token" {
        act.ask("secret-exfiltration", "Prints an access token");
    }
}
