//! Restores masks while children run. When a file is replaced, its mask stays
//! with the old inode: editors, git and `npm login` replace what they save. A
//! thread watches the directories concerned and masks each new name in the
//! namespace of the children, including secrets that appear. Forbidden paths
//! are quarantined.
//!
//! This happens with a short delay, so whatever can be masked as a whole
//! directory does not rely on it.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hermes_core::PendingSecrets;
use parking_lot::{Mutex, MutexGuard};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};

use crate::mount_masks::{MaskKind, MountMasks, mask_mount};
use crate::quarantine::ForbiddenPaths;
use crate::raw::child::SandboxEntry;
use crate::raw::namespace::MountAction;
use crate::raw::remount::remount;

/// Masks of one sandbox.
#[derive(Debug)]
pub(crate) struct MaskPlan {
    masks: BTreeMap<PathBuf, MaskKind>,
    pending_secrets: Arc<PendingSecrets>,
    forbidden: Arc<ForbiddenPaths>,
}

/// Registration of a sandbox. Once dropped, the sandbox starts no more
/// children; running ones are still watched.
#[derive(Debug)]
pub(crate) struct WatchGuard(Arc<AtomicBool>);

impl Drop for WatchGuard {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
        if let Some(lookout) = &mut *mask_watcher() {
            lookout.prune();
        }
    }
}

#[derive(Debug)]
struct WatchedSandbox {
    plan: MaskPlan,
    entry: Arc<SandboxEntry>,
    is_closed: Arc<AtomicBool>,
}

impl WatchedSandbox {
    /// Whether its mount namespace is in `used`.
    fn uses_namespace_in(&self, used: &[u64]) -> bool {
        let place = self.entry.namespaces.as_ref().and_then(|it| {
            let file = File::from(it.mount.try_clone().ok()?);
            file.metadata().ok().map(|about| about.ino())
        });
        place.is_some_and(|place| used.contains(&place))
    }
}

/// Watcher of all sandboxes in this process.
#[derive(Debug)]
struct MaskWatcher {
    inotify: Arc<OwnedFd>,
    directories: HashMap<i32, PathBuf>,
    sandboxes: Vec<WatchedSandbox>,
}

static MASK_WATCHER: Mutex<Option<MaskWatcher>> = Mutex::new(None);

fn mask_watcher() -> MutexGuard<'static, Option<MaskWatcher>> {
    MASK_WATCHER.lock()
}

impl MaskPlan {
    /// Watches the directories of all masked and pending paths. Must be called
    /// before anything is mounted, so no change is missed. The error says why
    /// watching failed.
    pub(crate) fn new(
        covers: &MountMasks,
        awaited: &Arc<PendingSecrets>,
        forbidden: &Arc<ForbiddenPaths>,
    ) -> Result<Self, String> {
        let plan = Self {
            masks: covers.masks().clone(),
            pending_secrets: Arc::clone(awaited),
            forbidden: Arc::clone(forbidden),
        };
        let awaits =
            *plan.pending_secrets != PendingSecrets::default() || !plan.forbidden.is_empty();
        if plan.masks.is_empty() && !awaits {
            return Ok(plan);
        }
        let mut lookout = mask_watcher();
        let lookout = match &mut *lookout {
            Some(lookout) => lookout,
            none => none.insert(MaskWatcher::start().map_err(|error| error.to_string())?),
        };
        lookout.prune();
        lookout.watch(plan.watched_dirs()).map_err(|error| error.to_string())?;
        Ok(plan)
    }

    /// Registers the sandbox of an entry, so its children are watched.
    pub(crate) fn register(self, entry: &Arc<SandboxEntry>) -> Option<WatchGuard> {
        entry.namespaces.as_ref()?;
        let is_left = Arc::new(AtomicBool::new(false));
        let known = WatchedSandbox {
            plan: self,
            entry: Arc::clone(entry),
            is_closed: Arc::clone(&is_left),
        };
        mask_watcher().as_mut()?.sandboxes.push(known);
        Some(WatchGuard(is_left))
    }

    /// Returns the existing directories in which relevant names may appear.
    fn watched_dirs(&self) -> Vec<PathBuf> {
        let named =
            self.masks.keys().chain(&self.pending_secrets.paths).chain(self.forbidden.paths());
        let nearest = |path: &PathBuf| {
            let mut above = path.ancestors().skip(1);
            above.find(|dir| dir.is_dir()).map(Path::to_owned)
        };
        let mut dirs: Vec<PathBuf> = named.filter_map(nearest).collect();
        dirs.extend(self.pending_secrets.dirs.iter().cloned());
        dirs.sort();
        dirs.dedup();
        dirs
    }

    /// Returns the mounts needed after something new appeared at `path`.
    fn mounts(&self, path: &Path) -> Vec<MountAction> {
        let covers = self.masks.range(path.to_owned()..);
        let covers = covers.take_while(|(own, _)| own.starts_with(path));
        let mut mounts: Vec<MountAction> =
            covers.filter_map(|(own, cover)| mask_mount(own, *cover)).collect();
        let below = self.pending_secrets.paths.iter().filter(|own| own.starts_with(path));
        mounts.extend(below.filter_map(|own| mask_mount(own, MaskKind::Hide)));
        if mounts.is_empty() && self.pending_secrets.contains(path) {
            mounts.extend(mask_mount(path, MaskKind::Hide));
        }
        mounts
    }
}

impl MaskWatcher {
    fn start() -> std::io::Result<Self> {
        let file = Arc::new(inotify::init(CreateFlags::CLOEXEC)?);
        let own = Arc::clone(&file);
        std::thread::Builder::new().name("lookout".to_owned()).spawn(move || run_watcher(&own))?;
        Ok(Self { inotify: file, directories: HashMap::new(), sandboxes: Vec::new() })
    }

    fn watch(&mut self, dirs: Vec<PathBuf>) -> std::io::Result<()> {
        let flags = WatchFlags::CREATE | WatchFlags::MOVED_TO | WatchFlags::ONLYDIR;
        for dir in dirs {
            match inotify::add_watch(&self.inotify, &dir, flags) {
                Ok(number) => {
                    self.directories.insert(number, dir);
                }
                // What this process may not read, its children may not either;
                // the parent directory reports one that has just vanished.
                Err(error) if error == rustix::io::Errno::NOSPC => return Err(error.into()),
                Err(_) => {}
            }
        }
        Ok(())
    }

    /// Forgets closed sandboxes that have no running children.
    fn prune(&mut self) {
        let is_left = |known: &WatchedSandbox| known.is_closed.load(Ordering::Relaxed);
        if self.sandboxes.iter().any(is_left) {
            let used = namespaces_in_use();
            self.sandboxes.retain(|known| {
                // A child that is being started holds a reference to the entry.
                let is_used = Arc::strong_count(&known.entry) > 1 || known.uses_namespace_in(&used);
                is_used || !is_left(known)
            });
        }
    }

    /// Handles a new name at `path`.
    fn on_new_path(&mut self, path: &Path) {
        if path.is_dir() {
            // Watch before masking, so later changes are reported. Scanning
            // again finds what appeared before a directory was watched.
            let mut last = Vec::new();
            loop {
                let all = self.sandboxes.iter().flat_map(|known| known.plan.watched_dirs());
                let below: Vec<PathBuf> = all.filter(|dir| dir.starts_with(path)).collect();
                if below == last || self.watch(below.clone()).is_err() {
                    break;
                }
                last = below;
            }
        }
        for known in &self.sandboxes {
            let Some(namespaces) = &known.entry.namespaces else { continue };
            let mounts = known.plan.mounts(path);
            if !mounts.is_empty() {
                // No caller can receive the error; the next child gets new
                // masks.
                remount(namespaces, &mounts).ok();
            }
        }
        let is_met = |known: &&WatchedSandbox| known.plan.forbidden.has_violation_below(path);
        if self.sandboxes.iter().any(|known| is_met(&known)) {
            // Without a running child, another process created it.
            let used = namespaces_in_use();
            for known in
                self.sandboxes.iter().filter(is_met).filter(|it| it.uses_namespace_in(&used))
            {
                known.plan.forbidden.quarantine();
            }
        }
    }

    /// Handles all names in the watched directories after an event queue
    /// overflow.
    fn rescan(&mut self) {
        let mut paths: Vec<PathBuf> = Vec::new();
        for dir in self.directories.values() {
            let entries = fs::read_dir(dir).into_iter().flatten().flatten();
            paths.extend(entries.map(|entry| entry.path()));
        }
        for path in paths {
            self.on_new_path(&path);
        }
    }
}

/// Handles events for as long as the process lives.
fn run_watcher(file: &OwnedFd) {
    let mut room = [MaybeUninit::<u8>::uninit(); 16 << 10];
    let mut reader = inotify::Reader::new(file, &mut room);
    loop {
        let event = match reader.next() {
            Ok(event) => event,
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => return,
        };
        let mut lookout = mask_watcher();
        let Some(lookout) = &mut *lookout else { continue };
        if event.events().contains(ReadFlags::QUEUE_OVERFLOW) {
            lookout.rescan();
            continue;
        }
        if event.events().contains(ReadFlags::IGNORED) {
            lookout.directories.remove(&event.wd());
            continue;
        }
        let Some(dir) = lookout.directories.get(&event.wd()) else { continue };
        let Some(name) = event.file_name() else { continue };
        let path = dir.join(OsStr::from_bytes(name.to_bytes()));
        lookout.on_new_path(&path);
    }
}

/// Returns the mount namespaces of all processes.
fn namespaces_in_use() -> Vec<u64> {
    let mut used: Vec<u64> = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.file_name().as_bytes().first().is_some_and(u8::is_ascii_digit))
        .filter_map(|entry| fs::metadata(entry.path().join("ns/mnt")).ok())
        .map(|about| about.ino())
        .collect();
    used.sort_unstable();
    used.dedup();
    used
}
