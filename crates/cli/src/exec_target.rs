//! The configured backend, where commands run and files are.

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hermes::core::{DynTool, ErrorKind};
use hermes::{FAMILIES, ToolFamily};
use hermes_config::{HermesHome, HermesSettings, TerminalConfig};
use hermes_exec::docker::{self, DockerTransport};
use hermes_exec::singularity::{self, SingularityTransport};
use hermes_exec::ssh::{self, HostKeyPolicy, SshBackend, SyncMapping};
use hermes_exec::{ExecBackend, HostFacts, LazyBackend, LocalBackend};
use hermes_remote_tools::{RemoteToolHost, remote_tool};

use crate::command_error::CommandError;
use crate::commands::runtime;

/// Returns the configured backend without opening it.
pub(crate) fn configured_backend(
    settings: &HermesSettings,
    home: &HermesHome,
    started_in: &Path,
) -> Result<Arc<dyn ExecBackend>, CommandError> {
    let terminal = &settings.terminal;
    Ok(match terminal.backend.as_str() {
        "docker" => Arc::new(DockerTransport::backend(docker_settings(terminal, home, started_in))),
        "ssh" => Arc::new(SshBackend::new(ssh_settings(terminal, home)?)),
        "singularity" => {
            Arc::new(SingularityTransport::backend(singularity_settings(terminal, home)?))
        }
        _ => Arc::new(LocalBackend::default()),
    })
}

fn docker_settings(
    terminal: &TerminalConfig,
    home: &HermesHome,
    started_in: &Path,
) -> docker::DockerSettings {
    let given = &terminal.docker;
    let pair = |text: &String| {
        let (name, value) = text.split_once('=')?;
        Some((name.to_owned(), value.to_owned()))
    };
    let mut volumes = given.volumes.clone();
    if given.mounts_cwd {
        volumes.push(format!("{}:/workspace", started_in.display()));
    }
    let user = given.as_host_user.then(|| {
        let (user, group) = (rustix::process::getuid(), rustix::process::getgid());
        format!("{}:{}", user.as_raw(), group.as_raw())
    });
    docker::DockerSettings {
        program: given.program.clone().map(Into::into),
        global_arguments: given.global_args.clone(),
        extra_arguments: given.extra_args.clone(),
        image: given.image.clone(),
        persistent: terminal.container.persistent,
        storage: Some(home.root().join("sandboxes").join("docker")),
        cwd: terminal.cwd.clone(),
        volumes,
        environment: given.env.iter().filter_map(pair).collect(),
        forward: given.forward_env.clone(),
        network: given.network,
        user,
        memory_mb: Some(terminal.container.memory_mb).filter(|most| *most > 0),
        cpus: Some(terminal.container.cpu).filter(|most| *most > 0.0),
        disk_mb: Some(terminal.container.disk_mb).filter(|most| *most > 0),
        ..docker::DockerSettings::default()
    }
}

fn ssh_settings(
    terminal: &TerminalConfig,
    home: &HermesHome,
) -> Result<ssh::SshSettings, CommandError> {
    let given = &terminal.ssh;
    let host = given.host.clone().ok_or_else(|| {
        CommandError::usage("terminal.backend is ssh, but terminal.ssh_host is not set")
            .hint("Run `hermes config set terminal.ssh_host HOST`, or set TERMINAL_SSH_HOST.")
    })?;
    Ok(ssh::SshSettings {
        host,
        user: given.user.clone(),
        port: given.port.and_then(|port| u16::try_from(port).ok()),
        key: given.key.clone().map(Into::into),
        host_key: HostKeyPolicy::from_name(&given.host_key).unwrap_or_default(),
        directory: terminal.cwd.clone(),
        sync: parse_synced(&given.sync, "terminal.sync", |here, there| (here, there))?,
        sync_back: parse_synced(&given.sync_back, "terminal.sync_back", |there, here| {
            (here, there)
        })?,
        storage: Some(home.root().join("sandboxes").join("ssh")),
        config: given.config.clone().map(Into::into),
        ..ssh::SshSettings::default()
    })
}

fn parse_synced(
    pairs: &[String],
    key: &str,
    order: impl Fn(String, String) -> (String, String),
) -> Result<Vec<SyncMapping>, CommandError> {
    let read = |pair: &String| {
        let (first, second) = pair.split_once(':').ok_or_else(|| {
            CommandError::usage(format!("{key}: `{pair}` is not a pair of paths"))
                .hint("Use LOCAL:REMOTE for terminal.sync, REMOTE:LOCAL for sync_back.")
        })?;
        let (local, remote) = order(first.to_owned(), second.to_owned());
        Ok(SyncMapping { local: local.into(), remote })
    };
    pairs.iter().map(read).collect()
}

fn singularity_settings(
    terminal: &TerminalConfig,
    home: &HermesHome,
) -> Result<singularity::SingularitySettings, CommandError> {
    let given = &terminal.singularity;
    let image = given.image.clone().ok_or_else(|| {
        CommandError::usage("terminal.backend is singularity, but no image is set").hint(
            "Run `hermes config set terminal.singularity_image IMAGE`: a .sif file, a \
                directory, or docker://NAME.",
        )
    })?;
    Ok(singularity::SingularitySettings {
        image,
        program: given.program.clone().map(Into::into),
        binds: given.binds.clone(),
        directory: terminal.cwd.clone().map(Into::into),
        overlay: terminal
            .container
            .persistent
            .then(|| home.root().join("sandboxes").join("singularity")),
        memory_mb: Some(terminal.container.memory_mb).filter(|most| *most > 0),
        cpus: Some(terminal.container.cpu).filter(|most| *most > 0.0),
        ..singularity::SingularitySettings::default()
    })
}

/// The backend of one run of the program.
#[derive(Debug, Clone)]
pub(crate) struct ExecTarget(Arc<ExecTargetState>);

#[derive(Debug)]
struct ExecTargetState {
    backend: Arc<dyn ExecBackend>,
    /// The same backend, if it is remote.
    lazy: Option<Arc<LazyBackend>>,
    /// Runs the file tools on a remote backend.
    remote_tools: Option<Arc<RemoteToolHost>>,
    /// Whether the backend may hold open connections or containers.
    is_open: AtomicBool,
}

impl ExecTarget {
    pub(crate) fn new(backend: Arc<dyn ExecBackend>, home: &HermesHome) -> Self {
        let settings = hermes_remote_tools::RemoteHostSettings {
            cache: Some(home.cache_dir().join("hands")),
            local_dirs: ["jobs", "results"].map(|name| home.cache_dir().join(name)).to_vec(),
            ..hermes_remote_tools::RemoteHostSettings::default()
        };
        let lazy = (!backend.is_local()).then(|| Arc::new(LazyBackend::new(Arc::clone(&backend))));
        let backend = lazy.clone().map_or(backend, |lazy| lazy as Arc<dyn ExecBackend>);
        let tool_host = lazy.is_some().then(|| RemoteToolHost::new(Arc::clone(&backend), settings));
        Self(Arc::new(ExecTargetState {
            backend,
            lazy,
            remote_tools: tool_host,
            is_open: AtomicBool::new(false),
        }))
    }

    pub(crate) fn backend(&self) -> Arc<dyn ExecBackend> {
        Arc::clone(&self.0.backend)
    }

    /// Returns the tools of all families; file tools work on the backend's
    /// host.
    pub(crate) fn family_tools(&self) -> Vec<Arc<dyn DynTool>> {
        let place = |family: &ToolFamily| match &self.0.remote_tools {
            Some(host) if family.follows_backend => {
                let tools = (family.tools)().into_iter();
                tools.map(|tool| remote_tool(tool, Arc::clone(host))).collect()
            }
            _ => (family.tools)(),
        };
        FAMILIES.iter().flat_map(place).collect()
    }

    /// Whether the backend is this machine.
    pub(crate) fn is_local(&self) -> bool {
        self.0.backend.is_local()
    }

    /// Opens the backend and returns facts about its host; `None` if it is
    /// local. After `limit` the call fails, while the backend keeps opening.
    pub(crate) fn open(
        &self,
        limit: Option<Duration>,
    ) -> Result<Option<Arc<HostFacts>>, CommandError> {
        if self.is_local() {
            return Ok(None);
        }
        let reached = async {
            match limit {
                Some(limit) => tokio::time::timeout(limit, self.connect()).await.ok(),
                None => Some(self.connect().await),
            }
        };
        let late = || {
            let name = self.0.backend.name();
            Err(CommandError::failed(
                ErrorKind::Unavailable,
                format!("{name} does not respond yet"),
            )
            .hint("Run `hermes doctor --backend` for details."))
        };
        runtime::block_on_workers(reached)?.unwrap_or_else(late).map(Some)
    }

    /// Registers a callback for when a backend becomes reachable later.
    pub(crate) fn on_open(&self, arrival: impl FnOnce(&HostFacts) + Send + 'static) {
        if let Some(lazy) = &self.0.lazy {
            lazy.on_ready(arrival);
        }
    }

    /// Whether an `on_open` callback is pending.
    pub(crate) fn is_awaited(&self) -> bool {
        self.0.lazy.as_ref().is_some_and(|lazy| lazy.has_ready_callback())
    }

    /// Opens the backend and returns facts about its host.
    pub(crate) async fn connect(&self) -> Result<Arc<HostFacts>, CommandError> {
        self.0.is_open.store(true, Ordering::Relaxed);
        let opened = match &self.0.lazy {
            Some(lazy) => lazy.open_and_notify().await,
            None => self.0.backend.open().await,
        };
        opened.map_err(|error| {
            let failure = CommandError::failed(ErrorKind::Unavailable, error.message().to_owned());
            match error.hint() {
                "" => failure.hint("Run `hermes doctor --backend` for details."),
                hint => failure.hint(hint.to_owned()),
            }
        })
    }

    /// Closes connections and containers.
    pub(crate) async fn close(&self) {
        self.0.close().await;
    }
}

impl ExecTargetState {
    async fn close(&self) {
        self.is_open.store(false, Ordering::Relaxed);
        if let Some(tool_host) = &self.remote_tools {
            tool_host.close().await;
        }
        self.backend.cleanup().await;
        // No further result can carry the notice.
        if let Some(news) = self.backend.take_notice() {
            let _ = writeln!(std::io::stderr(), "warning: {news}");
        }
    }
}

impl Drop for ExecTargetState {
    /// Cleans up after a command that fails before its first call: no
    /// connection to a host without the directory, no container without a
    /// shell.
    fn drop(&mut self) {
        let is_outside = tokio::runtime::Handle::try_current().is_err();
        if self.is_open.load(Ordering::Relaxed) && is_outside {
            let _ = runtime::block_on_workers(self.close());
        }
    }
}
