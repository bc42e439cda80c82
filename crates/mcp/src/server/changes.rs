//! Notifies clients of changed lists of tools, prompts and resources.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::ServerShared;
use super::skills::SkillListing;

/// Poll interval of the registry. Comparing its generation number is cheap.
const WATCH_INTERVAL: Duration = Duration::from_millis(500);

/// Skill directories are checked every this many ticks.
const SKILL_CHECK_TICKS: u32 = 2;

/// Counters of changes to each list.
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

/// Receives list changes.
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
    /// Subscribes to further changes.
    pub(crate) fn subscribe(&self) -> ChangeSubscription {
        ChangeSubscription {
            tools: self.tools.subscribe(),
            prompts: self.prompts.subscribe(),
            resources: self.resources.subscribe(),
        }
    }
}

impl ChangeSubscription {
    /// Returns the next change, or none when the server is gone.
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
    /// Watches the registry and the skills until it is dropped.
    pub(crate) async fn watch_lists(self: Arc<Self>) {
        let seen =
            || (self.engine.snapshot().generation(), self.engine.toolsets(), self.selection());
        let mut before = seen();
        let mut shown = None;
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
            // No client has a list that could be outdated.
            let Some(known) = shown.as_ref().or_else(|| self.catalogue.first_definitions()) else {
                continue;
            };
            let Ok(listing) = self.listing().await else { continue };
            if *known != listing.definitions.json {
                shown = Some(Arc::clone(&listing.definitions.json));
                self.changes.tools.send_modify(|count| *count += 1);
            }
        }
    }

    async fn watch_skills(&self, shown: &mut Option<Arc<SkillListing>>) {
        let Some(skills) = &self.settings.skills else { return };
        let Some(known) = shown.clone().or_else(|| skills.first_listing().cloned()) else { return };
        let (skills, caller) = (Arc::clone(skills), self.caller(self.common_session()));
        let looked = tokio::task::spawn_blocking(move || skills.current_listing(&caller)).await;
        let Ok(offer) = looked else { return };
        if offer.prompts != known.prompts {
            self.changes.prompts.send_modify(|count| *count += 1);
        }
        if offer.resources != known.resources {
            self.changes.resources.send_modify(|count| *count += 1);
        }
        *shown = Some(offer);
    }
}
