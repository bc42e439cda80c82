//! The registries that the user's package managers fetch from: named by the
//! user's own configuration, or reported by the package manager. Files of the
//! workspace have no influence.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use hermes_core::{
    BoxFuture, ClientProcess, ConnectionJudge, ConnectionRecord, ConnectionRequest,
    ConnectionVerdict, NetworkDestination,
};
use hermes_net::{AddressReach, ClientLookup, CurrentJudge, NameTable, ProxyContext, ProxyServer};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::runtime;

/// Timeout for a package manager to report its registry.
const PROBE_TIMEOUT: Duration = Duration::from_secs(20);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// How long a reported registry is cached.
const MAX_ANSWER_AGE: Duration = Duration::from_secs(24 * 60 * 60);

/// Maximum size of a configuration file in bytes.
const MAX_CONFIG_BYTES: u64 = 1 << 20;

/// A package manager: its configuration files, and how to query it.
struct PackageManager {
    name: &'static str,
    /// Configuration files, relative to the home directory or absolute.
    files: &'static [&'static str],
    /// Environment variables that name registries.
    variables: &'static [&'static str],
    /// A command that contacts the registry, or prints its address.
    probe: &'static [&'static str],
}

/// The known package managers. The probed packages are small ones that every
/// full registry has.
const PACKAGE_MANAGERS: &[PackageManager] = &[
    PackageManager {
        name: "npm",
        files: &[".npmrc", ".yarnrc", ".yarnrc.yml", ".bunfig.toml", "/etc/npmrc"],
        variables: &["npm_config_registry", "NPM_CONFIG_REGISTRY", "YARN_REGISTRY"],
        probe: &["npm", "view", "npm", "dist.tarball", "--fetch-retries=0", "--prefer-online"],
    },
    PackageManager {
        name: "pip",
        files: &[
            ".pip/pip.conf",
            ".config/pip/pip.conf",
            "/etc/pip.conf",
            ".config/pypoetry/config.toml",
            ".condarc",
        ],
        variables: &["PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"],
        probe: &[
            "pip",
            "download",
            "--no-deps",
            "--no-cache-dir",
            "--retries",
            "0",
            "-d",
            ".",
            "six",
        ],
    },
    PackageManager {
        name: "uv",
        files: &[".config/uv/uv.toml", "/etc/uv/uv.toml"],
        variables: &["UV_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX", "UV_EXTRA_INDEX_URL"],
        probe: &["uv", "pip", "install", "--no-cache", "--no-deps", "--target", ".", "six"],
    },
    PackageManager {
        name: "cargo",
        files: &[".cargo/config.toml", ".cargo/config"],
        variables: &["CARGO_REGISTRIES_CRATES_IO_INDEX"],
        probe: &["cargo", "info", "--quiet", "itoa"],
    },
    PackageManager {
        name: "go",
        files: &[".config/go/env"],
        variables: &["GOPROXY"],
        probe: &["go", "env", "GOPROXY"],
    },
    PackageManager {
        name: "mvn",
        files: &[
            ".m2/settings.xml",
            "/etc/maven/settings.xml",
            ".gradle/init.gradle",
            ".gradle/gradle.properties",
        ],
        variables: &["MAVEN_OPTS", "MAVEN_ARGS"],
        probe: &[],
    },
    PackageManager {
        name: "gem",
        files: &[".gemrc", ".bundle/config"],
        variables: &["BUNDLE_MIRROR__ALL"],
        probe: &["gem", "sources"],
    },
];

/// The user's registries, looked up on demand.
#[derive(Debug)]
pub struct UserRegistries {
    /// Where answers are cached for later processes.
    file: PathBuf,
    answers: Mutex<BTreeMap<String, RegistryAnswer>>,
}

/// What a package manager reported.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct RegistryAnswer {
    hosts: BTreeSet<(String, u16)>,
    /// What the answer depends on, as a cache key.
    stamp: String,
    at: u64,
}

impl UserRegistries {
    /// Creates the lookup with answers cached in this file.
    pub fn new(file: PathBuf) -> Self {
        let text = fs::read(&file).unwrap_or_default();
        let known = serde_json::from_slice(&text).unwrap_or_default();
        Self { file, answers: Mutex::new(known) }
    }

    /// Returns the hosts and ports that a package manager fetches from. May
    /// take some seconds the first time.
    pub fn hosts_for(&self, manager: &str) -> BTreeSet<(String, u16)> {
        let Some(manager) = PACKAGE_MANAGERS.iter().find(|known| known.name == manager) else {
            return BTreeSet::new();
        };
        let stamp = manager.cache_key();
        let now = seconds_now();
        let mut known = self.answers.lock();
        let fresh = known.get(manager.name).filter(|answer| {
            answer.stamp == stamp && now.saturating_sub(answer.at) < MAX_ANSWER_AGE.as_secs()
        });
        if let Some(answer) = fresh {
            return answer.hosts.clone();
        }
        let mut hosts: BTreeSet<(String, u16)> =
            manager.configured().into_iter().map(|it| (it.host, it.port)).collect();
        let shown = manager.probe_hosts();
        let is_reported = shown.is_ok();
        hosts.extend(shown.unwrap_or_default());
        // A failed probe is retried the next time.
        if is_reported || manager.probe.is_empty() {
            let answer = RegistryAnswer { hosts: hosts.clone(), stamp, at: now };
            known.insert(manager.name.to_owned(), answer);
            self.save(&known);
        }
        hosts
    }

    fn save(&self, known: &BTreeMap<String, RegistryAnswer>) {
        let Ok(text) = serde_json::to_vec(known) else { return };
        if let Some(dir) = self.file.parent() {
            fs::create_dir_all(dir).ok();
        }
        let fresh = self.file.with_extension(format!("{}.tmp", std::process::id()));
        if fs::write(&fresh, text).and_then(|()| fs::rename(&fresh, &self.file)).is_err() {
            fs::remove_file(&fresh).ok();
        }
    }
}

/// Returns the loopback ports that the user's configuration names as
/// registries.
pub(super) fn loopback_ports() -> Vec<u16> {
    let all = PACKAGE_MANAGERS.iter().flat_map(PackageManager::configured);
    let own = all.filter(|it| hermes_net::host_reach(&it.host) == AddressReach::Loopback);
    own.map(|it| it.port).collect()
}

impl PackageManager {
    fn paths(&self) -> impl Iterator<Item = PathBuf> {
        let home = env::home_dir().unwrap_or_default();
        self.files.iter().map(move |file| home.join(file))
    }

    /// Returns the hosts named by the user's files and variables.
    fn configured(&self) -> Vec<NetworkDestination> {
        let read = |path: PathBuf| {
            let about = fs::metadata(&path).ok().filter(|it| it.len() <= MAX_CONFIG_BYTES)?;
            about.is_file().then(|| fs::read(&path).ok()).flatten()
        };
        let mut texts: Vec<String> = self
            .paths()
            .filter_map(read)
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .collect();
        texts.extend(self.variables.iter().filter_map(|name| env::var(name).ok()));
        texts.iter().flat_map(|text| url_hosts(text)).collect()
    }

    /// Returns a key that changes with the configuration or the program.
    fn cache_key(&self) -> String {
        let changed = |path: &Path| {
            let time = fs::metadata(path).and_then(|about| about.modified()).ok()?;
            Some(time.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_millis())
        };
        let program = self.probe.first().and_then(|name| find_program(name));
        let mut stamp: Vec<String> = self
            .paths()
            .chain(program)
            .map(|path| format!("{}={:?}", path.display(), changed(&path)))
            .collect();
        stamp.extend(self.variables.iter().filter_map(|name| env::var(name).ok()));
        stamp.join("\n")
    }

    /// Runs the probe in an empty directory, with the user's environment, and
    /// records where it connects.
    fn probe_hosts(&self) -> io::Result<BTreeSet<(String, u16)>> {
        let (name, arguments) = self.probe.split_first().ok_or(io::ErrorKind::Unsupported)?;
        let program = find_program(name).ok_or(io::ErrorKind::NotFound)?;
        let dir = tempfile::tempdir()?;
        let recorder = Arc::new(RouteRecorder::default());
        let (port, _task) = serve_recorder(&recorder)?;
        let proxy = format!("http://127.0.0.1:{port}");
        let mut command = Command::new(program);
        command.args(arguments).current_dir(dir.path());
        command.stdin(Stdio::null()).stderr(Stdio::null());
        for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
            command.env(name, &proxy).env(name.to_lowercase(), &proxy);
        }
        command.env("NO_PROXY", "").env("no_proxy", "").env("CARGO_NET_RETRY", "0");
        if self.name == "cargo" {
            // With the user's cache, nothing would be fetched.
            let home = dir.path().join("cargo-home");
            fs::create_dir(&home)?;
            for file in self.paths().filter(|path| path.is_file()) {
                fs::copy(&file, home.join(file.file_name().unwrap_or_default()))?;
            }
            command.env("CARGO_HOME", home);
        }
        let output = fs::File::create(dir.path().join("probe-output"))?;
        let mut child = command.stdout(output).spawn()?;
        let until = Instant::now() + PROBE_TIMEOUT;
        while child.try_wait()?.is_none() {
            if Instant::now() >= until {
                child.kill()?;
                child.wait()?;
                break;
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        let printed = fs::read(dir.path().join("probe-output")).unwrap_or_default();
        let mut found = recorder.found();
        found.extend(
            url_hosts(&String::from_utf8_lossy(&printed)).into_iter().map(|it| (it.host, it.port)),
        );
        if found.is_empty() { Err(io::ErrorKind::NotFound.into()) } else { Ok(found) }
    }
}

/// Returns the hosts of all URLs in a text.
fn url_hosts(text: &str) -> Vec<NetworkDestination> {
    let mut found = Vec::new();
    for (scheme, usual) in [("http://", 80_u16), ("https://", 443)] {
        for (at, _) in text.match_indices(scheme) {
            let rest = text.get(at + scheme.len()..).unwrap_or_default();
            let is_end = |sign: char| {
                sign.is_whitespace() || matches!(sign, '/' | '"' | '\'' | '<' | ',' | '?' | '#')
            };
            let authority = rest.split(is_end).next().unwrap_or_default();
            let authority = authority.rsplit('@').next().unwrap_or_default();
            let (host, port) = match authority.rsplit_once(':') {
                Some((host, port)) if port.chars().all(|sign| sign.is_ascii_digit()) => {
                    (host, port.parse().unwrap_or(usual))
                }
                _ => (authority, usual),
            };
            if !host.is_empty() {
                found.push(NetworkDestination::new(host, port));
            }
        }
    }
    found
}

fn find_program(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let absolute = env::split_paths(&path).filter(|dir| dir.is_absolute());
    absolute.map(|dir| dir.join(name)).find(|file| file.is_file())
}

fn seconds_now() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.unwrap_or_default().as_secs()
}

/// Allows every connection and records its destination.
#[derive(Debug, Default)]
struct RouteRecorder(Mutex<BTreeSet<(String, u16)>>);

impl RouteRecorder {
    fn found(&self) -> BTreeSet<(String, u16)> {
        self.0.lock().clone()
    }
}

impl ConnectionJudge for RouteRecorder {
    fn judge<'a>(&'a self, request: &'a ConnectionRequest) -> BoxFuture<'a, ConnectionVerdict> {
        let NetworkDestination { host, port } = request.destination.clone();
        self.0.lock().insert((host, port));
        Box::pin(async { ConnectionVerdict::Allow })
    }

    fn record(&self, _record: ConnectionRecord) {}
}

/// The recorder does not need to know the client.
struct NoClients;

impl ClientLookup for NoClients {
    fn client(
        &self,
        _peer: std::net::SocketAddr,
        _local: std::net::SocketAddr,
    ) -> Option<ClientProcess> {
        None
    }
}

type ServerTask = tokio_util::task::AbortOnDropHandle<()>;

fn serve_recorder(recorder: &Arc<RouteRecorder>) -> io::Result<(u16, ServerTask)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let port = listener.local_addr()?.port();
    let judge = CurrentJudge::new();
    judge.set(Arc::clone(recorder) as Arc<dyn ConnectionJudge>);
    let context = ProxyContext::new(judge, Arc::new(NoClients), Arc::new(NameTable::new()));
    let server = ProxyServer::new(context);
    let runtime = runtime::handle()?;
    let _inside = runtime.enter();
    let listener = super::tokio_listener(listener)?;
    let task = runtime.spawn(async move { server.serve(listener).await });
    Ok((port, ServerTask::new(task)))
}

#[cfg(test)]
#[path = "registries_tests.rs"]
mod tests;
