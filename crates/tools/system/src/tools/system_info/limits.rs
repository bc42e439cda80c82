//! What the group of processes that this one is in may take: the limits of a
//! container, or of a service. Linux calls them control groups, of two makes.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

/// Files that name no limit hold a number near the largest one.
const BOUNDLESS: u64 = 1 << 60;
/// Groups within groups that are looked at.
const DEEPEST: usize = 32;

/// The tightest limits that hold; of what has none nothing is said.
#[derive(Debug, Default, PartialEq, Serialize)]
pub(super) struct Limits {
    /// Which make: v1 or v2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cgroup: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) memory: Option<Bound>,
    /// Swap, where it is counted apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) swap: Option<Bound>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pids: Option<Bound>,
    /// Processors' worth of time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cpus: Option<f64>,
    /// Processors that it may run on, as the kernel lists them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cpuset: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct Bound {
    pub(super) limit: u64,
    pub(super) used: u64,
}

impl Limits {
    /// Those of this process; `root` is `/` but in tests.
    pub(super) fn read(root: &Path) -> Self {
        let Ok(membership) = fs::read_to_string(root.join("proc/self/cgroup")) else {
            return Self::default();
        };
        let mounted = root.join("sys/fs/cgroup");
        if mounted.join("cgroup.controllers").is_file() {
            let path = membership.lines().find_map(|line| line.strip_prefix("0::"));
            return Self::second(&Group::at(&mounted, path.unwrap_or("/")));
        }
        let group = |controller: &str| {
            let (names, path) = membership.lines().find_map(|line| {
                let (names, path) = line.split_once(':')?.1.split_once(':')?;
                names.split(',').any(|name| name == controller).then_some((names, path))
            })?;
            let folder = [controller, names].map(|name| mounted.join(name));
            let folder = folder.into_iter().find(|folder| folder.is_dir())?;
            Some(Group::at(&folder, path))
        };
        Self::first(group)
    }

    /// Whether there is less than the machine has.
    pub(super) fn bound_anything(&self) -> bool {
        self.memory.is_some() || self.pids.is_some() || self.cpus.is_some()
    }

    fn second(group: &Group) -> Self {
        Self {
            cgroup: Some("v2"),
            memory: group.bound("memory.max", "memory.current"),
            swap: group.bound("memory.swap.max", "memory.swap.current"),
            pids: group.bound("pids.max", "pids.current"),
            cpus: group.least(|folder| {
                let text = text(&folder.join("cpu.max"))?;
                let (quota, period) = text.split_once(' ')?;
                share(quota, period)
            }),
            cpuset: group.text("cpuset.cpus.effective"),
        }
    }

    fn first(group: impl Fn(&str) -> Option<Group>) -> Self {
        let memory = group("memory");
        let (cpu, cpuset, pids) = (group("cpu"), group("cpuset"), group("pids"));
        let is_there = [&memory, &cpu, &cpuset, &pids].iter().any(|group| group.is_some());
        Self {
            cgroup: is_there.then_some("v1"),
            memory: memory
                .and_then(|group| group.bound("memory.limit_in_bytes", "memory.usage_in_bytes")),
            // It is counted together with memory there.
            swap: None,
            pids: pids.and_then(|group| group.bound("pids.max", "pids.current")),
            cpus: cpu.and_then(|group| {
                group.least(|folder| {
                    let quota = text(&folder.join("cpu.cfs_quota_us"))?;
                    share(&quota, &text(&folder.join("cpu.cfs_period_us"))?)
                })
            }),
            cpuset: cpuset.and_then(|group| group.text("cpuset.cpus")),
        }
    }
}

/// A group and those around it, the innermost first.
#[derive(Debug)]
struct Group(Vec<PathBuf>);

impl Group {
    /// In a container the path may be one of the machine around it; then its
    /// own group is what is mounted.
    fn at(mounted: &Path, path: &str) -> Self {
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        let inner: PathBuf = parts.iter().collect();
        let is_foreign = parts.contains(&"..") || !mounted.join(&inner).is_dir();
        let depth = if is_foreign { 0 } else { parts.len().min(DEEPEST) };
        let folders = (0..=depth)
            .rev()
            .map(|depth| mounted.join(parts.iter().take(depth).collect::<PathBuf>()));
        Self(folders.collect())
    }

    fn bound(&self, limit: &str, used: &str) -> Option<Bound> {
        let bounds = self.0.iter().filter_map(|folder| {
            let limit: u64 = text(&folder.join(limit))?.parse().ok()?;
            let used = text(&folder.join(used))?.parse().unwrap_or_default();
            (limit < BOUNDLESS).then_some(Bound { limit, used })
        });
        bounds.min_by_key(|bound| bound.limit)
    }

    fn least(&self, read: impl Fn(&Path) -> Option<f64>) -> Option<f64> {
        self.0.iter().filter_map(|folder| read(folder)).min_by(f64::total_cmp)
    }

    fn text(&self, name: &str) -> Option<String> {
        self.0.iter().find_map(|folder| text(&folder.join(name))).filter(|text| !text.is_empty())
    }
}

fn text(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

/// None if there is no quota, which is written as `max` or a negative number.
fn share(quota: &str, period: &str) -> Option<f64> {
    let (quota, period): (f64, f64) = (quota.parse().ok()?, period.parse().ok()?);
    let has_limit = quota > 0.0 && period > 0.0;
    has_limit.then(|| (quota / period * 100.0).round() / 100.0)
}

#[cfg(test)]
#[path = "limits_tests.rs"]
pub(super) mod tests;
