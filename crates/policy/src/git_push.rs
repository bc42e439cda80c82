//! Destinations of `git push`. The name of a remote means what the repository's
//! config currently says, so an approval covers both name and URLs.

use std::path::{Path, PathBuf};

use hermes_core::{Effect, Resource, Scope};
use hermes_shell::LeafCommand;

use crate::approvals::ApprovalUnit;

/// Name of the push effect.
const PUSH_EFFECT_NAME: &str = "git push";

/// Larger config files are not read.
const MAX_CONFIG_BYTES: u64 = 1 << 20;

/// Whether an effect is a push to a remote.
pub(crate) fn is_push(effect: &Effect, leaf: &LeafCommand) -> bool {
    let named = matches!(&effect.resource, Resource::Name(name) if name == PUSH_EFFECT_NAME);
    named && effect.scope == Scope::NETWORK_SEND && leaf.prefix().iter().any(|it| it == "push")
}

/// Returns the unit that an approval of a push covers; `None` if the
/// destination is unknown, so every such push is asked about.
pub(crate) fn push_unit(effect: &Effect, leaf: &LeafCommand) -> Option<ApprovalUnit> {
    let remote = hermes_shell::push_remote(leaf)?;
    let mut effects = leaf.effects.iter().filter(|effect| effect.scope == Scope::GIT_WRITE);
    let dir = effects.find_map(|effect| effect.resource.as_path())?;
    let destination = push_destination(&remote, dir)?;
    Some(ApprovalUnit {
        scope: effect.scope.to_string(),
        command: Some(leaf.prefix().join(" ")),
        resource: Some(destination),
        ..ApprovalUnit::default()
    })
}

/// Returns the remote and its URLs as one text.
fn push_destination(remote: &str, dir: &Path) -> Option<String> {
    let repository = GitRepository::containing(dir)?;
    let settings = repository.read_config()?;
    let name =
        if remote.is_empty() { settings.default_remote(&repository.branch()?) } else { remote };
    let addresses = match settings.all_values("remote", name, "pushurl") {
        none if none.is_empty() => settings.all_values("remote", name, "url"),
        some => some,
    };
    if !addresses.is_empty() {
        let addresses: Vec<String> = addresses.into_iter().map(strip_password).collect();
        return Some(format!("{name} ({})", addresses.join(", ")));
    }
    // No remote has that name, so it is the destination itself.
    if name.contains("://") || name.contains(':') || name.starts_with('/') {
        return Some(strip_password(name));
    }
    let is_path = name.contains('/');
    is_path.then(|| hermes_core::WorkingDir::new(dir, None).resolve(name).display().to_string())
}

/// Strips the credentials from a URL; they may change, and are secret.
fn strip_password(address: &str) -> String {
    let Some((scheme, rest)) = address.split_once("://") else { return address.to_owned() };
    let end = rest.find('/').unwrap_or(rest.len());
    match rest.get(..end).and_then(|host| host.rfind('@')) {
        Some(at) => format!("{scheme}://{}", rest.get(at + 1..).unwrap_or_default()),
        None => address.to_owned(),
    }
}

/// The directories in which a repository keeps its metadata.
#[derive(Debug)]
struct GitRepository {
    worktree_dir: PathBuf,
    common_dir: PathBuf,
}

impl GitRepository {
    /// Finds the repository that contains a directory.
    fn containing(dir: &Path) -> Option<Self> {
        let above = dir.ancestors().find(|above| above.join(".git").exists())?;
        let git = above.join(".git");
        let own = match git.is_dir() {
            true => git,
            false => above.join(read_small_file(&git)?.trim().strip_prefix("gitdir:")?.trim()),
        };
        let common = match read_small_file(&own.join("commondir")) {
            Some(common) => own.join(common.trim()),
            None => own.clone(),
        };
        Some(Self { worktree_dir: own, common_dir: common })
    }

    /// Returns the checked-out branch; empty if HEAD is detached.
    fn branch(&self) -> Option<String> {
        let head = read_small_file(&self.worktree_dir.join("HEAD"))?;
        let branch = head.trim().strip_prefix("ref: refs/heads/");
        Some(branch.unwrap_or_default().to_owned())
    }

    /// Reads the config; `None` if it is unreadable or refers to other files.
    fn read_config(&self) -> Option<GitConfig> {
        let mut settings = GitConfig::parse(&read_small_file(&self.common_dir.join("config"))?)?;
        if let Some(more) = read_small_file(&self.worktree_dir.join("config.worktree")) {
            settings.0.extend(GitConfig::parse(&more)?.0);
        }
        let leads_on = |entry: &GitConfigEntry| {
            matches!(entry.section.as_str(), "include" | "includeif" | "url")
        };
        (!settings.0.iter().any(leads_on)).then_some(settings)
    }
}

fn read_small_file(path: &Path) -> Option<String> {
    let is_small = std::fs::metadata(path).is_ok_and(|about| about.len() <= MAX_CONFIG_BYTES);
    std::fs::read_to_string(path).ok().filter(|_| is_small)
}

/// Config entries of a repository.
#[derive(Debug, Default)]
struct GitConfig(Vec<GitConfigEntry>);

/// `section.name.key = value`.
#[derive(Debug)]
struct GitConfigEntry {
    section: String,
    name: String,
    key: String,
    value: String,
}

impl GitConfig {
    /// Parses the config syntax that git itself writes; `None` for any other.
    fn parse(text: &str) -> Option<Self> {
        let mut entries = Vec::new();
        let (mut section, mut name) = (String::new(), String::new());
        for line in text.lines().map(str::trim) {
            if line.is_empty() || line.starts_with(['#', ';']) {
                continue;
            }
            if let Some(head) = line.strip_prefix('[') {
                let head = head.strip_suffix(']')?;
                let (first, quoted) = head.split_once(' ').unwrap_or((head, "\"\""));
                let inner = quoted.trim().strip_prefix('"')?.strip_suffix('"')?;
                section = first.to_ascii_lowercase();
                name = plain_value(inner)?.to_owned();
                continue;
            }
            let (key, value) = line.split_once('=').unwrap_or((line, ""));
            let key = key.trim().to_ascii_lowercase();
            // Only the values of remotes and branches have to be plain.
            let value = match section.as_str() {
                "remote" | "branch" => plain_value(value.trim())?,
                _ => value.trim(),
            };
            let (section, name) = (section.clone(), name.clone());
            entries.push(GitConfigEntry { section, name, key, value: value.to_owned() });
        }
        Some(Self(entries))
    }

    /// Returns all values of a key, in order.
    fn all_values(&self, section: &str, name: &str, key: &str) -> Vec<&str> {
        let is_it =
            |it: &&GitConfigEntry| it.section == section && it.name == name && it.key == key;
        self.0.iter().filter(is_it).map(|entry| entry.value.as_str()).collect()
    }

    /// Returns the remote for a push from a branch that names none.
    fn default_remote(&self, branch: &str) -> &str {
        let last = |section, name, key| self.all_values(section, name, key).last().copied();
        last("branch", branch, "pushremote")
            .or_else(|| last("remote", "", "pushdefault"))
            .or_else(|| last("branch", branch, "remote"))
            .unwrap_or("origin")
    }
}

/// Returns a value without quotes, escapes or comments unchanged.
fn plain_value(value: &str) -> Option<&str> {
    (!value.contains(['\\', '"', '#', ';'])).then_some(value)
}

#[cfg(test)]
#[path = "git_push_tests.rs"]
mod tests;
