//! Decides which commands may use the sockets of services outside the sandbox.
//! A service is open to every process of a command or to none; it is granted
//! only if every program is known by name to do nothing but what the command
//! says.

use hermes_core::{HostService, Scope};
use hermes_shell::{CommandAnalysis, LeafCommand};

use crate::git_settings::writes_git_settings;

/// The services that the commands of a call use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServiceClients {
    needs: Vec<HostService>,
    /// Whether git is run to write the settings of a repository.
    writes_git_settings: bool,
    /// Whether arbitrary code runs: a script, a program of the project, an
    /// interpreter, a build.
    runs_untrusted: bool,
}

/// Programs that use services. They run no code from elsewhere: anything that
/// their options run is analyzed as part of the command.
const CLIENT_PROGRAMS: &[&str] = &[
    "aws",
    "az",
    "buildah",
    "createdb",
    "curl",
    "docker",
    "docker-compose",
    "dropdb",
    "gcloud",
    "gh",
    "git",
    "glab",
    "gpg",
    "helm",
    "kubectl",
    "mariadb",
    "mariadb-dump",
    "mongo",
    "mongodump",
    "mongosh",
    "mysql",
    "mysqladmin",
    "mysqldump",
    "nerdctl",
    "pg_dump",
    "pg_dumpall",
    "pg_isready",
    "pg_restore",
    "podman",
    "podman-compose",
    "psql",
    "redis-cli",
    "rsync",
    "scp",
    "sftp",
    "skopeo",
    "sqlite3",
    "ssh",
    "ssh-add",
    "ssh-copy-id",
    "valkey-cli",
    "wget",
];

/// Programs and shell builtins that run no foreign code.
const HARMLESS_PROGRAMS: &[&str] = &[
    ":",
    "[",
    "base64",
    "basename",
    "break",
    "cat",
    "cd",
    "chmod",
    "cksum",
    "clear",
    "cmp",
    "column",
    "comm",
    "command",
    "continue",
    "cp",
    "cut",
    "date",
    "declare",
    "df",
    "diff",
    "dirname",
    "du",
    "echo",
    "egrep",
    "exit",
    "export",
    "expr",
    "false",
    "fgrep",
    "file",
    "find",
    "fmt",
    "fold",
    "grep",
    "gunzip",
    "gzip",
    "head",
    "hostname",
    "id",
    "join",
    "jq",
    "kill",
    "less",
    "ln",
    "local",
    "ls",
    "md5sum",
    "mkdir",
    "mktemp",
    "more",
    "mv",
    "nl",
    "nproc",
    "od",
    "paste",
    "popd",
    "pr",
    "printenv",
    "printf",
    "ps",
    "pushd",
    "pwd",
    "read",
    "readlink",
    "readonly",
    "realpath",
    "return",
    "rev",
    "rg",
    "rm",
    "rmdir",
    "seq",
    "set",
    "sha1sum",
    "sha256sum",
    "sha512sum",
    "shasum",
    "shift",
    "shopt",
    "sleep",
    "sort",
    "stat",
    "tac",
    "tail",
    "tee",
    "test",
    "touch",
    "tr",
    "tree",
    "true",
    "truncate",
    "type",
    "uname",
    "uniq",
    "unset",
    "wait",
    "wc",
    "which",
    "whoami",
    "xxd",
    "yes",
    "yq",
];

/// Programs that run scripts of their own language, which are analyzed when
/// inline but not when in a file.
const SCRIPT_FILTERS: &[&str] = &["awk", "gawk", "mawk", "sed"];

/// Programs that run the rest of their arguments, or code in them.
const WRAPPER_PROGRAMS: &[&str] = &[
    "bash", "command", "dash", "doas", "env", "exec", "find", "ionice", "nice", "nohup", "setsid",
    "sh", "stdbuf", "sudo", "time", "timeout", "xargs", "zsh",
];
const SHELL_PROGRAMS: &[&str] = &["bash", "dash", "sh", "zsh"];

/// Commands run by these do not run on this machine.
const REMOTE_RUNNERS: &[&str] =
    &["docker", "docker-compose", "kubectl", "nerdctl", "podman", "podman-compose", "ssh"];

/// Git subcommands that sign or verify signatures.
const SIGNING_SUBCOMMANDS: &[&str] = &[
    "am",
    "cherry-pick",
    "commit",
    "commit-tree",
    "merge",
    "rebase",
    "revert",
    "tag",
    "verify-commit",
    "verify-tag",
];

impl ServiceClients {
    /// Adds a command.
    pub(crate) fn add_command(&mut self, analysis: &CommandAnalysis) {
        self.runs_untrusted |= !analysis.findings.is_empty() || analysis.runs_stdin;
        for leaf in &analysis.leaves {
            self.runs_untrusted = self.runs_untrusted || !is_trusted_program(leaf);
            self.needs.extend(needed_services(leaf));
            self.writes_git_settings = self.writes_git_settings || writes_git_settings(leaf);
        }
        self.needs.sort();
        self.needs.dedup();
    }

    /// Whether arbitrary code runs.
    pub(crate) fn runs_untrusted_code(&self) -> bool {
        self.runs_untrusted
    }

    /// Returns the services that child processes may reach.
    pub(crate) fn reachable_services(&self) -> Vec<HostService> {
        if self.runs_untrusted { Vec::new() } else { self.needs.clone() }
    }

    /// Whether git may write the settings of a repository. Every process of the
    /// command could write them too, and they can make the next git run a
    /// program.
    pub(crate) fn may_write_git_settings(&self) -> bool {
        self.writes_git_settings && !self.runs_untrusted
    }

    /// Returns the services that part of the command uses but that are denied
    /// because of the other parts.
    pub(crate) fn denied_services(&self) -> Vec<HostService> {
        if !self.runs_untrusted {
            return Vec::new();
        }
        let settings = self.writes_git_settings.then_some(HostService::Settings);
        self.needs.iter().copied().chain(settings).collect()
    }
}

/// Whether a simple command runs nothing but the program it names.
fn is_trusted_program(leaf: &LeafCommand) -> bool {
    let name = leaf.program.as_str();
    let is_listed = |list: &[&str]| is_in_sorted(list, name);
    if name.is_empty() {
        return true;
    }
    // A program of the project is named by its path.
    let own = leaf.prefix().into_iter().find(|part| !matches!(part.as_str(), "sudo" | "doas"));
    if own.is_some_and(|own| own.contains('/')) {
        return false;
    }
    if leaf.wrappers.iter().any(|via| is_in_sorted(REMOTE_RUNNERS, via)) {
        return true;
    }
    let is_wrapper = |via: &String| is_in_sorted(WRAPPER_PROGRAMS, via) || is_client(via);
    if !leaf.wrappers.iter().all(is_wrapper) {
        return false;
    }
    if is_client(name) {
        return true;
    }
    if !leaf.findings.is_empty() {
        return false;
    }
    let is_option = |word: &str, of: char| {
        word.strip_prefix('-').is_some_and(|flags| !flags.starts_with('-') && flags.contains(of))
    };
    let words = || leaf.words.iter().skip(1);
    // With `-c`, the code is part of the command and analyzed with it.
    let reads_code = || words().next().is_some_and(|it| it.known && is_option(&it.text, 'c'));
    let has_file = || words().any(|it| is_option(&it.text, 'f') || it.text.starts_with("--file"));
    is_listed(HARMLESS_PROGRAMS)
        || is_listed(SHELL_PROGRAMS) && reads_code()
        || is_listed(SCRIPT_FILTERS) && leaf.is_read_only() && !has_file()
        || is_listed(WRAPPER_PROGRAMS) && !is_listed(SHELL_PROGRAMS) && leaf.is_read_only()
}

fn is_client(name: &str) -> bool {
    is_in_sorted(CLIENT_PROGRAMS, name)
}

/// Whether a sorted list contains a name.
fn is_in_sorted(list: &[&str], name: &str) -> bool {
    list.binary_search(&name).is_ok()
}

/// Returns the services that a simple command needs.
fn needed_services(leaf: &LeafCommand) -> Vec<HostService> {
    let is_of = |family: &str| leaf.effects.iter().any(|it| it.scope.family() == family);
    // Git uses the user's keys to reach a remote or to sign a commit, but not
    // to read.
    let signs = || leaf.prefix().iter().any(|part| SIGNING_SUBCOMMANDS.contains(&part.as_str()));
    let keys = match leaf.program.as_str() {
        "git" => is_of("network") || is_of("git") && signs(),
        _ => leaf.effects.iter().any(|it| it.scope == Scope::NETWORK_SEND),
    };
    let found = [
        (keys, HostService::Keys),
        (is_of("docker"), HostService::Containers),
        (is_of("database"), HostService::Databases),
    ];
    found.into_iter().filter(|(is_needed, _)| *is_needed).map(|(_, service)| service).collect()
}

#[cfg(test)]
#[path = "service_clients_tests.rs"]
mod tests;
