//! Unknown subcommands of package managers, and installs from sources other
//! than the registry of the project.

use std::sync::LazyLock;

use hermes_core::Scope;

use crate::args::CommandArgs;
use crate::eval_context::{EffectBuilder, InnerCommand};
use crate::leaf::ShellWord;
use crate::static_names::{StaticNameMap, StaticNameSet};

/// Subcommands that work on the project, besides those that fetch or read.
const PROJECT_VERBS: &[(&str, &str)] = &[
    (
        "npm",
        "run run-script rum urn test t tst start stop restart ci clean-install install-test it cit \
         uninstall un remove rm r unlink link ln rebuild rb prune dedupe ddp pack shrinkwrap version \
         init create innit config c get cache doctor docs home bugs repo fund exec x audit outdated ping \
         completion query sbom diff find-dupes edit explore org profile ls list ll la why explain \
         root bin prefix help help-search pkg stars star team token whoami search view info show v \
         update up upgrade udpate add i in ins inst isntall install set-script approve-scripts",
    ),
    (
        "pip pip3",
        "install uninstall download wheel hash cache config list freeze show check search index \
         debug inspect help completion lock",
    ),
    (
        "pipx",
        "install uninstall upgrade upgrade-all list run inject ensurepath environment reinstall pin",
    ),
    (
        "uv",
        "run sync lock add remove export tree init venv pip build version cache python tool self \
         format publish help workspace",
    ),
    (
        "poetry pdm hatch pipenv rye pixi",
        "install add remove update upgrade lock sync build show check config env run shell init new \
         export search version about list self cache info tree graph fmt format test lint dep use \
         outdated fix venv uninstall verify clean requirements scripts project global task \
         workspace plugin publish fetch pin toolchain make-req",
    ),
    (
        "conda mamba micromamba",
        "install create update upgrade remove uninstall list env info search config clean activate \
         deactivate run export compare package init doctor repoquery shell",
    ),
    (
        "cargo",
        "build b check c test t bench run r rustc rustdoc doc d clean fmt clippy fix new init add \
         remove rm update fetch generate-lockfile vendor package tree metadata search install \
         uninstall publish yank owner login logout info locate-project pkgid verify-project \
         read-manifest version help report config miri nextest expand deny audit machete udeps \
         outdated bloat asm llvm-cov llvm-lines tarpaulin watch insta hack sort semver-checks \
         public-api msrv edit upgrade set-version release-plz about license geiger criterion \
         flamegraph instruments samply leptos tauri dioxus dx shuttle lambda component wasi \
         wasm-pack binutils size objdump nm strip objcopy xtask make cranky careful fuzz mutants \
         vet dist binstall deb generate bundle ndk apk sweep cache modules spellcheck sync-readme \
         rdme readme hakari show-asm zigbuild cross embed run-bin sqlx diesel auditable \
         unmaintained features duplicates copter kani prusti creusot flux docs-rs rail shear \
         lichking depgraph risczero espflash embassy limit locate toml valgrind script",
    ),
    (
        "go",
        "build test run vet fmt generate get install mod work list doc env version tool clean fix \
         bug help telemetry",
    ),
    (
        "gem bundle bundler",
        "install update list show env check info exec add remove outdated lock config init clean \
         cache package doctor platform open console build contents dependency environment fetch \
         help pristine search specification stale unpack which uninstall cleanup rdoc gem viz \
         licenses binstubs push yank owner",
    ),
    (
        "rustup",
        "show toolchain target component update install uninstall default override run which doc \
         self check completions help set man",
    ),
    (
        "dotnet",
        "build test run restore clean publish pack format list add remove new sln tool nuget \
         watch msbuild vstest ef store help workload sdk dev-certs user-secrets fsi",
    ),
    (
        "nix nix-env",
        "build flake search show-config log path-info store why-depends develop eval fmt \
         doctor derivation hash --query -q --version print-dev-env profile run shell",
    ),
    (
        "brew",
        "install update upgrade fetch tap reinstall uninstall remove rm autoremove cleanup list ls info \
         search config outdated doctor deps leaves uses desc home log services link unlink pin unpin \
         bundle audit style test cat formulae casks missing options tap-info shellenv commands --prefix \
         --cellar --cache --version",
    ),
    (
        "snap flatpak",
        "list info find search version history remote-ls remotes install update upgrade \
         refresh remove uninstall changes connections services interfaces",
    ),
];

static VERBS_BY_MANAGER: LazyLock<StaticNameMap<StaticNameSet>> = LazyLock::new(|| {
    let verbs = |list: &'static str| list.split_whitespace().collect::<StaticNameSet>();
    let entries = PROJECT_VERBS.iter();
    entries
        .flat_map(|(names, list)| names.split(' ').map(move |name| (name, verbs(list))))
        .collect()
});

/// Adds a finding for an unknown subcommand, unless this manager accepts
/// scripts of the project as subcommands.
pub(super) fn check_verb(act: &mut EffectBuilder<'_>, verb: &str) {
    let program = act.program;
    let Some(verbs) = VERBS_BY_MANAGER.get(program) else { return };
    let option = verb.starts_with('-') || verb.is_empty();
    if !option && !verbs.contains(verb) {
        act.ask("unknown-subcommand", format!("The effects of “{program} {verb}” are unknown"));
    }
}

/// Options that name another source to install from.
const SOURCE_OPTIONS: &[&str] = &[
    "-i",
    "--index-url",
    "--extra-index-url",
    "--index",
    "--default-index",
    "--find-links",
    "--registry",
    "--source",
    "-s",
    "--git",
    "--repository-url",
    "--channel",
    "--from",
    "--trusted-host",
    "--mirror",
    "--add-source",
    "--proxy",
];

/// Adds a finding if an install takes code from a URL, a repository or another
/// registry, or installs a program for the whole user account.
pub(super) fn check_source(act: &mut EffectBuilder<'_>, verb: &str, words: &[ShellWord]) {
    const INSTALL_VERBS: &str = "install i in ins inst isntall add ci update up upgrade get download wheel \
        inject reinstall require create init run exec x dlx tool sync pip fetch restore develop \
        shell build profile clean-install it install-test";
    static INSTALL_VERB_SET: LazyLock<StaticNameSet> =
        LazyLock::new(|| INSTALL_VERBS.split_whitespace().collect());
    if !INSTALL_VERB_SET.contains(verb) {
        return check_settings(act, verb, words);
    }
    let runs_own = matches!(verb, "run" | "exec" | "sync" | "build" | "fetch" | "init")
        && !matches!(act.program, "nix" | "go" | "pipx" | "deno");
    for (at, word) in words.iter().enumerate() {
        let (name, glued) = match word.text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word.text.as_str(), None),
        };
        let value = glued.or_else(|| words.get(at + 1).map(|next| next.text.as_str()));
        let elsewhere = SOURCE_OPTIONS.contains(&name) && value.is_some_and(is_remote_source);
        let operand = !word.text.starts_with('-') && !runs_own && is_remote_source(&word.text);
        if elsewhere || operand || (name == "--git" && value.is_some()) {
            let reason = format!("Installs or runs code from a remote source ({})", word.text);
            return act.ask("remote-code", reason);
        }
        if word.taint.has(crate::leaf::TextTaint::REMOTE) {
            return act.ask("remote-code", "Installs a file that the same command downloads");
        }
    }
    check_global_install(act, verb, words);
}

fn is_remote_source(text: &str) -> bool {
    let scheme = ["http:", "https:", "git+", "git@", "git:", "ssh:", "ftp:", "hg+", "svn+", "bzr+"];
    let forge = ["github:", "gitlab:", "bitbucket:", "gist:", "sourcehut:", "git+ssh:"];
    let text = text.split_once(" @ ").map_or(text, |(_, rest)| rest);
    scheme.iter().chain(&forge).any(|start| text.starts_with(start))
        || text.contains("://")
        || text.contains("@git+")
}

/// Adds a finding for installs that reach beyond the project.
fn check_global_install(act: &mut EffectBuilder<'_>, verb: &str, words: &[ShellWord]) {
    let has = |names: &[&str]| words.iter().any(|word| names.contains(&word.text.as_str()));
    let operand = |index: usize| {
        let mut plain = words.iter().filter(|word| !word.text.starts_with(['-', '+']));
        plain.nth(index).map_or("", |word| word.text.as_str())
    };
    let named = !operand(1).is_empty();
    let reaches = match (act.program, verb) {
        ("npm" | "pnpm" | "bun" | "yarn", _) if has(&["-g", "--global"]) => named,
        ("npm", "install" | "i" | "add") => {
            // `user/name` names a repository, not a package.
            let short = |word: &&ShellWord| {
                word.text.matches('/').count() == 1
                    && !word.text.starts_with(['.', '/', '@', '~', '-'])
                    && !word.text.contains(['*', ':'])
            };
            words.iter().skip(1).any(|word| short(&word))
        }
        ("yarn", "global") => true,
        // Fetches and runs a package named `create-…`.
        ("npm" | "pnpm" | "yarn" | "bun", "create" | "init" | "innit") => named,
        ("gem", "install") => named && !operand(1).ends_with(".gem"),
        ("go", "install" | "run") => operand(1).contains('@') && !operand(1).starts_with('.'),
        ("pipx", "install" | "inject") => named,
        ("uv", "tool") => matches!(operand(1), "install" | "run"),
        ("brew", "install" | "tap" | "reinstall") => {
            operand(1).matches('/').count() > 1 || verb == "tap" && named
        }
        ("cpan" | "cpanm" | "luarocks", _) => named || verb == "install",
        ("nix", "run" | "shell" | "profile") => {
            named && !operand(1).starts_with('.') || has(&["-c", "--command"])
        }
        _ => false,
    };
    if reaches {
        act.ask("remote-code", "Installs or runs a program that is not part of the project");
    }
}

/// Whether an option makes a package manager only report what it would do. Most
/// give `-s` and `-n` another meaning: a name, silence, no questions.
pub(super) fn is_dry_run(program: &str, option: &str) -> bool {
    match option {
        "--dry-run" | "--simulate" => true,
        "-s" => matches!(program, "apt" | "apt-get" | "aptitude" | "apk"),
        "-n" => matches!(program, "brew" | "cargo" | "pkg"),
        _ => false,
    }
}

/// Whether a package manager call removes something that the project files
/// cannot restore.
pub(super) fn removes_for_good(program: &str, verb: &str, second: &str, everywhere: bool) -> bool {
    match program {
        "conda" | "mamba" | "micromamba" => match verb {
            "env" => second == "remove",
            _ => matches!(verb, "remove" | "uninstall"),
        },
        "dotnet" => matches!(verb, "tool" | "workload") && second == "uninstall",
        // Project dependencies are listed in its files and can be reinstalled.
        "npm" | "pnpm" | "yarn" | "bun" => {
            everywhere && matches!(verb, "uninstall" | "un" | "remove" | "rm" | "r")
        }
        "rustup" => match verb {
            "self" | "toolchain" => matches!(second, "uninstall" | "remove"),
            _ => verb == "uninstall",
        },
        "uv" => verb == "pip" && second == "uninstall",
        _ => false,
    }
}

/// Adds a finding for `dotnet ef database drop`.
pub(super) fn check_database_drop(act: &mut EffectBuilder<'_>, args: &CommandArgs<'_>) {
    if args.operand(1) == "database" && args.operand(2) == "drop" {
        act.affect_any(Scope::DATABASE_WRITE);
        act.ask("sql-loss", "Deletes a database");
    }
}

/// Adds a finding for risky package manager settings.
fn check_settings(act: &mut EffectBuilder<'_>, verb: &str, words: &[ShellWord]) {
    let second = words.iter().filter(|word| !word.text.starts_with('-')).nth(1);
    let second = second.map_or("", |word| word.text.as_str());
    let far = words.iter().any(|word| {
        let lower = word.text.to_ascii_lowercase();
        [
            "registry",
            "index-url",
            "index_url",
            "ignore-scripts",
            "mirror",
            "proxy",
            "goproxy",
            "source",
        ]
        .iter()
        .any(|mark| lower.contains(mark))
    });
    let sets = match (act.program, verb) {
        (
            "npm" | "pnpm" | "yarn" | "pip" | "pip3" | "poetry" | "bundle" | "conda",
            "config" | "c",
        ) => !matches!(second, "get" | "list" | "ls" | "show" | "debug") && far,
        ("npm", "set") => far,
        ("go", "env") => words.iter().any(|word| word.text == "-w" || word.text == "-u"),
        ("gem", "sources") => words.iter().any(|word| word.text.starts_with("-a")),
        ("composer", "config") => far,
        _ => false,
    };
    if sets {
        act.ask("package-setting", "Changes where packages come from, or which scripts they run");
    }
}

/// Handles `npx` and similar, which run a program by its package name. A known
/// program is analyzed as itself.
pub(super) fn fetched_program(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    const NPX_VALUED_OPTIONS: &[&str] = &[
        "-p",
        "--package",
        "--from",
        "--with",
        "-c",
        "--call",
        "--python",
        "--index-url",
        "--registry",
    ];
    let mut at = 0;
    while let Some(word) = words.get(at).filter(|word| word.text.starts_with('-')) {
        at += 1 + usize::from(NPX_VALUED_OPTIONS.contains(&word.text.as_str()));
    }
    let own = words.get(..at.min(words.len())).unwrap_or(&[]);
    if own.iter().any(|word| is_remote_source(&word.text)) {
        act.ask("remote-code", "Runs code from a remote source");
    }
    let Some(first) = words.get(at) else { return };
    let text = first.text.as_str();
    let versioned = text.char_indices().skip(1).find(|(_, c)| *c == '@').map(|(at, _)| at);
    let name = versioned.and_then(|at| text.get(..at)).unwrap_or(text);
    let name = match name {
        "@biomejs/biome" => "biome",
        "@angular/cli" => "ng",
        "@redocly/cli" => "redocly",
        "@playwright/test" => "playwright",
        "@openapitools/openapi-generator-cli" => "openapi-generator-cli",
        "@changesets/cli" => "changeset",
        "@nestjs/cli" => "nest",
        "@vue/cli-service" => "vue-cli-service",
        "@tailwindcss/cli" => "tailwindcss",
        "typescript" => "tsc",
        _ => name,
    };
    if is_remote_source(name) || name.contains('/') {
        return act.ask("remote-code", format!("Runs code from a remote source ({name})"));
    }
    act.affect_any(Scope::NETWORK_FETCH);
    let mut command = vec![ShellWord { text: name.to_owned(), ..first.clone() }];
    command.extend(words.iter().skip(at + 1).cloned());
    act.inner.push(InnerCommand::Words(command));
}

/// Creates a Python environment in a directory, which may be cleared first.
pub(super) fn create_venv(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    const VENV_VALUED_OPTIONS: &[&str] =
        &["--prompt", "-p", "--python", "--index", "--index-url", "-i"];
    let args = CommandArgs::parse(words, VENV_VALUED_OPTIONS);
    let usual = [ShellWord::literal(".venv")];
    let dirs: &[ShellWord] = match act.program {
        "uv" if args.operands.is_empty() => &usual,
        _ => &args.operands,
    };
    dirs.iter().for_each(|word| act.write(word));
    if args.has(&["--clear"]) || act.program == "uv" && args.has(&["-c"]) {
        dirs.iter().for_each(|word| act.delete(word));
        act.ask("recursive-delete", "Clears a directory before creating an environment there");
    }
}

#[cfg(test)]
#[path = "install_sources_tests.rs"]
mod tests;
