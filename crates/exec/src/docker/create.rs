//! Creates a container with as many resource limits as the engine can enforce.

use std::time::Duration;

use hermes_core::ids::random_marker;
use hermes_core::{ErrorKind, ToolError};

use super::container_spec::{self, ResourceLimit};
use super::engine::{self, ContainerEngine};
use super::lifeline::{ContainerLifeline, LifelineError};
use super::owner;
use super::settings::DockerSettings;

/// Time limit for pulling an image.
const PULL_TIMEOUT: Duration = Duration::from_secs(30 * 60);
/// Time limit for creating a container.
pub(super) const CREATE_TIMEOUT: Duration = Duration::from_secs(120);
/// What a persistent container runs.
const KEEPALIVE_SCRIPT: &str = "while :; do sleep 86400; done";

/// A container and its lifeline.
#[derive(Debug)]
pub(super) struct ConnectedContainer {
    pub(super) id: String,
    pub(super) lifeline: ContainerLifeline,
    /// Whether its disk is limited.
    pub(super) has_disk_limit: bool,
}

/// Creates containers.
#[derive(Debug, Clone, Copy)]
pub(super) struct ContainerFactory<'a> {
    pub(super) settings: &'a DockerSettings,
    pub(super) engine: &'a ContainerEngine,
}

impl ContainerFactory<'_> {
    /// Returns the image's id; pulls the image if it is missing.
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
            let cause = engine::error_line(&fetched.errors);
            return Err(ToolError::not_found(format!(
                "docker: cannot pull the image {image}, which is not on this machine: {cause}"
            ))
            .with_hint(format!(
                "Check `terminal.docker_image` and the network, or load the image with \
                 `{0} load` or `{0} import`.",
                self.engine.name()
            )));
        }
        let seen = self.engine.query(&look).await?;
        Ok(String::from_utf8_lossy(&seen.output).trim().to_owned())
    }

    /// Creates a container. If that fails, tries without the limits that this engine
    /// cannot enforce.
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
        // If it starts without limits, one of them is the reason; otherwise the error
        // without limits is the real one.
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

    /// Attaches to a persistent container.
    pub(super) async fn attach(
        &self,
        id: String,
        has_disk_limit: bool,
    ) -> Result<ConnectedContainer, LifelineError> {
        let script = ContainerLifeline::script(self.settings);
        let words = ["exec", "--interactive", &id, "sh", "-c", &script];
        let lifeline = ContainerLifeline::attach(self.engine, &words).await?;
        Ok(ConnectedContainer { id, lifeline, has_disk_limit })
    }

    pub(super) fn explain(&self, cut: LifelineError) -> ToolError {
        match cut {
            LifelineError::MissingDirectory => {
                let directory = self.settings.start_dir();
                let message =
                    format!("docker: the directory {directory} does not exist in the container");
                ToolError::not_found(message).with_hint(
                    "Set `terminal.cwd` to a directory that the image or a volume of \
                     `terminal.docker_volumes` has, or to /workspace.",
                )
            }
            LifelineError::Engine(errors) if engine::is_name_taken(&errors) => {
                let cause = engine::error_line(&errors);
                let message = format!("docker: the container name is taken: {cause}");
                ToolError::new(ErrorKind::Conflict, message).with_hint(format!(
                    "Try again; if it fails again, find the other container with `{} ps -a`.",
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
        let name = container_spec::container_name(self.settings, &random_marker());
        let has_disk_limit =
            self.settings.disk_mb.is_some() && !left_out.contains(&ResourceLimit::Disk);
        let mut words = vec!["--name".to_owned(), name.clone()];
        words.extend(self.labels(fingerprint, has_disk_limit));
        words.extend(container_spec::run_arguments(self.settings, left_out));
        words.extend([self.settings.image.clone(), "-c".to_owned()]);
        let words = words.iter().map(String::as_str);
        if self.settings.persistent {
            let words: Vec<&str> =
                ["run", "--detach"].into_iter().chain(words).chain([KEEPALIVE_SCRIPT]).collect();
            let done =
                self.engine.run(&words, CREATE_TIMEOUT).await.map_err(LifelineError::Client)?;
            if !done.succeeded() {
                // It may have been created but not started.
                if !engine::is_name_taken(&done.errors) {
                    self.engine.remove(&name).await;
                }
                return Err(LifelineError::Engine(done.errors));
            }
            let id = String::from_utf8_lossy(&done.output).trim().to_owned();
            return match self.attach(id, has_disk_limit).await {
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
        Ok(ConnectedContainer { id, lifeline, has_disk_limit })
    }

    /// Returns the output of a container that exited at once, which is more
    /// useful than "not running".
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

    /// The error of a container started with these arguments; `None` if it starts.
    async fn start_refusal(&self, words: &[String]) -> Result<Option<String>, ToolError> {
        let image = self.settings.image.as_str();
        let first = ["run", "--rm", "--network", "none", "--entrypoint", "sh"];
        let words = self.settings.extra_arguments.iter().chain(words).map(String::as_str);
        let words: Vec<&str> = first.into_iter().chain(words).chain([image, "-c", ":"]).collect();
        let done = self.engine.run(&words, CREATE_TIMEOUT).await?;
        Ok((!done.succeeded()).then_some(done.errors))
    }

    /// The labels that identify it.
    fn labels(&self, fingerprint: &str, has_disk_limit: bool) -> Vec<String> {
        let persistent = if self.settings.persistent { "1" } else { "0" };
        let labels = [
            ("settings", fingerprint),
            ("task", &self.settings.task),
            ("profile", &self.settings.profile),
            ("home", &self.settings.home_id()),
            ("persistent", persistent),
            ("owner", &owner::current_owner()),
            ("made", &hermes_core::clock::since_epoch().as_secs().to_string()),
            ("disk", if has_disk_limit { "1" } else { "0" }),
        ]
        .map(|(name, value)| format!("hermes.{name}={value}"));
        let all = std::iter::once("hermes=1".to_owned()).chain(labels);
        all.flat_map(|label| ["--label".to_owned(), label]).collect()
    }
}
