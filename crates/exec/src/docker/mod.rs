//! Runs programs in a Docker or Podman container.
//!
//! The container is created on first use, hardened, and serves one task. It
//! ends with this process, even if that is killed, unless it is persistent:
//! then the next process with exactly the same settings reuses it.

mod container_spec;
mod create;
mod engine;
mod lifeline;
mod owner;
mod settings;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::time::Duration;

use hermes_core::{BoxFuture, ErrorKind, ToolError};
use parking_lot::Mutex;

use crate::backend::ProcessExit;
use crate::remote::{RemoteBackend, Transport, TransportIo, TransportProcess};
use container_spec::ResourceLimit;
use create::{CREATE_TIMEOUT, ConnectedContainer, ContainerFactory};
use engine::{ContainerEngine, FoundContainer};
use lifeline::ContainerLifeline;
pub use settings::DockerSettings;

/// Processes allowed above the limit while terminating others.
const EXTRA_PIDS: u64 = 64;
/// Timeout for removing the container at shutdown. An engine that hangs removes
/// it later, when it finds the lifeline closed.
const REMOVE_TIMEOUT: Duration = Duration::from_secs(10);
/// A detach sequence that is never typed by accident.
const DETACH_KEYS_OPTION: &str = "--detach-keys=ctrl-@,ctrl-],ctrl-@,ctrl-],ctrl-@";

/// Transport into a container.
#[derive(Debug)]
pub struct DockerTransport {
    settings: DockerSettings,
    engine: ContainerEngine,
    /// Held while the container is opened or closed.
    opening: tokio::sync::Mutex<ContainerOpening>,
    open: Mutex<Option<OpenContainer>>,
    notice: Mutex<Option<String>>,
}

#[derive(Debug, Default)]
struct ContainerOpening {
    lifeline: Option<ContainerLifeline>,
    /// The most recently opened container.
    last_container: Option<String>,
    /// Whether abandoned containers were removed.
    has_swept: bool,
}

/// An open container.
#[derive(Debug)]
struct OpenContainer {
    id: String,
    containment: String,
}

impl DockerTransport {
    /// Creates the transport for a container with these settings.
    pub fn new(settings: DockerSettings) -> Self {
        Self {
            engine: ContainerEngine::new(&settings),
            settings,
            opening: tokio::sync::Mutex::default(),
            open: Mutex::default(),
            notice: Mutex::default(),
        }
    }

    /// Creates the backend for such a container.
    pub fn backend(settings: DockerSettings) -> RemoteBackend<Self> {
        RemoteBackend::new(Self::new(settings))
    }

    /// The container's id, if it is open.
    pub fn container_id(&self) -> Option<String> {
        self.open.lock().as_ref().map(|open| open.id.clone())
    }

    async fn ensure_open(&self) -> Result<(), ToolError> {
        let mut opening = self.opening.lock().await;
        let opening = &mut *opening;
        let known = self.open.lock().is_some();
        if known && opening.lifeline.as_ref().is_some_and(|line| !line.is_closed()) {
            return Ok(());
        }
        self.open.lock().take();
        if let Some(lifeline) = opening.lifeline.take() {
            lifeline.close().await;
        }
        container_spec::check_image(&self.settings)?;
        container_spec::check_volumes(&self.settings)?;
        let ours = self.engine.list_own(&self.settings.image).await?;
        if !std::mem::replace(&mut opening.has_swept, true) {
            self.remove_abandoned(&ours).await;
        }
        let image = self.factory().ensure_image().await?;
        let fingerprint = container_spec::fingerprint(&self.settings, &image);
        let made = if self.settings.persistent {
            match self.find_or_create(&ours, &fingerprint).await {
                // Another process has just created it.
                Err(error) if error.kind() == ErrorKind::Conflict => {
                    let ours = self.engine.list_own(&self.settings.image).await?;
                    self.find_or_create(&ours, &fingerprint).await?
                }
                made => made?,
            }
        } else {
            self.factory().create(&fingerprint).await?
        };
        match opening.last_container.replace(made.id.clone()) {
            Some(last) if last == made.id => self.set_notice(
                "the container had stopped and was restarted: its processes have ended",
            ),
            Some(_) => self.set_notice(
                "the container was gone, so the command ran in a new one: data outside the old \
                 one's volumes is lost, and its processes have ended",
            ),
            None => {}
        }
        let containment = self.describe_containment(&made);
        *self.open.lock() = Some(OpenContainer { id: made.id, containment });
        opening.lifeline = Some(made.lifeline);
        Ok(())
    }

    fn set_notice(&self, news: &str) {
        *self.notice.lock() = Some(news.to_owned());
    }

    /// Removes containers whose owner is gone.
    async fn remove_abandoned(&self, ours: &[FoundContainer]) {
        let old = self.settings.orphan_hours.saturating_mul(3600);
        let home = self.settings.home_id();
        for found in ours {
            let is_old =
                hermes_core::clock::since_epoch().as_secs().saturating_sub(found.created_at) > old;
            // Containers of another home are left for it.
            let is_orphan = if found.persistent {
                found.home == home
                    && found.task != self.settings.task
                    && !found.is_running
                    && is_old
            } else {
                owner::is_gone(&found.owner) || (!found.is_running && is_old)
            };
            if is_orphan {
                self.engine.remove(&found.id).await;
            }
        }
    }

    /// Returns the persistent container with the same settings, or creates it.
    async fn find_or_create(
        &self,
        ours: &[FoundContainer],
        fingerprint: &str,
    ) -> Result<ConnectedContainer, ToolError> {
        let home = self.settings.home_id();
        let mine = |found: &&FoundContainer| {
            found.persistent && found.task == self.settings.task && found.home == home
        };
        for found in ours.iter().filter(mine) {
            if found.fingerprint == fingerprint {
                if !found.is_running {
                    let done = self.engine.run(&["start", &found.id], CREATE_TIMEOUT).await?;
                    if !done.succeeded() {
                        self.check_unused(found).await?;
                        self.engine.remove(&found.id).await;
                        continue;
                    }
                }
                return self.attach(found).await;
            }
            self.check_unused(found).await?;
            self.set_notice(
                "the container's settings have changed, so it was recreated: data outside the \
                 old one's volumes is lost",
            );
            self.engine.remove(&found.id).await;
        }
        self.factory().create(fingerprint).await
    }

    /// Fails if another process uses the container.
    async fn check_unused(&self, found: &FoundContainer) -> Result<(), ToolError> {
        let us = owner::current_owner();
        let is_used = owner::is_other_live(&found.owner)
            || (found.is_running
                && self.engine.holders(&found.id).await.iter().any(|it| *it != us));
        if !is_used {
            return Ok(());
        }
        let id: String = found.id.chars().take(12).collect();
        let message = format!(
            "docker: another running hermes uses the container {id} of this home with different \
             settings"
        );
        Err(ToolError::unavailable(message).with_hint(format!(
            "Stop the other process first, give both the same `terminal` settings, or set \
             `terminal.container_persistent` to false here. `{} rm -f {id}` removes the \
             container and its contents.",
            self.engine.name()
        )))
    }

    /// Attaches to a persistent container.
    async fn attach(&self, found: &FoundContainer) -> Result<ConnectedContainer, ToolError> {
        let made = self.factory().attach(found.id.clone(), found.has_disk_limit).await;
        made.map_err(|cut| self.factory().explain(cut))
    }

    fn factory(&self) -> ContainerFactory<'_> {
        ContainerFactory { settings: &self.settings, engine: &self.engine }
    }

    /// Describes what confines the container's programs.
    fn describe_containment(&self, made: &ConnectedContainer) -> String {
        let DockerSettings { image, network, persistent, .. } = &self.settings;
        let unenforced = made.lifeline.unenforced_limits(&self.settings, made.has_disk_limit);
        let (loose, tight): (Vec<ResourceLimit>, Vec<ResourceLimit>) =
            ResourceLimit::ALL.into_iter().partition(|limit| unenforced.contains(limit));
        let words = |limits: Vec<ResourceLimit>| -> Vec<String> {
            limits.into_iter().filter_map(|limit| limit.describe(&self.settings)).collect()
        };
        let id: String = made.id.chars().take(12).collect();
        let stays = if *persistent { " (persists after hermes ends)" } else { "" };
        let mut parts =
            vec![format!("container {id} of {image}{stays}"), "few capabilities".to_owned()];
        parts.extend(words(tight).into_iter().map(|limit| format!("at most {limit}")));
        parts.extend((!network).then(|| "no network".to_owned()));
        let mut summary = parts.join(", ");
        let loose = words(loose);
        if !loose.is_empty() {
            summary.push_str(&format!("; not enforced by this engine: {}", loose.join(", ")));
        }
        summary
    }

    fn is_disconnected(&self) -> bool {
        // Unknown while the container is being opened.
        self.opening
            .try_lock()
            .is_ok_and(|opening| opening.lifeline.as_ref().is_none_or(ContainerLifeline::is_closed))
    }

    /// Forgets a container so it is not used again.
    fn forget(&self, id: &str) {
        self.open.lock().take_if(|open| open.id == id);
    }

    fn paused_error(&self, id: &str) -> ToolError {
        let id: String = id.chars().take(12).collect();
        let message = format!("docker: the container {id} is paused");
        ToolError::new(ErrorKind::Conflict, message).with_hint(format!(
            "`{} unpause {id}` resumes it; then run the command again.",
            self.engine.name()
        ))
    }

    fn gone_error(&self) -> ToolError {
        let message = "docker: the container was stopped or removed while the command ran";
        ToolError::new(ErrorKind::Conflict, message).with_hint(
            "The command is not retried automatically. The next one gets a new container; \
             check first what was lost.",
        )
    }
}

impl Transport for DockerTransport {
    fn name(&self) -> &str {
        "docker"
    }

    fn open(&self) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(self.ensure_open())
    }

    fn transport_process(&self, script: &str, carriage: TransportIo) -> TransportProcess {
        let id = self.container_id().unwrap_or_default();
        let mut words = vec!["exec", "--interactive"];
        if carriage.terminal {
            words.extend(["--tty", DETACH_KEYS_OPTION]);
        }
        words.extend([&id, "sh", "-c", script]);
        self.engine.engine_process(words)
    }

    fn may_outlive_program(&self) -> bool {
        true
    }

    fn directory(&self) -> Option<OsString> {
        Some(self.settings.start_dir().into())
    }

    fn containment_summary(&self) -> Option<String> {
        self.open.lock().as_ref().map(|open| open.containment.clone())
    }

    fn explain_failure(&self, exit: ProcessExit, errors: &str) -> Option<ToolError> {
        if exit == ProcessExit::Code(0) {
            return None;
        }
        if engine::is_container_gone(errors) {
            if let Some(id) = self.container_id() {
                self.forget(&id);
            }
            return Some(self.gone_error());
        }
        let is_away = engine::is_engine_unreachable(errors);
        is_away.then(|| self.engine.explain("the command", &self.settings.image, errors))
    }

    fn diagnose_loss(&self, exit: ProcessExit) -> BoxFuture<'_, Option<ToolError>> {
        Box::pin(async move {
            if exit == ProcessExit::Code(0) {
                return None;
            }
            let Some(id) = self.container_id() else { return Some(self.gone_error()) };
            if self.engine.is_paused(&id).await {
                return Some(self.paused_error(&id));
            }
            if self.is_disconnected() || self.engine.is_dead(&id).await {
                self.forget(&id);
                return Some(self.gone_error());
            }
            None
        })
    }

    fn force_kill<'a>(&'a self, script: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let Some(id) = self.container_id() else { return };
            let limit = async |more: u64| {
                if let Some(most) = self.settings.pids {
                    let most = (most + more).to_string();
                    let _ = self.engine.query(&["update", "--pids-limit", &most, &id]).await;
                }
            };
            limit(EXTRA_PIDS).await;
            let done = self.engine.query(&["exec", &id, "sh", "-c", script]).await;
            limit(0).await;
            let is_done = done.is_ok_and(|done| done.succeeded());
            // Only the user pauses a container; do not kill it.
            if !is_done && !self.engine.is_paused(&id).await && !self.engine.is_dead(&id).await {
                // The command leaves no room for new processes, so the whole
                // container goes.
                let _ = self.engine.query(&["kill", &id]).await;
                self.forget(&id);
            }
        })
    }

    fn environment(&self) -> BTreeMap<OsString, OsString> {
        self.settings.variables()
    }

    fn take_notice(&self) -> Option<String> {
        self.notice.lock().take()
    }

    fn keeps_programs_on_close(&self) -> bool {
        self.settings.persistent
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let mut opening = self.opening.lock().await;
            let open = self.open.lock().take();
            opening.last_container = None;
            if let Some(lifeline) = opening.lifeline.take() {
                lifeline.close().await;
            }
            if let Some(open) = open.filter(|_| !self.settings.persistent) {
                self.engine.remove_within(&open.id, REMOVE_TIMEOUT).await;
            }
        })
    }
}

#[cfg(test)]
#[path = "docker_tests.rs"]
mod tests;
