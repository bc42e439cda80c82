//! The bounds of a child process, as plain data: made by the policy from the
//! same rules that judge the call, enforced by the operating system.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;

use crate::NetworkMode;

/// What a child process may reach; by default nothing. Paths are absolute and
/// real.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize)]
pub struct Confinement {
    /// Trees that may be read and run from.
    pub read: Vec<PathBuf>,
    /// Trees that may be written, too.
    pub write: Vec<PathBuf>,
    /// Below the writable trees: may be read, not written, whether or not it
    /// exists yet.
    pub read_only: Vec<PathBuf>,
    /// What is there in a folder that is open for something new: it stays as it
    /// is, but for what somebody agreed to.
    pub frozen: Vec<PathBuf>,
    /// The same for what is there, but the folders that it lies in may be
    /// moved: files of repositories within others.
    pub frozen_nested: Vec<PathBuf>,
    /// Not there, and not to be made: something empty stands there meanwhile,
    /// where the system can hold that.
    pub masked_missing: Vec<PathBuf>,
    /// Not there, and nothing can stand in for it: what a child makes of it is
    /// put aside at once, and when the child has ended.
    pub quarantined: Vec<PathBuf>,
    /// Neither read nor written, wherever it is.
    pub hidden: Vec<PathBuf>,
    /// Secrets that are not there yet: hidden as soon as they are.
    #[serde(skip)]
    pub pending_secrets: Arc<PendingSecrets>,
    /// Folders that are hidden but for some of what is in them.
    pub partial_dirs: Vec<PartialDir>,
    /// The trees in which files may be deleted and renamed; none for all that
    /// may be written.
    pub delete: Option<Vec<PathBuf>>,
    /// How it reaches the network.
    pub network: NetworkMode,
    /// The session whose network it shares; empty for one of its own.
    pub session: String,
    /// Loopback ports of this machine that the session may use.
    pub host_ports: Vec<u16>,
    /// Files of the user that it sees without the credentials in them.
    pub redacted: Vec<PathBuf>,
    /// Directories of the user that it sees with changes of its own on top.
    pub overlays: Vec<OverlayMount>,
    /// The programs outside that it may speak to by their sockets.
    pub services: Vec<HostService>,
    /// Those that a part of it needs, and that are kept from it because of the
    /// rest; whoever wonders is told.
    pub denied_services: Vec<HostService>,
    /// Sockets, or folders of sockets, of programs outside that it may speak
    /// to besides.
    pub sockets: Vec<PathBuf>,
    /// How much it may use.
    pub limits: ChildLimits,
    /// Bubblewrap makes the namespaces; without it the child is not started.
    pub bubblewrap: bool,
    /// Where the system has no namespaces, what else it has must do.
    pub reduced: bool,
}

/// Secrets that may come to be.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct PendingSecrets {
    /// By their paths.
    pub paths: Vec<PathBuf>,
    /// The folders in which they are known by their names.
    pub dirs: Vec<PathBuf>,
    /// These names, in which one star stands for anything.
    pub name_patterns: Vec<String>,
    /// These are none, although they look like one.
    pub excluded_patterns: Vec<String>,
}

impl PendingSecrets {
    /// Whether something at this path is one of them.
    pub fn contains(&self, path: &Path) -> bool {
        if self.paths.iter().any(|own| own == path) {
            return true;
        }
        let is_here = path.parent().is_some_and(|it| self.dirs.iter().any(|own| own == it));
        is_here && path.file_name().is_some_and(|name| self.matches_name(&name.to_string_lossy()))
    }

    /// Whether a file of that name is one of them in the folders concerned.
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

/// A directory whose changes go elsewhere: the user's own stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct OverlayMount {
    /// The directory, whether or not it exists. It lies in the home.
    pub target: PathBuf,
    /// The user's home.
    pub home: PathBuf,
    /// The workspace that the changes belong to.
    pub workspace: PathBuf,
    /// Where changes of all workspaces are kept.
    pub store: PathBuf,
    /// Paths below the target that stay invisible, such as credentials.
    pub hidden: Vec<PathBuf>,
}

/// A folder, and what a child sees of it: neither is written.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct PartialDir {
    /// The folder.
    pub folder: PathBuf,
    /// Files and folders right in it that can be seen.
    pub open: Vec<PathBuf>,
}

/// A kind of program that serves others by a socket in the file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HostService {
    /// Agents that sign with the user's keys, such as those of SSH and GnuPG.
    Keys,
    /// Those that run containers.
    Containers,
    /// Database servers.
    Databases,
    /// No program, but kept like one: the settings of a repository, which git
    /// writes.
    Settings,
}

/// How much a child process may use; none means as much as the parent may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub struct ChildLimits {
    /// Processes and threads at a time.
    pub processes: Option<u64>,
    /// Bytes of address space of each process.
    pub memory: Option<u64>,
    /// Bytes of memory that each process has for itself and may write; unlike
    /// address space, nobody reserves that without using it.
    pub private_memory: Option<u64>,
    /// Bytes of the largest file that it may write.
    pub file_size: Option<u64>,
    /// Open files of each process.
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
