//! Mechanisms that the system supports, and those that a sandbox enforces.

use std::fmt;
use std::path::PathBuf;

use hermes_core::HostService;
use serde::Serialize;

/// Sandbox mechanisms of this system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SandboxSupport {
    /// Landlock ABI version; `None` if it is missing or disabled.
    pub landlock: Option<u32>,
    /// Whether system calls can be filtered.
    pub seccomp: bool,
    /// Whether this user may create user and mount namespaces.
    pub user_namespaces: bool,
    /// Why the user may not, if so.
    pub user_namespaces_error: Option<String>,
    /// Path of bubblewrap, if it is installed.
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

/// Mechanisms enforced on the children of one sandbox.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct EnforcementReport {
    /// Landlock ABI version that restricts files, TCP and signals.
    pub landlock: Option<u32>,
    /// Whether system calls are filtered.
    pub seccomp: bool,
    /// Whether a user and mount namespace masks paths.
    pub mount_namespace: bool,
    /// Whether the session has its own network namespace.
    pub network_namespace: bool,
    /// Path of bubblewrap, if it creates the namespaces.
    pub bubblewrap: Option<PathBuf>,
    /// Whether resource limits are set.
    pub rlimits: bool,
    /// Empty files and directories in place of protected paths that do not
    /// exist yet, so no child can create them. They are removed with the
    /// sandbox.
    pub placeholders: Vec<PathBuf>,
    /// Services that part of the command needs and that are denied to all of
    /// it.
    pub withheld: Vec<HostService>,
    /// What was requested but is not enforced, one phrase each.
    pub gaps: Vec<String>,
    /// The gap in the resource limits, if any; `gaps` lists it as well.
    #[serde(skip)]
    pub limit_gap: Option<String>,
}

impl EnforcementReport {
    /// Returns the names of the enforced mechanisms, and the withheld services;
    /// what is not enforced is in [`EnforcementReport::gaps`].
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
                HostService::Keys => "SSH and GnuPG key agents cannot be reached",
                HostService::Containers => "the container engine cannot be reached",
                HostService::Databases => "database sockets cannot be reached",
                HostService::Settings => {
                    "git cannot write the configuration of a repository (.git/config)"
                }
            };
            text.push_str(&format!(
                "; {what} because the command also runs other programs: run what needs it as a \
                 separate command"
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

/// Outcome of a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ProbeOutcome {
    /// The attempt was denied.
    Blocked,
    /// The attempt succeeded.
    Permitted,
    /// The attempt could not be made.
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

/// One attempt of a child in the sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProbeResult {
    /// What the child attempted.
    pub what: String,
    /// Outcome that the confinement requires.
    pub wanted: ProbeOutcome,
    /// Actual outcome.
    pub got: ProbeOutcome,
    /// Details, such as the error of the system.
    pub detail: String,
}

impl ProbeResult {
    /// Whether the outcome is the required one.
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
