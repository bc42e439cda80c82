//! What a container is like.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// What a container is like, and how it is reached.
#[derive(Debug, Clone, PartialEq)]
pub struct DockerSettings {
    /// The program: `docker`, `podman`, or a path to one; if none, the first
    /// of the two that is installed.
    pub program: Option<OsString>,
    /// What goes before the verb of every call, such as `--host` or `--root`.
    pub global_arguments: Vec<String>,
    /// What goes to `run` beside all the rest.
    pub extra_arguments: Vec<String>,
    /// The image.
    pub image: String,
    /// Whether an image that is not here is fetched.
    pub pull: bool,
    /// Whose container it is: others with this name and profile share it, if
    /// it is persistent.
    pub task: String,
    /// The profile that it belongs to.
    pub profile: String,
    /// Whether it stays when this program ends.
    pub persistent: bool,
    /// A folder here for its home and its working folder, if it is persistent.
    pub storage: Option<PathBuf>,
    /// The folder that a session begins in.
    pub cwd: Option<String>,
    /// Folders of this machine that are seen there: `here:there` or
    /// `here:there:ro`. There are no others.
    pub volumes: Vec<String>,
    /// Variables of its programs.
    pub environment: BTreeMap<String, String>,
    /// Variables of this program that its programs get, too.
    pub forward: Vec<String>,
    /// Whether it reaches a network.
    pub network: bool,
    /// The user that its programs run as: `user`, `uid`, `uid:gid`.
    pub user: Option<String>,
    /// What its root user may do, beside nothing; if none, the usual five for
    /// root, three of them for another user.
    pub capabilities: Option<Vec<String>>,
    /// Megabytes of memory.
    pub memory_mb: Option<u64>,
    /// Processors.
    pub cpus: Option<f64>,
    /// Processes.
    pub pids: Option<u64>,
    /// Megabytes of disk for what it writes, where the engine can hold that.
    pub disk_mb: Option<u64>,
    /// Whether a small first process takes in what others leave behind; not
    /// for images that bring their own.
    pub init: bool,
    /// After so many hours a container that nobody owns is removed.
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
    /// The folder that a session begins in.
    pub(super) fn start_dir(&self) -> &str {
        match &self.cwd {
            Some(cwd) if cwd.starts_with('/') => match cwd.trim_end_matches('/') {
                "" => "/",
                cwd => cwd,
            },
            // Its root is not this user's to write in.
            _ if self.user.is_some() && self.persistent && self.storage.is_none() => "/tmp",
            _ => "/workspace",
        }
    }

    /// Whose it is beside its profile: two homes of this program on one
    /// machine share nothing.
    pub(super) fn home_id(&self) -> String {
        let storage = self.storage.as_deref().unwrap_or_else(|| Path::new(""));
        let storage = std::path::absolute(storage).unwrap_or_else(|_| storage.to_owned());
        let mut hasher = blake3::Hasher::new();
        for part in [storage.as_os_str().as_bytes(), self.profile.as_bytes()] {
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
        }
        hasher.finalize().to_hex()[..12].to_owned()
    }

    /// What its root user may do.
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

    /// The variables of its programs, beside those of the image.
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
