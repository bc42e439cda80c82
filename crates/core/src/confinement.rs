//! The limits of a child process, as plain data: derived by the policy from the
//! rules for the call, enforced by the operating system.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;

use crate::NetworkMode;

/// What a child process may access; by default nothing. Paths are absolute and
/// real.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize)]
pub struct Confinement {
    /// Trees that can be read and executed from.
    pub read: Vec<PathBuf>,
    /// Trees that can also be written.
    pub write: Vec<PathBuf>,
    /// Paths below the writable trees that are read-only, whether or not they
    /// exist yet.
    pub read_only: Vec<PathBuf>,
    /// Existing entries of a directory opened for new files; read-only unless
    /// approved.
    #[serde(rename = "beside")]
    pub frozen: Vec<PathBuf>,
    /// Like `frozen`, but the directories that contain them may be moved: files
    /// of nested repositories.
    #[serde(rename = "nested")]
    pub frozen_nested: Vec<PathBuf>,
    /// Missing paths that must not be created: an empty placeholder is mounted
    /// there if the system supports that.
    #[serde(rename = "absent")]
    pub masked_missing: Vec<PathBuf>,
    /// Missing paths that no placeholder can cover: what a child creates there
    /// is moved aside at once, and again when the child has ended.
    #[serde(rename = "unwelcome")]
    pub quarantined: Vec<PathBuf>,
    /// Paths that can be neither read nor written, wherever they are.
    pub hidden: Vec<PathBuf>,
    /// Secrets that do not exist yet: hidden as soon as they do.
    #[serde(skip)]
    pub pending_secrets: Arc<PendingSecrets>,
    /// Directories of which only some entries are visible.
    #[serde(rename = "enclosed")]
    pub partial_dirs: Vec<PartialDir>,
    /// The trees in which files may be deleted and renamed; none means every
    /// writable tree.
    pub delete: Option<Vec<PathBuf>>,
    /// How the child reaches the network.
    pub network: NetworkMode,
    /// The session whose network namespace it shares; empty for a separate one.
    pub session: String,
    /// Loopback ports of this machine that the session may use.
    pub host_ports: Vec<u16>,
    /// Files of the user that the child sees with credentials redacted.
    pub redacted: Vec<PathBuf>,
    /// Directories of the user that the child sees through a writable overlay.
    pub overlays: Vec<OverlayMount>,
    /// The services of the host that the child may reach through their sockets.
    pub services: Vec<HostService>,
    /// Services that one part of the command needs but that are denied because
    /// of the rest; used to explain failures.
    #[serde(rename = "withheld")]
    pub denied_services: Vec<HostService>,
    /// Further sockets of host programs, or directories of sockets, that the
    /// child may connect to.
    pub sockets: Vec<PathBuf>,
    /// Resource limits.
    pub limits: ChildLimits,
    /// Requires bubblewrap to create the namespaces; without it the child is not started.
    pub bubblewrap: bool,
    /// If namespaces are unavailable, uses the remaining mechanisms.
    pub reduced: bool,
}

/// Secrets that may be created later.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct PendingSecrets {
    /// Exact paths.
    pub paths: Vec<PathBuf>,
    /// Directories in which `name_patterns` apply.
    pub dirs: Vec<PathBuf>,
    /// Names of secrets; one `*` matches anything.
    pub name_patterns: Vec<String>,
    /// Names that match a pattern but are not secrets.
    pub excluded_patterns: Vec<String>,
}

impl PendingSecrets {
    /// Whether a file at this path would be one of the secrets.
    pub fn contains(&self, path: &Path) -> bool {
        if self.paths.iter().any(|own| own == path) {
            return true;
        }
        let is_here = path.parent().is_some_and(|it| self.dirs.iter().any(|own| own == it));
        is_here && path.file_name().is_some_and(|name| self.matches_name(&name.to_string_lossy()))
    }

    /// Whether a file with this name in one of the directories would be one of
    /// the secrets.
    pub fn matches_name(&self, name: &str) -> bool {
        let name = name.to_lowercase();
        let fits = |pattern: &String| match pattern.split_once('*') {
            Some((start, end)) => {
                name.len() >= start.len() + end.len()
                    && name.starts_with(start)
                    && name.ends_with(end)
            }
            None => name == *pattern,
        };
        self.name_patterns.iter().any(fits) && !self.excluded_patterns.iter().any(fits)
    }
}

/// A directory under an overlay: changes are stored elsewhere, and the user's
/// directory stays unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct OverlayMount {
    /// The directory, which may not exist. It is below the home directory.
    pub target: PathBuf,
    /// The user's home directory.
    pub home: PathBuf,
    /// The workspace that the changes belong to.
    pub workspace: PathBuf,
    /// Where the changes of all workspaces are stored.
    pub store: PathBuf,
    /// Paths below the target that are hidden, such as credentials.
    pub hidden: Vec<PathBuf>,
}

/// A directory of which a child sees only some entries, all read-only.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct PartialDir {
    /// The directory.
    #[serde(rename = "folder")]
    pub dir: PathBuf,
    /// Visible direct entries.
    pub open: Vec<PathBuf>,
}

/// A kind of program that serves others through a socket in the file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HostService {
    /// Agents that sign with the user's keys, such as those of SSH and GnuPG.
    Keys,
    /// Container engines.
    Containers,
    /// Database servers.
    Databases,
    /// Not a service, but granted like one: the settings of a repository, which
    /// git writes.
    Settings,
}

/// Resource limits of a child process; none means the parent's limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub struct ChildLimits {
    /// Concurrent processes and threads.
    pub processes: Option<u64>,
    /// Bytes of address space per process.
    pub memory: Option<u64>,
    /// Bytes of private writable memory per process; unlike address space, it
    /// is not reserved without being used.
    pub private_memory: Option<u64>,
    /// Bytes of the largest file that the child may write.
    pub file_size: Option<u64>,
    /// Open files per process.
    pub open_files: Option<u64>,
}

impl Default for ChildLimits {
    fn default() -> Self {
        Self {
            processes: Some(4096),
            memory: None,
            private_memory: None,
            file_size: None,
            open_files: None,
        }
    }
}
