//! One wait: a look at the start, a sign, another look.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use hermes_core::{ToolContext, ToolError};
use hermes_files::FileAccess;

use super::changes::{WatchChange, compare};
use super::event_source::{ChangeHints, EventSource};
use super::snapshot::{TransientEntries, TreeScan, TreeScanner, TreeSnapshot};
use super::{POLL_INTERVAL, WatchRequest};

/// What is watched, and how it was at the last look.
#[derive(Debug)]
pub(super) struct TreeWatcher {
    request: Arc<WatchRequest>,
    sensor: EventSource,
    state: TreeSnapshot,
    missing: Vec<PathBuf>,
    unreadable: Vec<PathBuf>,
}

impl TreeWatcher {
    /// Looks for the first time.
    pub(super) fn start(request: Arc<WatchRequest>, cx: &ToolContext) -> Result<Self, ToolError> {
        let files = FileAccess::new(cx);
        let names = request
            .roots
            .iter()
            .map(|root| Ok((files.real_path(root)?, root.clone())))
            .collect::<Result<Vec<_>, ToolError>>()?;
        let mut sensor = EventSource::new(names);
        let mut enter = |place: &std::path::Path, identity| sensor.add(place, identity);
        let nothing = TransientEntries::new();
        let look = TreeScanner::new(&request, cx, &mut enter, &nothing);
        let TreeScan { state, missing, unreadable, .. } = look.scan()?;
        Ok(Self { request, sensor, state, missing, unreadable })
    }

    /// What happened since another look.
    pub(super) fn compare(&self, before: &TreeSnapshot) -> Vec<WatchChange> {
        compare(before, &self.state, &ChangeHints::default(), &self.request)
    }

    /// Looks again; what happened since the last time.
    pub(super) fn poll(&mut self, cx: &ToolContext) -> Result<Vec<WatchChange>, ToolError> {
        // Before the look: what is told during it is for the next one.
        let mut hints = self.sensor.take_hints();
        let sensor = &mut self.sensor;
        let mut enter = |place: &std::path::Path, identity| sensor.add(place, identity);
        let look = TreeScanner::new(&self.request, cx, &mut enter, &hints.transient);
        let TreeScan { state, missing, unreadable, transient: fleeting } = look.scan()?;
        hints.transient = fleeting;
        let found = compare(&self.state, &state, &hints, &self.request);
        self.state = state;
        self.missing = missing;
        self.unreadable = unreadable;
        Ok(found)
    }

    /// Waits until it is time to look; false when the time is up.
    pub(super) async fn wait(&self, end: Instant) -> bool {
        if self.must_poll() {
            let next = Instant::now() + POLL_INTERVAL;
            // The end of the time is a reason for a last look, too.
            let _ = self.sensor.wait_for_event(next.min(end)).await;
            return true;
        }
        self.sensor.wait_for_event(end).await
    }

    /// Whether anything stirs until then.
    pub(super) async fn wait_for_event(&self, until: Instant) -> bool {
        self.sensor.wait_for_event(until).await
    }

    fn must_poll(&self) -> bool {
        !self.sensor.is_alive() || !self.missing.is_empty()
    }

    /// The same watch for another call, which may ask for other events.
    pub(super) fn resume(self, request: Arc<WatchRequest>) -> Self {
        Self { request, ..self }
    }

    /// Forgets changes, so that they are found again.
    pub(super) fn defer(&mut self, changes: &[WatchChange]) {
        // The last first: a later one may stand on an earlier one.
        changes.iter().rev().for_each(|change| change.revert(&mut self.state));
    }

    /// How things were at the last look.
    pub(super) fn state(&self) -> &TreeSnapshot {
        &self.state
    }

    /// Which of the watched paths are not there.
    pub(super) fn missing(&self) -> &[PathBuf] {
        &self.missing
    }

    /// Folders in which nothing can be seen.
    pub(super) fn unreadable(&self) -> &[PathBuf] {
        &self.unreadable
    }

    /// Who tells when it is time to look.
    pub(super) fn backend_name(&self) -> &'static str {
        if self.sensor.is_alive() { "inotify" } else { "polling" }
    }
}

#[cfg(test)]
#[path = "watcher_tests.rs"]
mod tests;
