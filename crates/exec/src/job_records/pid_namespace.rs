//! Where process ids are valid: one boot of one machine, in one pid namespace.

use std::fs;

use serde::{Deserialize, Serialize};

/// Where a record was written. Machines and containers with separate pid
/// namespaces may share a home directory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PidNamespaceId {
    pub(super) host: String,
    pub(super) boot: String,
    pub(super) space: String,
}

/// Relation of another namespace to this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NamespaceRelation {
    /// Process ids are the same.
    Same,
    /// An earlier boot of this machine: all its processes are gone.
    PreviousBoot,
    /// Another machine or container.
    Foreign,
}

impl PidNamespaceId {
    /// Returns the current namespace. Values that the system does not provide
    /// stay empty.
    pub(super) fn current() -> Self {
        let line = |path| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
        let space = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
        Self {
            host: line("/proc/sys/kernel/hostname"),
            boot: line("/proc/sys/kernel/random/boot_id"),
            space: space.to_string_lossy().into_owned(),
        }
    }

    pub(super) fn relation(&self, other: &Self) -> NamespaceRelation {
        if self == other {
            NamespaceRelation::Same
        } else if self.host == other.host && self.boot != other.boot {
            NamespaceRelation::PreviousBoot
        } else if self.boot == other.boot && self.space == other.space {
            // The host was renamed.
            NamespaceRelation::Same
        } else {
            NamespaceRelation::Foreign
        }
    }
}
