//! Settings of containers.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Settings of a container and its engine.
#[derive(Debug, Clone, PartialEq)]
pub struct DockerSettings {
    /// The client: `docker`, `podman`, or a path; if none, the first of the two that is
    /// installed.
    pub program: Option<OsString>,
    /// Arguments before the verb of every call, such as `--host` or `--root`.
    pub global_arguments: Vec<String>,
    /// Additional arguments of `run`.
    pub extra_arguments: Vec<String>,
    pub image: String,
    /// Whether a missing image is pulled.
    pub pull: bool,
    /// The task that it serves: processes with the same task and profile share a
    /// persistent container.
    pub task: String,
    /// The profile that it belongs to.
    pub profile: String,
    /// Whether it persists after this process ends.
    pub persistent: bool,
    /// Host directory for the home and workspace of a persistent container.
    pub storage: Option<PathBuf>,
    /// The directory in which a session starts.
    pub cwd: Option<String>,
    /// Host directories mounted in the container: `host:container` or
    /// `host:container:ro`. No others are visible.
    pub volumes: Vec<String>,
    /// Environment variables of its programs.
    pub environment: BTreeMap<String, String>,
    /// Environment variables of this process to pass on.
    pub forward: Vec<String>,
    /// Whether it has network access.
    pub network: bool,
    /// The user that its programs run as: `user`, `uid`, `uid:gid`.
    pub user: Option<String>,
    /// Capabilities of the root user. Defaults to the usual five for root, and
    /// three of them for another user.
    pub capabilities: Option<Vec<String>>,
    /// Memory limit in megabytes.
    pub memory_mb: Option<u64>,
    /// Limit on CPUs.
    pub cpus: Option<f64>,
    /// Limit on processes.
    pub pids: Option<u64>,
    /// Disk limit in megabytes, where the engine can enforce it.
    pub disk_mb: Option<u64>,
    /// Whether to run a small init process that reaps orphans; not for images
    /// that include one.
    pub init: bool,
    /// Hours after which an abandoned container is removed.
    pub orphan_hours: u64,
}

impl Default for DockerSettings {
    fn default() -> Self {
        Self {
            program: None,
            global_arguments: Vec::new(),
            extra_arguments: Vec::new(),
            image: "nikolaik/python-nodejs:python3.11-nodejs20".to_owned(),
            pull: true,
            task: "default".to_owned(),
            profile: "default".to_owned(),
            persistent: true,
            storage: None,
            cwd: None,
            volumes: Vec::new(),
            environment: BTreeMap::new(),
            forward: Vec::new(),
            network: true,
            user: None,
            capabilities: None,
            memory_mb: Some(5120),
            cpus: Some(1.0),
            pids: Some(256),
            disk_mb: None,
            init: true,
            orphan_hours: 7 * 24,
        }
    }
}

impl DockerSettings {
    /// The directory in which a session starts.
    pub(super) fn start_dir(&self) -> &str {
        match &self.cwd {
            Some(cwd) if cwd.starts_with('/') => match cwd.trim_end_matches('/') {
                "" => "/",
                cwd => cwd,
            },
            // Another user cannot write in the root directory.
            _ if self.user.is_some() && self.persistent && self.storage.is_none() => "/tmp",
            _ => "/workspace",
        }
    }

    /// Identifies the hermes home: two homes on one machine share no containers.
    pub(super) fn home_id(&self) -> String {
        let storage = self.storage.as_deref().unwrap_or_else(|| Path::new(""));
        let storage = std::path::absolute(storage).unwrap_or_else(|_| storage.to_owned());
        let mut hasher = blake3::Hasher::new();
        for part in [storage.as_os_str().as_bytes(), self.profile.as_bytes()] {
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
        }
        hasher.finalize().to_hex()[..12].to_owned()
    }

    /// The capabilities of its root user.
    pub(super) fn granted_capabilities(&self) -> Vec<String> {
        if let Some(capabilities) = &self.capabilities {
            return capabilities.clone();
        }
        let mut allowed = vec!["DAC_OVERRIDE", "CHOWN", "FOWNER"];
        if self.user.is_none() {
            allowed.extend(["SETUID", "SETGID"]);
        }
        allowed.into_iter().map(str::to_owned).collect()
    }

    /// Environment variables of its programs, in addition to those of the image.
    pub(super) fn variables(&self) -> BTreeMap<OsString, OsString> {
        let forwarded =
            self.forward.iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
        let mut all: BTreeMap<OsString, OsString> =
            forwarded.map(|(name, value)| (name.into(), value)).collect();
        if self.user.is_some() {
            all.insert("HOME".into(), self.start_dir().into());
        }
        all.extend(self.environment.iter().map(|(name, value)| (name.into(), value.into())));
        all
    }
}
