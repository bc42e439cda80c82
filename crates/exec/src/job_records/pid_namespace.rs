//! Where ids of processes mean anything: one start of one machine, in one
//! name space of processes.

use std::fs;

use serde::{Deserialize, Serialize};

/// Where an entry was written. A home folder may be shared by machines and
/// containers, each of which counts its processes for itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PidNamespaceId {
    pub(super) host: String,
    pub(super) boot: String,
    pub(super) space: String,
}

/// How another place stands to this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NamespaceRelation {
    /// Ids mean the same.
    Same,
    /// This machine before it was started anew: all of it is gone.
    PreviousBoot,
    /// Somewhere else.
    Foreign,
}

impl PidNamespaceId {
    /// This place. What the system does not tell stays empty.
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
            // The machine was given another name.
            NamespaceRelation::Same
        } else {
            NamespaceRelation::Foreign
        }
    }
}
