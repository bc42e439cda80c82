//! Findings that span several commands: a file that is written and then run, a
//! link that later paths go through.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use hermes_core::{Effect, Resource, Scope};

use crate::eval_context::history_loss_reason;
use crate::git_history::damages_history;
use crate::leaf::{CommandFinding, LeafCommand, ShellWord};

/// Whether it sends a signal to a process that is only known at run time.
/// Signal 0 is a test.
fn kills_unknown_pid(leaf: &LeafCommand) -> bool {
    let is_test = matches!(leaf.words.get(1).map(|word| word.text.as_str()), Some("-0"));
    leaf.program == "kill" && !is_test && leaf.words.iter().any(|word| !word.known)
}

/// Adds the findings that follow from the order of the leaves.
pub(crate) fn analyze_dataflow(leaves: &mut [LeafCommand], root: &std::path::Path) {
    let mut fetched: HashSet<PathBuf> = HashSet::new();
    let mut enabled: HashSet<PathBuf> = HashSet::new();
    let mut made: HashSet<PathBuf> = HashSet::new();
    let mut links: HashMap<PathBuf, PathBuf> = HashMap::new();
    let mut brought: Vec<PathBuf> = Vec::new();
    let mut built: HashSet<PathBuf> = HashSet::new();
    let mut repositories = super::git_new_repos::NewRepositories::default();
    let mut dubious = false;
    let mut hunted = false;
    let mut looks_up_pids = false;
    for leaf in leaves {
        repositories.follow(leaf);
        follow_links(leaf, &links);
        check_privileges(leaf);
        if super::disclosure::attaches_to_process(&leaf.program, &leaf.words) {
            leaf.add_finding(CommandFinding::ask("secret-exposure", "Inspects another process"));
        }
        describe_wrappers(leaf);
        if leaf.run_files.iter().any(|path| built.contains(path)) {
            leaf.findings.retain(|found| found.category != crate::UNKNOWN_PROGRAM);
        }
        let runs =
            |files: &HashSet<PathBuf>| leaf.run_files.iter().any(|path| files.contains(path));
        let within = |path: &PathBuf| brought.iter().any(|dir| path.starts_with(dir));
        let loads = leaf
            .loaded_code
            .iter()
            .any(|path| fetched.contains(path) || brought.iter().any(|dir| path.starts_with(dir)));
        let enables = || {
            let far = |path: &&PathBuf| enabled.contains(*path) && !path.starts_with(root);
            leaf.run_files.iter().find(far).is_some()
        };
        let found = if runs(&fetched) || loads || leaf.run_files.iter().any(within) {
            Some(("remote-to-shell", "Runs a file that the same command downloads"))
        } else if enables() {
            Some(("chmod-then-run", "Runs a file that the same command makes executable"))
        } else if runs(&made) || (dubious && leaf.run_files.iter().any(|path| !path.ends_with("*")))
        {
            Some(("written-then-run", "Runs a file that the same command writes"))
        } else {
            None
        };
        if let Some((category, reason)) = found {
            leaf.add_finding(CommandFinding::ask(category, reason));
        }
        dubious |= leaf.suspicious_build;
        if leaf.program == "kill" && hunted {
            leaf.add_finding(CommandFinding::ask(
                "force-kill",
                "Stops the program that runs this command",
            ));
        }
        if looks_up_pids && kills_unknown_pid(leaf) {
            leaf.add_finding(CommandFinding::ask("force-kill", "Kills processes by name"));
        }
        looks_up_pids |= matches!(leaf.program.as_str(), "pgrep" | "pidof");
        hunted |= matches!(leaf.program.as_str(), "pgrep" | "pidof" | "ps")
            && leaf.words.iter().any(|w| w.text.contains("hermes") || w.text.contains("ppid"));
        enabled.extend(leaf.made_executable.iter().cloned());
        let fetches = leaf.effects.iter().any(|effect| effect.scope == Scope::NETWORK_FETCH);
        let written = leaf.effects.iter().filter_map(written_path);
        brought.extend(leaf.downloads_into.iter().cloned());
        // Files derived from a download are not safer.
        let derived = !fetched.is_empty()
            && leaf.effects.iter().any(|effect| match &effect.resource {
                Resource::Path(path) if effect.scope == Scope::FILE_READ => fetched.contains(path),
                _ => false,
            });
        if derived && unpacks(&leaf.program) {
            brought.extend(written.clone().take(8));
        } else if derived {
            fetched.extend(written.clone().take(64));
        }
        if fetches && leaf.program == "git" {
            brought.extend(written.take(8));
        } else if fetches
            && matches!(
                leaf.program.as_str(),
                "curl" | "wget" | "wget2" | "fetch" | "http" | "xh" | "aria2c"
            )
        {
            // A build runs these files without naming them.
            let written: Vec<PathBuf> = written.collect();
            brought.extend(
                written
                    .iter()
                    .filter(|path| is_build_file(path))
                    .filter_map(|path| path.parent().map(std::path::Path::to_path_buf)),
            );
            fetched.extend(written);
        } else if builds(&leaf.program) {
            built.extend(written);
        } else {
            made.extend(written);
        }
        for (link, target) in leaf.links.iter().take(64) {
            made.insert(link.clone());
            if links.len() < 64 {
                links.insert(link.clone(), target.clone());
            }
        }
    }
}

/// Whether a build, test or install runs this file by default.
fn is_build_file(path: &std::path::Path) -> bool {
    const BUILD_FILE_NAMES: &[&str] = &[
        "makefile",
        "gnumakefile",
        "justfile",
        "rakefile",
        "gemfile",
        "dockerfile",
        "build.rs",
        "cargo.toml",
        "package.json",
        "conftest.py",
        "setup.py",
        "setup.cfg",
        "pyproject.toml",
        "tox.ini",
        "noxfile.py",
        "cmakelists.txt",
        "meson.build",
        "build.gradle",
        "build.gradle.kts",
        "settings.gradle",
        "pom.xml",
        "build.xml",
        "build.sbt",
        "mix.exs",
        "composer.json",
        "jest.config.js",
        "vite.config.js",
        "webpack.config.js",
        ".eslintrc.js",
        "taskfile.yml",
        "requirements.txt",
        "go.mod",
        "build.zig",
        "dune",
        "workspace",
        "build.bazel",
        "configure",
        "sitecustomize.py",
        ".npmrc",
        ".pre-commit-config.yaml",
    ];
    let name = path.file_name().map(|name| name.to_string_lossy().to_ascii_lowercase());
    name.is_some_and(|name| BUILD_FILE_NAMES.contains(&name.as_str()))
}

/// Programs that change the user, privileges or isolation.
const PRIVILEGE_PROGRAMS: &[&str] = &[
    "pkexec",
    "run0",
    "doas",
    "setpriv",
    "unshare",
    "nsenter",
    "capsh",
    "chroot",
    "machinectl",
    "systemd-nspawn",
    "su-exec",
    "gosu",
    "runuser",
    "sg",
    "newgrp",
    "setuidgid",
    "s6-setuidgid",
    "systemd-run",
];

/// Checks commands run with another user's privileges: reading files that the
/// current user cannot read is as serious as writing.
fn check_privileges(leaf: &mut LeafCommand) {
    let unbound =
        leaf.wrappers.iter().find(|via| PRIVILEGE_PROGRAMS.contains(&via.as_str())).cloned();
    if let Some(via) = unbound {
        leaf.add_finding(CommandFinding::ask(
            "privilege",
            format!("Runs {} with different privileges ({via})", leaf.program),
        ));
        return;
    }
    let loader =
        |via: &String| via.starts_with("ld-") || via.starts_with("ld.") || via.starts_with("ld64");
    if leaf.wrappers.iter().any(loader) {
        leaf.add_finding(CommandFinding::ask(
            "env-override",
            "Starts a program through the dynamic loader",
        ));
    }
    if crate::shells::is_shell(&leaf.program)
        && leaf.words.iter().any(|word| {
            let name = word.text.split('=').next().unwrap_or("");
            matches!(name, "--rcfile" | "--init-file")
        })
    {
        leaf.add_finding(CommandFinding::ask(
            "env-override",
            "Makes a shell run another file first",
        ));
    }
    let sudo = leaf.wrappers.iter().position(|via| via == "sudo");
    let Some(words) = sudo.and_then(|at| leaf.unwrapped_words.get(at)) else { return };
    let other = words
        .iter()
        .skip(1)
        .take_while(|word| {
            word.text.starts_with('-')
                || word.text.contains('=')
                || !word.known
                || word.text.len() < 24
        })
        .take(12)
        .any(|word| {
            let text = word.text.as_str();
            (text.starts_with("-u") && text != "-uroot")
                || text.starts_with("--user")
                || text.starts_with("-g")
                || text.starts_with("--group")
                || matches!(text, "-D" | "-R" | "-i" | "-s" | "-C")
                || text.starts_with("--ch")
        });
    let other = other && words.get(1).is_some_and(|word| word.text.starts_with('-'));
    let lists = matches!(
        leaf.program.as_str(),
        "ls" | "lsof"
            | "stat"
            | "du"
            | "df"
            | "file"
            | "fuser"
            | "lsblk"
            | "find"
            | "tree"
            | "wc"
            | "systemctl"
            | "journalctl"
            | "service"
            | "docker"
            | "ss"
            | "netstat"
            | "dmesg"
    );
    let reads = !lists && leaf.effects.iter().any(reads_private);
    if other || reads {
        let reason = format!("Runs {} as another user", leaf.program);
        leaf.add_finding(CommandFinding::ask("privilege", reason));
    }
}

/// Adds what the wrappers of a leaf write, and checks how often they start it.
/// Shell builtins are described without their wrappers.
fn describe_wrappers(leaf: &mut LeafCommand) {
    let outer: Vec<_> =
        leaf.wrappers.iter().cloned().zip(leaf.unwrapped_words.iter().cloned()).collect();
    for (via, words) in outer {
        let inner = leaf.words.first().and_then(|first| words.iter().position(|w| w == first));
        let own = words.get(1..inner.unwrap_or(words.len()).max(1)).unwrap_or(&[]);
        for path in super::output_options::wrapper_targets(&via, own) {
            leaf.add_effect(Effect::path(Scope::FILE_WRITE, &path));
        }
        let texts: Vec<&str> = own.iter().map(|word| word.text.as_str()).collect();
        let without_bound = texts.contains(&"-P0")
            || texts.contains(&"--max-procs=0")
            || texts.windows(2).any(|pair| matches!(pair, ["-P" | "--max-procs", "0"]));
        if via.ends_with("xargs") && without_bound {
            leaf.add_finding(CommandFinding::ask(
                "fork-bomb",
                "Starts one process per input line without a limit",
            ));
        }
    }
}

/// Whether a file is read where other users keep private data.
fn reads_private(effect: &Effect) -> bool {
    const PRIVATE_DIRS: &[&str] = &[
        "/root",
        "/home",
        "/Users",
        "/var/lib",
        "/var/spool",
        "/srv",
        "/mnt",
        "/media",
        "/boot",
        "/run",
        "/var/mail",
        "/var/backups",
    ];
    match &effect.resource {
        Resource::Path(path) if effect.scope == Scope::FILE_READ => {
            PRIVATE_DIRS.iter().any(|place| path.starts_with(place))
        }
        Resource::Any => effect.scope == Scope::FILE_READ,
        _ => false,
    }
}

/// Whether a program unpacks archives.
fn unpacks(program: &str) -> bool {
    matches!(program, "tar" | "gtar" | "bsdtar" | "unzip" | "7z" | "7za" | "7zz" | "cpio" | "unrar")
}

/// Whether a program's output is meant to be run, or it changes no contents.
fn builds(program: &str) -> bool {
    matches!(
        program,
        "gcc"
            | "g++"
            | "cc"
            | "c++"
            | "clang"
            | "clang++"
            | "rustc"
            | "ld"
            | "as"
            | "go"
            | "make"
            | "cargo"
            | "javac"
            | "tsc"
            | "chmod"
            | "chown"
            | "touch"
            | "mkdir"
            | "git"
            | "tar"
            | "unzip"
            | "python"
            | "python3"
            | "vim"
            | "vi"
            | "nano"
    )
}

/// Repeats effects at the targets of links created earlier.
fn follow_links(leaf: &mut LeafCommand, links: &HashMap<PathBuf, PathBuf>) {
    if links.is_empty() {
        return;
    }
    let mut more = Vec::new();
    let mut losses = Vec::new();
    let spares_targets = deletes_links_only(leaf);
    for effect in leaf.effects.iter().take(256) {
        let Resource::Path(path) = &effect.resource else { continue };
        for (link, target) in links {
            if let Ok(below) = path.strip_prefix(link) {
                let path =
                    if below.as_os_str().is_empty() { target.clone() } else { target.join(below) };
                let is_link = below.as_os_str().is_empty();
                if is_link && effect.scope == Scope::FILE_DELETE && spares_targets {
                    continue;
                }
                if is_change(&effect.scope) && damages_history(&leaf.program, &effect.scope, &path)
                {
                    losses.push(history_loss_reason(&effect.scope, &path.to_string_lossy()));
                }
                let resource = Resource::Path(path);
                more.push(Effect { scope: effect.scope.clone(), resource });
            }
        }
    }
    more.into_iter().for_each(|effect| leaf.add_effect(effect));
    losses
        .into_iter()
        .for_each(|loss| leaf.add_finding(CommandFinding::ask("git-history-loss", loss)));
}

/// Whether a program that is given a link removes the link and not its target.
/// A slash, a dot or a glob at the end means the contents of the target.
fn deletes_links_only(leaf: &LeafCommand) -> bool {
    let is_plain = |word: &ShellWord| {
        let last = word.text.rsplit('/').next().unwrap_or("");
        word.known && !word.glob && !matches!(last, "" | "." | "..")
    };
    matches!(leaf.program.as_str(), "rm" | "grm" | "unlink" | "gunlink" | "mv" | "gmv")
        && leaf.words.iter().all(is_plain)
}

fn is_change(scope: &Scope) -> bool {
    [Scope::FILE_WRITE, Scope::FILE_DELETE].contains(scope)
}

fn written_path(effect: &Effect) -> Option<PathBuf> {
    match &effect.resource {
        Resource::Path(path) if effect.scope == Scope::FILE_WRITE => Some(path.clone()),
        _ => None,
    }
}

#[cfg(test)]
#[path = "dataflow_tests.rs"]
mod tests;
