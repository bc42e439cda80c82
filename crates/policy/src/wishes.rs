//! What a profile says about the sandbox, and what it leaves open.

use hermes_core::ChildLimits;

use crate::error::PolicyError;
use crate::level::Answer;
use crate::profile::SandboxSettings;
use crate::reader::Node;

/// What can be said about it.
const SANDBOX: &[&str] = &[
    "enabled",
    "bubblewrap",
    "missing",
    "processes",
    "memory",
    "file_size",
    "open_files",
    "sockets",
];

/// What was said; nothing where it was not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SandboxWishes {
    /// Whether child processes are held at all.
    pub(crate) enabled: Option<bool>,
    /// Whether bubblewrap does it.
    pub(crate) bubblewrap: Option<bool>,
    /// What becomes of a call that cannot be held.
    pub(crate) missing: Option<Answer>,
    /// How much they may use.
    pub(crate) limits: ChildLimits,
}

impl Default for SandboxWishes {
    fn default() -> Self {
        let limits =
            ChildLimits { processes: None, memory: None, file_size: None, open_files: None };
        Self { enabled: None, bubblewrap: None, missing: None, limits }
    }
}

impl SandboxWishes {
    /// Reads them, but for the sockets, which the profile keeps.
    pub(crate) fn read(node: &Node<'_>) -> Result<Self, PolicyError> {
        let mut wishes = Self::default();
        for (key, node) in node.entries()? {
            match key.as_str() {
                "enabled" => wishes.enabled = Some(node.flag()?),
                "bubblewrap" => wishes.bubblewrap = Some(node.flag()?),
                "missing" => wishes.missing = Some(node.answer()?),
                "processes" => wishes.limits.processes = Some(node.count()?),
                "memory" => wishes.limits.memory = Some(node.size()?),
                "file_size" => wishes.limits.file_size = Some(node.size()?),
                "open_files" => wishes.limits.open_files = Some(node.count()?),
                "sockets" => {}
                _ => return Err(node.unknown(SANDBOX)),
            }
        }
        if wishes.missing == Some(Answer::Allow) {
            return Err(node
                .wrong("sandbox.missing cannot be allow: nothing runs bare in silence")
                .hint("Use refuse or ask, or switch the sandbox off with enabled: false."));
        }
        Ok(wishes)
    }

    /// These wishes; where they say nothing, the others.
    pub(crate) fn or(self, base: Self) -> Self {
        let (own, under) = (self.limits, base.limits);
        Self {
            enabled: self.enabled.or(base.enabled),
            bubblewrap: self.bubblewrap.or(base.bubblewrap),
            missing: self.missing.or(base.missing),
            limits: ChildLimits {
                processes: own.processes.or(under.processes),
                memory: own.memory.or(under.memory),
                file_size: own.file_size.or(under.file_size),
                open_files: own.open_files.or(under.open_files),
            },
        }
    }

    /// What they come to, with the presets.
    pub(crate) fn settings(self) -> SandboxSettings {
        let preset = SandboxSettings::default();
        let limits = Self { limits: preset.limits, ..Self::default() };
        SandboxSettings {
            enabled: self.enabled.unwrap_or(preset.enabled),
            bubblewrap: self.bubblewrap.unwrap_or(preset.bubblewrap),
            missing: self.missing.unwrap_or(preset.missing),
            limits: self.or(limits).limits,
        }
    }

    /// Makes settings stricter by these wishes. They loosen nothing.
    pub(crate) fn narrow(self, settings: &mut SandboxSettings) {
        let least = |ours: &mut Option<u64>, theirs: Option<u64>| {
            *ours = match (*ours, theirs) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
        };
        settings.enabled |= self.enabled == Some(true);
        settings.bubblewrap |= self.bubblewrap == Some(true);
        settings.missing = settings.missing.max(self.missing.unwrap_or(settings.missing));
        least(&mut settings.limits.processes, self.limits.processes);
        least(&mut settings.limits.memory, self.limits.memory);
        least(&mut settings.limits.file_size, self.limits.file_size);
        least(&mut settings.limits.open_files, self.limits.open_files);
    }
}
