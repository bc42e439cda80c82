//! A watch: scans the tree, waits for an event, and scans again.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use hermes_core::{ToolContext, ToolError};
use hermes_files::FileAccess;

use super::changes::{WatchChange, compare};
use super::event_source::{ChangeHints, EventSource};
use super::snapshot::{TransientEntries, TreeScan, TreeScanner, TreeSnapshot};
use super::{POLL_INTERVAL, WatchRequest};

/// A watched tree and its state at the last scan.
#[derive(Debug)]
pub(super) struct TreeWatcher {
    request: Arc<WatchRequest>,
    sensor: EventSource,
    state: TreeSnapshot,
    missing: Vec<PathBuf>,
    unreadable: Vec<PathBuf>,
}

impl TreeWatcher {
    /// Starts a watch with a first scan.
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

    /// Returns the changes since an earlier snapshot.
    pub(super) fn compare(&self, before: &TreeSnapshot) -> Vec<WatchChange> {
        compare(before, &self.state, &ChangeHints::default(), &self.request)
    }

    /// Scans again and returns the changes since the last scan.
    pub(super) fn poll(&mut self, cx: &ToolContext) -> Result<Vec<WatchChange>, ToolError> {
        // Taken before the scan: events during it are for the next one.
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

    /// Waits until a scan is due; false when the time is up.
    pub(super) async fn wait(&self, end: Instant) -> bool {
        if self.must_poll() {
            let next = Instant::now() + POLL_INTERVAL;
            // Scan once more at the deadline, too.
            let _ = self.sensor.wait_for_event(next.min(end)).await;
            return true;
        }
        self.sensor.wait_for_event(end).await
    }

    /// Whether an event arrives before `until`.
    pub(super) async fn wait_for_event(&self, until: Instant) -> bool {
        self.sensor.wait_for_event(until).await
    }

    fn must_poll(&self) -> bool {
        !self.sensor.is_alive() || !self.missing.is_empty()
    }

    /// Continues the watch for another call, which may request other events.
    pub(super) fn resume(self, request: Arc<WatchRequest>) -> Self {
        Self { request, ..self }
    }

    /// Reverts changes in the snapshot, so the next scan finds them again.
    pub(super) fn defer(&mut self, changes: &[WatchChange]) {
        // In reverse: a later change may depend on an earlier one.
        changes.iter().rev().for_each(|change| change.revert(&mut self.state));
    }

    /// Returns the snapshot of the last scan.
    pub(super) fn state(&self) -> &TreeSnapshot {
        &self.state
    }

    /// Returns the watched paths that do not exist.
    pub(super) fn missing(&self) -> &[PathBuf] {
        &self.missing
    }

    /// Returns the directories that cannot be read.
    pub(super) fn unreadable(&self) -> &[PathBuf] {
        &self.unreadable
    }

    /// Returns what triggers scans.
    pub(super) fn backend_name(&self) -> &'static str {
        if self.sensor.is_alive() { "inotify" } else { "polling" }
    }
}

#[cfg(test)]
#[path = "watcher_tests.rs"]
mod tests;
