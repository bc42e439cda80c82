//! What a system can hold, and what a prepared sandbox does hold.

use std::fmt;
use std::path::PathBuf;

use hermes_core::HostService;
use serde::Serialize;

/// The mechanisms of this system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SandboxSupport {
    /// The version of Landlock's interface; none if it is missing or off.
    pub landlock: Option<u32>,
    /// Whether system calls can be filtered.
    pub seccomp: bool,
    /// Whether this user may make user and mount namespaces.
    pub user_namespaces: bool,
    /// Why not, if not.
    pub user_namespaces_error: Option<String>,
    /// Where bubblewrap is, if it is installed.
    pub bubblewrap: Option<PathBuf>,
}

impl fmt::Display for SandboxSupport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.landlock {
            Some(abi) => write!(f, "landlock (ABI {abi})")?,
            None => f.write_str("no landlock")?,
        }
        f.write_str(if self.seccomp { ", seccomp" } else { ", no seccomp" })?;
        match (self.user_namespaces, &self.user_namespaces_error) {
            (true, _) => f.write_str(", user namespaces")?,
            (false, Some(why)) => write!(f, ", no user namespaces ({why})")?,
            (false, None) => f.write_str(", no user namespaces")?,
        }
        match &self.bubblewrap {
            Some(path) => write!(f, ", bubblewrap ({})", path.display()),
            None => f.write_str(", no bubblewrap"),
        }
    }
}

/// The mechanisms that hold the children of one sandbox.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct EnforcementReport {
    /// The version of Landlock's interface that holds files, TCP and signals.
    pub landlock: Option<u32>,
    /// Whether system calls are filtered.
    pub seccomp: bool,
    /// Whether a user and mount namespace covers paths.
    pub mount_namespace: bool,
    /// Whether the network is the session's own.
    pub network_namespace: bool,
    /// Bubblewrap, if it makes the namespaces.
    pub bubblewrap: Option<PathBuf>,
    /// Whether resource limits are set.
    pub rlimits: bool,
    /// Empty files and folders that stand where a protected path is not there
    /// yet, so that no child can make it. They go with the sandbox.
    pub placeholders: Vec<PathBuf>,
    /// The services that a part of the command needs, and that no part of it
    /// reaches.
    pub withheld: Vec<HostService>,
    /// What was asked for and does not hold, each in a sentence.
    pub gaps: Vec<String>,
    /// The gap in the limits, if there is one; it is among the others as well.
    #[serde(skip)]
    pub limit_gap: Option<String>,
}

impl EnforcementReport {
    /// The names of what holds, and what is kept from the child; what does not
    /// hold is in [`EnforcementReport::gaps`].
    pub fn names(&self) -> String {
        let mut names = Vec::new();
        if self.bubblewrap.is_some() {
            names.push("bubblewrap".to_owned());
        }
        if let Some(abi) = self.landlock {
            names.push(format!("landlock (ABI {abi})"));
        }
        let flags = [
            (self.seccomp, "seccomp"),
            (self.mount_namespace, "mount namespace"),
            (self.network_namespace, "network namespace"),
            (self.rlimits, "rlimits"),
        ];
        names.extend(flags.iter().filter(|(on, _)| *on).map(|(_, name)| (*name).to_owned()));
        let mut text = names.join(", ");
        for service in &self.withheld {
            let what = match service {
                HostService::Keys => "the agents of SSH and GnuPG keys cannot be reached",
                HostService::Containers => "the container engine cannot be reached",
                HostService::Databases => "the sockets of databases cannot be reached",
                HostService::Settings => {
                    "git cannot write the settings of a repository (.git/config)"
                }
            };
            text.push_str(&format!(
                "; {what}, as the command runs other programs beside: what needs that has to be a \
                 command of its own"
            ));
        }
        text
    }
}

impl fmt::Display for EnforcementReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.names())?;
        if !self.gaps.is_empty() {
            write!(f, "; not held: {}", self.gaps.join("; "))?;
        }
        Ok(())
    }
}

/// Whether the system lets a child do something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ProbeOutcome {
    /// It was refused.
    Blocked,
    /// It was done.
    Permitted,
    /// It could not be tried.
    Untried,
}

impl fmt::Display for ProbeOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Blocked => "blocked",
            Self::Permitted => "permitted",
            Self::Untried => "untried",
        })
    }
}

/// One thing that a child in the sandbox tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProbeResult {
    /// What it tried.
    pub what: String,
    /// What the confinement asks for.
    pub wanted: ProbeOutcome,
    /// What happened.
    pub got: ProbeOutcome,
    /// What the system said.
    pub detail: String,
}

impl ProbeResult {
    /// Whether the confinement holds here.
    pub fn passed(&self) -> bool {
        self.wanted == self.got
    }
}

impl fmt::Display for ProbeResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = if self.passed() { "ok" } else { "NOT HELD" };
        write!(f, "{mark}: {}: {} ({})", self.what, self.got, self.detail)
    }
}
