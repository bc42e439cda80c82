//! Tells clients that the list of tools, of prompts or of resources is another
//! one than before.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::Shared;
use super::skills::Offer;

/// How often the registry is looked at. It says by a number whether it has
/// changed, so a look costs next to nothing.
const LOOK: Duration = Duration::from_millis(500);

/// Folders are looked at every so many times.
const FOLDERS: u32 = 2;

/// How often the lists have changed so far.
#[derive(Debug)]
pub(crate) struct Changes {
    tools: watch::Sender<u64>,
    prompts: watch::Sender<u64>,
    resources: watch::Sender<u64>,
}

/// A list that has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Changed {
    Tools,
    Prompts,
    Resources,
}

/// Whoever waits for changes.
#[derive(Debug)]
pub(crate) struct News {
    tools: watch::Receiver<u64>,
    prompts: watch::Receiver<u64>,
    resources: watch::Receiver<u64>,
}

impl Default for Changes {
    fn default() -> Self {
        let sender = || watch::Sender::new(0);
        Self { tools: sender(), prompts: sender(), resources: sender() }
    }
}

impl Changes {
    /// To be told of the next one.
    pub(crate) fn subscribe(&self) -> News {
        News {
            tools: self.tools.subscribe(),
            prompts: self.prompts.subscribe(),
            resources: self.resources.subscribe(),
        }
    }
}

impl News {
    /// The next change; none when there will be no more.
    pub(crate) async fn next(&mut self) -> Option<Changed> {
        let (changed, what) = tokio::select! {
            changed = self.tools.changed() => (changed, Changed::Tools),
            changed = self.prompts.changed() => (changed, Changed::Prompts),
            changed = self.resources.changed() => (changed, Changed::Resources),
        };
        changed.ok().map(|()| what)
    }
}

impl Shared {
    /// Looks at the registry, and at the skills, for as long as somebody may
    /// want to know.
    pub(crate) async fn watch(self: Arc<Self>) {
        let seen =
            || (self.engine.snapshot().generation(), self.engine.toolsets(), self.selection());
        let mut before = seen();
        let mut told = None;
        let mut offered = None;
        let mut ticks = tokio::time::interval(LOOK);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        for count in (0..FOLDERS).cycle() {
            ticks.tick().await;
            if count == 0 {
                self.watch_skills(&mut offered).await;
            }
            let now = seen();
            if now.0 == before.0 && Arc::ptr_eq(&now.1, &before.1) && Arc::ptr_eq(&now.2, &before.2)
            {
                continue;
            }
            before = now;
            // Who has not asked yet has nothing to forget.
            let Some(known) = told.as_ref().or_else(|| self.catalogue.first()) else { continue };
            let Ok(listing) = self.listing().await else { continue };
            if *known != listing.definitions.json {
                told = Some(Arc::clone(&listing.definitions.json));
                self.changes.tools.send_modify(|count| *count += 1);
            }
        }
    }

    async fn watch_skills(&self, told: &mut Option<Arc<Offer>>) {
        let Some(skills) = &self.settings.skills else { return };
        let Some(known) = told.clone().or_else(|| skills.first().cloned()) else { return };
        let (skills, caller) = (Arc::clone(skills), self.caller(self.common_session()));
        let looked = tokio::task::spawn_blocking(move || skills.offer(&caller)).await;
        let Ok(offer) = looked else { return };
        if offer.prompts != known.prompts {
            self.changes.prompts.send_modify(|count| *count += 1);
        }
        if offer.resources != known.resources {
            self.changes.resources.send_modify(|count| *count += 1);
        }
        *told = Some(offer);
    }
}
