//! Connections of child processes: their classification, and which are allowed
//! without asking.

use std::path::Path;

use hermes_core::{
    ClientProcess, ConnectionKind, ConnectionRequest, Effect, NetworkDestination, Resource, Scope,
    WorkingDir,
};
use hermes_net::{AddressReach, host_reach};

use crate::level::{PolicyAnswer, PolicyRule, RuleSubject};
use crate::permissions::PermissionPolicy;

/// Native programs that fetch what their command line names. The command line
/// is analyzed like a shell command; one that sends does not count as fetching.
const FETCHING_CLIENTS: &[&str] = &[
    "aria2c",
    "apt",
    "apt-get",
    "cargo",
    "curl",
    "dig",
    "git",
    "git-remote-ftp",
    "git-remote-ftps",
    "git-remote-http",
    "git-remote-https",
    "go",
    "host",
    "nslookup",
    "rustup",
    "rustup-init",
    "uv",
    "uvx",
    "wget",
    "wget2",
    "xh",
];

/// Helpers started by git; the git command line determines what they do.
const GIT_HELPERS: &[&str] =
    &["git-remote-ftp", "git-remote-ftps", "git-remote-http", "git-remote-https", "ssh"];

/// Package managers by their name in a command line, with the ecosystem whose
/// registries they fetch from.
const PACKAGE_MANAGERS: &[(&str, &str)] = &[
    ("bun", "npm"),
    ("bundle", "gem"),
    ("bundler", "gem"),
    ("bunx", "npm"),
    ("cargo", "cargo"),
    ("corepack", "npm"),
    ("deno", "npm"),
    ("gem", "gem"),
    ("go", "go"),
    ("gradle", "mvn"),
    ("mvn", "mvn"),
    ("npm", "npm"),
    ("npx", "npm"),
    ("pdm", "pip"),
    ("pip", "pip"),
    ("pip3", "pip"),
    ("pipx", "pip"),
    ("pnpm", "npm"),
    ("poetry", "pip"),
    ("rustup", "cargo"),
    ("uv", "uv"),
    ("uvx", "uv"),
    ("yarn", "npm"),
    ("yarnpkg", "npm"),
];

/// Number of leading words that are searched for a package manager's name.
const MAX_NAMING_WORDS: usize = 6;

/// Programs that run package managers written in their language.
const INTERPRETER_PROGRAMS: &[&str] = &["java", "node", "nodejs", "perl", "php", "ruby"];

impl PermissionPolicy {
    /// Classifies a connection of a child process as an effect: fetch if a
    /// known program only fetches, otherwise send.
    pub(crate) fn classify_connection(&self, request: &ConnectionRequest) -> Effect {
        let is_plain_read = |method: &str| matches!(method, "GET" | "HEAD" | "OPTIONS");
        let may_fetch = match &request.kind {
            ConnectionKind::Http(method) => is_plain_read(method),
            _ => true,
        };
        let fetches = may_fetch && request.client.as_ref().is_some_and(is_fetching_client);
        let scope = if fetches { Scope::NETWORK_FETCH } else { Scope::NETWORK_SEND };
        // The host name was judged before; this judges its address.
        let host = match request.address {
            Some(address) => {
                NetworkDestination::new(&address.to_string(), request.destination.port)
            }
            None => request.destination.clone(),
        };
        Effect { scope, resource: Resource::Host(host.to_string()) }
    }

    /// Whether a connection is allowed without asking: a package manager
    /// fetches from a registry of the user's configuration, or the settings
    /// name the port, or the host by its name.
    pub(crate) fn is_settled_connection(&self, request: &ConnectionRequest, tool: &str) -> bool {
        let NetworkDestination { host, port } = &request.destination;
        if request.kind == ConnectionKind::HostPort && self.sandbox().host_ports.contains(port) {
            return true;
        }
        if request.address.is_some() && self.is_decided_by_name(host, tool) {
            return true;
        }
        let sends = matches!(&request.kind, ConnectionKind::Http(method) if !matches!(&**method, "GET" | "HEAD"));
        let manager = request.client.as_ref().and_then(package_manager).filter(|_| !sends);
        let (Some(manager), Some(ask)) = (manager, &self.settings().registries) else {
            return false;
        };
        let fetch = Effect {
            scope: Scope::NETWORK_FETCH,
            resource: Resource::Host(request.destination.to_string()),
        };
        !self.denies(&fetch, tool) && ask(manager).contains(&(host.clone(), *port))
    }

    /// Whether the host name alone decides: it is recognizably not public, or a
    /// rule allows it by name.
    fn is_decided_by_name(&self, host: &str, tool: &str) -> bool {
        if !matches!(host_reach(host), AddressReach::Public) {
            return true;
        }
        let effect =
            Effect { scope: Scope::NETWORK_FETCH, resource: Resource::Host(host.to_owned()) };
        let subject = RuleSubject {
            effect: &effect,
            real: None,
            folded: None,
            leaf: None,
            command: None,
            own_loopback: false,
        };
        let mut approved = self.levels(tool, false).flat_map(|level| &level.approved);
        let names_host = |rule: &PolicyRule| {
            let hosts = rule.selectors.as_ref().filter(|it| !it.hosts.is_empty());
            rule.scope.matches(&effect.scope) && hosts.is_some_and(|it| it.matches(&subject, false))
        };
        if approved.any(names_host) {
            return true;
        }
        let mut restrictions = self.levels(tool, false).flat_map(|level| &level.restrictions);
        restrictions.any(|restriction| {
            let is_network = restriction.scope.matches(&effect.scope);
            let allowed = restriction.allowed.as_ref();
            is_network && allowed.is_some_and(|allowed| allowed.matches(&subject, false))
        })
    }

    /// Whether a rule denies an effect on a host.
    fn denies(&self, effect: &Effect, tool: &str) -> bool {
        let subject = RuleSubject {
            effect,
            real: None,
            folded: None,
            leaf: None,
            command: None,
            own_loopback: false,
        };
        let Resource::Host(host) = &effect.resource else { return true };
        if host_reach(host) == AddressReach::Metadata {
            return true;
        }
        self.levels(tool, false)
            .any(|level| level.judge(&subject).is_some_and(|it| it.answer == PolicyAnswer::Deny))
    }
}

/// Whether a client is a known program that only fetches.
fn is_fetching_client(client: &ClientProcess) -> bool {
    if !client.is_installed || client.has_generated_code {
        return false;
    }
    let name = client.name();
    let is_helper = GIT_HELPERS.contains(&name);
    let is_git = |line: &&Vec<String>| line.first().is_some_and(|word| base_name(word) == "git");
    let line = match is_helper {
        true => client.callers.iter().find(|line| is_git(line) && !is_git_helper_line(line)),
        false => FETCHING_CLIENTS.contains(&name).then_some(&client.arguments),
    };
    line.is_some_and(|line| only_fetches(name, line))
}

/// Matches `git remote-https origin …`, which git runs internally.
fn is_git_helper_line(line: &[String]) -> bool {
    line.get(1).is_some_and(|word| word.starts_with("remote-"))
}

/// Whether a command line neither sends nor publishes.
fn only_fetches(name: &str, line: &[String]) -> bool {
    let name = if GIT_HELPERS.contains(&name) { "git" } else { name };
    let words = line.iter().skip(1).map(|word| hermes_core::text::shell_quote(word));
    let command = [name.to_owned()].into_iter().chain(words).collect::<Vec<_>>().join(" ");
    let analysis = hermes_shell::analyze(&command, &WorkingDir::new(Path::new("/"), None));
    let sends = |effect: &Effect| {
        matches!(effect.scope.family(), "email" | "message" | "cloud")
            || effect.scope == Scope::NETWORK_SEND
    };
    // The contents of a config file are unknown.
    let is_config = |word: &String| {
        matches!(&**word, "--config" | "-K")
            || word.starts_with("-K")
            || word.starts_with("--config=")
    };
    if matches!(name, "curl" | "wget" | "wget2") && line.iter().any(is_config) {
        return false;
    }
    let publishes = |category: &str| category.contains("publish") || category.contains("send");
    !analysis.leaves.iter().flat_map(|leaf| &leaf.effects).any(sends)
        && !analysis.all_findings().any(|found| publishes(found.category))
}

/// Returns the ecosystem whose registries a client fetches from, if it is a
/// package manager or was started by one.
fn package_manager(client: &ClientProcess) -> Option<&'static str> {
    if !client.is_installed {
        return None;
    }
    let known = |word: &str| {
        let found = PACKAGE_MANAGERS.iter().find(|(name, _)| *name == word);
        found.map(|(_, registries)| *registries)
    };
    let name = client.name();
    if let Some(found) = known(name) {
        return Some(found);
    }
    let is_python = name.starts_with("python") || name.starts_with("pypy");
    if !is_python && !INTERPRETER_PROGRAMS.contains(&name) {
        return None;
    }
    let lines = [&client.arguments].into_iter().chain(&client.callers);
    lines.into_iter().find_map(|line| {
        let words = line.iter().take(MAX_NAMING_WORDS).flat_map(|word| word.split(' ').take(2));
        words.filter(|word| !word.starts_with('-')).find_map(|word| {
            let path = Path::new(word);
            let parts = path.iter().filter_map(|part| part.to_str());
            let plain = |part: &str| {
                let part = part.split(['.', '@']).next().unwrap_or(part).to_owned();
                part.strip_suffix("-cli").unwrap_or(&part).to_owned()
            };
            let jar = || {
                let is_maven = word.contains("maven") || word.contains("plexus-classworlds");
                (is_maven || word.contains("gradle")).then_some("mvn")
            };
            parts.rev().find_map(|part| known(&plain(part))).or_else(jar)
        })
    })
}

fn base_name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

#[cfg(test)]
#[path = "connections_tests.rs"]
mod tests;
