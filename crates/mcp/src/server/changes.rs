//! Tells clients that the list of tools, of prompts or of resources is another
//! one than before.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::ServerShared;
use super::skills::SkillListing;

/// How often the registry is looked at. It says by a number whether it has
/// changed, so a look costs next to nothing.
const WATCH_INTERVAL: Duration = Duration::from_millis(500);

/// Folders are looked at every so many times.
const SKILL_CHECK_TICKS: u32 = 2;

/// How often the lists have changed so far.
#[derive(Debug)]
pub(crate) struct ListChanges {
    tools: watch::Sender<u64>,
    prompts: watch::Sender<u64>,
    resources: watch::Sender<u64>,
}

/// A list that has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChangedList {
    Tools,
    Prompts,
    Resources,
}

/// Whoever waits for changes.
#[derive(Debug)]
pub(crate) struct ChangeSubscription {
    tools: watch::Receiver<u64>,
    prompts: watch::Receiver<u64>,
    resources: watch::Receiver<u64>,
}

impl Default for ListChanges {
    fn default() -> Self {
        let sender = || watch::Sender::new(0);
        Self { tools: sender(), prompts: sender(), resources: sender() }
    }
}

impl ListChanges {
    /// To be told of the next one.
    pub(crate) fn subscribe(&self) -> ChangeSubscription {
        ChangeSubscription {
            tools: self.tools.subscribe(),
            prompts: self.prompts.subscribe(),
            resources: self.resources.subscribe(),
        }
    }
}

impl ChangeSubscription {
    /// The next change; none when there will be no more.
    pub(crate) async fn next(&mut self) -> Option<ChangedList> {
        let (changed, what) = tokio::select! {
            changed = self.tools.changed() => (changed, ChangedList::Tools),
            changed = self.prompts.changed() => (changed, ChangedList::Prompts),
            changed = self.resources.changed() => (changed, ChangedList::Resources),
        };
        changed.ok().map(|()| what)
    }
}

impl ServerShared {
    /// Looks at the registry, and at the skills, for as long as somebody may
    /// want to know.
    pub(crate) async fn watch_lists(self: Arc<Self>) {
        let seen =
            || (self.engine.snapshot().generation(), self.engine.toolsets(), self.selection());
        let mut before = seen();
        let mut told = None;
        let mut offered = None;
        let mut ticks = tokio::time::interval(WATCH_INTERVAL);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        for count in (0..SKILL_CHECK_TICKS).cycle() {
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
            let Some(known) = told.as_ref().or_else(|| self.catalogue.first_definitions()) else {
                continue;
            };
            let Ok(listing) = self.listing().await else { continue };
            if *known != listing.definitions.json {
                told = Some(Arc::clone(&listing.definitions.json));
                self.changes.tools.send_modify(|count| *count += 1);
            }
        }
    }

    async fn watch_skills(&self, told: &mut Option<Arc<SkillListing>>) {
        let Some(skills) = &self.settings.skills else { return };
        let Some(known) = told.clone().or_else(|| skills.first_listing().cloned()) else { return };
        let (skills, caller) = (Arc::clone(skills), self.caller(self.common_session()));
        let looked = tokio::task::spawn_blocking(move || skills.current_listing(&caller)).await;
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
