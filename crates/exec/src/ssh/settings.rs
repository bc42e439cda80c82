//! Settings of an ssh host.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Connection and sync settings of a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SshSettings {
    /// Host name, address, or alias of the user's ssh configuration.
    pub host: String,
    /// The remote user; by default that of the ssh configuration.
    pub user: Option<String>,
    /// The port; by default that of the ssh configuration.
    pub port: Option<u16>,
    /// The private key; by default those of the ssh configuration and the
    /// agent.
    pub key: Option<PathBuf>,
    /// How the host key is checked.
    pub host_key: HostKeyPolicy,
    /// Start directory of sessions; `~` is the remote home.
    pub directory: Option<String>,
    /// Files sent before a program runs, and again when they have changed.
    pub sync: Vec<SyncMapping>,
    /// Files fetched when the backend is closed.
    pub sync_back: Vec<SyncMapping>,
    /// Local directory that records fetched files across runs.
    pub storage: Option<PathBuf>,
    /// Maximum bytes of one fetch.
    pub max_fetch_bytes: u64,
    /// Timeout for a host to respond.
    pub connect_timeout: Duration,
    /// How long an unused connection is kept.
    pub persist: Duration,
    /// The ssh program.
    pub program: OsString,
    /// An ssh configuration instead of the user's.
    pub config: Option<PathBuf>,
    /// A file of known hosts instead of the user's.
    pub known_hosts: Option<PathBuf>,
}

impl Default for SshSettings {
    fn default() -> Self {
        Self {
            host: String::new(),
            user: None,
            port: None,
            key: None,
            host_key: HostKeyPolicy::default(),
            directory: None,
            sync: Vec::new(),
            sync_back: Vec::new(),
            storage: None,
            max_fetch_bytes: 2 * 1024 * 1024 * 1024,
            connect_timeout: Duration::from_secs(10),
            persist: Duration::from_secs(300),
            program: "ssh".into(),
            config: None,
            known_hosts: None,
        }
    }
}

/// How a host key is checked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum HostKeyPolicy {
    /// Accepts and records the key of an unknown host; a known host must
    /// present its recorded key.
    #[default]
    AcceptNew,
    /// The host must be known.
    Strict,
    /// Nothing.
    Off,
}

impl HostKeyPolicy {
    /// Parses its name in the configuration: `accept-new`, `strict`, `off`.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "accept-new" => Some(Self::AcceptNew),
            "strict" => Some(Self::Strict),
            "off" => Some(Self::Off),
            _ => None,
        }
    }
}

/// A file or directory that is synced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyncMapping {
    /// Local path; `~` is the home.
    pub local: PathBuf,
    /// Remote path; `~` is the remote home.
    pub remote: String,
}

/// Expands `~` in a local path.
pub(super) fn expand_home(path: &Path) -> PathBuf {
    let home = || std::env::var_os("HOME").map(PathBuf::from);
    match path.as_os_str().as_bytes() {
        b"~" => home().unwrap_or_else(|| path.to_owned()),
        [b'~', b'/', rest @ ..] => {
            home().map_or_else(|| path.to_owned(), |home| home.join(OsStr::from_bytes(rest)))
        }
        _ => path.to_owned(),
    }
}
