//! Protected names that are symlinks. If `~/.netrc` is a link to
//! `dotfiles/netrc`, the secret is in the target, which gets the same
//! protection.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use parking_lot::Mutex;

use crate::pattern::{fold_path, is_within};

/// How long a survey is used without checking the file system.
const RECHECK_INTERVAL: Duration = Duration::from_millis(20);
/// How long a survey is valid while no watched directory changes. A symlink may
/// lead through others whose directories are not watched.
const SURVEY_TTL: Duration = Duration::from_secs(2);
/// Maximum number of links kept.
const MAX_LINKS: usize = 1024;

/// Directories of kernel files and devices. They hold no user secrets, but
/// `~/.bash_history` may well be a link to `/dev/null`.
const KERNEL_DIRECTORIES: &[&str] = &["/dev", "/proc", "/sys"];

/// Symlinks among the protected names at one point in time.
#[derive(Debug, Default)]
pub(crate) struct LinkTargets {
    /// Protected names by the folded real path that they resolve to.
    names: HashMap<PathBuf, Vec<PathBuf>>,
    /// The same real paths unfolded, each with one of its names.
    pub(crate) pairs: Vec<(PathBuf, PathBuf)>,
}

/// Result of a survey: the links, and the directories that contain them.
#[derive(Debug, Default)]
pub(crate) struct LinkSurvey {
    pub(crate) links: Vec<PathBuf>,
    pub(crate) directories: Vec<PathBuf>,
}

#[derive(Debug)]
struct CachedSurvey {
    at: Instant,
    checked: Instant,
    stamps: Vec<(PathBuf, Option<SystemTime>)>,
    targets: Arc<LinkTargets>,
}

/// The latest survey.
#[derive(Debug, Default)]
pub(crate) struct LinkCache(Mutex<Option<CachedSurvey>>);

impl LinkCache {
    /// Returns the link targets as of `now`, or shortly before.
    pub(crate) fn targets(
        &self,
        now: Instant,
        survey: impl FnOnce() -> (LinkSurvey, LinkTargets),
    ) -> Arc<LinkTargets> {
        let mut last = self.0.lock();
        last.take_if(|look| !look.is_fresh(now));
        let look = last.get_or_insert_with(|| {
            let (survey, targets) = survey();
            let parents = survey.links.iter().filter_map(|link| link.parent());
            let mut watched: Vec<PathBuf> = parents.map(Path::to_path_buf).collect();
            watched.extend(survey.directories);
            watched.sort();
            watched.dedup();
            let stamps = watched.into_iter().map(|directory| {
                let stamp = modified_time(&directory);
                (directory, stamp)
            });
            CachedSurvey {
                at: now,
                checked: now,
                stamps: stamps.collect(),
                targets: targets.into(),
            }
        });
        Arc::clone(&look.targets)
    }
}

impl CachedSurvey {
    fn is_fresh(&mut self, now: Instant) -> bool {
        if now.saturating_duration_since(self.checked) < RECHECK_INTERVAL {
            return true;
        }
        if now.saturating_duration_since(self.at) >= SURVEY_TTL {
            return false;
        }
        self.checked = now;
        self.stamps.iter().all(|(directory, then)| modified_time(directory) == *then)
    }
}

fn modified_time(directory: &Path) -> Option<SystemTime> {
    fs::metadata(directory).ok()?.modified().ok()
}

impl LinkTargets {
    /// Resolves these links and keeps the targets that are wanted.
    pub(crate) fn new(links: &[PathBuf], is_wanted: impl Fn(&Path) -> bool) -> Self {
        let mut targets = Self::default();
        for link in links.iter().take(MAX_LINKS) {
            let Ok(real) = hermes_files::real_path(link) else { continue };
            let is_kernel = KERNEL_DIRECTORIES.iter().any(|it| is_within(&real, Path::new(it)));
            if is_kernel || real == *link || !is_wanted(&real) {
                continue;
            }
            let names = targets.names.entry(fold_path(&real).into_owned()).or_default();
            names.push(fold_path(link).into_owned());
            targets.pairs.push((real, link.clone()));
        }
        targets
    }

    /// Returns the protected names of a folded real path: those that resolve to
    /// it or to an ancestor, each with its target.
    pub(crate) fn names<'a>(
        &'a self,
        folded: &'a Path,
    ) -> impl Iterator<Item = (&'a Path, PathBuf)> {
        let targets = folded.ancestors().take_while(|_| !self.names.is_empty());
        let targets = targets.filter_map(|target| Some((target, self.names.get(target)?)));
        targets.flat_map(move |(target, names)| {
            let below = folded.strip_prefix(target).unwrap_or(Path::new(""));
            names.iter().map(move |name| (target, join_below(name, below)))
        })
    }
}

/// Joins two paths without adding a trailing slash.
fn join_below(name: &Path, below: &Path) -> PathBuf {
    if below.as_os_str().is_empty() { name.to_owned() } else { name.join(below) }
}

#[cfg(test)]
#[path = "linked_places_tests.rs"]
mod tests;
