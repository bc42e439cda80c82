//! How a container is made, with as many of its bounds as the engine can hold.

use std::time::Duration;

use hermes_core::{ErrorKind, ToolError};

use super::container_spec::{self, ResourceLimit};
use super::engine::{self, ContainerEngine};
use super::lifeline::{ContainerLifeline, LifelineError};
use super::settings::DockerSettings;
use super::{owner, unix_seconds};
use crate::remote::fresh_marker;

/// How long an image may take to come.
const PULL_TIMEOUT: Duration = Duration::from_secs(30 * 60);
/// How long a container may take to be made.
pub(super) const CREATE_TIMEOUT: Duration = Duration::from_secs(120);
/// What a container that stays does meanwhile.
const KEEPALIVE_SCRIPT: &str = "while :; do sleep 86400; done";

/// A container, and the thread to it.
#[derive(Debug)]
pub(super) struct ConnectedContainer {
    pub(super) id: String,
    pub(super) lifeline: ContainerLifeline,
    /// Whether its disk is bounded.
    pub(super) has_disk_limit: bool,
}

/// Makes containers.
#[derive(Debug, Clone, Copy)]
pub(super) struct ContainerFactory<'a> {
    pub(super) settings: &'a DockerSettings,
    pub(super) engine: &'a ContainerEngine,
}

impl ContainerFactory<'_> {
    /// The image's own id; it is fetched if it is not here.
    pub(super) async fn ensure_image(&self) -> Result<String, ToolError> {
        let image = self.settings.image.as_str();
        let look = ["image", "inspect", "--format", "{{.Id}}", image];
        let seen = self.engine.query(&look).await?;
        if seen.succeeded() {
            return Ok(String::from_utf8_lossy(&seen.output).trim().to_owned());
        }
        let is_missing = seen.errors.to_lowercase().contains("no such image")
            || seen.errors.contains("image not known");
        if !is_missing || !self.settings.pull {
            return Err(self.engine.explain("looking for the image", image, &seen.errors));
        }
        let fetched = self.engine.run(&["pull", "--quiet", image], PULL_TIMEOUT).await?;
        if !fetched.succeeded() {
            let said = engine::error_line(&fetched.errors);
            return Err(ToolError::not_found(format!(
                "docker: the image {image} is not here, and cannot be fetched: {said}"
            ))
            .with_hint(format!(
                "Check `terminal.docker_image` and the network, or put the image here with \
                 `{0} load` or `{0} import`.",
                self.engine.name()
            )));
        }
        let seen = self.engine.query(&look).await?;
        Ok(String::from_utf8_lossy(&seen.output).trim().to_owned())
    }

    /// Makes a container; if that fails, without the bounds that this engine
    /// cannot hold.
    pub(super) async fn create(&self, fingerprint: &str) -> Result<ConnectedContainer, ToolError> {
        let cut = match self.try_create(fingerprint, &[]).await {
            Ok(made) => return Ok(made),
            Err(cut) => cut,
        };
        let is_refused = matches!(&cut, LifelineError::Engine(errors)
            if !engine::is_engine_unreachable(errors) && !engine::is_name_taken(errors));
        if !is_refused {
            return Err(self.explain(cut));
        }
        // If it runs without any, some of them are the reason; if not, what it
        // says without them is.
        if let Some(errors) = self.start_refusal(&[]).await? {
            let is_silent = errors.trim().is_empty();
            return Err(self.explain(if is_silent { cut } else { LifelineError::Engine(errors) }));
        }
        let mut left_out = Vec::new();
        for limit in ResourceLimit::ALL {
            if let Some(words) = limit.arguments(self.settings)
                && self.start_refusal(&words).await?.is_some()
            {
                left_out.push(limit);
            }
        }
        if left_out.is_empty() {
            return Err(self.explain(cut));
        }
        let made = self.try_create(fingerprint, &left_out).await;
        made.map_err(|cut| self.explain(cut))
    }

    /// Holds on to a container that stays.
    pub(super) async fn attach(
        &self,
        id: String,
        holds_disk: bool,
    ) -> Result<ConnectedContainer, LifelineError> {
        let script = ContainerLifeline::script(self.settings);
        let words = ["exec", "--interactive", &id, "sh", "-c", &script];
        let lifeline = ContainerLifeline::attach(self.engine, &words).await?;
        Ok(ConnectedContainer { id, lifeline, has_disk_limit: holds_disk })
    }

    pub(super) fn explain(&self, cut: LifelineError) -> ToolError {
        match cut {
            LifelineError::MissingDirectory => {
                let folder = self.settings.start_dir();
                let message = format!("docker: there is no folder {folder} in the container");
                ToolError::not_found(message).with_hint(
                    "Set `terminal.cwd` to a folder that the image or a volume of \
                     `terminal.docker_volumes` has, or to /workspace.",
                )
            }
            LifelineError::Engine(errors) if engine::is_name_taken(&errors) => {
                let said = engine::error_line(&errors);
                let message = format!("docker: another container has the name: {said}");
                ToolError::new(ErrorKind::Conflict, message).with_hint(format!(
                    "Try again; if it stays so, see whose it is with `{} ps -a`.",
                    self.engine.name()
                ))
            }
            LifelineError::Client(error) => error,
            LifelineError::Engine(errors) => {
                self.engine.explain("starting the container", &self.settings.image, &errors)
            }
        }
    }

    async fn try_create(
        &self,
        fingerprint: &str,
        left_out: &[ResourceLimit],
    ) -> Result<ConnectedContainer, LifelineError> {
        let name = container_spec::container_name(self.settings, &fresh_marker());
        let holds_disk =
            self.settings.disk_mb.is_some() && !left_out.contains(&ResourceLimit::Disk);
        let mut words = vec!["--name".to_owned(), name.clone()];
        words.extend(self.labels(fingerprint, holds_disk));
        words.extend(container_spec::run_arguments(self.settings, left_out));
        words.extend([self.settings.image.clone(), "-c".to_owned()]);
        let words = words.iter().map(String::as_str);
        if self.settings.persistent {
            let words: Vec<&str> =
                ["run", "--detach"].into_iter().chain(words).chain([KEEPALIVE_SCRIPT]).collect();
            let done =
                self.engine.run(&words, CREATE_TIMEOUT).await.map_err(LifelineError::Client)?;
            if !done.succeeded() {
                // It may have been made and not started.
                if !engine::is_name_taken(&done.errors) {
                    self.engine.remove(&name).await;
                }
                return Err(LifelineError::Engine(done.errors));
            }
            let id = String::from_utf8_lossy(&done.output).trim().to_owned();
            return match self.attach(id, holds_disk).await {
                Ok(made) => Ok(made),
                Err(cut) => {
                    let cut = self.startup_error(cut, &name).await;
                    self.engine.remove(&name).await;
                    Err(cut)
                }
            };
        }
        let script = ContainerLifeline::script(self.settings);
        let first = ["run", "--rm", "--interactive"];
        let words: Vec<&str> = first.into_iter().chain(words).chain([script.as_str()]).collect();
        let lifeline = match ContainerLifeline::attach(self.engine, &words).await {
            Ok(lifeline) => lifeline,
            Err(cut) => {
                self.engine.remove(&name).await;
                return Err(cut);
            }
        };
        let words = ["inspect", "--type", "container", "--format", "{{.Id}}", &name];
        let seen = self.engine.query(&words).await.map_err(LifelineError::Client)?;
        if !seen.succeeded() {
            return Err(LifelineError::Engine(seen.errors));
        }
        let id = String::from_utf8_lossy(&seen.output).trim().to_owned();
        Ok(ConnectedContainer { id, lifeline, has_disk_limit: holds_disk })
    }

    /// What a container that has ended at once said itself, which is more than
    /// that it does not run.
    async fn startup_error(&self, cut: LifelineError, name: &str) -> LifelineError {
        let is_away =
            matches!(&cut, LifelineError::Engine(errors) if engine::is_container_gone(errors));
        if !is_away {
            return cut;
        }
        match self.engine.query(&["logs", "--tail", "5", name]).await {
            Ok(done) if done.succeeded() && !done.errors.trim().is_empty() => {
                LifelineError::Engine(done.errors)
            }
            _ => cut,
        }
    }

    /// Why a container with these words does not run at all; none if it does.
    async fn start_refusal(&self, words: &[String]) -> Result<Option<String>, ToolError> {
        let image = self.settings.image.as_str();
        let first = ["run", "--rm", "--network", "none", "--entrypoint", "sh"];
        let words = self.settings.extra_arguments.iter().chain(words).map(String::as_str);
        let words: Vec<&str> = first.into_iter().chain(words).chain([image, "-c", ":"]).collect();
        let done = self.engine.run(&words, CREATE_TIMEOUT).await?;
        Ok((!done.succeeded()).then_some(done.errors))
    }

    /// What tells it from others.
    fn labels(&self, fingerprint: &str, holds_disk: bool) -> Vec<String> {
        let persistent = if self.settings.persistent { "1" } else { "0" };
        let labels = [
            ("settings", fingerprint),
            ("task", &self.settings.task),
            ("profile", &self.settings.profile),
            ("home", &self.settings.home_id()),
            ("persistent", persistent),
            ("owner", &owner::current_owner()),
            ("made", &unix_seconds().to_string()),
            ("disk", if holds_disk { "1" } else { "0" }),
        ]
        .map(|(name, value)| format!("hermes.{name}={value}"));
        let all = std::iter::once("hermes=1".to_owned()).chain(labels);
        all.flat_map(|label| ["--label".to_owned(), label]).collect()
    }
}
