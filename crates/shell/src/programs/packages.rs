//! Package managers and build tools.

use std::sync::LazyLock;

use hermes_core::Scope;

use super::install_sources;
use crate::args::CommandArgs;
use crate::eval_context::{EffectBuilder, InnerCommand};
use crate::leaf::ShellWord;
use crate::static_names::{StaticNameMap, by_name};

/// Subcommands of a package manager, by effect.
struct ManagerVerbs {
    names: &'static [&'static str],
    /// Subcommands that fetch something.
    fetch: &'static [&'static str],
    /// Subcommands that publish something.
    send: &'static [&'static str],
    /// Subcommands that remove something others rely on.
    remove: &'static [&'static str],
    /// Subcommands that only read.
    read: &'static [&'static str],
    /// Whether it changes the whole system.
    system: bool,
}

const PACKAGE_MANAGER_VERBS: &[ManagerVerbs] = &[
    ManagerVerbs {
        names: &["npm", "pnpm", "yarn", "bun"],
        fetch: &[
            "install",
            "i",
            "ci",
            "add",
            "update",
            "upgrade",
            "up",
            "audit",
            "outdated",
            "dlx",
            "create",
            "init",
            "view",
            "info",
            "search",
            "fetch",
            "import",
            "x",
            "ping",
            "doctor",
            "diff",
            "stars",
            "whoami",
            "dedupe",
            "ddp",
            "show",
            "v",
            "find",
            "s",
            "se",
            "it",
            "cit",
            "install-test",
            "install-ci-test",
            "clean-install",
            "ic",
        ],
        send: &[
            "publish",
            "unpublish",
            "deprecate",
            "login",
            "adduser",
            "dist-tag",
            "owner",
            "access",
            "star",
            "unstar",
            "team",
            "token",
            "hook",
            "org",
            "profile",
            "logout",
        ],
        remove: &["unpublish"],
        read: &[
            "ls",
            "list",
            "why",
            "explain",
            "root",
            "bin",
            "prefix",
            "--version",
            "-v",
            "help",
            "pkg",
            "licenses",
        ],
        system: false,
    },
    ManagerVerbs {
        names: &["pip", "pip3", "pipx"],
        fetch: &["install", "download", "wheel", "index", "upgrade", "search", "inject", "run"],
        send: &[],
        remove: &["uninstall", "uninstall-all"],
        read: &["list", "show", "freeze", "check", "--version", "-V", "help", "debug", "inspect"],
        system: false,
    },
    ManagerVerbs {
        names: &[
            "uv",
            "rye",
            "pixi",
            "poetry",
            "pdm",
            "hatch",
            "pipenv",
            "conda",
            "mamba",
            "micromamba",
        ],
        fetch: &[
            "sync", "add", "pip", "lock", "install", "update", "upgrade", "tool", "python",
            "create", "self",
        ],
        send: &["publish"],
        remove: &[],
        read: &["--version", "show", "tree", "info", "list", "check", "env"],
        system: false,
    },
    ManagerVerbs {
        names: &["cargo"],
        fetch: &[
            "install",
            "fetch",
            "update",
            "add",
            "search",
            "audit",
            "outdated",
            "generate-lockfile",
            "binstall",
        ],
        send: &["publish", "yank", "owner", "login"],
        remove: &["yank", "uninstall"],
        read: &[
            "metadata",
            "tree",
            "--version",
            "-V",
            "locate-project",
            "pkgid",
            "--list",
            "version",
            "help",
            "verify-project",
            "read-manifest",
        ],
        system: false,
    },
    ManagerVerbs {
        names: &["go"],
        fetch: &["get", "install", "mod", "work"],
        send: &[],
        remove: &[],
        read: &["version", "env", "list", "doc", "vet", "help"],
        system: false,
    },
    ManagerVerbs {
        names: &["gem", "bundle", "bundler"],
        fetch: &["install", "update", "fetch", "outdated", "add", "lock"],
        send: &["push", "yank", "owner"],
        remove: &["yank", "uninstall", "cleanup"],
        read: &["list", "show", "env", "--version", "-v", "check", "info"],
        system: false,
    },
    ManagerVerbs {
        names: &[
            "composer", "mix", "rebar3", "cabal", "stack", "opam", "nuget", "dotnet", "mvn",
            "mvnw", "gradle", "gradlew", "sbt", "lein", "swift", "flutter", "dart", "pod",
            "luarocks", "cpan", "cpanm",
        ],
        fetch: &[
            "install",
            "update",
            "require",
            "deps.get",
            "restore",
            "resolve",
            "add",
            "upgrade",
            "pub",
            "get",
            "dependency:resolve",
        ],
        send: &["publish", "push", "deploy", "upload"],
        remove: &[],
        read: &["--version", "show", "info", "list", "-version", "-v"],
        system: false,
    },
    ManagerVerbs {
        names: &["apt", "apt-get", "aptitude"],
        fetch: &[
            "install",
            "update",
            "upgrade",
            "dist-upgrade",
            "full-upgrade",
            "download",
            "source",
            "build-dep",
            "reinstall",
        ],
        send: &[],
        remove: &["remove", "purge", "autoremove", "autopurge", "clean"],
        read: &[
            "list",
            "show",
            "search",
            "policy",
            "depends",
            "rdepends",
            "changelog",
            "--version",
            "showsrc",
        ],
        system: true,
    },
    ManagerVerbs {
        names: &[
            "dnf",
            "yum",
            "zypper",
            "microdnf",
            "apk",
            "emerge",
            "xbps-install",
            "pkg",
            "snap",
            "flatpak",
            "port",
            "rpm-ostree",
        ],
        fetch: &[
            "install",
            "update",
            "upgrade",
            "add",
            "in",
            "up",
            "download",
            "refresh",
            "distro-sync",
            "fetch",
        ],
        send: &[],
        remove: &["remove", "erase", "autoremove", "del", "rm", "uninstall", "delete"],
        read: &[
            "list",
            "info",
            "search",
            "repolist",
            "history",
            "provides",
            "--version",
            "show",
            "find",
            "query",
        ],
        system: true,
    },
    ManagerVerbs {
        names: &["brew"],
        fetch: &["install", "update", "upgrade", "fetch", "tap", "reinstall"],
        send: &[],
        remove: &["uninstall", "remove", "rm", "autoremove", "cleanup"],
        read: &[
            "list",
            "info",
            "search",
            "config",
            "--version",
            "outdated",
            "doctor",
            "deps",
            "leaves",
            "--prefix",
            "ls",
        ],
        system: false,
    },
    ManagerVerbs {
        names: &["rustup", "nix-env", "nix"],
        fetch: &[
            "install",
            "update",
            "add",
            "toolchain",
            "component",
            "target",
            "self",
            "use",
            "profile",
            "build",
            "run",
            "shell",
            "develop",
        ],
        send: &[],
        remove: &[],
        read: &[
            "show",
            "list",
            "ls",
            "current",
            "which",
            "--version",
            "versions",
            "version",
            "doc",
        ],
        system: false,
    },
];

static MANAGERS_BY_NAME: LazyLock<StaticNameMap<&'static ManagerVerbs>> =
    LazyLock::new(|| by_name(PACKAGE_MANAGER_VERBS, |manager| manager.names));

/// Describes package managers and build tools.
pub(super) fn describe(act: &mut EffectBuilder<'_>, words: &[ShellWord]) -> bool {
    let program = act.program;
    match program {
        "npx" | "bunx" | "pnpx" | "uvx" => {
            act.affect_any(Scope::NETWORK_FETCH);
            let args =
                CommandArgs::parse(words, &["-p", "--package", "-c", "--call", "--from", "--with"]);
            match args.value(&["-c", "--call"]) {
                Some(code) => act.inner.push(InnerCommand::Source(code)),
                None => install_sources::fetched_program(act, words),
            }
            return true;
        }
        "virtualenv" => {
            install_sources::create_venv(act, words);
            return true;
        }
        "pacman" | "yay" | "paru" => {
            arch(act);
            return true;
        }
        "dpkg" | "rpm" => {
            check_macros(act, words);
            let text = words.first().map_or("", |word| word.text.as_str());
            match text {
                "-i" | "--install" | "-U" | "-Uvh" | "-ivh" | "--unpack" | "--configure" => {
                    act.ask("system-packages", "Changes system packages");
                    words.iter().skip(1).for_each(|word| act.read(word));
                }
                "-r" | "-P" | "--remove" | "--purge" | "-e" | "--erase" => {
                    act.ask("package-removal", "Removes packages from the system");
                }
                _ => act.mark_read_only(),
            }
            return true;
        }
        "apt-cache" | "apt-mark" | "dpkg-query" | "apt-key" => {
            apt_settings(act, words);
            if program.ends_with("cache") || program.ends_with("query") {
                act.mark_read_only();
            }
            return true;
        }
        _ => {}
    }
    // `pip3.11` counts as `pip`.
    let plain = super::known_programs::without_version(program).unwrap_or(program);
    let Some(manager) = MANAGERS_BY_NAME.get(program).or_else(|| MANAGERS_BY_NAME.get(plain))
    else {
        return false;
    };
    manage(act, manager);
    true
}

/// Checks options of rpm and dpkg that run commands, and rpm macros, which may
/// contain a command.
fn check_macros(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    const EXEC_OPTIONS: &[&str] = &[
        "--pipe",
        "--load",
        "--macros",
        "--rcfile",
        "--pre-invoke",
        "--post-invoke",
        "--status-logger",
    ];
    const MACRO_OPTIONS: &[&str] = &["--eval", "-E", "--define", "-D", "--queryformat", "--qf"];
    let is = |word: &ShellWord, names: &[&str]| {
        names.iter().any(|name| match word.text.strip_prefix(name) {
            Some(rest) => rest.is_empty() || rest.starts_with('=') || !name.starts_with("--"),
            None => false,
        })
    };
    let works_out = act.program == "rpm" && words.iter().any(|word| is(word, MACRO_OPTIONS));
    let is_open =
        |word: &ShellWord| !word.known || word.text.contains("%(") || word.text.contains("%{lua");
    if words.iter().any(|word| is(word, EXEC_OPTIONS)) || works_out && words.iter().any(is_open) {
        act.ask("program-option", format!("Makes {} run a command", act.program));
    }
}

/// Checks apt settings on the command line that name programs or paths.
fn apt_settings(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    const RISKY_APT_SETTINGS: &[&str] = &[
        "invoke",
        "dir::",
        "dir=",
        "methods",
        "scripts",
        "hooks",
        "planner",
        "solver",
        "apt-key",
        "gpgv",
        "autodetect",
        "auto-detect",
        "run-directory",
        "path=",
        "insecure",
        "--pre-",
        "--post-",
    ];
    let args = CommandArgs::parse(words, &["-o", "--option", "-c", "--config-file", "-t"]);
    let mut given = args.values(&["-o", "--option"]).into_iter();
    let tells = |word: ShellWord| {
        let text = word.text.to_ascii_lowercase();
        !word.known || RISKY_APT_SETTINGS.iter().any(|name| text.contains(name))
    };
    if given.any(tells) {
        act.ask("program-option", "Makes apt run or trust something else through a setting");
    }
    args.values(&["-c", "--config-file"]).iter().for_each(|word| act.program_option(word));
}

/// Records that a build or an install runs code of the current directory.
pub(super) fn run_project_code(act: &mut EffectBuilder<'_>) {
    // The files are unknown, so a name that no file has represents them.
    act.leaf.run_files.extend(act.context.cwd.map(|cwd| cwd.join("*")));
}

fn manage(act: &mut EffectBuilder<'_>, manager: &ManagerVerbs) {
    let words = act.arguments();
    if manager.names.contains(&"apt-get") {
        apt_settings(act, words);
    }
    if !manager.system {
        run_project_code(act);
    }
    let dry = words.iter().any(|word| install_sources::is_dry_run(act.program, &word.text));
    let args = CommandArgs::parse(
        words,
        &[
            "-C",
            "--prefix",
            "--cwd",
            "-w",
            "--filter",
            "--manifest-path",
            "-p",
            "-o",
            "--config",
            "--color",
        ],
    );
    let toolchain = args.operand(0).starts_with('+');
    let verb = match args.operands.get(usize::from(toolchain)) {
        Some(word) => word.text.clone(),
        None => words.first().map(|word| word.text.clone()).unwrap_or_default(),
    };
    let verb = verb.as_str();
    let bare_install = matches!(act.program, "yarn" | "bundle") && verb.is_empty();
    install_sources::check_source(act, verb, words);
    let second = args.operand(1 + usize::from(toolchain));
    let everywhere = args.has(&["-g", "--global"]) || second == "global";
    let removes = install_sources::removes_for_good(act.program, verb, second, everywhere);
    if manager.read.contains(&verb) && !removes {
        return act.mark_read_only();
    }
    let known = [manager.fetch, manager.send, manager.remove];
    if !known.iter().any(|list| list.contains(&verb)) {
        install_sources::check_verb(act, verb);
    }
    let fetches = matches!(
        (act.program, verb),
        ("pnpm" | "yarn", "dlx") | ("bun", "x") | ("pipx", "run") | ("npm", "x")
    );
    if fetches {
        let at = words.iter().position(|word| word.text == verb).map_or(0, |at| at + 1);
        install_sources::fetched_program(act, words.get(at..).unwrap_or(&[]));
    }
    if act.program == "cargo" && matches!(verb, "run" | "r") {
        super::unknown::looks_like_hermes(act);
    }
    if matches!(act.program, "cpan" | "cpanm") && !args.operands.is_empty() {
        act.ask("remote-code", "Installs code that is not part of the project");
    }
    let mut tasks = args.operands.iter().map(|word| word.text.as_str());
    if !manager.send.contains(&verb) && tasks.any(|task| publishes(act.program, task)) {
        act.affect_any(Scope::NETWORK_SEND);
        act.ask("publish", "Publishes something to everyone");
    }
    if (verb == "npm" && second == "publish") || verb.starts_with("exec:") {
        act.ask("publish", "Publishes something to everyone, or runs another program");
    }
    if (removes || manager.remove.contains(&verb)) && !dry {
        act.ask("package-removal", "Removes packages that others may rely on");
    }
    if act.program == "dotnet" && verb == "ef" && !dry {
        install_sources::check_database_drop(act, &args);
    }
    if manager.send.contains(&verb) && !dry {
        act.affect_any(Scope::NETWORK_SEND);
        if matches!(verb, "publish" | "unpublish" | "yank" | "upload" | "push" | "deploy") {
            act.ask("publish", "Publishes something to everyone");
        }
    } else if manager.fetch.contains(&verb) || bare_install {
        act.affect_any(Scope::NETWORK_FETCH);
        if manager.system
            && !matches!(verb, "update" | "download" | "source" | "refresh" | "fetch")
            && !dry
        {
            act.ask("system-packages", "Changes system packages");
        }
    }
    if act.program == "uv" && verb == "venv" {
        let at = words.iter().position(|word| word.text == verb).map_or(0, |at| at + 1);
        install_sources::create_venv(act, words.get(at..).unwrap_or(&[]));
    }
    // Without a name `pack` packs the directory; with one it fetches the
    // package.
    if verb == "pack" && args.operands.iter().skip(1).any(|word| !is_path_operand(&word.text)) {
        act.affect_any(Scope::NETWORK_FETCH);
    }
    if matches!((act.program, verb), ("npm" | "pixi", "exec" | "x") | ("bun", "x")) {
        act.affect_any(Scope::NETWORK_FETCH);
    }
}

/// Whether an operand names a directory or a file, not a package.
fn is_path_operand(text: &str) -> bool {
    text.starts_with(['.', '/', '~']) || text.ends_with(".tgz")
}

/// Whether a build task, at any position among others, publishes the result.
fn publishes(program: &str, task: &str) -> bool {
    let name = task.trim_start_matches('+').rsplit(':').next().unwrap_or(task);
    let is_local = ["Local", "M2", "LocalSnapshot"].iter().any(|end| name.ends_with(end));
    let begins = |words: &[&str]| words.iter().any(|word| name.starts_with(word)) && !is_local;
    match program {
        "gradle" | "gradlew" => {
            begins(&["publish", "upload", "deploy", "closeAndRelease"]) || name.ends_with("Upload")
        }
        "mvn" | "mvnw" => {
            matches!(name, "deploy" | "deploy-file" | "perform") || task.contains(":deploy")
        }
        "sbt" => begins(&["publish", "sonatypeRelease", "sonatypeBundleRelease"]),
        "lein" => name == "deploy" || name == "release",
        "dotnet" | "pod" => name == "push",
        "dart" | "flutter" | "swift" => name == "publish",
        "mix" | "rebar3" => task.starts_with("hex.publish") || task == "publish",
        _ => false,
    }
}

fn arch(act: &mut EffectBuilder<'_>) {
    let words = act.arguments();
    let flags = words.first().map_or("", |word| word.text.as_str());
    if flags.starts_with("-Q")
        || flags.starts_with("-Ss")
        || flags.starts_with("-Si")
        || flags.starts_with("-F")
    {
        act.mark_read_only();
    } else if flags.starts_with("-R") {
        act.ask("package-removal", "Removes packages from the system");
    } else if flags.starts_with("-S") || flags.starts_with("-U") {
        act.affect_any(Scope::NETWORK_FETCH);
        act.ask("system-packages", "Changes system packages");
    }
}

#[cfg(test)]
#[path = "packages_tests.rs"]
mod tests;
