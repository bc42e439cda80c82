//! Puts covers back while children run. A file that is replaced is another
//! file, and the cover stays with the old one: editors, git and `npm login`
//! replace what they save. A thread is told of every new name in the folders
//! concerned and covers it in the namespace of the children, as it does with
//! secrets that come to be. What is not to be made at all is put aside.
//!
//! It is a moment late. What can be covered as a whole folder is not left to
//! it.

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

/// What one sandbox has covered.
#[derive(Debug)]
pub(crate) struct MaskPlan {
    masks: BTreeMap<PathBuf, MaskKind>,
    pending_secrets: Arc<PendingSecrets>,
    forbidden: Arc<ForbiddenPaths>,
}

/// Somebody who wants to be looked out for. When it goes, no child is started
/// any more; those that run are still looked after.
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
    /// Whether its namespace is one of these.
    fn uses_namespace_in(&self, used: &[u64]) -> bool {
        let place = self.entry.namespaces.as_ref().and_then(|it| {
            let file = File::from(it.mount.try_clone().ok()?);
            file.metadata().ok().map(|about| about.ino())
        });
        place.is_some_and(|place| used.contains(&place))
    }
}

/// All that is looked out for in this process.
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
    /// Has the folders of all that is covered or awaited watched. To be called
    /// before anything is mounted, so that no change goes unnoticed; the error
    /// says why that cannot be done.
    pub(crate) fn new(
        covers: &MountMasks,
        awaited: &Arc<PendingSecrets>,
        unwelcome: &Arc<ForbiddenPaths>,
    ) -> Result<Self, String> {
        let plan = Self {
            masks: covers.masks().clone(),
            pending_secrets: Arc::clone(awaited),
            forbidden: Arc::clone(unwelcome),
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

    /// Has the children of an entry looked after.
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

    /// The folders in which names of it may appear, as far as they are there.
    fn watched_dirs(&self) -> Vec<PathBuf> {
        let named =
            self.masks.keys().chain(&self.pending_secrets.paths).chain(self.forbidden.paths());
        let nearest = |path: &PathBuf| {
            let mut above = path.ancestors().skip(1);
            above.find(|folder| folder.is_dir()).map(Path::to_owned)
        };
        let mut folders: Vec<PathBuf> = named.filter_map(nearest).collect();
        folders.extend(self.pending_secrets.dirs.iter().cloned());
        folders.sort();
        folders.dedup();
        folders
    }

    /// What has to be mounted now that something new is at a path.
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

    fn watch(&mut self, folders: Vec<PathBuf>) -> std::io::Result<()> {
        let flags = WatchFlags::CREATE | WatchFlags::MOVED_TO | WatchFlags::ONLYDIR;
        for folder in folders {
            match inotify::add_watch(&self.inotify, &folder, flags) {
                Ok(number) => {
                    self.directories.insert(number, folder);
                }
                // What this process may not read, its children may not either; and
                // what has just gone is told by the folder above.
                Err(error) if error == rustix::io::Errno::NOSPC => return Err(error.into()),
                Err(_) => {}
            }
        }
        Ok(())
    }

    /// Forgets those whose children are all gone.
    fn prune(&mut self) {
        let is_left = |known: &WatchedSandbox| known.is_closed.load(Ordering::Relaxed);
        if self.sandboxes.iter().any(is_left) {
            let used = namespaces_in_use();
            self.sandboxes.retain(|known| {
                // One that is just being started has the entry in its hands.
                let is_used = Arc::strong_count(&known.entry) > 1 || known.uses_namespace_in(&used);
                is_used || !is_left(known)
            });
        }
    }

    /// Something new is at a path.
    fn on_new_path(&mut self, path: &Path) {
        if path.is_dir() {
            // Before anything is covered, so that what comes next is told. What has
            // come before a folder was watched is found by looking again.
            let mut last = Vec::new();
            loop {
                let all = self.sandboxes.iter().flat_map(|known| known.plan.watched_dirs());
                let below: Vec<PathBuf> = all.filter(|folder| folder.starts_with(path)).collect();
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
                // Nobody can be told; the next child is looked after anew.
                remount(namespaces, &mounts).ok();
            }
        }
        let is_met = |known: &&WatchedSandbox| known.plan.forbidden.has_violation_below(path);
        if self.sandboxes.iter().any(|known| is_met(&known)) {
            // Where no child runs, it is somebody else who made it.
            let used = namespaces_in_use();
            for known in
                self.sandboxes.iter().filter(is_met).filter(|it| it.uses_namespace_in(&used))
            {
                known.plan.forbidden.quarantine();
            }
        }
    }

    /// Too much has happened to be told one by one.
    fn rescan(&mut self) {
        let mut paths: Vec<PathBuf> = Vec::new();
        for folder in self.directories.values() {
            let entries = fs::read_dir(folder).into_iter().flatten().flatten();
            paths.extend(entries.map(|entry| entry.path()));
        }
        for path in paths {
            self.on_new_path(&path);
        }
    }
}

/// Waits for what happens, for as long as the process lives.
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
        let Some(folder) = lookout.directories.get(&event.wd()) else { continue };
        let Some(name) = event.file_name() else { continue };
        let path = folder.join(OsStr::from_bytes(name.to_bytes()));
        lookout.on_new_path(&path);
    }
}

/// The mount namespaces that some process is in.
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
