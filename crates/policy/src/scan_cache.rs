//! Short-lived cache of file system lookups.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use parking_lot::Mutex;

use crate::nearby_secrets::NearbySecrets;
use crate::repositories::{FrozenPaths, FrozenPathsKey};

/// How long an entry is valid. Every child process that starts later triggers a
/// new scan.
const SCAN_TTL: Duration = Duration::from_millis(500);

/// Maximum numbers of cached paths and of cached keys.
const MAX_CACHED_PATHS: usize = 1024;
const MAX_CACHED_KEYS: usize = 16;

/// Recent file system lookups. They serve the confinement of child processes,
/// which is built for every command; paths that a call itself touches are never
/// cached.
#[derive(Debug, Default)]
pub(crate) struct FsScanCache(Mutex<Option<ScanEntries>>);

#[derive(Debug)]
struct ScanEntries {
    since: Instant,
    frozen_paths: Vec<(FrozenPathsKey, FrozenPaths)>,
    nearby_secrets: HashMap<PathBuf, (Vec<Option<SystemTime>>, NearbySecrets)>,
    found_paths: HashMap<PathBuf, Vec<PathBuf>>,
    linked_repositories: HashMap<PathBuf, Vec<PathBuf>>,
    existing: PathFlags,
    directories: PathFlags,
    empty_dirs: PathFlags,
    real_paths: PathFlags,
}

/// Flags by path, keyed by the raw string: hashing path components would cost
/// more than the few duplicate lookups it saves.
type PathFlags = HashMap<OsString, bool, foldhash::fast::RandomState>;

impl FsScanCache {
    fn with_entries<T>(&self, look: impl FnOnce(&mut ScanEntries) -> T) -> T {
        let mut last = self.0.lock();
        let is_stale = |seen: &mut ScanEntries| {
            let kept = seen.existing.len() + seen.directories.len() + seen.real_paths.len();
            seen.since.elapsed() >= SCAN_TTL || kept >= MAX_CACHED_PATHS
        };
        // Cleared in place: this runs many times per command.
        last.take_if(is_stale);
        look(last.get_or_insert_with(|| ScanEntries {
            since: Instant::now(),
            frozen_paths: Vec::new(),
            nearby_secrets: HashMap::new(),
            found_paths: HashMap::new(),
            linked_repositories: HashMap::new(),
            existing: PathFlags::default(),
            directories: PathFlags::default(),
            empty_dirs: PathFlags::default(),
            real_paths: PathFlags::default(),
        }))
    }

    /// Returns the cached frozen paths for a key, or computes them.
    pub(crate) fn frozen_paths(
        &self,
        case: FrozenPathsKey,
        look: impl FnOnce(&FrozenPathsKey) -> FrozenPaths,
    ) -> FrozenPaths {
        let (since, known) = self.with_entries(|seen| {
            let known = seen.frozen_paths.iter().find(|(known, _)| *known == case);
            (seen.since, known.map(|(_, kept)| kept.clone()))
        });
        known.unwrap_or_else(|| {
            let kept = look(&case);
            self.with_entries(|seen| {
                // Parts of the result may stem from an older cache generation
                // and must not outlive it.
                if seen.since == since && seen.frozen_paths.len() < MAX_CACHED_KEYS {
                    seen.frozen_paths.push((case, kept.clone()));
                }
            });
            kept
        })
    }

    /// Returns the secrets around a directory; cached while the searched
    /// directories keep their modification times.
    pub(crate) fn nearby_secrets(
        &self,
        from: &Path,
        stamps: Vec<Option<SystemTime>>,
        look: impl FnOnce() -> NearbySecrets,
    ) -> NearbySecrets {
        self.with_entries(|seen| match seen.nearby_secrets.get(from) {
            Some((then, found)) if *then == stamps => found.clone(),
            _ => seen
                .nearby_secrets
                .entry(from.to_owned())
                .insert_entry((stamps, look()))
                .get()
                .1
                .clone(),
        })
    }

    /// Returns the cached result of searching a directory.
    pub(crate) fn found_paths(
        &self,
        at: &Path,
        look: impl FnOnce() -> Vec<PathBuf>,
    ) -> Vec<PathBuf> {
        self.with_entries(|seen| match seen.found_paths.get(at) {
            Some(found) => found.clone(),
            None => seen.found_paths.entry(at.to_owned()).or_insert(look()).clone(),
        })
    }

    /// Returns the repositories that working trees at or above a directory
    /// point to.
    pub(crate) fn linked_repositories(
        &self,
        from: &Path,
        look: impl FnOnce() -> Vec<PathBuf>,
    ) -> Vec<PathBuf> {
        self.with_entries(|seen| match seen.linked_repositories.get(from) {
            Some(found) => found.clone(),
            None => seen.linked_repositories.entry(from.to_owned()).or_insert(look()).clone(),
        })
    }

    /// Whether a path exists.
    pub(crate) fn exists(&self, path: &Path) -> bool {
        self.with_entries(|seen| cached_flag(&mut seen.existing, path, Path::exists))
    }

    /// Whether a directory is empty.
    pub(crate) fn is_empty_dir(&self, dir: &Path) -> bool {
        let look =
            |path: &Path| std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none());
        self.with_entries(|seen| cached_flag(&mut seen.empty_dirs, dir, look))
    }

    /// Whether a path is a directory.
    pub(crate) fn is_dir(&self, path: &Path) -> bool {
        self.with_entries(|seen| cached_flag(&mut seen.directories, path, Path::is_dir))
    }

    /// Whether a path is canonical, that is, contains no symlink.
    pub(crate) fn is_real_path(&self, path: &Path) -> bool {
        let look = |path: &Path| hermes_files::real_path(path).is_ok_and(|real| real == path);
        self.with_entries(|seen| cached_flag(&mut seen.real_paths, path, look))
    }
}

fn cached_flag(known: &mut PathFlags, path: &Path, look: impl FnOnce(&Path) -> bool) -> bool {
    match known.get(path.as_os_str()) {
        Some(answer) => *answer,
        None => *known.entry(path.into()).or_insert(look(path)),
    }
}

#[cfg(test)]
#[path = "scan_cache_tests.rs"]
mod tests;
