//! Where a push goes. The name of a remote stands for what the repository's
//! settings say at the moment, so that an agreement has to hold both.

use std::path::{Path, PathBuf};

use hermes_core::{Effect, Resource, Scope};
use hermes_shell::LeafCommand;

use crate::approvals::Unit;

/// The name of the effect.
const PUSH: &str = "git push";

/// Larger settings are not read.
const LARGEST: u64 = 1 << 20;

/// Whether an effect is that of a push to a remote.
pub(crate) fn is_push(effect: &Effect, leaf: &LeafCommand) -> bool {
    let named = matches!(&effect.resource, Resource::Name(name) if name == PUSH);
    named && effect.scope == Scope::NETWORK_SEND && leaf.prefix().iter().any(|it| it == "push")
}

/// What an agreement to a push is about; nothing if it cannot be told where
/// that goes, so that every one is asked about.
pub(crate) fn unit(effect: &Effect, leaf: &LeafCommand) -> Option<Unit> {
    let remote = hermes_shell::push_remote(leaf)?;
    let mut effects = leaf.effects.iter().filter(|effect| effect.scope == Scope::GIT_WRITE);
    let folder = effects.find_map(|effect| effect.resource.as_path())?;
    let destination = destination(&remote, folder)?;
    Some(Unit {
        scope: effect.scope.to_string(),
        command: Some(leaf.prefix().join(" ")),
        resource: Some(destination),
        ..Unit::default()
    })
}

/// The remote and its addresses, as one text.
fn destination(remote: &str, folder: &Path) -> Option<String> {
    let repository = Repository::of(folder)?;
    let settings = repository.settings()?;
    let name = if remote.is_empty() { settings.usual(&repository.branch()?) } else { remote };
    let addresses = match settings.all("remote", name, "pushurl") {
        none if none.is_empty() => settings.all("remote", name, "url"),
        some => some,
    };
    if !addresses.is_empty() {
        let addresses: Vec<String> = addresses.into_iter().map(without_password).collect();
        return Some(format!("{name} ({})", addresses.join(", ")));
    }
    // No remote of that name, so it says itself where it goes.
    if name.contains("://") || name.contains(':') || name.starts_with('/') {
        return Some(without_password(name));
    }
    let is_path = name.contains('/');
    is_path.then(|| hermes_core::WorkingDir::new(folder, None).resolve(name).display().to_string())
}

/// An address without the password in it, which may change and is a secret.
fn without_password(address: &str) -> String {
    let Some((scheme, rest)) = address.split_once("://") else { return address.to_owned() };
    let end = rest.find('/').unwrap_or(rest.len());
    match rest.get(..end).and_then(|host| host.rfind('@')) {
        Some(at) => format!("{scheme}://{}", rest.get(at + 1..).unwrap_or_default()),
        None => address.to_owned(),
    }
}

/// Where a repository keeps its books.
#[derive(Debug)]
struct Repository {
    own: PathBuf,
    common: PathBuf,
}

impl Repository {
    /// The one that a folder is in.
    fn of(folder: &Path) -> Option<Self> {
        let above = folder.ancestors().find(|above| above.join(".git").exists())?;
        let git = above.join(".git");
        let own = match git.is_dir() {
            true => git,
            false => above.join(read(&git)?.trim().strip_prefix("gitdir:")?.trim()),
        };
        let common = match read(&own.join("commondir")) {
            Some(common) => own.join(common.trim()),
            None => own.clone(),
        };
        Some(Self { own, common })
    }

    /// The branch that is checked out; empty if none is.
    fn branch(&self) -> Option<String> {
        let head = read(&self.own.join("HEAD"))?;
        let branch = head.trim().strip_prefix("ref: refs/heads/");
        Some(branch.unwrap_or_default().to_owned())
    }

    /// None if they cannot be read, or are not all in one place.
    fn settings(&self) -> Option<Settings> {
        let mut settings = Settings::parse(&read(&self.common.join("config"))?)?;
        if let Some(more) = read(&self.own.join("config.worktree")) {
            settings.0.extend(Settings::parse(&more)?.0);
        }
        let leads_on =
            |entry: &Entry| matches!(entry.section.as_str(), "include" | "includeif" | "url");
        (!settings.0.iter().any(leads_on)).then_some(settings)
    }
}

fn read(path: &Path) -> Option<String> {
    let is_small = std::fs::metadata(path).is_ok_and(|about| about.len() <= LARGEST);
    std::fs::read_to_string(path).ok().filter(|_| is_small)
}

/// What a repository is set to.
#[derive(Debug, Default)]
struct Settings(Vec<Entry>);

/// `section.name.key = value`.
#[derive(Debug)]
struct Entry {
    section: String,
    name: String,
    key: String,
    value: String,
}

impl Settings {
    /// Reads what git writes itself. None where it is written in another way.
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
                name = plain(inner)?.to_owned();
                continue;
            }
            let (key, value) = line.split_once('=').unwrap_or((line, ""));
            let key = key.trim().to_ascii_lowercase();
            // Only where it says something of remotes does it matter how.
            let value = match section.as_str() {
                "remote" | "branch" => plain(value.trim())?,
                _ => value.trim(),
            };
            let (section, name) = (section.clone(), name.clone());
            entries.push(Entry { section, name, key, value: value.to_owned() });
        }
        Some(Self(entries))
    }

    /// All values of a key, in order.
    fn all(&self, section: &str, name: &str, key: &str) -> Vec<&str> {
        let is_it = |it: &&Entry| it.section == section && it.name == name && it.key == key;
        self.0.iter().filter(is_it).map(|entry| entry.value.as_str()).collect()
    }

    /// Where a push from a branch goes that names no remote.
    fn usual(&self, branch: &str) -> &str {
        let last = |section, name, key| self.all(section, name, key).last().copied();
        last("branch", branch, "pushremote")
            .or_else(|| last("remote", "", "pushdefault"))
            .or_else(|| last("branch", branch, "remote"))
            .unwrap_or("origin")
    }
}

/// A value that means what it says.
fn plain(value: &str) -> Option<&str> {
    (!value.contains(['\\', '"', '#', ';'])).then_some(value)
}

#[cfg(test)]
#[path = "push_tests.rs"]
mod tests;
