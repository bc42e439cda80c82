//! File system events. They only trigger a scan: changes are found by comparing
//! snapshots, so a queue overflow loses nothing.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use notify::event::{AccessKind, AccessMode, CreateKind, ModifyKind, RenameMode};
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::snapshot::{EntryType, TransientEntries};

/// Maximum number of paths remembered between scans.
const MAX_HINTS: usize = 10_000;

/// Events that a scan cannot detect.
#[derive(Debug, Default)]
pub(super) struct ChangeHints {
    /// Files that were written.
    pub(super) written: BTreeSet<PathBuf>,
    /// Renamed entries: from, to.
    pub(super) renamed: HashSet<(PathBuf, PathBuf)>,
    /// Entries that were created and deleted, by canonical path.
    pub(super) transient: TransientEntries,
}

/// Events since the last scan.
#[derive(Debug, Default)]
struct PendingHints {
    hints: ChangeHints,
    /// Created entries, in case they are deleted before the next scan. Entries
    /// created before the last scan may have been deleted during it.
    created: HashMap<PathBuf, EntryType>,
    created_before: HashMap<PathBuf, EntryType>,
}

impl PendingHints {
    fn add_created(&mut self, path: PathBuf, sort: EntryType) {
        if self.created.len() < MAX_HINTS {
            self.created.insert(path, sort);
        }
    }

    fn take_created(&mut self, path: &Path) -> Option<EntryType> {
        let before = self.created_before.remove(path);
        self.created.remove(path).or(before)
    }
}

#[derive(Debug, Default)]
struct SharedHints {
    pending: Mutex<PendingHints>,
    event_notify: Notify,
}

/// A non-recursive watch on a set of directories.
#[derive(Debug)]
pub(super) struct EventSource {
    watcher: Option<RecommendedWatcher>,
    shared: Arc<SharedHints>,
    /// Watched directories, by path and identity.
    watched: HashSet<(PathBuf, (u64, u64))>,
    /// Canonical paths of the roots, and the paths given by the caller.
    names: Vec<(PathBuf, PathBuf)>,
}

impl EventSource {
    pub(super) fn new(names: Vec<(PathBuf, PathBuf)>) -> Self {
        let shared = Arc::new(SharedHints::default());
        let shown = Arc::clone(&shared);
        let handler = move |event: notify::Result<notify::Event>| shown.on_event(event);
        // Without a watcher, the tree is polled.
        let watcher = notify::recommended_watcher(handler).ok();
        Self { watcher, shared, watched: HashSet::new(), names }
    }

    /// Watches a directory. The first failure switches to polling: the system
    /// is out of watches.
    pub(super) fn add(&mut self, place: &Path, identity: (u64, u64)) {
        let key = (place.to_path_buf(), identity);
        let Some(watcher) = &mut self.watcher else { return };
        if self.watched.contains(&key) {
            return;
        }
        match watcher.watch(place, RecursiveMode::NonRecursive) {
            Ok(()) => drop(self.watched.insert(key)),
            // The directory vanished or cannot be read: there is nothing to
            // watch.
            Err(error) if is_directory_error(&error) => {}
            Err(_) => self.watcher = None,
        }
    }

    /// Whether the system reports events.
    pub(super) fn is_alive(&self) -> bool {
        self.watcher.is_some()
    }

    /// Simulates running out of watches.
    #[cfg(test)]
    pub(super) fn give_up(&mut self) {
        self.watcher = None;
    }

    /// Simulates an event queue overflow.
    #[cfg(test)]
    pub(super) fn overflow(&self) {
        let event = notify::Event::new(EventKind::Other).set_flag(notify::event::Flag::Rescan);
        self.shared.on_event(Ok(event));
    }

    /// Waits for an event; whether one arrived in time.
    pub(super) async fn wait_for_event(&self, until: Instant) -> bool {
        tokio::time::timeout_at(until.into(), self.shared.event_notify.notified()).await.is_ok()
    }

    /// Takes the events since the last call, with paths as the caller gave
    /// them.
    pub(super) fn take_hints(&self) -> ChangeHints {
        let mut heard = self.shared.pending.lock();
        let hints = std::mem::take(&mut heard.hints);
        heard.created_before = std::mem::take(&mut heard.created);
        drop(heard);
        let named = |path: &Path| -> Vec<PathBuf> {
            self.names
                .iter()
                .filter_map(|(real, name)| {
                    let rest = path.strip_prefix(real).ok()?;
                    Some(if rest.as_os_str().is_empty() { name.clone() } else { name.join(rest) })
                })
                .collect()
        };
        ChangeHints {
            written: hints.written.iter().flat_map(|path| named(path)).collect(),
            renamed: hints
                .renamed
                .iter()
                .flat_map(|(from, to)| named(from).into_iter().zip(named(to)))
                .collect(),
            transient: hints.transient,
        }
    }
}

fn is_directory_error(error: &notify::Error) -> bool {
    match &error.kind {
        notify::ErrorKind::PathNotFound => true,
        notify::ErrorKind::Io(error) => matches!(
            error.kind(),
            std::io::ErrorKind::NotFound
                | std::io::ErrorKind::PermissionDenied
                | std::io::ErrorKind::NotADirectory
        ),
        _ => false,
    }
}

impl SharedHints {
    fn on_event(&self, event: notify::Result<notify::Event>) {
        let Ok(event) = event else { return self.event_notify.notify_one() };
        match event.kind {
            // Scanning opens directories.
            EventKind::Access(kind) if kind != AccessKind::Close(AccessMode::Write) => return,
            EventKind::Modify(ModifyKind::Data(_)) => self.update_pending(|heard| {
                if heard.hints.written.len() < MAX_HINTS {
                    heard.hints.written.extend(event.paths.iter().cloned());
                }
            }),
            EventKind::Create(kind) => self.update_pending(|heard| {
                let sort =
                    if kind == CreateKind::Folder { EntryType::Directory } else { EntryType::File };
                event.paths.iter().for_each(|path| heard.add_created(path.clone(), sort));
            }),
            EventKind::Remove(_) => self.update_pending(|heard| {
                for path in &event.paths {
                    if let Some(sort) = heard.take_created(path) {
                        heard.hints.transient.insert(path.clone(), sort);
                    }
                }
            }),
            EventKind::Modify(ModifyKind::Name(RenameMode::Both)) => {
                if let [from, to] = event.paths.as_slice() {
                    self.update_pending(|heard| {
                        if let Some(sort) = heard.take_created(from) {
                            heard.add_created(to.clone(), sort);
                        }
                        if heard.hints.renamed.len() < MAX_HINTS {
                            heard.hints.renamed.insert((from.clone(), to.clone()));
                        }
                    });
                }
            }
            _ => {}
        }
        self.event_notify.notify_one();
    }

    fn update_pending(&self, add: impl FnOnce(&mut PendingHints)) {
        add(&mut self.pending.lock());
    }
}
