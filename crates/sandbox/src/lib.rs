//! Confines child processes with mechanisms of the operating system.
//!
//! A [`Sandbox`] is prepared once from a [`hermes_core::Confinement`] and then
//! spawns any number of children under it: Landlock for files, TCP, signals and
//! abstract sockets; seccomp for system calls; resource limits; no new
//! privileges. Landlock cannot exclude a path inside an allowed tree, so a user
//! and mount namespace masks protected and hidden paths. The namespace also has
//! private terminals, and masks the sockets of programs outside and the
//! directories of other children (see [`private_dir()`]). The parent prepares
//! everything. Between fork and exec there are only system calls.

mod enforcement;
mod error;
mod launch;
mod process_tag;

#[cfg(target_os = "linux")]
mod bpf;
#[cfg(target_os = "linux")]
mod bubblewrap;
#[cfg(target_os = "linux")]
mod foreign_sockets;
#[cfg(target_os = "linux")]
mod launched_child;
#[cfg(target_os = "linux")]
mod mask_watcher;
#[cfg(target_os = "linux")]
mod mount_masks;
#[cfg(target_os = "linux")]
mod netlink;
#[cfg(target_os = "linux")]
mod network_namespace;
#[cfg(target_os = "linux")]
mod overlay;
#[cfg(target_os = "linux")]
mod overlay_store;
#[cfg(target_os = "linux")]
mod path_fingerprint;
#[cfg(target_os = "linux")]
mod path_search;
#[cfg(target_os = "linux")]
mod placeholder;
#[cfg(target_os = "linux")]
mod private_dir;
#[cfg(target_os = "linux")]
mod probe;
#[cfg(target_os = "linux")]
mod quarantine;
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
mod raw;
#[cfg(target_os = "linux")]
mod redacted_copy;
#[cfg(target_os = "linux")]
mod rules;
#[cfg(target_os = "linux")]
mod sandbox;
#[cfg(target_os = "linux")]
mod seccomp_filter;
#[cfg(target_os = "linux")]
mod support;

#[cfg(not(target_os = "linux"))]
#[path = "unsupported.rs"]
mod sandbox;

pub use enforcement::{EnforcementReport, ProbeOutcome, ProbeResult, SandboxSupport};
pub use error::SandboxError;
pub use launch::{LaunchSpec, ProcessGroup, StdioHandle};
#[cfg(target_os = "linux")]
pub use launched_child::LaunchedChild;
#[cfg(target_os = "linux")]
pub use network_namespace::{ListeningSocket, NetworkNamespace, host_ports, process_sockets};
#[cfg(target_os = "linux")]
pub use overlay::overlay_directory;
#[cfg(target_os = "linux")]
pub use overlay_store::{
    OverlayApplyReport, OverlayChange, OverlayChangeKind, OverlayEntry, OverlayStore, SkippedChange,
};
#[cfg(target_os = "linux")]
pub use private_dir::{create_private_dir, private_dir};
#[cfg(target_os = "linux")]
pub use probe::probe;
pub use process_tag::ProcessTag;
#[cfg(not(target_os = "linux"))]
pub use sandbox::{
    LaunchedChild, ListeningSocket, NetworkNamespace, create_private_dir, host_ports,
    overlay_directory, private_dir, probe, process_sockets, support,
};
pub use sandbox::{Sandbox, explain_spawn_error};
#[cfg(target_os = "linux")]
pub use support::support;

/// Variable that marks a child and its descendants as ours. A child launched
/// with it also carries a [`ProcessTag`].
pub const JOB_VARIABLE: &str = "HERMES_JOB";
