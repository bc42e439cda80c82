//! Tells clients that the list of tools is another one than before.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::Shared;

/// How often the registry is looked at. It says by a number whether it has
/// changed, so a look costs next to nothing.
const LOOK: Duration = Duration::from_millis(500);

/// How often the list has changed so far.
#[derive(Debug)]
pub(crate) struct Changes {
    count: watch::Sender<u64>,
}

impl Default for Changes {
    fn default() -> Self {
        Self { count: watch::Sender::new(0) }
    }
}

impl Changes {
    /// To be told of the next one.
    pub(crate) fn subscribe(&self) -> watch::Receiver<u64> {
        self.count.subscribe()
    }
}

impl Shared {
    /// Looks at the registry for as long as somebody may want to know.
    pub(crate) async fn watch(self: Arc<Self>) {
        let seen = || (self.engine.snapshot().generation(), self.engine.toolsets());
        let mut before = seen();
        let mut told = None;
        let mut ticks = tokio::time::interval(LOOK);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let now = seen();
            if now.0 == before.0 && Arc::ptr_eq(&now.1, &before.1) {
                continue;
            }
            before = now;
            // Who has not asked yet has nothing to forget.
            let Some(known) = told.as_ref().or_else(|| self.catalogue.first()) else { continue };
            let Ok(listing) = self.listing().await else { continue };
            if *known != listing.definitions.json {
                told = Some(Arc::clone(&listing.definitions.json));
                self.changes.count.send_modify(|count| *count += 1);
            }
        }
    }
}
