//! Programs in a container of Docker or Podman.
//!
//! The container is made when it is first needed, hardened, and is there for
//! one task. It ends with this program, also when that is killed, unless it is
//! persistent; then the next program with the very same settings finds it.

mod engine;
mod lifeline;
mod making;
mod owner;
mod settings;
mod shape;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use hermes_core::{BoxFuture, ErrorKind, ToolError};

use crate::backend::Exit;
use crate::elsewhere::{Carriage, Carrier, Elsewhere, Way};
use engine::{Engine, Found};
use lifeline::Lifeline;
use making::{MAKE, Made, Maker};
pub use settings::Settings;
use shape::Limit;

/// Processes that are let in beyond the bound, to end others.
const ROOM: u64 = 64;
/// How long an engine has to remove the container when this program ends. One
/// that does not answer finds the thread cut when it goes on, and removes it.
const PARTING: Duration = Duration::from_secs(10);
/// Keys that let go of a container; nobody types these five.
const DETACH: &str = "--detach-keys=ctrl-@,ctrl-],ctrl-@,ctrl-],ctrl-@";

/// The way into a container.
#[derive(Debug)]
pub struct Docker {
    settings: Settings,
    engine: Engine,
    /// Held while it is opened or closed.
    opening: tokio::sync::Mutex<Opening>,
    open: Mutex<Option<Open>>,
    news: Mutex<Option<String>>,
}

#[derive(Debug, Default)]
struct Opening {
    lifeline: Option<Lifeline>,
    /// The container that was open last.
    last: Option<String>,
    /// Containers that nobody owns were looked for.
    swept: bool,
}

/// A container that is open.
#[derive(Debug)]
struct Open {
    id: String,
    held: String,
}

impl Docker {
    /// The way into a container like this.
    pub fn new(settings: Settings) -> Self {
        Self {
            engine: Engine::new(&settings),
            settings,
            opening: tokio::sync::Mutex::default(),
            open: Mutex::default(),
            news: Mutex::default(),
        }
    }

    /// The place in such a container.
    pub fn place(settings: Settings) -> Elsewhere<Self> {
        Elsewhere::new(Self::new(settings))
    }

    /// The id of the container, if it is open.
    pub fn container(&self) -> Option<String> {
        lock(&self.open).as_ref().map(|open| open.id.clone())
    }

    async fn make_ready(&self) -> Result<(), ToolError> {
        let mut opening = self.opening.lock().await;
        let opening = &mut *opening;
        let known = lock(&self.open).is_some();
        if known && opening.lifeline.as_ref().is_some_and(|line| !line.is_cut()) {
            return Ok(());
        }
        lock(&self.open).take();
        if let Some(lifeline) = opening.lifeline.take() {
            lifeline.cut().await;
        }
        shape::check_image(&self.settings)?;
        shape::check_volumes(&self.settings)?;
        let ours = self.engine.ours(&self.settings.image).await?;
        if !std::mem::replace(&mut opening.swept, true) {
            self.sweep(&ours).await;
        }
        let image = self.maker().image().await?;
        let fingerprint = shape::fingerprint(&self.settings, &image);
        let made = if self.settings.persistent {
            match self.find_or_make(&ours, &fingerprint).await {
                // Somebody else has just made it.
                Err(error) if error.kind() == ErrorKind::Conflict => {
                    let ours = self.engine.ours(&self.settings.image).await?;
                    self.find_or_make(&ours, &fingerprint).await?
                }
                made => made?,
            }
        } else {
            self.maker().make(&fingerprint).await?
        };
        match opening.last.replace(made.id.clone()) {
            Some(last) if last == made.id => self
                .tell("the container had stopped and was started again: what ran in it has ended"),
            Some(_) => self.tell(
                "the container was gone, so this ran in a new one: what the old one held outside \
                 of its volumes is lost, and what ran in it has ended",
            ),
            None => {}
        }
        let held = self.describe(&made);
        *lock(&self.open) = Some(Open { id: made.id, held });
        opening.lifeline = Some(made.lifeline);
        Ok(())
    }

    fn tell(&self, news: &str) {
        *lock(&self.news) = Some(news.to_owned());
    }

    /// Removes containers whose owner is gone.
    async fn sweep(&self, ours: &[Found]) {
        let old = self.settings.orphan_hours.saturating_mul(3600);
        let home = self.settings.home();
        for found in ours {
            let is_old = now().saturating_sub(found.made) > old;
            // Those of another home are kept for it.
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

    /// A container that stays: the one that is there, if it is the same in
    /// everything.
    async fn find_or_make(&self, ours: &[Found], fingerprint: &str) -> Result<Made, ToolError> {
        let home = self.settings.home();
        let mine = |found: &&Found| {
            found.persistent && found.task == self.settings.task && found.home == home
        };
        for found in ours.iter().filter(mine) {
            if found.fingerprint == fingerprint {
                if !found.is_running {
                    let done = self.engine.run(&["start", &found.id], MAKE).await?;
                    if !done.is_well() {
                        self.check_unused(found).await?;
                        self.engine.remove(&found.id).await;
                        continue;
                    }
                }
                return self.tie(found).await;
            }
            self.check_unused(found).await?;
            self.tell(
                "the settings of the container have changed, so it was made anew: what the old \
                 one held outside of its volumes is lost",
            );
            self.engine.remove(&found.id).await;
        }
        self.maker().make(fingerprint).await
    }

    /// A container that another program works in is not taken from it.
    async fn check_unused(&self, found: &Found) -> Result<(), ToolError> {
        let us = owner::us();
        let is_used = owner::is_another(&found.owner)
            || (found.is_running
                && self.engine.holders(&found.id).await.iter().any(|it| *it != us));
        if !is_used {
            return Ok(());
        }
        let id: String = found.id.chars().take(12).collect();
        let message = format!(
            "docker: another hermes that runs uses the container {id} of this home, with other \
             settings"
        );
        Err(ToolError::unavailable(message).with_hint(format!(
            "End the other one first, give both the same `terminal` settings, or set \
             `terminal.container_persistent` to false here. `{} rm -f {id}` removes it with what \
             it holds.",
            self.engine.name()
        )))
    }

    /// Holds on to a container that stays.
    async fn tie(&self, found: &Found) -> Result<Made, ToolError> {
        let made = self.maker().tie(found.id.clone(), found.holds_disk).await;
        made.map_err(|cut| self.maker().explain(cut))
    }

    fn maker(&self) -> Maker<'_> {
        Maker { settings: &self.settings, engine: &self.engine }
    }

    /// What holds its programs.
    fn describe(&self, made: &Made) -> String {
        let Settings { image, network, persistent, .. } = &self.settings;
        let unheld = made.lifeline.unheld(&self.settings, made.holds_disk);
        let (loose, tight): (Vec<Limit>, Vec<Limit>) =
            Limit::ALL.into_iter().partition(|limit| unheld.contains(limit));
        let words = |limits: Vec<Limit>| -> Vec<String> {
            limits.into_iter().filter_map(|limit| limit.describe(&self.settings)).collect()
        };
        let id: String = made.id.chars().take(12).collect();
        let stays = if *persistent { " (stays when hermes ends)" } else { "" };
        let mut held =
            vec![format!("container {id} of {image}{stays}"), "few capabilities".to_owned()];
        held.extend(words(tight).into_iter().map(|limit| format!("at most {limit}")));
        held.extend((!network).then(|| "no network".to_owned()));
        let mut held = held.join(", ");
        let loose = words(loose);
        if !loose.is_empty() {
            held.push_str(&format!("; not held by this engine: {}", loose.join(", ")));
        }
        held
    }

    fn is_cut(&self) -> bool {
        // While it is opened, nobody knows.
        self.opening
            .try_lock()
            .is_ok_and(|opening| opening.lifeline.as_ref().is_none_or(Lifeline::is_cut))
    }

    /// Nobody is to come this way again.
    fn forget(&self, id: &str) {
        lock(&self.open).take_if(|open| open.id == id);
    }

    fn paused(&self, id: &str) -> ToolError {
        let id: String = id.chars().take(12).collect();
        let message = format!("docker: the container {id} is paused");
        ToolError::new(ErrorKind::Conflict, message).with_hint(format!(
            "`{} unpause {id}` lets it go on; then run the command again.",
            self.engine.name()
        ))
    }

    fn gone(&self) -> ToolError {
        let message = "docker: the container was stopped or removed while the command ran";
        ToolError::new(ErrorKind::Conflict, message).with_hint(
            "The command is not run again by itself. The next one gets a new container: see \
             first what is still there.",
        )
    }
}

impl Way for Docker {
    fn name(&self) -> &str {
        "docker"
    }

    fn open(&self) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(self.make_ready())
    }

    fn carrier(&self, script: &str, carriage: Carriage) -> Carrier {
        let id = self.container().unwrap_or_default();
        let mut words = vec!["exec", "--interactive"];
        if carriage.terminal {
            words.extend(["--tty", DETACH]);
        }
        words.extend([&id, "sh", "-c", script]);
        self.engine.carrier(words)
    }

    fn outlasts(&self) -> bool {
        true
    }

    fn directory(&self) -> Option<OsString> {
        Some(self.settings.folder().into())
    }

    fn held(&self) -> Option<String> {
        lock(&self.open).as_ref().map(|open| open.held.clone())
    }

    fn failure(&self, exit: Exit, errors: &str) -> Option<ToolError> {
        if exit == Exit::Code(0) {
            return None;
        }
        if engine::is_container_away(errors) {
            if let Some(id) = self.container() {
                self.forget(&id);
            }
            return Some(self.gone());
        }
        let is_away = engine::is_engine_away(errors);
        is_away.then(|| self.engine.explain("the command", &self.settings.image, errors))
    }

    fn lost(&self, exit: Exit) -> BoxFuture<'_, Option<ToolError>> {
        Box::pin(async move {
            if exit == Exit::Code(0) {
                return None;
            }
            let Some(id) = self.container() else { return Some(self.gone()) };
            if self.engine.is_paused(&id).await {
                return Some(self.paused(&id));
            }
            if self.is_cut() || self.engine.is_dead(&id).await {
                self.forget(&id);
                return Some(self.gone());
            }
            None
        })
    }

    fn force<'a>(&'a self, script: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let Some(id) = self.container() else { return };
            let limit = async |more: u64| {
                if let Some(most) = self.settings.pids {
                    let most = (most + more).to_string();
                    let _ = self.engine.ask(&["update", "--pids-limit", &most, &id]).await;
                }
            };
            limit(ROOM).await;
            let done = self.engine.ask(&["exec", &id, "sh", "-c", script]).await;
            limit(0).await;
            let is_done = done.is_ok_and(|done| done.is_well());
            // One that is halted is somebody's doing, and not for us to end.
            if !is_done && !self.engine.is_paused(&id).await && !self.engine.is_dead(&id).await {
                // One that fills every gap ends with all that there is.
                let _ = self.engine.ask(&["kill", &id]).await;
                self.forget(&id);
            }
        })
    }

    fn environment(&self) -> BTreeMap<OsString, OsString> {
        self.settings.variables()
    }

    fn news(&self) -> Option<String> {
        lock(&self.news).take()
    }

    fn lasts(&self) -> bool {
        self.settings.persistent
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let mut opening = self.opening.lock().await;
            let open = lock(&self.open).take();
            opening.last = None;
            if let Some(lifeline) = opening.lifeline.take() {
                lifeline.cut().await;
            }
            if let Some(open) = open.filter(|_| !self.settings.persistent) {
                self.engine.remove_within(&open.id, PARTING).await;
            }
        })
    }
}

#[cfg(test)]
#[path = "docker_tests.rs"]
mod tests;

fn now() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.unwrap_or_default().as_secs()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
