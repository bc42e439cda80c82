//! How a container is made, with as many of its bounds as the engine can hold.

use std::time::Duration;

use hermes_core::{ErrorKind, ToolError};

use super::engine::{self, Engine};
use super::lifeline::{Cut, Lifeline};
use super::settings::Settings;
use super::shape::{self, Limit};
use super::{now, owner};
use crate::elsewhere::fresh_word;

/// How long an image may take to come.
const FETCH: Duration = Duration::from_secs(30 * 60);
/// How long a container may take to be made.
pub(super) const MAKE: Duration = Duration::from_secs(120);
/// What a container that stays does meanwhile.
const STAY: &str = "while :; do sleep 86400; done";

/// A container, and the thread to it.
#[derive(Debug)]
pub(super) struct Made {
    pub(super) id: String,
    pub(super) lifeline: Lifeline,
    /// Whether its disk is bounded.
    pub(super) holds_disk: bool,
}

/// Makes containers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Maker<'a> {
    pub(super) settings: &'a Settings,
    pub(super) engine: &'a Engine,
}

impl Maker<'_> {
    /// The image's own id; it is fetched if it is not here.
    pub(super) async fn image(&self) -> Result<String, ToolError> {
        let image = self.settings.image.as_str();
        let look = ["image", "inspect", "--format", "{{.Id}}", image];
        let seen = self.engine.ask(&look).await?;
        if seen.is_well() {
            return Ok(String::from_utf8_lossy(&seen.output).trim().to_owned());
        }
        let is_missing = seen.errors.to_lowercase().contains("no such image")
            || seen.errors.contains("image not known");
        if !is_missing || !self.settings.pull {
            return Err(self.engine.explain("looking for the image", image, &seen.errors));
        }
        let fetched = self.engine.run(&["pull", "--quiet", image], FETCH).await?;
        if !fetched.is_well() {
            let said = engine::last_line(&fetched.errors);
            return Err(ToolError::not_found(format!(
                "docker: the image {image} is not here, and cannot be fetched: {said}"
            ))
            .with_hint(format!(
                "Check `terminal.docker_image` and the network, or put the image here with \
                 `{0} load` or `{0} import`.",
                self.engine.name()
            )));
        }
        let seen = self.engine.ask(&look).await?;
        Ok(String::from_utf8_lossy(&seen.output).trim().to_owned())
    }

    /// Makes a container; if that fails, without the bounds that this engine
    /// cannot hold.
    pub(super) async fn make(&self, fingerprint: &str) -> Result<Made, ToolError> {
        let cut = match self.try_to_make(fingerprint, &[]).await {
            Ok(made) => return Ok(made),
            Err(cut) => cut,
        };
        let is_refused = matches!(&cut, Cut::Engine(errors)
            if !engine::is_engine_away(errors) && !engine::is_name_taken(errors));
        if !is_refused {
            return Err(self.explain(cut));
        }
        // If it runs without any, some of them are the reason; if not, what it
        // says without them is.
        if let Some(errors) = self.refusal(&[]).await? {
            let is_silent = errors.trim().is_empty();
            return Err(self.explain(if is_silent { cut } else { Cut::Engine(errors) }));
        }
        let mut left_out = Vec::new();
        for limit in Limit::ALL {
            if let Some(words) = limit.words(self.settings)
                && self.refusal(&words).await?.is_some()
            {
                left_out.push(limit);
            }
        }
        if left_out.is_empty() {
            return Err(self.explain(cut));
        }
        let made = self.try_to_make(fingerprint, &left_out).await;
        made.map_err(|cut| self.explain(cut))
    }

    /// Holds on to a container that stays.
    pub(super) async fn tie(&self, id: String, holds_disk: bool) -> Result<Made, Cut> {
        let script = Lifeline::script(self.settings);
        let words = ["exec", "--interactive", &id, "sh", "-c", &script];
        let lifeline = Lifeline::tie(self.engine, &words).await?;
        Ok(Made { id, lifeline, holds_disk })
    }

    pub(super) fn explain(&self, cut: Cut) -> ToolError {
        match cut {
            Cut::Folder => {
                let folder = self.settings.folder();
                let message = format!("docker: there is no folder {folder} in the container");
                ToolError::not_found(message).with_hint(
                    "Set `terminal.cwd` to a folder that the image or a volume of \
                     `terminal.docker_volumes` has, or to /workspace.",
                )
            }
            Cut::Engine(errors) if engine::is_name_taken(&errors) => {
                let said = engine::last_line(&errors);
                let message = format!("docker: another container has the name: {said}");
                ToolError::new(ErrorKind::Conflict, message).with_hint(format!(
                    "Try again; if it stays so, see whose it is with `{} ps -a`.",
                    self.engine.name()
                ))
            }
            Cut::Client(error) => error,
            Cut::Engine(errors) => {
                self.engine.explain("starting the container", &self.settings.image, &errors)
            }
        }
    }

    async fn try_to_make(&self, fingerprint: &str, left_out: &[Limit]) -> Result<Made, Cut> {
        let name = shape::name(self.settings, &fresh_word());
        let holds_disk = self.settings.disk_mb.is_some() && !left_out.contains(&Limit::Disk);
        let mut words = vec!["--name".to_owned(), name.clone()];
        words.extend(self.labels(fingerprint, holds_disk));
        words.extend(shape::words(self.settings, left_out));
        words.extend([self.settings.image.clone(), "-c".to_owned()]);
        let words = words.iter().map(String::as_str);
        if self.settings.persistent {
            let words: Vec<&str> =
                ["run", "--detach"].into_iter().chain(words).chain([STAY]).collect();
            let done = self.engine.run(&words, MAKE).await.map_err(Cut::Client)?;
            if !done.is_well() {
                // It may have been made and not started.
                if !engine::is_name_taken(&done.errors) {
                    self.engine.remove(&name).await;
                }
                return Err(Cut::Engine(done.errors));
            }
            let id = String::from_utf8_lossy(&done.output).trim().to_owned();
            return match self.tie(id, holds_disk).await {
                Ok(made) => Ok(made),
                Err(cut) => {
                    let cut = self.cause(cut, &name).await;
                    self.engine.remove(&name).await;
                    Err(cut)
                }
            };
        }
        let script = Lifeline::script(self.settings);
        let first = ["run", "--rm", "--interactive"];
        let words: Vec<&str> = first.into_iter().chain(words).chain([script.as_str()]).collect();
        let lifeline = match Lifeline::tie(self.engine, &words).await {
            Ok(lifeline) => lifeline,
            Err(cut) => {
                self.engine.remove(&name).await;
                return Err(cut);
            }
        };
        let words = ["inspect", "--type", "container", "--format", "{{.Id}}", &name];
        let seen = self.engine.ask(&words).await.map_err(Cut::Client)?;
        if !seen.is_well() {
            return Err(Cut::Engine(seen.errors));
        }
        let id = String::from_utf8_lossy(&seen.output).trim().to_owned();
        Ok(Made { id, lifeline, holds_disk })
    }

    /// What a container that has ended at once said itself, which is more than
    /// that it does not run.
    async fn cause(&self, cut: Cut, name: &str) -> Cut {
        let is_away = matches!(&cut, Cut::Engine(errors) if engine::is_container_away(errors));
        if !is_away {
            return cut;
        }
        match self.engine.ask(&["logs", "--tail", "5", name]).await {
            Ok(done) if done.is_well() && !done.errors.trim().is_empty() => {
                Cut::Engine(done.errors)
            }
            _ => cut,
        }
    }

    /// Why a container with these words does not run at all; none if it does.
    async fn refusal(&self, words: &[String]) -> Result<Option<String>, ToolError> {
        let image = self.settings.image.as_str();
        let first = ["run", "--rm", "--network", "none", "--entrypoint", "sh"];
        let words = self.settings.extra_arguments.iter().chain(words).map(String::as_str);
        let words: Vec<&str> = first.into_iter().chain(words).chain([image, "-c", ":"]).collect();
        let done = self.engine.run(&words, MAKE).await?;
        Ok((!done.is_well()).then_some(done.errors))
    }

    /// What tells it from others.
    fn labels(&self, fingerprint: &str, holds_disk: bool) -> Vec<String> {
        let persistent = if self.settings.persistent { "1" } else { "0" };
        let labels = [
            ("settings", fingerprint),
            ("task", &self.settings.task),
            ("profile", &self.settings.profile),
            ("home", &self.settings.home()),
            ("persistent", persistent),
            ("owner", &owner::us()),
            ("made", &now().to_string()),
            ("disk", if holds_disk { "1" } else { "0" }),
        ]
        .map(|(name, value)| format!("hermes.{name}={value}"));
        let all = std::iter::once("hermes=1".to_owned()).chain(labels);
        all.flat_map(|label| ["--label".to_owned(), label]).collect()
    }
}
