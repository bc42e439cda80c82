//! The sandbox settings of a profile, each of which may be unset.

use hermes_core::{ChildLimits, NetworkMode};

use crate::config_node::ConfigNode;
use crate::error::PolicyError;
use crate::level::PolicyAnswer;
use crate::profile::SandboxPolicy;

/// The keys of the `sandbox` section.
const SANDBOX_KEYS: &[&str] = &[
    "enabled",
    "bubblewrap",
    "missing",
    "processes",
    "memory",
    "file_size",
    "open_files",
    "sockets",
    "network",
    "host_ports",
];

/// The value of `missing` that runs calls in a reduced sandbox.
const REDUCED_WORD: &str = "reduced";

/// Sandbox settings of one source; `None` where unset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SandboxOverrides {
    /// Whether child processes are confined.
    pub(crate) enabled: Option<bool>,
    /// Whether bubblewrap confines them.
    pub(crate) bubblewrap: Option<bool>,
    /// The answer to a call that cannot be confined.
    pub(crate) missing: Option<PolicyAnswer>,
    /// Whether such a call runs with the confinement that this system supports.
    pub(crate) reduced: Option<bool>,
    /// Resource limits of child processes.
    pub(crate) limits: ChildLimits,
    /// How child processes reach the network.
    pub(crate) network: Option<NetworkMode>,
    /// Loopback ports of the host that child processes may use.
    pub(crate) host_ports: Option<Vec<u16>>,
}

impl Default for SandboxOverrides {
    fn default() -> Self {
        let limits = ChildLimits {
            processes: None,
            memory: None,
            private_memory: None,
            file_size: None,
            open_files: None,
        };
        Self {
            enabled: None,
            bubblewrap: None,
            missing: None,
            reduced: None,
            limits,
            network: None,
            host_ports: None,
        }
    }
}

impl SandboxOverrides {
    /// Reads all settings except `sockets`, which the profile reads.
    pub(crate) fn read(node: &ConfigNode<'_>) -> Result<Self, PolicyError> {
        let mut wishes = Self::default();
        for (key, node) in node.entries()? {
            match key.as_str() {
                "enabled" => wishes.enabled = Some(node.flag()?),
                "bubblewrap" => wishes.bubblewrap = Some(node.flag()?),
                "missing" if node.text().is_ok_and(|said| said == REDUCED_WORD) => {
                    wishes.missing = Some(PolicyAnswer::Deny);
                    wishes.reduced = Some(true);
                }
                "missing" => {
                    wishes.missing = Some(node.answer()?);
                    wishes.reduced = Some(false);
                }
                "processes" => wishes.limits.processes = Some(node.count()?),
                "memory" => wishes.limits.memory = Some(node.size()?),
                "file_size" => wishes.limits.file_size = Some(node.size()?),
                "open_files" => wishes.limits.open_files = Some(node.count()?),
                "network" => wishes.network = Some(read_network(&node)?),
                "host_ports" => wishes.host_ports = Some(read_host_ports(&node)?),
                "sockets" => {}
                _ => return Err(node.unknown_key_error(SANDBOX_KEYS)),
            }
        }
        if wishes.missing == Some(PolicyAnswer::Allow) {
            return Err(node
                .error(
                    "sandbox.missing cannot be allow: a call must not run without a sandbox \
                    unless that is requested",
                )
                .hint("Use refuse, ask or reduced, or turn the sandbox off with enabled: false."));
        }
        Ok(wishes)
    }

    /// Fills unset values from `base`.
    pub(crate) fn or(self, base: Self) -> Self {
        let (own, under) = (self.limits, base.limits);
        Self {
            enabled: self.enabled.or(base.enabled),
            bubblewrap: self.bubblewrap.or(base.bubblewrap),
            missing: self.missing.or(base.missing),
            reduced: self.reduced.or(base.reduced),
            limits: ChildLimits {
                processes: own.processes.or(under.processes),
                memory: own.memory.or(under.memory),
                private_memory: own.private_memory.or(under.private_memory),
                file_size: own.file_size.or(under.file_size),
                open_files: own.open_files.or(under.open_files),
            },
            network: self.network.or(base.network),
            host_ports: self.host_ports.or(base.host_ports),
        }
    }

    /// Returns the effective settings, with defaults for unset values.
    pub(crate) fn settings(&self) -> SandboxPolicy {
        let preset = SandboxPolicy::default();
        let limits = Self { limits: preset.limits, ..Self::default() };
        SandboxPolicy {
            enabled: self.enabled.unwrap_or(preset.enabled),
            bubblewrap: self.bubblewrap.unwrap_or(preset.bubblewrap),
            missing: self.missing.unwrap_or(preset.missing),
            is_reduced: self.reduced.unwrap_or(preset.is_reduced),
            network: self.network.unwrap_or(preset.network),
            host_ports: self.host_ports.clone().unwrap_or_default(),
            limits: self.clone().or(limits).limits,
        }
    }

    /// Tightens settings by these values. Never loosens any.
    pub(crate) fn tighten(&self, settings: &mut SandboxPolicy) {
        let least = |ours: &mut Option<u64>, theirs: Option<u64>| {
            *ours = match (*ours, theirs) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
        };
        settings.enabled |= self.enabled == Some(true);
        settings.bubblewrap |= self.bubblewrap == Some(true);
        settings.missing = settings.missing.max(self.missing.unwrap_or(settings.missing));
        settings.is_reduced &= self.reduced.unwrap_or(true);
        least(&mut settings.limits.processes, self.limits.processes);
        least(&mut settings.limits.memory, self.limits.memory);
        least(&mut settings.limits.file_size, self.limits.file_size);
        least(&mut settings.limits.open_files, self.limits.open_files);
        settings.network = settings.network.min(self.network.unwrap_or(settings.network));
        if let Some(ports) = &self.host_ports {
            settings.host_ports.retain(|port| ports.contains(port));
        }
    }
}

fn read_network(node: &ConfigNode<'_>) -> Result<NetworkMode, PolicyError> {
    let modes = [NetworkMode::Off, NetworkMode::Isolated, NetworkMode::Host];
    // YAML parses `off` as a boolean.
    if node.flag().is_ok_and(|is_on| !is_on) {
        return Ok(NetworkMode::Off);
    }
    let said = node.text()?;
    modes.into_iter().find(|mode| mode.name() == said).ok_or_else(|| {
        node.error(format!("unknown sandbox.network '{said}'"))
            .hint("Use isolated (each host is judged), host (the host's network) or off.")
    })
}

fn read_host_ports(node: &ConfigNode<'_>) -> Result<Vec<u16>, PolicyError> {
    let port = |node: ConfigNode<'_>| {
        let number = node.count()?;
        u16::try_from(number).ok().filter(|port| *port > 0).ok_or_else(|| {
            node.error(format!("sandbox.host_ports: {number} is not a valid port"))
                .hint("A port is a number from 1 to 65535.")
        })
    };
    node.items()?.into_iter().map(port).collect()
}
