//! What is said of a host in the configuration.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How a host is reached, and what is kept the same there and here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SshSettings {
    /// Its name or address, or an alias of the user's ssh configuration.
    pub host: String,
    /// The user there; else what the ssh configuration says.
    pub user: Option<String>,
    /// The port; else what the ssh configuration says.
    pub port: Option<u16>,
    /// The private key; else those of the ssh configuration and of the agent.
    pub key: Option<PathBuf>,
    /// What is asked of the host's own key.
    pub host_key: HostKeyPolicy,
    /// The folder that sessions begin in; `~` is the home there.
    pub directory: Option<String>,
    /// What is sent before a program runs, and again when it has changed.
    pub sync: Vec<SyncMapping>,
    /// What is fetched when the place is closed.
    pub sync_back: Vec<SyncMapping>,
    /// A folder here that remembers what was fetched, for the next program.
    pub storage: Option<PathBuf>,
    /// Bytes that are fetched at most.
    pub max_fetch_bytes: u64,
    /// How long a host has to answer.
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

/// What is asked of a host's own key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum HostKeyPolicy {
    /// A host that is not known yet is believed and remembered; one that is
    /// known must have the key that it had.
    #[default]
    AcceptNew,
    /// The host must be known.
    Strict,
    /// Nothing.
    Off,
}

impl HostKeyPolicy {
    /// Reads its name in the configuration: `accept-new`, `strict`, `off`.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "accept-new" => Some(Self::AcceptNew),
            "strict" => Some(Self::Strict),
            "off" => Some(Self::Off),
            _ => None,
        }
    }
}

/// A file or folder that is here and there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyncMapping {
    /// Here; `~` is the home.
    pub local: PathBuf,
    /// There; `~` is the home there.
    pub remote: String,
}

/// A path of this machine, with the home in place of `~`.
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
